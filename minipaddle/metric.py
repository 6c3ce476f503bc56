"""Metrics (`paddle.metric`): Accuracy, Precision, Recall, Auc. Imports core."""
from __future__ import annotations

import numpy as np

from .core import Tensor, no_grad, ops

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


def _array(x) -> np.ndarray:
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


class Metric:
    """Base: `compute` on tensors (may stay on a device), `update` with its result, `accumulate`."""

    def reset(self) -> None:
        raise NotImplementedError

    def update(self, *args):
        raise NotImplementedError

    def accumulate(self):
        raise NotImplementedError

    def name(self):
        return self._name

    def compute(self, *args):
        return args


class Accuracy(Metric):
    """The share of samples whose label is among the k best scores, for each k in topk.

    >>> import minipaddle as paddle
    >>> m = paddle.metric.Accuracy()
    >>> c = m.compute(paddle.to_tensor([[.1, .9], [.8, .2]]), paddle.to_tensor([[1], [1]]))
    >>> _ = m.update(c); m.accumulate()
    0.5
    """

    def __init__(self, topk=(1,), name: str | None = None) -> None:
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        self.maxk = max(self.topk)
        label = name or "acc"
        self._name = [label] if len(self.topk) == 1 else [f"{label}_top{k}" for k in self.topk]
        self.reset()

    @no_grad()
    def compute(self, pred: Tensor, label: Tensor, *args) -> Tensor:
        """1.0 where the label is the j-th best: scores [N, C], labels [N], [N, 1] or one-hot."""
        best = ops.argsort(pred, descending=True)[..., :self.maxk]
        if label.ndim == pred.ndim and label.shape[-1] != 1:
            label = ops.argmax(label, axis=-1, keepdim=True)
        elif label.ndim < pred.ndim:
            label = label.unsqueeze(-1)
        return (best == label.astype("int64")).astype("float32")

    def update(self, correct, *args):
        correct = _array(correct)
        n = int(np.prod(correct.shape[:-1]))
        found = [float(correct[..., :k].sum()) for k in self.topk]
        for i, hits in enumerate(found):
            self.total[i] += hits
            self.count[i] += n
        shares = [hits / n if n else 0.0 for hits in found]
        return shares[0] if len(shares) == 1 else shares

    def reset(self) -> None:
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self):
        shares = [t / c if c else 0.0 for t, c in zip(self.total, self.count)]
        return shares[0] if len(shares) == 1 else shares


class Precision(Metric):
    """Of those predicted positive (score above 0.5), the share that is."""

    def __init__(self, name: str = "precision") -> None:
        self._name = name
        self.reset()

    def update(self, preds, labels) -> None:
        said, true = _array(preds).ravel() > 0.5, _array(labels).ravel() == 1
        self.tp += int((said & true).sum())
        self.fp += int((said & ~true).sum())

    def reset(self) -> None:
        self.tp = self.fp = 0

    def accumulate(self) -> float:
        n = self.tp + self.fp
        return self.tp / n if n else 0.0


class Recall(Metric):
    """Of the positives, the share predicted so (score above 0.5)."""

    def __init__(self, name: str = "recall") -> None:
        self._name = name
        self.reset()

    def update(self, preds, labels) -> None:
        said, true = _array(preds).ravel() > 0.5, _array(labels).ravel() == 1
        self.tp += int((said & true).sum())
        self.fn += int((~said & true).sum())

    def reset(self) -> None:
        self.tp = self.fn = 0

    def accumulate(self) -> float:
        n = self.tp + self.fn
        return self.tp / n if n else 0.0


class Auc(Metric):
    """The area under the ROC curve, from a histogram of num_thresholds + 1 scores."""

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc") -> None:
        self._name, self._curve, self._bins = name, curve, num_thresholds
        self.reset()

    def update(self, preds, labels) -> None:
        scores, true = _array(preds), _array(labels).ravel() == 1
        score = scores[:, 1] if scores.ndim == 2 else scores.ravel()
        bins = np.clip((score * self._bins).astype("int64"), 0, self._bins)
        np.add.at(self._pos, bins[true], 1)
        np.add.at(self._neg, bins[~true], 1)

    def reset(self) -> None:
        self._pos, self._neg = np.zeros(self._bins + 1), np.zeros(self._bins + 1)

    def accumulate(self) -> float:
        pos, neg = np.cumsum(self._pos[::-1]), np.cumsum(self._neg[::-1])
        if not pos[-1] or not neg[-1]:
            return 0.0
        x, y = np.concatenate([[0], neg]), np.concatenate([[0], pos])
        area = float(((x[1:] - x[:-1]) * (y[1:] + y[:-1])).sum() / 2)
        return area / float(pos[-1] * neg[-1])


def accuracy(input: Tensor, label: Tensor, k: int = 1, correct=None, total=None,
             name: str | None = None) -> Tensor:
    """The share of rows of input whose label is among the k best, a 0-d tensor."""
    hits = Accuracy(topk=k).compute(input, label)
    return ops.mean(ops.sum(hits, axis=-1))
