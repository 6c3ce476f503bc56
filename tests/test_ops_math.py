"""Elementwise operations: values against real Paddle, dtypes, kinks, operators, silence."""
from __future__ import annotations

import math
import warnings

import golden_ops
import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import kernels_special
from minipaddle.core import xp_of


@pytest.mark.parametrize("line", golden_ops.lines("elementwise"))
def test_as_real_paddle(line):
    golden_ops.check("elementwise", line, paddle)


def grads(function, *values):
    inputs = [paddle.to_tensor(v, stop_gradient=False) for v in values]
    function(*inputs).sum().backward()
    found = [x.grad.tolist() for x in inputs]
    return found[0] if len(found) == 1 else found


# ---- where Paddle is undecided: what is promised here
def test_gradients_at_kinks():
    assert grads(paddle.abs, [-1.0, 0.0, 2.0]) == [-1.0, 0.0, 1.0]
    assert grads(paddle.sqrt, [0.0, 4.0]) == [math.inf, 0.25]
    assert grads(lambda x: paddle.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0]) == [0, 1, 1, 1, 0]
    assert grads(paddle.maximum, [1.0, 2.0], [1.0, 3.0]) == [[0.5, 0.0], [0.5, 1.0]]
    assert grads(paddle.minimum, [1.0, 2.0], [1.0, 3.0]) == [[0.5, 1.0], [0.5, 0.0]]
    assert grads(paddle.i0e, [0.0]) == [0.0]
    for name in ("floor", "ceil", "round", "trunc", "sign"):
        assert grads(getattr(paddle, name), [1.3, -2.7]) == [0.0, 0.0]


def test_lerp_gives_the_weight_its_gradient():
    assert grads(paddle.lerp, [1.0], [3.0], [0.25]) == [[0.75], [0.25], [2.0]]


def test_where_lets_no_inf_or_nan_leak():
    x = paddle.to_tensor([0.0, 4.0], stop_gradient=False)
    y = paddle.where(x > 1.0, paddle.to_tensor([5.0, 6.0]), x)
    (y * paddle.to_tensor([2.0, math.inf])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float16", "float32",
                                   "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shapes", [((5,), (5,), (5,)), ((3, 1), (4,), (3, 4)), ((), (), ()),
                                    ((0, 2), (2,), (2,)), ((6,), (), (6,))])
def test_where_is_numpys(dtype, shapes):
    rng = np.random.default_rng(0)
    c = rng.random(shapes[0]) > 0.5
    x, y = (np.asarray(rng.normal(size=s) * 3).astype(dtype) for s in shapes[1:])
    found = paddle.where(paddle.to_tensor(c), paddle.to_tensor(x), paddle.to_tensor(y))
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.numpy(), np.where(c, x, y))


def test_where_keeps_nan_inf_and_negative_zero():
    c = paddle.to_tensor([True, False, True, False])
    x = paddle.to_tensor([math.nan, 1.0, -0.0, math.inf])
    found = paddle.where(c, x, -x).numpy()
    np.testing.assert_array_equal(found, np.float32([math.nan, -1.0, -0.0, -math.inf]))
    assert np.signbit(found[2])


@pytest.mark.parametrize("n", [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5, 2.5])
def test_powers_by_products(n):
    a = np.float64([0.3, 1.7, 4.0])
    x = paddle.to_tensor(a, stop_gradient=False)
    y = x ** n
    np.testing.assert_allclose(y.numpy(), a ** n, rtol=1e-14)
    (first,) = paddle.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), n * a ** (n - 1.0), rtol=1e-14)
    if n not in (0, 1):
        (second,) = paddle.grad(first.sum(), x)
        np.testing.assert_allclose(second.numpy(), n * (n - 1) * a ** (n - 2.0), rtol=1e-14)


def test_power_one_shares_no_memory():
    x = paddle.to_tensor([1.0, 2.0])
    y = x ** 1
    y[0] = 9.0
    assert x.tolist() == [1.0, 2.0]
    assert np.signbit((paddle.to_tensor([-0.0]) ** 1).numpy()[0])


def test_sigmoid_keeps_its_digits_far_down():
    x = paddle.to_tensor([-80.0, -20.0, 0.0, 100.0])
    np.testing.assert_allclose(x.sigmoid().numpy(),
                               1 / (1 + np.exp(-np.float64([-80, -20, 0, 100]))), rtol=1e-6)


def test_incomplete_gamma_has_one_gradient_and_says_so():
    x, y = paddle.to_tensor([2.0], stop_gradient=False), paddle.to_tensor([1.5])
    y.stop_gradient = False
    found = grads(lambda y: paddle.gammainc(paddle.to_tensor([1.0]), y), [0.5])
    assert found == pytest.approx([math.exp(-0.5)])
    with pytest.raises(RuntimeError, match="gammainc.*y alone"):
        paddle.gammaincc(x, y).backward()


