"""Messages say what was got, what was expected and what to do."""

import jax
import numpy as np
import pytest

import shootax as sx

KEY = jax.random.key(0)
FIELD = sx.Affine(2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: sx.Quadratic(-1.0),
            TypeError,
            r"mapping.*got -1\.0\. .*Quadratic\(default=2\.0\)",
        ),
        (lambda: sx.Quadratic("A"), TypeError, "mapping from entries of θ.*got 'A'"),
        (lambda: sx.Quadratic(default=-1), ValueError, "default must be a positive.*got -1"),
        (lambda: sx.Quadratic(A=-2.0), ValueError, r"The strength of A must be.*got -2\.0"),
        (lambda: sx.Barron(bias=0), ValueError, "bias must be a positive"),
        (lambda: sx.Transport(ridge="x"), ValueError, "ridge must be a positive number, got 'x'"),
        (
            lambda: sx.RKHSNorm("gauss"),
            TypeError,
            "kernel must be an instance of AbstractKernel, got 'gauss'",
        ),
        (
            lambda: sx.RKHS(2, "gauss"),
            TypeError,
            "kernel must be an instance of AbstractKernel, got 'gauss'",
        ),
        (lambda: sx.RKHS(2, sx.kernels.GaussianKernel), TypeError, "got the class GaussianKernel"),
        (lambda: sx.kernels.SumKernel([1]), TypeError, r"Each term of a SumKernel.*got \[1\]"),
        (lambda: sx.Periodic(0), ValueError, "dim must be a whole number of at least 1, got 0"),
        (lambda: sx.Ensemble(1.0, 2.0), ValueError, r"q must hold arrays.*got 1\.0"),
        (
            lambda: sx.Ensemble.draw("UpDown", 3, key=KEY),
            TypeError,
            "field must be an instance of AbstractField, got",
        ),
        (
            lambda: sx.Ensemble.draw(FIELD, 3, position=2.0, key=KEY),
            TypeError,
            "position must be a",
        ),
        (lambda: sx.Ensemble.draw(FIELD, 3, momentum="x", key=KEY), ValueError, "momentum must be"),
        (
            lambda: sx.Particles(FIELD, 15),
            TypeError,
            r"ensemble must be an instance of Ensemble, got 15",
        ),
        (lambda: sx.FromData(np.ones(3)), ValueError, r"shape \(samples, dim\), got shape \(3,\)"),
    ],
)
def test_wrong_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("penalty", [1.0, "quadratic", sx.Quadratic])
def test_what_is_no_penalty(penalty):
    with pytest.raises(
        TypeError,
        match=r"penalty must be an instance of AbstractPenalty or AbstractParticlePenalty, got",
    ):
        sx.Static(FIELD, penalty=penalty, key=KEY)


def test_what_is_no_maximiser():
    with pytest.raises(
        TypeError, match="maximiser must be an instance of AbstractMaximiser, got 'newton'"
    ):
        sx.Particles.draw(FIELD, 2, maximiser="newton", key=KEY)


def test_the_norm_of_a_space_is_no_penalty_for_weights():
    with pytest.raises(ValueError, match="RKHSNorm is no penalty for a field with weights"):
        sx.Static(FIELD, penalty=sx.RKHSNorm(sx.kernels.GaussianKernel()), key=KEY)
    with pytest.raises(ValueError, match="Quadratic is no penalty for RKHS"):
        sx.Particles.draw(sx.RKHS(2), 2, penalty=sx.Quadratic(), key=KEY)
