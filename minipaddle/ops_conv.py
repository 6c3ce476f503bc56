"""Convolution and transposed convolution, of one to three axes of space.

Imports kernels_conv, kernels_nn and core. Convolution and its two gradients are a closed family:
the vjp of each is made of the others, so gradients of any order run at full speed.
"""
from __future__ import annotations

import functools
import math

from . import kernels_conv as kc
from . import kernels_nn as kn
from .core import Array, op

CHANNELS_LAST = ("NLC", "NWC", "NHWC", "NDHWC")


# ---- geometry: Paddle's many spellings of strides and paddings
def ints(value, n: int, what: str) -> tuple:
    """An int, or a list of n ints, as a tuple of n ints."""
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            value = list(value) * n
        if len(value) != n:
            raise ValueError(f"{what} must be one int or {n} ints, got {list(value)}")
        return tuple([int(v) for v in value])
    return (int(value),) * n


def _hashable(value):
    return tuple([_hashable(v) for v in value]) if isinstance(value, (list, tuple)) else \
        value if isinstance(value, str) else int(value)


def _pairs(padding, n: int, channel_last: bool) -> tuple:
    """(before, after) for each of n axes from an int, n ints, 2n ints, n pairs or n + 2 pairs."""
    if not isinstance(padding, tuple):
        return ((padding, padding),) * n
    if padding and isinstance(padding[0], tuple):
        if len(padding) == n + 2:                   # of batch and channels too
            padding = padding[1:-1] if channel_last else padding[2:]
        if len(padding) == n and all(len(p) == 2 for p in padding):
            return padding
    elif len(padding) == 1:
        return ((padding[0], padding[0]),) * n
    elif len(padding) == n:
        return tuple([(p, p) for p in padding])
    elif len(padding) == 2 * n:
        return tuple(zip(padding[::2], padding[1::2]))
    raise ValueError(f"padding must be an int, 'SAME', 'VALID', {n} ints, {2 * n} ints (before and "
                     f"after each axis) or {n} pairs, got {padding}")


