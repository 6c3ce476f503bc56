"""Reductions and scans: values against real Paddle, accuracy, axes, gradients at ties and zeros."""
from __future__ import annotations

import math

import golden_ops
import numpy as np
import pytest

import minipaddle as paddle


@pytest.mark.parametrize("line", golden_ops.lines("reductions"))
def test_as_real_paddle(line):
    golden_ops.check("reductions", line, paddle)


def grads(function, value, order=1):
    x = paddle.to_tensor(np.float64(value), stop_gradient=False)
    y = function(x).sum()
    for _ in range(order):
        (g,) = paddle.grad(y, x, create_graph=True)
        y = (g * paddle.to_tensor(np.cos(np.arange(g.size)).reshape(g.shape))).sum()
    return g.numpy()


# ---- axes
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "logsumexp", "std", "var",
                                  "amax", "all", "any", "median", "norm", "quantile"])
def test_axis_in_every_spelling_and_out_of_range(name):
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(2, 3, 4)))
    args = (0.4,) if name == "quantile" else ("fro",) if name == "norm" else ()
    f = getattr(paddle, name)
    want = f(x, *args, axis=1).numpy()
    assert want.shape == (2, 4)
    for axis in ([1], (1,), -2, [-2], paddle.to_tensor(1), np.int64(1)):
        np.testing.assert_allclose(f(x, *args, axis=axis).numpy(), want)
    assert f(x, *args, axis=1, keepdim=True).shape == [2, 1, 4]
    if name not in ("norm",):
        assert f(x, *args, axis=[0, -1], keepdim=True).shape == [1, 3, 1]
    for axis in (3, -4):
        with pytest.raises(ValueError, match=f"axis.*{axis}|{axis}.*axis"):
            f(x, *args, axis=axis)
    with pytest.raises(TypeError, match="axis"):
        f(x, *args, axis="rows")


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (3, 0, 2), (2, 3), (1, 1, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_odd_shapes_as_numpy(shape, keepdim):
    a = np.random.default_rng(0).normal(size=shape)
    x = paddle.to_tensor(a)
    for axis in (None, *range(len(shape)), tuple(range(len(shape))) or None):
        for name in ("sum", "prod", "mean"):
            if name == "mean" and 0 in shape:
                continue
            found = getattr(paddle, name)(x, axis=axis, keepdim=keepdim).numpy()
            want = getattr(np, name)(a, axis=axis, keepdims=keepdim)
            assert found.shape == np.shape(want)
            np.testing.assert_allclose(found, want, rtol=1e-14)


# ---- accuracy
@pytest.mark.parametrize("shape, axis", [((100_000, 3), 0), ((1000, 400), 0), ((7, 3001, 5), 1),
                                         ((64, 3, 50, 50), (0, 2, 3)), ((300_001,), None),
                                         ((4, 513, 1), (0, 1)), ((50_000, 2), (0,))])
def test_float32_sums_stay_exact_over_many_rows(shape, axis):
    a = np.random.default_rng(0).uniform(0, 1, shape).astype("float32")
    exact = a.sum(axis, dtype="float64")
    limit = 5e-7 if paddle.get_device() == "cpu" else 1e-5      # CuPy's sums are its own
    for keepdim in (False, True):
        found = paddle.sum(paddle.to_tensor(a), axis=axis, keepdim=keepdim)
        assert found.dtype == paddle.float32
        np.testing.assert_allclose(found.numpy().reshape(exact.shape), exact, rtol=limit)
    np.testing.assert_allclose(paddle.mean(paddle.to_tensor(a), axis=axis).numpy(),
                               a.mean(axis, dtype="float64"), rtol=limit)


def test_sum_of_transposed_and_strided_arrays():
    a = np.random.default_rng(0).normal(size=(300, 40, 6)).astype("float32")
    x = paddle.to_tensor(a)
    x._data = x._data.transpose(2, 0, 1)[::-1, ::2]
    for axis in (0, 1, 2, (0, 1), (1, 2), None):
        np.testing.assert_allclose(paddle.sum(x, axis=axis).numpy(),
                                   a.transpose(2, 0, 1)[::-1, ::2].sum(axis), rtol=1e-4, atol=1e-4)


def test_logsumexp_at_the_ends():
    inf = math.inf
    assert float(paddle.logsumexp(paddle.to_tensor([1e4, 1e4]))) == pytest.approx(1e4 + math.log(2))
    assert float(paddle.logsumexp(paddle.to_tensor([-inf, -inf]))) == -inf
    assert float(paddle.logsumexp(paddle.to_tensor([inf, 1.0]))) == inf
    assert float(paddle.logsumexp(paddle.zeros([0]))) == -inf


# ---- gradients where the choice is ours
def test_ties_share():
    m = [[1.0, 5.0, 5.0], [4.0, 4.0, 4.0]]
    for name in ("max", "amax"):
        np.testing.assert_allclose(grads(lambda x, name=name: getattr(paddle, name)(x, axis=1), m),
                                   [[0, .5, .5], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(grads(paddle.max, m), [[0, .5, .5], [0, 0, 0]])
    np.testing.assert_allclose(grads(paddle.median, [1.0, 2.0, 2.0]), [0, .5, .5])
    np.testing.assert_allclose(grads(paddle.median, [1.0, 4.0, 4.0, 5.0]), [0, .5, .5, 0])
    np.testing.assert_allclose(grads(lambda x: paddle.norm(x, p=math.inf), [2.0, -2.0, 1.0]),
                               [.5, -.5, 0])
    np.testing.assert_allclose(grads(lambda x: paddle.quantile(x, 0.25), [2.0, 2.0, 5.0]),
                               [.5, .5, 0])


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros_are_exact_to_second_order(name, zeros):
    a = np.float64([2.0, -1.5, 3.0, 0.5, 1.25])
    a[[1, 3, 0][:zeros]] = 0.0
    function = paddle.prod if name == "prod" else lambda x: paddle.cumprod(x, dim=0)

    def loss(values):
        return np.prod(values) if name == "prod" else np.cumprod(values).sum()
    one = np.eye(5)
    # Products are linear in each factor: differences of any step are exact.
    first = np.array([(loss(a + e) - loss(a - e)) / 2 for e in one])
    np.testing.assert_allclose(grads(function, a), first, atol=1e-13)
    mixed = np.array([[(loss(a + d + e) - loss(a + d - e) - loss(a - d + e) + loss(a - d - e)) / 4
                       if i != j else 0 for j, e in enumerate(one)] for i, d in enumerate(one)])
    np.testing.assert_allclose(grads(function, a, order=2), mixed @ np.cos(np.arange(5)),
                               atol=1e-12)


def test_norm_at_zero():
    for p in (1, 2, 3, 1.5, math.inf):
        assert grads(lambda x, p=p: paddle.norm(x, p=p), [0.0, 0.0]).tolist() == [0.0, 0.0]
        rows = grads(lambda x, p=p: paddle.norm(x, p=p, axis=1), [[0.0, 0.0], [3.0, 0.0]])
        assert rows.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_cummax_gradient_lands_where_it_came_from():
    x = paddle.to_tensor([[1.0, 3.0, 2.0], [5.0, 1.0, 6.0]], stop_gradient=False)
    values, indices = paddle.cummax(x, axis=1)
    assert indices.stop_gradient and not values.stop_gradient
    values.sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 0.0], [2.0, 0.0, 1.0]]


def test_nan_reductions_pass_no_gradient_to_nan():
    x = paddle.to_tensor([1.0, math.nan, 3.0], stop_gradient=False)
    paddle.nanmean(x).backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]


