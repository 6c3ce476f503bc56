"""Random tensors, all drawn from the device's one generator: `paddle.seed` repeats them.

Imports ops_create and core. CuPy's generator lacks `normal` and `permutation`: only what both
have is used.
"""
from __future__ import annotations

import math

import numpy as np

from .core import (Array, Tensor, default_float, generator, inplace, np_dtype, op,
                   ops, public)
from .ops_create import _number, constant_of, shape_of


def _drawn(dtype) -> np.dtype:
    """The dtype random floats are drawn in: generators know float32 and float64."""
    return dtype if dtype.itemsize >= 4 else np.dtype("float32")


def _uniform(xp, shape, dtype, low, high, seed=0):
    """Uniform numbers in [low, high) of a floating dtype."""
    kind = _drawn(dtype)
    gen = xp.random.default_rng(seed) if seed else generator(xp)
    draws = gen.random(shape, dtype=kind.type)
    if low != 0 or high != 1:
        draws = draws * kind.type(high - low) + kind.type(low)
    return draws if dtype is kind else draws.astype(dtype)


def _normal(xp, shape, dtype):
    """Standard normal numbers of a floating dtype."""
    kind = _drawn(dtype)
    draws = generator(xp).standard_normal(shape, dtype=kind.type)
    return draws if dtype is kind else draws.astype(dtype)


@op(random=True, amp="keep", half="native", method=False)
def uniform(xp, shape: list[int], dtype: str | None = None, min: float = -1.0, max: float = 1.0,
            seed: int = 0) -> Array:
    """Uniform random numbers in [min, max); a seed other than 0 gives draws of its own.

    >>> import minipaddle as paddle
    >>> x = paddle.uniform([1000], min=2., max=3.)
    >>> bool((x >= 2).all()) and bool((x <= 3).all())
    True
    """
    return _uniform(xp, shape_of(shape), np_dtype(dtype), float(_number(min)), float(_number(max)),
                    seed)


@op(random=True, amp="keep", half="native", method=False)
def rand(xp, shape: list[int], dtype: str | None = None) -> Array:
    """Uniform random numbers in [0, 1).

    >>> import minipaddle as paddle
    >>> paddle.rand([2, 3]).shape
    [2, 3]
    """
    return _uniform(xp, shape_of(shape), np_dtype(dtype), 0.0, 1.0)


@op(random=True, amp="keep", half="native", aliases=("standard_normal",), method=False)
def randn(xp, shape: list[int], dtype: str | None = None) -> Array:
    """Random numbers of the standard normal distribution.

    >>> import minipaddle as paddle
    >>> paddle.randn([2, 3], dtype='float64').dtype
    paddle.float64
    """
    return _normal(xp, shape_of(shape), np_dtype(dtype))


