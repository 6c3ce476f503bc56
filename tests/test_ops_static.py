"""The operations in static programs whose batch size is not known: as eager, saved and loaded."""
from __future__ import annotations

import numpy as np
import pytest

import minipaddle as paddle
import minipaddle.linalg
from minipaddle.static import InputSpec


def written(x):
    y = x * 1.0
    y[0] = 1.0
    y[:, 0] = x[:, 0] * 2
    y[y > 1] = 0.5
    return y


def named_by_a_tensor(x):
    i = paddle.argmax(x.sum(1))
    return x[i], x[:, i % 2], x[i:]


CASES = {
    "setitem": written, "index tensors": named_by_a_tensor,
    "basic": lambda x: x[:, 1:3].reshape([0, -1]) + x[:, [0, 2]].sum(-1, keepdim=True),
    "topk": lambda x: paddle.concat(list(paddle.topk(x, 2)[:1]) + [x], 1),
    "einsum": lambda x: paddle.einsum("bi,bj->bij", x, x),
    "einsum2": lambda x: paddle.einsum("bi,ci->bc", x, x),
    "einsum3":
        lambda x: paddle.einsum("...i,ij,kj->...k", x, paddle.ones([4,3]), paddle.ones([2,3])),
    "matmul": lambda x: paddle.matmul(x.unsqueeze(1), x.unsqueeze(-1)),
    "bmm": lambda x: paddle.bmm(x.unsqueeze(1), x.unsqueeze(-1)),
    "dot": lambda x: paddle.dot(x, x),
    "split": lambda x: paddle.split(x, 2, 1),
    "gather": lambda x: paddle.gather(x, paddle.to_tensor([0])),
    "mask": lambda x: x[x > 0.5],
    "masked_select": lambda x: paddle.masked_select(x, x > 0.5),
    "masked_fill": lambda x: paddle.masked_fill(x, x > 0.5, 0.),
    "expand": lambda x: x.unsqueeze(1).expand([-1, 3, -1]),
    "expand_as": lambda x: paddle.expand_as(x[:1], x),
    "tile": lambda x: x.tile([2, 1]),
    "repeat": lambda x: paddle.repeat_interleave(x, 2, 0),
    "flat": lambda x: x.flatten(),
    "T": lambda x: x.T,
    "stack": lambda x: paddle.stack([x, x], 1),
    "shape": lambda x: x.reshape([x.shape[0] * 2, 2]),
    "unbind": lambda x: paddle.unbind(x, 1),
    "sort": lambda x: paddle.sort(x, 1, True),
    "take_along": lambda x: paddle.take_along_axis(x, paddle.argsort(x, 1), 1),
    "inv": lambda x: paddle.inverse(paddle.outer(x[0], x[0]) + 5 * paddle.eye(4)),
    "roll": lambda x: x.roll(1, 1).flip(1),
    "tensordot": lambda x: paddle.tensordot(x, paddle.ones([4, 2]), 1),
    "cross": lambda x: paddle.cross(x[:, :3], x[:, 1:], 1),
    "nonzero": lambda x: paddle.nonzero(x > 0.5),
    "slice": lambda x: paddle.slice(x, [1], [1], [3]),
    "dyn slice": lambda x: x[x.shape[0] - 1:],
    "dyn int": lambda x: x[x.shape[0] - 1],
    "inner": lambda x: paddle.inner(x, x),
    "outer": lambda x: paddle.outer(x, x),
    "kron": lambda x: paddle.kron(x, paddle.ones([2, 2])),
    "chunk": lambda x: paddle.chunk(x, 2, 1),
    "unflatten": lambda x: x.unflatten(1, [2, -1]),
    "put": lambda x: paddle.put_along_axis(x, paddle.argsort(x, 1)[:, :1], 9., 1),
    "det": lambda x: paddle.linalg.det(paddle.outer(x[0], x[0]) + 5 * paddle.eye(4)),
    "norm": lambda x: paddle.cdist(x, x),
    "bcast": lambda x: paddle.broadcast_tensors([x.unsqueeze(1), paddle.ones([3, 1])]),
    "index_sample": lambda x: paddle.index_sample(x, paddle.argsort(x, 1)),
    "multiplex": lambda x: paddle.multiplex([x, x * 2], paddle.cast(x[:, :1] > 0.5, "int64")),
    "scatter": lambda x: paddle.scatter(x, paddle.to_tensor([0]), paddle.ones([1, 4])),
}


class Holder(paddle.nn.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", CASES)
def test_static_is_eager(name, tmp_path):
    function = CASES[name]
    net = paddle.jit.to_static(Holder(function), input_spec=[InputSpec([None, 4], "float32")])
    inputs = [np.random.RandomState(n).rand(n, 4).astype("float32") for n in (2, 5)]
    paddle.jit.save(net, str(tmp_path / "net"))
    for run in (net, paddle.jit.load(str(tmp_path / "net"))):
        for x in map(paddle.to_tensor, inputs):
            for found, wanted in zip(flat(run(x)), flat(function(x)), strict=True):
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    grads = []
    for run in (net, function):
        x = paddle.to_tensor(inputs[1], stop_gradient=False)
        out = flat(run(x))[0]
        if out.stop_gradient:
            return
        (out * out).sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=1e-4, atol=1e-5)
