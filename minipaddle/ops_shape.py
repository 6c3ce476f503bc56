"""Operations on shape: reshape, transpose, join, split, repeat, broadcast, flip.

Imports samples and core. reshape, transpose, squeeze and their like give views: what they return
shares its base's memory. expand, split, flip and roll copy.
"""
from __future__ import annotations

import math

import numpy as np
from numpy.exceptions import AxisError

from .core import (Array, Arrays, Tensor, asnumpy, convert_dtype, is_array, op, ops, public,
                   to_tensor)
from .samples import unary


# ---- reading shapes and axes
def shape_of(shape) -> tuple:
    """A shape given as list, tuple, integer tensor, int, or a list with 0-d tensors in it."""
    if isinstance(shape, Tensor):
        shape = asnumpy(shape._data)
    if is_array(shape):
        shape = asnumpy(shape).reshape(-1).tolist()
    elif not isinstance(shape, (list, tuple)):
        shape = (shape,)
    return tuple([n if type(n) is int else _whole(n) for n in shape])


def _whole(n) -> int:
    if isinstance(n, Tensor):
        n = asnumpy(n._data)
    if isinstance(n, np.ndarray) and n.size == 1:
        n = n.item()                                # a size or axis may come as shape [1]
    try:
        return n.__index__()
    except AttributeError:
        raise TypeError(f"a size or an axis must be an int, got {type(n).__name__} {n!r}") from None


def axes_of(axis, ndim: int) -> tuple:
    """Axes given as int, list, tuple or tensor, made non-negative.

    One out of range raises NumPy's AxisError, which is a ValueError and an IndexError.
    """
    axes = []
    for a in shape_of(axis):
        if not -ndim <= a < ndim:
            raise AxisError(f"axis {a} is out of range for a tensor of {ndim} dimensions")
        axes.append(a % ndim)
    return tuple(axes)


def axis_of(axis, ndim: int) -> int:
    """One axis, as `axes_of`."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    return axes_of(axis, ndim)[0]


# Sizes are ints, but in a static program some are symbolic numbers: those fit any size, and their
# truth cannot be asked for.
def differ(a, b) -> bool:
    """Whether two shapes are known to differ."""
    return len(a) != len(b) or any(type(m) is int and type(n) is int and m != n
                                   for m, n in zip(a, b))


def equal_shapes(a, b) -> bool:
    """Whether two shapes are known to be equal."""
    return len(a) == len(b) and all(type(m) is int and type(n) is int and m == n
                                    for m, n in zip(a, b))


# ---- another shape, the same values
def _reshape_sample(draw):
    shape = draw.shape()
    return (draw.array(shape), draw.choice([[-1], [*shape, 1], [1, math.prod(shape)]])
            if math.prod(shape) else [*shape, 1]), {}


@op(view=True, half="native", inplace=True, amp="keep", legacy=("reshape2",),
    samples=_reshape_sample)
def reshape(xp, x: Array, shape: list[int]) -> Array:
    """The same values in another shape; shares x's memory where it can.

    In shape, one -1 is inferred and 0 keeps that dimension of x; entries may be 0-d tensors.
    ValueError when the number of elements does not fit.

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


@reshape.explain
def _(x, shape):
    shape = list(shape_of(shape))
    return (f"x of shape {x.shape} has {math.prod(x.shape)} elements, which do not fill the shape "
            f"{shape}; one entry may be -1 (inferred), 0 keeps that dimension of x")


@public(inplace=False)
def view(x: Tensor, shape_or_dtype, name: str | None = None) -> Tensor:
    """x's memory in another shape, or its bytes read as another dtype.

    >>> import minipaddle as paddle
    >>> paddle.view(paddle.ones([2, 3]), [3, 2]).shape
    [3, 2]
    >>> paddle.view(paddle.to_tensor([1.0]), 'int32').tolist()
    [1065353216]
    """
    if isinstance(shape_or_dtype, (list, tuple)):
        return reshape(x, shape_or_dtype)
    return bitcast(x, convert_dtype(shape_or_dtype).name)


@op(namespace=None, view=True, half="native", amp="keep")
def bitcast(xp, x: Array, dtype: str) -> Array:
    """x's bytes as another dtype; the last dimension grows or shrinks with its width."""
    wanted = convert_dtype(dtype).np
    if x.ndim == 0 or x.dtype.itemsize == wanted.itemsize:
        return x.view(wanted)
    return xp.ascontiguousarray(x).view(wanted)