@public(method=False)
def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Normal random numbers; mean and std are numbers (then shape counts) or Tensors.

    >>> import minipaddle as paddle
    >>> paddle.normal(1.0, 0.0, [2]).tolist()
    [1.0, 1.0]
    """
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors:
        return randn([1] if shape is None else shape) * float(std) + float(mean)
    sizes = np.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    return randn(sizes, next((t.dtype for t in tensors if t.dtype.is_floating), None)) * std + mean


@public(method=False)
def log_normal(mean=1.0, std=2.0, shape=None, name=None):
    """exp of normal random numbers.

    >>> import minipaddle as paddle
    >>> paddle.log_normal(0.0, 0.0, [2]).tolist()
    [1.0, 1.0]
    """
    return ops.exp(normal(mean, std, shape))


@op(random=True, amp="keep", half="native", method=False)
def randint(xp, low: int = 0, high: int | None = None, shape: list[int] = [1],  # noqa: B006
            dtype: str | None = None) -> Array:
    """Random integers in [low, high), or [0, low) when high is None; int64 unless dtype says.

    ValueError for an empty range.

    >>> import minipaddle as paddle
    >>> paddle.randint(0, 1, [3]).tolist()
    [0, 0, 0]
    """
    return _integers(xp, low, high, shape_of(shape), np_dtype(dtype, np.dtype("int64")))


def _integers(xp, low, high, shape, dtype):
    low, high = _number(low), _number(high)
    if high is None:
        low, high = 0, low
    if high <= low:
        raise ValueError(f"high must be above low, got the range [{low}, {high})")
    drawn = dtype if dtype.kind in "iu" else np.dtype("int64")
    return generator(xp).integers(low, high, shape, dtype=drawn.type).astype(dtype, copy=False)


@op(random=True, amp="keep", half="native", method=False)
def randperm(xp, n: int, dtype: str = "int64") -> Array:
    """The integers 0 to n - 1 in random order.

    >>> import minipaddle as paddle
    >>> sorted(paddle.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    n = _number(n)
    # The order of random numbers: CuPy's generator has no permutation.
    gen = generator(xp)
    found = gen.permutation(n) if xp is np else xp.argsort(gen.random(n))   # xp: numpy-only
    return found.astype(np_dtype(dtype), copy=False)


# ---- like another tensor
@constant_of
@op(namespace=None, random=True, amp="keep", half="native")
def rand_like(xp, input: Array, dtype: str | None = None) -> Array:
    """Uniform random numbers in [0, 1) of input's shape; dtype: input's unless given.

    >>> import minipaddle as paddle
    >>> paddle.rand_like(paddle.ones([2, 3])).shape
    [2, 3]
    """
    return _uniform(xp, input.shape, _float_of(input, dtype), 0.0, 1.0)


@constant_of
@op(namespace=None, random=True, amp="keep", half="native")
def randn_like(xp, x: Array, dtype: str | None = None) -> Array:
    """Standard normal random numbers of x's shape; dtype: x's unless given.

    >>> import minipaddle as paddle
    >>> paddle.randn_like(paddle.ones([2, 3])).shape
    [2, 3]
    """
    return _normal(xp, x.shape, _float_of(x, dtype))


def _float_of(x, dtype):
    return np_dtype(dtype, x.dtype if x.dtype.kind == "f" else default_float())


@constant_of
@op(namespace=None, random=True, amp="keep", half="native")
def randint_like(xp, x: Array, low: int = 0, high: int | None = None,
                 dtype: str | None = None) -> Array:
    """Random integers in [low, high) of x's shape, in x's dtype unless another is given.

    >>> import minipaddle as paddle
    >>> paddle.randint_like(paddle.ones([2]), 0, 1).tolist()
    [0.0, 0.0]
    """
    return _integers(xp, low, high, x.shape, np_dtype(dtype, x.dtype))


# ---- distributions whose parameters are tensors; none passes gradients to them
def _method(function):
    """As `constant_of`, a method of Tensor too."""
    changed = constant_of(function)
    setattr(Tensor, function.op.name, changed)
    return changed


@_method
@op(namespace=None, random=True, amp="keep", half="native")
def bernoulli(xp, x: Array) -> Array:
    """1 with probability x, else 0; x's shape and dtype.

    >>> import minipaddle as paddle
    >>> paddle.bernoulli(paddle.to_tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return (generator(xp).random(x.shape, dtype=_drawn(x.dtype).type) < x).astype(x.dtype)


@_method
@op(namespace=None, random=True, amp="keep", half="native")
def poisson(xp, x: Array) -> Array:
    """Poisson random numbers with the rates x; x's shape and dtype.

    >>> import minipaddle as paddle
    >>> paddle.poisson(paddle.to_tensor([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """
    return xp.asarray(generator(xp).poisson(x)).astype(x.dtype)


@constant_of
@op(namespace=None, random=True, amp="keep", half="native", broadcasts=True)
def binomial(xp, count: Array, prob: Array) -> Array:
    """How many of `count` trials succeed, each with probability `prob`; int64.

    >>> import minipaddle as paddle
    >>> paddle.binomial(paddle.to_tensor([5]), paddle.to_tensor([1.0])).tolist()
    [5]
    """
    count = count.astype(np.int64)
    return xp.asarray(generator(xp).binomial(count, prob.astype(np.float64))).astype(np.int64)


@constant_of
@op(namespace=None, random=True, amp="keep", half="native")
def standard_gamma(xp, x: Array) -> Array:
    """Gamma random numbers of shape parameters x and scale 1; x's shape and dtype.

    >>> import minipaddle as paddle
    >>> bool(paddle.standard_gamma(paddle.ones([3])).min() > 0)
    True
    """
    return xp.asarray(generator(xp).standard_gamma(x.astype(np.float64))).astype(x.dtype)


@_method
@op(namespace=None, random=True, amp="keep", half="native")
def multinomial(xp, x: Array, num_samples: int = 1, replacement: bool = False) -> Array:
    """Indices drawn with the probabilities x (they need not sum to 1): [..., num_samples], int64.

    x: [categories] or [rows, categories], not negative. ValueError when, without replacement, more
    are asked for than have a probability.

    >>> import minipaddle as paddle
    >>> paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0]), 2, replacement=True).tolist()
    [1, 1]
    """
    if x.ndim not in (1, 2):
        raise ValueError("x must have 1 or 2 dimensions")
    gen, n = generator(xp), int(num_samples)
    if xp is np:                                    # xp: numpy-only
        if (x < 0).any() or not (x.sum(-1) > 0).all():
            raise ValueError("x must hold probabilities: none negative, not all 0")
        if not replacement and ((x > 0).sum(-1) < n).any():
            raise ValueError(f"num_samples is {n}, more than the categories with a probability "
                             "above 0; draw with replacement=True")
    p = x.astype(np.float64)
    if not replacement:
        # The n smallest of exponential waiting times with the rates p.
        times = gen.standard_exponential(p.shape) / p
        return xp.argsort(times, axis=-1)[..., :n].astype(np.int64)
    edges = xp.cumsum(p, axis=-1)
    u = gen.random(p.shape[:-1] + (n,)) * edges[..., -1:]
    return (u[..., None] >= edges[..., None, :]).sum(-1).astype(np.int64)


# ---- in place: x keeps its shape and dtype and forgets what it was computed from
def _fill(name, x, draw):
    """Put draw(x) into x; the name is for the message when x is a leaf that needs gradients."""
    draw.__name__ = name
    return inplace(draw, x)


def _uniform_like(x, low=0.0, high=1.0, seed=0):
    return uniform(x.shape, x.dtype, low, high, seed)


@public()
def uniform_(x, min=-1.0, max=1.0, seed=0, name=None):
    """Overwrite x with uniform random numbers in [min, max).

    >>> import minipaddle as paddle
    >>> bool((paddle.zeros([9]).uniform_(2.0, 3.0) >= 2).all())
    True
    """
    return _fill("uniform", x, lambda old: _uniform_like(old, min, max, seed))


@public()
def normal_(x, mean=0.0, std=1.0, name=None):
    """Overwrite x with normal random numbers.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2]).normal_(3.0, 0.0).tolist()
    [3.0, 3.0]
    """
    return _fill("normal", x, lambda old: randn_like(old) * std + mean)


@public()
def log_normal_(x, mean=1.0, std=2.0, name=None):
    """Overwrite x with exp of normal random numbers.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2]).log_normal_(0.0, 0.0).tolist()
    [1.0, 1.0]
    """
    return _fill("log_normal", x, lambda old: ops.exp(randn_like(old) * std + mean))


@public(name="exponential_")
def exponential_(x, lam=1.0, name=None):
    """Overwrite x with exponential random numbers of the rate lam: their mean is 1 / lam.

    >>> import minipaddle as paddle
    >>> bool((paddle.zeros([9]).exponential_(2.0) >= 0).all())
    True
    """
    return _fill("exponential", x, lambda old: ops.log1p(-rand_like(old)) * (-1.0 / lam))


@public()
def bernoulli_(x, p=0.5, name=None):
    """Overwrite x with 1 with probability p (a number or a Tensor that broadcasts), else 0.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2]).bernoulli_(1.0).tolist()
    [1.0, 1.0]
    """
    return _fill("bernoulli", x, lambda old: ops.cast(_uniform_like(old) < p, old.dtype))


@public()
def cauchy_(x, loc=0, scale=1, name=None):
    """Overwrite x with Cauchy random numbers around loc.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2]).cauchy_(3.0, 0.0).tolist()
    [3.0, 3.0]
    """
    return _fill("cauchy", x, lambda old:
                 ops.tan((rand_like(old) - 0.5) * math.pi) * scale + loc)


@public()
def geometric_(x, probs, name=None):
    """Overwrite x with log(u) / log(1 - probs), u uniform: rounded up it counts trials to success.

    Not rounded, as Paddle does it.

    >>> import minipaddle as paddle
    >>> bool((paddle.zeros([9]).geometric_(0.5) >= 0).all())
    True
    """
    def draw(old):
        u = 1.0 - rand_like(old)                    # in (0, 1]
        rate = ops.log1p(-probs) if isinstance(probs, Tensor) else math.log1p(-probs)
        return ops.log(u) / rate
    return _fill("geometric", x, draw)
