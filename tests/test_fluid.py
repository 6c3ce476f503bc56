"""Names of Paddle 1.8 map onto today's, with their old arguments and meanings."""
from __future__ import annotations

import numpy as np
import pytest

import minipaddle as paddle
import minipaddle.fluid as fluid
from minipaddle.fluid import layers

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]], "float32")


def test_layer_is_todays():
    assert fluid.dygraph.Layer is paddle.nn.Layer
    assert fluid.CPUPlace is paddle.CPUPlace
    assert fluid.in_dygraph_mode() and fluid.dygraph.enabled()


def test_to_variable_and_guard():
    before = paddle.get_device()
    with fluid.dygraph.guard(fluid.CPUPlace()):
        x = fluid.dygraph.to_variable(X)
        assert paddle.get_device() == "cpu" and x.dtype == paddle.float32
    assert paddle.get_device() == before
    assert fluid.dygraph.to_variable(x) is x
    with pytest.raises(ZeroDivisionError), fluid.dygraph.guard(fluid.CPUPlace()):
        1 / 0
    assert paddle.get_device() == before


def test_elementwise_axis_says_where_the_second_begins():
    x = paddle.ones([2, 3, 4])
    y = paddle.to_tensor([1.0, 2.0, 3.0])
    out = layers.elementwise_add(x, y, axis=1)
    np.testing.assert_array_equal(out.numpy()[0, :, 0], [2, 3, 4])
    out = layers.elementwise_sub(paddle.to_tensor(X), paddle.to_tensor([1.0, 1.0, 1.0]), act="relu")
    np.testing.assert_array_equal(out.numpy(), np.maximum(X - 1, 0))


def test_reductions_take_dim_and_keep_dim():
    x = paddle.to_tensor(X)
    for name in ("sum", "mean", "max", "min", "prod"):
        out = getattr(layers, f"reduce_{name}")(x, dim=1, keep_dim=True)
        np.testing.assert_allclose(out.numpy(), getattr(X, name)(axis=1, keepdims=True), rtol=1e-6)


def test_cross_entropy_takes_probabilities():
    p = layers.softmax(paddle.to_tensor(X))
    label = paddle.to_tensor([[2], [0]])
    out = layers.cross_entropy(p, label)
    assert out.shape == [2, 1]
    np.testing.assert_allclose(out.numpy()[:, 0], -np.log(p.numpy()[[0, 1], [2, 0]]), rtol=1e-5)
    assert layers.accuracy(p, label).tolist() == [1.0]


def test_products():
    a, b = paddle.to_tensor(X), paddle.to_tensor(X + 1)
    np.testing.assert_allclose(layers.matmul(a, b, transpose_y=True, alpha=2.0).numpy(),
                               2 * X @ (X + 1).T, rtol=1e-5)
    x, y = np.random.default_rng(0).random((2, 3, 4)), np.random.default_rng(1).random((4, 5))
    out = layers.mul(paddle.to_tensor(x), paddle.to_tensor(y), x_num_col_dims=2)
    np.testing.assert_allclose(out.numpy(), x @ y, rtol=1e-12)


def test_shapes_and_creation():
    x = paddle.to_tensor(X)
    assert layers.flatten(paddle.ones([2, 3, 4])).shape == [2, 12]
    assert layers.expand(x, [1, 2]).shape == [2, 6]
    assert [t.shape for t in layers.split(x, 3)] == [[2, 1]] * 3
    assert layers.concat([x, x], axis=1).shape == [2, 6]
    assert layers.reshape(x, [3, 2], act="relu").numpy().min() == 0
    assert layers.unsqueeze(x, axes=[0, 3]).shape == [1, 2, 3, 1]
    assert layers.squeeze(paddle.ones([1, 2, 1]), axes=[]).shape == [2]
    assert layers.fill_constant([2], "int64", 7).tolist() == [7, 7]
    assert layers.ones([2], "float32").tolist() == [1.0, 1.0]
    assert layers.one_hot(paddle.to_tensor([[1], [0]]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(layers.sums([x, x, x]).numpy(), 3 * X)
    assert layers.argmax(x).tolist() == [1, 1, 0]


def test_dropout_keeps_values_in_training_and_scales_in_testing():
    x = paddle.ones([1000])
    kept = layers.dropout(x, 0.25).numpy()
    assert set(np.unique(kept)) == {0.0, 1.0}
    np.testing.assert_allclose(layers.dropout(x, 0.25, is_test=True).numpy(), 0.75)


class OldNet(fluid.dygraph.Layer):
    """A network written as in 1.8."""

    def __init__(self):
        super().__init__()
        self.conv = fluid.dygraph.Conv2D(1, 4, 3, padding=1)
        self.norm = fluid.dygraph.BatchNorm(4, act="relu")
        self.pool = fluid.dygraph.Pool2D(2, "avg", pool_stride=2)
        self.out = fluid.dygraph.Linear(4 * 4 * 4, 2, act="softmax")

    def forward(self, x):
        x = self.pool(self.norm(self.conv(x)))
        return self.out(layers.reshape(x, [x.shape[0], -1]))


@pytest.mark.parametrize("make", [
    lambda p: fluid.optimizer.SGDOptimizer(0.3, parameter_list=p),
    lambda p: fluid.optimizer.MomentumOptimizer(0.05, 0.9, p),
    lambda p: fluid.optimizer.Adam(0.01, parameter_list=p, regularization=paddle.regularizer
                                   .L2Decay(1e-4)),
])
def test_an_old_training_loop_learns(make):
    paddle.seed(1)
    rng = np.random.default_rng(0)
    images = rng.standard_normal((32, 1, 8, 8)).astype("float32")
    labels = (images.mean(axis=(1, 2, 3)) > 0).astype("int64")[:, None]
    with fluid.dygraph.guard():
        net = OldNet()
        optimizer = make(net.parameters())
        losses = []
        for _ in range(30):
            probabilities = net(fluid.dygraph.to_variable(images))
            loss = layers.mean(layers.cross_entropy(probabilities,
                                                    fluid.dygraph.to_variable(labels)))
            loss.backward()
            optimizer.minimize(loss)
            net.clear_gradients()
            losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


def test_states_are_saved_by_kind(tmp_path):
    net = OldNet()
    optimizer = fluid.optimizer.Adam(0.01, parameter_list=net.parameters())
    net(paddle.ones([2, 1, 8, 8])).sum().backward()
    optimizer.step()
    path = str(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="model.pdparams"):
        fluid.load_dygraph(path)
    fluid.save_dygraph(net.state_dict(), path)
    assert fluid.load_dygraph(path)[1] is None
    fluid.save_dygraph(optimizer.state_dict(), path)
    parameters, states = fluid.load_dygraph(path)
    other = OldNet()
    other.set_dict(parameters)
    x = paddle.to_tensor(np.random.default_rng(0).random((2, 1, 8, 8)).astype("float32"))
    net.eval(), other.eval()
    np.testing.assert_array_equal(net(x).numpy(), other(x).numpy())
    assert any("moment1" in name for name in states)


def test_pool_checks_its_kind():
    with pytest.raises(ValueError, match="pool_type must be"):
        fluid.dygraph.Pool2D(2, "median")
