"""Pooling of arrays over the spatial axes of (N, C, *S); any rank.

Imports kernels_conv's `span`. The windows are never gathered: one axis after the other is reduced
by whole slices. `pad` lies before each axis; `size` is the output's.
"""
from __future__ import annotations

import functools
import itertools

import numpy as np

from .kernels_conv import span


def _axis(ndim, axis, part):
    return (slice(None),) * axis + (part,) + (slice(None),) * (ndim - axis - 1)


@functools.lru_cache(maxsize=512)
def _windows(n, kernel, stride, pad, out):
    """(where in out, where in x) for each position in the window that meets the input."""
    found = [span(i, stride, pad, n, out) for i in range(kernel)]
    return tuple(f for f in found if f)


def _reduce(xp, x, axis, kernel, stride, pad, out, function, start):
    """function (add or maximum) over the windows of one axis."""
    shifts = _windows(x.shape[axis], kernel, stride, pad, out)
    full = slice(0, out)
    whole = [at for to, at in shifts if to == full]
    part = [(to, at) for to, at in shifts if to != full]
    cut = [x[_axis(x.ndim, axis, at)] for at in whole]
    if len(cut) >= 2:
        result = function(cut[0], cut[1])
    elif cut:
        result = cut[0].copy()
    else:
        shape = list(x.shape)
        shape[axis] = out
        result = xp.full(shape, start, x.dtype)
    for c in cut[2:]:
        function(result, c, out=result)
    for to, at in part:
        here = result[_axis(x.ndim, axis, to)]
        function(here, x[_axis(x.ndim, axis, at)], out=here)
    return result


def lowest(dtype):
    """The identity of max for a dtype."""
    if dtype.kind == "f":
        return -float("inf")
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def max_pool(xp, x, kernel, stride, pad, size):
    """The largest value of each window; padding never wins."""
    for i in range(len(size)):
        x = _reduce(xp, x, i + 2, kernel[i], stride[i], pad[i], size[i], xp.maximum,
                    lowest(x.dtype))
    return x


def _places(x_shape, kernel, stride, pad, size):
    """Slices (of the output, of the input) for each window position in row-major order."""
    every = (slice(None), slice(None))
    axes = [_windows(n, k, s, p, o) for n, k, s, p, o in
            zip(x_shape[2:], kernel, stride, pad, size)]
    for places in itertools.product(*axes):
        yield every + tuple(to for to, _ in places), every + tuple(at for _, at in places)


def _winners(xp, x, out, kernel, stride, pad):
    """(slices of out, slices of x, mask): where a window's FIRST maximum stands."""
    free = None
    places = list(_places(x.shape, kernel, stride, pad, out.shape[2:]))
    for k, (to, at) in enumerate(places):
        mask = x[at] == out[to]
        if k == 0 and len(places) == 1:
            yield to, at, mask
            return
        if free is None:
            free = xp.ones(out.shape, bool)
        here = free[to]
        mask &= here
        yield to, at, mask
        here ^= mask                                # taken now


def max_scatter(xp, g, x, out, kernel, stride, pad):
    """Each window's g at the first place of its maximum: the gradient of max_pool."""
    result = xp.zeros(x.shape, g.dtype)
    apart = all(k <= s for k, s in zip(kernel, stride))
    for to, at, mask in _winners(xp, x, out, kernel, stride, pad):
        if apart:
            xp.multiply(g[to], mask, out=result[at])
        else:
            here = result[at]
            here += g[to] * mask
    return result


def max_gather(xp, v, x, out, kernel, stride, pad):
    """The value of v (shaped as x) at the first maximum of each window of x."""
    result = xp.zeros(out.shape, v.dtype)
    for to, at, mask in _winners(xp, x, out, kernel, stride, pad):
        here = result[to]
        here += v[at] * mask
    return result


def max_index(xp, x, kernel, stride, pad, size):
    """The flat position in its plane of each window's first maximum, int32."""
    out = max_pool(xp, x, kernel, stride, pad, size)
    flat = xp.arange(int(np.prod(x.shape[2:])), dtype=np.int32).reshape((1, 1, *x.shape[2:]))
    result = xp.zeros(out.shape, np.int32)
    for to, at, mask in _winners(xp, x, out, kernel, stride, pad):
        here = result[to]
        here += flat[at] * mask
    return result


def _counts(n, kernel, stride, pad, after, out, exclusive):
    """How many elements each window of one axis is divided by."""
    counts = []
    for start in range(-pad, out * stride - pad, stride):
        end = min(start + kernel, n if exclusive else n + after)
        counts.append(max(end - (max(start, 0) if exclusive else start), 1))
    return counts


@functools.lru_cache(maxsize=256)
def _scale(xp, dtype, shape, kernel, stride, pad, after, size, exclusive, divisor):
    """What the sums of the windows are multiplied by: a number or an array of the size."""
    if divisor is not None:
        return dtype.type(1 / divisor)
    counts = [_counts(*a, exclusive) for a in zip(shape, kernel, stride, pad, after, size)]
    if all(len(set(c)) == 1 for c in counts):
        return dtype.type(1 / np.prod([c[0] for c in counts]))
    total = 1.0
    for c in counts:
        total = np.multiply.outer(total, 1 / np.array(c, dtype=np.float64))
    return xp.asarray(total, dtype=dtype)           # goes to the device once: it is cached


def avg_pool(xp, x, kernel, stride, pad, after, size, exclusive, divisor):
    """The mean of each window; exclusive: padding is not counted."""
    scale = _scale(xp, x.dtype, tuple(x.shape[2:]), kernel, stride, pad, after, size, exclusive,
                   divisor)
    for i in range(len(size)):
        x = _reduce(xp, x, i + 2, kernel[i], stride[i], pad[i], size[i], xp.add, 0)
    x *= scale
    return x


def avg_scatter(xp, g, shape, kernel, stride, pad, after, exclusive, divisor):
    """The gradient of avg_pool: each window's g, spread evenly; shape: the input's (*S)."""
    size = g.shape[2:]
    g = g * _scale(xp, g.dtype, tuple(shape), kernel, stride, pad, after, tuple(size), exclusive,
                   divisor)
    for i in range(len(size)):
        full = list(g.shape)
        full[i + 2] = shape[i]
        out = xp.zeros(full, g.dtype)
        for to, at in _windows(shape[i], kernel[i], stride[i], pad[i], size[i]):
            here = out[_axis(g.ndim, i + 2, at)]
            here += g[_axis(g.ndim, i + 2, to)]
        g = out
    return g
