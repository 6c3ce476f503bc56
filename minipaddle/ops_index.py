"""Indexing: `x[...]` and `x[...] = v`, gather and scatter, sorting and searching.

Imports ops_shape, samples and core. An index is normalised once into a spec, a tuple that JSON
could hold: an int, None, "..." for Ellipsis, (start, stop, step) for a slice, and "$0", "$1", ...
where an index tensor stands (as an index of its own or as a bound of a slice).
"""
from __future__ import annotations

import math

import numpy as np

from . import modes
from .core import (Array, Arrays, Tensor, inplace, is_array, local, op, ops, public, to_tensor,
                   written, xp_of)
from .ops_shape import axes_of, axis_of, differ, equal_shapes, shape_of


# ---- what an index is
def normalise(item, x=None):
    """(spec, tensors) of what stands in the brackets; `x` says where index arrays shall live."""
    if type(item) is not tuple:
        item = (item,)
    spec, tensors = [], []
    for part in item:
        kind = type(part)
        if kind is int or part is None:
            spec.append(part)
        elif kind is slice:
            a, b, c = part.start, part.stop, part.step
            spec.append((a if a is None or type(a) is int else _bound(a, tensors),
                         b if b is None or type(b) is int else _bound(b, tensors),
                         c if c is None or type(c) is int else _bound(c, tensors)))
        elif part is Ellipsis:
            spec.append("...")
        else:
            spec.append(_one_index(part, tensors, x))
    return tuple(spec), tensors


def _bound(value, tensors):
    """A bound of a slice as an int; a symbolic one becomes an input."""
    if isinstance(value, Tensor) and not is_array(value._data):
        tensors.append(value)
        return f"${len(tensors) - 1}"
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError("getitem: a bound of a slice must be an int or an integer tensor of one "
                        f"element, got {type(value).__name__} {value!r:.60}") from None


def _one_index(part, tensors, x):
    """The spec of an index that is no int, slice, None or Ellipsis."""
    if isinstance(part, (bool, np.bool_, list, range, tuple)) or is_array(part):
        empty = not is_array(part) and not isinstance(part, (bool, np.bool_)) and not len(part)
        place = x.place if x is not None and is_array(x._data) else None
        if isinstance(part, (range, tuple)):
            part = list(part)
        part = to_tensor(np.zeros(0, "int64") if empty else part, place=place)
    if isinstance(part, Tensor):
        data = part._data
        if data.dtype.kind not in "biu":
            raise IndexError(f"getitem: an index must be of ints or bools, got {part.dtype.name}")
        if type(data) is np.ndarray and not data.ndim and data.dtype.kind != "b":
            return int(data)                        # on the host it can be read for nothing
        tensors.append(part)
        return f"${len(tensors) - 1}"
    try:
        return part.__index__()
    except (AttributeError, TypeError):
        raise IndexError("getitem: an index must be an int, slice, None, ..., or a list, array or "
                         f"Tensor of ints or bools, got {part!r:.60}") from None


_known: dict = {}


def _basic(spec) -> tuple:
    """The index of a spec without tensors, as NumPy takes it."""
    try:
        return _known[spec]
    except KeyError:
        if len(_known) > 4096:
            _known.clear()
        found = _known[spec] = _index_of(np, spec, ())
        return found
    except TypeError:                               # lists in it: it came from a file
        return _index_of(np, spec, ())


def _index_of(xp, spec, arrays) -> tuple:
    """The index a spec stands for, with the arrays in their places."""
    index = []
    for part in spec:
        if isinstance(part, str):
            if part == "...":
                index.append(Ellipsis)
                continue
            a = arrays[int(part[1:])]
            if xp is not np and a.dtype.kind == "b" and len(spec) > 1 and a.ndim:
                index += a.nonzero()                # CuPy takes a mask alone only
            else:
                index.append(a)
        elif isinstance(part, (tuple, list)):
            index.append(slice(*[int(arrays[int(v[1:])]) if isinstance(v, str) else v
                                 for v in part]))
        else:
            index.append(part)
    return tuple(index)


# ---- basic indexing: views
def _basic_sample(draw):
    x = draw.array((3, 4, 2))
    return (x, draw.choice([(1,), ((None, None, -1),), ("...", -1), (None, (0, 2, None), 2),
                            ((1, 1, None), "..."), ()])), {}


@op(namespace=None, view=True, half="native", amp="keep", legacy=("slice",), samples=_basic_sample)
def getitem(xp, x: Array, spec: tuple) -> Array:
    """x[spec] for ints, slices, None and Ellipsis: a view of x."""
    return x[_basic(spec)]


@getitem.vjp
def _(F, g, x_shape, spec):
    return F.getitem_place(g, x_shape, spec)


@op(namespace=None, half="native", amp="keep",
    samples=lambda draw: ((draw.array((3, 2)), (3, 4, 2), ("...", 1, (None, None, -1))), {}))
def getitem_place(xp, x: Array, shape: tuple, spec: tuple) -> Array:
    """Zeros of a shape with x at a basic index: what `getitem` is transposed to."""
    out = xp.zeros(shape, x.dtype)
    out[_basic(spec)] = x
    return out


@getitem_place.vjp
def _(F, g, spec):
    return F.getitem(g, spec)


# ---- indices with tensors in them: copies
def _tensors_sample(draw):
    x = draw.array((3, 4, 2))
    i, j = draw.integers((2, 2), -3, 2), draw.integers((2,), 0, 3)
    mask = draw.integers((3, 4), 0, 1).astype(bool)
    return (x, *draw.choice([([i], ("$0",)), ([i, j], ("$0", "$1")), ([j], ((1, None, None), "$0")),
                             ([i[0], j % 2], ("$0", (None, None, None), "$1")),
                             ([mask], ("$0",)), ([mask[:, 0], j], ("$0", "$1", 0))
                             if mask[:, 0].sum() in (1, 2) else ([i], ("$0", None))])), {}


@op(namespace=None, view=True, half="native", casts=("x",), amp="keep", samples=_tensors_sample)
def take_at(xp, x: Array, tensors: Arrays, spec: tuple) -> Array:
    """x[spec], where index tensors stand at the places "$k"."""
    return x[_index_of(xp, spec, tensors)]


@take_at.vjp
def _(F, g, x_shape, tensors, spec):
    return F.add_at(g, tensors, x_shape, spec), [None] * len(tensors)


@op(namespace=None, half="native", casts=("x",), amp="keep",
    samples=lambda draw: ((draw.array((4, 2)), [draw.integers((4,), 0, 2)], (3, 2), ("$0",)), {}))
def add_at(xp, x: Array, tensors: Arrays, shape: tuple, spec: tuple) -> Array:
    """Zeros of a shape with x added at an index: entries named twice add up."""
    out = xp.zeros(shape, x.dtype)
    _add(xp, out, _index_of(xp, spec, tensors), x)
    return out


@add_at.vjp
def _(F, g, tensors, spec):
    return F.take_at(g, tensors, spec), [None] * len(tensors)


_ALL = slice(None)


def _add(xp, out, index, value) -> None:
    """out[index] += value, where entries named several times add up."""
    arrays = [p for p in index if isinstance(p, xp.ndarray)]
    if all(a.dtype.kind == "b" or not a.ndim for a in arrays):
        out[index] += value                         # this names nothing twice
    elif xp is not np:
        xp.add.at(out, index, value)
    elif len(arrays) == len(index) and all(a.dtype.kind != "b" for a in arrays):
        lead = out.shape[:len(arrays)]
        rows = _rows(np, lead, arrays)
        inner = out.shape[len(arrays):]
        value = np.broadcast_to(value, rows.shape + inner)
        _add_rows(out.reshape((math.prod(lead), *inner)), rows.reshape(-1),
                  value.reshape((rows.size, *inner)))
    elif len(arrays) == 1 and arrays[0].dtype.kind != "b" and \
            all(p is arrays[0] or p == _ALL for p in index):
        # One array along an axis: rows of what has that axis in front.
        a, axis = arrays[0], len(index) - 1
        while index[axis] is not a:
            axis -= 1
        n, before, after = out.shape[axis], out.shape[:axis], out.shape[axis + 1:]
        rows = np.zeros((n, *before, *after), out.dtype)
        value = np.broadcast_to(value, (*before, *a.shape, *after))
        value = np.moveaxis(value.reshape((*before, a.size, *after)), axis, 0)
        _add_rows(rows, _rows(np, (n,), [a]).reshape(-1), value)
        out += np.moveaxis(rows, 0, axis)
    else:
        flat = np.arange(out.size).reshape(out.shape)[index]
        value = np.broadcast_to(value, flat.shape)
        np.add.at(out.reshape(-1), flat.ravel(), value.ravel())     # xp: numpy-only