@public()
def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """x's memory in the shape of other.

    >>> import minipaddle as paddle
    >>> paddle.view_as(paddle.ones([2, 3]), paddle.ones([6])).shape
    [6]
    """
    return reshape(x, other.shape)


@public()
def reshape_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """x in the shape of other.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 3]).reshape_as(paddle.ones([6])).shape
    [6]
    """
    return reshape(x, other.shape)


@public()
def unflatten(x: Tensor, axis: int, shape, name: str | None = None) -> Tensor:
    """x with one axis made several of the sizes in shape; one may be -1.

    >>> import minipaddle as paddle
    >>> paddle.unflatten(paddle.ones([2, 6]), 1, [3, -1]).shape
    [2, 3, 2]
    """
    axis = axis_of(axis, x.ndim)
    shape = list(shape_of(shape))
    if shape.count(-1) == 1:
        rest = math.prod([n for n in shape if n != -1])
        shape[shape.index(-1)] = x.shape[axis] // rest if rest else 0
    if differ([math.prod(shape)], [x.shape[axis]]):
        raise ValueError(f"unflatten: shape {shape} does not have the {x.shape[axis]} elements of "
                         f"axis {axis} of x {x.shape}")
    return reshape(x, [*x.shape[:axis], *shape, *x.shape[axis + 1:]])


# ---- the order of dimensions
def _transpose_sample(draw):
    x = draw.array(draw.shape(3, 3))
    return (x, draw.choice([[2, 0, 1], [0, 2, 1], [-1, 0, 1]])), {}


@op(view=True, half="native", inplace=True, amp="keep", legacy=("transpose2",),
    samples=_transpose_sample)
def transpose(xp, x: Array, perm: list[int]) -> Array:
    """x with its dimensions in the order perm, a full permutation; a view.

    ValueError for a perm that does not name each dimension once.

    >>> import minipaddle as paddle
    >>> paddle.transpose(paddle.ones([2, 3, 4]), [2, 0, 1]).shape
    [4, 2, 3]
    """
    perm = axes_of(perm, x.ndim)
    if len(perm) != x.ndim or len(set(perm)) != x.ndim:
        raise ValueError(f"perm {list(perm)} must name each of the {x.ndim} dimensions of x "
                         f"{list(x.shape)} once")
    return x.transpose(perm)


@transpose.vjp
def _(F, g, perm):
    perm = axes_of(perm, len(g.shape))
    inverse = [0] * len(perm)
    for i, p in enumerate(perm):
        inverse[p] = i
    return F.transpose(g, inverse)


@public(inplace=True)
def t(input: Tensor, name: str | None = None) -> Tensor:
    """The transpose of a tensor of at most two dimensions; ValueError for more.

    >>> import minipaddle as paddle
    >>> paddle.t(paddle.ones([2, 3])).shape
    [3, 2]
    """
    if input.ndim > 2:
        raise ValueError(f"t: input must have at most 2 dimensions, got {input.shape}; use "
                         "paddle.transpose(x, perm)")
    return transpose(input, [1, 0]) if input.ndim == 2 else input


