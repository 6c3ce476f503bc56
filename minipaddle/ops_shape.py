"""Operations on shape: reshape, transpose, join, split, repeat, broadcast, flip.

Imports samples and core. Most give views: what they return shares its base's memory.
"""
from __future__ import annotations

import math

import numpy as np

from .core import Array, Arrays, Tensor, op, ops, public
from .samples import unary


# ---- reading shapes and axes
def shape_of(shape) -> tuple:
    """A shape given as list, tuple, integer tensor, int, or a list with tensors in it."""
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)):
        shape = (shape,)
    return tuple([n if type(n) is int else int(n) for n in shape])


def axes_of(axis, ndim: int) -> tuple:
    """Axes given as int, list, tuple or tensor, made non-negative; IndexError when out of range."""
    axes = []
    for a in shape_of(axis):
        if not -ndim <= a < ndim:
            raise IndexError(f"axis {a} is out of range for a tensor of {ndim} dimensions")
        axes.append(a % ndim)
    return tuple(axes)


def axis_of(axis, ndim: int) -> int:
    """One axis, as `axes_of`."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    return axes_of(axis, ndim)[0]


# ---- another shape, the same values
def _reshape_sample(draw):
    shape = draw.shape()
    return (draw.array(shape), draw.choice([[-1], [*shape, 1], [1, math.prod(shape)]])
            if math.prod(shape) else [*shape, 1]), {}


@op(view=True, half="native", inplace=True, amp="keep", legacy=("reshape2",),
    samples=_reshape_sample)
def reshape(xp, x: Array, shape: list) -> Array:
    """The same values in another shape; shares x's memory where it can.

    In shape, one -1 is inferred and 0 keeps that dimension of x; entries may be 0-d tensors.

    >>> import minipaddle as paddle
    >>> paddle.reshape(paddle.ones([2, 3, 4]), [0, -1]).shape
    [2, 12]
    """
    shape = shape_of(shape)
    if 0 in shape and x.size:
        shape = tuple([x.shape[i] if n == 0 and i < x.ndim else n for i, n in enumerate(shape)])
    return x.reshape(shape)


@reshape.vjp
def _(F, g, x_shape):
    return F.reshape(g, x_shape)


@op(view=True, half="native", amp="keep", legacy=("transpose2",),
    samples=lambda draw: ((draw.array(draw.shape(3, 3)), draw.choice([[2, 0, 1], [0, 2, 1]])), {}))
def transpose(xp, x: Array, perm: list) -> Array:
    """x with its dimensions in the order perm, a full permutation; a view.

    >>> import minipaddle as paddle
    >>> paddle.transpose(paddle.ones([2, 3, 4]), [2, 0, 1]).shape
    [4, 2, 3]
    """
    perm = axes_of(perm, x.ndim)
    if len(perm) != x.ndim or len(set(perm)) != x.ndim:
        raise ValueError(f"perm {list(perm)} must name each of the {x.ndim} dimensions once")
    return x.transpose(perm)


@transpose.vjp
def _(F, g, perm):
    perm = shape_of(perm)
    inverse = [0] * len(perm)
    for i, p in enumerate(perm):
        inverse[p] = i
    return F.transpose(g, inverse)


def _view_op(name, forward, doc, example, sample, legacy):
    """An op whose gradient is just g in x's shape."""
    forward.__name__, forward.__doc__ = name, f"""{doc}

    >>> import minipaddle as paddle
    >>> {example[0]}
    {example[1]}
    """
    function = op(name, view=True, half="native", inplace=True, amp="keep", legacy=legacy,
                  samples=sample)(forward)
    function.vjp(lambda F, g, x_shape: F.reshape(g, x_shape))
    return function


def _squeeze(xp, x: Array, axis: int = None) -> Array:
    if axis is None:
        return x.reshape([n for n in x.shape if n != 1])
    axes = axes_of(axis, x.ndim) if x.ndim else ()
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axes])