def _rows(xp, sizes, arrays):
    """The row number that index arrays of the leading dimensions name together."""
    total = None
    for k, (n, a) in enumerate(zip(sizes, arrays)):
        if xp is np and a.size and (a.min() < -n or a.max() >= n):
            bad = a.max() if a.max() >= n else a.min()
            raise IndexError(f"index {bad} is out of bounds for axis {k} with size {n}")
        a = xp.where(a < 0, a + n, a)
        total = a if total is None else total * n + a
    return total


def _add_rows(out, rows, value) -> None:
    """out[rows] += value on NumPy; `ufunc.at` is slow, so it serves for repeated rows only."""
    width = math.prod(out.shape[1:])
    if width >= 8 and rows.size > 1:
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        first = np.ones(rows.size, bool)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        out[ordered[first]] += value[order[first]]
        if first.all():
            return
        rest = order[~first]
        rows, value = rows[rest], value[rest]
    flat = rows if width == 1 else (rows[:, None] * width + np.arange(width)).ravel()
    np.add.at(out.reshape(-1), flat, value.ravel())                 # xp: numpy-only


def _setitem_sample(draw):
    x = draw.array((3, 4))
    i = draw.choice([np.array([0, 2]), np.array([-1, 1])])      # CuPy: no place twice
    mask = draw.integers((3, 4), 0, 1).astype(bool)
    return (x, *draw.choice([
        (draw.array((4,)), [], (1,)), (draw.array((3, 1)), [], ((None, None, None), (1, 3, None))),
        (draw.array((1, 1, 4)), [], (0,)), (draw.array(()), [mask], ("$0",)),
        (draw.array((2, 4)), [i], ("$0",)), (draw.array((2,)), [i, i], ("$0", "$1")),
        (draw.array((int(mask.sum()),)), [mask], ("$0",))])), {}


@op(namespace=None, half="native", casts=("x", "value"), amp="keep", legacy=("set_value",),
    samples=_setitem_sample)
def setitem(xp, x: Array, value: Array, tensors: Arrays, spec: tuple,
            inplace: bool = False) -> Array:
    """x with value at an index; inplace: written into x itself.

    Where an index names an entry twice the last value stays, and only that one has a gradient
    (on a GPU the order is not defined).
    """
    out = x if inplace else x.copy()
    index = _index_of(xp, spec, tensors) if tensors else _basic(spec)
    if xp is not np and getattr(value, "ndim", 0) > x.ndim + len(spec):
        value = value.reshape(value.shape[value.ndim - x.ndim:])
    out[index] = value
    return out


@setitem.vjp
def _(F, g, x_shape, value_shape, tensors, spec, need):
    gx = F.setitem(g, 0.0, tensors, spec) if need[0] else None
    gv = None
    if need[1]:
        gv = F.take_at(g, tensors, spec) if tensors else F.getitem(g, spec)
        if tensors and tuple(value_shape) != ():
            gv = F.where(F.last_write(tensors, x_shape, spec), gv, 0.0)
        lead = len(value_shape) - len(gv.shape)     # ones in front of a value are passed over
        gv = F.reshape(F.sum_to(gv, value_shape[max(lead, 0):]), value_shape)
    return gx, gv, [None] * len(tensors)


@op(namespace=None, half="native", casts=(), amp="keep")
def last_write(xp, tensors: Arrays, shape: tuple, spec: tuple) -> Array:
    """Of the values written at an index, which are not overwritten by a later one; bools."""
    index = _index_of(xp, spec, tensors)
    number = xp.full(shape, -1, "int64")
    picked = number[index]
    if xp is not np or all(t.dtype.kind == "b" or not t.ndim for t in tensors):
        return xp.ones(picked.shape, bool)
    count = xp.arange(picked.size).reshape(picked.shape)
    number[index] = count
    return number[index] == count


def _apart(spec, tensors):
    """(spec of the ints, spec of the rest) where ints stand apart from index tensors, else None.

    NumPy counts the ints among the index arrays then, and puts their dimensions first; in Paddle
    ints are slices, taken before.
    """
    places = [i for i, p in enumerate(spec)
              if type(p) is int or (type(p) is str and p != "...")]
    alone = not places or places[-1] - places[0] == len(places) - 1
    if alone or all(type(spec[i]) is str for i in places):
        return None
    first, rest = [], []
    for part in spec:
        if type(part) is int:
            first.append(part)
            continue
        rest.append(part)
        if part == "...":
            first.append(part)
        elif part is not None:
            mask = type(part) is str and tensors[int(part[1:])]._data.dtype.kind == "b"
            first += [(None, None, None)] * (tensors[int(part[1:])].ndim if mask else 1)
    return tuple(first), tuple(rest)


def _getitem(x: Tensor, item) -> Tensor:
    if type(item) is int:
        return getitem(x, (item,))
    spec, tensors = normalise(item, x)
    if not tensors:
        return getitem(x, spec)
    apart = _apart(spec, tensors)
    if apart is None:
        return take_at(x, tensors, spec)
    return take_at(getitem(x, apart[0]), tensors, apart[1])


def _setitem(x: Tensor, item, value) -> None:
    spec, tensors = normalise(item, x)
    if not (tensors or modes.unusual) and (not local.grad or x.stop_gradient and (
            type(value) in (float, int) or isinstance(value, Tensor) and value.stop_gradient)) \
            and (not isinstance(value, Tensor) or type(value._data) is type(x._data)):
        # Nothing to record: a plain write, which loops do often.
        try:
            setitem.op.forward(xp_of(x._data), x._data,
                               value._data if isinstance(value, Tensor) else value, (), spec, True)
        except Exception as error:
            raise setitem.op.error(error, (x, value, []), (spec, True)) from error
        written(x)
        return
    if not isinstance(value, (Tensor, bool, int, float, complex, np.generic)):
        place = x.place if is_array(x._data) else None
        value = to_tensor(value, place=place)
    apart = _apart(spec, tensors) if tensors else None
    if apart is None:
        inplace(setitem, x, value, tensors, spec, inplace=True)
        return
    first, rest = apart

    def staged(old):
        return setitem(old, setitem(getitem(old, first), value, tensors, rest), [], first)
    staged.__name__ = "setitem"
    inplace(staged, x)


Tensor.__getitem__ = _getitem
Tensor.__setitem__ = _setitem


# ---- slices given by axes
@public(name="slice")
def _slice(input: Tensor, axes, starts, ends, name: str | None = None) -> Tensor:
    """input[starts[i]:ends[i]] along each of the axes; ends beyond the size are cut to it. A view.

    >>> import minipaddle as paddle
    >>> paddle.slice(paddle.to_tensor([[1, 2, 3], [4, 5, 6]]), [1], [-2], [9]).tolist()
    [[2, 3], [5, 6]]
    """
    return _sliced("slice", input, axes, starts, ends, None)


@public()
def strided_slice(x: Tensor, axes, starts, ends, strides, name: str | None = None) -> Tensor:
    """x[starts[i]:ends[i]:strides[i]] along each of the axes; strides may be negative. A view.

    >>> import minipaddle as paddle
    >>> paddle.strided_slice(paddle.arange(5), [0], [4], [0], [-2]).tolist()
    [4, 2]
    """
    return _sliced("strided_slice", x, axes, starts, ends, strides)


def _sliced(name, x, axes, starts, ends, strides):
    def items(v):
        return [b if isinstance(b, Tensor) and not is_array(b._data) else shape_of(b)[0]
                for b in v] if isinstance(v, (list, tuple)) else list(shape_of(v))
    axes, starts, ends = axes_of(axes, x.ndim), items(starts), items(ends)
    strides = [None] * len(axes) if strides is None else items(strides)
    if not len(axes) == len(starts) == len(ends) == len(strides):
        raise ValueError(f"{name}: axes, starts, ends must have as many entries, got {len(axes)}, "
                         f"{len(starts)}, {len(ends)}")
    index = [slice(None)] * x.ndim
    for axis, a, b, c in zip(axes, starts, ends, strides):
        index[axis] = slice(a, b, c)
    return _getitem(x, tuple(index))


