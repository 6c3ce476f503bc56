"""The losses of paddle.nn.functional.

Imports ops_nn, ops_ctc and core. Each is a few ops; cross-entropy without options is one.
"""
from __future__ import annotations

import math

import numpy as np

from . import ops_ctc, ops_nn  # noqa: F401
from .core import Tensor, ops

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
           "cross_entropy", "ctc_loss", "dice_loss", "gaussian_nll_loss", "hinge_embedding_loss",
           "kl_div", "l1_loss", "label_smooth", "log_loss", "margin_ranking_loss", "mse_loss",
           "multi_label_soft_margin_loss", "multi_margin_loss", "nll_loss", "npair_loss",
           "pairwise_distance", "poisson_nll_loss", "sigmoid_focal_loss", "smooth_l1_loss",
           "soft_margin_loss", "softmax_with_cross_entropy", "square_error_cost",
           "triplet_margin_loss", "triplet_margin_with_distance_loss"]


def _reduced(loss: Tensor, reduction: str, where: str) -> Tensor:
    if reduction == "mean":
        return ops.mean(loss)
    if reduction == "sum":
        return ops.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{where}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}")


def _check_reduction(reduction: str, where: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{where}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}")


def label_smooth(label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1,
                 name: str | None = None) -> Tensor:
    """(1 - epsilon) * label + epsilon * prior; the prior is even when None.

    >>> import minipaddle as paddle
    >>> y = paddle.nn.functional.label_smooth(paddle.to_tensor([[0., 1.]]))
    >>> [round(v, 3) for v in y.tolist()[0]]
    [0.05, 0.95]
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"label_smooth: epsilon must be between 0 and 1, got {epsilon}")
    kept = label * (1.0 - epsilon)
    return kept + epsilon / label.shape[-1] if prior_dist is None else kept + prior_dist * epsilon


def pairwise_distance(x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-6,
                      keepdim: bool = False, name: str | None = None) -> Tensor:
    """The p-norm of x - y + epsilon along the last axis.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[0., 0.]]), paddle.to_tensor([[3., 4.]])
    >>> [round(v, 3) for v in paddle.nn.functional.pairwise_distance(a, b).tolist()]
    [5.0]
    """
    return ops.norm(x - y + epsilon, p=float(p), axis=-1, keepdim=keepdim)


# ---- losses: classes
def _hot(label, axis, classes, ignore_index, dtype, ndim):
    """One-hot labels with the classes along axis, zeros for ignored ones; and who counts."""
    flat = label
    if len(label.shape) == ndim:
        flat = ops.squeeze(label, axis)
    counted = flat != ignore_index
    hot = ops.cast(ops.one_hot(ops.where(counted, flat, ops.zeros_like(flat)), classes), dtype)
    counted = ops.cast(counted, dtype)
    hot = hot * ops.unsqueeze(counted, -1)
    if axis != ndim - 1:
        hot = ops.transpose(hot, [*range(axis), ndim - 1, *range(axis, ndim - 1)])
    return hot, counted


def cross_entropy(input: Tensor, label: Tensor, weight: Tensor | None = None,
                  ignore_index: int = -100, reduction: str = "mean", soft_label: bool = False,
                  axis: int = -1, use_softmax: bool = True, label_smoothing: float = 0.0,
                  name: str | None = None) -> Tensor:
    """-log(softmax(input))[label]: the loss of classification.

    input: scores (N, C) or (N, *, C) (classes along `axis`); probabilities with
    use_softmax=False. label: class numbers, without the class axis or with 1 there; with
    soft_label=True probabilities of input's shape. weight (C): a factor for each class; the mean
    then divides by the sum of weights. ignore_index: labels that do not count. reduction 'none'
    follows the label's shape. ValueError for labels out of range and for shapes that clash.

    >>> import minipaddle as paddle
    >>> scores, label = paddle.zeros([2, 4]), paddle.to_tensor([0, 3])
    >>> round(float(paddle.nn.functional.cross_entropy(scores, label)), 4)
    1.3863
    """
    _check_reduction(reduction, "cross_entropy")
    if not (soft_label or label_smoothing or weight is not None) and use_softmax:
        return ops.softmax_cross_entropy(input, label, axis, ignore_index, reduction)
    ndim = len(input.shape)
    axis = axis % ndim
    classes = input.shape[axis]
    log_p = ops.log_softmax(input, axis) if use_softmax else ops.log(input)
    counted = None
    if not soft_label:
        _check_labels(label, input, axis, ignore_index)
        hot, counted = _hot(label, axis, classes, ignore_index, input.dtype, ndim)
        label_shape = label.shape
    else:
        if len(label.shape) != ndim:
            raise ValueError(f"cross_entropy: soft labels must have input's shape "
                             f"{list(input.shape)}, got {list(label.shape)}")
        hot, label_shape = label, None
    if label_smoothing:
        if not 0 < label_smoothing <= 1:
            raise ValueError("cross_entropy: label_smoothing must be between 0 and 1, got "
                             f"{label_smoothing}")
        label_shape = None                          # as soft labels: Paddle keeps the axis
        hot = hot * (1.0 - label_smoothing) + label_smoothing / classes
        if counted is not None:
            hot = hot * ops.unsqueeze(counted, axis)
    loss = -ops.sum(hot * log_p, axis=axis)
    share = counted
    if weight is not None:
        if len(weight.shape) != 1 or weight.shape[0] != classes:
            raise ValueError(f"cross_entropy: weight must have one number for each of the "
                             f"{classes} classes, got shape {list(weight.shape)}")
        shape = [1] * ndim
        shape[axis] = classes
        share = ops.sum(hot * ops.reshape(weight, shape), axis=axis)
        loss = loss * share
    if reduction == "none":
        return ops.reshape(loss, label_shape) if label_shape is not None else \
            ops.unsqueeze(loss, axis)
    total = ops.sum(loss)
    if reduction == "sum":
        return total
    if share is None:
        return ops.mean(loss)
    count = ops.sum(share)
    return total / (count if weight is not None else ops.clip(count, min=1.0))


def _check_labels(label, input, axis, ignore_index):
    """Labels out of range raise; on a GPU nobody looks, and a traced label has no values."""
    if isinstance(label._data, np.ndarray) and isinstance(input._data, np.ndarray):
        ops_nn.label_rows(np, label._data, input._data.shape, axis, ignore_index,
                          input.shape[axis])


def softmax_with_cross_entropy(logits: Tensor, label: Tensor, soft_label: bool = False,
                               ignore_index: int = -100, numeric_stable_mode: bool = True,
                               return_softmax: bool = False, axis: int = -1,
                               name: str | None = None):
    """The loss of each sample, with 1 where the classes stood: [N, 1] for logits [N, C].

    return_softmax=True also gives softmax(logits).

    >>> import minipaddle as paddle
    >>> logits, label = paddle.zeros([2, 4]), paddle.to_tensor([[0], [3]])
    >>> paddle.nn.functional.softmax_with_cross_entropy(logits, label).shape
    [2, 1]
    """
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    if len(loss.shape) < len(logits.shape):
        loss = ops.unsqueeze(loss, axis)
    return (loss, ops.softmax(logits, axis)) if return_softmax else loss


def nll_loss(input: Tensor, label: Tensor, weight: Tensor | None = None,
             ignore_index: int = -100, reduction: str = "mean",
             name: str | None = None) -> Tensor:
    """-input[label]: the loss of log-probabilities (N, C) or (N, C, *), labels (N) or (N, *).

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([[-1., -2.]])
    >>> float(paddle.nn.functional.nll_loss(x, paddle.to_tensor([1])))
    2.0
    """
    _check_reduction(reduction, "nll_loss")
    _check_labels(label, input, 1, ignore_index)
    hot, counted = _hot(label, 1, input.shape[1], ignore_index, input.dtype, len(input.shape))
    if weight is not None:
        shape = [1] * len(input.shape)
        shape[1] = -1
        hot = hot * ops.reshape(weight, shape)
    loss = -ops.sum(hot * input, axis=1)
    if reduction != "mean":
        return _reduced(loss, reduction, "nll_loss")
    return ops.sum(loss) / ops.sum(hot if weight is not None else counted)


def binary_cross_entropy(input: Tensor, label: Tensor, weight: Tensor | None = None,
                         reduction: str = "mean", name: str | None = None) -> Tensor:
    """-label * log(input) - (1 - label) * log(1 - input), of probabilities.

    The logarithms are cut off at -100.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.5]), paddle.to_tensor([1.0])
    >>> round(float(paddle.nn.functional.binary_cross_entropy(x, y)), 4)
    0.6931
    """
    loss = ops.bce_loss(input, label)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(logit: Tensor, label: Tensor, weight: Tensor | None = None,
                                     reduction: str = "mean", pos_weight: Tensor | None = None,
                                     name: str | None = None) -> Tensor:
    """`binary_cross_entropy` of sigmoid(logit), without overflow.

    weight: a factor for each element. pos_weight: one for the positive part.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.0]), paddle.to_tensor([1.0])
    >>> round(float(paddle.nn.functional.binary_cross_entropy_with_logits(x, y)), 4)
    0.6931
    """
    if list(logit.shape) != list(label.shape):
        raise ValueError(f"binary_cross_entropy_with_logits: logit has shape {list(logit.shape)}, "
                         f"label {list(label.shape)}; they must be equal")
    if pos_weight is None:
        loss = ops.sigmoid_cross_entropy_with_logits(logit, label)
    else:
        factor = label * (pos_weight - 1.0) + 1.0
        loss = (1.0 - label) * logit - factor * ops.log_sigmoid(logit)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, reduction, "binary_cross_entropy_with_logits")


def sigmoid_focal_loss(logit: Tensor, label: Tensor, normalizer: Tensor | None = None,
                       alpha: float = 0.25, gamma: float = 2.0, reduction: str = "sum",
                       name: str | None = None) -> Tensor:
    """Binary cross-entropy with the easy examples weighed down by (1 - p)^gamma.

    Lin et al., Focal Loss for Dense Object Detection, 2017.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.0]), paddle.to_tensor([1.0])
    >>> round(float(paddle.nn.functional.sigmoid_focal_loss(x, y)), 4)
    0.0433
    """
    loss = ops.sigmoid_cross_entropy_with_logits(logit, label)
    p = ops.sigmoid(logit)
    right = p * label + (1.0 - p) * (1.0 - label)
    loss = (alpha * label + (1.0 - alpha) * (1.0 - label)) * loss
    loss = loss * ops.pow(1.0 - right, gamma)
    if normalizer is not None:
        loss = loss / normalizer
    return _reduced(loss, reduction, "sigmoid_focal_loss")


# ---- losses: numbers
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean",
             name: str | None = None) -> Tensor:
    """(input - label)^2.

    >>> import minipaddle as paddle
    >>> float(paddle.nn.functional.mse_loss(paddle.to_tensor([3.]), paddle.to_tensor([1.])))
    4.0
    """
    return _reduced(square_error_cost(input, label), reduction, "mse_loss")


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """(input - label)^2 for each element.

    >>> import minipaddle as paddle
    >>> F = paddle.nn.functional
    >>> F.square_error_cost(paddle.to_tensor([3.]), paddle.to_tensor([1.])).tolist()
    [4.0]
    """
    d = input - label
    return d * d


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean",
            name: str | None = None) -> Tensor:
    """|input - label|.

    >>> import minipaddle as paddle
    >>> float(paddle.nn.functional.l1_loss(paddle.to_tensor([3.]), paddle.to_tensor([1.])))
    2.0
    """
    return _reduced(ops.abs(input - label), reduction, "l1_loss")


def smooth_l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", delta: float = 1.0,
                   name: str | None = None) -> Tensor:
    """Huber's loss of d = input - label: d^2 / 2 within delta, delta * (|d| - delta / 2) beyond.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([3.]), paddle.to_tensor([1.])
    >>> float(paddle.nn.functional.smooth_l1_loss(x, y))
    1.5
    """
    d = ops.abs(input - label)
    near = ops.clip(d, max=delta)                   # |d|, then delta: one formula for both
    return _reduced(near * (d - 0.5 * near), reduction, "smooth_l1_loss")


def kl_div(input: Tensor, label: Tensor, reduction: str = "mean",
           name: str | None = None) -> Tensor:
    """label * (log(label) - input), 0 where label is 0; input holds log-probabilities.

    reduction also 'batchmean': the sum divided by the first size.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[0.0, 0.0]]), paddle.to_tensor([[1.0, 0.0]])
    >>> float(paddle.nn.functional.kl_div(x, y, reduction='sum'))
    0.0
    """
    positive = label > 0
    safe = ops.where(positive, label, ops.ones_like(label))
    loss = ops.where(positive, safe * (ops.log(safe) - input), ops.zeros_like(input))
    if reduction == "batchmean":
        return ops.sum(loss) / (input.shape[0] if len(input.shape) else 1)
    return _reduced(loss, reduction, "kl_div")


def log_loss(input: Tensor, label: Tensor, epsilon: float = 0.0001,
             name: str | None = None) -> Tensor:
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon), each element.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[0.5]]), paddle.to_tensor([[1.0]])
    >>> round(float(paddle.nn.functional.log_loss(x, y)), 4)
    0.6929
    """
    return -label * ops.log(input + epsilon) - (1.0 - label) * ops.log(1.0 - input + epsilon)