squeeze = _view_op(
    "squeeze", _squeeze,
    "x without its dimensions of size 1: all of them, or those in axis (others stay).",
    ("paddle.squeeze(paddle.ones([1, 3, 1]), axis=0).shape", "[3, 1]"),
    lambda draw: ((draw.array((1, *draw.shape(0, 2))),), {"axis": draw.choice([None, 0])}),
    ("squeeze2",))


def _unsqueeze(xp, x: Array, axis: int) -> Array:
    shape = list(x.shape)
    for a in shape_of(axis):
        if not -len(shape) - 1 <= a <= len(shape):
            raise IndexError(f"axis {a} is out of range to insert into {len(shape)} dimensions")
        shape.insert(a if a >= 0 else a + len(shape) + 1, 1)
    return x.reshape(shape)


unsqueeze = _view_op(
    "unsqueeze", _unsqueeze, "x with dimensions of size 1 put in at axis, an int or a list.",
    ("paddle.unsqueeze(paddle.ones([3]), [0, 2]).shape", "[1, 3, 1]"),
    lambda draw: ((draw.array(draw.shape(0, 2)), draw.choice([0, -1])), {}), ("unsqueeze2",))


def _flatten(xp, x: Array, start_axis: int = 0, stop_axis: int = -1) -> Array:
    if not x.ndim:
        return x.reshape(1)
    a, b = axis_of(start_axis, x.ndim), axis_of(stop_axis, x.ndim)
    if b < a:
        raise ValueError(f"start_axis {start_axis} must not come after stop_axis {stop_axis}")
    return x.reshape(x.shape[:a] + (math.prod(x.shape[a:b + 1]),) + x.shape[b + 1:])


flatten = _view_op(
    "flatten", _flatten, "x with the dimensions from start_axis to stop_axis made one.",
    ("paddle.flatten(paddle.ones([2, 3, 4]), 1).shape", "[2, 12]"), unary,
    ("flatten_contiguous_range",))


# ---- broadcasting and repeating
@op(view=True, half="native", amp="keep", aliases=("broadcast_to",), legacy=("expand_v2",),
    samples=lambda draw: ((draw.array((1, 3)), [2, draw.integer(1, 3), 3]), {}))
def expand(xp, x: Array, shape: list) -> Array:
    """x repeated along dimensions of size 1, or new ones in front, without copying; -1 keeps.

    >>> import minipaddle as paddle
    >>> paddle.expand(paddle.ones([3, 1]), [2, -1, 4]).shape
    [2, 3, 4]
    """
    shape = shape_of(shape)
    extra = len(shape) - x.ndim
    if extra < 0:
        raise ValueError(f"shape {list(shape)} has fewer dimensions than x, {list(x.shape)}")
    return xp.broadcast_to(x, tuple([x.shape[i - extra] if n == -1 and i >= extra else n
                                     for i, n in enumerate(shape)]))


@expand.vjp
def _(F, g, x_shape):
    extra = len(g.shape) - len(x_shape)
    axes = list(range(extra)) + [i + extra for i, n in enumerate(x_shape)
                                 if n == 1 and g.shape[i + extra] != 1]
    if axes:
        g = F.sum(g, axis=axes, keepdim=True)
    return F.reshape(g, x_shape)


@public()
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """x expanded to y's shape.

    >>> import minipaddle as paddle
    >>> paddle.expand_as(paddle.ones([1, 2]), paddle.ones([3, 2])).shape
    [3, 2]
    """
    return expand(x, y.shape)