@public()
def crop(x: Tensor, shape=None, offsets=None, name: str | None = None) -> Tensor:
    """The block of x of the given shape that starts at offsets (zeros when None); a copy.

    In shape, -1 takes all that is left of a dimension, and None is x's shape.

    >>> import minipaddle as paddle
    >>> paddle.crop(paddle.to_tensor([[1, 2, 3], [4, 5, 6]]), [1, -1], [1, 1]).tolist()
    [[5, 6]]
    """
    offsets = [0] * x.ndim if offsets is None else list(shape_of(offsets))
    shape = x.shape if shape is None else list(shape_of(shape))
    if len(shape) != x.ndim or len(offsets) != x.ndim:
        raise ValueError(f"crop: shape {shape} and offsets {offsets} must have an entry for each "
                         f"dimension of x {x.shape}")
    ends = [n if s == -1 else o + s for s, o, n in zip(shape, offsets, x.shape)]
    if any(o < 0 or e > n for o, e, n in zip(offsets, ends, x.shape)):
        raise ValueError(f"crop: shape {shape} at offsets {offsets} leaves x {x.shape}")
    return ops.clone(_getitem(x, tuple(slice(o, e) for o, e in zip(offsets, ends))))


# ---- gather: rows along an axis
def _index_1d(index):
    """An index of shape [n, 1] as [n]."""
    return index.reshape(-1) if index.ndim == 2 and index.shape[1] == 1 else index


def _check_index(index, most: int = 1):
    if index.dtype.kind not in "iu":
        raise TypeError(f"index must be of integers, got {index.dtype}")
    if index.ndim > most:
        raise ValueError(f"index must be 1-d or of shape [n, 1], got {list(index.shape)}")


def _gather_sample(draw):
    axis = draw.choice([0, 1, -1])
    return (draw.array((3, 4)), draw.integers(draw.choice([(5,), (2, 1), ()]), -3, 2)), \
        {"axis": axis}


@op(half="native", casts=("x",), amp="keep", samples=_gather_sample)
def gather(xp, x: Array, index: Array, axis: int | None = None) -> Array:
    """The slices of x along axis (0 when None) that a 1-d (or 0-d, or [n, 1]) index names.

    Shape [..., k, ...] becomes [..., n, ...]. IndexError for an index out of range.

    >>> import minipaddle as paddle
    >>> paddle.gather(paddle.to_tensor([10, 20, 30]), paddle.to_tensor([2, 0])).tolist()
    [30, 10]
    """
    index = _index_1d(index)
    _check_index(index)
    return x.take(index, 0 if axis is None else axis_of(axis, x.ndim))


@gather.vjp
def _(F, g, x_shape, index, axis):
    return F.gather_place(g, index, x_shape, axis), None


@op(namespace=None, half="native", casts=("x",), amp="keep",
    samples=lambda draw: ((draw.array((2, 5)), draw.integers((5,), 0, 2), (2, 3), 1), {}))
def gather_place(xp, x: Array, index: Array, shape: tuple, axis: int | None) -> Array:
    """Zeros of a shape with slices added at an index along an axis: the transpose of gather."""
    axis = 0 if axis is None else axis_of(axis, len(shape))
    index = _index_1d(index)
    out = xp.zeros(shape, x.dtype)
    if xp is not np:
        xp.add.at(out, (slice(None),) * axis + (index,), x)
    elif axis == 0:
        _add_rows(out, _rows(np, shape[:1], [index]).reshape(-1), x.reshape(-1, *shape[1:])
                  if index.ndim == 0 else x)
    else:
        _add(np, out, (slice(None),) * axis + (index,), x)
    return out


@gather_place.vjp
def _(F, g, index, axis):
    return F.gather(g, index, axis), None


@public()
def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
    """The slices of x along axis that a 1-d integer tensor names.

    >>> import minipaddle as paddle
    >>> paddle.index_select(paddle.eye(3), paddle.to_tensor([1]), axis=1).tolist()
    [[0.0], [1.0], [0.0]]
    """
    if not isinstance(index, Tensor):
        index = to_tensor(index, place=x.place)
    if index.ndim != 1 and differ(index.shape[1:], [1]):
        raise ValueError(f"index_select: index must be 1-d, got {index.shape}")
    return gather(x, index, axis)


@op(half="native", casts=("x",), amp="keep", samples=lambda draw: (
    (draw.array((3, 4, 2)), draw.integers((5, draw.integer(0, 3)), 0, 1)), {}))
def gather_nd(xp, x: Array, index: Array) -> Array:
    """The slices x[index[..., 0], index[..., 1], ...]; out [*index.shape[:-1], *rest of x].

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[1, 2], [3, 4]])
    >>> paddle.gather_nd(x, paddle.to_tensor([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """
    _check_index(index, 99)
    k = index.shape[-1]
    if k > x.ndim:
        raise ValueError(f"the last dimension of index {list(index.shape)} names {k} dimensions, x "
                         f"{list(x.shape)} has {x.ndim}")
    if k == 0:
        return xp.broadcast_to(x, index.shape[:-1] + x.shape).copy()
    return x[tuple([index[..., i] for i in range(k)])]


@gather_nd.vjp
def _(F, g, x_shape, index):
    return F.scatter_nd(index, g, x_shape), None


@op(half="native", casts=("updates",), amp="keep", method=("scatter_nd",),
    samples=lambda draw: ((draw.integers((3, 2), 0, 1), draw.array((3, 4)), [2, 3, 4]), {}))
def scatter_nd(xp, index: Array, updates: Array, shape: list[int]) -> Array:
    """Zeros of a shape with updates added at index; entries named twice add up.

    >>> import minipaddle as paddle
    >>> index = paddle.to_tensor([[1], [1], [0]])
    >>> paddle.scatter_nd(index, paddle.to_tensor([1., 2., 3.]), [3]).tolist()
    [3.0, 3.0, 0.0]
    """
    out = xp.zeros(shape_of(shape), updates.dtype)
    return _scatter_nd_into(xp, out, index, updates)


def _scatter_nd_into(xp, out, index, updates):
    _check_index(index, 99)
    k = index.shape[-1]
    if tuple(updates.shape) != tuple(index.shape[:-1]) + out.shape[k:]:
        raise ValueError(f"updates must have shape {[*index.shape[:-1], *out.shape[k:]]} for index "
                         f"{list(index.shape)} into {list(out.shape)}, got {list(updates.shape)}")
    if k == 0:
        out += updates.reshape(-1, *out.shape).sum(0)
    else:
        _add(xp, out, tuple([index[..., i] for i in range(k)]), updates)
    return out


@scatter_nd.vjp
def _(F, g, index):
    return None, F.gather_nd(g, index)


@op(half="native", promote="promote", casts=("x", "updates"),
    samples=lambda draw: (
        (draw.array((3, 2)), draw.integers((4, 1), 0, 2), draw.array((4, 2))), {}))
def scatter_nd_add(xp, x: Array, index: Array, updates: Array) -> Array:
    """x with updates added at index, as `scatter_nd` names places; repeated ones add up.

    >>> import minipaddle as paddle
    >>> x, index = paddle.ones([3]), paddle.to_tensor([[1], [1]])
    >>> paddle.scatter_nd_add(x, index, paddle.to_tensor([1., 2.])).tolist()
    [1.0, 4.0, 1.0]
    """
    return _scatter_nd_into(xp, x.copy(), index, updates)


@scatter_nd_add.vjp
def _(F, g, index):
    return g, None, F.gather_nd(g, index)


def _scatter_sample(draw):
    return (draw.array((3, 2)), draw.integers((4,), -3, 2), draw.array((4, 2))), \
        {"overwrite": draw.bool()}


def _last_rows(xp, n, rows):
    """For each of n rows the number of the last index that names it, or -1."""
    last = xp.full(n, -1, "int32")
    count = xp.arange(rows.size, dtype="int32")
    if xp is np:
        last[rows] = count                          # xp: numpy-only
    else:
        xp.maximum.at(last, rows, count)            # CuPy does not say which assignment wins
    return last


@op(half="native", promote="promote", casts=("x", "updates"), inplace=True,
    samples=_scatter_sample)
def scatter(xp, x: Array, index: Array, updates: Array, overwrite: bool = True) -> Array:
    """x with the rows that index names replaced by those of updates; of repeated ones the last.

    overwrite=False: the rows named are set to zero first, then all updates are added.
    index: [n], [n, 1] or 0-d; updates: [n, *x.shape[1:]].

    >>> import minipaddle as paddle
    >>> x, i = paddle.zeros([2, 1]), paddle.to_tensor([1, 1])
    >>> paddle.scatter(x, i, paddle.to_tensor([[1.], [2.]])).tolist()
    [[0.0], [2.0]]
    >>> paddle.scatter(x, i, paddle.to_tensor([[1.], [2.]]), overwrite=False).tolist()
    [[0.0], [3.0]]
    """
    index = _index_1d(index)
    _check_index(index)
    rows = _rows(xp, x.shape[:1], [index.reshape(-1)])
    if index.ndim == 0 and updates.ndim == x.ndim - 1:
        updates = updates[None]
    if updates.shape[0] != rows.size or updates.shape[1:] != x.shape[1:]:
        raise ValueError(f"updates must have shape {[rows.size, *x.shape[1:]]} for index "
                         f"{list(index.shape)} and x {list(x.shape)}, got {list(updates.shape)}")
    out = x.copy()
    if not overwrite:
        out[rows] = 0
        if xp is np:
            _add_rows(out, rows, updates)
        else:
            xp.add.at(out, rows, updates)
    elif xp is np:
        out[rows] = updates                         # xp: numpy-only
    elif rows.size:
        last = _last_rows(xp, x.shape[0], rows)
        named = (last >= 0).reshape((-1,) + (1,) * (x.ndim - 1))
        out = xp.where(named, updates[xp.maximum(last, 0)], x)
    return out


