"""New tensors: constants, ranges, like others, triangles and diagonals; what a tensor is.

Imports samples and core. A shape is an int, a list or tuple of ints and 0-d Tensors, or a Tensor.
"""
from __future__ import annotations

import math

import numpy as np

from .core import (Array, Arrays, Tensor, asnumpy, convert_dtype,  # noqa: F401
                   default_complex,
                   default_float, np_dtype, op, ops, public, to_tensor)

try:
    from .samples import unary  # DEV
except ImportError:  # DEV
    unary = None  # DEV


def shape_of(shape) -> tuple:
    """A shape argument as a tuple of ints; TypeError or ValueError for what is none."""
    if isinstance(shape, Tensor):
        shape = asnumpy(shape._data).tolist()
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    try:
        sizes = tuple([n.__index__() for n in shape])
    except (TypeError, AttributeError):
        raise TypeError("shape must be an int, a list or tuple of ints, or an integer Tensor, "
                        f"got {shape!r}") from None
    if sizes and min(sizes) < 0:
        raise ValueError(f"shape must have no negative sizes, got {list(sizes)}")
    return sizes


def _number(value):
    """A number given as such or as a Tensor of one element, as a Python number."""
    if isinstance(value, Tensor):
        return value.item()
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


# ---- constants
@op(amp="keep", half="native")
def zeros(xp, shape: list[int], dtype: str | None = None) -> Array:
    """A tensor of zeros; dtype: the default float dtype unless given.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2], dtype='int32').tolist()
    [0, 0]
    """
    return xp.zeros(shape_of(shape), np_dtype(dtype))


@op(amp="keep", half="native")
def ones(xp, shape: list[int], dtype: str | None = None) -> Array:
    """A tensor of ones; dtype: the default float dtype unless given.

    >>> import minipaddle as paddle
    >>> paddle.ones([2]).tolist()
    [1.0, 1.0]
    """
    return xp.ones(shape_of(shape), np_dtype(dtype))


@op(amp="keep", half="native")
def empty(xp, shape: list[int], dtype: str | None = None) -> Array:
    """A tensor whose values are whatever stood in memory.

    >>> import minipaddle as paddle
    >>> paddle.empty([2, 3]).shape
    [2, 3]
    """
    return xp.empty(shape_of(shape), np_dtype(dtype))


@op(amp="keep", half="native")
def full(xp, shape: list[int], fill_value: float, dtype: str | None = None) -> Array:
    """A tensor filled with one value (a number or a Tensor of one element).

    dtype: the default float dtype unless given; bool for a bool, complex for a complex value.

    >>> import minipaddle as paddle
    >>> paddle.full([2], 7).tolist()
    [7.0, 7.0]
    """
    value = _number(fill_value)
    if dtype is None:
        kind = np.asarray(value).dtype.kind
        dtype = bool if kind == "b" else default_complex() if kind == "c" else default_float()
    return xp.full(shape_of(shape), value, np_dtype(dtype))


def _like(name, words, example, result):
    def forward(xp, x: Array, dtype: str | None = None) -> Array:
        return getattr(xp, name)(x.shape, np_dtype(dtype, x.dtype))
    forward.__doc__ = f"""A tensor of x's shape {words}; dtype: x's unless given.

    >>> import minipaddle as paddle
    >>> paddle.{name}_like(paddle.to_tensor([3, 4])){example}
    {result}
    """
    return op(name + "_like", amp="keep", half="native", method=False)(forward)


zeros_like = _like("zeros", "filled with zeros", ".tolist()", "[0, 0]")
ones_like = _like("ones", "filled with ones", ".tolist()", "[1, 1]")
empty_like = _like("empty", "with whatever stood in memory", ".shape", "[2]")


@op(amp="keep", half="native", method=False)
def full_like(xp, x: Array, fill_value: float, dtype: str | None = None) -> Array:
    """A tensor of x's shape filled with one value; dtype: x's unless given.

    >>> import minipaddle as paddle
    >>> paddle.full_like(paddle.to_tensor([3., 4.]), 2).tolist()
    [2.0, 2.0]
    """
    return xp.full(x.shape, _number(fill_value), np_dtype(dtype, x.dtype))


# ---- ranges
@op(amp="keep", half="native")
def arange(xp, start: float = 0, end: float | None = None, step: float = 1,
           dtype: str | None = None) -> Array:
    """Numbers from start up to, not including, end in steps; `arange(end)` starts at 0.

    dtype: int64 if all are integers, else the default float dtype. ValueError for step 0.

    >>> import minipaddle as paddle
    >>> paddle.arange(0, 6, 2).tolist()
    [0, 2, 4]
    """
    start, end, step, given = _number(start), _number(end), _number(step), (start, end, step)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise ValueError("step must not be 0")
    if dtype is None:
        tensors = [t._data.dtype for t in given if isinstance(t, Tensor)]
        floats = any(isinstance(v, float) for v in (start, end, step))
        dtype = tensors[0] if tensors else default_float() if floats else np.int64
    dtype = np_dtype(dtype)
    count = max(0, math.ceil((end - start) / step))
    if dtype.kind != "f":
        return xp.arange(start, end, step, dtype)
    # Counted and scaled in float64: a sum of float32 steps would drift.
    return (xp.arange(count) * float(step) + float(start)).astype(dtype)


# ---- copies
@op(half="native", amp="keep", samples=unary)
def clone(xp, x: Array) -> Array:
    """A copy with memory of its own, in the graph: gradients flow through it to x.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1., 2.]); y = x.clone(); y[0] = 5.
    >>> x.tolist()
    [1.0, 2.0]
    """
    return x.copy()


@clone.vjp
def _(F, g):
    return g


@public(method=False)
def assign(x, output=None, name=None):
    """A copy of a Tensor, NumPy array, number or list; with `output` written into that Tensor.

    A float64 NumPy array or list stays what `to_tensor` makes of it.

    >>> import minipaddle as paddle
    >>> paddle.assign([1.5, 2.5]).tolist()
    [1.5, 2.5]
    """
    result = clone(x) if isinstance(x, Tensor) else to_tensor(x)
    if output is None:
        return result
    output.set_value(result)
    return output
