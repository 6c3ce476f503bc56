"""Reductions and scans: sums, means, extrema, norms, statistics, cumulative operations.

Imports ops_math, samples and core. `axis` is None, an int, or several as list, tuple or Tensor.
"""
from __future__ import annotations

import math

import numpy as np

from .core import Array, Arrays, Tensor, asnumpy, np_dtype, op, ops, public, xp_of  # noqa: F401

try:
    from .samples import pairs, reduction, unary  # DEV
except ImportError:  # DEV
    pairs = reduction = unary = None  # DEV


# ---- axes
def _axes(axis):
    """An axis argument as NumPy takes it: None, an int, or a tuple of ints."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, Tensor):
        axis = asnumpy(axis._data).tolist()
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple([_one_axis(a) for a in axis]) or None      # an empty list: all of them
    return _one_axis(axis)


def _one_axis(axis) -> int:
    """One axis as an int; TypeError for what is none."""
    try:
        return axis.__index__()
    except AttributeError:
        raise TypeError(f"axis must be an int, or ints in a list or tuple, got {axis!r}") from None


def _spread(F, t, x_shape, axis, keepdim):
    """A reduced t in the shape it has with keepdim=True, so that it broadcasts against x."""
    if keepdim or len(x_shape) == 0:
        return t
    axes = _axes(axis)
    if axes is None:
        return t                                    # 0-d: broadcasts anyway
    axes = {a % len(x_shape) for a in ((axes,) if type(axes) is int else axes)}
    return F.reshape(t, [1 if i in axes else n for i, n in enumerate(x_shape)])


def _count(x_shape, axis) -> int:
    """How many elements are reduced to one."""
    axes = _axes(axis)
    if axes is None:
        return math.prod(x_shape)
    return math.prod(x_shape[a] for a in ((axes,) if type(axes) is int else axes))


@op(namespace=None, half="native", amp="keep", view=True)
def spread_to(xp, x: Array, shape: tuple) -> Array:
    """x of as many dimensions as `shape` (or 0-d), repeated along its ones without copying."""
    return xp.broadcast_to(x, shape)


@spread_to.vjp
def _(F, g, x_shape, shape):
    axes = [i for i, n in enumerate(x_shape) if n == 1 and shape[i] != 1] if x_shape else None
    return g if axes == [] else F.sum(g, axis=axes, keepdim=axes is not None)


# ---- sums and means
def _total(xp, x, axis, keepdim, dtype=None):
    """The sum over axes, in float32 exact to a few rounding errors also over many rows.

    NumPy adds in pairs along the last axis, but row after row along others, where the error of
    float32 grows with the count: there the rows are summed in blocks first.
    """
    if xp is np and axis is not None and x.dtype.itemsize == 4 and x.dtype.kind == "f" \
            and x.ndim > 1 and dtype in (None, x.dtype):
        return _total_f32(x, axis, keepdim)         # xp: numpy-only
    return xp.add.reduce(x, axis, dtype, None, keepdim)


def _total_f32(x, axis, keepdim):
    axes = (axis,) if type(axis) is int else axis
    if any(not -x.ndim <= a < x.ndim for a in axes):
        return np.add.reduce(x, axis, None, None, keepdim)      # raises
    axes = sorted([a % x.ndim for a in axes])
    # From the last axis forwards: each step reads what is contiguous, and later ones less.
    for a in reversed(axes):
        x = _total_axis(x, a)
    return x if keepdim else x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _total_axis(x, a):
    n = x.shape[a]
    if n > 256 and a < x.ndim - 1:
        blocks = n // 128
        head, rest = x[(slice(None),) * a + (slice(0, blocks * 128),)], None
        if n % 128:
            rest = np.add.reduce(x[(slice(None),) * a + (slice(blocks * 128, n),)], a, None, None,
                                 True)
        head = np.add.reduce(head.reshape(*x.shape[:a], blocks, 128, *x.shape[a + 1:]), a + 1)
        total = _total_axis(head, a)
        return total if rest is None else total + rest
    return np.add.reduce(x, a, None, None, True)


@op("sum", samples=reduction, amp="block", legacy=("reduce_sum",))
def _sum(xp, x: Array, axis: int | list[int] | None = None, dtype: str | None = None,
         keepdim: bool = False) -> Array:
    """The sum over all elements, or over one or several axes.

    Bools and int32 sum to int64; dtype asks for another. A sum of nothing is 0.

    >>> import minipaddle as paddle
    >>> paddle.sum(paddle.to_tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
    [3.0, 7.0]
    """
    kind = x.dtype.kind
    dtype = np_dtype(dtype) if dtype is not None else np.dtype("int64") if kind in "biu" else None
    return _total(xp, x, axis if axis is None or type(axis) is int else _axes(axis), keepdim, dtype)


@_sum.vjp
def _(F, g, x_shape, axis, keepdim):
    return F.spread_to(_spread(F, g, x_shape, axis, keepdim), x_shape)


@op(samples=reduction, amp="block", legacy=("reduce_mean",))
def mean(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
    """The mean over all elements, or over one or several axes; nan of nothing.

    The mean of integers is an integer, rounded towards zero.

    >>> import minipaddle as paddle
    >>> paddle.mean(paddle.to_tensor([[1., 2.], [3., 4.]]), axis=0).tolist()
    [2.0, 3.0]
    """
    axis = _axes(axis)
    kind = x.dtype.kind
    total = _total(xp, x, axis, keepdim)
    n = _count(x.shape, axis)
    if kind in "fc":
        return total * total.dtype.type(1.0 / n) if n else total * total.dtype.type("nan")
    return xp.trunc(total / n).astype(x.dtype)


@mean.vjp
def _(F, g, x_shape, axis, keepdim):
    g = _spread(F, g * (1.0 / max(_count(x_shape, axis), 1)), x_shape, axis, keepdim)
    return F.spread_to(g, x_shape)


# ---- extrema
def _extremum(name, larger, word):
    def forward(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
        return (x.max if larger else x.min)(_axes(axis), None, keepdim)
    forward.__doc__ = f"""The {word} element, of all or over one or several axes; nan if one is nan.

    Elements that share the {word} value share the gradient evenly. ValueError for no elements.

    >>> import minipaddle as paddle
    >>> paddle.{name}(paddle.to_tensor([[1., 4.], [3., 2.]]), axis=1).tolist()
    {[4.0, 3.0] if larger else [1.0, 2.0]}
    """
    function = op(name, samples=reduction, legacy=("reduce_" + name[-3:],))(forward)

    @function.vjp
    def _(F, g, x, out, axis, keepdim, x_shape):
        hit = F.cast(x == _spread(F, out, x_shape, axis, keepdim), g.dtype)
        share = _spread(F, g, x_shape, axis, keepdim) / F.sum(hit, axis=axis, keepdim=True)
        return share * hit
    return function


_max, _min = _extremum("max", True, "largest"), _extremum("min", False, "smallest")
amax, amin = _extremum("amax", True, "largest"), _extremum("amin", False, "smallest")


def _position(name, word, example):
    def forward(xp, x: Array, axis: int | None = None, keepdim: bool = False,
                dtype: str = "int64") -> Array:
        axis = _axes(axis)
        found = getattr(x, name)(axis)
        if keepdim:
            found = found.reshape([1] * x.ndim) if axis is None else xp.expand_dims(found, axis)
        return found.astype(np_dtype(dtype))
    forward.__doc__ = f"""The index of the first {word} element: of the flattened x, or along axis.

    >>> import minipaddle as paddle
    >>> paddle.{name}(paddle.to_tensor([[1., 4.], [3., 2.]]), axis=1).tolist()
    {example}
    """
    return op(name, half="native")(forward)


argmax, argmin = _position("argmax", "largest", "[1, 0]"), _position("argmin", "smallest", "[0, 1]")


# ---- truth
@op("all", half="native")
def _all(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
    """Whether all elements are true, or all along axes.

    >>> import minipaddle as paddle
    >>> paddle.all(paddle.to_tensor([[True, False], [True, True]]), axis=1).tolist()
    [False, True]
    """
    return x.all(_axes(axis), None, keepdim)


@op("any", half="native")
def _any(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
    """Whether any element is true, or any along axes.

    >>> import minipaddle as paddle
    >>> paddle.any(paddle.to_tensor([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return x.any(_axes(axis), None, keepdim)
