"""Reductions and scans: sums, means, extrema, norms, statistics, cumulative operations.

Imports ops_math, samples and core. `axis` is None, an int, or several as list, tuple or Tensor.
"""
from __future__ import annotations

import math

import numpy as np

from .core import F32, F64, Array, Arrays, Tensor, asnumpy, np_dtype, op, ops, public
from .samples import reduction


_WIDER = {np.dtype("bool"): np.dtype("int64"), np.dtype("int32"): np.dtype("int64")}


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


@op(namespace=None, half="native", amp="keep", view=True,
    samples=lambda draw: ((draw.array((3, 1, 2)), (3, 4, 2)) if draw.bool() else
                          (draw.array(()), (2, 3)), {}))
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
    if x.dtype is F32 and x.size > 512 and axis is not None and dtype is None and xp is np:
        return _total_f32(x, axis, keepdim)         # xp: numpy-only
    return xp.add.reduce(x, axis, dtype, None, keepdim)


def _total_f32(x, axis, keepdim):
    axes, ndim = (axis,) if type(axis) is int else axis, x.ndim
    rows = math.prod([n for n, a in zip(x.shape, range(ndim)) if a in axes or a - ndim in axes])
    last = ndim
    while last - 1 in axes or last - 1 - ndim in axes:          # what NumPy adds in pairs
        last -= 1
        rows //= x.shape[last] or 1
    if rows <= 256 or any([not -ndim <= a < ndim for a in axes]):
        return np.add.reduce(x, axis, None, None, keepdim)
    axes = sorted([a % ndim for a in axes])
    if last < ndim:
        x = np.add.reduce(x, tuple(range(last, ndim)), None, None, True)
    for a in reversed([a for a in axes if a < last]):
        x = _total_axis(x, a)
    return x if keepdim else x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _total_axis(x, a):
    n = x.shape[a]
    if n > 256:
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

    Bools and int32 sum to int64, other dtypes stay; dtype asks for another. Of nothing it is 0.

    >>> import minipaddle as paddle
    >>> paddle.sum(paddle.to_tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
    [3.0, 7.0]
    """
    if axis is not None and type(axis) is not int:
        axis = _axes(axis)
    kind = x.dtype
    if dtype is None and (kind is F32 or kind is F64):
        return _total(xp, x, axis, keepdim)
    return _total(xp, x, axis, keepdim, _WIDER.get(kind, kind) if dtype is None else
                  np_dtype(dtype))


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
    if axis is not None and type(axis) is not int:
        axis = _axes(axis)
    total = _total(xp, x, axis, keepdim)
    n = x.size if axis is None else _count(x.shape, axis)
    if x.dtype.kind in "fc":
        return total * total.dtype.type(1.0 / n) if n else total * total.dtype.type("nan")
    return xp.trunc(total / n).astype(x.dtype)


@mean.vjp
def _(F, g, x_shape, axis, keepdim):
    g = _spread(F, g * (1.0 / max(_count(x_shape, axis), 1)), x_shape, axis, keepdim)
    return F.spread_to(g, x_shape)


# ---- extrema
def _extreme(xp, x, larger, axis, keepdim):
    if xp is np:
        function = np.maximum if larger else np.minimum     # xp: numpy-only
        return function.reduce(x, axis, None, None, keepdim)
    return (x.max if larger else x.min)(axis=axis, keepdims=keepdim)


def _extremum(name, larger, word):
    def forward(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
        return _extreme(xp, x, larger, _axes(axis), keepdim)
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
        return found.astype(np_dtype(dtype), copy=False)
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
    return xp.asarray(x.all(axis=_axes(axis), keepdims=keepdim))


@op("any", half="native")
def _any(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
    """Whether any element is true, or any along axes.

    >>> import minipaddle as paddle
    >>> paddle.any(paddle.to_tensor([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return xp.asarray(x.any(axis=_axes(axis), keepdims=keepdim))


# ---- products
@op(samples=reduction, amp="block", legacy=("reduce_prod",))
def prod(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False,
         dtype: str | None = None) -> Array:
    """The product over all elements, or over axes; of nothing it is 1.

    The gradient is exact at zeros too: that of one zero is the product of the others.

    >>> import minipaddle as paddle
    >>> paddle.prod(paddle.to_tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
    [2.0, 12.0]
    """
    kind = np_dtype(dtype, x.dtype)
    if kind.kind == "b":
        kind = np.dtype("int64")
    return xp.multiply.reduce(x, _axes(axis), kind, None, keepdim)


@prod.kernel_vjp
def _(xp, g, x, out, axis, keepdim):
    rows, back = _rows(x, axis)
    g = g.reshape(rows.shape[:-1])[..., None]
    if xp is np and rows.all():                     # xp: numpy-only
        return back(g * out.reshape(rows.shape[:-1])[..., None] / rows)
    # The product of all before each element times that of all after it.
    ones = xp.ones_like(rows[..., :1])
    before = xp.cumprod(xp.concatenate([ones, rows[..., :-1]], -1), -1)
    after = xp.cumprod(xp.concatenate([ones, rows[..., :0:-1]], -1), -1)[..., ::-1]
    return back(g * before * after)


@prod.composite
def _(F, x, axis, keepdim):
    rows, shape = _recorded_rows(F, x, axis, keepdim)
    while rows.shape[-1] > 1:                       # a tree: half times half
        half = rows.shape[-1] // 2
        rest = rows[..., 2 * half:]
        rows = rows[..., :half] * rows[..., half:2 * half]
        if rest.shape[-1]:
            rows = F.concat([rows, rest], axis=-1)
    if rows.shape[-1] == 0:
        return F.sum(rows, axis=-1).reshape(shape) + 1.0
    return rows.reshape(shape)


def _order(ndim, axis):
    """The axes that stay, and those reduced; ValueError for one that is out of range."""
    axes = _axes(axis)
    axes = range(ndim) if axes is None else (axes,) if type(axes) is int else axes
    for a in axes:
        if not -max(ndim, 1) <= a < max(ndim, 1):
            raise ValueError(f"axis {a} is out of range for a tensor of {ndim} dimensions")
    axes = [a % ndim for a in axes] if ndim else []
    return [i for i in range(ndim) if i not in axes], axes


def _rows(x, axis):
    """The reduced axes as one last axis, and the function that brings such an array back."""
    kept, axes = _order(x.ndim, axis)
    moved = x.transpose(kept + axes)
    shape, n = moved.shape, math.prod(x.shape[a] for a in axes)
    inverse = [(kept + axes).index(i) for i in range(x.ndim)]
    rows = moved.reshape([x.shape[a] for a in kept] + [n])
    return rows, lambda r: r.reshape(shape).transpose(inverse)


def _recorded_rows(F, x, axis, keepdim):
    """The same of a Tensor, and the shape of the reduced result."""
    kept, axes = _order(x.ndim, axis)
    moved = F.transpose(x, kept + axes) if x.ndim else x
    rows = F.reshape(moved, [x.shape[a] for a in kept] + [math.prod(x.shape[a] for a in axes)])
    return rows, [1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i in kept]


# ---- log-sum-exp
@op(samples=reduction, promote="float")
def logsumexp(xp, x: Array, axis: int | list[int] | None = None, keepdim: bool = False) -> Array:
    """log(sum(exp(x))) over all elements or over axes, without overflow.

    >>> import minipaddle as paddle
    >>> paddle.logsumexp(paddle.to_tensor([1000.0, 1000.0])).numpy().round(3).tolist()
    1000.6929931640625
    """
    axis = _axes(axis)
    if x.size == 0:
        return xp.log(xp.add.reduce(x, axis, None, None, keepdim))
    top = _extreme(xp, x, True, axis, True)
    finite = xp.where(xp.isfinite(top), top, x.dtype.type(0))
    shifted = x - finite
    shifted = xp.exp(shifted, out=shifted) if shifted.ndim else xp.exp(shifted)
    total = xp.log(_total(xp, shifted, axis, keepdim))
    return total + finite.reshape(total.shape)


@logsumexp.vjp
def _(F, g, x, out, x_shape, axis, keepdim):
    out = _spread(F, out, x_shape, axis, keepdim)
    return F.exp(x - out) * _spread(F, g, x_shape, axis, keepdim)


# ---- norms
def _norms(draw):
    (x,), options = reduction(draw)
    x = draw.away(x.shape)
    return (x, draw.choice((1.0, 2.0, 3.0, float("inf"), 1.5))), options


@op(namespace=None, promote="float", samples=_norms, legacy=("p_norm",))
def p_norm(xp, x: Array, p: float, axis: int | list[int] | None = None,
           keepdim: bool = False) -> Array:
    """(sum |x|^p)^(1/p) over all elements or axes; p may be 0 (the count of non-zeros), inf, -inf.

    The gradient is 0 where the norm is 0.
    """
    axis = _axes(axis)
    if p == 2:
        size = xp.absolute(x) if x.dtype.kind == "c" else x
        return xp.sqrt(_total(xp, size * size, axis, keepdim))
    size = xp.absolute(x)
    if abs(p) == math.inf:
        return _extreme(xp, size, p > 0, axis, keepdim)
    if p == 0:
        return _total(xp, (size != 0).astype(size.dtype), axis, keepdim)
    if p == 1:
        return _total(xp, size, axis, keepdim)
    p = size.dtype.type(p)
    return _total(xp, size ** p, axis, keepdim) ** (size.dtype.type(1) / p)


@p_norm.vjp
def _(F, g, x, out, p, axis, keepdim, x_shape):
    g = _spread(F, g, x_shape, axis, keepdim)
    if p == 0:
        return F.zeros_like(x)
    if p == 1:
        return g * F.sgn(x)
    out = _spread(F, out, x_shape, axis, keepdim)
    if abs(p) == math.inf:
        hit = F.cast(F.abs(x) == out, g.dtype)
        return F.sgn(x) * hit * (g / F.sum(hit, axis=axis, keepdim=True))
    safe = out + (out == 0)
    if p == 2:
        return x * (g / safe)
    size = F.abs(x)
    share = F.pow((size + (size == 0)) / safe, p - 1.0)
    return F.sgn(x) * share * g                     # sgn is 0 where share would not be


@public()
def norm(x, p="fro", axis=None, keepdim=False, name=None):
    """The norm of a vector or matrix.

    axis None: of all elements as one vector; an int: of vectors along it; two ints: of matrices.
    p: 'fro' or 2 for vectors' Euclidean length, any number for the p-norm, 0 (count of non-zeros),
    inf, -inf; for matrices 'fro', 'nuc', 1, -1, 2, -2, inf, -inf (2: the largest singular value).
    The gradient is 0 where a vector's norm is 0. ValueError for another p.

    >>> import minipaddle as paddle
    >>> float(paddle.norm(paddle.to_tensor([3.0, 4.0])))
    5.0
    """
    axes = _axes(axis)
    axes = axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes
    p = 2.0 if p is None else p
    if p == "fro":
        return p_norm(x, 2.0, axes, keepdim)
    if p == "nuc" and axes is None and x.ndim == 2:
        axes = (0, 1)
    if isinstance(p, str) and (p != "nuc" or not isinstance(axes, tuple)):
        raise ValueError(f"norm: p must be a number, 'fro', or 'nuc' with two axes, got {p!r}")
    if not isinstance(axes, tuple):
        return p_norm(x, float(p), axes, keepdim)
    if len(axes) != 2:
        raise ValueError(f"norm: axis must be None, one axis or two, got {axis!r}")
    return _matrix_norm(x, p, [a % x.ndim for a in axes], keepdim)


def _matrix_norm(x, p, axes, keepdim):
    row, column = axes
    if p in ("nuc", 2, -2):
        order = [i for i in range(x.ndim) if i not in axes] + axes
        values = ops.svd(ops.transpose(x, order))[1]
        out = {"nuc": ops.sum, 2: ops.max, -2: ops.min}[p](values, axis=-1)
        return ops.unsqueeze(out, sorted(axes)) if keepdim else out
    if abs(p) not in (1, math.inf):
        raise ValueError(f"norm: p of a matrix must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, "
                         f"got {p!r}")
    inner, outer = (row, column) if abs(p) == 1 else (column, row)
    sums = ops.sum(ops.abs(x), axis=inner, keepdim=True)
    out = (ops.max if p > 0 else ops.min)(sums, axis=outer, keepdim=True)
    return out if keepdim else ops.squeeze(out, axes)


@public()
def dist(x, y, p=2, name=None):
    """The p-norm of x - y, broadcast together, of all elements.

    >>> import minipaddle as paddle
    >>> float(paddle.dist(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, 6.0])))
    5.0
    """
    return p_norm(x - y, float(p))


@public(inplace=True)
def renorm(x, p, axis, max_norm):
    """x with each slice along axis scaled down to a p-norm of at most max_norm.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[3.0, 4.0], [6.0, 8.0]])
    >>> paddle.renorm(x, 2.0, 0, 5.0).numpy().round(4).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    others = [i for i in range(x.ndim) if i != axis % x.ndim]
    size = p_norm(x, float(p), others, True)
    return x * ops.where(size > max_norm, max_norm / (size + 1e-7), 1.0)


# ---- variance
def _variances(draw):
    (x,), options = reduction(draw)
    return (x,), {**options, "unbiased": draw.bool() and _count(x.shape, options["axis"]) > 1}


@op(samples=_variances, promote="float")
def var(xp, x: Array, axis: int | list[int] | None = None, unbiased: bool = True,
        keepdim: bool = False) -> Array:
    """The mean squared distance from the mean, divided by n - 1 (by n with unbiased=False).

    >>> import minipaddle as paddle
    >>> float(paddle.var(paddle.to_tensor([1.0, 3.0])))
    2.0
    """
    axis = _axes(axis)
    total = _total(xp, x, axis, True)
    n = _count(x.shape, axis)
    middle = total * x.dtype.type(1.0 / n if n else math.nan)
    away = x - middle
    total = _total(xp, away * away, axis, keepdim)
    return total / total.dtype.type(n - 1 if unbiased else n)


@var.vjp
def _(F, g, x, x_shape, axis, unbiased, keepdim):
    n = _count(x_shape, axis) - (1 if unbiased else 0)
    g = _spread(F, g, x_shape, axis, keepdim) * (2.0 / n if n else math.nan)
    return (x - F.mean(x, axis=axis, keepdim=True)) * g


@public()
def std(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The square root of `var`.

    >>> import minipaddle as paddle
    >>> float(paddle.std(paddle.to_tensor([1.0, 3.0]), unbiased=False))
    1.0
    """
    return ops.sqrt(var(x, axis, unbiased, keepdim))


# ---- order statistics
def _quantiles(draw):
    shape = draw.shape(min_dims=1, min_side=1)
    return (draw.distinct(shape), draw.choice((0.0, 0.25, 0.5, 0.9)), draw.axes(len(shape)),
            draw.bool(), False), {}


@op(namespace=None, promote="float", samples=_quantiles)
def ranked(xp, x: Array, q: float, axis: int | list[int] | None, keepdim: bool,
           skip_nan: bool) -> tuple:
    """The two elements around the quantile q of sorted x, and the weight of the upper one.

    Elements equal to the one found share its gradient. A nan makes the result nan, unless skipped.
    """
    kept, axes = _order(x.ndim, axis)
    rows = xp.sort(_rows(x, axis)[0], axis=-1)      # nans come last
    n = rows.shape[-1]
    bad = xp.isnan(rows)
    if skip_nan:
        last = n - 1 - bad.sum(-1, keepdims=True)
        position = xp.maximum(last, 0) * float(q)
    else:
        position = xp.full(rows.shape[:-1] + (1,), (n - 1) * float(q))
    low = xp.floor(position)
    weight = (position - low).astype(x.dtype)
    low = low.astype(np.int64)
    high = xp.minimum(low + 1, n - 1) * (weight > 0) + low * (weight == 0)
    lower = xp.take_along_axis(rows, low, -1)
    upper = xp.take_along_axis(rows, high, -1)
    if not skip_nan:
        lower = xp.where(bad[..., -1:], x.dtype.type(math.nan), lower)
    shape = [1 if i in axes else m for i, m in enumerate(x.shape) if keepdim or i in kept]
    return lower.reshape(shape), upper.reshape(shape), weight.reshape(shape)


@ranked.vjp
def _(F, g, x, out, x_shape, axis, keepdim):
    total = 0.0
    for k in (0, 1):
        hit = F.cast(x == _spread(F, out[k], x_shape, axis, keepdim), g[k].dtype)
        count = F.sum(hit, axis=axis, keepdim=True)
        total = hit * (_spread(F, g[k], x_shape, axis, keepdim) / (count + (count == 0))) + total
    return total


def _quantile(name, x, q, axis, keepdim, skip_nan):
    values = q.tolist() if isinstance(q, Tensor) else q
    if isinstance(values, (list, tuple)):
        return ops.stack([_quantile(name, x, v, axis, keepdim, skip_nan) for v in values], 0)
    if not 0 <= values <= 1:
        raise ValueError(f"{name}: q must be in [0, 1], got {values!r}")
    try:
        _, axes = _order(x.ndim, axis)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    if 0 in [x.shape[a] for a in axes]:
        raise ValueError(f"{name}: x of shape {x.shape} has no elements along axis {axis}")
    low, high, weight = ranked(x, float(values), axis, keepdim, skip_nan)
    return low + (high - low) * weight


@public()
def quantile(x, q, axis=None, keepdim=False, name=None):
    """The value below which a share q of the elements lies, interpolated between neighbours.

    q: a number in [0, 1], or several, which then form a first axis. nan if an element is nan.

    >>> import minipaddle as paddle
    >>> float(paddle.quantile(paddle.to_tensor([1.0, 2.0, 3.0, 5.0]), 0.5))
    2.5
    """
    return _quantile("quantile", x, q, axis, keepdim, False)


@public()
def nanquantile(x, q, axis=None, keepdim=False, name=None):
    """`quantile` of the elements that are not nan; nan where there are none.

    >>> import minipaddle as paddle
    >>> float(paddle.nanquantile(paddle.to_tensor([1.0, float('nan'), 3.0]), 0.5))
    2.0
    """
    return _quantile("nanquantile", x, q, axis, keepdim, True)


@public()
def median(x, axis=None, keepdim=False, name=None):
    """The middle element of sorted x, the mean of the middle two of an even count.

    nan if an element is nan. Equal elements share the gradient.

    >>> import minipaddle as paddle
    >>> float(paddle.median(paddle.to_tensor([1.0, 9.0, 2.0, 4.0])))
    3.0
    """
    return _quantile("median", x, 0.5, axis, keepdim, False)


@public()
def nanmedian(x, axis=None, keepdim=False, name=None):
    """`median` of the elements that are not nan; nan where there are none.

    >>> import minipaddle as paddle
    >>> float(paddle.nanmedian(paddle.to_tensor([1.0, float('nan'), 3.0])))
    2.0
    """
    return _quantile("nanmedian", x, 0.5, axis, keepdim, True)


# ---- passing over nan; counting; adding many
@public()
def nansum(x, axis=None, dtype=None, keepdim=False, name=None):
    """`sum` with nan counted as 0.

    >>> import minipaddle as paddle
    >>> float(paddle.nansum(paddle.to_tensor([1.0, float('nan')])))
    1.0
    """
    return _sum(ops.where(ops.isnan(x), 0.0, x) if x.dtype.is_floating else x, axis, dtype, keepdim)


@public()
def nanmean(x, axis=None, keepdim=False, name=None):
    """`mean` of the elements that are not nan; nan where there are none.

    >>> import minipaddle as paddle
    >>> float(paddle.nanmean(paddle.to_tensor([1.0, float('nan'), 3.0])))
    2.0
    """
    good = ops.cast(ops.logical_not(ops.isnan(x)), x.dtype.np)
    return nansum(x, axis, None, keepdim) / _sum(good, axis, None, keepdim)


@public()
def count_nonzero(x, axis=None, keepdim=False, name=None):
    """How many elements are not 0, of all or along axes; int64.

    >>> import minipaddle as paddle
    >>> int(paddle.count_nonzero(paddle.to_tensor([1.0, 0.0, 2.0])))
    2
    """
    return _sum(x != 0, axis, None, keepdim)


@op("add_n", namespace=None, promote="same", legacy=("sum",),
    samples=lambda draw: (([draw.array((2, 3)) for _ in range(draw.integer(1, 3))],), {}))
def _add_n(xp, inputs: Arrays) -> Array:
    """The sum of tensors of one shape; what `paddle.add_n` calls."""
    total = inputs[0].copy() if len(inputs) == 1 else inputs[0] + inputs[1]
    for x in inputs[2:]:
        if x.shape != total.shape:
            raise ValueError("all inputs must have one shape")
        total += x
    return total


@_add_n.vjp
def _(F, g, inputs_shape):
    return ([g] * len(inputs_shape),)


@public()
def add_n(inputs, name=None):
    """The sum of a list of Tensors of one shape; of a single Tensor its copy.

    >>> import minipaddle as paddle
    >>> paddle.add_n([paddle.to_tensor([1.0]), paddle.to_tensor([2.0])]).tolist()
    [3.0]
    """
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not inputs:
        raise ValueError("add_n: inputs must hold at least one Tensor")
    return _add_n(inputs)


@public()
def reduce_as(x, target, name=None):
    """x summed over the dimensions along which `target` would broadcast to it.

    >>> import minipaddle as paddle
    >>> paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([3])).tolist()
    [2.0, 2.0, 2.0]
    """
    extra = x.ndim - target.ndim
    axes = list(range(extra)) + [i + extra for i, n in enumerate(target.shape)
                                 if n == 1 and x.shape[i + extra] != 1]
    return ops.reshape(_sum(x, axes, None, True), target.shape) if axes or extra else x


# ---- scans: each element combined with all before it
def _scans(draw):
    shape = draw.shape(min_dims=1, min_side=1)
    return (draw.array(shape),), {"axis": draw.axis(len(shape))}


def _flat(F, x, axis):
    """x and the axis to scan: without an axis the flattened x."""
    return (F.reshape(x, [-1]), 0) if axis is None else (x, _one_axis(axis))


@op(samples=_scans, amp="block", inplace=True)
def cumsum(xp, x: Array, axis: int | None = None, dtype: str | None = None) -> Array:
    """The sums of the elements up to each, along axis or of the flattened x.

    int32 and bool give int64.

    >>> import minipaddle as paddle
    >>> paddle.cumsum(paddle.to_tensor([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    kind = np_dtype(dtype) if dtype is not None else _WIDER.get(x.dtype, x.dtype)
    return x.cumsum(None if axis is None else _one_axis(axis), kind)


@cumsum.vjp
def _(F, g, x_shape, axis):
    a = 0 if axis is None else _one_axis(axis)
    g = F.flip(F.cumsum(F.flip(g, [a]), axis=a), [a])
    return F.reshape(g, list(x_shape)) if axis is None else g


def _slice(x, axis, start, stop, step=None):
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def _doubling(combine, join, x, axis):
    """An inclusive scan with an associative function, in log2(n) steps on whole arrays."""
    reach = 1
    while reach < x.shape[axis]:
        x = join([_slice(x, axis, 0, reach),
                  combine(_slice(x, axis, 0, -reach), _slice(x, axis, reach, None))], axis)
        reach *= 2
    return x


def _products(draw):
    args, options = _scans(draw)
    return args, {"dim": options["axis"]}


@op(samples=_products, amp="block", inplace=True)
def cumprod(xp, x: Array, dim: int | None = None, dtype: str | None = None) -> Array:
    """The products of the elements up to each, along dim or of the flattened x.

    The gradient is exact at zeros too.

    >>> import minipaddle as paddle
    >>> paddle.cumprod(paddle.to_tensor([1, 2, 3]), dim=0).tolist()
    [1, 2, 6]
    """
    return x.cumprod(None if dim is None else _one_axis(dim), np_dtype(dtype, x.dtype))


@cumprod.kernel_vjp
def _(xp, g, x, out, dim):
    shape = x.shape
    if dim is None:
        x, dim = x.reshape(-1), 0
    dim = _one_axis(dim)
    if xp is np and x.all():                        # xp: numpy-only
        return (_from_right(xp, g * out, dim) / x).reshape(shape)
    # s(i) = g(i) + x(i + 1) s(i + 1), an affine recurrence from the right, by doubling.
    last = xp.zeros_like(_slice(x, dim, 0, 1))
    first = last + x.dtype.type(1)
    factor, s = xp.concatenate([_slice(x, dim, 1, None), last], dim), g
    reach, n = 1, x.shape[dim]
    while reach < n:
        s = xp.concatenate([_slice(s, dim, 0, -reach) + _slice(factor, dim, 0, -reach)
                            * _slice(s, dim, reach, None), _slice(s, dim, -reach, None)], dim)
        factor = xp.concatenate([_slice(factor, dim, 0, -reach) * _slice(factor, dim, reach, None),
                                 xp.zeros_like(_slice(factor, dim, -reach, None))], dim)
        reach *= 2
    before = xp.cumprod(xp.concatenate([first, _slice(x, dim, 0, -1)], dim), dim)
    return (before * s).reshape(shape)


def _from_right(xp, x, axis):
    return xp.flip(xp.cumsum(xp.flip(x, axis), axis), axis)


@cumprod.composite
def _(F, x, dim):
    x, axis = _flat(F, x, dim)
    return _doubling(F.multiply, F.concat, x, axis)


@op(samples=_scans, promote="float")
def logcumsumexp(xp, x: Array, axis: int | None = None, dtype: str | None = None) -> Array:
    """log of the sums of exp of the elements up to each, without overflow.

    >>> import minipaddle as paddle
    >>> paddle.logcumsumexp(paddle.to_tensor([0., 0.], 'float64')).numpy().round(4).tolist()
    [0.0, 0.6931]
    """
    x = x.astype(np_dtype(dtype, x.dtype))
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = _one_axis(axis)
    if xp is np:
        return np.logaddexp.accumulate(x, axis)     # xp: numpy-only
    return _doubling(xp.logaddexp, xp.concatenate, x, axis)


@logcumsumexp.kernel_vjp
def _(xp, g, x, out, axis):
    shape = x.shape
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = _one_axis(axis)

    def part(weights):                              # the sum over what follows, in logarithms
        w = xp.flip(xp.log(weights) - out, axis)
        return xp.exp(x + xp.flip(logcumsumexp.op.forward(xp, w, axis), axis))
    zero = x.dtype.type(0)
    return (part(xp.maximum(g, zero)) - part(xp.maximum(-g, zero))).reshape(shape)


@logcumsumexp.composite
def _(F, x, axis):
    x, axis = _flat(F, x, axis)
    return _doubling(F.logaddexp, F.concat, x, axis)


def _running(name, larger, word):
    def forward(xp, x: Array, axis: int | None = None, dtype: str = "int64") -> tuple:
        if axis is None:
            x, axis = x.reshape(-1), 0
        axis = _one_axis(axis)
        best = xp.maximum if larger else xp.minimum
        if xp is np:
            values = best.accumulate(x, axis)       # xp: numpy-only
        else:
            values = _doubling(best, xp.concatenate, x, axis)
        n = x.shape[axis]
        place = xp.arange(n).reshape([n if i == axis % x.ndim else 1 for i in range(x.ndim)])
        new = (x == values) | (x != x)              # of equal ones, and of nans, the last counts
        where = xp.where(new, place, 0)
        if xp is np:
            indices = np.maximum.accumulate(where, axis)    # xp: numpy-only
        else:
            indices = _doubling(xp.maximum, xp.concatenate, where, axis)
        return values, indices.astype(np_dtype(dtype))
    forward.__doc__ = f"""The {word} of the elements up to each, and its (last) index: two tensors.

    >>> import minipaddle as paddle
    >>> values, indices = paddle.{name}(paddle.to_tensor([2., 1., 3.]))
    >>> values.tolist(), indices.tolist()
    {"([2.0, 2.0, 3.0], [0, 0, 2])" if larger else "([2.0, 1.0, 1.0], [0, 1, 1])"}
    """
    function = op(name, samples=lambda draw: _distinct_scans(draw))(forward)

    @function.kernel_vjp
    def _(xp, g, x, out, axis):
        shape, g, indices = x.shape, g[0], out[1]
        a = 0 if axis is None else _one_axis(axis) % max(x.ndim, 1)
        rows = xp.moveaxis(indices, a, -1) if indices.ndim else indices
        moved = xp.moveaxis(g, a, -1)
        n = rows.shape[-1]
        start = xp.arange(rows.size // max(n, 1)).reshape(rows.shape[:-1] + (1,)) * n
        total = xp.zeros(rows.size, g.dtype)
        xp.add.at(total, (rows + start).reshape(-1), moved.reshape(-1))
        return xp.moveaxis(total.reshape(moved.shape), -1, a).reshape(shape)

    @function.composite
    def _(F, x, axis, dtype):
        indices = function(x.detach(), axis, "int64")[1]
        x, a = _flat(F, x, axis)
        return F.take_along_axis(x, indices, a), F.cast(indices, dtype)
    return function


def _distinct_scans(draw):
    shape = draw.shape(min_dims=1, min_side=1)
    return (draw.distinct(shape),), {"axis": draw.axis(len(shape))}


cummax, cummin = _running("cummax", True, "largest"), _running("cummin", False, "smallest")


# ---- the trapezoid rule
def _trapezoids(name, y, x, dx, axis):
    if x is not None and dx is not None:
        raise ValueError(f"{name}: give x or dx, not both")
    axis = axis % y.ndim
    middle = (_slice(y, axis, 1, None) + _slice(y, axis, 0, -1)) * 0.5
    if x is None:
        return middle * (1.0 if dx is None else dx)
    if x.ndim == 1:
        width = _slice(x, 0, 1, None) - _slice(x, 0, 0, -1)
        width = ops.reshape(width, [-1 if i == axis else 1 for i in range(y.ndim)])
    else:
        width = _slice(x, axis, 1, None) - _slice(x, axis, 0, -1)
    return middle * width


@public()
def trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The integral of y along axis by the trapezoid rule; at points x, or dx (1) apart.

    >>> import minipaddle as paddle
    >>> float(paddle.trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])))
    4.0
    """
    return _sum(_trapezoids("trapezoid", y, x, dx, axis), axis)


@public()
def cumulative_trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The integrals of y up to each point along axis, by the trapezoid rule; one element less.

    >>> import minipaddle as paddle
    >>> paddle.cumulative_trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).tolist()
    [1.5, 4.0]
    """
    return cumsum(_trapezoids("cumulative_trapezoid", y, x, dx, axis), axis)


# ---- differences and distances
@public()
def diff(x, n=1, axis=-1, prepend=None, append=None, name=None):
    """The n-th differences of neighbours along axis, of x between `prepend` and `append`.

    Of bools: where neighbours differ. ValueError for n below 0.

    >>> import minipaddle as paddle
    >>> paddle.diff(paddle.to_tensor([1.0, 4.0, 9.0])).tolist()
    [3.0, 5.0]
    """
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    axis = _order(x.ndim, axis)[1][0]
    parts = [part for part in (prepend, x, append) if part is not None]
    x = parts[0] if len(parts) == 1 else ops.concat(parts, axis=axis)
    for _ in range(n):
        later, earlier = _slice(x, axis, 1, None), _slice(x, axis, 0, -1)
        x = later != earlier if x.dtype.name == "bool" else later - earlier
    return x


@public()
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None):
    """The p-norm distances of all rows of x [..., m, d] and y [..., n, d]: [..., m, n].

    compute_mode is accepted; the distances are always those of the differences.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[0.0, 0.0]]), paddle.to_tensor([[3.0, 4.0], [0.0, 1.0]])
    >>> paddle.cdist(x, y).tolist()
    [[5.0, 1.0]]
    """
    return p_norm(ops.unsqueeze(x, -2) - ops.unsqueeze(y, -3), float(p), -1)


@public(method=False)
def pdist(x, p=2.0, name=None):
    """The p-norm distances of all pairs of rows of x [n, d]: [n (n - 1) / 2].

    >>> import minipaddle as paddle
    >>> paddle.pdist(paddle.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).shape
    [3]
    """
    first, second = ops.triu_indices(x.shape[0], x.shape[0], 1)
    return p_norm(ops.index_select(x, first) - ops.index_select(x, second), float(p), -1)
