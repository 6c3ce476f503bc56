"""paddle.nn.functional: the functions of neural networks.

Imports losses, the ops chapters and core. Most names arrive from the ops (conv2d, relu, softmax)
and from losses.py; here are those that are made of several ops: dropout and normalisation with
their options, padding, resampling, and what is composed of indexing.
"""
from __future__ import annotations

import math

import numpy as np

from . import ops_activation, ops_conv, ops_nn, ops_pool  # noqa: F401
from .core import Tensor, namespaces, no_grad, ops
from .losses import *  # noqa: F403
from .ops_conv import ints, last
from .ops_pool import _pad_pairs

globals().update(namespaces["functional"])
namespaces["functional"] = globals()
_FROM_PADDLE = ("sigmoid", "sigmoid_", "tanh", "tanh_", "diag_embed")
globals().update({n: namespaces["paddle"][n] for n in _FROM_PADDLE if n in namespaces["paddle"]})


def _numbers(value) -> list:
    """A list of plain numbers from a number, a list (also of Tensors) or a Tensor."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value]
    return [v.item() if isinstance(v, Tensor) else v for v in value]


# ---- activations of several ops
def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """x where x > 0, else weight * x; weight has one number, or one a channel.

    >>> import minipaddle as paddle
    >>> x, w = paddle.to_tensor([[-2., 4.]]), paddle.to_tensor([0.5])
    >>> paddle.nn.functional.prelu(x, w).tolist()
    [[-1.0, 4.0]]
    """
    if len(weight.shape) == 1 and weight.shape[0] != 1:
        channel = len(x.shape) - 1 if data_format[-1] == "C" and len(x.shape) > 2 else 1
        if len(x.shape) < 2 or x.shape[channel] != weight.shape[0]:
            raise ValueError(f"prelu: weight has {weight.shape[0]} numbers, x of shape "
                             f"{list(x.shape)} has other channels")
        shape = [1] * len(x.shape)
        shape[channel] = weight.shape[0]
        weight = ops.reshape(weight, shape)
    return ops.prelu_broadcast(x, weight)


def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """The first half of x along an axis times the sigmoid of the second.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.glu(paddle.to_tensor([[2., 0.]])).tolist()
    [[1.0]]
    """
    a, b = ops.split(x, 2, axis)
    return a * ops.sigmoid(b)


def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """silu(x) * y; without y, of the two halves of x along the last axis.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.swiglu(paddle.to_tensor([[0., 3.]])).tolist()
    [[0.0]]
    """
    if y is None:
        x, y = ops.split(x, 2, -1)
    return ops.silu(x) * y


def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """The largest of each `groups` neighbouring channels.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.maxout(paddle.to_tensor([[1., 4., 3., 2.]]), 2).tolist()
    [[4.0, 3.0]]
    """
    axis = axis % len(x.shape)
    channels = x.shape[axis]
    if channels % groups:
        raise ValueError(f"maxout: the {channels} channels along axis {axis} do not divide by "
                         f"groups={groups}")
    shape = list(x.shape)
    return ops.max(ops.reshape(x, shape[:axis] + [channels // groups, groups] + shape[axis + 1:]),
                   axis=axis + 1)


def rrelu(x: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = True,
          name: str | None = None) -> Tensor:
    """x where x >= 0, else x times a random slope of [lower, upper]; their mean in evaluation.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.rrelu(paddle.to_tensor([-3., 1.]), 0.5, 0.5).tolist()
    [-1.5, 1.0]
    """
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"rrelu: 0 <= lower <= upper <= 1 must hold, got {lower} and {upper}")
    if not training:
        return ops.leaky_relu(x, (lower + upper) / 2)
    slope = ops.uniform(x.shape, x.dtype, min=lower, max=upper)
    return ops.where(x >= 0, x, x * slope)


def gumbel_softmax(x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1,
                   name: str | None = None) -> Tensor:
    """Softmax of (x + Gumbel noise) / temperature: a differentiable draw of a category.

    hard: one-hot in the forward, the soft draw's gradient. Jang, Gu and Poole, 2017.

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.gumbel_softmax(paddle.zeros([2, 3]), hard=True)
    >>> y.sum(-1).tolist()
    [1.0, 1.0]
    """
    if temperature <= 0:
        raise ValueError(f"gumbel_softmax: temperature must be positive, got {temperature}")
    tiny = 1e-20 if x.dtype.name != "float16" else 1e-7
    noise = -ops.log(-ops.log(ops.uniform(x.shape, x.dtype, min=0.0, max=1.0) + tiny) + tiny)
    soft = ops.softmax((x + noise) / temperature, axis)
    if not hard:
        return soft
    axis = axis % len(x.shape)
    with no_grad():
        n = len(x.shape)
        one = ops.one_hot(ops.argmax(soft, axis=axis), x.shape[axis])
        one = ops.transpose(one, [*range(axis), n - 1, *range(axis, n - 1)])
        one = ops.cast(one, soft.dtype) - soft
    return one + soft


# ---- dropout
def dropout(x: Tensor, p: float = 0.5, axis: int | list[int] | None = None,
            training: bool = True, mode: str = "upscale_in_train",
            name: str | None = None) -> Tensor:
    """x with each element zeroed with probability p, in training.

    mode 'upscale_in_train': the rest is divided by 1 - p, evaluation leaves x alone.
    'downscale_in_infer': the rest stays, evaluation multiplies by 1 - p. axis: the draw is made
    along these axes and shared by the others.
    Srivastava et al., Dropout, 2014. ValueError for p outside [0, 1].

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.dropout(paddle.ones([1000]), 0.5)
    >>> sorted(set(y.tolist()))
    [0.0, 2.0]
    """
    if isinstance(p, Tensor):
        p = p.item()
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be between 0 and 1, got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError("dropout: mode must be 'upscale_in_train' or 'downscale_in_infer', got "
                         f"{mode!r}")
    if not training:
        return x if mode == "upscale_in_train" or p == 0 else x * (1.0 - p)
    if p == 0:
        return x
    if axis is not None:
        axis = tuple([int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)])
        if any(not 0 <= a < len(x.shape) for a in axis):
            raise ValueError(f"dropout: axis {list(axis)} is out of range for {len(x.shape)} axes")
    scale = 1 / (1 - p) if mode == "upscale_in_train" and p < 1 else 1.0
    return ops.random_dropout(x, float(p), axis, scale)


def dropout2d(x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW",
              name: str | None = None) -> Tensor:
    """`dropout` of whole channels of images.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.dropout2d(paddle.ones([2, 3, 4, 4]), training=False).shape
    [2, 3, 4, 4]
    """
    return dropout(x, p, [0, 3] if last(data_format, 2) else [0, 1], training)


def dropout3d(x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW",
              name: str | None = None) -> Tensor:
    """`dropout` of whole channels of volumes.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.dropout3d(paddle.ones([2, 3, 2, 2, 2]), training=False).shape
    [2, 3, 2, 2, 2]
    """
    return dropout(x, p, [0, 4] if last(data_format, 3) else [0, 1], training)


def _alpha_dropout(x, p, training, shape, where):
    if not 0 <= p <= 1:
        raise ValueError(f"{where}: p must be between 0 and 1, got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    low = -1.0507009873554805 * 1.6732632423543772
    a = ((1 - p) * (1 + p * low * low)) ** -0.5
    keep = ops.cast(ops.rand(shape) >= p, x.dtype)
    return (x * keep + low * (1.0 - keep)) * a + (-a * low * p)


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True,
                  name: str | None = None) -> Tensor:
    """Dropout that keeps mean and variance of activations of `selu`.

    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.alpha_dropout(paddle.ones([3]), training=False).tolist()
    [1.0, 1.0, 1.0]
    """
    return _alpha_dropout(x, p, training, x.shape, "alpha_dropout")


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True,
                          name: str | None = None) -> Tensor:
    """`alpha_dropout` of whole channels.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.feature_alpha_dropout(paddle.ones([1, 3]), training=False).shape
    [1, 3]
    """
    shape = list(x.shape[:2]) + [1] * (len(x.shape) - 2)
    return _alpha_dropout(x, p, training, shape, "feature_alpha_dropout")


# ---- normalisation
def batch_norm(x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.9,
               epsilon: float = 1e-05, data_format: str = "NCHW",
               use_global_stats: bool | None = None, name: str | None = None) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, by channels.

    In training the statistics are the batch's, and the running ones move:
    running = running * momentum + batch * (1 - momentum), with the biased variance.
    Otherwise, or with use_global_stats=True, they are the running ones.
    Ioffe and Szegedy, Batch Normalization, 2015.

    >>> import minipaddle as paddle
    >>> mean, var = paddle.zeros([2]), paddle.ones([2])
    >>> x = paddle.to_tensor([[1., 2.], [3., 4.]])
    >>> y = paddle.nn.functional.batch_norm(x, mean, var, training=True)
    >>> [round(v, 3) for v in mean.tolist()]
    [0.2, 0.3]
    """
    channel_last = data_format[-1] == "C" and len(data_format) > 2
    if not training if use_global_stats is None else use_global_stats:
        return ops.batch_norm_infer(x, running_mean, running_var, weight, bias, epsilon,
                                    channel_last)
    shape = x.shape
    channels = shape[-1] if channel_last else shape[1] if len(shape) > 1 else None
    if all(isinstance(n, int) for n in shape) and math.prod(shape) == channels:
        return ops.identity(x)                      # one number a channel: Paddle leaves it alone
    out, mean, variance = ops.batch_norm_train(x, weight, bias, epsilon, channel_last)
    _move_average(running_mean, mean, momentum)
    _move_average(running_var, variance, momentum)
    return out