# ---- operators
def test_strangers_and_none():
    x = paddle.to_tensor([1.0])
    assert (x == None) is False and (x != None) is True             # noqa: E711
    assert (x == "one") is False
    with pytest.raises(TypeError):
        x + "one"

    class Right:
        def __radd__(self, other):
            return "asked"
    assert x + Right() == "asked"


def test_augmented_assignment_makes_a_new_tensor():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    y = x
    y += 1.0
    assert x.tolist() == [1.0] and y.tolist() == [2.0] and not y.stop_gradient


def test_every_inplace_form_writes_into_its_tensor():
    for name in ("add", "subtract", "multiply", "divide", "maximum", "pow", "remainder"):
        method = getattr(paddle.Tensor, name + "_", None)
        if method is None:
            assert name == "maximum"                # Paddle has none either
            continue
        x = paddle.to_tensor([7.0, 2.0])
        want = getattr(paddle, name)(x, paddle.to_tensor([2.0, 2.0])).tolist()
        assert method(x, paddle.to_tensor([2.0, 2.0])) is x and x.tolist() == want
    for name in ("exp", "sqrt", "tanh", "floor", "abs", "reciprocal", "sigmoid", "clip"):
        x = paddle.to_tensor([0.25, 2.0])
        args = (0.5, 1.0) if name == "clip" else ()
        want = getattr(paddle, name)(x, *args).tolist()
        assert getattr(x, name + "_")(*args) is x and x.tolist() == want


def test_scalars_never_widen():
    x = paddle.to_tensor([1.0, 2.0])
    for y in (x * 2, x + 1.5, 2 ** x, x ** 2, x ** np.float64(2), x * np.float64(2), 3 - x, x // 2,
              x % 2.0, paddle.clip(x, 0, 1), paddle.scale(x, 2.0, 1.0), paddle.stanh(x),
              paddle.logit(x / 4), paddle.deg2rad(x), paddle.reciprocal(x), paddle.rsqrt(x)):
        assert y.dtype == paddle.float32, y
    zero_d = paddle.to_tensor(2.0)
    for name in ("sigmoid", "rsqrt", "reciprocal", "deg2rad", "exp", "erf", "square", "logit"):
        assert getattr(paddle, name)(zero_d / 4).dtype == paddle.float32
        assert getattr(paddle, name)(zero_d / 4).shape == []


def test_half_stays_half():
    x = paddle.to_tensor(np.array([0.5, 1.5], "float16"), stop_gradient=False)
    y = (paddle.exp(x) * 2 + paddle.maximum(x, x * x)).sqrt()
    assert y.dtype == paddle.float16
    y.sum().backward()
    assert x.grad.dtype == paddle.float16


@pytest.mark.parametrize("sign", ["//", "%"])
def test_integer_division_by_zero_names_the_op(sign):
    name = {"//": "floor_divide", "%": "remainder"}[sign]
    if paddle.get_device() != "cpu":                # there it would cost a transfer to look
        assert eval(f"a {sign} 2", {"a": paddle.to_tensor([1, 2])}).shape == [2]
        return
    with pytest.raises(ZeroDivisionError, match=name):
        eval(f"a {sign} 0", {"a": paddle.to_tensor([1, 2])})


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"add.*\[2\].*\[3\]"):
        paddle.ones([2]) + paddle.ones([3])


def test_where_wants_both_or_none():
    with pytest.raises(ValueError, match="both"):
        paddle.where(paddle.to_tensor([True]), paddle.ones([1]))


def test_logical_out_is_written():
    out = paddle.zeros([2], "bool")
    paddle.logical_and(paddle.to_tensor([True, False]), paddle.to_tensor([True, True]), out)
    assert out.tolist() == [True, False]