def _padding(padding, sizes, kernel, stride, dilation, channel_last) -> tuple:
    """((before, after), ...), and the dilation: 'SAME' sets it to one, as Paddle does."""
    n = len(kernel)
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return ((0, 0),) * n, dilation
        if padding.upper() != "SAME":
            raise ValueError(f"padding must be 'SAME', 'VALID' or numbers, got {padding!r}")
        totals = [max((-(-m // s) - 1) * s + k - m, 0)
                  for m, s, k in zip(sizes, stride, kernel)]
        return tuple([(t // 2, t - t // 2) for t in totals]), (1,) * n
    return _pairs(padding, n, channel_last), dilation


def last(data_format: str, n: int) -> bool:
    """Whether channels stand last; ValueError for a format that is none of n axes."""
    known = (("NCL", "NLC", "NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC"))[n - 1]
    if data_format not in known:
        raise ValueError(f"data_format must be {known[0]!r} or {known[1]!r}, got {data_format!r}")
    return data_format[-1] == "C"


def to_first(F, x):
    """(N, *S, C) as (N, C, *S), and back again with `to_last`."""
    n = len(x.shape)
    return F.transpose(x, [0, n - 1, *range(1, n - 1)])


def to_last(F, x):
    n = len(x.shape)
    return F.transpose(x, [0, *range(2, n), 1])


def _first(xp, x, channel_last):
    return xp.moveaxis(x, -1, 1) if channel_last else x


def _back(xp, x, channel_last):
    return xp.ascontiguousarray(xp.moveaxis(x, 1, -1)) if channel_last else x


# ---- the convolution family; channels first, plain tuples
def _sample_family(which):
    """Arguments of conv_forward, conv_input_grad or conv_weight_grad: which two of x, w, y."""
    def sample(draw):
        groups, c, k = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
        kernel, size = (draw.integer(1, 3), 2), (draw.integer(1, 3), 2)
        space, stride = (draw.integer(3, 5), 4), (draw.integer(1, 2), 1)
        rest = (stride, (draw.integer(-1, 1), 0), (1, draw.integer(1, 2)), groups)
        shapes = {"x": (2, groups * c, *space), "w": (groups * k, c, *kernel),
                  "y": (2, groups * k, *size)}
        third = {"x": space, "w": kernel, "y": size}["xwy".replace(which[0], "").replace(
            which[1], "")]
        return (*[draw.array(shapes[n]) for n in which], *rest, third), {}
    return sample


@op(namespace=None, amp="allow", legacy=("conv2d",), samples=_sample_family("xw"))
def conv_forward(xp, x: Array, weight: Array, stride: tuple, pad: tuple, dilation: tuple,
                 groups: int, size: tuple) -> Array:
    """Convolution without bias: `pad` before each axis (may be negative), output `size`."""
    return kc.conv(xp, x, weight, tuple(stride), tuple(pad), tuple(dilation), groups, tuple(size))


@conv_forward.vjp
def _(F, g, x, weight, stride, pad, dilation, groups, need):
    rest = (stride, pad, dilation, groups)
    return (F.conv_input_grad(g, weight, *rest, tuple(x.shape[2:])) if need[0] else None,
            F.conv_weight_grad(x, g, *rest, tuple(weight.shape[2:])) if need[1] else None)


@op(namespace=None, amp="allow", legacy=("conv2d_transpose",), samples=_sample_family("yw"))
def conv_input_grad(xp, y: Array, weight: Array, stride: tuple, pad: tuple, dilation: tuple,
                    groups: int, size: tuple) -> Array:
    """The gradient of `conv_forward` to its input, of spatial size `size`; y: its output's."""
    return kc.conv_input(xp, y, weight, tuple(stride), tuple(pad), tuple(dilation), groups,
                         tuple(size))


@conv_input_grad.vjp
def _(F, g, y, weight, stride, pad, dilation, groups, need):
    rest = (stride, pad, dilation, groups)
    return (F.conv_forward(g, weight, *rest, tuple(y.shape[2:])) if need[0] else None,
            F.conv_weight_grad(g, y, *rest, tuple(weight.shape[2:])) if need[1] else None)


@op(namespace=None, amp="allow", samples=_sample_family("xy"))
def conv_weight_grad(xp, x: Array, y: Array, stride: tuple, pad: tuple, dilation: tuple,
                     groups: int, kernel: tuple) -> Array:
    """The gradient of `conv_forward` to its weight, of spatial size `kernel`; y: its output's."""
    return kc.conv_weight(xp, x, y, tuple(stride), tuple(pad), tuple(dilation), groups,
                          tuple(kernel))


@conv_weight_grad.vjp
def _(F, g, x, y, stride, pad, dilation, groups, need):
    rest = (stride, pad, dilation, groups)
    return (F.conv_input_grad(y, g, *rest, tuple(x.shape[2:])) if need[0] else None,
            F.conv_forward(x, g, *rest, tuple(y.shape[2:])) if need[1] else None)


@op(namespace=None, amp="keep",
    samples=lambda draw: ((draw.array(draw.shape(min_dims=2, max_dims=4)),), {}))
def channel_sum(xp, x: Array) -> Array:
    """The sum over all axes but the second: the gradient of a bias by channels, [C]."""
    n, c = x.shape[:2]
    return kn.row_sums(xp, x.reshape(n, c, math.prod(x.shape[2:]))).sum(0)


@channel_sum.vjp
def _(F, g, x_shape):
    return F.expand(F.reshape(g, [1, x_shape[1]] + [1] * (len(x_shape) - 2)), list(x_shape))


def _conv_geometry(x_shape, w_shape, stride, padding, dilation, groups, channel_last):
    return _conv_geometry_of(tuple(x_shape), tuple(w_shape), _hashable(stride),
                             _hashable(padding), _hashable(dilation), groups, channel_last)


@functools.lru_cache(maxsize=512)
def _conv_geometry_of(x_shape, w_shape, stride, padding, dilation, groups, channel_last):
    """(stride, pad, dilation, groups, size) of `conv_forward`; ValueError for shapes that clash."""
    n = len(w_shape) - 2
    if len(x_shape) != n + 2:
        raise ValueError(f"x must have {n + 2} axes (batch, channels and {n} of space)")
    sizes = x_shape[1:-1] if channel_last else x_shape[2:]
    channels = x_shape[-1] if channel_last else x_shape[1]
    if groups < 1 or channels != w_shape[1] * groups:
        raise ValueError(f"x has {channels} channels, but a weight of shape {list(w_shape)} with "
                         f"groups={groups} takes {w_shape[1] * groups} (its second size times "
                         "groups)")
    if w_shape[0] % groups:
        raise ValueError(f"the weight's {w_shape[0]} output channels do not divide by "
                         f"groups={groups}")
    stride, dilation = ints(stride, n, "stride"), ints(dilation, n, "dilation")
    if min(stride) < 1 or min(dilation) < 1:
        raise ValueError("stride and dilation must be at least 1")
    kernel = w_shape[2:]
    pairs, dilation = _padding(padding, sizes, kernel, stride, dilation, channel_last)
    size = tuple([(m + a + b - (k - 1) * d - 1) // s + 1
                  for m, (a, b), k, d, s in zip(sizes, pairs, kernel, dilation, stride)])
    if min(size) < 1:
        raise ValueError(f"the kernel {list(kernel)} with dilation {list(dilation)} is larger than "
                         f"the padded input {list(sizes)}: nothing is left; pad more, or use a "
                         "smaller kernel")
    return stride, tuple([a for a, _ in pairs]), dilation, groups, size


def _add_bias(out, bias):
    if bias is not None:
        if bias.shape != out.shape[1:2]:
            raise ValueError(f"bias must have one number for each of the {out.shape[1]} output "
                             f"channels")
        out += bias.reshape((-1,) + (1,) * (out.ndim - 2))
    return out


def _conv(xp, x, weight, bias, stride, padding, dilation, groups, data_format):
    channels_last = last(data_format, weight.ndim - 2)
    geometry = _conv_geometry(x.shape, weight.shape, stride, padding, dilation, groups,
                              channels_last)
    out = kc.conv(xp, _first(xp, x, channels_last), weight, *geometry)
    return _back(xp, _add_bias(out, bias), channels_last)


def _conv_vjp(F, g, x, weight, stride, padding, dilation, groups, data_format, need):
    channels_last = last(data_format, len(weight.shape) - 2)
    geometry = _conv_geometry(x.shape, weight.shape, stride, padding, dilation, groups,
                              channels_last)[:4]
    if channels_last:
        x, g = to_first(F, x), to_first(F, g)
    dx = F.conv_input_grad(g, weight, *geometry, tuple(x.shape[2:])) if need[0] else None
    if channels_last and dx is not None:
        dx = to_last(F, dx)
    dw = F.conv_weight_grad(x, g, *geometry, tuple(weight.shape[2:])) if need[1] else None
    return dx, dw, F.channel_sum(g) if need[2] else None


def _sample_conv(n, transposed=False):
    def sample(draw):
        groups, c, k = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
        kernel = [draw.integer(1, 3) for _ in range(n)]
        spaces = [draw.integer(3, 5) for _ in range(n)]
        w = [groups * c, k, *kernel] if transposed else [groups * k, c, *kernel]
        x = draw.array((draw.integer(1, 2), groups * c, *spaces))
        dilation = 1 if 3 in kernel and 3 in spaces else draw.integer(1, 2)
        dilation = 1 if min(spaces) < 5 else dilation
        kwargs = dict(stride=draw.integer(1, 2), padding=0 if transposed else draw.integer(0, 1),
                      dilation=dilation, groups=groups)
        return (x, draw.array(tuple(w)), draw.array((groups * k,))), kwargs
    return sample


@op(namespace="functional", amp="allow", samples=_sample_conv(1))
def conv1d(xp, x: Array, weight: Array, bias: Array | None = None,
           stride: int | list[int] = 1, padding: int | list[int] | str = 0,
           dilation: int | list[int] = 1, groups: int = 1, data_format: str = "NCL") -> Array:
    """Convolution (cross-correlation) of signals (N, C, L) with a weight (K, C / groups, k).

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 1, 4]), paddle.ones([1, 1, 3])
    >>> paddle.nn.functional.conv1d(x, w, padding=1).tolist()
    [[[2.0, 3.0, 3.0, 2.0]]]
    """
    return _conv(xp, x, weight, bias, stride, padding, dilation, groups, data_format)


@op(namespace="functional", amp="allow", samples=_sample_conv(2))
def conv2d(xp, x: Array, weight: Array, bias: Array | None = None,
           stride: int | list[int] = 1, padding: int | list[int] | str = 0,
           dilation: int | list[int] = 1, groups: int = 1, data_format: str = "NCHW") -> Array:
    """Convolution (cross-correlation) of images (N, C, H, W) with a weight (K, C / groups, kh, kw).

    out[n, k, i, j] = bias[k] + sum over c, a, b of
    weight[k, c, a, b] * x[n, c, i * stride + a * dilation - pad, j * stride + b * dilation - pad]

    padding: an int; [h, w]; [top, bottom, left, right]; a pair for each axis; 'VALID' (none);
    'SAME' (output size is input size / stride, rounded up; dilation is then 1, as in Paddle).
    data_format 'NHWC' takes and gives channels last. ValueError when channels or sizes clash.

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 3, 8, 8]), paddle.ones([6, 3, 3, 3])
    >>> paddle.nn.functional.conv2d(x, w, stride=2, padding=1).shape
    [1, 6, 4, 4]
    """
    return _conv(xp, x, weight, bias, stride, padding, dilation, groups, data_format)


@op(namespace="functional", samples=_sample_conv(3))
def conv3d(xp, x: Array, weight: Array, bias: Array | None = None,
           stride: int | list[int] = 1, padding: int | list[int] | str = 0,
           dilation: int | list[int] = 1, groups: int = 1, data_format: str = "NCDHW") -> Array:
    """Convolution of volumes (N, C, D, H, W) with a weight (K, C / groups, kd, kh, kw).

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 1, 4, 4, 4]), paddle.ones([2, 1, 3, 3, 3])
    >>> paddle.nn.functional.conv3d(x, w).shape
    [1, 2, 2, 2, 2]
    """
    return _conv(xp, x, weight, bias, stride, padding, dilation, groups, data_format)


for _conv_op in (conv1d, conv2d, conv3d):
    _conv_op.vjp(_conv_vjp)


# ---- transposed convolution
def _transpose_geometry(x_shape, w_shape, stride, padding, output_padding, dilation, groups,
                        output_size, channel_last):
    return _transpose_geometry_of(
        tuple(x_shape), tuple(w_shape), _hashable(stride), _hashable(padding),
        _hashable(output_padding), _hashable(dilation), groups,
        None if output_size is None else _hashable(output_size), channel_last)


@functools.lru_cache(maxsize=512)
def _transpose_geometry_of(x_shape, w_shape, stride, padding, output_padding, dilation, groups,
                           output_size, channel_last):
    n = len(w_shape) - 2
    if len(x_shape) != n + 2:
        raise ValueError(f"x must have {n + 2} axes (batch, channels and {n} of space)")
    sizes = x_shape[1:-1] if channel_last else x_shape[2:]
    channels = x_shape[-1] if channel_last else x_shape[1]
    if channels != w_shape[0] or channels % groups:
        raise ValueError(f"x has {channels} channels, the weight of shape {list(w_shape)} takes "
                         f"{w_shape[0]} (its first size), which groups={groups} must divide")
    stride, dilation = ints(stride, n, "stride"), ints(dilation, n, "dilation")
    extra, kernel = ints(output_padding, n, "output_padding"), w_shape[2:]
    pairs, dilation = _padding(padding, sizes, kernel, stride, dilation, channel_last)
    size = [(m - 1) * s - a - b + (k - 1) * d + 1
            for m, (a, b), k, d, s in zip(sizes, pairs, kernel, dilation, stride)]
    if output_size is not None:
        if any(extra):
            raise ValueError("output_padding and output_size exclude each other")
        wanted = ints(output_size[-n:] if isinstance(output_size, tuple) else output_size, n,
                      "output_size")
        for got, low, s in zip(wanted, size, stride):
            if not low <= got < low + s:
                raise ValueError(f"output_size {list(wanted)} is not within {size} and less than "
                                 f"stride {list(stride)} more")
        size = wanted
    else:
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
            raise ValueError(f"output_padding {list(extra)} must be less than stride "
                             f"{list(stride)} or dilation")
        size = [m + e for m, e in zip(size, extra)]
    if min(size) < 1:
        raise ValueError(f"padding {padding} leaves nothing of the output, {list(size)}")
    return stride, tuple([a for a, _ in pairs]), dilation, groups, tuple(size)


def _conv_transpose(xp, x, weight, bias, stride, padding, output_padding, dilation, groups,
                    output_size, data_format):
    channels_last = last(data_format, weight.ndim - 2)
    geometry = _transpose_geometry(x.shape, weight.shape, stride, padding, output_padding,
                                   dilation, groups, output_size, channels_last)
    out = kc.conv_input(xp, _first(xp, x, channels_last), weight, *geometry)
    return _back(xp, _add_bias(out, bias), channels_last)


def _conv_transpose_vjp(F, g, x, weight, stride, padding, output_padding, dilation, groups,
                        output_size, data_format, need):
    channels_last = last(data_format, len(weight.shape) - 2)
    geometry = _transpose_geometry(x.shape, weight.shape, stride, padding, output_padding,
                                   dilation, groups, output_size, channels_last)[:4]
    if channels_last:
        x, g = to_first(F, x), to_first(F, g)
    dx = F.conv_forward(g, weight, *geometry, tuple(x.shape[2:])) if need[0] else None
    if channels_last and dx is not None:
        dx = to_last(F, dx)
    dw = F.conv_weight_grad(g, x, *geometry, tuple(weight.shape[2:])) if need[1] else None
    return dx, dw, F.channel_sum(g) if need[2] else None


@op(namespace="functional", samples=_sample_conv(1, True))
def conv1d_transpose(xp, x: Array, weight: Array, bias: Array | None = None,
                     stride: int | list[int] = 1, padding: int | list[int] | str = 0,
                     output_padding: int | list[int] = 0, groups: int = 1,
                     dilation: int | list[int] = 1, output_size: int | list[int] | None = None,
                     data_format: str = "NCL") -> Array:
    """Transposed convolution of signals: the gradient of `conv1d` to its input.

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 1, 3]), paddle.ones([1, 2, 2])
    >>> paddle.nn.functional.conv1d_transpose(x, w, stride=2).shape
    [1, 2, 6]
    """
    return _conv_transpose(xp, x, weight, bias, stride, padding, output_padding, dilation, groups,
                           output_size, data_format)


@op(namespace="functional", samples=_sample_conv(2, True), legacy=("conv2d_transpose",))
def conv2d_transpose(xp, x: Array, weight: Array, bias: Array | None = None,
                     stride: int | list[int] = 1, padding: int | list[int] | str = 0,
                     output_padding: int | list[int] = 0, dilation: int | list[int] = 1,
                     groups: int = 1, output_size: int | list[int] | None = None,
                     data_format: str = "NCHW") -> Array:
    """Transposed convolution of images: the gradient of `conv2d` to its input.

    weight: [in, out / groups, kh, kw]. The output's side is (in - 1) * stride - 2 * padding
    + dilation * (k - 1) + 1 + output_padding; output_size chooses it instead. ValueError when
    the wanted size cannot be reached.

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 3, 4, 4]), paddle.ones([3, 2, 3, 3])
    >>> paddle.nn.functional.conv2d_transpose(x, w, stride=2, padding=1, output_padding=1).shape
    [1, 2, 8, 8]
    """
    return _conv_transpose(xp, x, weight, bias, stride, padding, output_padding, dilation, groups,
                           output_size, data_format)


@op(namespace="functional", samples=_sample_conv(3, True))
def conv3d_transpose(xp, x: Array, weight: Array, bias: Array | None = None,
                     stride: int | list[int] = 1, padding: int | list[int] | str = 0,
                     output_padding: int | list[int] = 0, groups: int = 1,
                     dilation: int | list[int] = 1, output_size: int | list[int] | None = None,
                     data_format: str = "NCDHW") -> Array:
    """Transposed convolution of volumes: the gradient of `conv3d` to its input.

    >>> import minipaddle as paddle
    >>> x, w = paddle.ones([1, 1, 2, 2, 2]), paddle.ones([1, 1, 2, 2, 2])
    >>> paddle.nn.functional.conv3d_transpose(x, w, stride=2).shape
    [1, 1, 4, 4, 4]
    """
    return _conv_transpose(xp, x, weight, bias, stride, padding, output_padding, dilation, groups,
                           output_size, data_format)


for _conv_op in (conv1d_transpose, conv2d_transpose, conv3d_transpose):
    _conv_op.vjp(_conv_transpose_vjp)