@scatter.vjp
def _(F, g, index, updates_shape, overwrite, need):
    gx = F.index_fill_rows(g, index) if need[0] else None
    gu = None
    if need[2]:
        if overwrite:
            kept = F.index_last(index, g.shape[0])
            g = F.where(F.reshape(kept, [-1] + [1] * (len(g.shape) - 1)),
                        F.gather(g, F.reshape(index, [-1])), 0.0)
        else:
            g = F.gather(g, F.reshape(index, [-1]))
        gu = F.reshape(g, updates_shape)
    return gx, None, gu


@op(namespace=None, half="native", casts=("x",), amp="keep",
    samples=lambda draw: ((draw.array((3, 2)), draw.integers((2,), 0, 2)), {}))
def index_fill_rows(xp, x: Array, index: Array) -> Array:
    """x with zeros in the rows that index names."""
    out = x.copy()
    out[index.reshape(-1)] = 0
    return out


@index_fill_rows.vjp
def _(F, g, index):
    return F.index_fill_rows(g, index), None


@op(namespace=None, half="native", amp="keep")
def index_last(xp, index: Array, size: int) -> Array:
    """For each entry of a row index whether no later entry names the same row; bools."""
    rows = _rows(xp, (size,), [index.reshape(-1)])
    return _last_rows(xp, size, rows)[rows] == xp.arange(rows.size, dtype="int32")


# ---- along an axis: one index for each entry
def _along_shapes(shape, index_shape, axis, broadcast):
    """(shape of arr, shape of indices) after broadcasting all dimensions but the axis."""
    if len(shape) != len(index_shape):
        raise ValueError(f"indices {list(index_shape)} must have as many dimensions as arr "
                         f"{list(shape)}")
    if not broadcast:
        if any(m > n for i, (n, m) in enumerate(zip(shape, index_shape)) if i != axis):
            raise ValueError(f"indices {list(index_shape)} must not be larger than arr "
                             f"{list(shape)} but along the axis {axis}")
        return tuple(n if i == axis else m
                     for i, (n, m) in enumerate(zip(shape, index_shape))), tuple(index_shape)
    common = [1 if i == axis else n for i, n in enumerate(shape)]
    other = [1 if i == axis else n for i, n in enumerate(index_shape)]
    full = list(np.broadcast_shapes(tuple(common), tuple(other)))
    a, b = full.copy(), full.copy()
    a[axis], b[axis] = shape[axis], index_shape[axis]
    return tuple(a), tuple(b)


def _grid(xp, index, axis):
    """The index tuple that names, for each entry of index, its place along the axis."""
    grid = [xp.arange(n).reshape([-1 if i == j else 1 for j in range(index.ndim)])
            for i, n in enumerate(index.shape)]
    grid[axis] = index
    return tuple(grid)


def _along_sample(draw):
    axis = draw.choice([0, 1, -1])
    shape = [3, 4]
    shape[axis] = draw.integer(0, 3)
    if draw.bool():
        shape[1 if axis == 0 else 0] = 1
    return (draw.array((3, 4)), draw.integers(tuple(shape), -3, 2), axis), {}


@op(half="native", casts=("arr",), amp="keep", samples=_along_sample)
def take_along_axis(xp, arr: Array, indices: Array, axis: int, broadcast: bool = True) -> Array:
    """Entries of arr along axis, one for each entry of indices, which broadcasts to arr.

    out[i, j] = arr[indices[i, j], j] for axis 0. broadcast=False: indices may be smaller than arr
    instead, and stands at its beginning.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[1, 2], [3, 4]])
    >>> paddle.take_along_axis(x, paddle.to_tensor([[0], [1]]), 1).tolist()
    [[1], [4]]
    """
    if not arr.ndim:
        return arr.reshape(1)[indices]
    axis = axis_of(axis, arr.ndim)
    a, b = _along_shapes(arr.shape, indices.shape, axis, broadcast)
    if not broadcast:
        arr = arr[tuple([slice(0, n) for n in a])]
    return xp.take_along_axis(xp.broadcast_to(arr, a), xp.broadcast_to(indices, b), axis)


@take_along_axis.vjp
def _(F, g, arr_shape, indices, axis, broadcast):
    return F.add_along_axis(g, indices, arr_shape, axis, broadcast), None


@op(namespace=None, half="native", casts=("x",), amp="keep", samples=lambda draw: (
    (draw.array((3, 2)), draw.integers((3, 2), -4, 3), (3, 4), 1), {}))
def add_along_axis(xp, x: Array, indices: Array, shape: tuple, axis: int,
                   broadcast: bool = True) -> Array:
    """Zeros with x added at indices along an axis: what `take_along_axis` is transposed to."""
    if not len(shape):
        return x.sum().reshape(())
    axis = axis_of(axis, len(shape))
    a, b = _along_shapes(shape, indices.shape, axis, broadcast)
    out = xp.zeros(a if broadcast else shape, x.dtype)
    _add_grid(xp, out, xp.broadcast_to(indices, b), x, axis)
    return out if out.shape == tuple(shape) else \
        out.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and a[i] != 1), keepdims=True)


def _add_grid(xp, out, indices, value, axis):
    grid = _grid(xp, indices, axis)
    if xp is np:
        flat = _rows(np, out.shape, grid)
        np.add.at(out.reshape(-1), np.broadcast_to(flat, indices.shape).ravel(),
                  np.broadcast_to(value, indices.shape).ravel())    # xp: numpy-only
    else:
        xp.add.at(out, grid, value)


@add_along_axis.vjp
def _(F, g, indices, axis, broadcast):
    return F.take_along_axis(g, indices, axis, broadcast), None


@op(namespace=None, half="native", casts=("x",), amp="keep", samples=lambda draw: (
    (draw.array((2, 3)), np.array([[2, 0, 3], [1, 3, 2]]), 4, 1), {}))
def place_along(xp, x: Array, order: Array, size: int, axis: int) -> Array:
    """Zeros of `size` along an axis with x at the places in order, no two of which are equal."""
    if not x.ndim:
        return x.copy()
    axis = axis_of(axis, x.ndim)
    out = xp.zeros(x.shape[:axis] + (size,) + x.shape[axis + 1:], x.dtype)
    xp.put_along_axis(out, order, x, axis)
    return out


@place_along.vjp
def _(F, g, order, axis):
    return F.take_along_axis(g, order, axis), None


def _put_sample(draw):
    axis = draw.choice([0, 1])
    reduce = draw.choice(["assign", "add", "mul", "amin", "amax"])
    index = draw.integers((2, 4) if axis == 0 else (3, 2), 0, 2)
    if reduce == "assign":                          # which of two writes stays is open on a GPU
        order = np.argsort(draw.distinct((3, 4)), axis)
        index = order[:2] if axis == 0 else order[:, :2]
    x = draw.distinct((5, 4))
    return (x[:3] * 2, index, x[3:].reshape(2, 4)[:index.shape[0]] if axis == 0 else
            x.reshape(-1)[12:18].reshape(3, 2) * 2 + 0.03, axis, reduce), \
        {"include_self": draw.bool()}


@op("put_along_axis", namespace=None, half="native", promote="promote", casts=("arr", "values"),
    samples=_put_sample)
def _put_along_axis(xp, arr: Array, indices: Array, values: Array, axis: int,
                    reduce: str = "assign", include_self: bool = True,
                    broadcast: bool = True) -> Array:
    """What `paddle.put_along_axis` calls, without the mean."""
    axis = axis_of(axis, arr.ndim)
    a, b = _along_shapes(arr.shape, indices.shape, axis, broadcast)
    out = xp.broadcast_to(arr, a).copy() if broadcast else arr.copy()
    indices = xp.broadcast_to(indices, b)
    values = xp.broadcast_to(xp.asarray(values, out.dtype), b)
    grid = _grid(xp, indices, axis)
    if reduce == "assign":
        out[grid] = values
        return out
    if not include_self:
        out[grid] = {"add": 0, "mul": 1}.get(reduce) if reduce in ("add", "mul") else \
            _extreme(out.dtype, reduce == "amin")
    if reduce == "add":
        _add_grid(xp, out, indices, values, axis)
    elif reduce == "amin":
        xp.minimum.at(out, grid, values)
    elif reduce == "amax":
        xp.maximum.at(out, grid, values)
    elif reduce == "mul":
        _multiply_at(xp, out, grid, values)
    else:
        raise ValueError(f"reduce must be 'assign', 'add', 'mul' ('multiply'), 'mean', 'amin' or "
                         f"'amax', got {reduce!r}")
    return out


