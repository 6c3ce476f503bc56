"""The operations of neural networks: softmax, linear, normalisation, cross-entropy, dropout.

Imports kernels_nn and core. Those that are worth a fused backward have a `kernel_vjp` on
arrays and a `composite`, the same function out of simpler ops, which gradients of higher order
go through.
"""
from __future__ import annotations

import math

import numpy as np

from . import kernels_nn as kn
from .core import Array, op

# ---- softmax
def _sample_axis(draw):
    shape = draw.shape(min_dims=1, min_side=1)
    return (draw.array(shape),), dict(axis=draw.axis(len(shape)))


def _typed(x, dtype):
    from .core import np_dtype
    return x if dtype is None else x.astype(np_dtype(dtype))


@op(namespace="functional", promote="float", amp="block", inplace=True, samples=_sample_axis)
def softmax(xp, x: Array, axis: int = -1, dtype: str | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis, shifted by the maximum against overflow.

    dtype: x is cast to it first. -inf gives 0; a line of nothing but -inf gives nan.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.softmax(paddle.to_tensor([[0., 0.]])).tolist()
    [[0.5, 0.5]]
    """
    return kn.softmax(xp, _typed(x, dtype), axis)


@softmax.kernel_vjp
def _(xp, g, out, axis):
    return kn.softmax_grad(xp, g, out, axis)


@softmax.composite
def _(F, x, axis, dtype):
    return F.softmax_plain(x, axis)


def _sample_axis_given(draw):
    (x,), kwargs = _sample_axis(draw)
    return (x, kwargs["axis"]), {}


@op(namespace=None, amp="block", samples=_sample_axis_given)
def softmax_plain(xp, x: Array, axis: int) -> Array:
    """`softmax` with a vjp that can be differentiated."""
    return kn.softmax(xp, x, axis)


@softmax_plain.vjp
def _(F, g, out, axis):
    return (g - F.sum(g * out, axis=axis, keepdim=True)) * out


@op(namespace="functional", promote="float", amp="block", samples=_sample_axis)
def log_softmax(xp, x: Array, axis: int = -1, dtype: str | None = None) -> Array:
    """x - log(sum(exp(x))) along an axis, shifted by the maximum against overflow.

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.log_softmax(paddle.to_tensor([[0., 0.]]))
    >>> [round(v, 4) for v in y.tolist()[0]]
    [-0.6931, -0.6931]
    """
    return kn.log_softmax(xp, _typed(x, dtype), axis)


@log_softmax.kernel_vjp
def _(xp, g, out, axis):
    return kn.log_softmax_grad(xp, g, out, axis)


@log_softmax.composite
def _(F, x, axis, dtype):
    return F.log_softmax_plain(x, axis)


@op(namespace=None, amp="block", samples=_sample_axis_given)
def log_softmax_plain(xp, x: Array, axis: int) -> Array:
    """`log_softmax` with a vjp that can be differentiated."""
    return kn.log_softmax(xp, x, axis)


@log_softmax_plain.vjp
def _(F, g, out, axis):
    return g - F.exp(out) * F.sum(g, axis=axis, keepdim=True)


# ---- linear
def _sample_linear(draw):
    i, o = draw.integer(1, 3), draw.integer(1, 3)
    x = draw.shape(max_dims=2) + (i,)
    return (draw.array(x), draw.array((i, o)), draw.array((o,))), {}


@op(namespace="functional", amp="allow", promote="same", legacy=("linear_v2",),
    samples=_sample_linear)
def linear(xp, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x @ weight + bias: x (*, in), weight (in, out), not transposed, bias (out,).

    Under auto_cast the whole runs in half precision and gives it.

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([4, 3]), paddle.ones([3, 2])
    >>> paddle.nn.functional.linear(x, w, paddle.zeros([2])).shape
    [4, 2]
    """
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"x of shape {list(x.shape)} needs a weight of "
                         f"[{x.shape[-1] if x.ndim else '?'}, out features] (not transposed), "
                         f"got {list(weight.shape)}")
    if x.ndim == 2:
        out = xp.matmul(x, weight)
    else:
        out = xp.matmul(x.reshape(-1, x.shape[-1]), weight).reshape(
            *x.shape[:-1], weight.shape[1])
    if bias is not None:
        if bias.shape != weight.shape[1:] and bias.size != 1:
            raise ValueError(f"bias must have shape {list(weight.shape[1:])}, "
                             f"got {list(bias.shape)}")
        out += bias
    return out


