"""Metrics against real Paddle's numbers."""
from __future__ import annotations

import golden_training
import numpy as np
import pytest

import minipaddle as paddle

GOLDEN = golden_training.golden()["metrics"]


@pytest.mark.parametrize("label", golden_training.METRICS)
def test_numbers_are_paddles(label):
    found = golden_training.METRICS[label](paddle)
    for a, b in zip(found.pop("seen"), GOLDEN[label]["seen"], strict=True):
        assert a == pytest.approx(b, rel=1e-6)
    assert found == {k: v for k, v in GOLDEN[label].items() if k != "seen"}


def test_accuracy_of_more_dimensions_and_of_random_scores():
    scores = paddle.randn([4, 5, 7])
    labels = paddle.randint(0, 7, [4, 5])
    metric = paddle.metric.Accuracy(topk=(1, 3))
    metric.update(metric.compute(scores, labels))
    order = np.argsort(-scores.numpy(), axis=-1)
    hits = [(order[..., :k] == labels.numpy()[..., None]).any(-1).mean() for k in (1, 3)]
    assert metric.accumulate() == pytest.approx(hits)


def test_auc_equals_the_share_of_ordered_pairs():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 1000, 300) / 1000, rng.integers(0, 2, 300)
    metric = paddle.metric.Auc(num_thresholds=1000)
    for part in np.split(np.arange(300), 3):
        metric.update(scores[part], labels[part])
    gap = scores[labels == 1][:, None] - scores[labels == 0][None]
    assert metric.accumulate() == pytest.approx(((gap > 0) + 0.5 * (gap == 0)).mean())


def test_mistakes_are_named():
    for call, error, text in [
            (lambda: paddle.metric.Accuracy(topk=(0,)), ValueError, "topk"),
            (lambda: paddle.metric.Auc(curve="PR"), ValueError, "'PR'"),
            (lambda: paddle.metric.Auc().update([2.0], [1]), ValueError, r"in \[0, 1\].*2.0"),
            (lambda: paddle.metric.Recall().update([.5, .5], [1]), ValueError, "2 predictions"),
            (lambda: paddle.metric.Recall().update("x", [1]), TypeError, "preds.*str"),
            (lambda: paddle.metric.Metric().accumulate(), NotImplementedError, "accumulate")]:
        with pytest.raises(error, match=text):
            call()