@public()
def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """x with its last two dimensions swapped, as `x.mT`.

    >>> import minipaddle as paddle
    >>> paddle.matrix_transpose(paddle.ones([5, 2, 3])).shape
    [5, 3, 2]
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x must have at least 2 dimensions, got {x.shape}")
    return transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


Tensor.T = property(lambda x: transpose(x, list(range(x.ndim))[::-1]),
                    doc="x with all its dimensions reversed.")
Tensor.mT = property(matrix_transpose, doc="x with its last two dimensions swapped.")


@public()
def moveaxis(x: Tensor, source, destination, name: str | None = None) -> Tensor:
    """x with the axes in source at the places destination; the others keep their order.

    >>> import minipaddle as paddle
    >>> paddle.moveaxis(paddle.ones([2, 3, 4]), 0, -1).shape
    [3, 4, 2]
    """
    source, destination = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination) or len(set(source)) != len(source) or \
            len(set(destination)) != len(destination):
        raise ValueError("moveaxis: source and destination must name as many axes, each once, got "
                         f"{list(source)} and {list(destination)}")
    perm = [i for i in range(x.ndim) if i not in source]
    for place, axis in sorted(zip(destination, source)):
        perm.insert(place, axis)
    return transpose(x, perm)


@public(aliases=("swapdims",), inplace=True)
def swapaxes(x: Tensor, axis1: int, axis2: int, name: str | None = None) -> Tensor:
    """x with two axes swapped.

    >>> import minipaddle as paddle
    >>> paddle.swapaxes(paddle.ones([2, 3, 4]), 0, 2).shape
    [4, 3, 2]
    """
    perm = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    perm[a], perm[b] = b, a
    return transpose(x, perm)


# ---- dimensions of size one
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


def _squeeze(xp, x: Array, axis: int | list[int] | None = None) -> Array:
    if axis is None or axis == []:
        return x.reshape([n for n in x.shape if n != 1])
    axes = axes_of(axis, max(x.ndim, 1))
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axes])


squeeze = _view_op(
    "squeeze", _squeeze,
    "x without its dimensions of size 1: all of them, or those in axis (others stay).",
    ("paddle.squeeze(paddle.ones([1, 3, 1]), axis=0).shape", "[3, 1]"),
    lambda draw: ((draw.array((1, *draw.shape(0, 2))),),
                  {"axis": draw.choice([None, 0, [0, -1]])}),
    ("squeeze2",))


def _unsqueeze(xp, x: Array, axis: int | list[int]) -> Array:
    shape = list(x.shape)
    for a in shape_of(axis):
        if not -len(shape) - 1 <= a <= len(shape):
            raise AxisError(f"axis {a} is out of range to insert into {len(shape)} dimensions")
        shape.insert(a if a >= 0 else a + len(shape) + 1, 1)
    return x.reshape(shape)


unsqueeze = _view_op(
    "unsqueeze", _unsqueeze, "x with dimensions of size 1 put in at axis, an int or a list.",
    ("paddle.unsqueeze(paddle.ones([3]), [0, 2]).shape", "[1, 3, 1]"),
    lambda draw: ((draw.array(draw.shape(0, 2)), draw.choice([0, -1, [0, 1]])), {}),
    ("unsqueeze2",))


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


@public(namespace=None, method=True)
def ravel(x: Tensor, name: str | None = None) -> Tensor:
    """x as a tensor of one dimension.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 3]).ravel().shape
    [6]
    """
    return flatten(x)


@public(namespace=None, method=True)
def contiguous(x: Tensor) -> Tensor:
    """x itself where its elements lie in C order in memory, else a copy that does.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 3]).T.contiguous().is_contiguous()
    True
    """
    return x if is_contiguous(x) else ops.clone(x)


@public(namespace=None, method=True)
def is_contiguous(x: Tensor) -> bool:
    """Whether x's elements lie in C order in memory, without gaps.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 3]).T.is_contiguous()
    False
    """
    return not is_array(x._data) or bool(x._data.flags.c_contiguous)


@public(namespace=None, method=True)
def get_strides(x: Tensor) -> list:
    """How many elements apart neighbours along each dimension lie in memory; also `x.strides`.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 3]).get_strides()
    [3, 1]
    """
    return [s // x._data.dtype.itemsize for s in x._data.strides]


Tensor.strides = property(get_strides, doc="The strides in elements.")


def _at_least(n: int):
    def forward(*inputs, name=None):
        results = []
        for x in inputs:
            x = x if isinstance(x, Tensor) else to_tensor(x)
            if n == 3 and x.ndim == 2:
                x = reshape(x, [*x.shape, 1])
            elif n == 3 and x.ndim == 1:
                x = reshape(x, [1, *x.shape, 1])
            elif x.ndim < n:
                x = reshape(x, [1] * (n - x.ndim) + x.shape)
            results.append(x)
        return results[0] if len(results) == 1 else results
    forward.__name__ = forward.__qualname__ = f"atleast_{n}d"
    forward.__doc__ = f"""Each tensor with at least {n} dimension(s); a list for several.

    >>> import minipaddle as paddle
    >>> paddle.atleast_{n}d(paddle.to_tensor(5.0)).shape
    {[1] * n}
    """
    return public()(forward)


atleast_1d, atleast_2d, atleast_3d = (_at_least(n) for n in (1, 2, 3))


# ---- broadcasting and repeating
def expanded_shape(x_shape, shape) -> tuple:
    """The shape of x expanded to `shape`, whose -1 keep x's size; ValueError if it cannot be."""
    shape, x_shape = shape_of(shape), tuple(x_shape)
    extra = len(shape) - len(x_shape)
    if extra < 0:
        raise ValueError(f"shape {list(shape)} has fewer dimensions than x, {list(x_shape)}")
    full = tuple([x_shape[i - extra] if n == -1 and i >= extra else n
                  for i, n in enumerate(shape)])
    for i, n in enumerate(full):
        old = x_shape[i - extra] if i >= extra else 1
        if n < 0 or (old != n and old != 1):
            raise ValueError(f"x of shape {list(x_shape)} cannot be expanded to {list(shape)}: "
                             f"dimension {i} is {old} in x; only dimensions of size 1 grow, and -1 "
                             "keeps a dimension that x has")
    return full