@linear.kernel_vjp
def _(xp, g, x, weight, bias, need):
    g2 = g.reshape(-1, weight.shape[1])
    dx = xp.matmul(g2, weight.T).reshape(x.shape) if need[0] else None
    dw = xp.matmul(x.reshape(-1, weight.shape[0]).T, g2) if need[1] else None
    db = None
    if need[2]:
        db = kn.column_sums(xp, g2)
        db = db if bias.shape == db.shape else db.sum().reshape(bias.shape)
    return dx, dw, db


@linear.composite
def _(F, x, weight, bias):
    out = F.matmul(x, weight)
    return out if bias is None else out + bias


# ---- normalisation
def _channels_first(xp, x, channel_last):
    """As (N, C, L), channels first."""
    if channel_last and x.ndim > 2:
        x = xp.ascontiguousarray(xp.moveaxis(x, -1, 1))
    return x.reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def _as_before(xp, y, shape, channel_last):
    """The inverse of `_channels_first`."""
    if channel_last and len(shape) > 2:
        y = y.reshape(shape[0], shape[-1], *shape[1:-1])
        return xp.ascontiguousarray(xp.moveaxis(y, 1, -1))
    return y.reshape(shape)


def _wide(x):
    """Statistics of half precision are computed in float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _check_channels(x, channel_last, **vectors):
    if x.ndim < 2:
        raise ValueError("x must have at least two axes, batch and channels")
    c = x.shape[-1] if channel_last else x.shape[1]
    for name, v in vectors.items():
        if v is not None and v.shape != (c,):
            raise ValueError(f"{name} must have one number for each of the {c} channels of x, "
                             f"got shape {list(v.shape)}")


def _sample_batch_norm(draw):
    c = draw.integer(1, 3)
    x = draw.array((draw.integer(2, 3), c, draw.integer(2, 4)))
    return (x, draw.array((c,)), draw.array((c,))), dict(epsilon=0.1)


@op(namespace=None, half="native", casts=("x",), promote="float", legacy=("batch_norm",),
    residuals=("rstd",), samples=_sample_batch_norm)
def batch_norm_train(xp, x: Array, weight: Array | None = None, bias: Array | None = None,
                     epsilon: float = 1e-5, channel_last: bool = False) -> Array:
    """(normalised x, batch mean, biased batch variance), over all axes but the channels'."""
    _check_channels(x, channel_last, weight=weight, bias=bias)
    y, mean, variance, rstd = kn.batch_norm(xp, _channels_first(xp, _wide(x), channel_last),
                                            weight, bias, epsilon)
    y = _as_before(xp, y, x.shape, channel_last)
    return y if y.dtype == x.dtype else y.astype(x.dtype), mean, variance, rstd


@batch_norm_train.kernel_vjp
def _(xp, g, x, weight, out, rstd, channel_last):
    g, g_mean, g_variance = g
    dx, dw, db = kn.batch_norm_grad(
        xp, _channels_first(xp, _wide(g), channel_last),
        _channels_first(xp, _wide(x), channel_last), weight, out[1], rstd, g_mean, g_variance)
    return _as_before(xp, dx, x.shape, channel_last), dw, db


@batch_norm_train.composite
def _(F, x, weight, bias, epsilon, channel_last):
    n = len(x.shape)
    channel = n - 1 if channel_last else 1
    axes = [a for a in range(n) if a != channel]
    shape = [-1 if a == channel else 1 for a in range(n)]
    mean = F.mean(x, axis=axes, keepdim=True)
    centred = x - mean
    variance = F.mean(centred * centred, axis=axes, keepdim=True)
    y = centred * F.rsqrt(variance + epsilon)
    if weight is not None:
        y = y * F.reshape(weight, shape)
    if bias is not None:
        y = y + F.reshape(bias, shape)
    return y, F.reshape(mean, [-1]), F.reshape(variance, [-1])