def _move_average(average: Tensor, value: Tensor, momentum: float) -> None:
    """average = average * momentum + value * (1 - momentum), in place, unrecorded."""
    with no_grad():
        average.set_value(average * momentum + value * (1.0 - momentum))


def _affine(y, weight, bias, channel_last):
    """y * weight + bias by channels."""
    shape = [1] * len(y.shape)
    shape[len(y.shape) - 1 if channel_last else 1] = -1
    if weight is not None:
        y = y * ops.reshape(weight, shape)
    return y if bias is None else y + ops.reshape(bias, shape)


def group_norm(x: Tensor, num_groups: int, epsilon: float = 1e-05, weight: Tensor | None = None,
               bias: Tensor | None = None, data_format: str = "NCHW",
               name: str | None = None) -> Tensor:
    """Each sample normalised over each of num_groups groups of channels, then scaled by channels.

    Wu and He, Group Normalization, 2018.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.group_norm(paddle.ones([2, 4, 3, 3]), 2).shape
    [2, 4, 3, 3]
    """
    channel_last = data_format[-1] == "C" and len(data_format) > 2
    if channel_last:
        x = ops_conv.to_first(ops, x)
    _, c, *space = x.shape
    if c % num_groups:
        raise ValueError(f"group_norm: {c} channels do not divide by num_groups={num_groups}")
    d = c // num_groups * math.prod(space)
    y = ops.layer_norm(ops.reshape(x, [-1, num_groups, d]), d, epsilon=epsilon)
    y = _affine(ops.reshape(y, [-1, c, *space]), weight, bias, False)
    return ops_conv.to_last(ops, y) if channel_last else y