@op(half="native", amp="keep", aliases=("broadcast_to",), legacy=("expand_v2",),
    samples=lambda draw: ((draw.array((1, 3)), [2, draw.integer(1, 3), -1]), {}))
def expand(xp, x: Array, shape: list[int]) -> Array:
    """x repeated along dimensions of size 1, or new ones in front; -1 keeps. A copy.

    >>> import minipaddle as paddle
    >>> paddle.expand(paddle.ones([3, 1]), [2, -1, 4]).shape
    [2, 3, 4]
    """
    # Copied as Paddle does: a write into a tensor that repeats memory would change many entries.
    return xp.broadcast_to(x, expanded_shape(x.shape, shape)).copy()


@expand.explain
def _(x, shape):
    return str(_fault(expanded_shape, x.shape, shape))


def _fault(check, *args):
    """What a check raises; for messages."""
    try:
        check(*args)
    except Exception as error:
        return error
    return ""


@expand.vjp
def _(F, g, x_shape):
    return F.sum_to(g, x_shape)


def _sum_to_sample(draw):
    full, part = (2, 3, 4), draw.choice([(2, 3, 4), (1, 3, 4), (3, 1), (4,), (), (1, 1, 1, 1)])
    return (draw.array(full), part), {}


@op(namespace=None, samples=_sum_to_sample)
def sum_to(xp, x: Array, shape: tuple) -> Array:
    """x summed over what was broadcast from `shape`: what broadcasting is transposed to."""
    extra = x.ndim - len(shape)
    axes = tuple([i for i in range(x.ndim)
                  if i < extra or (shape[i - extra] == 1 and x.shape[i] != 1)])
    return (x.sum(axis=axes, keepdims=True) if axes else x).reshape(shape)


@sum_to.vjp
def _(F, g, x_shape):
    g = F.reshape(g, [1] * (len(x_shape) - len(g.shape)) + list(g.shape)[max(
        len(g.shape) - len(x_shape), 0):])
    return F.spread_to(g, tuple(x_shape))


@public()
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """x expanded to y's shape.

    >>> import minipaddle as paddle
    >>> paddle.expand_as(paddle.ones([1, 2]), paddle.ones([3, 2])).shape
    [3, 2]
    """
    return expand(x, y.shape)


@public(method=("broadcast_shape",))
def broadcast_shape(x_shape, y_shape) -> list:
    """The shape that two shapes broadcast to; ValueError when they do not.

    >>> import minipaddle as paddle
    >>> paddle.broadcast_shape([2, 1, 3], [4, 1])
    [2, 4, 3]
    """
    return broadcast_shapes(x_shape, y_shape)


@public(method=("broadcast_shapes",))
def broadcast_shapes(*shapes) -> list:
    """The shape that several shapes broadcast to; ValueError when they do not.

    >>> import minipaddle as paddle
    >>> paddle.broadcast_shapes([2, 1], [3], [1, 1])
    [2, 3]
    """
    n, full = max([len(s) for s in shapes], default=0), []
    for i in range(-n, 0):
        sizes = [s[i] for s in shapes if len(s) >= -i]
        large = [m for m in sizes if type(m) is int and m != 1]
        if any(m != large[0] for m in large):
            raise ValueError(f"broadcast_shape: the shapes {[list(s) for s in shapes]} do not "
                             "broadcast: sizes must be equal or 1, aligned at the last")
        full.append((large + [m for m in sizes if type(m) is not int] + [1])[0])
    return full


@public(method=("broadcast_tensors",))
def broadcast_tensors(input, name: str | None = None) -> list:
    """A list of tensors, each expanded to the shape they all broadcast to.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.broadcast_tensors([paddle.ones([3, 1]), paddle.ones([2])])]
    [[3, 2], [3, 2]]
    """
    shape = broadcast_shapes(*[t.shape for t in input])
    return [expand(t, shape) for t in input]


def _tile_sample(draw):
    return (draw.array(draw.shape(0, 2)), draw.choice([[2], [1, 3], [2, 1, 2], [0, 1], []])), {}


