"""dtypes: promotion, Python scalars, half precision; 0-d and empty results of every op."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minipaddle as paddle
from minipaddle import checks, core, dtypes
from minipaddle.core import Tensor, ops, registry
from minipaddle.samples import Draw

NAMES = list(dtypes.ALL)
FLOATS = ("float16", "float32", "float64")


# ---- promotion of two tensors
RULES = {                                           # Paddle's, where it defines one
    ("float16", "float32"): "float32", ("float32", "float64"): "float64",
    ("float16", "float64"): "float64", ("int64", "float32"): "float32",
    ("float32", "int64"): "float32", ("int64", "float16"): "float16",
    ("int32", "float64"): "float64", ("bool", "float32"): "float32", ("bool", "int32"): "int32",
    ("int32", "int64"): "int64", ("uint8", "int8"): "int16", ("uint64", "int64"): "int64",
    ("bool", "bool"): "bool", ("int8", "int8"): "int8", ("float32", "complex64"): "complex64",
    ("float64", "complex64"): "complex128", ("int64", "complex64"): "complex64",
}


@pytest.mark.parametrize("pair", RULES, ids="-".join)
def test_two_tensors_promote(pair):
    a, b = (paddle.to_tensor([1], dtype=d) for d in pair)
    for x, y in ((a, b), (b, a)):
        assert (x * y).dtype.name == RULES[pair]
        assert paddle.maximum(x, y).dtype.name == RULES[pair] or "complex" in RULES[pair]


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_promotion_does_not_depend_on_order(names):
    kinds = [np.dtype(n) for n in names]
    results = {str(dtypes.promote(p)) for p in itertools.permutations(kinds)}
    assert len(results) == 1
    common = dtypes.promote(kinds)
    assert dtypes.promote([common, *kinds]) == common
    # No float comes of integers, and none is widened by an integer.
    floats = [k for k in kinds if k.kind in "fc"]
    assert (common.kind in "fc") == bool(floats)
    assert not floats or dtypes.promote(floats) == common


# ---- Python scalars are weak
@pytest.mark.parametrize("dtype, scalar, expected", [
    ("float32", 2, "float32"), ("float32", 2.5, "float32"), ("float16", 2.5, "float16"),
    ("float64", 2.5, "float64"), ("float32", np.float64(2), "float32"),
    ("float32", np.int64(2), "float32"), ("float32", True, "float32"), ("int64", 2, "int64"),
    ("int8", 2, "int8"), ("int64", 1.5, "float32"), ("int32", np.float32(1.5), "float32"),
    ("bool", 1, "int64"), ("bool", 1.5, "float32"), ("bool", True, "bool"),
    ("uint8", True, "uint8"), ("float32", 2j, "complex64"), ("float64", 2j, "complex128"),
    ("complex64", 1.5, "complex64"), ("int64", 2j, "complex64")])
def test_a_scalar_changes_the_kind_never_the_width(dtype, scalar, expected):
    x = paddle.to_tensor([1, 0], dtype=dtype)
    assert (x * scalar).dtype.name == expected
    assert (scalar * x).dtype.name == expected
    value = np.array([1, 0]).astype(dtype).astype(expected) * np.asarray(scalar).astype(expected)
    np.testing.assert_array_equal((x * scalar).numpy(), value)


def test_division_and_power_of_integers():
    x = paddle.to_tensor([3, 4])
    assert (x / 2).dtype == (x / x).dtype == paddle.float32
    assert (x ** 2).dtype == (2 ** x).dtype == (x // 2).dtype == paddle.int64
    assert (x ** 0.5).dtype == (x // 2.0).dtype == paddle.float32
    assert (x / x.astype("float64")).dtype == paddle.float64


def test_operators_with_numpy_arrays_give_tensors():
    x, a = paddle.to_tensor([1.0, 2.0]), np.array([3.0, 4.0])
    for result in (x * a, a * x, x + a, a - x, a / x, a @ x.astype("float64")):
        assert isinstance(result, Tensor) and result.dtype == paddle.float64
    assert (a > x).tolist() == [True, True] and (a - x).tolist() == [2.0, 2.0]


def test_reflected_operators():
    x = paddle.to_tensor([2.0, 4.0])
    assert (8 - x).tolist() == [6.0, 4.0] and (8 / x).tolist() == [4.0, 2.0]
    assert (2 ** x).tolist() == [4.0, 16.0] and (9 // x).tolist() == [4.0, 2.0]
    assert (9 % x).tolist() == [1.0, 1.0]
    n = paddle.to_tensor([1, 2])
    assert (4 - n).tolist() == [3, 2] and (4 - n).dtype == paddle.int64


def test_numpy_scalars_on_the_left():
    x = paddle.to_tensor([2.0, 4.0])
    two = np.float64(2)
    for got, expected in ((two * x, [4, 8]), (two - x, [0, -2]), (two / x, [1, 0.5]),
                          (two ** x, [4, 16]), (two + x, [4, 6]), (two % x, [0, 2])):
        assert isinstance(got, Tensor) and got.dtype == paddle.float32
        assert got.tolist() == expected
    assert (two < x).tolist() == [False, True] and (two <= x).tolist() == [True, True]
    assert (two > x).tolist() == [False, False] and (two >= x).tolist() == [True, False]
    assert (two == x).tolist() == [True, False] and (two != x).tolist() == [False, True]


def test_strangers_are_asked_themselves():
    class Stranger:
        def __radd__(self, other):
            return "radd"

        def __add__(self, other):
            return "add"
    x = paddle.to_tensor([1.0])
    assert x + Stranger() == "radd" and Stranger() + x == "add"
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"
    with pytest.raises(TypeError, match="unsupported operand"):
        None * x


# ---- cached scalars never leak
def test_scalars_are_not_shared_with_results():
    x = paddle.to_tensor(3.0)
    results = [x * 0.0 + 7.0, x * 1.0, 7.0 + x * 0.0, paddle.maximum(x, 7.0), x ** 1.0]
    for r in results:
        r.add_(paddle.to_tensor(1.0))
    assert float(x * 0.0 + 7.0) == 7.0 and float(x * 1.0) == 3.0
    assert float(paddle.maximum(x, 7.0)) == 7.0


def test_a_scalar_as_gradient_result_is_writable():
    x = paddle.to_tensor(3.0, stop_gradient=False)
    (x * 7.0).backward()
    x.grad.add_(paddle.to_tensor(1.0))
    assert float(x.grad) == 8.0
    x.clear_grad(False)
    (x * 7.0).backward()
    assert float(x.grad) == 7.0


@pytest.mark.parametrize("value", [0.0, -0.0, float("inf"), float("nan"), 1e300, -1e300])
def test_odd_scalars(value):
    x = paddle.to_tensor(1.0, "float64")
    np.testing.assert_array_equal((x * value).numpy(), np.float64(value))
    assert np.signbit((x * value).numpy()) == np.signbit(np.float64(value))


def test_zero_and_minus_zero_and_equal_keys_are_kept_apart():
    x = paddle.to_tensor([1.0])
    assert np.signbit((x * -0.0).numpy())[0] and not np.signbit((x * 0.0).numpy())[0]
    n = paddle.to_tensor([1])
    assert (x * 2).dtype == (x * 2.0).dtype == paddle.float32
    assert (n * 2).dtype == paddle.int64 and (n * 2.0).dtype == paddle.float32
    assert (n * True).dtype == paddle.int64


# ---- names of dtypes
@pytest.mark.parametrize("spelling", ["float64", np.float64, np.dtype("float64"),
                                      paddle.float64, "paddle.float64"])
def test_every_spelling_of_a_dtype(spelling):
    assert paddle.to_tensor([1], dtype=spelling).dtype == paddle.float64
    assert paddle.to_tensor([1]).astype(spelling).dtype == paddle.float64
    assert paddle.zeros([1], dtype=spelling).dtype == paddle.float64


def test_dtype_objects():
    assert str(paddle.float32) == "paddle.float32" and paddle.float32 != "float32"
    assert paddle.float32 is paddle.to_tensor(1.0).dtype
    assert {paddle.float32: 1}[paddle.float32] == 1


@pytest.mark.parametrize("wrong", ["float31", "bfloat16", object(), [1], None.__class__])
def test_unknown_dtypes_are_named(wrong):
    with pytest.raises(TypeError, match="dtype"):
        paddle.to_tensor([1]).astype(wrong)


# ---- half precision
def test_float16_is_computed_wide_and_rounded_once():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(64, 64)).astype("float16") for _ in range(2))
    got = (paddle.to_tensor(a) @ paddle.to_tensor(b)).numpy()
    exact = a.astype("float64") @ b.astype("float64")
    assert got.dtype == np.float16
    # at most half a unit in the last place, and what float32 sums lose
    unit = np.spacing(np.abs(exact).astype("float16")).astype("float64")
    assert np.max(np.abs(got - exact) - unit / 2) < 1e-5


@pytest.mark.parametrize("f", [lambda x: paddle.exp(x), lambda x: x * x + 1.0,
                               lambda x: paddle.nn.functional.softmax(x), lambda x: x.mean()])
def test_float16_forward_and_backward_keep_the_dtype(f):
    x = paddle.to_tensor([[0.5, -1.0], [2.0, 0.0]], "float16", stop_gradient=False)
    wide = paddle.to_tensor(x.numpy().astype("float64"), stop_gradient=False)
    y, z = f(x), f(wide)
    assert y.dtype == paddle.float16
    np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=2e-3)
    y.sum().backward()
    z.sum().backward()
    assert x.grad.dtype == paddle.float16
    np.testing.assert_allclose(x.grad.numpy(), wide.grad.numpy(), rtol=2e-3, atol=1e-3)


def test_float16_overflows_to_inf():
    x = paddle.to_tensor([60000.0], "float16", stop_gradient=False)
    y = x + x
    assert np.isinf(y.numpy()).all() and y.dtype == paddle.float16
    (y * 2.0).backward()
    assert x.grad.tolist() == [4.0]


# ---- shapes: 0-d stays an array, empties stay empty
class ZeroD(Draw):
    """Shapes without dimensions wherever the sampler allows it."""

    def shape(self, min_dims=0, max_dims=3, min_side=0, max_side=4):
        return super().shape(min_dims, min_dims, min_side, max_side)


class Empty(Draw):
    """Shapes with a side of length 0 wherever the sampler allows it."""

    def shape(self, min_dims=0, max_dims=3, min_side=0, max_side=4):
        sides = list(super().shape(max(min_dims, min(1, max_dims)), max_dims, min_side, max_side))
        if sides:
            sides[self.integer(0, len(sides) - 1)] = min_side
        return tuple(sides)


SAMPLED = sorted(n for n, r in registry.items() if r.samples is not None)


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("kind", [ZeroD, Empty])
def test_results_are_arrays_for_0d_and_empty_inputs(name, kind, device):
    """An array of the device, never a NumPy scalar or a Python number; backward likewise."""
    for seed in range(4):
        call, values, names, _, _ = checks.problem_of(registry[name], kind(seed))
        problem = checks._Problem(call, values, names, name)
        leaves, outs = problem.run(problem.base)
        home = type(paddle.zeros([1])._data)
        for t in outs:
            assert type(t._data) is home and isinstance(t.shape, list)
        alive = [t for t in outs if not t.stop_gradient]
        if alive:
            paddle.autograd.backward(alive)
            for leaf in leaves:
                if leaf.grad is not None:
                    assert type(leaf.grad._data) is home and leaf.grad.shape == leaf.shape


def candidates(record):
    """Inputs of several kinds, of which an op without samples takes one."""
    for values in ([1.5], [2], [True], [[1.5, 2.5], [0.5, 1.0]], [[1, 0], [1, 1]], [1.5 + 2j]):
        for shape in ((), None):
            arrays = [np.array(values[0] if shape == () and not isinstance(values[0], list)
                               else values)] * len(record.inputs)
            yield [paddle.to_tensor(a) for a in arrays]


PLAIN = sorted(n for n, r in registry.items() if r.samples is None and r.inputs and not r.lists
               and not r.random and all(a in r.optional for a in r.attrs))


@pytest.mark.parametrize("name", PLAIN)
def test_ops_without_samples_give_arrays_too(name, device):
    record, tried = registry[name], 0
    home = type(paddle.zeros([1])._data)
    for tensors in candidates(record):
        try:
            out = getattr(ops, name)(*tensors)
        except (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError):
            continue
        tried += 1
        for t in out if isinstance(out, (tuple, list)) else (out,):
            assert isinstance(t, Tensor) and type(t._data) is home
    assert tried, "none of the inputs suited"


@settings(max_examples=60)
@given(st.sampled_from(["add", "multiply", "matmul", "sum", "exp", "reshape", "concat", "index"]),
       st.sampled_from(FLOATS))
def test_dtype_is_kept_through_and_back(name, dtype):
    x = paddle.to_tensor(np.linspace(0.1, 1, 6).reshape(2, 3), dtype, stop_gradient=False)
    y = {"add": lambda: x + 1.5, "multiply": lambda: x * x, "matmul": lambda: x @ x.T,
         "sum": lambda: x.sum(), "exp": lambda: paddle.exp(x), "reshape": lambda: x.reshape([3, 2]),
         "concat": lambda: paddle.concat([x, x]), "index": lambda: x[0, 1:]}[name]()
    y.backward()
    assert y.dtype.name == x.grad.dtype.name == dtype


def test_core_reexports_one_registry():
    assert core.registry is registry and core.ops is ops
