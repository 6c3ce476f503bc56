"""Array kernels of normalisation, softmax, cross-entropy, gelu, dropout and embedding.

Imports device and kernels_special. Each is written for few passes over memory, in place where the
array is its own; sums along the last axis are matrix products with ones, which BLAS does fastest.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from .device import generator
from .kernels_special import erf

SHIFTED = 8.0       # mean^2 above this many variances: E[x^2] - mean^2 would cancel, so centre


@functools.lru_cache(maxsize=64)
def _constant(n, dtype, value):
    array = np.full(n, value, dtype)
    array.flags.writeable = False
    return array


def row_sums(xp, x):
    """Sums along the last axis."""
    if xp is np and x.dtype.kind == "f" and x.size:
        return x @ _constant(x.shape[-1], x.dtype, 1)
    return x.sum(axis=-1)


def column_sums(xp, x):
    """Sums of a matrix along its first axis."""
    if xp is np and x.dtype.kind == "f" and x.size:
        return _constant(x.shape[0], x.dtype, 1) @ x
    return x.sum(axis=0)


def row_dots(xp, x, y):
    """Sums of x * y along the last axis."""
    if xp is np:
        return _vecdot(x, y)
    return (x * y).sum(axis=-1)


if hasattr(np, "vecdot"):
    _vecdot = np.vecdot  # xp: numpy-only
else:                                               # NumPy 1.26
    def _vecdot(x, y):
        return np.einsum("...i,...i->...", x, y)


# ---- batch norm: x as (N, C, L)
def channel_statistics(xp, x, centre=None):
    """Mean and biased variance of each channel of (N, C, L), and whether they are far apart."""
    n, c, length = x.shape
    count = max(n * length, 1)
    if xp is not np:
        mean = x.mean(axis=(0, 2))
        shifted = x - mean[:, None]
        return mean, (shifted * shifted).mean(axis=(0, 2))
    mean = row_sums(xp, x).sum(0) / x.dtype.type(count)
    variance = row_dots(xp, x, x).sum(0) / x.dtype.type(count) - mean * mean
    if not (mean * mean <= SHIFTED * variance).all():
        shifted = x - mean[:, None]
        again = row_sums(xp, shifted).sum(0) / x.dtype.type(count)
        shifted -= again[:, None]
        mean = mean + again
        variance = row_dots(xp, shifted, shifted).sum(0) / x.dtype.type(count)
    return mean, xp.maximum(variance, x.dtype.type(0))


def scale_shift(xp, x, mean, factor, bias):
    """(x - mean) * factor + bias by channels of (N, C, L), in few passes."""
    if xp is np and (mean * mean * factor * factor > 64 * SHIFTED).any():
        out = x - mean[:, None]
        out *= factor[:, None]
        if bias is not None:
            out += bias[:, None]
        return out
    out = x * factor[:, None]
    shift = -mean * factor
    out += (shift if bias is None else shift + bias)[:, None]
    return out


def batch_norm(xp, x, weight, bias, eps):
    """Normalised (N, C, L), and mean, variance, 1 / deviation of each channel."""
    mean, variance = channel_statistics(xp, x)
    rstd = 1 / xp.sqrt(variance + x.dtype.type(eps))
    factor = rstd if weight is None else rstd * weight
    return scale_shift(xp, x, mean, factor, bias), mean, variance, rstd


def batch_norm_grad(xp, g, x, weight, mean, rstd, g_mean=None, g_variance=None):
    """Gradients to x, weight and bias; g_mean, g_variance: of the statistics given out."""
    n, c, length = x.shape
    count = x.dtype.type(max(n * length, 1))
    factor = rstd if weight is None else rstd * weight
    g_bias = row_sums(xp, g).sum(0)
    far = xp is not np or not (mean * mean * rstd * rstd <= SHIFTED).all()
    if far:
        centred = x - mean[:, None]
        g_weight = row_dots(xp, g, centred).sum(0) * rstd
    else:
        g_weight = (row_dots(xp, g, x).sum(0) - mean * g_bias) * rstd
    slope = -factor * rstd * g_weight / count       # of x - mean
    shift = -factor * g_bias / count
    if g_variance is not None:
        slope = slope + 2 * g_variance / count
    if g_mean is not None:
        shift = shift + g_mean / count
    dx = g * factor[:, None]
    if far:
        centred *= slope[:, None]
        dx += centred
    else:
        dx += x * slope[:, None]
        shift = shift - mean * slope
    dx += shift[:, None]
    return dx, g_weight, g_bias


# ---- layer norm: x as (rows, D)
def layer_norm(xp, x, eps):
    """Normalised rows, and 1 / deviation of each row."""
    d = x.dtype.type(x.shape[1] or 1)
    mean = row_sums(xp, x) / d
    out = x - mean[:, None]
    square = row_dots(xp, out, out) / d
    if xp is not np or (mean * mean > SHIFTED * square).any():
        again = row_sums(xp, out) / d              # the mean's rounding error
        out -= again[:, None]
        square = row_dots(xp, out, out) / d
    rstd = 1 / xp.sqrt(square + x.dtype.type(eps))
    out *= rstd[:, None]
    return out, rstd


def layer_norm_grad(xp, g, xhat, rstd):
    """The gradient to x of the normalised rows; g may be overwritten."""
    d = xhat.dtype.type(xhat.shape[1] or 1)
    along = row_dots(xp, g, xhat) / d
    mean = row_sums(xp, g) / d
    g = g - xhat * along[:, None]
    g -= mean[:, None]
    g *= rstd[:, None]
    return g


# ---- softmax and cross-entropy
def softmax(xp, x, axis):
    """exp(x - max) / sum along an axis."""
    if not x.ndim:
        return xp.ones_like(x)
    if xp is np and axis in (-1, x.ndim - 1) and x.size:
        out = x - x.max(axis=-1, keepdims=True)
        xp.exp(out, out=out)
        out /= row_sums(xp, out)[..., None]
        return out
    out = x - x.max(axis=axis, keepdims=True) if x.size else x.copy()
    xp.exp(out, out=out)
    out /= out.sum(axis=axis, keepdims=True)
    return out


def softmax_grad(xp, g, out, axis):
    if not out.ndim:
        return xp.zeros_like(out)
    if xp is np and axis in (-1, out.ndim - 1) and out.size:
        dots = row_dots(xp, g, out)[..., None]
    else:
        dots = (g * out).sum(axis=axis, keepdims=True)
    result = g - dots
    result *= out
    return result


def log_softmax(xp, x, axis):
    """x - max - log(sum(exp(x - max))) along an axis."""
    if not x.size or not x.ndim:
        return xp.zeros_like(x)
    out = x - x.max(axis=axis, keepdims=True)
    sums = xp.exp(out).sum(axis=axis, keepdims=True)
    out -= xp.log(sums)
    return out


def log_softmax_grad(xp, g, out, axis):
    if not out.ndim:
        return xp.zeros_like(out)
    result = xp.exp(out)
    result *= -g.sum(axis=axis, keepdims=True)
    result += g
    return result


def exp_rows(xp, x):
    """exp(x - max), its sums, and x - max of rows (..., C): what cross-entropy is made of."""
    shifted = x - x.max(axis=-1, keepdims=True)
    e = xp.exp(shifted)
    return e, row_sums(xp, e), shifted


# ---- gelu, sigmoid, softplus
# 2 Phi(x) - 1 = erf(x / sqrt(2)) = tanh(x * P(x^2)), error 1.4e-7: kernels_special's polynomial
# with the root taken into its coefficients
_PHI = tuple(np.float32(c * 2 ** -(6.5 - k)) for k, c in enumerate((
    1.601313073251731e-07, -6.004801889503142e-06, 8.982163853943348e-05, -0.0006259886431507766,
    -0.0001840961049310863, 0.10276536643505096, 1.1283797025680542)))


def gelu(xp, x):
    """x * Phi(x), and Phi(x), the normal distribution function."""
    if xp is np and x.dtype == np.float32 and x.ndim:
        u = x * x
        phi = u * _PHI[0]
        for c in _PHI[1:-1]:
            phi += c
            phi *= u
        phi += _PHI[-1]
        phi *= x
        np.tanh(phi, out=phi)
        phi *= np.float32(0.5)
        phi += np.float32(0.5)
        return np.multiply(x, phi, out=u), phi
    phi = xp.asarray(erf(xp, x * x.dtype.type(math.sqrt(0.5))))
    phi += x.dtype.type(1)
    phi *= x.dtype.type(0.5)
    return x * phi, phi


def gelu_grad(xp, g, x, phi):
    t = xp.asarray(x * x)
    t *= x.dtype.type(-0.5)
    xp.exp(t, out=t)
    t *= x.dtype.type(1 / math.sqrt(2 * math.pi))
    t *= x
    t += phi
    t *= g
    return t


_GELU_SCALE = math.sqrt(2 / math.pi)


def gelu_tanh(xp, x):
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), and half that bracket."""
    number = x.dtype.type
    phi = xp.asarray(x * x)
    phi *= number(0.044715 * _GELU_SCALE)
    phi += number(_GELU_SCALE)
    phi *= x
    xp.tanh(phi, out=phi)
    phi += number(1)
    phi *= number(0.5)
    return x * phi, phi