def instance_norm(x: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None,
                  use_input_stats: bool = True, momentum: float = 0.9, eps: float = 1e-05,
                  data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Each channel of each sample normalised by itself, then scaled by channels.

    Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.instance_norm(paddle.ones([2, 4, 3, 3])).shape
    [2, 4, 3, 3]
    """
    channels = x.shape[-1] if data_format[-1] == "C" and len(data_format) > 2 else x.shape[1]
    return group_norm(x, channels, eps, weight, bias, data_format)


def rms_norm(input: Tensor, normalized_shape, weight: Tensor | None = None, eps: float = 1e-05,
             name: str | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last axes. Zhang and Sennrich, 2019.

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.rms_norm(paddle.to_tensor([[3., 3.]]), 2)
    >>> [round(v, 3) for v in y.tolist()[0]]
    [1.0, 1.0]
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    axes = list(range(len(input.shape) - len(shape), len(input.shape)))
    y = input * ops.rsqrt(ops.mean(input * input, axis=axes, keepdim=True) + eps)
    return y if weight is None else y * weight


def local_response_norm(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75,
                        k: float = 1.0, data_format: str = "NCHW",
                        name: str | None = None) -> Tensor:
    """x / (k + alpha * mean of squares of `size` neighbouring channels)^beta.

    Krizhevsky et al., 2012; Paddle's form takes the mean, not the sum.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.local_response_norm(paddle.ones([1, 3, 2, 2]), 3).shape
    [1, 3, 2, 2]
    """
    channel = len(x.shape) - 1 if data_format[-1] == "C" else 1
    n, c = len(x.shape), x.shape[channel]
    pairs = [(0, 0)] * n
    pairs[channel] = (size // 2, (size - 1) // 2)
    squares = ops.pad_axes(x * x, tuple(pairs))
    total = None
    for i in range(size):
        index = (slice(None),) * channel + (slice(i, i + c),)
        total = squares[index] if total is None else total + squares[index]
    return x / ops.pow(total * (alpha / size) + k, beta)


def normalize(x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12,
              name: str | None = None) -> Tensor:
    """x / max(p-norm along an axis, epsilon).

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.normalize(paddle.to_tensor([[3., 4.]]))
    >>> [round(v, 4) for v in y.tolist()[0]]
    [0.6, 0.8]
    """
    if len(x.shape) == 1:
        axis = 0
    size = ops.norm(x, p=float(p), axis=axis, keepdim=True)
    return x / ops.clip(size, min=epsilon)


# ---- similarity and distance
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8,
                      name: str | None = None) -> Tensor:
    """sum(x1 * x2) / max(|x1| |x2|, eps) along an axis.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[1., 0.]]), paddle.to_tensor([[2., 0.]])
    >>> paddle.nn.functional.cosine_similarity(a, b).tolist()
    [1.0]
    """
    product = ops.sum(x1 * x2, axis=axis)
    squares = ops.sum(x1 * x1, axis=axis) * ops.sum(x2 * x2, axis=axis)
    return product / ops.sqrt(ops.clip(squares, min=eps * eps))


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None,
             name: str | None = None) -> Tensor:
    """out[n, k] = x1[n] @ weight[k] @ x2[n] + bias[k]; weight (out, in1, in2).

    >>> import minipaddle as paddle
    >>> x1, x2, w = paddle.ones([5, 2]), paddle.ones([5, 3]), paddle.ones([4, 2, 3])
    >>> paddle.nn.functional.bilinear(x1, x2, w).shape
    [5, 4]
    """
    k, m, n = weight.shape
    flat = ops.reshape(ops.transpose(weight, [1, 0, 2]), [m, k * n])
    left = ops.reshape(ops.matmul(x1, flat), [-1, k, n])
    out = ops.sum(left * ops.unsqueeze(x2, 1), axis=-1)
    return out if bias is None else out + bias


# ---- shapes of images
def pad(x: Tensor, pad, mode: str = "constant", value: float = 0.0, data_format: str = "NCHW",
        name: str | None = None) -> Tensor:
    """x with places added around: pad holds (before, after) from the LAST axis of space backwards.

    So [left, right, top, bottom] for images; with 2 * ndim numbers it goes from the first axis
    to the last. mode: 'constant' (with value), 'reflect', 'replicate', 'circular'. Negative
    numbers cut away. ValueError for a list that does not fit.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[[1., 2.]]]])
    >>> paddle.nn.functional.pad(x, [1, 0, 0, 1]).tolist()
    [[[[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]]]
    """
    numbers = [int(v) for v in _numbers(pad)]
    n = len(x.shape)
    channel_last = data_format in ops_conv.CHANNELS_LAST
    if isinstance(pad, int):
        numbers = numbers * (2 * max(n - 2, 1))
    if n < 3 and len(numbers) < 2 * n:
        pairs = ((0, 0),) * (n - len(numbers) // 2) + tuple(
            zip(numbers[::2], numbers[1::2]))[::-1]
    else:
        pairs = _pad_pairs(n, numbers, channel_last)
    return ops.pad_axes(x, pairs, mode, float(value))


def zeropad2d(x: Tensor, padding, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Images with zeros around: padding [left, right, top, bottom].

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.zeropad2d(paddle.ones([1, 1, 2, 2]), [1, 1, 0, 0]).shape
    [1, 1, 2, 4]
    """
    return pad(x, padding, "constant", 0.0, data_format)


_KINDS = {"nearest": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,),
          "bicubic": (2,), "trilinear": (3,)}


