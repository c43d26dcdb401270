"""The books of a training, filled in by hand."""

import numpy as np

from shootax._train.epoch import Report
from shootax._train.ledger import Ledger
from shootax._train.stopping import DIVERGED, RUNNING


def reports(objective, status=RUNNING):
    """Of two nets and two epochs of three batches, the third of which is not real."""
    each = np.zeros((2, 2, 3))
    each[..., :2] = objective
    plain = np.ones((2, 2))
    return Report(each, each / 2, each / 4, plain, 0.1 * plain, plain > 0, np.full((2, 2), status))


def test_means_over_the_batches_of_every_epoch():
    ledger = Ledger.empty(2)
    assert ledger.add(reports([1.0, 3.0]), 2, 2) == [0, 1]
    assert ledger.add(reports([5.0, 3.0]), 2, 2) == [0, 1]
    assert ledger.epochs == 4
    for history in ledger.histories:
        assert history["objective"] == [2, 2, 4, 4]
        assert history["data"] == [1, 1, 2, 2]
    assert ledger.describe() == "loss 4"
    assert ledger.last(1)["penalty"] == 1


def test_the_epoch_and_the_batch_that_diverged_are_named():
    ledger = Ledger.empty(2)
    ledger.add(reports(1.0), 2, 2)
    found = reports(1.0)
    found.status[1, 1] = DIVERGED
    found.objective[1, 1, 1] = found.data[1, 1, 1] = np.inf
    assert ledger.add(found, 2, 2) == [0]
    assert list(ledger.failures) == [1]
    assert ledger.failures[1].startswith(
        "Training diverged in epoch 4, batch 2 of 2: the data loss is inf and the penalty is 0.25; "
        "the learning rate was 0.1."
    )
    assert [len(history["objective"]) for history in ledger.histories] == [4, 3]


def test_a_gradient_that_is_not_finite_and_a_net_that_rests():
    ledger, found = Ledger.empty(2), reports(1.0)
    found.status[0, 0] = DIVERGED
    found.learning_rate[0, 0] = np.nan
    found.ran[1, 1] = False
    assert ledger.add(found, 2, 2) == []
    assert ledger.failures[0].startswith(
        "Training diverged in epoch 1: the gradient is not finite. The last good model"
    )
    assert [len(history["objective"]) for history in ledger.histories] == [0, 1]
