"""Random tensors: dtypes, ranges, moments, seeds, in-place forms."""
from __future__ import annotations

import math

import numpy as np
import pytest

import minipaddle as paddle

MAKERS = {
    "rand": lambda: paddle.rand([4, 5]),
    "randn": lambda: paddle.randn([4, 5]),
    "standard_normal": lambda: paddle.standard_normal([4, 5], "float64"),
    "uniform": lambda: paddle.uniform([4, 5]),
    "normal": lambda: paddle.normal(1.0, 2.0, [4, 5]),
    "normal of tensors": lambda: paddle.normal(paddle.zeros([4, 5]), paddle.ones([5])),
    "log_normal": lambda: paddle.log_normal(0.0, 1.0, [4, 5]),
    "randint": lambda: paddle.randint(0, 1000, [4, 5]),
    "randint_like": lambda: paddle.randint_like(paddle.ones([4, 5]), 1000),
    "randperm": lambda: paddle.randperm(20),
    "rand_like": lambda: paddle.rand_like(paddle.ones([4, 5])),
    "randn_like": lambda: paddle.randn_like(paddle.ones([4, 5])),
    "bernoulli": lambda: paddle.bernoulli(paddle.full([4, 5], 0.5)),
    "poisson": lambda: paddle.poisson(paddle.full([4, 5], 30.0)),
    "binomial": lambda: paddle.binomial(paddle.full([4, 5], 100, "int64"), paddle.full([5], 0.5)),
    "standard_gamma": lambda: paddle.standard_gamma(paddle.full([4, 5], 2.0)),
    "multinomial": lambda: paddle.multinomial(paddle.ones([4, 50]), 5),
    "multinomial with replacement": lambda: paddle.multinomial(paddle.ones([4, 50]), 5, True),
    **{name: lambda name=name, args=args: getattr(paddle.zeros([4, 5]), name)(*args)
       for name, args in {"uniform_": (), "normal_": (), "exponential_": (2.0,), "cauchy_": (),
                          "bernoulli_": (), "geometric_": (0.3,), "log_normal_": ()}.items()},
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_decides(name):
    draws = []
    for seed in (7, 7, 8):
        paddle.seed(seed)
        draws.append(MAKERS[name]())
    a, b, c = (t.numpy() for t in draws)
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert (MAKERS[name]().numpy() != c).any()      # and the next draw is another
    assert all(t.stop_gradient for t in draws)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["rand", "randn", "uniform", "standard_normal"])
def test_float_dtypes(name, dtype):
    x = getattr(paddle, name)([3, 2], dtype)
    assert x.dtype.name == dtype and x.shape == [3, 2]
    assert getattr(paddle, name)(paddle.to_tensor([3, 2])).shape == [3, 2]
    assert getattr(paddle, name)([paddle.to_tensor(3), 2]).dtype == paddle.float32
    assert getattr(paddle, name)([]).shape == [] and getattr(paddle, name)([0, 2]).shape == [0, 2]


def _close(x, mean, std, n=40_000):
    """The mean of n draws within five of its standard errors."""
    assert abs(x.numpy().astype("float64").mean() - mean) < 5 * std / math.sqrt(n)


def test_moments():
    paddle.seed(1)
    n = [40_000]
    _close(paddle.rand(n), 0.5, math.sqrt(1 / 12))
    _close(paddle.uniform(n), 0.0, math.sqrt(1 / 3))
    _close(paddle.uniform(n, min=2.0, max=5.0), 3.5, 3 * math.sqrt(1 / 12))
    _close(paddle.randn(n), 0.0, 1.0)
    _close(paddle.square(paddle.randn(n)), 1.0, math.sqrt(2))
    _close(paddle.normal(3.0, 2.0, n), 3.0, 2.0)
    _close(paddle.bernoulli(paddle.full(n, 0.3)), 0.3, math.sqrt(0.21))
    _close(paddle.poisson(paddle.full(n, 4.0)), 4.0, 2.0)
    _close(paddle.binomial(paddle.full(n, 10.0), paddle.full(n, 0.3)), 3.0, math.sqrt(2.1))
    _close(paddle.standard_gamma(paddle.full(n, 2.0)), 2.0, math.sqrt(2))
    _close(paddle.zeros(n).exponential_(4.0), 0.25, 0.25)
    _close(paddle.zeros(n).bernoulli_(0.7), 0.7, math.sqrt(0.21))
    _close(paddle.randint(2, 6, n), 3.5, math.sqrt(15 / 12))
    # trials to the first success, once rounded up: mean 1 / p
    _close(paddle.ceil(paddle.zeros(n).geometric_(0.25)), 4.0, math.sqrt(0.75) / 0.25)