@op(half="native", amp="keep", samples=lambda draw: ((draw.array((2, 3)), [2, 1, 2]), {}))
def tile(xp, x: Array, repeat_times: list) -> Array:
    """x repeated repeat_times along each dimension, the last ones aligned.

    >>> import minipaddle as paddle
    >>> paddle.tile(paddle.to_tensor([1, 2]), [2, 2]).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return xp.tile(x, shape_of(repeat_times))


@tile.vjp
def _(F, g, x_shape, repeat_times):
    times = shape_of(repeat_times)
    n = max(len(times), len(x_shape))
    times = (1,) * (n - len(times)) + times
    shape = (1,) * (n - len(x_shape)) + tuple(x_shape)
    parts = [m for pair in zip(times, shape) for m in pair]
    return F.reshape(F.sum(F.reshape(g, parts), axis=list(range(0, 2 * n, 2))), x_shape)


# ---- joining and splitting
def _several(draw):
    shape = draw.shape(1, 3)
    return ([draw.array(shape) for _ in range(draw.integer(1, 3))],), {"axis": draw.axis(len(shape))}


@op(half="native", promote="same", samples=_several)
def concat(xp, x: Arrays, axis: int = 0) -> Array:
    """The tensors joined along an axis; other dimensions and the dtype must be equal.

    >>> import minipaddle as paddle
    >>> paddle.concat([paddle.ones([1, 2]), paddle.zeros([2, 2])]).shape
    [3, 2]
    """
    if not x:
        raise ValueError("x must hold at least one tensor")
    if not x[0].ndim:
        raise ValueError("0-d tensors have no axis to join along; use paddle.stack")
    return xp.concatenate(x, axis=axis_of(axis, x[0].ndim))


@concat.vjp
def _(F, g, x_shape, axis):
    axis = axis_of(axis, len(x_shape[0]))
    if len(x_shape) == 1:
        return [g]
    return list(F.split(g, [s[axis] for s in x_shape], axis))


@op(half="native", promote="same", samples=lambda draw: (([draw.array((2, 3))] * 2, -1), {}))
def stack(xp, x: Arrays, axis: int = 0) -> Array:
    """Tensors of one shape joined along a new axis.

    >>> import minipaddle as paddle
    >>> paddle.stack([paddle.ones([2]), paddle.zeros([2])], axis=-1).shape
    [2, 2]
    """
    if not x:
        raise ValueError("x must hold at least one tensor")
    return xp.stack(x, axis=axis_of(axis, x[0].ndim + 1))


@stack.vjp
def _(F, g, axis):
    return list(F.unbind(g, axis_of(axis, len(g.shape))))


@op(half="native", view=True, amp="keep", method=("unbind",),
    samples=lambda draw: ((draw.array((3, 2)), draw.choice([0, 1])), {}))
def unbind(xp, input: Array, axis: int = 0) -> tuple:
    """The slices along an axis as a list of tensors without it.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.unbind(paddle.ones([2, 3]))]
    [[3], [3]]
    """
    axis = axis_of(axis, input.ndim)
    return [input[(slice(None),) * axis + (i,)] for i in range(input.shape[axis])]


@unbind.vjp
def _(F, g, axis):
    return F.stack(list(g), axis)


def section_sizes(size: int, num_or_sections, axis: int) -> list:
    """The sizes of the parts: a number of equal ones, or a list with at most one -1."""
    if isinstance(num_or_sections, (int, np.integer)):
        if num_or_sections < 1 or size % num_or_sections:
            raise ValueError(f"dimension {axis} of size {size} cannot be split into "
                             f"{num_or_sections} equal parts; give a list of sizes")
        return [size // num_or_sections] * int(num_or_sections)
    sizes = list(shape_of(num_or_sections))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = size - sum(sizes) - 1
    if any(n < 0 for n in sizes) or sum(sizes) != size:
        raise ValueError(f"sections {list(shape_of(num_or_sections))} do not add up to {size}, the "
                         f"size of dimension {axis}")
    return sizes


@op(half="native", amp="keep", samples=lambda draw: ((draw.array((5, 4)), [2, -1], 0), {}))
def split(xp, x: Array, num_or_sections: list, axis: int = 0) -> tuple:
    """x in parts along an axis: so many equal ones, or a list of sizes (one may be -1).

    >>> import minipaddle as paddle
    >>> [t.shape[0] for t in paddle.split(paddle.arange(5), [2, -1])]
    [2, 3]
    """
    axis = axis_of(axis, x.ndim)
    parts, start = [], 0
    for n in section_sizes(x.shape[axis], num_or_sections, axis):
        parts.append(x[(slice(None),) * axis + (slice(start, start + n),)].copy())
        start += n
    return parts


@split.vjp
def _(F, g, axis):
    return F.concat(list(g), axis)