def _extreme(dtype, largest):
    if dtype.kind == "f":
        return np.inf if largest else -np.inf
    info = np.iinfo(dtype)
    return info.max if largest else info.min


def _multiply_at(xp, out, grid, values):
    """out[grid] *= values with repeated places; a round for each time the busiest one is named."""
    if xp is np:
        np.multiply.at(out, grid, values)           # xp: numpy-only
        return
    flat = xp.broadcast_to(_rows(xp, out.shape, grid), values.shape).ravel()
    values, whole = values.ravel(), out.reshape(-1)
    order = xp.argsort(flat)
    ordered = flat[order]
    rank = xp.arange(flat.size) - xp.searchsorted(ordered, ordered)
    for r in range(int(rank.max()) + 1 if flat.size else 0):
        now = order[rank == r]
        whole[flat[now]] *= values[now]


@_put_along_axis.vjp
def _(F, g, arr, indices, values, out, arr_shape, values_shape, indices_shape, axis, reduce,
      include_self, broadcast, need):
    full = tuple(_along_shapes(arr_shape, indices_shape, axis_of(axis, len(arr_shape)),
                               broadcast)[1])

    def taken(t):
        return F.take_along_axis(t, indices, axis, broadcast)

    def zeroed(t):
        return F.put_along_axis(t, indices, 0.0, axis, "assign", True, broadcast)

    if reduce in ("assign", "add"):
        ga = g if reduce == "add" and include_self else zeroed(g)
        gv = taken(g)
        if reduce == "assign":
            gv = F.where(F.along_last(indices, arr_shape, axis, broadcast), gv, 0.0)
    elif reduce == "mul":
        # The product of the others at each place, exact where one of the factors is zero.
        def one(t):
            return F.where(F.equal(t, 0.0), 1.0, t)

        def zero(t):
            return F.where(F.equal(t, 0.0), 1.0, t * 0.0)
        product = F.put_along_axis(one(arr), indices, one(values), axis, "mul", include_self,
                                   broadcast)
        zeros = F.put_along_axis(zero(arr), indices, zero(values), axis, "add", include_self,
                                 broadcast)
        gp, zs = g * product, zeros
        ga = F.where(F.equal(zs - zero(arr), 0.0), gp / one(arr), 0.0) if include_self else \
            zeroed(g)
        gv = F.where(F.equal(taken(zs) - zero(values), 0.0), taken(gp) / one(values), 0.0)
        if include_self:
            touched = F.put_along_axis(g * 0.0, indices, 1.0, axis, "assign", True, broadcast)
            ga = F.where(F.equal(touched, 0.0), g, ga)
    else:
        # Those that equal the result share its gradient evenly.
        same_a = F.where(F.equal(arr, out), 1.0, 0.0 * g)
        if not include_self:
            same_a = zeroed(same_a)
        same_v = F.where(F.equal(values, taken(out)), 1.0, 0.0 * taken(g))
        count = F.put_along_axis(same_a, indices, same_v, axis, "add", True, broadcast)
        share = g / F.where(F.equal(count, 0.0), 1.0, count)
        ga, gv = share * same_a, taken(share) * same_v
    if need[0] and tuple(ga.shape) != tuple(arr_shape):
        ga = F.sum_to(ga, arr_shape)
    if need[2] and full != tuple(values_shape):
        gv = F.sum_to(gv, values_shape)
    return ga, None, gv


@op(namespace=None, half="native", amp="keep")
def along_last(xp, indices: Array, shape: tuple, axis: int, broadcast: bool) -> Array:
    """For each entry of an index along an axis whether no later one names its place; bools."""
    axis = axis_of(axis, len(shape))
    a, b = _along_shapes(shape, indices.shape, axis, broadcast)
    indices = xp.broadcast_to(indices, b)
    flat = xp.broadcast_to(_rows(xp, a, _grid(xp, indices, axis)), b).ravel()
    last = _last_rows(xp, math.prod(a), flat)
    return (last[flat] == xp.arange(flat.size, dtype="int32")).reshape(b)


_REDUCE = {"multiply": "mul"}


@public(inplace=True)
def put_along_axis(arr: Tensor, indices: Tensor, values, axis: int, reduce: str = "assign",
                   include_self: bool = True, broadcast: bool = True,
                   name: str | None = None) -> Tensor:
    """arr with values put at indices along axis; both broadcast as in `take_along_axis`.

    reduce: 'assign', 'add', 'mul' or 'multiply', 'mean', 'amin', 'amax': how a value meets what is
    there and the others at its place; include_self=False leaves out what is there.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[10, 30, 20], [60, 40, 50]])
    >>> paddle.put_along_axis(x, paddle.to_tensor([[0]]), 99, 0).tolist()
    [[99, 99, 99], [60, 40, 50]]
    """
    reduce = _REDUCE.get(reduce, reduce)
    if not isinstance(values, Tensor):
        place = arr.place if is_array(arr._data) else None
        values = to_tensor(values, dtype=arr.dtype, place=place)
    if reduce != "mean":
        return _put_along_axis(arr, indices, values, axis, reduce, include_self, broadcast)
    total = _put_along_axis(arr, indices, values, axis, "add", include_self, broadcast)
    ones = ops.ones_like(total)
    count = _put_along_axis(ones, indices, 1, axis, "add", include_self, broadcast)
    if total.dtype.is_integer:
        return total // count
    return total / count


@public()
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """For each row of x [n, k] the entries that the row of index [n, m] names; out [n, m].

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[1, 2, 3], [4, 5, 6]])
    >>> paddle.index_sample(x, paddle.to_tensor([[0, 0], [2, 1]])).tolist()
    [[1, 1], [6, 5]]
    """
    if x.ndim != 2 or index.ndim != 2 or differ(x.shape[:1], index.shape[:1]):
        raise ValueError("index_sample: x and index must be 2-d with as many rows, got "
                         f"{x.shape} and {index.shape}")
    return take_along_axis(x, index, 1)


# ---- adding and filling at an index
def _index_add_sample(draw):
    axis = draw.choice([0, 1, -1])
    shape = [3, 4]
    shape[axis] = 5
    return (draw.array((3, 4)), draw.integers((5,), -3, 2), axis, draw.array(tuple(shape))), {}


@op(half="native", promote="promote", casts=("x", "value"), inplace=True,
    samples=_index_add_sample)
def index_add(xp, x: Array, index: Array, axis: int, value: Array) -> Array:
    """x with the slices of value added at index along axis; repeated ones add up.

    index: [n]; value: x's shape with n along the axis.

    >>> import minipaddle as paddle
    >>> i, v = paddle.to_tensor([0, 0]), paddle.to_tensor([1., 2.])
    >>> paddle.index_add(paddle.zeros([2]), i, 0, v).tolist()
    [3.0, 0.0]
    """
    axis = axis_of(axis, x.ndim)
    _check_index(index)
    out, value = x.copy(), xp.asarray(value, x.dtype)
    wanted = x.shape[:axis] + (index.size,) + x.shape[axis + 1:]
    value = xp.broadcast_to(value, wanted)
    _add(xp, out, (slice(None),) * axis + (index.reshape(-1),), value)
    return out


@index_add.vjp
def _(F, g, index, axis, value_shape):
    return g, None, F.sum_to(F.gather(g, F.reshape(index, [-1]), axis), value_shape)


@public(inplace=True)
def index_put(x: Tensor, indices, value: Tensor, accumulate: bool = False,
              name: str | None = None) -> Tensor:
    """x with x[indices] = value, or += value with accumulate=True (repeated places add up).

    indices: a tuple of integer tensors, or one bool tensor; value broadcasts to their shape.

    >>> import minipaddle as paddle
    >>> i, v = paddle.to_tensor([1, 1]), paddle.to_tensor([1., 2.])
    >>> paddle.index_put(paddle.zeros([3]), (i,), v, accumulate=True).tolist()
    [0.0, 3.0, 0.0]
    """
    spec, tensors = normalise(tuple(indices), x)
    if not isinstance(value, (Tensor, *_NUMBERS)):
        value = to_tensor(value, place=x.place)
    if not accumulate:
        return setitem(x, value, tensors, spec)
    shape = (take_at(x.detach(), tensors, spec) if tensors else getitem(x.detach(), spec)).shape
    if not isinstance(value, Tensor):
        value = to_tensor(value, dtype=x.dtype, place=x.place)
    value = ops.expand(ops.cast(value, x.dtype), shape)
    return x + add_at(value, tensors, tuple(x.shape), spec)