def interpolate(x: Tensor, size=None, scale_factor=None, mode: str = "nearest",
                align_corners: bool = False, align_mode: int = 0, data_format: str = "NCHW",
                name: str | None = None) -> Tensor:
    """Signals, images or volumes resampled to `size`, or by `scale_factor` (one of the two).

    mode: 'nearest', 'area'; 'linear' (3-D), 'bilinear', 'bicubic' (4-D), 'trilinear' (5-D).
    align_corners: the corner pixels' centres stay. align_mode 0: pixels are areas (half-pixel
    rule), 1: they are points; for the linear modes without align_corners.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[[1., 2.]]]])
    >>> paddle.nn.functional.interpolate(x, size=[1, 4]).tolist()
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """
    n = len(x.shape) - 2
    mode = mode.lower()
    if mode not in _KINDS or n not in _KINDS[mode]:
        raise ValueError(f"interpolate: mode {mode!r} does not serve an input of {n + 2} axes; "
                         f"modes and their axes of space: {_KINDS}")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give size or scale_factor, one of the two")
    if align_corners and mode == "area":
        raise ValueError("interpolate: align_corners does not go with mode 'area'")
    channel_last = data_format in ops_conv.CHANNELS_LAST
    if channel_last:
        x = ops_conv.to_first(ops, x)
    scales = None
    if size is not None:
        new = ints(_numbers(size), n, "size")
    else:
        scales = _numbers(scale_factor)
        scales = tuple([float(s) for s in (scales * n if len(scales) == 1 else scales)])
        if len(scales) != n or min(scales) <= 0:
            raise ValueError(f"interpolate: scale_factor must be one positive number or {n}, got "
                             f"{scale_factor}")
        new = tuple([int(m * s) for m, s in zip(x.shape[2:], scales)])
    if min(new) < 1:
        raise ValueError(f"interpolate: the new size {list(new)} is empty")
    kind = {"nearest": "nearest", "area": "area", "bicubic": "cubic"}.get(mode, "linear")
    y = ops.resample(x, new, kind, scales, align_corners, align_mode)
    return ops_conv.to_last(ops, y) if channel_last else y


