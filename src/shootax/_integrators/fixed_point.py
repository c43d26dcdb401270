"""Solve $x = g(a, x)$ by iteration, with the gradient of the solution itself.

The gradient does not go back through the iterations: the cotangent $w$ of the solution obeys
$w = \\bar x + (∂g/∂x)^⊤ w$, which is solved by the same kind of iteration. It costs no memory.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree


def fixed_point(
    g: Callable[[Any, PyTree[Array]], PyTree[Array]],
    args: Any,
    guess: PyTree[Array],
    max_iterations: int,
) -> PyTree[Array]:
    """The solution of $x = g(args, x)$ near `guess`, to rounding.

    If the iteration does not converge, the result is NaN, never a half-solved value.
    `g` must not close over traced arrays: everything that is differentiated must be in `args`.
    """
    return _solve(args, g, jax.lax.stop_gradient(guess), max_iterations)


@eqx.filter_custom_vjp
def _solve(args, g, guess, max_iterations):
    return _iterate(lambda x: g(args, x), guess, max_iterations)


@_solve.def_fwd
def _solve_forward(perturbed, args, g, guess, max_iterations):
    solution = _iterate(lambda x: g(args, x), guess, max_iterations)
    return solution, solution


@_solve.def_bwd
def _solve_backward(solution, cotangent, perturbed, args, g, guess, max_iterations):
    cotangent = written_out(solution, cotangent)
    _, pull_x = jax.vjp(lambda x: g(args, x), solution)

    def spread(w):
        return jax.tree.map(jnp.add, cotangent, pull_x(w)[0])

    w = _iterate(spread, cotangent, max_iterations)
    _, pull_args = eqx.filter_vjp(lambda a: g(a, solution), args)
    return pull_args(w)[0]


def written_out(values: PyTree[Array], cotangents: PyTree) -> PyTree[Array]:
    """Cotangents with the zeros that Equinox leaves out."""

    def one(value: Any, cotangent: Any) -> Any:
        return jnp.zeros_like(value) if cotangent is None and value is not None else cotangent

    return jax.tree.map(one, values, cotangents, is_leaf=lambda leaf: leaf is None)


def _largest(tree: PyTree[Array]) -> Array:
    peaks = [jnp.max(jnp.abs(leaf), initial=0.0) for leaf in jax.tree.leaves(tree)]
    return jnp.max(jnp.stack(peaks))


def _iterate(g: Callable, guess: PyTree[Array], max_iterations: int) -> PyTree[Array]:
    precision = float(jnp.finfo(jnp.result_type(*jax.tree.leaves(guess))).eps)

    def go_on(loop):
        i, _, gap, scale = loop
        return (i < max_iterations) & (gap > 8 * precision * scale)

    def improve(loop):
        i, x, _, _ = loop
        new = g(x)
        gap = _largest(jax.tree.map(jnp.subtract, new, x))
        return i + 1, new, gap, _largest(new)

    one = jnp.ones_like(_largest(guess))
    _, x, gap, scale = jax.lax.while_loop(go_on, improve, (0, guess, jnp.inf * one, one))
    # Iterations that stall near the level of rounding have converged; others have not.
    solved = gap <= 1e3 * precision * (scale + 1)
    return jax.tree.map(lambda leaf: jnp.where(solved, leaf, jnp.nan), x)