def margin_ranking_loss(input: Tensor, other: Tensor, label: Tensor, margin: float = 0.0,
                        reduction: str = "mean", name: str | None = None) -> Tensor:
    """max(0, -label * (input - other) + margin); label 1 or -1.

    >>> import minipaddle as paddle
    >>> a, b, y = [paddle.to_tensor([v]) for v in (1., 3., 1.)]
    >>> float(paddle.nn.functional.margin_ranking_loss(a, b, y))
    2.0
    """
    return _reduced(ops.relu((other - input) * label + margin), reduction, "margin_ranking_loss")


def hinge_embedding_loss(input: Tensor, label: Tensor, margin: float = 1.0,
                         reduction: str = "mean", name: str | None = None) -> Tensor:
    """input where label is 1, max(0, margin - input) where it is -1.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.5, 0.25]), paddle.to_tensor([1., -1.])
    >>> float(paddle.nn.functional.hinge_embedding_loss(x, y, reduction='sum'))
    1.25
    """
    zero = ops.zeros_like(input)
    loss = ops.where(label == 1, input, zero) + ops.where(label == -1, ops.relu(margin - input),
                                                          zero)
    return _reduced(loss, reduction, "hinge_embedding_loss")


def cosine_embedding_loss(input1: Tensor, input2: Tensor, label: Tensor, margin: float = 0,
                          reduction: str = "mean", name: str | None = None) -> Tensor:
    """1 - cos where label is 1, max(0, cos - margin) where it is -1.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[1., 0.]]), paddle.to_tensor([[0., 1.]])
    >>> y = paddle.to_tensor([1])
    >>> float(paddle.nn.functional.cosine_embedding_loss(a, b, y))
    1.0
    """
    product = ops.sum(input1 * input2, axis=-1)
    squares = (ops.sum(input1 * input1, axis=-1) + 1e-12) * \
        (ops.sum(input2 * input2, axis=-1) + 1e-12)
    cos = product / ops.sqrt(squares)
    loss = ops.where(label == 1, 1.0 - cos, ops.zeros_like(cos)) + \
        ops.where(label == -1, ops.relu(cos - margin), ops.zeros_like(cos))
    return _reduced(loss, reduction, "cosine_embedding_loss")