def gelu_tanh_grad(xp, g, x, phi):
    number = x.dtype.type
    t = xp.asarray(x * x)
    t *= number(6 * 0.044715 * _GELU_SCALE)
    t += number(2 * _GELU_SCALE)
    t *= x
    t *= phi
    t *= number(1) - phi
    t += phi
    t *= g
    return t


def sigmoid(xp, x):
    """1 / (1 + exp(-x)) by way of tanh: no overflow, and the faster loop."""
    half = x.dtype.type(0.5)
    out = xp.asarray(x * half)
    xp.tanh(out, out=out)
    out *= half
    out += half
    return out


def softplus(xp, x):
    """log(1 + exp(x)), without overflow."""
    return xp.maximum(x, x.dtype.type(0)) + xp.log1p(xp.exp(-xp.abs(x)))


# ---- relu
_BLOCK = 4096


def relu(xp, x):
    """max(x, 0); nan stays nan."""
    return _against(xp, x, 0, xp.maximum)


def clamp(xp, x, high):
    """min(x, high), in x itself."""
    return _against(xp, x, high, xp.minimum, x)


def _against(xp, x, value, function, out=None):
    if xp is not np or x.size < _BLOCK or not x.flags.c_contiguous or x.dtype.kind != "f":
        return function(x, x.dtype.type(value), out=out if x.ndim else None)
    # Two arrays compare 2.5 times faster than an array and a scalar.
    out = np.empty_like(x) if out is None else out
    whole = x.size // _BLOCK * _BLOCK
    other = _constant(_BLOCK, x.dtype, value)
    flat, result = x.reshape(-1), out.reshape(-1)
    function(flat[:whole].reshape(-1, _BLOCK), other, out=result[:whole].reshape(-1, _BLOCK))
    function(flat[whole:], other[:x.size - whole], out=result[whole:])
    return out


# ---- dropout
def keep_mask(xp, shape, keep):
    """Random bools, True with the probability keep."""
    if xp is not np or not 0.01 < keep < 0.99:
        return generator(xp).random(shape, dtype=np.float32) < np.float32(keep)
    # Sixteen raw bits a decision: a quarter of the random words, and no floats are made.
    n = math.prod(shape)
    words = generator(xp).bit_generator.random_raw((n + 3) // 4)
    return (np.asarray(words, np.uint64).view(np.uint16)[:n]
            < np.uint16(round(keep * 65536))).reshape(shape)


# ---- embedding
def add_rows(xp, ids, g, rows):
    """Zeros (rows, D) to which each row of g (len(ids), D) is added at its id."""
    out = xp.zeros((rows, g.shape[1]), g.dtype)
    if not g.size:
        return out
    if xp is not np:
        xp.add.at(out, ids, g)
        return out
    width = g.shape[1]
    # add.at on flat indices is three times faster than on rows
    flat = (ids[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(out.reshape(-1), flat, g.reshape(-1))
    return out
