"""Small loops as single functions: which are marked, and that numbers stay the same."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax import _whole_loops as whole_loops
from shootax._train import compiler_options as options_of_trainings
from shootax._train.loop import polish_program, program
from shootax._whole_loops import LARGEST, LARGEST_PRODUCT, MOST_PRODUCTS, with_whole_loops

ATTRIBUTE = 'xla_cpu_small_call = "true"'


def marked(function, *args):
    """How many calls of single functions a lowered program has."""
    return jax.jit(with_whole_loops(function)).lower(*args).as_text().count(ATTRIBUTE)


def repeated(body, times=3):
    return lambda x: jax.lax.fori_loop(0, times, lambda _, x: body(x), x)


def test_small_loops_are_marked_and_large_ones_are_not():
    body = repeated(lambda x: jnp.tanh(x) + 1)
    itemsize = jnp.result_type(float).itemsize
    assert marked(body, jnp.ones(64)) == 1
    assert marked(body, jnp.ones(LARGEST // itemsize)) == 0


def test_a_small_loop_within_a_large_one_is_marked():
    inner, wide = repeated(jnp.sin), jnp.ones(LARGEST // jnp.result_type(float).itemsize)
    nested = repeated(lambda pair: (inner(pair[0]), pair[1] * 2 + pair[0]))
    assert marked(nested, (jnp.ones(()), wide)) == 1


@pytest.mark.parametrize(
    "body",
    [
        jnp.sort,
        lambda x: x.at[jnp.array([2, 0])].set(x[:2]),
        lambda x: jnp.linalg.inv(x[:2, None] + jnp.eye(2))[0, 0] * x,
        lambda x: jax.pure_callback(np.sin, x, x),
        lambda x: jnp.fft.fft(x).real,
    ],
    ids=["sort", "scatter", "linear algebra", "callback", "Fourier transform"],
)
def test_loops_with_operations_of_other_libraries_are_not(body):
    function, x = repeated(body), jnp.linspace(0.5, 1.0, 4)
    assert marked(function, x) == 0
    np.testing.assert_array_equal(jax.jit(with_whole_loops(function))(x), jax.jit(function)(x))


def test_long_loops_are_not():
    """A single function of many products and sums takes minutes to compile."""

    def chain(number):
        return repeated(lambda x: functools.reduce(lambda y, _: jnp.dot(y, x), range(number), x))

    assert marked(chain(MOST_PRODUCTS), jnp.eye(2)) == 1
    assert marked(chain(MOST_PRODUCTS + 1), jnp.eye(2)) == 0


def test_loops_with_large_products_are_not():
    """There, a library is faster."""
    for size, small in ((60, True), (80, False)):
        assert (size**3 <= LARGEST_PRODUCT) == small
        assert marked(repeated(lambda x: jnp.sin(x @ x)), jnp.ones((size, size))) == small


PRODUCTS = [
    ("ij,jk->ik", (18, 18), (18, 66)),
    ("ji,jk->ik", (40, 13), (40, 168)),
    ("ij,kj->ik", (34, 50), (272, 50)),
    ("ij,jk->ik", (100, 131), (131, 33)),
    ("ij,j->i", (66, 64), (64,)),
    ("i,j->ij", (66,), (50,)),
    ("bij,bkj->bik", (3, 40, 150), (3, 40, 150)),
    ("ibj,jbk->bik", (21, 2, 30), (30, 2, 50)),
    ("ijk,jkl->il", (4, 25, 3), (25, 3, 6)),
    ("ij,ij->", (5, 6), (5, 6)),
]


@pytest.mark.parametrize(("formula", "left", "right"), PRODUCTS, ids=lambda p: str(p))
def test_products_in_blocks(formula, left, right):
    a, b = (jax.random.normal(jax.random.key(i), s) for i, s in enumerate((left, right)))

    def function(a, b):
        def body(_, carry):
            a, b, _ = carry
            return a, b, jnp.einsum(formula, a, b)

        return jax.lax.fori_loop(0, 2, body, (a, b, jnp.einsum(formula, a, b) * 0))[2]

    assert marked(function, a, b) == 1
    options = options_of_trainings.compiler_options(10)
    found = options_of_trainings.compiled(function, options)(a, b)
    np.testing.assert_allclose(found, np.einsum(formula, a, b), rtol=1e-12, atol=1e-12)


def test_loops_in_branches_calls_and_checkpoints_are_found():
    loop = repeated(jnp.cos)

    def both(x):
        chosen = jax.lax.cond(x.sum() > 0, loop, lambda x: loop(x) - 1, x)
        return chosen + jax.jit(loop)(x) + jax.checkpoint(loop)(x)

    assert marked(both, jnp.ones(3)) == 4


def test_arguments_that_a_loop_does_not_need():
    """XLA ends the process if a function of its own has such an argument, in the program as it is or
    after XLA has simplified it."""

    def function(x, y, z):
        def body(_, carry):
            x, y, z = carry
            return jnp.sin(jnp.where(jnp.array([True, True]), x, y)), y, z

        return jax.lax.fori_loop(0, 3, body, (x, y, z))[0]

    args = jnp.array([0.5, 1.0]), jnp.ones(2), jnp.ones((3, 3))
    assert marked(function, *args) == 1
    options = options_of_trainings.compiler_options(10)
    found = options_of_trainings.compiled(function, options)(*args)
    np.testing.assert_allclose(found, np.sin(np.sin(np.sin(args[0]))), rtol=1e-12)


TABLE = np.random.default_rng(0).normal(size=(300, 500))
BODIES = {
    "a constant": lambda x: jnp.sin(jnp.asarray(TABLE) * x[0]).sum() + x,
    "a row of a constant": lambda x: jnp.asarray(TABLE)[jnp.argmax(x), :4] + x,
    "a branch": lambda x: jax.lax.cond(x[0] > 0, jnp.sin, lambda x: x - 1, x),
    "a mapped loop": jax.vmap(lambda x: jax.lax.while_loop(lambda v: v < 9, lambda v: v + 3, x)),
    "activations": lambda x: sum(f(x) for f in (jax.nn.silu, jax.nn.softplus, jax.nn.elu)),
    "error functions": lambda x: jax.nn.gelu(x, approximate=False) + jax.lax.erf(x),
    "inverse functions": lambda x: (
        jnp.arcsinh(x) + jnp.arctanh(x / 99) + jnp.cbrt(x) + jnp.arctan2(x, x)
    ),
    "reductions": lambda x: x / (jnp.linalg.norm(x) + jnp.prod(x + 2) + jax.nn.logsumexp(x)),
    "sums": jnp.cumsum,
    "places": lambda x: x[jnp.array([3, 0, 2, 1])] + x[1],
    "roundings": lambda x: jnp.mod(7.3 * x, 2.0) + jnp.floor(x) + jnp.round(x),
    "half precision": lambda x: jnp.outer(*2 * [x.astype(jnp.float16)])[0].astype(x.dtype),
    "complex numbers": lambda x: jnp.abs(jnp.exp(1j * x.astype(complex))) + x,
    "whole numbers": lambda x: ((x.astype(jnp.int8) << jnp.int8(1)) ^ jnp.int8(5)).astype(x.dtype),
    "no numbers": lambda x: x + jnp.sum(jnp.sin(jnp.zeros((0, 4)) * x[None])),
}


@pytest.mark.parametrize("name", BODIES)
def test_loops_of_all_kinds_give_the_same_numbers(standard_promotion, name):
    function, x = repeated(BODIES[name]), jnp.array([0.5, -1.0, 2.0, 0.25])
    options = options_of_trainings.compiler_options(10)
    found = options_of_trainings.compiled(function, options)(x)
    np.testing.assert_allclose(found, jax.jit(function)(x), rtol=1e-9)


def test_static_arguments_and_results_pass_through():
    def function(x, factor, name):
        return {"name": name, "value": repeated(lambda x: factor * x)(x), "none": None}

    found = eqx.filter_jit(with_whole_loops(function))(jnp.ones(2), 2.0, "a")
    assert found["name"] == "a"
    assert found["none"] is None
    np.testing.assert_array_equal(found["value"], 8 * np.ones(2))


def test_a_loop_that_cannot_be_one_function_is_compiled_as_usual(monkeypatch):
    """Were sorting taken for plain code, XLA would refuse this loop."""
    monkeypatch.setattr(whole_loops, "_PLAIN", whole_loops._PLAIN | {"sort"})
    function = repeated(lambda x: jnp.sort(-x) + 1)
    options = options_of_trainings.compiler_options(10)
    program = options_of_trainings.compiled(function, options)
    x = jnp.arange(4.0)
    if options is not None:
        assert ATTRIBUTE in program.lower(x).as_text()
    np.testing.assert_array_equal(program(x), function(x))
    assert ATTRIBUTE not in program.lower(x).as_text()


def test_an_error_of_a_running_program_is_no_refusal_of_the_compiler():
    def fails(_):
        raise ValueError("UNIMPLEMENTED by the user")

    program = options_of_trainings.compiled(
        lambda x: jax.pure_callback(fails, x, x), options_of_trainings.compiler_options(10)
    )
    with pytest.raises(jax.errors.JaxRuntimeError, match="by the user"):
        program(jnp.ones(2)).block_until_ready()


GRADIENTS = [sx.Direct(), sx.Checkpointed(), sx.Reversed()]


@pytest.mark.parametrize("gradient", GRADIENTS, ids=lambda g: type(g).__name__)
def test_gradients_are_the_same_to_rounding(gradient):
    net = sx.Net(
        sx.UpDown(2, 3),
        particles=3,
        integrator=sx.RK4(4, gradient=gradient),
        key=jax.random.key(0),
    )
    x = jax.random.normal(jax.random.key(1), (5, 2))
    arrays, rest = eqx.partition(net, eqx.is_inexact_array)

    def slope(arrays):
        return jax.grad(lambda a: jnp.sum(eqx.combine(a, rest)(x) ** 2))(arrays)

    options = options_of_trainings.compiler_options(10)
    wanted = {} if options is None else {"compiler_options": dict(options)}
    whole = jax.jit(with_whole_loops(slope), **wanted)
    assert whole.lower(arrays).as_text().count(ATTRIBUTE) >= 2
    for a, b in zip(*map(jax.tree.leaves, (whole(arrays), jax.jit(slope)(arrays))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("seeds", [1, 3])
def test_trainings_are_the_same_to_rounding(monkeypatch, standard_promotion, seeds):
    x = jnp.linspace(-1, 1, 40)[:, None]
    nets = [
        sx.Net(sx.UpDown(1, 4), particles=3, integrator=sx.RK4(3), key=jax.random.key(seed))
        for seed in range(seeds)
    ]

    def losses():
        program.cache_clear()
        results = sx.fit_many(nets, x, x**2, epochs=3, validation=(x, x**2))
        return [result.history["objective"] for result in results]

    whole = losses()
    monkeypatch.setattr(options_of_trainings, "with_whole_loops", lambda function: function)
    try:
        np.testing.assert_allclose(whole, losses(), rtol=1e-10)
    finally:
        program.cache_clear()
        polish_program.cache_clear()


def test_products_whose_results_have_other_types():
    def function(x):
        return jax.lax.dot(x, x, preferred_element_type=jnp.float64).astype(jnp.float32)

    x = jax.random.normal(jax.random.key(0), (25, 25), jnp.float32) / 5
    options = options_of_trainings.compiler_options(10)
    found = options_of_trainings.compiled(repeated(function), options)(x)
    np.testing.assert_allclose(found, jax.jit(repeated(function))(x), rtol=1e-5, atol=1e-6)


def test_programs_that_are_mapped_or_differentiated():
    def function(x, y):
        return repeated(lambda x: jnp.sin(x) * y)(x).sum()

    program = options_of_trainings.compiled(function, options_of_trainings.compiler_options(10))
    x, y = jnp.array([[0.5, 1.0], [2.0, 3.0]]), jnp.array([0.3, 0.7])
    mapped = jax.vmap(program, in_axes=(0, None))(x, y)
    np.testing.assert_allclose(mapped, [function(one, y) for one in x], rtol=1e-12)
    pair = jax.jvp(program, (x[0], y), (y, x[1]))
    np.testing.assert_allclose(pair, jax.jvp(function, (x[0], y), (y, x[1])), rtol=1e-12)
    np.testing.assert_allclose(program(x[0], y), function(x[0], y), rtol=1e-12)


@pytest.mark.parametrize("devices", [1, 2])
def test_loops_on_several_devices_are_compiled_as_usual(devices):
    """XLA puts sums over the devices into them."""
    mesh = jax.sharding.AbstractMesh((devices,), ("samples",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("samples"))
    x = jax.ShapeDtypeStruct((4, 2), float, sharding=sharding)
    function = with_whole_loops(repeated(lambda x: x - x.sum()))
    lowered = jax.jit(function).trace(x).lower(lowering_platforms=("cpu",))
    assert (ATTRIBUTE in lowered.as_text()) == (devices == 1)


def test_programs_whose_operations_run_one_by_one():
    def function(times, x):
        return jax.lax.fori_loop(0, times, lambda _, x: jnp.log(x), x)

    options = options_of_trainings.compiler_options(10)
    program = options_of_trainings.compiled(function, options)
    times, x = jnp.array(2), jnp.array(0.5)
    with jax.disable_jit():
        np.testing.assert_allclose(program(jnp.array(1), x), np.log(x))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        program(times, x)
    assert np.isnan(program(times, x))
    np.testing.assert_allclose(with_whole_loops(function)(jnp.array(1), x), np.log(x))
