"""Pooling, padding, resampling, unfolding: what reads a neighbourhood of each place.

Imports kernels_conv, kernels_pool, ops_conv's geometry and core. Average pooling, padding,
resampling and unfolding are linear: each has a partner that carries gradients back, and the two
are each other's vjp. Max pooling picks from x; `max_pool_scatter` and `max_pool_gather` put and
take at the picked places, and are each other's vjp too.
"""
from __future__ import annotations

import math

import numpy as np

from . import kernels_conv as kc
from . import kernels_nn as kn
from . import kernels_pool as kp
from .core import Array, op
from .ops_conv import _back, _first, _hashable, _padding, ints, last, to_first, to_last


# ---- pooling
def _pool_geometry(shape, kernel_size, stride, padding, ceil_mode, channel_last):
    """(kernel, stride, before, after, size) for an input (N, C, *S) or (N, *S, C)."""
    n = len(shape) - 2
    kernel = ints(kernel_size, n, "kernel_size")
    stride = kernel if stride is None else ints(stride, n, "stride")
    if min(kernel) < 1 or min(stride) < 1:
        raise ValueError("kernel_size and stride must be at least 1")
    sizes = tuple(shape[1:-1] if channel_last else shape[2:])
    pairs, _ = _padding(_hashable(padding), sizes, kernel, stride, (1,) * n, channel_last)
    size = tuple([((m + a + b - k + (s - 1 if ceil_mode else 0)) // s + 1)
                  for m, (a, b), k, s in zip(sizes, pairs, kernel, stride)])
    if min(size) < 1:
        raise ValueError(f"the window {list(kernel)} is larger than the padded input "
                         f"{list(sizes)}: nothing is left")
    return kernel, stride, tuple([a for a, _ in pairs]), tuple([b for _, b in pairs]), size


def _rank(x, n):
    if len(x.shape) != n + 2:
        raise ValueError(f"x must have {n + 2} axes (batch, channels and {n} of space), got shape "
                         f"{list(x.shape)}")


def _max_pool(xp, x, n, kernel_size, stride, padding, return_mask, ceil_mode, data_format):
    _rank(x, n)
    channel_last = last(data_format, n)
    kernel, stride, pad, _, size = _pool_geometry(x.shape, kernel_size, stride, padding,
                                                  ceil_mode, channel_last)
    x = _first(xp, x, channel_last)
    out = _back(xp, kp.max_pool(xp, x, kernel, stride, pad, size), channel_last)
    if not return_mask:
        return out
    return out, _back(xp, kp.max_index(xp, x, kernel, stride, pad, size), channel_last)


def _max_pool_vjp(F, g, x, out, kernel_size, stride, padding, return_mask, ceil_mode, data_format):
    if return_mask:
        g, out = g[0], out[0]
    channel_last = last(data_format, len(x.shape) - 2)
    kernel, stride, pad, _, size = _pool_geometry(x.shape, kernel_size, stride, padding,
                                                  ceil_mode, channel_last)
    if channel_last:
        g, x, out = to_first(F, g), to_first(F, x), to_first(F, out)
    dx = F.max_pool_scatter(g, x, out, kernel, stride, pad)
    return to_last(F, dx) if channel_last else dx


def _sample_pool(n):
    def sample(draw):
        shape = (draw.integer(1, 2), draw.integer(1, 2), *[draw.integer(3, 5) for _ in range(n)])
        k, padding = draw.integer(2, 3), draw.integer(0, 1)
        # A stride above k, or ceil_mode with padding, may leave a window empty: its max is -inf.
        return (draw.distinct(shape), k), dict(stride=draw.integer(1, k), padding=padding,
                                               ceil_mode=not padding and draw.bool())
    return sample


@op(namespace="functional", samples=_sample_pool(1))
def max_pool1d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, return_mask: bool = False,
               ceil_mode: bool = False) -> Array:
    """The largest value of each window of signals (N, C, L); see `max_pool2d`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.max_pool1d(paddle.to_tensor([[[1., 4., 2., 3.]]]), 2).tolist()
    [[[4.0, 3.0]]]
    """
    return _max_pool(xp, x, 1, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


@max_pool1d.vjp
def _(F, g, x, out, kernel_size, stride, padding, return_mask, ceil_mode):
    return _max_pool_vjp(F, g, x, out, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


@op(namespace="functional", samples=_sample_pool(2), legacy=("pool2d", "max_pool2d_with_index"))
def max_pool2d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, return_mask: bool = False,
               ceil_mode: bool = False, data_format: str = "NCHW") -> Array:
    """The largest value of each window of images (N, C, H, W).

    stride: that of the windows, kernel_size if None. padding as in `conv2d`; it never wins.
    ceil_mode: a last window that is only partly inside counts. return_mask=True also gives the
    flat position in its plane of each maximum, int32. Of equal values the first, row by row,
    is the maximum: it alone gets the gradient.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[[1., 2.], [4., 3.]]]])
    >>> paddle.nn.functional.max_pool2d(x, 2).tolist()
    [[[[4.0]]]]
    """
    return _max_pool(xp, x, 2, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@op(namespace="functional", samples=_sample_pool(3))
def max_pool3d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, return_mask: bool = False,
               ceil_mode: bool = False, data_format: str = "NCDHW") -> Array:
    """The largest value of each window of volumes (N, C, D, H, W); see `max_pool2d`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.max_pool3d(paddle.ones([1, 1, 4, 4, 4]), 2).shape
    [1, 1, 2, 2, 2]
    """
    return _max_pool(xp, x, 3, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


max_pool2d.vjp(_max_pool_vjp)
max_pool3d.vjp(_max_pool_vjp)


def _sample_winners(scatter):
    def sample(draw):
        # integers: x only says where to pick, and is no variable
        x = np.argsort(draw.array((1, 2, draw.integer(3, 4), 4)), axis=None).reshape(1, 2, -1, 4)
        kernel, stride, pad = (2, draw.integer(1, 2)), (draw.integer(1, 2), 1), (0, 0)
        size = tuple([(n - k) // s + 1 for n, k, s in zip(x.shape[2:], kernel, stride)])
        out = kp.max_pool(np, x, kernel, stride, pad, size)
        return (draw.array(out.shape if scatter else x.shape), x, out, kernel, stride, pad), {}
    return sample


@op(namespace=None, amp="keep", half="native", samples=_sample_winners(True))
def max_pool_scatter(xp, y: Array, x: Array, winners: Array, kernel: tuple, stride: tuple,
                     pad: tuple) -> Array:
    """y, one value a window, at the place of the window's maximum in x; winners: the maxima."""
    return kp.max_scatter(xp, y, x, winners, tuple(kernel), tuple(stride), tuple(pad))


@max_pool_scatter.vjp
def _(F, g, x, winners, kernel, stride, pad):
    return F.max_pool_gather(g, x, winners, kernel, stride, pad), None, None


@op(namespace=None, amp="keep", half="native", samples=_sample_winners(False))
def max_pool_gather(xp, y: Array, x: Array, winners: Array, kernel: tuple, stride: tuple,
                    pad: tuple) -> Array:
    """The values of y at the places of the maxima of x's windows."""
    return kp.max_gather(xp, y, x, winners, tuple(kernel), tuple(stride), tuple(pad))


@max_pool_gather.vjp
def _(F, g, x, winners, kernel, stride, pad):
    return F.max_pool_scatter(g, x, winners, kernel, stride, pad), None, None


def _avg_pool(xp, x, n, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override,
              data_format):
    _rank(x, n)
    channel_last = last(data_format, n)
    geometry = _pool_geometry(x.shape, kernel_size, stride, padding, ceil_mode, channel_last)
    out = kp.avg_pool(xp, _first(xp, x, channel_last), *geometry, exclusive, divisor_override)
    return _back(xp, out, channel_last)


def _avg_pool_vjp(F, g, x_shape, kernel_size, stride, padding, ceil_mode, exclusive,
                  divisor_override, data_format):
    channel_last = last(data_format, len(x_shape) - 2)
    kernel, stride, pad, after, _ = _pool_geometry(x_shape, kernel_size, stride, padding,
                                                   ceil_mode, channel_last)
    shape = tuple(x_shape[1:-1] if channel_last else x_shape[2:])
    if channel_last:
        g = to_first(F, g)
    dx = F.avg_pool_spread(g, shape, kernel, stride, pad, after, exclusive, divisor_override)
    return to_last(F, dx) if channel_last else dx


@op(namespace="functional", promote="float", samples=_sample_pool(1))
def avg_pool1d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, exclusive: bool = True,
               ceil_mode: bool = False) -> Array:
    """The mean of each window of signals (N, C, L); see `avg_pool2d`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.avg_pool1d(paddle.to_tensor([[[1., 3., 2., 4.]]]), 2).tolist()
    [[[2.0, 3.0]]]
    """
    return _avg_pool(xp, x, 1, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


@avg_pool1d.vjp
def _(F, g, x_shape, kernel_size, stride, padding, ceil_mode, exclusive):
    return _avg_pool_vjp(F, g, x_shape, kernel_size, stride, padding, ceil_mode, exclusive, None,
                         "NCL")


@op(namespace="functional", promote="float", samples=_sample_pool(2), legacy=("pool2d",))
def avg_pool2d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, ceil_mode: bool = False,
               exclusive: bool = True, divisor_override: float | None = None,
               data_format: str = "NCHW") -> Array:
    """The mean of each window of images (N, C, H, W).

    exclusive: padding is not counted in the divisor. divisor_override divides instead of the
    number of elements. Else as `max_pool2d`.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[[1., 2.], [4., 5.]]]])
    >>> paddle.nn.functional.avg_pool2d(x, 2).tolist()
    [[[[3.0]]]]
    """
    return _avg_pool(xp, x, 2, kernel_size, stride, padding, ceil_mode, exclusive,
                     divisor_override, data_format)


@op(namespace="functional", promote="float", samples=_sample_pool(3))
def avg_pool3d(xp, x: Array, kernel_size: int | list[int], stride: int | list[int] | None = None,
               padding: int | list[int] | str = 0, ceil_mode: bool = False,
               exclusive: bool = True, divisor_override: float | None = None,
               data_format: str = "NCDHW") -> Array:
    """The mean of each window of volumes (N, C, D, H, W); see `avg_pool2d`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.avg_pool3d(paddle.ones([1, 1, 4, 4, 4]), 2).shape
    [1, 1, 2, 2, 2]
    """
    return _avg_pool(xp, x, 3, kernel_size, stride, padding, ceil_mode, exclusive,
                     divisor_override, data_format)


avg_pool2d.vjp(_avg_pool_vjp)
avg_pool3d.vjp(_avg_pool_vjp)


def _sample_average(spread):
    def sample(draw):
        shape, pad = (draw.integer(3, 4), 4), (draw.integer(0, 1), 0)
        kernel, stride = (2, draw.integer(1, 3)), (draw.integer(1, 2), 1)
        size = tuple([(n + 2 * p - k) // s + 1
                      for n, k, s, p in zip(shape, kernel, stride, pad)])
        rest = (kernel, stride, pad, pad)
        if spread:
            return (draw.array((1, 2, *size)), shape, *rest, draw.bool()), {}
        return (draw.array((1, 2, *shape)), *rest, size, draw.bool()), {}
    return sample


@op(namespace=None, amp="keep", samples=_sample_average(True))
def avg_pool_spread(xp, x: Array, shape: tuple, kernel: tuple, stride: tuple, pad: tuple,
                    after: tuple, exclusive: bool, divisor: float | None = None) -> Array:
    """x, one value a window, spread evenly over the window: the gradient of average pooling."""
    return kp.avg_scatter(xp, x, tuple(shape), tuple(kernel), tuple(stride), tuple(pad),
                          tuple(after), exclusive, divisor)


@avg_pool_spread.vjp
def _(F, g, x_shape, kernel, stride, pad, after, exclusive, divisor):
    return F.avg_pool_windows(g, kernel, stride, pad, after, tuple(x_shape[2:]), exclusive,
                              divisor)


@op(namespace=None, amp="keep", samples=_sample_average(False))
def avg_pool_windows(xp, x: Array, kernel: tuple, stride: tuple, pad: tuple, after: tuple,
                     size: tuple, exclusive: bool, divisor: float | None = None) -> Array:
    """Average pooling in plain tuples, channels first."""
    return kp.avg_pool(xp, x, tuple(kernel), tuple(stride), tuple(pad), tuple(after), tuple(size),
                       exclusive, divisor)


@avg_pool_windows.vjp
def _(F, g, x_shape, kernel, stride, pad, after, exclusive, divisor):
    return F.avg_pool_spread(g, tuple(x_shape[2:]), kernel, stride, pad, after, exclusive, divisor)


# ---- resampling: each axis of space times a matrix of weights
def axis_weights(xp, kind, n, out, scale, align_corners, align_mode, dtype):
    """(out, n): what each place of one resampled axis takes of each old place.

    kind 'area': means of equal parts (adaptive pooling); 'nearest', 'linear', 'cubic'.
    scale: new size / old size where it was given as a factor, else None.
    """
    places = xp.arange(out, dtype=np.float64)
    old = xp.arange(n)
    if kind == "area":
        start = xp.arange(out) * n // out
        end = -(-(xp.arange(out) + 1) * n // out)
        inside = (old >= start[:, None]) & (old < end[:, None])
        return (inside / (end - start)[:, None]).astype(dtype)
    if align_corners:
        step = (n - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale else n / out
    if kind == "nearest":
        at = xp.floor(places * step + (0.5 if align_corners else 0.0))
        taps = [(xp.clip(at, 0, n - 1), 1.0)]
    else:
        half_pixel = not align_corners and (kind == "cubic" or align_mode == 0)
        at = (places + 0.5) * step - 0.5 if half_pixel else places * step
        if kind == "linear":
            at = xp.clip(at, 0, n - 1)
            low = xp.floor(at)
            taps = [(low, 1 - (at - low)), (xp.minimum(low + 1, n - 1), at - low)]
        else:
            low = xp.floor(at)
            t = at - low
            taps = [(xp.clip(low + k, 0, n - 1), _cubic(xp, t - k)) for k in (-1, 0, 1, 2)]
    weights = xp.zeros((out, n), np.float64)
    for place, weight in taps:
        weights = weights + (old == place[:, None]) * xp.asarray(weight).reshape(-1, 1)
    return weights.astype(dtype)


def _cubic(xp, t, a=-0.75):
    """The cubic convolution kernel (Keys, 1981) that Paddle uses."""
    t = xp.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return xp.where(t <= 1, near, xp.where(t < 2, far, 0.0))


def _times(xp, x, axis, matrix):
    """x with each line along an axis multiplied by matrix (out, in)."""
    if axis == x.ndim - 1:
        return xp.matmul(x, matrix.T)
    moved = x.reshape(-1, x.shape[axis], math.prod(x.shape[axis + 1:]))
    return xp.matmul(matrix, moved).reshape(*x.shape[:axis], matrix.shape[0], *x.shape[axis + 1:])


def _resample(xp, x, old, new, kind, scales, align_corners, align_mode, back):
    for i, (n, out) in enumerate(zip(old, new)):
        scale = None if scales is None else scales[i]
        if n == out and (kind == "area" or scale in (None, 1)):
            continue
        weights = axis_weights(xp, kind, n, out, scale, align_corners, align_mode, x.dtype)
        x = _times(xp, x, i + 2, weights.T if back else weights)
    return x


def _sample_resample(draw):
    x = draw.array((1, 2, draw.integer(1, 4), draw.integer(1, 4)))
    return (x, (draw.integer(1, 5), draw.integer(1, 5)),
            draw.choice(("area", "nearest", "linear", "cubic"))), \
        dict(align_corners=draw.bool(), align_mode=draw.integer(0, 1))


@op(namespace=None, promote="float", samples=_sample_resample,
    legacy=("bilinear_interp_v2", "nearest_interp_v2", "bicubic_interp_v2", "linear_interp_v2",
            "trilinear_interp_v2"))
def resample(xp, x: Array, size: tuple, kind: str, scales: tuple | None = None,
             align_corners: bool = False, align_mode: int = 0) -> Array:
    """(N, C, *S) resampled to (N, C, *size); see `axis_weights` for the kinds."""
    if kind == "area" and all(n == 1 for n in size):
        length = math.prod(x.shape[2:])
        sums = kn.row_sums(xp, x.reshape(*x.shape[:2], length))
        return (sums * x.dtype.type(1 / max(length, 1))).reshape(*x.shape[:2], *size)
    out = _resample(xp, x, x.shape[2:], size, kind, scales, align_corners, align_mode, False)
    return x.copy() if out is x else out


@resample.vjp
def _(F, g, x_shape, kind, scales, align_corners, align_mode):
    return F.resample_back(g, tuple(x_shape[2:]), kind, scales, align_corners, align_mode)


@op(namespace=None, amp="keep", samples=_sample_resample)
def resample_back(xp, x: Array, old: tuple, kind: str, scales: tuple | None = None,
                  align_corners: bool = False, align_mode: int = 0) -> Array:
    """The gradient of `resample` to its input, whose size is `old`."""
    if kind == "area" and all(n == 1 for n in x.shape[2:]):
        each = x * x.dtype.type(1 / max(math.prod(old), 1))
        return xp.broadcast_to(each, (*x.shape[:2], *old)).copy()
    out = _resample(xp, x, old, x.shape[2:], kind, scales, align_corners, align_mode, True)
    return x.copy() if out is x else out


@resample_back.vjp
def _(F, g, x_shape, kind, scales, align_corners, align_mode):
    return F.resample(g, tuple(x_shape[2:]), kind, scales, align_corners, align_mode)


@op(namespace=None)
def adaptive_max_index(xp, x: Array, size: tuple) -> Array:
    """The flat position in its plane of the maximum of each of size equal parts, int32."""
    n, c, *old = x.shape
    planes = x.reshape(n, c, math.prod(old))
    flat = xp.arange(math.prod(old), dtype=np.int32).reshape(old)
    out = xp.zeros((n, c, *size), np.int32)
    for place in np.ndindex(*size):
        part = tuple([slice(p * m // s, -(-(p + 1) * m // s))
                      for p, m, s in zip(place, old, size)])
        positions = flat[part].reshape(-1)
        out[(slice(None), slice(None), *place)] = positions[
            xp.argmax(planes[:, :, positions], axis=-1)]
    return out


# ---- padding
def _pad_pairs(ndim, pad, channel_last) -> tuple:
    """(before, after) for every axis from Paddle's list."""
    pad = [int(v) for v in pad]
    pairs = [(0, 0)] * ndim
    if len(pad) == 2 * ndim:                        # from the first axis to the last
        return tuple(zip(pad[::2], pad[1::2]))
    if len(pad) % 2 or len(pad) > 2 * (ndim - 2):
        raise ValueError(f"pad must hold two numbers for each axis, or for some of the axes of "
                         f"space from the last, got {pad} for {ndim} axes")
    for i in range(len(pad) // 2):                  # from the last axis of space
        pairs[ndim - 1 - channel_last - i] = (pad[2 * i], pad[2 * i + 1])
    return tuple(pairs)


def _sources(xp, n, before, after, mode):
    """Where each place of one padded axis comes from."""
    at = xp.arange(-before, n + after)
    if mode == "replicate":
        return xp.clip(at, 0, n - 1)
    if mode == "circular":
        return at % n
    if max(before, after) >= n:
        raise ValueError(f"mode 'reflect' can pad at most {n - 1} to an axis of {n}, not "
                         f"{max(before, after)}")
    at = xp.abs(at)
    return xp.minimum(at, 2 * (n - 1) - at)


def _sample_pad(draw):
    x = draw.array((1, 2, draw.integer(2, 3), draw.integer(2, 3)))
    mode = draw.choice(("constant", "reflect", "replicate", "circular"))
    low = -1 if mode == "constant" else 0
    pairs = ((0, 0), (0, 0)) + tuple([(draw.integer(low, 1), draw.integer(0, 1))
                                      for _ in range(2)])
    return (x, pairs, mode, 0.5), {}


@op(namespace=None, half="native", samples=_sample_pad, legacy=("pad3d", "pad"))
def pad_axes(xp, x: Array, pairs: tuple, mode: str = "constant", value: float = 0.0) -> Array:
    """x with (before, after) places added to each axis; negative numbers cut away."""
    if mode == "constant":
        shape = [n + a + b for n, (a, b) in zip(x.shape, pairs)]
        if min(shape) < 0:
            raise ValueError(f"padding {list(pairs)} leaves nothing of {list(x.shape)}")
        out = xp.full(shape, value, x.dtype)
        to = tuple([slice(max(a, 0), m - max(b, 0)) for m, (a, b) in zip(shape, pairs)])
        at = tuple([slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs)])
        out[to] = x[at]
        return out
    if mode not in ("reflect", "replicate", "circular"):
        raise ValueError(f"mode must be 'constant', 'reflect', 'replicate' or 'circular', "
                         f"got {mode!r}")
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = xp.take(x, _sources(xp, x.shape[axis], before, after, mode), axis=axis)
    return x if any(a or b for a, b in pairs) else x.copy()


@pad_axes.vjp
def _(F, g, x_shape, pairs, mode):
    if mode == "constant":
        return F.pad_axes(g, tuple([(-a, -b) for a, b in pairs]))
    return F.pad_fold(g, tuple(x_shape), pairs, mode)


def _sample_pad_fold(draw):
    pairs = ((0, 0), (0, 0), (draw.integer(0, 1), draw.integer(0, 2)), (1, 0))
    shape = (1, 2, 3, 2)
    x = draw.array(tuple([n + a + b for n, (a, b) in zip(shape, pairs)]))
    return (x, shape, pairs, draw.choice(("reflect", "replicate", "circular"))), {}


@op(namespace=None, amp="keep", samples=_sample_pad_fold)
def pad_fold(xp, x: Array, shape: tuple, pairs: tuple, mode: str) -> Array:
    """x, padded, added back onto the places its parts came from: the gradient of `pad_axes`."""
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            n = shape[axis]
            source = _sources(xp, n, before, after, mode)
            matrix = (xp.arange(n)[:, None] == source).astype(x.dtype)
            x = _times(xp, x, axis, matrix)
    return x if any(a or b for a, b in pairs) else x.copy()


@pad_fold.vjp
def _(F, g, pairs, mode):
    return F.pad_axes(g, pairs, mode)


# ---- unfolding
def _unfold_geometry(shape, kernel_sizes, strides, paddings, dilations):
    kernel, stride = ints(kernel_sizes, 2, "kernel_sizes"), ints(strides, 2, "strides")
    dilation = ints(dilations, 2, "dilations")
    if isinstance(paddings, (list, tuple)) and len(paddings) == 4:
        top, left, bottom, right = [int(v) for v in paddings]      # Paddle's order
        pairs = ((top, bottom), (left, right))
    else:
        pairs = tuple([(p, p) for p in ints(paddings, 2, "paddings")])
    size = tuple([(m + a + b - (k - 1) * d - 1) // s + 1
                  for m, (a, b), k, d, s in zip(shape, pairs, kernel, dilation, stride)])
    if min(size) < 1:
        raise ValueError(f"the window {list(kernel)} is larger than the padded input "
                         f"{list(shape)}")
    return kernel, stride, tuple([a for a, _ in pairs]), dilation, size


def _sample_unfold(draw):
    return (draw.array((1, 2, draw.integer(3, 4), draw.integer(3, 4))), [2, draw.integer(1, 2)]), \
        dict(strides=draw.integer(1, 2), paddings=draw.integer(0, 1), dilations=draw.integer(1, 2))


@op(namespace="functional", half="native", samples=_sample_unfold)
def unfold(xp, x: Array, kernel_sizes: int | list[int], strides: int | list[int] = 1,
           paddings: int | list[int] = 0, dilations: int | list[int] = 1) -> Array:
    """The windows of images (N, C, H, W) as columns (N, C * kh * kw, number of windows).

    paddings: one int, [h, w] or [top, left, bottom, right].

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.unfold(paddle.ones([1, 2, 4, 4]), 3).shape
    [1, 18, 4]
    """
    _rank(x, 2)
    kernel, *rest, size = _unfold_geometry(x.shape[2:], kernel_sizes, strides, paddings, dilations)
    stride, pad, dilation = rest
    columns = kc._columns(xp, x, kernel, stride, pad, dilation, size)
    return xp.moveaxis(columns, 3, 0).reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), math.prod(size))


@unfold.vjp
def _(F, g, x_shape, kernel_sizes, strides, paddings, dilations):
    return F.fold(g, list(x_shape[2:]), kernel_sizes, strides, paddings, dilations)


def _sample_fold(draw):
    size = draw.integer(3, 4)
    windows = (size - 1) * (size - 1)
    return (draw.array((1, 2 * 4, windows)), [size, size], 2), {}


@op(namespace="functional", samples=_sample_fold)
def fold(xp, x: Array, output_sizes: int | list[int], kernel_sizes: int | list[int],
         strides: int | list[int] = 1, paddings: int | list[int] = 0,
         dilations: int | list[int] = 1) -> Array:
    """Columns (N, C * kh * kw, windows) added up as images (N, C, *output_sizes).

    The counterpart of `unfold`: where windows overlap, their values add.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.fold(paddle.ones([1, 4, 4]), [3, 3], 2).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    sizes = ints(output_sizes, 2, "output_sizes")
    kernel, stride, pad, dilation, size = _unfold_geometry(sizes, kernel_sizes, strides, paddings,
                                                           dilations)
    if x.ndim != 3 or x.shape[1] % math.prod(kernel) or x.shape[2] != math.prod(size):
        raise ValueError(f"x must have shape [N, C * {math.prod(kernel)}, {math.prod(size)}] for "
                         f"windows {list(kernel)} of images {list(sizes)}, got {list(x.shape)}")
    c = x.shape[1] // math.prod(kernel)
    columns = x.reshape(x.shape[0], c, *kernel, *size)
    out = xp.zeros((x.shape[0], c, *sizes), x.dtype)
    for i, j, to, at in kc._taps2(*kernel, sizes, stride, pad, dilation, size):
        out[(slice(None), slice(None), *at)] += columns[(slice(None), slice(None), i, j, *to)]
    return out


@fold.vjp
def _(F, g, kernel_sizes, strides, paddings, dilations):
    return F.unfold(g, kernel_sizes, strides, paddings, dilations)