@op(half="native", amp="keep", samples=_tile_sample)
def tile(xp, x: Array, repeat_times: list[int]) -> Array:
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
    if not n:
        return g
    times = (1,) * (n - len(times)) + times
    shape = (1,) * (n - len(x_shape)) + tuple(x_shape)
    parts = [m for pair in zip(times, shape) for m in pair]
    return F.reshape(F.sum(F.reshape(g, parts), axis=list(range(0, 2 * n, 2))), x_shape)


@public()
def repeat_interleave(x: Tensor, repeats, axis: int | None = None, *,
                      output_size: int | None = None, name: str | None = None) -> Tensor:
    """Each slice of x along axis repeated: all `repeats` times, or each its own number of times.

    repeats: an int, or a 1-d integer tensor as long as the axis. axis None flattens x.
    Shape [..., n, ...] becomes [..., sum of the repeats, ...].

    >>> import minipaddle as paddle
    >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), paddle.to_tensor([0, 3])).tolist()
    [2, 2, 2]
    """
    if axis is None:
        x, axis = flatten(x), 0
    axis = axis_of(axis, x.ndim)
    shape = x.shape
    if isinstance(repeats, (list, tuple)):
        repeats = to_tensor(list(repeats), place=x.place)
    if isinstance(repeats, Tensor) and repeats.size == 1:
        repeats = repeats.item()
    if not isinstance(repeats, Tensor):
        wide = expand(unsqueeze(x, axis + 1),
                      [*shape[:axis + 1], int(repeats), *shape[axis + 1:]])
        return reshape(wide, [*shape[:axis], shape[axis] * int(repeats), *shape[axis + 1:]])
    if differ(repeats.shape, [shape[axis]]):
        raise ValueError(f"repeat_interleave: repeats {repeats.shape} must have one number for "
                         f"each of the {shape[axis]} slices of axis {axis}")
    picks = np.repeat(np.arange(shape[axis]), asnumpy(repeats._data))
    return ops.index_select(x, to_tensor(picks, place=x.place), axis)


# ---- joining and splitting
def _several(draw):
    shape = list(draw.shape(1, 3))
    axis = draw.axis(len(shape))
    parts = []
    for _ in range(draw.integer(1, 3)):
        shape[axis] = draw.integer(0, 3)
        parts.append(draw.array(tuple(shape)))
    return (parts,), {"axis": axis}


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
    return list(F.sections(g, [s[axis] for s in x_shape], axis))


def _explain_join(x, axis, same):
    shapes = [t.shape for t in x]
    if not shapes:
        return "x must hold at least one tensor"
    if not shapes[0] and not same:
        return "0-d tensors have no axis to join along; use paddle.stack"
    for i, s in enumerate(shapes):
        differ = len(s) != len(shapes[0]) or any(
            a != b for j, (a, b) in enumerate(zip(s, shapes[0]))
            if same or j != axis_of(axis, len(s)))
        if differ:
            rule = "all must have one shape" if same else \
                f"all dimensions but axis {axis_of(axis, len(shapes[0]))} must be equal"
            return f"x[{i}] has shape {s} and x[0] has {shapes[0]}; {rule}"
    axis_of(axis, len(shapes[0]) + same)
    return None


@concat.explain
def _(x, axis):
    return _explain_join(x, axis, False)


@op(namespace=None, view=True, half="native", amp="keep",
    samples=lambda draw: ((draw.array((5, 4)), [2, 0, 3], 0), {}))
def sections(xp, x: Array, sizes: list[int], axis: int) -> list[Array]:
    """x in parts of the given sizes along an axis, as views."""
    parts, start = [], 0
    for n in sizes:
        parts.append(x[(slice(None),) * axis + (slice(start, start + n),)])
        start += n
    return parts


@sections.vjp
def _(F, g, axis):
    return F.concat(list(g), axis)


@op(half="native", promote="same",
    samples=lambda draw: (([draw.array((2, 3)), draw.array((2, 3))], draw.axis(3)), {}))
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


@stack.explain
def _(x, axis):
    return _explain_join(x, axis, True)


@op(half="native", view=True, amp="keep", method=("unbind",),
    samples=lambda draw: ((draw.array((3, 2)), draw.choice([0, 1, -1])), {}))
def unbind(xp, input: Array, axis: int = 0) -> list[Array]:
    """The slices along an axis as a list of tensors without it; they share input's memory.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.unbind(paddle.ones([2, 3]))]
    [[3], [3]]
    """
    axis = axis_of(axis, input.ndim)
    return [input[(slice(None),) * axis + (i,)] for i in range(input.shape[axis])]


