"""Activation functions.

Imports kernels_nn, samples and core. A vjp names the output where that is enough, so that the
input need not be kept.
"""
from __future__ import annotations

import math

from . import kernels_nn as kn
from .core import Array, op
from .samples import unary, unary_away0


@op(namespace="functional", promote="float", inplace=True, samples=unary_away0)
def relu(xp, x: Array) -> Array:
    """max(x, 0), elementwise; the gradient at 0 is 0.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.relu(paddle.to_tensor([-1., 0., 2.])).tolist()
    [0.0, 0.0, 2.0]
    """
    return kn.relu(xp, x)


@relu.vjp
def _(F, g, out):
    return g * (out > 0)


def _sample_relu6(draw):
    return (draw.away(draw.shape(), points=(0, 6), low=-2, high=8),), {}


@op(namespace="functional", promote="float", samples=_sample_relu6)
def relu6(xp, x: Array) -> Array:
    """min(max(x, 0), 6), elementwise.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.relu6(paddle.to_tensor([-1., 3., 9.])).tolist()
    [0.0, 3.0, 6.0]
    """
    return kn.clamp(xp, kn.relu(xp, x), 6)


@relu6.vjp
def _(F, g, out):
    return g * F.logical_and(out > 0, out < 6)


@op(namespace="functional", promote="float", inplace=True, samples=unary_away0)
def leaky_relu(xp, x: Array, negative_slope: float = 0.01) -> Array:
    """x where x > 0, else negative_slope * x.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.leaky_relu(paddle.to_tensor([-2., 3.]), 0.5).tolist()
    [-1.0, 3.0]
    """
    return xp.where(x > 0, x, x * x.dtype.type(negative_slope))


@leaky_relu.vjp
def _(F, g, x, negative_slope):
    return g * (x > 0) + g * negative_slope * (x <= 0)


@op(namespace="functional", promote="float", inplace=True, samples=unary_away0)
def elu(xp, x: Array, alpha: float = 1.0) -> Array:
    """x where x > 0, else alpha * (exp(x) - 1).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.elu(paddle.to_tensor([0., 3.])).tolist()
    [0.0, 3.0]
    """
    return xp.where(x > 0, x, x.dtype.type(alpha) * xp.expm1(xp.minimum(x, x.dtype.type(0))))


@elu.vjp
def _(F, g, x, out, alpha):
    return g * (x > 0) + g * (out + alpha) * (x <= 0)


@op(namespace="functional", promote="float", samples=unary_away0)
def selu(xp, x: Array, scale: float = 1.0507009873554804934193349852946,
         alpha: float = 1.6732632423543772848170429916717) -> Array:
    """scale * (x where x > 0, else alpha * (exp(x) - 1)); keeps activations normalised.

    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.selu(paddle.to_tensor(1.0))), 4)
    1.0507
    """
    number = x.dtype.type
    return xp.where(x > 0, x * number(scale),
                    number(scale * alpha) * xp.expm1(xp.minimum(x, number(0))))


@selu.vjp
def _(F, g, x, out, scale, alpha):
    return g * scale * (x > 0) + g * (out + scale * alpha) * (x <= 0)