def test_ranges_and_dtypes_of_integers():
    x = paddle.randint(-3, 4, [1000])
    assert x.dtype == paddle.int64 and set(x.tolist()) == set(range(-3, 4))
    assert paddle.randint(5).shape == [1] and paddle.randint(5, shape=[2], dtype="int32").dtype == \
        paddle.int32
    assert paddle.randint_like(paddle.ones([3], "float32"), 5).dtype == paddle.float32
    assert paddle.randint_like(paddle.ones([3]), 5, dtype="int32").dtype == paddle.int32
    p = paddle.randperm(10, "int32")
    assert p.dtype == paddle.int32 and sorted(p.tolist()) == list(range(10))


def test_multinomial():
    paddle.seed(3)
    weights = paddle.to_tensor([1.0, 0.0, 3.0])
    drawn = paddle.multinomial(weights, 8000, replacement=True).numpy()
    assert drawn.dtype == np.int64 and abs((drawn == 2).mean() - 0.75) < 0.03
    assert not (drawn == 1).any()
    both = paddle.multinomial(paddle.to_tensor([[1.0, 0.0, 3.0]] * 50), 2).numpy()
    assert both.shape == (50, 2) and (np.sort(both, 1) == [0, 2]).all()
    first = paddle.multinomial(paddle.to_tensor([[1.0, 0.0, 3.0]] * 4000), 2).numpy()[:, 0]
    assert abs((first == 2).mean() - 0.75) < 0.04


def test_a_seed_of_its_own():
    paddle.seed(1)
    a = paddle.uniform([3], seed=5)
    assert a.tolist() == paddle.uniform([3], seed=5).tolist()
    assert a.tolist() != paddle.uniform([3], seed=6).tolist()


def test_in_place_forms_keep_the_tensor():
    x = paddle.zeros([1000], "float64")
    for name, args in (("uniform_", (2.0, 3.0)), ("normal_", (5.0, 0.1)), ("exponential_", ())):
        assert getattr(x, name)(*args) is x and x.dtype == paddle.float64
        assert len(set(x.tolist())) == 1000
    w = paddle.ones([2])
    w.stop_gradient = False
    with pytest.raises(RuntimeError, match="normal.*leaf"):
        w.normal_()
    with paddle.no_grad():
        w.normal_()
    assert not w.stop_gradient and w.tolist() != [1.0, 1.0]


@pytest.mark.parametrize("call, words", [
    (lambda: paddle.randint(5, 5, [2]), r"randint.*range \[5, 5\)"),
    (lambda: paddle.randint(0), "randint"),
    (lambda: paddle.rand([-1]), "rand.*negative"),
    (lambda: paddle.multinomial(paddle.ones([2, 2, 2])), "multinomial.*dimensions"),
])
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_multinomial_checks_its_weights_on_the_host():
    if paddle.get_device() != "cpu":                # there it would cost a transfer to look
        assert paddle.multinomial(paddle.ones([3]), 2).shape == [2]
        return
    with pytest.raises(ValueError, match="multinomial.*replacement=True"):
        paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0]), 2)
    with pytest.raises(ValueError, match="multinomial.*negative"):
        paddle.multinomial(paddle.to_tensor([-1.0, 1.0]))
