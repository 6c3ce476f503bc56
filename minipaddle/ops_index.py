"""Indexing: `x[...]` and `x[...] = v`, gather and scatter, sorting and searching.

Imports ops_shape, samples and core. An index is normalised once: tensors, arrays and lists in it
become a list of index tensors, and their places in the index hold an `At(k)`.
"""
from __future__ import annotations

import math

import numpy as np

from .core import Array, Arrays, Tensor, inplace, is_array, op, ops, public, to_tensor
from .ops_shape import axis_of, expand


# ---- what an index is
class At(int):
    """Place number k of an index: the k-th index tensor stands there."""

    def __repr__(self) -> str:
        return f"At({int(self)})"


def normalise(item):
    """(index, tensors): a tuple of ints, slices, None, Ellipsis and `At`, and the index tensors."""
    index, tensors = [], []
    for part in item if isinstance(item, tuple) else (item,):
        if isinstance(part, (bool, np.bool_)) or (isinstance(part, Tensor) and not part.ndim
                                                  and part.dtype.name == "bool"):
            part = to_tensor(part)
        if isinstance(part, (list, range)) or is_array(part):
            part = to_tensor(np.asarray(part, "int64") if isinstance(part, (list, range))
                             and not len(part) else part)
        if isinstance(part, Tensor):
            if not part.ndim and part.dtype.is_integer:
                index.append(part.item() if is_array(part._data) else part)
                continue
            if part._data.dtype.kind not in "biu":
                raise IndexError(f"an index must be of integers or bools, got {part.dtype.name}")
            index.append(At(len(tensors)))
            tensors.append(part)
        elif isinstance(part, slice):
            index.append(slice(*[v if v is None else _plain_int(v)
                                 for v in (part.start, part.stop, part.step)]))
        elif part is None or part is Ellipsis:
            index.append(part)
        else:
            index.append(_plain_int(part))
    return tuple(index), tensors


def _plain_int(value):
    if isinstance(value, Tensor) and not is_array(value._data):
        return value                                # symbolic: the tracer reads it
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise IndexError(f"an index must be an int, slice, None, ..., list, array or tensor of ints "
                         f"or bools, got {type(value).__name__}") from None


def _full(index, tensors) -> tuple:
    """The index as NumPy takes it, with the arrays in their places."""
    return tuple([tensors[p] if isinstance(p, At) else p for p in index])


# ---- basic indexing: views
@op(namespace=None, view=True, half="native", amp="keep", legacy=("slice",))
def basic_index(xp, x: Array, index: tuple) -> Array:
    """x[index] for ints, slices, None and Ellipsis: a view of x."""
    return x[index]


@basic_index.vjp
def _(F, g, x_shape, index):
    return F.basic_place(g, x_shape, index)


@op(namespace=None, half="native", amp="keep")
def basic_place(xp, x: Array, shape: tuple, index: tuple) -> Array:
    """Zeros of a shape with x at a basic index: what `basic_index` is transposed to."""
    out = xp.zeros(shape, x.dtype)
    out[index] = x
    return out


@basic_place.vjp
def _(F, g, index):
    return F.basic_index(g, index)


# ---- indices with tensors in them: copies
@op(namespace=None, half="native", casts=("x",), amp="keep")
def tensor_index(xp, x: Array, tensors: Arrays, index: tuple) -> Array:
    """x[index] where index tensors stand at the places `At(k)`."""
    return x[_full(index, tensors)]


@tensor_index.vjp
def _(F, g, x_shape, tensors, index):
    return F.tensor_place(g, tensors, x_shape, index), [None] * len(tensors)


@op(namespace=None, half="native", casts=("x",), amp="keep")
def tensor_place(xp, x: Array, tensors: Arrays, shape: tuple, index: tuple) -> Array:
    """Zeros of a shape with x added at an index: entries named twice add up."""
    out = xp.zeros(shape, x.dtype)
    add_at(xp, out, index, tensors, x)
    return out


@tensor_place.vjp
def _(F, g, tensors, index):
    return F.tensor_index(g, tensors, index), [None] * len(tensors)


def add_at(xp, out, index, tensors, value) -> None:
    """out[index] += value, where entries named several times add up."""
    full = _full(index, tensors)
    if all(t.dtype.kind == "b" for t in tensors):
        out[full] += value                          # a mask names nothing twice
        return
    if xp is not np:
        xp.add.at(out, full, value)
        return
    # ufunc.at is several times faster on flat arrays with flat indices than on rows.
    if len(full) == 1 and out.flags.c_contiguous:
        rows, width = tensors[0], math.prod(out.shape[1:])
        rows = np.where(rows < 0, rows + out.shape[0], rows).reshape(-1, 1)
        flat = (rows * width + np.arange(width)).ravel()
    else:
        flat = np.arange(out.size).reshape(out.shape)[full].ravel()
    value = np.broadcast_to(value, out[full].shape if len(full) > 1 else
                            tensors[0].shape + out.shape[1:])
    np.add.at(out.reshape(-1), flat, value.ravel())             # xp: numpy-only