@op(namespace="functional", promote="float", samples=unary_away0)
def celu(xp, x: Array, alpha: float = 1.0) -> Array:
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.celu(paddle.to_tensor([0., 3.])).tolist()
    [0.0, 3.0]
    """
    number = x.dtype.type
    return xp.where(x > 0, x, number(alpha) * xp.expm1(xp.minimum(x, number(0)) / number(alpha)))


@celu.vjp
def _(F, g, x, out, alpha):
    return g * (x > 0) + g * (out / alpha + 1.0) * (x <= 0)


@op(namespace="functional", promote="float", residuals=("phi",), samples=unary)
def gelu(xp, x: Array, approximate: bool = False) -> Array:
    """x * Phi(x), Phi the distribution function of the normal law; or its tanh approximation.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016. Exact to 1.5e-7 in float32 and
    1e-15 in float64.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.gelu(paddle.to_tensor(1.0))), 4)
    0.8413
    """
    return kn.gelu_tanh(xp, x) if approximate else kn.gelu(xp, x)


@gelu.kernel_vjp
def _(xp, g, x, phi, approximate):
    return kn.gelu_tanh_grad(xp, g, x, phi) if approximate else kn.gelu_grad(xp, g, x, phi)


@gelu.composite
def _(F, x, approximate):
    if approximate:
        return x * 0.5 * (F.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0)
    return x * 0.5 * (F.erf(x * math.sqrt(0.5)) + 1.0)


@op(namespace="functional", promote="float", aliases=("swish",), samples=unary)
def silu(xp, x: Array) -> Array:
    """x * sigmoid(x), also called swish.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.silu(paddle.to_tensor(1.0))), 4)
    0.7311
    """
    return x * kn.sigmoid(xp, x)


@silu.vjp
def _(F, g, x, out):
    s = F.sigmoid(x)
    return g * (s + out * (1.0 - s))


@op(namespace="functional", promote="float", samples=unary)
def mish(xp, x: Array) -> Array:
    """x * tanh(softplus(x)). Misra, Mish: a self regularized activation, 2019.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.mish(paddle.to_tensor(1.0))), 4)
    0.8651
    """
    return x * xp.tanh(kn.softplus(xp, x))


@mish.vjp
def _(F, g, x):
    t = F.tanh(F.softplus(x))
    return g * (t + x * (1.0 - t * t) * F.sigmoid(x))


def _sample_three(draw):
    return (draw.away(draw.shape(), points=(-3, 3), low=-5, high=5),), {}


@op(namespace="functional", promote="float", samples=_sample_three)
def hardswish(xp, x: Array) -> Array:
    """x * min(max(x + 3, 0), 6) / 6. Howard et al., Searching for MobileNetV3, 2019.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.hardswish(paddle.to_tensor([0., 3., 4.])).tolist()
    [0.0, 3.0, 4.0]
    """
    number = x.dtype.type
    return x * xp.clip(x + number(3), number(0), number(6)) / number(6)


@hardswish.vjp
def _(F, g, x):
    inner = F.logical_and(x > -3, x < 3)
    return g * (x >= 3) + g * (x * (1 / 3) + 0.5) * inner


@op(namespace="functional", promote="float", samples=_sample_three)
def hardsigmoid(xp, x: Array, slope: float = 0.1666667, offset: float = 0.5) -> Array:
    """min(max(slope * x + offset, 0), 1).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.hardsigmoid(paddle.to_tensor([-4., 0., 4.])).tolist()
    [0.0, 0.5, 1.0]
    """
    number = x.dtype.type
    return xp.clip(x * number(slope) + number(offset), number(0), number(1))


@hardsigmoid.vjp
def _(F, g, out, slope):
    return g * slope * F.logical_and(out > 0, out < 1)


def _sample_one(draw):
    return (draw.away(draw.shape(), points=(-1, 1)),), {}


@op(namespace="functional", promote="float", inplace=True, samples=_sample_one)
def hardtanh(xp, x: Array, min: float = -1.0, max: float = 1.0) -> Array:
    """x cut to [min, max].

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.hardtanh(paddle.to_tensor([-4., 0.5, 4.])).tolist()
    [-1.0, 0.5, 1.0]
    """
    return xp.clip(x, x.dtype.type(min), x.dtype.type(max))


@hardtanh.vjp
def _(F, g, x, min, max):
    return g * F.logical_and(x > min, x < max)


@op(namespace="functional", promote="float", amp="block", samples=unary)
def softplus(xp, x: Array, beta: float = 1, threshold: float = 20) -> Array:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.softplus(paddle.to_tensor(0.0))), 4)
    0.6931
    """
    number = x.dtype.type
    scaled = x * number(beta)
    return xp.where(scaled > number(threshold), x, kn.softplus(xp, scaled) / number(beta))