@unbind.vjp
def _(F, g, axis):
    return F.stack(list(g), axis)


@op(half="native", amp="keep", samples=lambda draw: ((draw.array((3, 2)), draw.axis(2)), {}))
def unstack(xp, x: Array, axis: int = 0, num: int | None = None) -> list[Array]:
    """The slices along an axis as a list of tensors without it; num may state how many.

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.unstack(paddle.to_tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    axis = axis_of(axis, x.ndim)
    if num is not None and num != x.shape[axis]:
        raise ValueError(f"num is {num}, but axis {axis} of x {list(x.shape)} has "
                         f"{x.shape[axis]} slices")
    return [x[(slice(None),) * axis + (i,)].copy() for i in range(x.shape[axis])]


@unstack.vjp
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


@op(half="native", amp="keep",
    samples=lambda draw: ((draw.array((4, 6)), draw.choice([[2, -1], 2]), draw.choice([0, 1])), {}))
def split(xp, x: Array, num_or_sections: int | list[int], axis: int = 0) -> list[Array]:
    """x in parts along an axis: so many equal ones, or a list of sizes (one may be -1). Copies.

    ValueError when the parts do not make up the dimension.

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


@split.explain
def _(x, num_or_sections, axis):
    axis = axis_of(axis, x.ndim)
    return f"x has shape {x.shape}: " + str(_fault(section_sizes, x.shape[axis], num_or_sections,
                                                   axis))


@public()
def chunk(x: Tensor, chunks: int, axis: int = 0, name: str | None = None) -> list:
    """x in `chunks` equal parts along an axis; ValueError when they do not divide it.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.chunk(paddle.ones([4, 2]), 2)]
    [[2, 2], [2, 2]]
    """
    return split(x, chunks, axis)


