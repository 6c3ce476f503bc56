"""New tensors: constants, ranges, like others, triangles and diagonals; what a tensor is.

Imports samples and core. A shape is an int, a list or tuple of ints and 0-d Tensors, or a Tensor.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from .core import (Array, Tensor, asnumpy, default_complex, default_float, inplace, namespaces,
                   no_grad, np_dtype, op, ops, public, to_tensor)
from .samples import unary


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
namespaces["paddle"].update(pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None)


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


def constant_of(function):
    """Publish an op whose result does not depend on its inputs' values: it gets no history."""
    @functools.wraps(function)
    def public_form(*args, **kwargs):
        if all(getattr(x, "stop_gradient", True) for x in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        with no_grad():
            return function(*args, **kwargs)
    public_form.op = function.op
    return public(method=False)(public_form)


def _like(name, words, example, result):
    def forward(xp, x: Array, dtype: str | None = None) -> Array:
        return getattr(xp, name)(x.shape, np_dtype(dtype, x.dtype))
    forward.__doc__ = f"""A tensor of x's shape {words}; dtype: x's unless given.

    >>> import minipaddle as paddle
    >>> paddle.{name}_like(paddle.to_tensor([3, 4])){example}
    {result}
    """
    return constant_of(op(name + "_like", namespace=None, amp="keep", half="native")(forward))


zeros_like = _like("zeros", "filled with zeros", ".tolist()", "[0, 0]")
ones_like = _like("ones", "filled with ones", ".tolist()", "[1, 1]")
empty_like = _like("empty", "with whatever stood in memory", ".shape", "[2]")


@constant_of
@op(namespace=None, amp="keep", half="native")
def full_like(xp, x: Array, fill_value: float, dtype: str | None = None) -> Array:
    """A tensor of x's shape filled with one value; dtype: x's unless given.

    >>> import minipaddle as paddle
    >>> paddle.full_like(paddle.to_tensor([3., 4.]), 2).tolist()
    [2.0, 2.0]
    """
    return xp.full(x.shape, _number(fill_value), np_dtype(dtype, x.dtype))


def fill_(x, value, name=None):
    """Overwrite every element of x with one number; what x was computed from is forgotten."""
    return inplace(full_like, x, value)


def zero_(x, name=None):
    """Overwrite every element of x with 0; what x was computed from is forgotten."""
    return inplace(full_like, x, 0)


Tensor.fill_, Tensor.zero_ = fill_, zero_


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


@op(amp="keep", half="native")
def linspace(xp, start: float, stop: float, num: int, dtype: str | None = None) -> Array:
    """num numbers evenly spaced from start to stop, both included.

    dtype: the default float dtype unless given; integers are rounded towards 0.

    >>> import minipaddle as paddle
    >>> paddle.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    values = xp.linspace(float(_number(start)), float(_number(stop)), int(_number(num)))
    return values.astype(np_dtype(dtype))


@op(amp="keep", half="native")
def logspace(xp, start: float, stop: float, num: int, base: float = 10.0,
             dtype: str | None = None) -> Array:
    """base to the power of num numbers evenly spaced from start to stop, both included.

    >>> import minipaddle as paddle
    >>> paddle.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    powers = xp.linspace(float(_number(start)), float(_number(stop)), int(_number(num)))
    return (float(_number(base)) ** powers).astype(np_dtype(dtype))


# ---- matrices
@op(amp="keep", half="native")
def eye(xp, num_rows: int, num_columns: int | None = None, dtype: str | None = None) -> Array:
    """A matrix with ones on its diagonal, zeros elsewhere; square unless num_columns is given.

    >>> import minipaddle as paddle
    >>> paddle.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    columns = num_rows if num_columns is None else num_columns
    return xp.eye(int(_number(num_rows)), int(_number(columns)), dtype=np_dtype(dtype))


def _matrices(draw):
    shape = draw.shape(min_dims=2)
    return (draw.array(shape), draw.integer(-2, 2)), {}


def _triangle(name, word):
    def forward(xp, x: Array, diagonal: int = 0) -> Array:
        if x.ndim < 2:
            raise ValueError(f"x must have at least 2 dimensions, got shape {list(x.shape)}")
        return getattr(xp, name)(x, diagonal)
    forward.__doc__ = f"""The {word} triangle of the matrices in the last two dimensions, else 0.

    diagonal: the last diagonal kept; 0 is the main one, positive ones lie above it.

    >>> import minipaddle as paddle
    >>> paddle.{name}(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
    {"[[1, 0], [3, 4]]" if word == "lower" else "[[1, 2], [0, 4]]"}
    """
    function = op(name, amp="keep", half="native", inplace=True, samples=_matrices)(forward)

    @function.vjp
    def _(F, g, diagonal):
        return getattr(F, name)(g, diagonal)
    return function


tril, triu = _triangle("tril", "lower"), _triangle("triu", "upper")


@op(amp="keep", half="native")
def tril_indices(xp, row: int, col: int, offset: int = 0, dtype: str = "int64") -> Array:
    """Rows and columns, [2, n], of the entries of a lower triangle.

    >>> import minipaddle as paddle
    >>> paddle.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    return xp.stack(xp.nonzero(xp.tri(row, col, offset, bool))).astype(np_dtype(dtype))


@op(amp="keep", half="native")
def triu_indices(xp, row: int, col: int | None = None, offset: int = 0,
                 dtype: str = "int64") -> Array:
    """Rows and columns, [2, n], of the entries of an upper triangle; square without col.

    >>> import minipaddle as paddle
    >>> paddle.triu_indices(2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    below = xp.tri(row, row if col is None else col, offset - 1, bool)
    return xp.stack(xp.nonzero(xp.logical_not(below))).astype(np_dtype(dtype))


def _diagonal_shape(rows, columns, offset):
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


@op(namespace=None, amp="keep", half="native", samples=_matrices)
def take_diagonal(xp, x: Array, offset: int) -> Array:
    """A diagonal of the matrices in the last two dimensions."""
    return xp.diagonal(x, offset, -2, -1).copy()


@take_diagonal.vjp
def _(F, g, x_shape, offset):
    return F.put_diagonal(g, x_shape[-2], x_shape[-1], offset)


@op(namespace=None, amp="keep", half="native",
    samples=lambda draw: ((draw.array(draw.shape(max_dims=2) + (2,)), 3, 4, 1), {}))
def put_diagonal(xp, x: Array, rows: int, columns: int, offset: int) -> Array:
    """Matrices of zeros with the last dimension of x on a diagonal."""
    out = xp.zeros(x.shape[:-1] + (rows, columns), x.dtype)
    i = xp.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


@put_diagonal.vjp
def _(F, g, x_shape, offset):
    return F.take_diagonal(g, offset)[..., :x_shape[-1]]


@public()
def diag(x, offset=0, padding_value=0, name=None):
    """A vector as the diagonal of a square matrix, or the diagonal of a matrix as a vector.

    padding_value fills the rest of the matrix.

    >>> import minipaddle as paddle
    >>> paddle.diag(paddle.to_tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    if x.ndim == 2:
        return take_diagonal(x, offset)
    if x.ndim != 1:
        raise ValueError(f"diag: x must have 1 or 2 dimensions, got shape {x.shape}")
    n = x.shape[0] + abs(offset)
    matrix = put_diagonal(x, n, n, offset)
    if not padding_value:
        return matrix
    marks = put_diagonal(ones([x.shape[0]], "bool"), n, n, offset)
    return ops.where(marks, matrix, full_like(matrix, padding_value))


@public()
def diagflat(x, offset=0, name=None):
    """The elements of x, flattened, as the diagonal of a square matrix.

    >>> import minipaddle as paddle
    >>> paddle.diagflat(paddle.to_tensor([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ops.reshape(x, [-1]), offset)


@public()
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices, in dimensions dim1 and dim2 of the result, with the last dimension as diagonals.

    >>> import minipaddle as paddle
    >>> paddle.diag_embed(paddle.to_tensor([[1, 2]])).tolist()
    [[[1, 0], [0, 2]]]
    """
    n, ndim = input.shape[-1] + abs(offset), input.ndim + 1
    dim1, dim2 = dim1 % ndim, dim2 % ndim
    if dim1 == dim2:
        raise ValueError(f"diag_embed: dim1 and dim2 must differ, both are {dim1}")
    out = put_diagonal(input, n, n, offset)
    order = list(range(ndim - 2))
    for place, source in sorted(((dim1, ndim - 2), (dim2, ndim - 1))):
        order.insert(place, source)
    return ops.transpose(out, order)


@public()
def vander(x, n=None, increasing=False, name=None):
    """The matrix of powers of a vector's elements: columns x^(n-1), ..., x, 1, or reversed.

    >>> import minipaddle as paddle
    >>> paddle.vander(paddle.to_tensor([1.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    """
    n = x.shape[0] if n is None else n
    powers = range(n) if increasing else range(n - 1, -1, -1)
    if n == 0:
        return zeros([x.shape[0], 0], x.dtype)
    return ops.stack([ops.pow(x, k) for k in powers], axis=1)


@public(method=False)
def meshgrid(*args, name=None, **kwargs):
    """Coordinate grids of k vectors (given one by one or in a list): k tensors, first axis first.

    >>> import minipaddle as paddle
    >>> a, b = paddle.meshgrid(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4, 5]))
    >>> a.tolist(), b.tolist()
    ([[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]])
    """
    vectors = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    sizes = []
    for v in vectors:
        if v.ndim > 1:
            raise ValueError(f"meshgrid: each input must have 0 or 1 dimension, got {v.shape}")
        sizes.append(v.size)
    grids = []
    for i, v in enumerate(vectors):
        v = ops.reshape(v, [-1 if j == i else 1 for j in range(len(sizes))])
        grids.append(clone(ops.expand(v, sizes)))
    return grids


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

    A number becomes shape [1].

    >>> import minipaddle as paddle
    >>> paddle.assign([1.5, 2.5]).tolist()
    [1.5, 2.5]
    """
    if isinstance(x, (bool, int, float, complex)):
        x = [x]                                     # as Paddle: a number has shape [1]
    result = clone(x) if isinstance(x, Tensor) else to_tensor(x)
    if output is None:
        return result
    output.set_value(result)
    return output


@public()
def increment(x, value=1.0, name=None):
    """Add a number to x in place; returns x.

    >>> import minipaddle as paddle
    >>> paddle.increment(paddle.to_tensor([1.0])).tolist()
    [2.0]
    """
    return x.add_(int(value) if x.dtype.is_integer else value)


# ---- what a tensor is
@op("shape", amp="keep", half="native", method=False)
def _shape(xp, input: Array) -> Array:
    """The shape as a 1-d int64 Tensor.

    >>> import minipaddle as paddle
    >>> paddle.shape(paddle.ones([2, 3])).tolist()
    [2, 3]
    """
    return xp.asarray(input.shape, dtype=np.int64)


@op(amp="keep", half="native")
def numel(xp, x: Array) -> Array:
    """The number of elements as a 0-d int64 Tensor.

    >>> import minipaddle as paddle
    >>> int(paddle.numel(paddle.ones([2, 3])))
    6
    """
    return xp.asarray(x.size, dtype=np.int64)


@op(amp="keep", half="native")
def rank(xp, input: Array) -> Array:
    """The number of dimensions as a 0-d int32 Tensor.

    >>> import minipaddle as paddle
    >>> int(paddle.rank(paddle.ones([2, 3])))
    2
    """
    return xp.asarray(input.ndim, dtype=np.int32)


@op(amp="keep", half="native")
def is_empty(xp, x: Array) -> Array:
    """Whether x has no elements, as a 0-d bool Tensor.

    >>> import minipaddle as paddle
    >>> bool(paddle.is_empty(paddle.ones([0, 3])))
    True
    """
    return xp.asarray(x.size == 0)


@public()
def is_tensor(x) -> bool:
    """Whether x is a Tensor.

    >>> import minipaddle as paddle
    >>> paddle.is_tensor(3)
    False
    """
    return isinstance(x, Tensor)


def _kind(name, words, attribute, example):
    def test(x) -> bool:
        return getattr(x.dtype, attribute)
    test.__name__ = test.__qualname__ = name
    test.__doc__ = f"""Whether x holds {words} numbers.

    >>> import minipaddle as paddle
    >>> paddle.{name}(paddle.to_tensor([1.0]))
    {example}
    """
    return public()(test)


is_floating_point = _kind("is_floating_point", "floating", "is_floating", "True")
is_complex = _kind("is_complex", "complex", "is_complex", "False")
is_integer = _kind("is_integer", "integer", "is_integer", "False")


def ndimension(x) -> int:
    """The number of dimensions."""
    return x.ndim


def element_size(x) -> int:
    """The bytes of one element."""
    return x.dtype.itemsize


def is_same_shape(x, y) -> bool:
    """Whether x and y have one shape."""
    return x.shape == y.shape


Tensor.dim = Tensor.ndimension = ndimension
Tensor.element_size, Tensor.is_same_shape = element_size, is_same_shape


@public(method=True)
def tolist(x):
    """The values as nested Python lists.

    >>> import minipaddle as paddle
    >>> paddle.tolist(paddle.to_tensor([[1, 2]]))
    [[1, 2]]
    """
    return asnumpy(x._data).tolist()
