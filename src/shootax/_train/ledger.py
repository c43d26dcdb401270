"""Records of a training outside the compiled program: histories, failures, and the number of epochs."""

import dataclasses
import math
import os
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from shootax._errors import FileFormatError
from shootax._train.epoch import Report
from shootax._train.results import COLUMNS
from shootax._train.stopping import DIVERGED

History = dict[str, list[float]]


@dataclasses.dataclass
class Ledger:
    """The records of a training of one or more nets. `failures` says why nets diverged, and `polished`
    is the number of epochs before polishing began, if it did."""

    histories: list[History]
    failures: dict[int, str]
    epochs: int = 0
    seconds: float = 0.0
    polished: int | None = None

    @classmethod
    def empty(cls, nets: int) -> "Ledger":
        return cls([{name: [] for name in COLUMNS} for _ in range(nets)], {})

    def add(self, reports: Report, number: int, batches: int) -> list[int]:
        """Add the reports of `number` epochs, each with `batches` batches, and return the nets that
        completed the last epoch."""
        reached = []
        for i, history in enumerate(self.histories):
            for k in range(number):
                report = _of_batches(_pick(reports, (i, k)), batches)
                if not report.ran:
                    break
                if report.status == DIVERGED:
                    self.failures[i] = why(self.epochs + k + 1, report)
                    break
                for name, column in history.items():
                    column.append(float(np.mean(getattr(report, name))))
                if k == number - 1:
                    reached.append(i)
        self.epochs += number
        return reached

    def last(self, i: int) -> dict[str, float]:
        """The latest numbers of a net."""
        return {name: column[-1] for name, column in self.histories[i].items()}

    def describe(self) -> str:
        """A text about the current state, for a progress bar."""
        last = [history["objective"][-1] for history in self.histories if history["objective"]]
        return f"loss {np.mean(last):.4g}" if last else "diverged"

    def record(self, seconds: float) -> dict[str, Any]:
        """All records except the histories, as JSON-serialisable values."""
        record = {"epoch": self.epochs, "failures": self.failures, "seconds": seconds}
        return record if self.polished is None else record | {"polished": self.polished}

    def begin_polish(self) -> None:
        """Begin polishing after the last epoch that any net completed: nets may have stopped early."""
        self.epochs = max(len(history["objective"]) for history in self.histories)
        self.polished = self.epochs

    @classmethod
    def restored(
        cls,
        histories: list[History],
        record: dict[str, Any],
        *,
        nets: int,
        path: str | os.PathLike,
    ) -> "Ledger":
        """The inverse of `record`, for `nets` nets. `path` is the file of the record, for messages."""
        failures: Any = record.get("failures")
        epochs: Any = record.get("epoch")
        seconds: Any = record.get("seconds")
        polished: Any = record.get("polished")
        lengths = [{len(column) for column in history.values()} for history in histories]
        proper = (
            isinstance(failures, dict)
            and all(i.isdecimal() and int(i) < nets for i in failures)
            and all(isinstance(reason, str) for reason in failures.values())
            and type(epochs) is int
            and type(seconds) in (int, float)
            and 0 <= seconds < math.inf
            and (polished is None or (type(polished) is int and 0 <= polished <= epochs))
            and len(histories) == nets
            and all(history.keys() == set(COLUMNS) for history in histories)
            and all(len(each) == 1 and max(each) <= epochs for each in lengths)
        )
        if not proper:
            raise FileFormatError(
                f"The checkpoint {path} cannot be read: its history does not match this training. Remove "
                "the file to train from the start."
            )
        reasons = {int(i): reason for i, reason in failures.items()}
        ordered = [{name: history[name] for name in COLUMNS} for history in histories]
        return cls(ordered, reasons, epochs, seconds, polished)


def why(epoch: int, report: Report) -> str:
    """The message about an epoch that diverged."""
    bad = np.flatnonzero(~np.isfinite(report.objective))
    value = float(report.learning_rate)
    rate = "" if math.isnan(value) else f"; the learning rate was {value:.3g}"
    advice = (
        "The last good model is in the `result` of this error. Lower the learning rate, clip the "
        "gradient (Optimizer(clip=10)), start from smaller momenta, or scale the data."
    )
    if len(bad) == 0:
        return (
            f"Training diverged in epoch {epoch}: the gradient is not finite{rate}. {advice} If the "
            "gradient mode is Reversed, the integrator's steps are too large to be inverted: use more "
            "steps, or Checkpointed()."
        )
    batch = int(bad[0])
    terms = {"data loss": report.data[batch], "penalty": report.penalty[batch]}
    named = [f"the {name} is {float(value):.4g}" for name, value in terms.items()]
    return (
        f"Training diverged in epoch {epoch}, batch {batch + 1} of {len(report.objective)}: "
        f"{' and '.join(named)}{rate}. {advice}"
    )


def _of_batches(report: Report, batches: int) -> Report:
    """Remove the entries after the last batch."""
    each = {name: getattr(report, name)[:batches] for name in ("objective", "data", "penalty")}
    return report._replace(**each)


def _pick(tree: PyTree, index: tuple[int, int]) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)