@op(namespace=None, half="native", promote="keep", casts=("x", "value"), legacy=("set_value",))
def setitem(xp, x: Array, value: Array, tensors: Arrays, index: tuple,
            inplace: bool = False) -> Array:
    """x with value at an index; inplace: written into x itself."""
    out = x if inplace else x.copy()
    full = _full(index, tensors)
    if isinstance(value, xp.ndarray):
        value = value.astype(x.dtype)
        room = out.ndim + len(full)
        while value.ndim > room or (value.ndim and value.shape[0] == 1 and value.ndim > out.ndim):
            value = value[0]
    out[full] = value
    return out


@setitem.vjp
def _(F, g, value_shape, tensors, index, need):
    gv = None
    if need[1]:
        gv = F.tensor_index(g, tensors, index) if tensors else F.basic_index(g, index)
        gv = F.sum_to(gv, value_shape)
    return F.setitem(g, 0.0, tensors, index), gv, [None] * len(tensors)


def _getitem(x: Tensor, item) -> Tensor:
    kind = type(item)
    if kind is int or kind is slice and type(item.start) is not Tensor:
        return basic_index(x, (item,)) if kind is int else _sliced(x, item)
    index, tensors = normalise(item)
    return tensor_index(x, tensors, index) if tensors else basic_index(x, index)


def _sliced(x, item):
    return basic_index(x, normalise(item)[0])


def _setitem(x: Tensor, item, value) -> None:
    index, tensors = normalise(item)
    if not isinstance(value, (Tensor, bool, int, float, complex, np.generic)):
        value = to_tensor(value, place=x.place)
    inplace(_write, x, value, tensors, index, inplace=True)


def _write(x, value, tensors, index, inplace):
    return setitem(x, value, tensors, index, inplace)


Tensor.__getitem__ = _getitem
Tensor.__setitem__ = _setitem


# ---- gather and scatter
def _whole(axis: int, ndim: int):
    return (slice(None),) * axis + (At(0),)


@public()
def gather(x: Tensor, index: Tensor, axis: int | None = None, name: str | None = None) -> Tensor:
    """The slices of x along axis that a 1-d (or 0-d, or [n, 1]) integer tensor names.

    >>> import minipaddle as paddle
    >>> paddle.gather(paddle.to_tensor([10, 20, 30]), paddle.to_tensor([2, 0])).tolist()
    [30, 10]
    """
    axis = axis_of(0 if axis is None else axis, x.ndim)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index.reshape([-1])
    return tensor_index(x, [index], _whole(axis, x.ndim))


@public()
def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
    """The slices of x along axis that a 1-d integer tensor names.

    >>> import minipaddle as paddle
    >>> paddle.index_select(paddle.eye(3), paddle.to_tensor([1]), axis=1).tolist()
    [[0.0], [1.0], [0.0]]
    """
    return tensor_index(x, [index], _whole(axis_of(axis, x.ndim), x.ndim))


def _sort_sample(draw):
    shape = draw.shape(1, 3, 1)
    return (draw.distinct(shape),), {"axis": draw.axis(len(shape)), "descending": draw.bool()}


@op("sort", half="native", samples=_sort_sample)
def _sort(xp, x: Array, axis: int = -1, descending: bool = False) -> Array:
    """x sorted along an axis.

    >>> import minipaddle as paddle
    >>> paddle.sort(paddle.to_tensor([2, 3, 1]), descending=True).tolist()
    [3, 2, 1]
    """
    out = xp.sort(x, axis=axis_of(axis, x.ndim)) if x.ndim else x.copy()
    return xp.flip(out, axis_of(axis, x.ndim)) if descending and x.ndim else out


@_sort.vjp
def _(F, g, x, axis, descending):
    return F.spread_along(g, F.argsort(x, axis, descending), axis)


@op(namespace=None, half="native", casts=("x",))
def spread_along(xp, x: Array, order: Array, axis: int) -> Array:
    """x put back to the places that `order` took it from, along an axis."""
    if not x.ndim:
        return x.copy()
    out = xp.empty_like(x)
    xp.put_along_axis(out, order, x, axis_of(axis, x.ndim))
    return out


@spread_along.vjp
def _(F, g, order, axis):
    return F.along(g, order, axis), None


@op(namespace=None, half="native", casts=("x",))
def along(xp, x: Array, order: Array, axis: int) -> Array:
    """x in the order `order` along an axis."""
    return xp.take_along_axis(x, order, axis_of(axis, x.ndim)) if x.ndim else x.copy()


@along.vjp
def _(F, g, order, axis):
    return F.spread_along(g, order, axis), None


@op(half="native")
def argsort(xp, x: Array, axis: int = -1, descending: bool = False) -> Array:
    """The int64 indices that sort x along an axis; equal entries keep their order.

    >>> import minipaddle as paddle
    >>> paddle.argsort(paddle.to_tensor([2, 3, 1])).tolist()
    [2, 0, 1]
    """
    if not x.ndim:
        return xp.zeros((), "int64")
    axis = axis_of(axis, x.ndim)
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable").astype("int64")
    order = xp.argsort(xp.flip(x, axis), axis=axis, kind="stable")
    return xp.flip(x.shape[axis] - 1 - order, axis).astype("int64")
