"""New tensors: values against real Paddle, dtypes, memory of their own, gradients."""
from __future__ import annotations

import golden_ops
import numpy as np
import pytest

import minipaddle as paddle


@pytest.mark.parametrize("line", golden_ops.lines("creation"))
def test_as_real_paddle(line):
    golden_ops.check("creation", line, paddle)


def test_dtype_follows_the_default():
    paddle.set_default_dtype("float64")
    try:
        for made in (paddle.zeros([1]), paddle.ones([1]), paddle.full([1], 2), paddle.eye(1),
                     paddle.linspace(0, 1, 2), paddle.arange(1.0), paddle.rand([1]),
                     paddle.randn([1]), paddle.uniform([1]), paddle.normal(shape=[1])):
            assert made.dtype == paddle.float64
    finally:
        paddle.set_default_dtype("float32")
    for dtype in ("float16", "float32", "int32", "bool", "complex64"):
        assert paddle.ones([2], dtype).dtype.name == dtype


def test_arange_does_not_drift():
    x = paddle.arange(0.0, 1000.0, 0.1).numpy()
    assert x.dtype == np.float32 and x.size == 10000
    np.testing.assert_array_equal(x, (np.arange(10000) * 0.1).astype("float32"))


@pytest.mark.parametrize("call, words", [
    (lambda: paddle.zeros([2, -1]), r"zeros.*negative.*\[2, -1\]"),
    (lambda: paddle.zeros("two"), "zeros.*shape"),
    (lambda: paddle.zeros([1.5]), "zeros.*shape"),
    (lambda: paddle.arange(0, 1, 0), "arange.*step"),
    (lambda: paddle.tril(paddle.ones([2])), "tril.*2 dimensions"),
    (lambda: paddle.diag(paddle.ones([1, 1, 1])), "diag.*1 or 2 dimensions"),
    (lambda: paddle.diag_embed(paddle.ones([2]), 0, 1, 1), "diag_embed.*differ"),
    (lambda: paddle.meshgrid(paddle.ones([2, 2])), "meshgrid"),
])
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_copies_have_memory_of_their_own():
    x = paddle.to_tensor([1.0, 2.0])
    for copy in (x.clone(), paddle.assign(x), *paddle.meshgrid(x), paddle.diag(paddle.diag(x))):
        if copy.shape == [2]:
            copy[0] = 9.0
    assert x.tolist() == [1.0, 2.0]
    (grid,) = paddle.meshgrid(paddle.to_tensor([1.0, 2.0]))
    a, b = paddle.meshgrid(x, x)
    a[0, 0] = 7.0                                   # writes one element, not a whole row
    assert a.tolist() == [[7.0, 1.0], [2.0, 2.0]] and b.tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_likes_have_no_history():
    x = paddle.ones([2], "float32")
    x.stop_gradient = False
    y = x * 2.0
    for made in (paddle.zeros_like(y), paddle.ones_like(y), paddle.full_like(y, 3.0),
                 paddle.rand_like(y), paddle.randn_like(y), paddle.bernoulli(y * 0.25)):
        assert made.stop_gradient and made.dtype == paddle.float32 and made.shape == [2]
    (y * paddle.ones_like(y)).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_assign_into_output():
    out = paddle.zeros([2])
    assert paddle.assign(paddle.to_tensor([1.0, 2.0]), out) is out
    assert out.tolist() == [1.0, 2.0]


def test_increment_is_in_place():
    x = paddle.to_tensor([1, 2])
    assert paddle.increment(x, 2) is x and x.tolist() == [3, 4] and x.dtype == paddle.int64


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 5])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (0, 3), (2, 3, 4)])
def test_diagonals_and_triangles_as_numpy(shape, offset):
    a = np.random.default_rng(0).normal(size=shape)
    x = paddle.to_tensor(a, stop_gradient=False)
    np.testing.assert_array_equal(paddle.tril(x, offset).numpy(), np.tril(a, offset))
    np.testing.assert_array_equal(paddle.triu(x, offset).numpy(), np.triu(a, offset))
    if len(shape) == 2 and min(shape):
        d = paddle.diag(x, offset)
        np.testing.assert_array_equal(d.numpy(), np.diag(a, offset))
        d.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.eye(*shape, k=offset))


def test_kinds():
    assert paddle.is_floating_point(paddle.ones([1], "float16"))
    assert paddle.is_integer(paddle.ones([1], "uint8")) and not paddle.is_integer(paddle.ones([1]))
    assert paddle.is_complex(paddle.ones([1], "complex64"))
    assert paddle.ones([2, 3]).dim() == 2 and paddle.ones([1], "float64").element_size() == 8
