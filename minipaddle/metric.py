"""Metrics (`paddle.metric`): Accuracy, Precision, Recall, Auc. Imports core.

`compute` runs on tensors, where the predictions are; `update` counts on the host.
"""
from __future__ import annotations

import numpy as np

from .core import Tensor, no_grad, ops, to_tensor

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


def _array(x, label: str) -> np.ndarray:
    if isinstance(x, Tensor):
        return x.numpy()
    if isinstance(x, (np.ndarray, list, tuple, int, float)):
        return np.asarray(x)
    raise TypeError(f"metric: {label} must be a Tensor or an array, got {type(x).__name__}")


class Metric:
    """Base of the metrics: `compute` on tensors, `update` with its result, `accumulate`.

    >>> import minipaddle as paddle
    >>> class Count(paddle.metric.Metric):
    ...     def __init__(self):
    ...         self._name, self.n = 'count', 0
    ...     def reset(self):
    ...         self.n = 0
    ...     def update(self, pred, label):
    ...         self.n += len(pred)
    ...     def accumulate(self):
    ...         return self.n
    >>> m = Count(); m.update(*m.compute(paddle.ones([3, 1]), paddle.ones([3, 1])))
    >>> m.name(), m.accumulate()
    ('count', 3)
    """

    def __init__(self) -> None:
        pass

    def reset(self) -> None:
        """Forget everything counted."""
        raise NotImplementedError(f"{type(self).__name__} needs reset(self)")

    def update(self, *args):
        """Count a batch: takes what `compute` gave, as tensors or arrays."""
        raise NotImplementedError(f"{type(self).__name__} needs update(self, ...)")

    def accumulate(self):
        """The metric over all that was counted."""
        raise NotImplementedError(f"{type(self).__name__} needs accumulate(self)")

    def name(self):
        """The metric's name, or a list of names."""
        return self._name

    def compute(self, *args):
        """What `update` takes, from the network's outputs and the labels: they themselves."""
        return args


class Accuracy(Metric):
    """The share of samples whose label is among the k best scores, for each k in topk.

    >>> import minipaddle as paddle
    >>> m = paddle.metric.Accuracy()
    >>> c = m.compute(paddle.to_tensor([[.1, .9], [.8, .2]]), paddle.to_tensor([[1], [1]]))
    >>> m.update(c), m.accumulate()
    (0.5, 0.5)
    """

    def __init__(self, topk=(1,), name: str | None = None, *args, **kwargs) -> None:
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        if not self.topk or min(self.topk) < 1:
            raise ValueError(f"Accuracy: topk must hold positive ints, got {topk!r}")
        self.maxk = max(self.topk)
        label = name or "acc"
        self._name = [label] if self.maxk == 1 else [f"{label}_top{k}" for k in self.topk]
        self.reset()

    @no_grad()
    def compute(self, pred: Tensor, label: Tensor, *args) -> Tensor:
        """1.0 where the label is the j-th best, [N, maxk].

        pred: scores [N, C]. label: [N] or [N, 1] of classes, or one-hot [N, C].
        """
        if not isinstance(label, Tensor):
            label = to_tensor(label)
        best = ops.argsort(pred, axis=-1, descending=True)[..., :self.maxk]
        if label.ndim == pred.ndim and label.shape[-1] != 1:
            label = ops.argmax(label, axis=-1, keepdim=True)
        elif label.ndim < pred.ndim:
            label = ops.unsqueeze(label, -1)
        return (best == label.astype("int64")).astype("float32")

    def update(self, correct, *args):
        """Count what `compute` gave; returns the share in this batch, one for each k."""
        correct = _array(correct, "correct")
        n = int(np.prod(correct.shape[:-1]))
        found = [float(correct[..., :k].sum()) for k in self.topk]
        for i, hits in enumerate(found):
            self.total[i] += hits
            self.count[i] += n
        return _one_or_all([hits / n if n else 0.0 for hits in found])

    def reset(self) -> None:
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self):
        """The share over all that was counted: a number, or a list of one for each k."""
        return _one_or_all([t / c if c else 0.0 for t, c in zip(self.total, self.count)])


def _one_or_all(values: list):
    return values[0] if len(values) == 1 else values