_NUMBERS = (bool, int, float, complex, np.generic)


@public(inplace=True)
def index_fill(x: Tensor, index: Tensor, axis: int, value, name: str | None = None) -> Tensor:
    """x with the slices that index names along axis set to a number (or 0-d tensor).

    >>> import minipaddle as paddle
    >>> paddle.index_fill(paddle.zeros([3]), paddle.to_tensor([0, 2]), 0, 5.0).tolist()
    [5.0, 0.0, 5.0]
    """
    if isinstance(value, Tensor) and value.size != 1:
        raise ValueError(f"index_fill: value must be a number, got a tensor of {value.shape}")
    if isinstance(value, Tensor) and value.ndim:
        value = ops.reshape(value, [])
    axis = axis_of(axis, x.ndim)
    return setitem(x, value, [ops.reshape(index, [-1])], ((None, None, None),) * axis + ("$0",))


@public()
def select_scatter(x: Tensor, values: Tensor, axis: int, index: int,
                   name: str | None = None) -> Tensor:
    """x with values at one index of an axis.

    >>> import minipaddle as paddle
    >>> paddle.select_scatter(paddle.zeros([2, 2]), paddle.ones([2]), 1, 0).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    axis = axis_of(axis, x.ndim)
    wanted = x.shape[:axis] + x.shape[axis + 1:]
    if differ(values.shape, wanted):
        raise ValueError(f"select_scatter: values must have shape {wanted}, got {values.shape}")
    return setitem(x, values, [], ((None, None, None),) * axis + (int(index),))


@public()
def slice_scatter(x: Tensor, value: Tensor, axes=None, starts=None, ends=None, strides=None,
                  name: str | None = None) -> Tensor:
    """x with value at the slice [starts[i]:ends[i]:strides[i]] of each of the axes.

    >>> import minipaddle as paddle
    >>> x, v = paddle.zeros([3, 2]), paddle.ones([1, 2])
    >>> paddle.slice_scatter(x, v, axes=[0], starts=[1], ends=[2], strides=[1]).tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    axes = axes_of(range(x.ndim) if axes is None else axes, x.ndim)
    spec = [(None, None, None)] * x.ndim
    starts = [0] * len(axes) if starts is None else shape_of(starts)
    ends = [x.shape[a] for a in axes] if ends is None else shape_of(ends)
    strides = [1] * len(axes) if strides is None else shape_of(strides)
    for a, *bounds in zip(axes, starts, ends, strides):
        spec[a] = tuple(bounds)
    return setitem(x, value, [], tuple(spec))


@public()
def diagonal_scatter(x: Tensor, y: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1,
                     name: str | None = None) -> Tensor:
    """x with y on the diagonal of the planes of two axes; y has the shape of that diagonal.

    >>> import minipaddle as paddle
    >>> paddle.diagonal_scatter(paddle.zeros([2, 2]), paddle.to_tensor([1., 2.])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    a, b = axes_of([axis1, axis2], x.ndim)
    planes = ops.moveaxis(x, [a, b], [0, 1])
    m, n = planes.shape[:2]
    rows = np.arange(max(min(m + min(offset, 0), n - max(offset, 0)), 0)) - min(offset, 0)
    wanted = [*planes.shape[2:], rows.size]
    if differ(y.shape, wanted):
        raise ValueError(f"diagonal_scatter: y must have shape {wanted}, got {y.shape}")
    index = [to_tensor(rows, place=x.place), to_tensor(rows + offset, place=x.place)]
    out = setitem(planes, ops.moveaxis(y, -1, 0), index, ("$0", "$1"))
    return ops.moveaxis(out, [0, 1], [a, b])


# ---- masks
@public()
def masked_select(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The entries of x where the bool mask holds, 1-d; x and mask broadcast.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1, 2, 3])
    >>> paddle.masked_select(x, x > 1).tolist()
    [2, 3]
    """
    if mask.dtype.name != "bool":
        raise TypeError(f"masked_select: mask must be of bools, got {mask.dtype.name}")
    if not equal_shapes(x.shape, mask.shape):
        x, mask = ops.broadcast_tensors([x, mask])
    return take_at(x, [mask], ("$0",))


@public(inplace=True)
def masked_fill(x: Tensor, mask: Tensor, value, name: str | None = None) -> Tensor:
    """x with a number (or 0-d tensor) where the bool mask holds; x and mask broadcast.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1., 2., 3.])
    >>> paddle.masked_fill(x, x > 1, 0.0).tolist()
    [1.0, 0.0, 0.0]
    """
    if mask.dtype.name != "bool":
        raise TypeError(f"masked_fill: mask must be of bools, got {mask.dtype.name}")
    if isinstance(value, Tensor):
        value = value if value.dtype is x.dtype else ops.cast(value, x.dtype)
        value = ops.reshape(value, []) if value.size == 1 else value
    else:
        value = to_tensor(value, dtype=x.dtype, place=x.place)
    return ops.where(mask, value, x)


@public(inplace=True)
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """x with the entries where the mask holds replaced by those of value, in order.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1., 2., 3.])
    >>> paddle.masked_scatter(x, x > 1, paddle.to_tensor([8., 9., 7.])).tolist()
    [1.0, 8.0, 9.0]
    """
    if not equal_shapes(mask.shape, x.shape):
        mask = ops.expand(mask, x.shape)
    count = int(ops.sum(ops.cast(mask, "int64")))
    if count > value.size:
        raise ValueError(f"masked_scatter: the mask holds in {count} places, value has only "
                         f"{value.size} entries")
    return setitem(x, ops.reshape(value, [-1])[:count], [mask], ("$0",))


# ---- where things are
@op("nonzero", namespace=None, half="native", amp="keep")
def _nonzero(xp, x: Array) -> Array:
    """The indices of the entries that are not zero, [n, ndim]."""
    if not x.ndim:
        return xp.zeros((int(bool(x)), 0), "int64")
    return xp.stack(xp.nonzero(x), axis=1).astype("int64")