@softplus.vjp
def _(F, g, x, beta, threshold):
    scaled = x * beta
    return g * F.sigmoid(scaled) * (scaled <= threshold) + g * (scaled > threshold)


@op(namespace="functional", promote="float", samples=unary)
def softsign(xp, x: Array) -> Array:
    """x / (1 + |x|).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.softsign(paddle.to_tensor([-1., 3.])).tolist()
    [-0.5, 0.75]
    """
    return x / (x.dtype.type(1) + xp.abs(x))


@softsign.vjp
def _(F, g, x):
    below = F.abs(x) + 1.0
    return g / (below * below)


@op(namespace="functional", promote="float", amp="block", legacy=("tanh_shrink",), samples=unary)
def tanhshrink(xp, x: Array) -> Array:
    """x - tanh(x).

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.tanhshrink(paddle.to_tensor(1.0))), 4)
    0.2384
    """
    return x - xp.tanh(x)


@tanhshrink.vjp
def _(F, g, x, out):
    t = x - out
    return g * t * t


def _sample_half(draw):
    return (draw.away(draw.shape(), points=(-0.5, 0.5)),), {}


@op(namespace="functional", promote="float", samples=_sample_half)
def softshrink(xp, x: Array, threshold: float = 0.5) -> Array:
    """x brought nearer to 0 by threshold; 0 within it.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.softshrink(paddle.to_tensor([-2., 0.2, 1.])).tolist()
    [-1.5, 0.0, 0.5]
    """
    if threshold < 0:
        raise ValueError(f"threshold must be at least 0, got {threshold}")
    t = x.dtype.type(threshold)
    return x - xp.clip(x, -t, t)


@softshrink.vjp
def _(F, g, x, threshold):
    return g * (F.abs(x) > threshold)


@op(namespace="functional", promote="float", samples=_sample_half)
def hardshrink(xp, x: Array, threshold: float = 0.5) -> Array:
    """x where |x| > threshold, else 0.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.hardshrink(paddle.to_tensor([-2., 0.2, 1.])).tolist()
    [-2.0, 0.0, 1.0]
    """
    return xp.where(xp.abs(x) > x.dtype.type(threshold), x, x.dtype.type(0))


@hardshrink.vjp
def _(F, g, x, threshold):
    return g * (F.abs(x) > threshold)


@op(namespace="functional", promote="float", inplace=True, samples=_sample_one)
def thresholded_relu(xp, x: Array, threshold: float = 1.0) -> Array:
    """x where x > threshold, else 0.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.thresholded_relu(paddle.to_tensor([0.5, 2.])).tolist()
    [0.0, 2.0]
    """
    return xp.where(x > x.dtype.type(threshold), x, x.dtype.type(0))


@thresholded_relu.vjp
def _(F, g, x, threshold):
    return g * (x > threshold)


@op(namespace="functional", promote="float", samples=unary)
def log_sigmoid(xp, x: Array) -> Array:
    """log(sigmoid(x)), without overflow.

    >>> import minipaddle as paddle
    >>> round(float(paddle.nn.functional.log_sigmoid(paddle.to_tensor(0.0))), 4)
    -0.6931
    """
    return -kn.softplus(xp, -x)


@log_sigmoid.vjp
def _(F, g, x):
    return g * F.sigmoid(-x)


def _sample_prelu(draw):
    return (draw.away((2, 3, 2)), draw.array((1, 3, 1))), {}


@op(namespace=None, promote="float", broadcasts=True, samples=_sample_prelu, legacy=("prelu",))
def prelu_broadcast(xp, x: Array, weight: Array) -> Array:
    """x where x > 0, else weight * x; weight broadcasts."""
    return xp.where(x > 0, x, x * weight)


@prelu_broadcast.vjp
def _(F, g, x, weight):
    low = g * (x <= 0)
    return g * (x > 0) + low * weight, low * x