def upsample(x: Tensor, size=None, scale_factor=None, mode: str = "nearest",
             align_corners: bool = False, align_mode: int = 0, data_format: str = "NCHW",
             name: str | None = None) -> Tensor:
    """`interpolate` under its other name.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.upsample(paddle.ones([1, 1, 2, 2]), scale_factor=2).shape
    [1, 1, 4, 4]
    """
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def _adaptive_size(x, output_size, n, channel_last):
    sizes = x.shape[1:-1] if channel_last else x.shape[2:]
    if len(sizes) != n:
        raise ValueError(f"adaptive pooling: x must have {n + 2} axes, got shape {list(x.shape)}")
    wanted = output_size if isinstance(output_size, (list, tuple)) else [output_size] * n
    return tuple([m if s is None else int(s) for s, m in zip(wanted, sizes)])


def _adaptive_avg(x, output_size, n, channel_last=False):
    size = _adaptive_size(x, output_size, n, channel_last)
    if not channel_last:
        return ops.resample(x, size, "area")
    return ops_conv.to_last(ops, ops.resample(ops_conv.to_first(ops, x), size, "area"))


def adaptive_avg_pool1d(x: Tensor, output_size, name: str | None = None) -> Tensor:
    """The means of output_size equal parts of each signal.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[1., 3., 5., 7.]]])
    >>> paddle.nn.functional.adaptive_avg_pool1d(x, 2).tolist()
    [[[2.0, 6.0]]]
    """
    return _adaptive_avg(x, output_size, 1)


def adaptive_avg_pool2d(x: Tensor, output_size, data_format: str = "NCHW",
                        name: str | None = None) -> Tensor:
    """The means of equal parts of each image; output_size: an int, or [h, w], None keeps a side.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.adaptive_avg_pool2d(paddle.ones([1, 3, 7, 5]), [3, None]).shape
    [1, 3, 3, 5]
    """
    return _adaptive_avg(x, output_size, 2, last(data_format, 2))


def adaptive_avg_pool3d(x: Tensor, output_size, data_format: str = "NCDHW",
                        name: str | None = None) -> Tensor:
    """The means of equal parts of each volume; see `adaptive_avg_pool2d`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.adaptive_avg_pool3d(paddle.ones([1, 3, 4, 4, 4]), 2).shape
    [1, 3, 2, 2, 2]
    """
    return _adaptive_avg(x, output_size, 3, last(data_format, 3))


def _pick(x, index):
    """The values of x (N, C, *S) at flat positions (N, C, *O) of its planes."""
    rows = ops.cast(ops.reshape(index, [0, 0, -1]), "int64")
    flat = ops.take_along_axis(ops.reshape(x, [0, 0, -1]), rows, 2)
    return ops.reshape(flat, [0, 0, *index.shape[2:]])


def _adaptive_max(x, output_size, n, return_mask):
    index = ops.adaptive_max_index(x, _adaptive_size(x, output_size, n, False))
    out = _pick(x, index)
    return (out, index) if return_mask else out


def adaptive_max_pool1d(x: Tensor, output_size, return_mask: bool = False,
                        name: str | None = None):
    """The maxima of output_size equal parts of each signal.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[1., 3., 5., 7.]]])
    >>> paddle.nn.functional.adaptive_max_pool1d(x, 2).tolist()
    [[[3.0, 7.0]]]
    """
    return _adaptive_max(x, output_size, 1, return_mask)


def adaptive_max_pool2d(x: Tensor, output_size, return_mask: bool = False,
                        name: str | None = None):
    """The maxima of equal parts of each image; return_mask also gives their flat positions.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.adaptive_max_pool2d(paddle.ones([1, 3, 7, 5]), [3, 2]).shape
    [1, 3, 3, 2]
    """
    return _adaptive_max(x, output_size, 2, return_mask)


def adaptive_max_pool3d(x: Tensor, output_size, return_mask: bool = False,
                        name: str | None = None):
    """The maxima of equal parts of each volume.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.adaptive_max_pool3d(paddle.ones([1, 3, 4, 4, 4]), 2).shape
    [1, 3, 2, 2, 2]
    """
    return _adaptive_max(x, output_size, 3, return_mask)


def _unpool(x, indices, kernel_size, stride, padding, output_size, n):
    kernel = ints(kernel_size, n, "kernel_size")
    stride = kernel if stride is None else ints(stride, n, "stride")
    pads = ints(padding, n, "padding")
    size = [(m - 1) * s - 2 * p + k
            for m, s, p, k in zip(x.shape[2:], stride, pads, kernel)] \
        if output_size is None else [int(v) for v in output_size[-n:]]
    b, c = x.shape[:2]
    length = math.prod(size)
    rows = ops.reshape(ops.arange(b * c) * length, [b, c, 1])
    index = ops.reshape(ops.reshape(ops.cast(indices, "int64"), [b, c, -1]) + rows, [-1, 1])
    flat = ops.scatter_nd(index, ops.reshape(x, [-1]), [b * c * length])
    return ops.reshape(flat, [b, c, *size])