# ---- dtypes and errors
def test_dtypes():
    ints = paddle.to_tensor([1, 2, 4], dtype="int32")
    assert paddle.sum(ints).dtype == paddle.int64 and paddle.max(ints).dtype == paddle.int32
    assert paddle.sum(ints, dtype="float64").dtype == paddle.float64
    assert paddle.mean(ints).dtype == paddle.int32 and int(paddle.mean(ints)) == 2
    assert paddle.argmax(ints, dtype="int32").dtype == paddle.int32
    half = paddle.to_tensor(np.full(5000, 0.5, "float16"))
    assert paddle.sum(half).dtype == paddle.float16 and float(half.mean()) == 0.5
    assert float(paddle.sum(half)) == 2500.0


@pytest.mark.parametrize("call, words", [
    (lambda: paddle.max(paddle.zeros([0])), "max"),
    (lambda: paddle.median(paddle.zeros([0])), "median.*no elements"),
    (lambda: paddle.quantile(paddle.ones([2]), 1.5), r"quantile.*\[0, 1\].*1.5"),
    (lambda: paddle.norm(paddle.ones([2]), p="nuc"), "norm.*'nuc'"),
    (lambda: paddle.norm(paddle.ones([2, 2]), p=3, axis=[0, 1]), "norm.*3"),
    (lambda: paddle.add_n([paddle.ones([2]), paddle.ones([3])]), "add_n"),
    (lambda: paddle.add_n([]), "add_n.*at least one"),
    (lambda: paddle.trapezoid(paddle.ones([2]), paddle.ones([2]), 1.0), "trapezoid.*not both"),
])
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()