class Precision(Metric):
    """Of those predicted positive (score at least 0.5), the share that is.

    >>> import minipaddle as paddle
    >>> m = paddle.metric.Precision()
    >>> m.update(paddle.to_tensor([.9, .8, .1]), paddle.to_tensor([1, 0, 1])); m.accumulate()
    0.5
    """

    def __init__(self, name: str = "precision", *args, **kwargs) -> None:
        self._name = name
        self.reset()

    def update(self, preds, labels) -> None:
        """Count scores in [0, 1], of any shape, against labels 0 and 1."""
        said, true = _two_classes(preds, labels)
        said = np.floor(said + 0.5) == 1
        self.tp += int((said & true).sum())
        self.fp += int((said & ~true).sum())

    def reset(self) -> None:
        self.tp = self.fp = 0

    def accumulate(self) -> float:
        """tp / (tp + fp); 0 where nothing was predicted positive."""
        n = self.tp + self.fp
        return self.tp / n if n else 0.0


class Recall(Metric):
    """Of the positives, the share predicted so (score above 0.5).

    >>> import minipaddle as paddle
    >>> m = paddle.metric.Recall()
    >>> m.update(paddle.to_tensor([.9, .8, .1]), paddle.to_tensor([1, 0, 1])); m.accumulate()
    0.5
    """

    def __init__(self, name: str = "recall", *args, **kwargs) -> None:
        self._name = name
        self.reset()

    def update(self, preds, labels) -> None:
        """Count scores in [0, 1], of any shape, against labels 0 and 1."""
        said, true = _two_classes(preds, labels)
        said = np.rint(said) == 1                   # Paddle rounds 0.5 down here, up in Precision
        self.tp += int((said & true).sum())
        self.fn += int((~said & true).sum())

    def reset(self) -> None:
        self.tp = self.fn = 0

    def accumulate(self) -> float:
        """tp / (tp + fn); 0 where there was no positive."""
        n = self.tp + self.fn
        return self.tp / n if n else 0.0


def _two_classes(preds, labels):
    said, true = _array(preds, "preds").ravel(), _array(labels, "labels").ravel()
    if said.size != true.size:
        raise ValueError(f"metric: {said.size} predictions but {true.size} labels")
    return said, true == 1


class Auc(Metric):
    """The area under the ROC curve, from histograms of the scores with num_thresholds bins.

    >>> import minipaddle as paddle
    >>> m = paddle.metric.Auc()
    >>> m.update(paddle.to_tensor([[.9, .1], [.2, .8], [.6, .4]]), paddle.to_tensor([0, 1, 1]))
    >>> m.accumulate()
    1.0
    """

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args,
                 **kwargs) -> None:
        if curve != "ROC":
            raise ValueError(f"Auc: curve must be 'ROC', got {curve!r}")
        self._name, self._curve, self._num_thresholds = name, curve, num_thresholds
        self.reset()

    def update(self, preds, labels) -> None:
        """Count scores, [N, 2] (the second column is the positive class's) or [N], by label."""
        scores = _array(preds, "preds")
        score, true = _two_classes(scores[:, 1] if scores.ndim == 2 else scores, labels)
        bins = (score * self._num_thresholds).astype("int64")
        if bins.size and not 0 <= bins.min() <= bins.max() <= self._num_thresholds:
            raise ValueError("Auc: preds must be probabilities in [0, 1], got "
                             f"{float(score.min())} to {float(score.max())}")
        size = self._num_thresholds + 1
        self._stat_pos += np.bincount(bins[true], minlength=size)
        self._stat_neg += np.bincount(bins[~true], minlength=size)

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1)
        self._stat_neg = np.zeros(self._num_thresholds + 1)

    @staticmethod
    def trapezoid_area(x1: float, x2: float, y1: float, y2: float) -> float:
        """The area under the line from (x1, y1) to (x2, y2)."""
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def accumulate(self) -> float:
        """The area; 0 where only one class was seen."""
        pos = np.concatenate([[0.0], np.cumsum(self._stat_pos[::-1])])
        neg = np.concatenate([[0.0], np.cumsum(self._stat_neg[::-1])])
        if not pos[-1] or not neg[-1]:
            return 0.0
        area = self.trapezoid_area(neg[:-1], neg[1:], pos[:-1], pos[1:]).sum()
        return float(area / (pos[-1] * neg[-1]))


def accuracy(input: Tensor, label: Tensor, k: int = 1, correct=None, total=None,
             name: str | None = None) -> Tensor:
    """The share of rows of input [N, C] whose label [N, 1] is among the k best, a 0-d tensor.

    >>> import minipaddle as paddle
    >>> scores = paddle.to_tensor([[.1, .9], [.8, .2]])
    >>> paddle.metric.accuracy(scores, paddle.to_tensor([[1], [1]])).item()
    0.5
    """
    hits = Accuracy(topk=k).compute(input, label)
    return ops.mean(ops.sum(hits, axis=-1))