def max_unpool1d(x: Tensor, indices: Tensor, kernel_size, stride=None, padding=0,
                 data_format: str = "NCL", output_size=None, name: str | None = None) -> Tensor:
    """Maxima put back at their positions, zeros elsewhere; see `max_unpool2d`.

    >>> import minipaddle as paddle
    >>> F = paddle.nn.functional
    >>> y, at = F.max_pool1d(paddle.to_tensor([[[1., 3., 5., 2.]]]), 2, return_mask=True)
    >>> F.max_unpool1d(y, at, 2).tolist()
    [[[0.0, 3.0, 5.0, 0.0]]]
    """
    return _unpool(x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(x: Tensor, indices: Tensor, kernel_size, stride=None, padding=0,
                 data_format: str = "NCHW", output_size=None, name: str | None = None) -> Tensor:
    """The maxima of `max_pool2d(return_mask=True)` put back at their positions, zeros elsewhere.

    >>> import minipaddle as paddle
    >>> F = paddle.nn.functional
    >>> y, at = F.max_pool2d(paddle.to_tensor([[[[1., 3.], [5., 2.]]]]), 2, return_mask=True)
    >>> F.max_unpool2d(y, at, 2).tolist()
    [[[[0.0, 0.0], [5.0, 0.0]]]]
    """
    return _unpool(x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(x: Tensor, indices: Tensor, kernel_size, stride=None, padding=0,
                 data_format: str = "NCDHW", output_size=None, name: str | None = None) -> Tensor:
    """Maxima put back at their positions, zeros elsewhere; see `max_unpool2d`.

    >>> import minipaddle as paddle
    >>> F = paddle.nn.functional
    >>> y, at = F.max_pool3d(paddle.ones([1, 1, 2, 2, 2]), 2, return_mask=True)
    >>> float(F.max_unpool3d(y, at, 2).sum())
    1.0
    """
    return _unpool(x, indices, kernel_size, stride, padding, output_size, 3)


def _lp_pool(x, norm_type, kernel_size, stride, padding, ceil_mode, data_format, pool, n):
    if norm_type == math.inf:
        return ops.max_pool2d(x, kernel_size, stride, padding, False, ceil_mode, data_format) \
            if n == 2 else ops.max_pool1d(x, kernel_size, stride, padding, False, ceil_mode)
    count = math.prod(ints(kernel_size, n, "kernel_size"))
    means = pool(ops.pow(x, float(norm_type)))
    return ops.pow(means * float(count), 1.0 / norm_type)


def lp_pool1d(x: Tensor, norm_type: float, kernel_size, stride=None, padding=0,
              ceil_mode: bool = False, data_format: str = "NCL",
              name: str | None = None) -> Tensor:
    """The p-norm of each window: (sum of x^p)^(1 / p).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.lp_pool1d(paddle.to_tensor([[[3., 4.]]]), 2, 2).tolist()
    [[[5.0]]]
    """
    return _lp_pool(x, norm_type, kernel_size, stride, padding, ceil_mode, data_format,
                    lambda y: ops.avg_pool1d(y, kernel_size, stride, padding, False, ceil_mode), 1)


def lp_pool2d(x: Tensor, norm_type: float, kernel_size, stride=None, padding=0,
              ceil_mode: bool = False, data_format: str = "NCHW",
              name: str | None = None) -> Tensor:
    """The p-norm of each window of images.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.lp_pool2d(paddle.ones([1, 1, 2, 2]), 2, 2).tolist()
    [[[[2.0]]]]
    """
    return _lp_pool(x, norm_type, kernel_size, stride, padding, ceil_mode, data_format,
                    lambda y: ops.avg_pool2d(y, kernel_size, stride, padding, ceil_mode, False,
                                             None, data_format), 2)


def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW",
                  name: str | None = None) -> Tensor:
    """(N, C * r^2, H, W) to (N, C, H * r, W * r). Shi et al., 2016.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.pixel_shuffle(paddle.ones([1, 8, 2, 3]), 2).shape
    [1, 2, 4, 6]
    """
    r, channel_last = int(upscale_factor), last(data_format, 2)
    if channel_last:
        x = ops_conv.to_first(ops, x)
    _, c, h, w = x.shape
    if c % (r * r):
        raise ValueError(f"pixel_shuffle: {c} channels do not divide by {r}^2")
    x = ops.transpose(ops.reshape(x, [-1, c // (r * r), r, r, h, w]), [0, 1, 4, 2, 5, 3])
    x = ops.reshape(x, [-1, c // (r * r), h * r, w * r])
    return ops_conv.to_last(ops, x) if channel_last else x


def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW",
                    name: str | None = None) -> Tensor:
    """(N, C, H * r, W * r) to (N, C * r^2, H, W): the inverse of `pixel_shuffle`.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.pixel_unshuffle(paddle.ones([1, 2, 4, 6]), 2).shape
    [1, 8, 2, 3]
    """
    r, channel_last = int(downscale_factor), last(data_format, 2)
    if channel_last:
        x = ops_conv.to_first(ops, x)
    _, c, h, w = x.shape
    if h % r or w % r:
        raise ValueError(f"pixel_unshuffle: the image {h} x {w} does not divide by {r}")
    x = ops.transpose(ops.reshape(x, [-1, c, h // r, r, w // r, r]), [0, 1, 3, 5, 2, 4])
    x = ops.reshape(x, [-1, c * r * r, h // r, w // r])
    return ops_conv.to_last(ops, x) if channel_last else x


def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW",
                    name: str | None = None) -> Tensor:
    """Channels dealt out anew: those of each group spread over all groups. Zhang et al., 2017.

    >>> import minipaddle as paddle
    >>> x = paddle.reshape(paddle.arange(4.), [1, 4, 1, 1])
    >>> paddle.nn.functional.channel_shuffle(x, 2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    channel_last = last(data_format, 2)
    if channel_last:
        x = ops_conv.to_first(ops, x)
    _, c, h, w = x.shape
    if c % groups:
        raise ValueError(f"channel_shuffle: {c} channels do not divide by groups={groups}")
    y = ops.transpose(ops.reshape(x, [-1, groups, c // groups, h, w]), [0, 2, 1, 3, 4])
    y = ops.reshape(y, [-1, c, h, w])
    return ops_conv.to_last(ops, y) if channel_last else y


def temporal_shift(x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None,
                   data_format: str = "NCHW") -> Tensor:
    """Parts of the channels moved one frame back and one frame on; x (N * seg_num, C, H, W).

    Lin, Gan and Han, TSM, 2019.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.temporal_shift(paddle.ones([6, 4, 2, 2]), 3).shape
    [6, 4, 2, 2]
    """
    channel_last = last(data_format, 2)
    if channel_last:
        x = ops_conv.to_first(ops, x)
    _, c, h, w = x.shape
    y = ops.reshape(x, [-1, seg_num, c, h, w])
    one, two = int(c * shift_ratio), int(c * 2 * shift_ratio)
    padded = ops.pad_axes(y, ((0, 0), (1, 1), (0, 0), (0, 0), (0, 0)))
    y = ops.concat([padded[:, :seg_num, :one], padded[:, 2:, one:two], y[:, :, two:]], axis=2)
    y = ops.reshape(y, [-1, c, h, w])
    return ops_conv.to_last(ops, y) if channel_last else y


def affine_grid(theta: Tensor, out_shape, align_corners: bool = True,
                name: str | None = None) -> Tensor:
    """The points theta @ (x, y, 1) for each pixel: (N, H, W, 2) of theta (N, 2, 3).

    >>> import minipaddle as paddle
    >>> theta = paddle.to_tensor([[[1., 0., 0.], [0., 1., 0.]]])
    >>> paddle.nn.functional.affine_grid(theta, [1, 3, 2, 2])[0, 0].tolist()
    [[-1.0, -1.0], [1.0, -1.0]]
    """
    shape = [int(v) for v in _numbers(out_shape)]
    lines = []
    for n in shape[2:]:
        if align_corners:
            line = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
        else:
            line = (np.arange(n) * 2 + 1) / n - 1
        lines.append(line)
    grids = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*grids, np.ones(shape[2:])], -1).reshape(1, -1, len(lines) + 1)
    points = ops.cast(Tensor(points) if theta.place.is_cpu_place()
                      else Tensor(points).cuda(theta.place.index), theta.dtype)
    out = ops.matmul(points, ops.transpose(theta, [0, 2, 1]))
    return ops.reshape(out, [theta.shape[0], *shape[2:], len(lines)])


def grid_sample(x: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool = True, name: str | None = None) -> Tensor:
    """The values of images x (N, C, H, W) at the points of grid (N, H', W', 2).

    A point (x, y) in [-1, 1] spans the image; align_corners: from pixel centre to pixel centre.
    mode 'bilinear' or 'nearest'; padding_mode 'zeros', 'border' or 'reflection'.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[[[1., 3.]]]])
    >>> grid = paddle.to_tensor([[[[0., 0.]]]])
    >>> paddle.nn.functional.grid_sample(x, grid).tolist()
    [[[[2.0]]]]
    """
    if len(x.shape) != 4 or len(grid.shape) != 4 or grid.shape[-1] != 2:
        raise ValueError(f"grid_sample: x must be (N, C, H, W) and grid (N, H', W', 2), got "
                         f"{list(x.shape)} and {list(grid.shape)}")
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border",
                                                                    "reflection"):
        raise ValueError("grid_sample: mode must be 'bilinear' or 'nearest', padding_mode "
                         f"'zeros', 'border' or 'reflection', got {mode!r}, {padding_mode!r}")
    n, c, h, w = x.shape
    points = []
    for i, size in enumerate((w, h)):
        at = grid[:, :, :, i]
        at = (at + 1.0) * ((size - 1) / 2) if align_corners else (at + 1.0) * (size / 2) - 0.5
        if padding_mode == "border":
            at = ops.clip(at, 0.0, size - 1.0)
        elif padding_mode == "reflection":
            low, span = (0.0, 2.0 * (size - 1)) if align_corners else (-0.5, 2.0 * size)
            if span == 0:
                at = at * 0.0
            else:
                at = ops.remainder(ops.abs(at - low), span)
                at = ops.where(at > span / 2, span - at, at) + low
            at = ops.clip(at, 0.0, size - 1.0)
        points.append(at)
    px, py = points
    if mode == "nearest":
        return _at_pixels(x, ops.round(px).detach(), ops.round(py).detach())
    x0, y0 = ops.floor(px).detach(), ops.floor(py).detach()
    fx, fy = ops.unsqueeze(px - x0, 1), ops.unsqueeze(py - y0, 1)
    return (_at_pixels(x, x0, y0) * (1.0 - fx) * (1.0 - fy)
            + _at_pixels(x, x0 + 1.0, y0) * fx * (1.0 - fy)
            + _at_pixels(x, x0, y0 + 1.0) * (1.0 - fx) * fy
            + _at_pixels(x, x0 + 1.0, y0 + 1.0) * fx * fy)


def _at_pixels(x, px, py):
    """x (N, C, H, W) at whole pixels (N, H', W'), zeros outside."""
    _, c, h, w = x.shape
    _, rows, columns = px.shape
    inside = ops.cast(ops.logical_and(ops.logical_and(px >= 0, px <= w - 1),
                                      ops.logical_and(py >= 0, py <= h - 1)), x.dtype)
    flat = ops.cast(ops.clip(py, 0, h - 1) * w + ops.clip(px, 0, w - 1), "int64")
    flat = ops.expand(ops.reshape(flat, [-1, 1, rows * columns]), [-1, c, rows * columns])
    values = ops.take_along_axis(ops.reshape(x, [-1, c, h * w]), flat, 2)
    return ops.reshape(values, [-1, c, rows, columns]) * ops.unsqueeze(inside, 1)


def sequence_mask(x: Tensor, maxlen: int | None = None, dtype: str = "int64",
                  name: str | None = None) -> Tensor:
    """Lengths (*) as masks (*, maxlen): 1 where the position is below the length.

    maxlen: the largest length when None.

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.sequence_mask(paddle.to_tensor([1, 3])).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    if isinstance(maxlen, Tensor):
        maxlen = int(maxlen)
    if maxlen is None:
        maxlen = int(ops.max(x))
    return ops.cast(ops.arange(maxlen, dtype=x.dtype) < ops.unsqueeze(x, -1), dtype)


# ---- attention
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, training: bool = True,
                                 name: str | None = None) -> Tensor:
    """softmax(query @ key^T / sqrt(d)) @ value: tensors (batch, time, heads, d).

    attn_mask: a bool one is True where attention is allowed, a float one is added.
    Vaswani et al., Attention Is All You Need, 2017.

    >>> import minipaddle as paddle
    >>> q = paddle.ones([1, 3, 2, 4])
    >>> paddle.nn.functional.scaled_dot_product_attention(q, q, q).shape
    [1, 3, 2, 4]
    """
    q, k, v = [ops.transpose(t, [0, 2, 1, 3]) for t in (query, key, value)]
    scores = ops.matmul(q * (1 / math.sqrt(query.shape[-1])), k, transpose_y=True)
    if is_causal:
        rows = ops.unsqueeze(ops.arange(query.shape[1]), 1)
        allowed = ops.arange(key.shape[1]) <= rows
        scores = ops.where(allowed, scores, ops.full_like(scores, -math.inf))
    if attn_mask is not None:
        if attn_mask.dtype.name == "bool":
            scores = ops.where(attn_mask, scores, ops.full_like(scores, -math.inf))
        else:
            scores = scores + attn_mask
    weights = dropout(ops.softmax(scores, -1), dropout_p, training=training)
    return ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
