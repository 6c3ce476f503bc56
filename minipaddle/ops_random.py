"""Random tensors, all drawn from the device's one generator: `paddle.seed` repeats them.

Imports ops_create and core. CuPy's generator lacks `normal` and `permutation`: only what both
have is used.
"""
from __future__ import annotations

import numpy as np

from .core import Array, Tensor, generator, inplace, np_dtype, op, ops, public  # noqa: F401
from .ops_create import _number, shape_of


def _drawn(dtype) -> np.dtype:
    """The dtype random floats are drawn in: generators know float32 and float64."""
    return dtype if dtype.itemsize >= 4 else np.dtype("float32")


def _uniform(xp, shape, dtype, low, high):
    """Uniform numbers in [low, high) of a floating dtype."""
    kind = _drawn(dtype)
    draws = generator(xp).random(shape, dtype=kind.type)
    if low != 0 or high != 1:
        draws = draws * kind.type(high - low) + kind.type(low)
    return draws if dtype is kind else draws.astype(dtype)


def _normal(xp, shape, dtype):
    """Standard normal numbers of a floating dtype."""
    kind = _drawn(dtype)
    draws = generator(xp).standard_normal(shape, dtype=kind.type)
    return draws if dtype is kind else draws.astype(dtype)


@op(random=True, amp="keep", half="native")
def uniform(xp, shape: list[int], dtype: str | None = None, min: float = -1.0, max: float = 1.0,
            seed: int = 0) -> Array:
    """Uniform random numbers in [min, max); a seed other than 0 gives draws of its own.

    >>> import minipaddle as paddle
    >>> x = paddle.uniform([1000], min=2., max=3.)
    >>> bool((x >= 2).all()) and bool((x <= 3).all())
    True
    """
    return _uniform(xp, shape_of(shape), np_dtype(dtype), float(_number(min)), float(_number(max)))


@op(random=True, amp="keep", half="native")
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
    for given in (mean, std):
        if isinstance(given, Tensor):
            other = std if given is mean else mean
            kind = given.dtype if given.dtype.is_floating else None
            sizes = given.shape
            if isinstance(other, Tensor):
                sizes = list(np.broadcast_shapes(tuple(sizes), tuple(other.shape)))
            return randn(sizes, kind) * std + mean
    return randn([1] if shape is None else shape) * float(std) + float(mean)


@op(random=True, amp="keep", half="native")
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


@op(random=True, amp="keep", half="native")
def randperm(xp, n: int, dtype: str = "int64") -> Array:
    """The integers 0 to n - 1 in random order.

    >>> import minipaddle as paddle
    >>> sorted(paddle.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    n = _number(n)
    # The order of random numbers: CuPy's generator has no permutation.
    gen = generator(xp)
    found = gen.permutation(n) if xp is np else xp.argsort(gen.random(n))  # xp: numpy-only
    return found.astype(np_dtype(dtype), copy=False)