def _sample_batch_norm_infer(draw):
    (x, w, b), kwargs = _sample_batch_norm(draw)
    return (x, draw.array(w.shape), draw.positive(w.shape), w, b), kwargs


@op(namespace=None, half="native", casts=("x",), promote="float", legacy=("batch_norm",),
    samples=_sample_batch_norm_infer)
def batch_norm_infer(xp, x: Array, mean: Array, variance: Array, weight: Array | None = None,
                     bias: Array | None = None, epsilon: float = 1e-5,
                     channel_last: bool = False) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias by channels."""
    _check_channels(x, channel_last, mean=mean, variance=variance, weight=weight, bias=bias)
    factor = 1 / xp.sqrt(variance + variance.dtype.type(epsilon))
    if weight is not None:
        factor = factor * weight
    if channel_last and x.ndim > 2:
        y = x * factor + ((0 if bias is None else bias) - mean * factor)
    else:
        y = kn.scale_shift(xp, _channels_first(xp, _wide(x), False), mean, factor,
                           bias).reshape(x.shape)
    return y if y.dtype == x.dtype else y.astype(x.dtype)


@batch_norm_infer.vjp
def _(F, g, x, mean, variance, weight, bias, epsilon, channel_last, need):
    n = len(x.shape)
    channel = n - 1 if channel_last else 1
    axes = [a for a in range(n) if a != channel]
    shape = [-1 if a == channel else 1 for a in range(n)]
    rstd = 1.0 / F.sqrt(variance + epsilon)
    factor = rstd if weight is None else rstd * weight
    dx = g * F.reshape(factor, shape)
    if not any(need[1:]):
        return dx, None, None, None, None
    g_sum = F.sum(g, axis=axes)
    along = F.sum(g * (x - F.reshape(mean, shape)), axis=axes)
    return (dx, -g_sum * factor, along * factor * rstd * rstd * -0.5,
            None if weight is None else along * rstd, None if bias is None else g_sum)


def _sample_layer_norm(draw):
    shape = (draw.integer(2, 4),) if draw.bool() else (2, draw.integer(1, 3))
    x = draw.array(draw.shape(max_dims=2) + shape)
    return (x, list(shape), draw.array(shape), draw.array(shape)), dict(epsilon=0.1)


@op(namespace="functional", amp="block", casts=("x",), promote="float",
    residuals=("xhat", "rstd"), samples=_sample_layer_norm)
def layer_norm(xp, x: Array, normalized_shape: int | list[int], weight: Array | None = None,
               bias: Array | None = None, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes.

    normalized_shape: the sizes of those axes. weight, bias: of that shape, or flat.
    Ba, Kiros and Hinton, Layer Normalization, 2016. ValueError when x does not end in that shape.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[1., 3.]])
    >>> [round(v, 3) for v in paddle.nn.functional.layer_norm(x, 2).tolist()[0]]
    [-1.0, 1.0]
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if x.shape[x.ndim - len(shape):] != shape or not shape:
        raise ValueError(f"x of shape {list(x.shape)} does not end in normalized_shape "
                         f"{list(shape)}")
    d = math.prod(shape)
    xhat, rstd = kn.layer_norm(xp, x.reshape(math.prod(x.shape[:x.ndim - len(shape)]), d), epsilon)
    y = xhat
    for name, v, combine in (("weight", weight, xp.multiply), ("bias", bias, xp.add)):
        if v is not None:
            if v.size != d:
                raise ValueError(f"{name} must have shape {list(shape)}, got {list(v.shape)}")
            if v.dtype != y.dtype:
                v = v.astype(y.dtype)
            y = combine(y, v.reshape(d), out=None if y is xhat else y)
    return (xhat.copy() if y is xhat else y).reshape(x.shape), xhat, rstd


@layer_norm.kernel_vjp
def _(xp, g, weight, bias, xhat, rstd, need):
    shape, g2 = g.shape, g.reshape(xhat.shape)
    dx = dw = db = None
    if need[1]:
        dw = kn.column_sums(xp, g2 * xhat).reshape(weight.shape)
    if need[2]:
        db = kn.column_sums(xp, g2).reshape(bias.shape)
    if need[0]:
        if weight is not None:
            g2 = g2 * weight.reshape(xhat.shape[1])
        dx = kn.layer_norm_grad(xp, g2, xhat, rstd).reshape(shape)
    return dx, dw, db


@layer_norm.composite
def _(F, x, normalized_shape, weight, bias, epsilon):
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    axes = list(range(len(x.shape) - len(shape), len(x.shape)))
    centred = x - F.mean(x, axis=axes, keepdim=True)
    y = centred * F.rsqrt(F.mean(centred * centred, axis=axes, keepdim=True) + epsilon)
    if weight is not None:
        y = y * F.reshape(weight, shape)
    return y if bias is None else y + F.reshape(bias, shape)


# ---- cross-entropy
def label_rows(xp, label, shape, axis, ignore_index, classes, name="label"):
    """Flat labels in the order of the rows, which of them count (None: all), checked."""
    axis = axis % len(shape)
    rest = shape[:axis] + shape[axis + 1:]
    with_one = shape[:axis] + (1,) + shape[axis + 1:]
    if label.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers (class numbers); pass soft_label=True for "
                        f"probabilities")
    if label.shape not in (rest, with_one):
        raise ValueError(f"{name} must have shape {list(rest)} or {list(with_one)} for an input of "
                         f"shape {list(shape)} with classes along axis {axis}")
    y = label.reshape(-1)
    if xp is not np:
        valid = y != ignore_index
        return xp.where(valid, y, 0), valid
    valid = None
    if y.size and ((y < 0) | (y >= classes)).any():
        valid = y != ignore_index
        wrong = y[valid & ((y < 0) | (y >= classes))]
        if wrong.size:
            raise ValueError(f"{name} {wrong[0]} is out of range: there are {classes} classes, "
                             f"labels run from 0 to {classes - 1} (ignore_index={ignore_index})")
        y = np.where(valid, y, 0)
    elif 0 <= ignore_index < classes and (y == ignore_index).any():
        valid = y != ignore_index
        y = np.where(valid, y, 0)
    return y, valid


def _sample_cross_entropy(draw):
    n, c = draw.integer(1, 4), draw.integer(2, 4)
    return (draw.array((n, c)), draw.integers((n,), 0, c - 1)), dict(
        reduction=draw.choice(("none", "sum", "mean")))


@op(namespace=None, amp="block", casts=("logits",), promote="float",
    residuals=("e", "sums"), legacy=("softmax_with_cross_entropy", "cross_entropy"),
    samples=_sample_cross_entropy)
def softmax_cross_entropy(xp, logits: Array, label: Array, axis: int = -1,
                          ignore_index: int = -100, reduction: str = "none") -> Array:
    """-log(softmax(logits))[label]: one exp, and its values serve the gradient.

    reduction 'none' follows the label's shape; 'mean' is over the labels that are not ignored.
    """
    c = logits.shape[axis]
    x = logits if axis in (-1, logits.ndim - 1) else \
        xp.ascontiguousarray(xp.moveaxis(logits, axis, -1))
    x = x.reshape(-1, c) if c else x.reshape(math.prod(x.shape[:-1]), 0)
    y, valid = label_rows(xp, label, logits.shape, axis, ignore_index, c)
    e, sums, shifted = kn.exp_rows(xp, x)
    loss = xp.log(sums) - shifted[xp.arange(len(y)), y]
    if valid is not None:
        loss = loss * valid
    if reduction == "none":
        loss = loss.reshape(label.shape)
    else:
        loss = loss.sum()
        if reduction == "mean":
            count = len(y) if valid is None else valid.sum()
            loss = loss / xp.maximum(xp.asarray(count, dtype=x.dtype), x.dtype.type(1)) \
                if valid is not None or count else loss * x.dtype.type("nan")
    return loss, e, sums


@softmax_cross_entropy.kernel_vjp
def _(xp, g, logits, label, e, sums, axis, ignore_index, reduction):
    c = logits.shape[axis]
    y, valid = label_rows(xp, label, logits.shape, axis, ignore_index, c)
    if reduction == "none":
        g = g.reshape(-1)
    else:
        if reduction == "mean":
            g = g / (max(len(y), 1) if valid is None else
                     xp.maximum(valid.sum(), 1).astype(sums.dtype))
        g = xp.broadcast_to(xp.asarray(g, dtype=sums.dtype), sums.shape)
    if valid is not None:
        g = g * valid
    d = e * (g / sums)[:, None]
    d[xp.arange(len(y)), y] -= g
    if axis in (-1, logits.ndim - 1):
        return d.reshape(logits.shape), None
    rest = list(logits.shape)
    del rest[axis % logits.ndim]
    return xp.moveaxis(d.reshape(*rest, c), -1, axis), None


@softmax_cross_entropy.composite
def _(F, logits, label, axis, ignore_index, reduction):
    axis = axis % len(logits.shape)
    log_p = F.log_softmax_plain(logits, axis)
    flat = F.reshape(label, logits.shape[:axis] + logits.shape[axis + 1:])
    hot = F.one_hot(F.where(flat == ignore_index, F.zeros_like(flat), flat), logits.shape[axis])
    counted = F.cast(flat != ignore_index, logits.dtype)
    last = len(logits.shape) - 1
    order = [*range(axis), last, *range(axis, last)]
    hot = F.cast(F.transpose(hot, order), logits.dtype)
    loss = -F.sum(log_p * hot, axis=axis) * counted
    if reduction == "none":
        return F.reshape(loss, label.shape)
    total = F.sum(loss)
    return total / F.clip(F.sum(counted), min=1.0) if reduction == "mean" else total


def _sample_pair01(draw):
    shape = draw.shape()
    return (draw.array(shape), draw.array(shape, 0.05, 0.95)), {}


@op(namespace=None, amp="block", promote="float", broadcasts=True, samples=_sample_pair01)
def sigmoid_cross_entropy_with_logits(xp, logit: Array, label: Array) -> Array:
    """-label * log(sigmoid(logit)) - (1 - label) * log(1 - sigmoid(logit)), without overflow."""
    return kn.softplus(xp, logit) - logit * label


@sigmoid_cross_entropy_with_logits.vjp
def _(F, g, logit, label, need):
    return g * (F.sigmoid(logit) - label), -g * logit if need[1] else None


def _sample_probabilities(draw):
    shape = draw.shape()
    return (draw.array(shape, 0.1, 0.9), draw.array(shape, 0.05, 0.95)), {}


@op(namespace=None, amp="block", promote="float", broadcasts=True, samples=_sample_probabilities)
def bce_loss(xp, input: Array, label: Array) -> Array:
    """-label * log(input) - (1 - label) * log(1 - input); logarithms cut off at -100."""
    yes, no = _cut_logs(xp, input)
    return -(label * yes + (label.dtype.type(1) - label) * no)


def _cut_logs(xp, input):
    low, one = input.dtype.type(-100), input.dtype.type(1)
    return xp.maximum(xp.log(input), low), xp.maximum(xp.log(one - input), low)


@bce_loss.vjp
def _(F, g, input, label, need):
    # the cut is left out of the gradient, which the smallest divisor keeps finite
    dx = g * (input - label) / F.clip(input * (1.0 - input), min=1e-12)
    return dx, g * (F.log(1.0 - input) - F.log(input)) if need[1] else None


# ---- one-hot and embedding
@op(namespace="functional", legacy=("one_hot_v2",))
def one_hot(xp, x: Array, num_classes: int) -> Array:
    """Class numbers (*) as rows of zeros with a one, float32 (*, num_classes).

    ValueError for numbers outside 0 .. num_classes - 1 (checked on the CPU).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.one_hot(paddle.to_tensor([1, 0]), 3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    if x.dtype.kind not in "iu":
        raise TypeError("x must hold integers")
    num_classes = int(num_classes)
    _check_range(xp, x, num_classes, "x", "num_classes")
    return (x[..., None] == xp.arange(num_classes, dtype=x.dtype)).astype(np.float32)


def _check_range(xp, ids, n, name, what):
    """Looking at numbers on a GPU would make the host wait; NumPy looks."""
    if xp is np and ids.size:
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= n:
            raise ValueError(f"{name} holds {low if low < 0 else high}, which is out of range: "
                             f"{what} is {n}, numbers run from 0 to {n - 1}")


def _sample_embedding(draw):
    n = draw.integer(2, 5)
    return (draw.integers(draw.shape(max_dims=2), 0, n - 1), draw.array((n, draw.integer(1, 3)))), \
        dict(padding_idx=draw.choice((None, 0, -1)))


@op(namespace="functional", amp="block", casts=("weight",), samples=_sample_embedding,
    legacy=("lookup_table_v2", "lookup_table"))
def embedding(xp, x: Array, weight: Array, padding_idx: int | None = None,
              sparse: bool = False) -> Array:
    """The rows of weight (n, d) that integers x (*) name: (*, d).

    padding_idx: this number gives zeros and gets no gradient; negative counts from the end.
    ValueError for numbers outside 0 .. n - 1 (checked on the CPU).

    >>> import minipaddle as paddle
    >>> w = paddle.to_tensor([[1., 2.], [3., 4.]])
    >>> paddle.nn.functional.embedding(paddle.to_tensor([1, 0]), w).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if x.dtype.kind not in "iu":
        raise TypeError("x must hold integers")
    _check_range(xp, x, weight.shape[0], "x", "the number of rows of weight")
    padding = _padding_row(padding_idx, weight.shape[0])
    out = weight[x]
    if padding is not None:
        out *= (x != padding)[..., None]
    return out


def _padding_row(padding_idx, n):
    if padding_idx is None or padding_idx == -1 and n == 0:
        return None
    if not -n <= padding_idx < n:
        raise ValueError(f"padding_idx {padding_idx} is out of range for {n} rows")
    return padding_idx % n


@embedding.vjp
def _(F, g, x, weight_shape, padding_idx):
    return None, F.embedding_grad(g, x, weight_shape[0], padding_idx)


def _sample_embedding_grad(draw):
    (ids, weight), kwargs = _sample_embedding(draw)
    return (draw.array((*ids.shape, weight.shape[1])), ids, len(weight), kwargs["padding_idx"]), {}


@op(namespace=None, amp="keep", samples=_sample_embedding_grad)
def embedding_grad(xp, y: Array, x: Array, rows: int, padding_idx: int | None = None) -> Array:
    """The gradient of `embedding` to its weight: y's rows added up at the numbers x."""
    d = y.shape[-1]
    padding = _padding_row(padding_idx, rows)
    if padding is not None:
        y = y * (x != padding)[..., None]
    return kn.add_rows(xp, x.reshape(-1), y.reshape(x.size, d), rows)


@embedding_grad.vjp
def _(F, g, x, padding_idx):
    return F.embedding(x, g, padding_idx), None


# ---- dropout
def _sample_dropout(draw):
    return (draw.array(draw.shape()), 0.0, None, 1.5), {}       # p = 0: no chance in it


@op(namespace=None, random=True, residuals=("mask",), legacy=("dropout",),
    samples=_sample_dropout)
def random_dropout(xp, x: Array, p: float, axis: tuple | None = None, scale: float = 1.0) -> Array:
    """x * scale with the probability 1 - p, else 0; the draw is shared along axes not in `axis`."""
    shape = x.shape if axis is None else \
        tuple([n if i in axis else 1 for i, n in enumerate(x.shape)])
    mask = kn.keep_mask(xp, shape, 1.0 - p)
    out = x * mask
    if scale != 1.0:
        out *= x.dtype.type(scale)
    return out, mask


@random_dropout.kernel_vjp
def _(xp, g, mask, scale):
    d = g * mask
    if scale != 1.0:
        d *= g.dtype.type(scale)
    return d


@random_dropout.composite
def _(F, x, mask, scale):
    return x * F.cast(mask, x.dtype) * scale
