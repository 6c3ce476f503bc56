"""auto_cast, decorate and GradScaler: Paddle's op classes and scaler sequences, on any device."""
from __future__ import annotations

import json
import math
import os
import threading
import warnings

import numpy as np
import pytest

import minipaddle as paddle
import minipaddle.nn.functional as F
from minipaddle import amp

HERE = os.path.dirname(os.path.abspath(__file__))


def stored(name: str) -> dict:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


SCALER = stored("golden_gradscaler.json")
CLASSES = stored("golden_autocast.json")["classes"]


# ---- the class of each op
def lead(x):
    """x moved into (0, 1), where every op of the table is defined."""
    return x * 0 + 0.5


CALLS = {
    "matmul": lambda x: paddle.matmul(x, x), "bmm": lambda x: paddle.bmm(x[None], x[None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "linear_nobias": lambda x: F.linear(x, x), "add": lambda x: x + x,
    "multiply": lambda x: x * x, "subtract": lambda x: x - x, "divide": lambda x: x / (x + 1),
    "relu": F.relu, "tanh": paddle.tanh, "exp": paddle.exp, "log": lambda x: paddle.log(x),
    "sqrt": paddle.sqrt, "rsqrt": paddle.rsqrt, "square": paddle.square, "abs": paddle.abs,
    "sum": paddle.sum, "mean": paddle.mean, "max": paddle.max, "min": paddle.min,
    "prod": paddle.prod, "cumsum": paddle.cumsum, "softmax": F.softmax,
    "log_softmax": F.log_softmax, "gelu": F.gelu, "sigmoid": F.sigmoid, "softplus": F.softplus,
    "layer_norm": lambda x: F.layer_norm(x, [2]),
    "cross_entropy": lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1])),
    "reshape": lambda x: x.reshape([4]), "transpose": lambda x: x.transpose([1, 0]),
    "concat": lambda x: paddle.concat([x, x]), "stack": lambda x: paddle.stack([x, x]),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x[None, None], 2),
    "maximum": lambda x: paddle.maximum(x, x), "clip": lambda x: paddle.clip(x, 0.1, 0.9),
    "reciprocal": paddle.reciprocal, "sin": paddle.sin, "floor": paddle.floor,
}


def kind_of(call, level: str = "O1"):
    with amp.auto_cast(level=level):
        wide = call(paddle.to_tensor(np.full((2, 2), 0.5, "float32")))
        low = call(paddle.to_tensor(np.full((2, 2), 0.5, "float16")))
    if wide.dtype == paddle.float16:
        return "white"
    return "black" if low.dtype == paddle.float32 else "promote"


@pytest.mark.parametrize("level", ["O1", "O2", "OD"])
@pytest.mark.parametrize("label", CALLS)
def test_op_class_is_paddles(label, level):
    if label not in CLASSES or CLASSES[label][level] is None:
        assert label in CLASSES or label in ("square", "cumsum", "floor", "clip"), label
        return
    if level == "OD" and CLASSES[label][level] == "promote":
        level = "O1"                                # an op without a float decision
    assert kind_of(CALLS[label], level) == CLASSES[label][level]