# ---- silence
def test_paddle_is_silent_where_numpy_warns():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minipaddle\.")
        x = paddle.to_tensor([0.0, -1.0, 1e38, math.nan, math.inf], stop_gradient=False)
        y = (paddle.log(x) + paddle.sqrt(x) + x / 0.0 + paddle.exp(x) + x * 1e30 + x - x + x % 0.0
             + x // 0.0 + paddle.logaddexp(x, x) + paddle.reciprocal(x) + x ** -1 + x ** 0.3)
        y.sum().backward()
        paddle.prod(x), paddle.cumsum(x), paddle.max(x), paddle.mean(x), paddle.std(x)
        paddle.isclose(x, x), paddle.erfinv(x), paddle.digamma(x), paddle.logsumexp(x)
    assert not [str(w.message) for w in seen]


def test_other_peoples_numpy_still_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minipaddle\.")
        with pytest.warns(RuntimeWarning):
            np.log(np.zeros(1))


# ---- special functions, in float64 against the standard library and closed forms
def test_erf_and_lgamma_to_the_last_digits():
    x = np.concatenate([np.linspace(-7, 7, 20001), [np.inf, -np.inf, 1e-300]])
    xp = xp_of(paddle.zeros([1])._data)

    def run(name, values):
        return getattr(paddle, name)(paddle.to_tensor(values)).numpy()
    np.testing.assert_allclose(run("erf", x), [math.erf(v) for v in x], rtol=0, atol=1e-15)
    np.testing.assert_allclose(run("erf", x.astype("float32")), [math.erf(v) for v in x], rtol=0,
                               atol=3e-7)
    assert np.isnan(run("erf", np.array([np.nan])))
    y = np.linspace(-0.9999, 0.9999, 2001)
    np.testing.assert_allclose([math.erf(v) for v in run("erfinv", y)], y, rtol=1e-13)
    assert run("erfinv", np.float64([1, -1])).tolist() == [np.inf, -np.inf]
    z = np.concatenate([np.linspace(-9.9, 30, 4001), [1e-10, 1e10]])
    z = z[np.abs(z - np.rint(z)) > 1e-3]
    np.testing.assert_allclose(run("lgamma", z), [math.lgamma(v) for v in z], rtol=1e-13,
                               atol=1e-13)
    if xp is np:
        poles = kernels_special.lgamma(np, np.float64([0.0, -1.0, np.inf]))
        assert poles.tolist() == [np.inf] * 3


def test_digamma_and_polygamma_by_their_recurrences():
    x = np.linspace(0.5, 20, 400)

    def run(name, *args):
        return getattr(paddle, name)(paddle.to_tensor(args[0]), *args[1:]).numpy()
    np.testing.assert_allclose(run("digamma", np.float64([1.0])), -0.5772156649015329, rtol=1e-14)
    np.testing.assert_allclose(run("digamma", x + 1), run("digamma", x) + 1 / x, rtol=1e-12,
                               atol=1e-13)
    below = -np.float64([0.1, 0.6, 1.5, 7.3])       # by reflection
    np.testing.assert_allclose(run("digamma", 1 - below) - run("digamma", below),
                               math.pi / np.tan(math.pi * below), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run("polygamma", np.float64([1.0]), 1), math.pi ** 2 / 6, rtol=1e-14)
    for n in (1, 2, 3):
        step = (-1) ** n * math.factorial(n) / x ** (n + 1)
        np.testing.assert_allclose(run("polygamma", x + 1, n), run("polygamma", x, n) + step,
                                   rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run("gammaincc", np.ones(50), paddle.to_tensor(x[:50])),
                               np.exp(-x[:50]), rtol=1e-13)


# ---- complex gradients: d loss / d real + 1j d loss / d imaginary
@pytest.mark.parametrize("name", "exp log sqrt square reciprocal sin cos tanh sigmoid abs sgn conj "
                         "angle real imag".split())
def test_complex_gradients_of_both_orders(name):
    rng = np.random.default_rng(1)
    start, weight, direction = (rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(3))

    def loss(x):
        y = getattr(paddle, name)(x)
        w = paddle.to_tensor(weight if y.dtype.is_complex else weight.real)
        return paddle.real(y * w).sum() if y.dtype.is_complex else (y * w).sum()

    def slope(x):                                   # along a direction, differentiable again
        (g,) = paddle.grad(loss(x), x, create_graph=True)
        return paddle.real(g * paddle.to_tensor(direction.conj())).sum()

    def numeric(function):
        h, total = 1e-6, np.zeros(3, complex)
        for i in range(3):
            for unit in (1, 1j):
                step = np.zeros(3, complex)
                step[i] = h * unit
                ends = [paddle.to_tensor(start + s, stop_gradient=False) for s in (step, -step)]
                total[i] += unit * (float(function(ends[0])) - float(function(ends[1]))) / (2 * h)
        return total
    x = paddle.to_tensor(start, stop_gradient=False)
    (first,) = paddle.grad(loss(x), x)
    np.testing.assert_allclose(first.numpy(), numeric(loss), rtol=1e-6, atol=1e-7)
    value = slope(x)
    if not value.stop_gradient:
        (second,) = paddle.grad(value, x, allow_unused=True)
        second = 0 if second is None else second.numpy()
        np.testing.assert_allclose(second, numeric(slope), rtol=1e-5, atol=1e-6)