@public(method=("nonzero",))
def nonzero(x: Tensor, as_tuple: bool = False):
    """The int64 indices of the entries that are not zero (or False), [n, ndim].

    as_tuple=True: one tensor [n] for each dimension instead.

    >>> import minipaddle as paddle
    >>> paddle.nonzero(paddle.to_tensor([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    found = _nonzero(x)
    if not as_tuple:
        return found
    return tuple(found[:, i] for i in range(x.ndim))


@public()
def argwhere(input: Tensor, name: str | None = None) -> Tensor:
    """The int64 indices of the entries that are not zero, [n, ndim].

    >>> import minipaddle as paddle
    >>> paddle.argwhere(paddle.to_tensor([0, 1, 2])).tolist()
    [[1], [2]]
    """
    return _nonzero(input)


@public()
def take(x: Tensor, index: Tensor, mode: str = "raise", name: str | None = None) -> Tensor:
    """Entries of the flattened x at flat indices, in the shape of index.

    mode for indices out of range: 'raise' an IndexError, 'wrap' around, or 'clip' to the ends
    (negative ones to 0).

    >>> import minipaddle as paddle
    >>> paddle.take(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[0], [5]]),
    ...             mode='wrap').tolist()
    [[1], [2]]
    """
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if not index.dtype.is_integer:
        raise TypeError(f"take: index must be of integers, got {index.dtype.name}")
    if mode == "wrap":
        index = ops.remainder(index, x.size)
    elif mode == "clip":
        index = ops.clip(index, 0, x.size - 1)
    return ops.reshape(gather(ops.reshape(x, [-1]), ops.reshape(index, [-1])), index.shape)


@public(method=("multiplex",))
def multiplex(inputs, index: Tensor, name: str | None = None) -> Tensor:
    """Row i of the result is row i of the tensor that index [n, 1] names in a list of tensors.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[5, 6], [7, 8]])
    >>> paddle.multiplex([a, b], paddle.to_tensor([[1], [0]])).tolist()
    [[5, 6], [3, 4]]
    """
    n = inputs[0].shape[0]
    rows = to_tensor(np.arange(n), place=inputs[0].place) if type(n) is int else ops.arange(n)
    return take_at(ops.stack(list(inputs)), [ops.reshape(index, [-1]), rows], ("$0", "$1"))


@op(half="native", amp="keep", method=("shard_index",))
def shard_index(xp, input: Array, index_num: int, nshards: int, shard_id: int,
                ignore_value: int = -1) -> Array:
    """Indices into one of nshards equal parts of index_num entries; others are ignore_value.

    >>> import minipaddle as paddle
    >>> paddle.shard_index(paddle.to_tensor([[1], [16]]), 20, 2, 0).tolist()
    [[1], [-1]]
    """
    if not 0 <= shard_id < nshards:
        raise ValueError(f"shard_id must be in [0, {nshards}), got {shard_id}")
    size = (index_num + nshards - 1) // nshards
    mine = input // size == shard_id
    return xp.where(mine, input % size, ignore_value).astype(input.dtype)


# ---- sorting
def _sort_sample(draw):
    shape = draw.shape(1, 3, 1)
    return (draw.distinct(shape),), {"axis": draw.axis(len(shape)), "descending": draw.bool()}


@op("sort", half="native", amp="keep", samples=_sort_sample)
def _sort(xp, x: Array, axis: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """x sorted along an axis; nan counts as larger than all.

    >>> import minipaddle as paddle
    >>> paddle.sort(paddle.to_tensor([2, 3, 1]), descending=True).tolist()
    [3, 2, 1]
    """
    if not x.ndim:
        return x.copy()
    axis = axis_of(axis, x.ndim)
    out = xp.sort(x, axis=axis)
    return xp.flip(out, axis).copy() if descending else out


@_sort.vjp
def _(F, g, x, axis, descending):
    if not len(x.shape):
        return g
    return F.place_along(g, F.argsort(x, axis, descending), x.shape[axis_of(axis, len(x.shape))],
                         axis)


def _order(xp, x, axis, descending):
    """The indices that sort x along an axis, equal entries in their order."""
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable").astype("int64", copy=False)
    order = xp.argsort(xp.flip(x, axis), axis=axis, kind="stable")
    return xp.flip(x.shape[axis] - 1 - order, axis).astype("int64")


@op(half="native", amp="keep", samples=_sort_sample)
def argsort(xp, x: Array, axis: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """The int64 indices that sort x along an axis; equal entries keep their order.

    >>> import minipaddle as paddle
    >>> paddle.argsort(paddle.to_tensor([2, 3, 1])).tolist()
    [2, 0, 1]
    """
    if not x.ndim:
        return xp.zeros((), "int64")
    return _order(xp, x, axis_of(axis, x.ndim), descending)


def _topk_sample(draw):
    shape = draw.shape(1, 3, 1)
    axis = draw.axis(len(shape))
    return (draw.distinct(shape), draw.integer(1, shape[axis])), \
        {"axis": axis, "largest": draw.bool()}


@op(half="native", amp="keep", legacy=("top_k_v2",), samples=_topk_sample)
def topk(xp, x: Array, k: int, axis: int | None = None, largest: bool = True,
         sorted: bool = True) -> tuple[Array, Array]:
    """(values, int64 indices) of the k largest (or smallest) entries along an axis, in order.

    nan counts as larger than all. ValueError when the axis has fewer than k entries.

    >>> import minipaddle as paddle
    >>> values, indices = paddle.topk(paddle.to_tensor([1., 4., 2.]), 2)
    >>> values.tolist(), indices.tolist()
    ([4.0, 2.0], [1, 2])
    """
    k = shape_of(k)[0]
    if not x.ndim:
        if k not in (0, 1):
            raise ValueError(f"k must be at most 1 for a 0-d tensor, got {k}")
        return x.copy(), xp.zeros((), "int64")
    axis = axis_of(-1 if axis is None else axis, x.ndim)
    n = x.shape[axis]
    if not 0 <= k <= n:
        raise ValueError(f"k is {k}, but axis {axis} of x {list(x.shape)} has {n} entries")
    head = (slice(None),) * axis
    if k and 16 * k < n and n > 256:
        # Choose the k first, then sort just them.
        some = xp.argpartition(x, n - k if largest else k - 1, axis=axis)
        some = some[head + (slice(n - k, None) if largest else slice(0, k),)]
        some = xp.sort(some, axis=axis)
        order = xp.take_along_axis(
            some, _order(xp, xp.take_along_axis(x, some, axis), axis, largest), axis)
    else:
        order = _order(xp, x, axis, largest)[head + (slice(0, k),)]
    order = xp.ascontiguousarray(order, dtype="int64")
    return xp.take_along_axis(x, order, axis), order


@topk.vjp
def _(F, g, x_shape, out, axis):
    if not len(x_shape):
        return g[0]
    axis = axis_of(-1 if axis is None else axis, len(x_shape))
    return F.place_along(g[0], out[1], x_shape[axis], axis)


def _kth_sample(draw):
    shape = draw.shape(1, 3, 1)
    axis = draw.axis(len(shape))
    return (draw.distinct(shape), draw.integer(1, shape[axis])), \
        {"axis": axis, "keepdim": draw.bool()}


@op(half="native", amp="keep", samples=_kth_sample)
def kthvalue(xp, x: Array, k: int, axis: int | None = None,
             keepdim: bool = False) -> tuple[Array, Array]:
    """(value, int64 index) of the k-th smallest entry along an axis (the last when None).

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.kthvalue(paddle.to_tensor([3., 1., 2.]), 2)]
    [2.0, 2]
    """
    k = shape_of(k)[0]
    n = x.shape[axis_of(-1 if axis is None else axis, x.ndim)] if x.ndim else 1
    if not 1 <= k <= n:
        raise ValueError(f"k must be from 1 to {n}, the size of the axis, got {k}")
    if not x.ndim:
        return x.copy(), xp.zeros((), "int64")
    axis = axis_of(-1 if axis is None else axis, x.ndim)
    order = _order(xp, x, axis, False)[(slice(None),) * axis + (slice(k - 1, k),)]
    return _picked(xp, x, order, axis, keepdim)


def _picked(xp, x, order, axis, keepdim):
    values = xp.take_along_axis(x, order, axis)
    return (values, order.copy()) if keepdim else (values.squeeze(axis), order.squeeze(axis).copy())


def _one_place(F, g, x_shape, out, axis, keepdim):
    """The gradient of an op that picks one entry along an axis."""
    if not len(x_shape):
        return g[0]
    axis = axis_of(-1 if axis is None else axis, len(x_shape))
    g, index = g[0], out[1]
    if not keepdim:
        g, index = F.unsqueeze(g, axis), F.unsqueeze(index, axis)
    return F.place_along(g, index, x_shape[axis], axis)


@kthvalue.vjp
def _(F, g, x_shape, out, axis, keepdim):
    return _one_place(F, g, x_shape, out, axis, keepdim)


@op(half="native", amp="keep", samples=lambda draw: (
    (draw.distinct((2, 3)),), {"axis": draw.axis(2), "keepdim": draw.bool()}))
def mode(xp, x: Array, axis: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """(value, int64 index) of the most frequent entry along an axis, of several the smallest.

    The index is that of its last occurrence.

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.mode(paddle.to_tensor([2., 1., 2., 3.]))]
    [2.0, 2]
    """
    if not x.ndim:
        return x.copy(), xp.zeros((), "int64")
    axis = axis_of(axis, x.ndim)
    if not x.shape[axis]:
        raise ValueError(f"axis {axis} of x {list(x.shape)} has no entries")
    order = xp.moveaxis(_order(xp, x, axis, False), axis, -1)
    ordered = xp.take_along_axis(xp.moveaxis(x, axis, -1), order, -1)
    run = xp.zeros(ordered.shape, "int32")          # the number of each entry's run of equal ones
    run[..., 1:] = xp.cumsum(ordered[..., 1:] != ordered[..., :-1], axis=-1)
    length = xp.zeros(ordered.shape, "int32")
    _add_grid(xp, length, run, xp.ones(run.shape, "int32"), run.ndim - 1)
    length = xp.take_along_axis(length, run, -1)
    best = xp.expand_dims(xp.argmax(length, axis=-1), -1)
    best = best + xp.take_along_axis(length, best, -1) - 1
    order = xp.moveaxis(xp.take_along_axis(order, best, -1), -1, axis)
    return _picked(xp, x, order, axis, keepdim)


@mode.vjp
def _(F, g, x_shape, out, axis, keepdim):
    return _one_place(F, g, x_shape, out, axis, keepdim)


# ---- sets and counts
@op("unique", namespace=None, half="native", amp="keep")
def _unique(xp, x: Array, axis: int | None = None) -> tuple[Array, Array, Array, Array]:
    """Sorted distinct entries or slices, their first indices, the inverse, the counts."""
    out, index, inverse, counts = xp.unique(x, return_index=True, return_inverse=True,
                                            return_counts=True, axis=axis)
    return out, index, inverse.reshape(-1), counts


def _several(first, extra, dtype):
    """The result of a function with optional outputs; index outputs in the dtype asked for."""
    more = [t if t.dtype.name == str(dtype).split(".")[-1] else ops.cast(t, dtype)
            for wanted, t in extra if wanted]
    return (first, *more) if more else first


@public()
def unique(x: Tensor, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, dtype="int64",
           name: str | None = None):
    """The distinct entries in ascending order (of the flattened x, or slices along an axis).

    On request also the index of each one's first occurrence, the inverse (which of them each entry
    is) and the counts, in dtype.

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.unique(paddle.to_tensor([2, 3, 2]), return_counts=True)]
    [[2, 3], [2, 1]]
    """
    if axis is not None:
        axis = axis_of(axis, x.ndim)
    out, index, inverse, counts = _unique(x, axis)
    return _several(out, ((return_index, index), (return_inverse, inverse),
                          (return_counts, counts)), dtype)


@op("unique_consecutive", namespace=None, half="native", amp="keep")
def _unique_consecutive(xp, x: Array, axis: int | None = None) -> tuple[Array, Array, Array]:
    """Entries or slices that differ from the one before, the inverse, the counts."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    n = x.shape[axis]
    rows = xp.moveaxis(x, axis, 0).reshape(n, -1)
    new = xp.ones(n, bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = xp.nonzero(new)[0]
    inverse = xp.cumsum(new) - 1
    ends = xp.concatenate([starts[1:], xp.full(1 if n else 0, n, starts.dtype)])
    return x.take(starts, axis), inverse.astype("int64"), (ends - starts).astype("int64")


@public()
def unique_consecutive(x: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       axis: int | None = None, dtype="int64", name: str | None = None):
    """x without entries (or slices along an axis) equal to the one just before them.

    On request also the inverse and the counts, in dtype.

    >>> import minipaddle as paddle
    >>> paddle.unique_consecutive(paddle.to_tensor([1, 1, 2, 2, 1])).tolist()
    [1, 2, 1]
    """
    if axis is not None:
        axis = axis_of(axis, x.ndim)
    out, inverse, counts = _unique_consecutive(x, axis)
    return _several(out, ((return_inverse, inverse), (return_counts, counts)), dtype)


@op(half="native", amp="keep", method=("searchsorted",))
def searchsorted(xp, sorted_sequence: Array, values: Array, out_int32: bool = False,
                 right: bool = False) -> Array:
    """Where each value would be inserted into an ascending sequence, before equals or after them.

    sorted_sequence [n] with values of any shape, or [..., n] with values [..., m] row by row.
    int64, or int32 with out_int32.

    >>> import minipaddle as paddle
    >>> s, v = paddle.to_tensor([1, 3, 5]), paddle.to_tensor([3, 6])
    >>> paddle.searchsorted(s, v).tolist(), paddle.searchsorted(s, v, right=True).tolist()
    ([1, 3], [2, 3])
    """
    side, dtype = "right" if right else "left", "int32" if out_int32 else "int64"
    s, v = sorted_sequence, values
    if s.dtype != v.dtype:
        wide = xp.promote_types(s.dtype, v.dtype)
        s, v = s.astype(wide), v.astype(wide)
    if s.ndim == 1:
        return xp.searchsorted(s, v, side=side).astype(dtype)
    if s.shape[:-1] != v.shape[:-1]:
        raise ValueError(f"sorted_sequence {list(s.shape)} and values {list(v.shape)} must agree "
                         "in all dimensions but the last")
    rows = [xp.searchsorted(a, b, side=side) for a, b in
            zip(s.reshape(-1, s.shape[-1]), v.reshape(-1, v.shape[-1]))]
    out = xp.stack(rows) if rows else xp.zeros(v.shape, dtype)
    return out.reshape(v.shape).astype(dtype)


@public()
def bucketize(x: Tensor, sorted_sequence: Tensor, out_int32: bool = False, right: bool = False,
              name: str | None = None) -> Tensor:
    """For each entry of x the number of the bucket it falls in between ascending 1-d boundaries.

    >>> import minipaddle as paddle
    >>> paddle.bucketize(paddle.to_tensor([[2, 9]]), paddle.to_tensor([1, 3, 5])).tolist()
    [[1, 3]]
    """
    if sorted_sequence.ndim != 1:
        raise ValueError(f"bucketize: sorted_sequence must be 1-d, got {sorted_sequence.shape}")
    return searchsorted(sorted_sequence, x, out_int32, right)


def _span(xp, input, min, max):
    """The range of a histogram: what is given, else that of the data, never empty."""
    if min > max:
        raise ValueError(f"max must not be less than min, got min={min} and max={max}")
    if min == max == 0 and input.size:
        min, max = float(input.min()), float(input.max())
    if not (math.isfinite(min) and math.isfinite(max)):
        raise ValueError(f"the range of the histogram must be finite, got [{min}, {max}]")
    return (min, max) if min < max else (min - 1, max + 1)


@op(half="native", amp="keep", casts=(), method=("histogram",))
def histogram(xp, input: Array, bins: int = 100, min: int | float = 0, max: int | float = 0,
              weight: Array | None = None, density: bool = False) -> Array:
    """How many entries fall in each of `bins` equal intervals of [min, max]; int64.

    min = max = 0 takes the range of the data; entries outside are not counted. With weight or
    density the result is float32.

    >>> import minipaddle as paddle
    >>> paddle.histogram(paddle.to_tensor([1., 2., 1.]), bins=4, min=0, max=3).tolist()
    [0, 2, 1, 0]
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    span = _span(xp, input, min, max)
    weight = None if weight is None else weight.reshape(-1)
    counts = xp.histogram(input.reshape(-1), bins=int(bins), range=span, weights=weight,
                          density=density or None)[0]
    return counts.astype("float32" if density or weight is not None else "int64")


@op(half="native", amp="keep")
def histogram_bin_edges(xp, input: Array, bins: int = 100, min: float = 0.0,
                        max: float = 0.0) -> Array:
    """The bins + 1 edges of the intervals that `histogram` counts in; float32.

    >>> import minipaddle as paddle
    >>> paddle.histogram_bin_edges(paddle.to_tensor([1., 3.]), bins=2).tolist()
    [1.0, 2.0, 3.0]
    """
    return xp.linspace(*_span(xp, input, min, max), bins + 1).astype("float32")


@public()
def histogramdd(x: Tensor, bins=10, ranges=None, density: bool = False, weights=None,
                name: str | None = None):
    """(counts, list of edges) of the rows of x [n, d] in a grid of d dimensions.

    bins: a number, a number for each dimension, or a list of edge tensors; ranges: lowest and
    highest of each dimension, flat.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[0., 0.], [1., 1.]])
    >>> counts, edges = paddle.histogramdd(x, bins=[2, 2])
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    xp, d = xp_of(x._data), x.shape[-1]
    data = x._data.reshape(-1, d)
    if isinstance(bins, (list, tuple)):
        bins = [b._data if isinstance(b, Tensor) else b for b in bins]
    if ranges is not None:
        ranges = [(ranges[2 * i], ranges[2 * i + 1]) for i in range(d)]
    elif not (isinstance(bins, list) and any(is_array(b) for b in bins)):
        ranges = [_span(xp, data[:, i], 0, 0) for i in range(d)]
    weights = None if weights is None else weights._data.reshape(-1)
    counts, edges = xp.histogramdd(data, bins=bins, range=ranges, weights=weights,
                                   density=bool(density))
    return (Tensor(counts.astype(x._data.dtype)),
            [Tensor(xp.asarray(e).astype(x._data.dtype)) for e in edges])


@op(half="native", amp="keep", casts=())
def bincount(xp, x: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number from 0 to the largest occurs in a 1-d tensor, or its weights' sum.

    >>> import minipaddle as paddle
    >>> paddle.bincount(paddle.to_tensor([1, 2, 1])).tolist()
    [0, 2, 1]
    """
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise ValueError(f"x must be a 1-d integer tensor, got {list(x.shape)} {x.dtype}")
    minlength = shape_of(minlength)[0]
    if minlength < 0:
        raise ValueError(f"minlength must not be negative, got {minlength}")
    if weights is None:
        return xp.bincount(x, minlength=minlength).astype("int64")
    return xp.bincount(x, weights, minlength=minlength).astype(weights.dtype)


@op(half="native", amp="keep", promote="promote")
def isin(xp, x: Array, test_x: Array, assume_unique: bool = False, invert: bool = False) -> Array:
    """Whether each entry of x is one of those of test_x; invert: whether it is none.

    >>> import minipaddle as paddle
    >>> paddle.isin(paddle.to_tensor([1, 2]), paddle.to_tensor([2, 3])).tolist()
    [False, True]
    """
    return xp.isin(x, test_x, assume_unique=assume_unique, invert=invert)