@public()
def tensor_split(x: Tensor, num_or_indices, axis: int = 0, name: str | None = None) -> list:
    """x in parts along an axis: about equal ones, or cut before the indices given.

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.tensor_split(paddle.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    >>> [t.tolist() for t in paddle.tensor_split(paddle.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]
    """
    if not x.ndim:
        raise ValueError("tensor_split: a 0-d tensor has no axis to split along")
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(num_or_indices, (int, np.integer)):
        n = int(num_or_indices)
        if n < 1:
            raise ValueError(f"tensor_split: the number of parts must be positive, got {n}")
        return split(x, [size // n + (i < size % n) for i in range(n)], axis)
    cuts = [min(max(i + size if i < 0 else i, 0), size) for i in shape_of(num_or_indices)]
    edges = list(zip([0, *cuts], [*cuts, size]))
    return [ops.clone(ops.slice(x, [axis], [a], [max(a, b)])) for a, b in edges]


def _axis_split(name, axis, least, shape):
    def split_along(x, parts):
        if x.ndim < least:
            raise ValueError(f"{name}: x must have at least {least} dimensions, got {x.shape}")
        return tensor_split(x, parts, axis if x.ndim > 1 else 0)

    def forward(x, num_or_indices, name=None):
        return split_along(x, num_or_indices)
    if name == "vsplit":                            # the one that Paddle 2 has already
        def forward(x, num_or_sections, name=None):
            return split_along(x, num_or_sections)
    forward.__name__ = forward.__qualname__ = name
    forward.__doc__ = f"""`tensor_split` along axis {axis}{" (0 of a 1-d tensor)" * (axis == 1)}.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.{name}(paddle.ones({shape}), 2)]
    {[[n // 2 if i == axis else n for i, n in enumerate(shape)]] * 2}
    """
    return public()(forward)


hsplit = _axis_split("hsplit", 1, 1, [2, 4])
vsplit = _axis_split("vsplit", 0, 2, [4, 2])
dsplit = _axis_split("dsplit", 2, 3, [1, 2, 4])


def _joined(name, prepare, axis, doc, example, aliases=()):
    def forward(x, name=None):
        parts = [prepare(t if isinstance(t, Tensor) else to_tensor(t)) for t in x]
        return concat(parts, axis if axis is not None else int(parts[0].ndim > 1))
    forward.__name__ = forward.__qualname__ = name
    forward.__doc__ = f"""{doc}

    >>> import minipaddle as paddle
    >>> paddle.{name}([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
    {example}
    """
    return public(method=False, aliases=aliases)(forward)


hstack = _joined("hstack", atleast_1d, None, "Tensors joined along axis 1 (1-d ones along axis 0).",
                 [1, 2, 3, 4])
vstack = _joined("vstack", atleast_2d, 0, "Tensors joined along axis 0; 1-d ones become rows.",
                 [[1, 2], [3, 4]], aliases=("row_stack",))
dstack = _joined("dstack", atleast_3d, 2, "Tensors joined along axis 2, made 3-d before.",
                 [[[1, 3], [2, 4]]])
column_stack = _joined(
    "column_stack", lambda t: reshape(t, [-1, 1]) if t.ndim < 2 else t, 1,
    "Tensors joined along axis 1; 1-d ones become columns.", [[1, 3], [2, 4]])


@public(method=("block_diag",))
def block_diag(inputs, name: str | None = None) -> Tensor:
    """Matrices put along the diagonal of one matrix, zeros elsewhere; 1-d ones are rows.

    >>> import minipaddle as paddle
    >>> paddle.block_diag([paddle.to_tensor([[1, 2]]), paddle.to_tensor([[3]])]).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    parts = [atleast_2d(t) for t in inputs]
    width, rows, at = sum(t.shape[1] for t in parts), [], 0
    for part in parts:
        m, n = part.shape
        rows.append(concat([ops.zeros([m, at], part.dtype), part,
                            ops.zeros([m, width - at - n], part.dtype)], 1))
        at += n
    return concat(rows, 0)


@public(method=False)
def cartesian_prod(x, name: str | None = None) -> Tensor:
    """All combinations of one entry of each 1-d tensor, as rows; of one tensor it is itself.

    >>> import minipaddle as paddle
    >>> paddle.cartesian_prod([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    if any(t.ndim != 1 for t in x):
        raise ValueError(f"cartesian_prod: x must hold 1-d tensors, got {[t.shape for t in x]}")
    if len(x) == 1:
        return x[0]
    sizes = [t.shape[0] for t in x]
    columns = [reshape(expand(reshape(t, [n if j == i else 1 for j in range(len(x))]), sizes), [-1])
               for i, (t, n) in enumerate(zip(x, sizes))]
    return stack(columns, 1)


@public()
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False,
                 name: str | None = None) -> Tensor:
    """All ways to choose r entries of a 1-d tensor, as rows.

    >>> import minipaddle as paddle
    >>> paddle.combinations(paddle.to_tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    import itertools
    if x.ndim != 1 or r < 0:
        raise ValueError(f"combinations: x must be 1-d and r not negative, got {x.shape} and {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if r == 0:
        return ops.zeros([0], x.dtype)
    picks = np.asarray(list(choose(range(x.shape[0]), r)), "int64").reshape(-1, r)
    return ops.reshape(ops.index_select(x, to_tensor(picks.ravel(), place=x.place)), [-1, r])


# ---- the order of entries
def _flip_sample(draw):
    shape = draw.shape(1, 3)
    return (draw.array(shape), draw.choice([0, -1, list(range(len(shape)))])), {}


@op(half="native", amp="keep", aliases=("reverse",), samples=_flip_sample)
def flip(xp, x: Array, axis: int | list[int]) -> Array:
    """x with the entries along axis, an int or a list, in reverse order.

    >>> import minipaddle as paddle
    >>> paddle.flip(paddle.to_tensor([[1, 2], [3, 4]]), 1).tolist()
    [[2, 1], [4, 3]]
    """
    axes = axes_of(axis, x.ndim)
    back = slice(None, None, -1)
    return x[tuple([back if i in axes else slice(None) for i in range(x.ndim)])].copy()


@flip.vjp
def _(F, g, axis):
    return F.flip(g, axis)


def _roll_sample(draw):
    shape = draw.shape(2, 3)
    return (draw.array(shape), *draw.choice([(2, None), (-1, 0), ([1, -2], [0, 1])])), {}


def _rolled(xp, x, shifts, axis, sign):
    shifts = tuple([sign * s for s in shape_of(shifts)])
    if axis is None or axis == []:
        return xp.roll(x.reshape(-1), sum(shifts)).reshape(x.shape)
    axes = axes_of(axis, x.ndim)
    if len(axes) != len(shifts):
        raise ValueError(f"shifts and axis must have one entry for each other, got {len(shifts)} "
                         f"and {len(axes)}")
    return xp.roll(x, shifts, axes)


@op(half="native", amp="keep", samples=_roll_sample)
def roll(xp, x: Array, shifts: int | list[int], axis: int | list[int] | None = None) -> Array:
    """x with its entries moved on by shifts along axis, the last ones back to the front.

    axis None rolls the flattened tensor.

    >>> import minipaddle as paddle
    >>> paddle.roll(paddle.to_tensor([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    return _rolled(xp, x, shifts, axis, 1)


@roll.vjp
def _(F, g, shifts, axis):
    return F.roll(g, [-s for s in shape_of(shifts)], axis)


@public()
def rot90(x: Tensor, k: int = 1, axes=[0, 1], name: str | None = None) -> Tensor:
    """x turned k times by 90 degrees in the plane of two axes, from the first to the second.

    >>> import minipaddle as paddle
    >>> paddle.rot90(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    if len(axes) != 2 or x.ndim < 2:
        raise ValueError(f"rot90: two axes of a tensor of at least 2 dimensions are needed, got "
                         f"axes {list(axes)} and x {x.shape}")
    a, b = axes_of(axes, x.ndim)
    if a == b:
        raise ValueError(f"rot90: the axes must differ, got {list(axes)}")
    k %= 4
    if k == 0:
        return ops.clone(x)
    if k == 2:
        return flip(x, [a, b])
    perm = list(range(x.ndim))
    perm[a], perm[b] = b, a
    return transpose(flip(x, b), perm) if k == 1 else flip(transpose(x, perm), b)


# ---- strided windows
def _places(shape, stride, offset):
    """The flat index of each element of a strided view."""
    places = np.asarray(offset)
    for n, step in zip(shape, stride):
        places = places[..., None] + np.arange(n) * step
    return places


@op(view=True, half="native", amp="keep",
    samples=lambda draw: ((draw.array((3, 4)), [2, 3], [draw.integer(1, 3), 2], 1), {}))
def as_strided(xp, x: Array, shape: list[int], stride: list[int], offset: int = 0) -> Array:
    """A view of x's elements: entry (i, j, ...) is element offset + i*stride[0] + j*stride[1] ...

    Strides and offset count elements of x in C order. ValueError when it would leave x's memory.

    >>> import minipaddle as paddle
    >>> paddle.as_strided(paddle.arange(6), [2, 3], [1, 1]).tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    shape, stride = shape_of(shape), shape_of(stride)
    if len(shape) != len(stride):
        raise ValueError(f"shape {list(shape)} and stride {list(stride)} must be as long")
    if min((*shape, *stride, offset), default=0) < 0 or (
            math.prod(shape) and offset + sum((n - 1) * s for n, s in zip(shape, stride))
            >= x.size):
        raise ValueError(f"shape {list(shape)}, stride {list(stride)}, offset {offset} leave the "
                         f"{x.size} elements of x")
    steps = [s * x.dtype.itemsize for s in stride]
    if xp is np:                                    # this way it stays known whose memory it is
        return np.ndarray(shape, x.dtype, np.ascontiguousarray(x), offset * x.dtype.itemsize, steps)
    return xp.lib.stride_tricks.as_strided(x.reshape(-1)[offset:], shape, steps)


@as_strided.vjp
def _(F, g, x_shape, shape, stride, offset):
    return F.strided_place(g, x_shape, shape, stride, offset)


@op(namespace=None, half="native", amp="keep", samples=lambda draw: (
    (draw.array((2, 3)), (3, 4), [2, 3], [draw.integer(1, 3), 2], 1), {}))
def strided_place(xp, x: Array, x_full: tuple, shape: list, stride: list, offset: int) -> Array:
    """Zeros with x's entries added at the places of a strided view."""
    places = xp.asarray(_places(shape_of(shape), shape_of(stride), offset).ravel())
    out = xp.zeros(math.prod(x_full), x.dtype)
    xp.add.at(out, places, x.ravel())
    return out.reshape(x_full)


@strided_place.vjp
def _(F, g, shape, stride, offset):
    return F.as_strided(g, shape, stride, offset)


@public()
def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """All windows of `size` entries along an axis, `step` apart, in a new last dimension.

    >>> import minipaddle as paddle
    >>> paddle.unfold(paddle.arange(5), 0, 3, 2).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    axis = axis_of(axis, x.ndim)
    if not 0 <= size <= x.shape[axis] or step < 1:
        raise ValueError(f"unfold: size {size} and step {step} do not fit axis {axis} of x "
                         f"{x.shape}")
    shape, strides = x.shape, [1] * x.ndim
    for i in range(x.ndim - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    unit = strides[axis]
    shape[axis], strides[axis] = (shape[axis] - size) // step + 1, unit * step
    return as_strided(x, [*shape, size], [*strides, unit])