def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean",
                     name: str | None = None) -> Tensor:
    """log(1 + exp(-label * input)); label 1 or -1.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.]), paddle.to_tensor([1.])
    >>> round(float(paddle.nn.functional.soft_margin_loss(x, y)), 4)
    0.6931
    """
    label = ops.cast(label, input.dtype)
    return _reduced(-ops.log_sigmoid(label * input), reduction, "soft_margin_loss")


def multi_label_soft_margin_loss(input: Tensor, label: Tensor, weight: Tensor | None = None,
                                 reduction: str = "mean", name: str | None = None) -> Tensor:
    """The mean over the classes of the binary cross-entropy of logits; label 0 or 1.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[0., 0.]]), paddle.to_tensor([[1., 0.]])
    >>> round(float(paddle.nn.functional.multi_label_soft_margin_loss(x, y)), 4)
    0.6931
    """
    loss = ops.sigmoid_cross_entropy_with_logits(input, ops.cast(label, input.dtype))
    if weight is not None:
        loss = loss * weight
    return _reduced(ops.mean(loss, axis=-1), reduction, "multi_label_soft_margin_loss")


def multi_margin_loss(input: Tensor, label: Tensor, p: int = 1, margin: float = 1.0,
                      weight: Tensor | None = None, reduction: str = "mean",
                      name: str | None = None) -> Tensor:
    """The mean over the other classes j of max(0, margin - input[label] + input[j])^p.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[1., 1.]]), paddle.to_tensor([0])
    >>> float(paddle.nn.functional.multi_margin_loss(x, y))
    0.5
    """
    n, c = input.shape
    hot = ops.cast(ops.one_hot(ops.reshape(label, [-1]), c), input.dtype)
    right = ops.sum(hot * input, axis=1, keepdim=True)
    terms = ops.relu(input - right + margin)
    terms = (terms if p == 1 else ops.pow(terms, float(p))) * (1.0 - hot)
    if weight is not None:
        terms = terms * ops.sum(hot * weight, axis=1, keepdim=True)
    return _reduced(ops.sum(terms, axis=1) / c, reduction, "multi_margin_loss")


