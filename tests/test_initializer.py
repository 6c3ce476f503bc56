"""Starting values of parameters: their laws, their bounds, seeds, and what they refuse."""
from __future__ import annotations

import math

import numpy as np
import pytest

import minipaddle as paddle

I = paddle.nn.initializer  # noqa: E741


def made(init, shape=(60, 50), dtype="float32"):
    return paddle.create_parameter(list(shape), dtype, default_initializer=init)


@pytest.mark.parametrize("init,shape,mean,std,bound", [
    (I.Normal(1.0, 0.5), (60, 50), 1.0, 0.5, None),
    (I.Uniform(), (60, 50), 0.0, 2 / 12 ** 0.5, 1.0),
    (I.Uniform(-0.1, 0.1), (60, 50), 0.0, 0.2 / 12 ** 0.5, 0.1),
    (I.TruncatedNormal(0.0, 2.0), (60, 50), 0.0, 2 * 0.8796, 4.0),
    (I.XavierUniform(), (60, 50), 0.0, (2 / 110) ** 0.5, (6 / 110) ** 0.5),
    (I.XavierUniform(10, 20), (60, 50), 0.0, (2 / 30) ** 0.5, (6 / 30) ** 0.5),
    (I.XavierNormal(), (20, 5, 3, 3), 0.0, (2 / (45 + 180)) ** 0.5, None),
    (I.KaimingUniform(), (60, 50), 0.0, (2 / 60) ** 0.5, (6 / 60) ** 0.5),
    (I.KaimingNormal(), (20, 5, 3, 3), 0.0, (2 / 45) ** 0.5, None),
    (I.KaimingNormal(negative_slope=1.0, nonlinearity="leaky_relu"), (60, 50), 0.0,
     (1 / 60) ** 0.5, None),
])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_laws(init, shape, mean, std, bound, dtype):
    paddle.seed(7)
    p = made(init, shape, dtype)
    a = p.numpy()
    assert p.dtype.name == dtype and a.shape == shape
    assert abs(a.mean() - mean) < 5 * std / a.size ** 0.5
    assert abs(a.std() - std) < 0.06 * std
    if bound is not None:
        assert np.abs(a).max() <= bound * (1 + 1e-6)
        assert np.abs(a).max() > 0.95 * bound
    paddle.seed(7)
    assert (made(init, shape, dtype).numpy() == a).all()


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    a = made(I.Orthogonal(2.0), shape, "float64").numpy().reshape(shape[0], -1)
    small = a if a.shape[0] <= a.shape[1] else a.T
    np.testing.assert_allclose(small @ small.T, 4 * np.eye(len(small)), atol=1e-9)


def test_assign_takes_lists_arrays_and_tensors():
    values = [[1.0, 2.0], [3.0, 4.0]]
    for given in (values, np.array(values), paddle.to_tensor(values),
                  [paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])]):
        p = made(I.Assign(given), (2, 2))
        assert p.tolist() == values and p.dtype == paddle.float32
    source = paddle.to_tensor(values)
    p = made(I.Assign(source), (2, 2))
    with paddle.no_grad():
        p.add_(paddle.ones([2, 2]))
    assert source.tolist() == values
    with pytest.raises(ValueError, match=r"\[2, 2\].*\[3\]"):
        made(I.Assign(values), (3,))


def test_dirac_keeps_the_input():
    conv = paddle.nn.Conv2D(4, 4, 3, padding=1, groups=2, bias_attr=False,
                            weight_attr=I.Dirac(groups=2))
    x = paddle.rand([2, 4, 5, 6])
    np.testing.assert_allclose(conv(x).numpy(), x.numpy(), rtol=1e-6)


def test_bilinear_upsamples_a_constant():
    up = paddle.nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=I.Bilinear(),
                                   bias_attr=False)
    y = up(paddle.ones([1, 1, 5, 5])).numpy()
    np.testing.assert_allclose(y[0, 0, 1:-1, 1:-1], 1.0, rtol=1e-6)


def test_global_initializer_stands_between_attr_and_layer():
    I.set_global_initializer(I.Constant(2.0), I.Constant(-1.0))
    try:
        layer = paddle.nn.Conv2D(1, 1, 1)
        own = paddle.nn.Linear(1, 1, weight_attr=I.Constant(5.0))
    finally:
        I.set_global_initializer(None)
    assert float(layer.weight) == 2.0 and float(layer.bias) == -1.0
    assert float(own.weight) == 5.0
    assert float(paddle.nn.Linear(1, 1).bias) == 0.0


def test_gains():
    assert I.calculate_gain("tanh") == 5 / 3
    assert I.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="swish"):
        I.calculate_gain("swish")


def test_layers_defaults():
    paddle.seed(0)
    conv = paddle.nn.Conv2D(8, 64, 3, groups=4).weight.numpy()       # all 8 channels count
    assert abs(conv.std() - (2 / 72) ** 0.5) < 0.02 and conv.shape == (64, 2, 3, 3)
    linear = paddle.nn.Linear(40, 60)
    assert np.abs(linear.weight.numpy()).max() <= (6 / 100) ** 0.5
    assert (linear.bias.numpy() == 0).all()
    table = paddle.nn.Embedding(30, 20, padding_idx=-2).weight.numpy()
    assert np.abs(table).max() <= (6 / 50) ** 0.5 and (table[28] == 0).all()
    assert paddle.nn.PReLU()._weight.tolist() == [0.25]


def test_a_callable_and_a_class_of_ones_own():
    class Ramp(I.Initializer):
        def forward(self, param, block=None):
            return paddle.arange(param.size).astype("float32").reshape(param.shape)._data
    assert made(Ramp(), (2, 2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(TypeError, match="callable"):
        made(3.0, (2,))
    with pytest.raises(NotImplementedError, match="forward"):
        made(I.Initializer(), (2,))