def triplet_margin_with_distance_loss(input: Tensor, positive: Tensor, negative: Tensor,
                                      distance_function=None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean",
                                      name: str | None = None) -> Tensor:
    """max(0, d(input, positive) - d(input, negative) + margin).

    distance_function: Euclidean when None. swap: the smaller of the negative's distances to
    input and positive.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[0., 0.]]), paddle.to_tensor([[3., 4.]])
    >>> float(paddle.nn.functional.triplet_margin_with_distance_loss(a, a, b))
    0.0
    """
    distance = distance_function or pairwise_distance
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _reduced(ops.relu(near - far + margin), reduction, "triplet_margin_with_distance_loss")


def triplet_margin_loss(input: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
                        p: float = 2, epsilon: float = 1e-6, swap: bool = False,
                        reduction: str = "mean", name: str | None = None) -> Tensor:
    """`triplet_margin_with_distance_loss` with p-norms.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[0., 0.]]), paddle.to_tensor([[3., 4.]])
    >>> float(paddle.nn.functional.triplet_margin_loss(a, a, b))
    0.0
    """
    return triplet_margin_with_distance_loss(
        input, positive, negative, lambda x, y: pairwise_distance(x, y, p, epsilon), margin, swap,
        reduction)


def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-05,
              name: str | None = None) -> Tensor:
    """1 - 2 * intersection / (size + size): input (N, *, C) probabilities, label (N, *, 1).

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[1., 0.]]), paddle.to_tensor([[0]])
    >>> round(float(paddle.nn.functional.dice_loss(x, y)), 4)
    0.0
    """
    hot = ops.cast(ops.one_hot(ops.squeeze(label, -1), input.shape[-1]), input.dtype)
    axes = list(range(1, len(input.shape)))
    both = ops.sum(input * hot, axis=axes)
    total = ops.sum(input, axis=axes) + ops.sum(hot, axis=axes)
    return ops.mean(1.0 - both * 2.0 / (total + epsilon))


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Softmax cross-entropy of anchor-positive similarities plus a penalty on their length.

    Sohn, Improved Deep Metric Learning with Multi-class N-pair Loss Objective, 2016.

    >>> import minipaddle as paddle
    >>> a, y = paddle.zeros([2, 3]), paddle.to_tensor([0., 1.])
    >>> round(float(paddle.nn.functional.npair_loss(a, a, y)), 4)
    0.6931
    """
    n = labels.shape[0]
    y = ops.reshape(labels, [n, 1])
    same = ops.cast(y == ops.reshape(labels, [1, n]), anchor.dtype)
    same = same / ops.sum(same, axis=1, keepdim=True)
    size = ops.mean(ops.sum(anchor * anchor, axis=1)) + ops.mean(ops.sum(positive * positive,
                                                                         axis=1))
    scores = ops.matmul(anchor, positive, transpose_y=True)
    each = cross_entropy(scores, same, soft_label=True, reduction="none")
    return size * (0.25 * l2_reg) + ops.mean(ops.sum(same * each, axis=0))


def poisson_nll_loss(input: Tensor, label: Tensor, log_input: bool = True, full: bool = False,
                     epsilon: float = 1e-8, reduction: str = "mean",
                     name: str | None = None) -> Tensor:
    """exp(input) - label * input, or input - label * log(input + epsilon) for log_input=False.

    full adds Stirling's approximation of log(label!) where label > 1.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([0.]), paddle.to_tensor([1.])
    >>> float(paddle.nn.functional.poisson_nll_loss(x, y))
    1.0
    """
    if log_input:
        loss = ops.exp(input) - label * input
    else:
        loss = input - label * ops.log(input + epsilon)
    if full:
        safe = ops.clip(label, min=1.0)
        stirling = safe * ops.log(safe) - safe + 0.5 * ops.log(safe * (2 * math.pi))
        loss = loss + ops.where(label > 1, stirling, ops.zeros_like(stirling))
    return _reduced(loss, reduction, "poisson_nll_loss")


def gaussian_nll_loss(input: Tensor, label: Tensor, variance: Tensor, full: bool = False,
                      epsilon: float = 1e-6, reduction: str = "mean",
                      name: str | None = None) -> Tensor:
    """(log(variance) + (input - label)^2 / variance) / 2; full adds log(2 pi) / 2.

    >>> import minipaddle as paddle
    >>> one = paddle.to_tensor([1.])
    >>> float(paddle.nn.functional.gaussian_nll_loss(one * 3, one, one))
    2.0
    """
    variance = ops.clip(variance, min=epsilon)
    d = input - label
    loss = (ops.log(variance) + d * d / variance) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction, "gaussian_nll_loss")


def ctc_loss(log_probs: Tensor, labels: Tensor, input_lengths: Tensor, label_lengths: Tensor,
             blank: int = 0, reduction: str = "mean", norm_by_times: bool = False,
             name: str | None = None) -> Tensor:
    """-log of the probability of labels, summed over all alignments; Graves et al., 2006.

    log_probs: logits (time, batch, classes), softmax is taken here. labels: (batch, length)
    without blanks. reduction 'mean' divides each loss by its label length first. norm_by_times
    divides the gradient by the number of time steps. A label that does not fit in its time gives
    inf.

    >>> import minipaddle as paddle
    >>> x, y = paddle.zeros([2, 1, 2]), paddle.to_tensor([[1]])
    >>> n = paddle.to_tensor([2]), paddle.to_tensor([1])
    >>> round(float(paddle.nn.functional.ctc_loss(x, y, *n)), 4)        # -log(3 / 4)
    0.2877
    """
    _check_reduction(reduction, "ctc_loss")
    loss = ops.ctc(log_probs, labels, input_lengths, label_lengths, blank, norm_by_times)
    if reduction == "mean":
        return ops.mean(loss / ops.cast(label_lengths, loss.dtype))
    return _reduced(loss, reduction, "ctc_loss")
