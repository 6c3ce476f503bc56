"""Layers: what is registered, names, state, modes, hooks, copies, containers."""
from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import golden_nn
import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import nn


@pytest.mark.parametrize("line", golden_nn.lines("layer"))
def test_as_real_paddle(line):
    golden_nn.check("layer", line, paddle)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("steps", paddle.zeros([1]))
        self.register_buffer("scratch", paddle.zeros([1]), persistable=False)
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1D(4), nn.ReLU())

    def forward(self, x):
        return self.body(self.fc(x)) * self.scale


# ---- registering
def test_order_and_names():
    net = Net()
    keys = ["scale", "steps", "fc.weight", "fc.bias", "body.0.weight", "body.0.bias",
            "body.1.weight", "body.1.bias", "body.1._mean", "body.1._variance"]
    assert list(net.state_dict()) == keys
    assert list(net.to_static_state_dict()) == keys[:2] + ["scratch"] + keys[2:]
    assert [n for n, _ in net.named_parameters()] == [k for k in keys if k != "steps"]
    assert [n for n, _ in net.named_parameters("m", False)] == ["m.scale"]
    assert [n for n, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [n for n, _ in net.named_sublayers()] == ["fc", "body", "body.0", "body.1", "body.2"]
    assert [n for n, _ in net.named_sublayers("p", True)][:2] == ["p", "p.fc"]
    assert [n for n, _ in net.named_children()] == ["fc", "body"]
    assert net.state_dict()["scale"] is net.scale


def test_global_names_count_by_kind():
    a, b = nn.Linear(1, 1), nn.Linear(1, 1)
    n = int(a.full_name().split("_")[1])
    assert (a.full_name(), b.full_name()) == (f"linear_{n}", f"linear_{n + 1}")
    assert (a.weight.name, b.bias.name) == (f"linear_{n}.w_0", f"linear_{n + 1}.b_0")
    net = Net()
    assert net.scale.name == net.full_name() + ".w_0" and net.full_name().startswith("net_")
    assert nn.Linear(1, 1, weight_attr="mine").weight.name == "mine"
    scoped = nn.Layer("scope")
    assert scoped.full_name().startswith("scope_")


def test_what_an_assignment_does():
    net = Net()
    net.note = paddle.ones([2])                     # a plain tensor is no state
    net.layers = [nn.Linear(2, 2)]
    assert "note" not in net.state_dict() and len(net.parameters()) == 9
    net.steps = paddle.ones([1])
    assert float(net.state_dict()["steps"]) == 1.0
    net.extra = nn.Linear(1, 1)
    assert "extra.weight" in net.state_dict()
    net.extra = None
    assert net.extra is None and "extra.weight" not in net.state_dict()
    with pytest.raises(TypeError, match="scale is a parameter"):
        net.scale = 3.0
    with pytest.raises(TypeError, match="body is a layer"):
        net.body = 3
    del net.fc
    with pytest.raises(AttributeError, match="fc"):
        net.fc
    net.scale = None
    assert net.scale is None


@pytest.mark.parametrize("value", ["parameter", "layer", "call"])
def test_init_must_come_first(value):
    class Wrong(nn.Layer):
        def __init__(self):
            if value == "parameter":
                self.w = paddle.create_parameter([1], "float32")
            elif value == "layer":
                self.fc = nn.Linear(1, 1)
    with pytest.raises(ValueError, match=r"super\(\).__init__\(\)"):
        Wrong()(paddle.ones([1]))


def test_names_that_cannot_be():
    net = Net()
    for name, error in (("", KeyError), ("a.b", KeyError), ("training", KeyError), (3, TypeError)):
        with pytest.raises(error):
            net.register_buffer(name, paddle.ones([1]))
        with pytest.raises(error):
            net.add_parameter(name, paddle.create_parameter([1], "float32"))
    with pytest.raises(TypeError, match="Layer"):
        net.add_sublayer("x", 3)
    with pytest.raises(TypeError, match="Parameter"):
        net.add_parameter("x", paddle.ones([1]))
    layer, parameter = nn.ReLU(), paddle.create_parameter([1], "float32")
    assert net.add_sublayer("x.y", layer) is layer
    assert net.add_parameter("z", parameter) is parameter


def test_shared_parameters():
    class Tied(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.b.weight = self.a.weight
            self.again = self.a
    net = Tied()
    assert len(net.parameters()) == 3
    assert [n for n, _ in net.named_parameters()] == ["a.weight", "a.bias", "b.bias"]
    keys = list(net.state_dict())
    assert keys == ["a.weight", "a.bias", "b.weight", "b.bias", "again.weight", "again.bias"] or \
        sorted(keys) == sorted(["a.weight", "a.bias", "b.weight", "b.bias", "again.weight",
                                "again.bias"])
    assert len(net.sublayers()) == 2
    twin = copy.deepcopy(net)
    assert twin.b.weight is twin.a.weight and twin.a.weight is not net.a.weight


def test_parameter_attributes():
    attr = paddle.ParamAttr(name="theta", initializer=nn.initializer.Constant(3.0),
                            learning_rate=0.5, trainable=False, need_clip=False)
    w = nn.Linear(2, 2, weight_attr=attr, bias_attr=False).weight
    assert w.name == "theta" and w.stop_gradient and not w.need_clip
    assert w.optimize_attr == {"learning_rate": 0.5} and (w.numpy() == 3).all()
    assert nn.Linear(2, 2, bias_attr=False).bias is None
    with pytest.raises(TypeError, match="attr"):
        nn.Linear(2, 2, weight_attr=3)


def test_default_dtype():
    paddle.set_default_dtype("float64")
    try:
        layer = nn.Linear(2, 2)
        assert layer.weight.dtype == paddle.float64 and "float64" in repr(layer)
        assert Net().scale.dtype == paddle.float64
    finally:
        paddle.set_default_dtype("float32")
    assert nn.Layer(dtype="float64").create_parameter([1]).dtype == paddle.float64


# ---- state
def test_state_travels():
    a, b = Net(), Net()
    assert b.set_state_dict(a.state_dict()) == ([], [])
    for (k, v), w in zip(a.state_dict().items(), b.state_dict().values()):
        assert (v.numpy() == w.numpy()).all(), k
    a.fc.weight.set_value(np.zeros((3, 4)))
    assert float(b.fc.weight.abs().sum()) > 0       # values are copied
    arrays = {k: v.numpy() for k, v in a.state_dict().items()}
    b.load_dict(arrays)
    assert float(b.fc.weight.abs().sum()) == 0
    named = {v.name: np.ones(v.shape) for v in b.state_dict().values()}
    b.set_dict(named, use_structured_name=False)
    assert float(b.fc.weight.sum()) == 12


def test_wrong_state_warns_and_tells():
    net, state = Net(), Net().state_dict()
    state["fc.bias"] = np.zeros(7)
    del state["scale"]
    state["surplus"] = np.zeros(1)
    before = net.fc.bias.numpy()
    with pytest.warns(UserWarning) as seen:
        missing, unexpected = net.set_state_dict(state)
    assert missing == ["scale", "fc.bias"] and unexpected == ["fc.bias", "surplus"]
    words = " ".join(str(w.message) for w in seen)
    assert "fc.bias receives a shape [7]" in words and "[4]" in words and "scale" in words
    assert (net.fc.bias.numpy() == before).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net.set_state_dict({**net.state_dict(), "StructuredToParameterName@@": {}}) == \
            ([], [])


def test_loading_keeps_the_dtype():
    net = nn.Linear(2, 2)
    net.set_state_dict({k: v.numpy().astype("float64") for k, v in net.state_dict().items()})
    assert net.weight.dtype == paddle.float32


def test_state_dict_hook():
    net = nn.Linear(2, 2)
    hook = net.register_state_dict_hook(lambda d: {"weight": d["weight"]})
    assert list(net.state_dict()) == ["weight"]
    hook.remove()
    assert list(net.state_dict()) == ["weight", "bias"]


# ---- modes, hooks, casts
def test_train_and_eval_reach_every_layer():
    net = Net()
    assert net.eval() is net and not any(m.training for m in net.sublayers(True))
    net.train()
    assert all(m.training for m in net.sublayers(include_self=True))


def test_hooks():
    net, calls = nn.Linear(2, 2), []
    pre = net.register_forward_pre_hook(lambda layer, x: calls.append("pre") or (x[0] * 0.0,))
    post = net.register_forward_post_hook(lambda layer, x, y: y + 1.0)
    assert net(paddle.ones([1, 2])).tolist() == [[1.0, 1.0]] and calls == ["pre"]
    pre.remove()
    post.remove()
    assert len(calls) == 1 and net(paddle.zeros([1, 2])).tolist() == [[0.0, 0.0]]


def test_apply_goes_from_the_leaves_up():
    seen = []
    net = Net()
    assert net.apply(lambda layer: seen.append(type(layer).__name__)) is net
    assert seen == ["Linear", "Linear", "BatchNorm1D", "ReLU", "Sequential", "Net"]


def test_to_casts_floats_alone():
    net = Net()
    net.register_buffer("count", paddle.to_tensor([3]))
    weight = net.fc.weight
    assert net.to(dtype="float64") is net
    assert net.fc.weight is weight and weight.dtype == paddle.float64
    assert net.count.dtype == paddle.int64 and net.steps.dtype == paddle.float64
    assert net(paddle.ones([2, 3], dtype="float64")).dtype == paddle.float64
    net.float16(excluded_layers=nn.BatchNorm1D)
    assert net.fc.weight.dtype == paddle.float16
    assert net.body[1]._mean.dtype == paddle.float64
    assert net.float().fc.weight.dtype == paddle.float32
    assert net.to("cpu").fc.weight.place.is_cpu_place()


def test_gradients_are_cleared_to_zeros():
    net = nn.Linear(2, 1)
    net(paddle.ones([3, 2])).sum().backward()
    assert net.bias.grad.tolist() == [3.0]
    net.clear_gradients()
    assert net.bias.grad.tolist() == [0.0]


def test_copies():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.scale.name == net.scale.name + "_deepcopy_0"
    twin.fc.weight.set_value(np.zeros((3, 4)))
    assert float(net.fc.weight.abs().sum()) > 0
    assert len(twin.parameters()) == 9 and twin.body[1]._mean.stop_gradient
    again = pickle.loads(pickle.dumps(net))
    x = paddle.ones([2, 3])
    net.eval()
    again.eval()
    assert (again(x).numpy() == net(x).numpy()).all()


def test_unknown_attribute_and_no_forward():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        Net().nothing
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Layer()(1)


def test_text_is_a_tree():
    lines = repr(Net()).splitlines()
    assert lines[0] == "Net(" and lines[-1] == ")"
    assert lines[1] == "  (fc): Linear(in_features=3, out_features=4, dtype=float32)"
    assert lines[2:5] == ["  (body): Sequential(",
                          "    (0): Linear(in_features=4, out_features=4, dtype=float32)",
                          "    (1): BatchNorm1D(num_features=4, momentum=0.9, epsilon=1e-05, "
                          "data_format=NCL)"]


# ---- batch norm's statistics
def test_running_statistics():
    layer = nn.BatchNorm2D(3, momentum=0.75)
    x = np.random.default_rng(0).standard_normal((4, 3, 5, 5)).astype("float32") * 2 + 1
    layer(paddle.to_tensor(x))
    np.testing.assert_allclose(layer._mean.numpy(), x.mean((0, 2, 3)) * 0.25, rtol=1e-5)
    np.testing.assert_allclose(layer._variance.numpy(), 0.75 + x.var((0, 2, 3)) * 0.25, rtol=1e-5)
    before = layer._mean.numpy()
    layer.eval()
    y = layer(paddle.to_tensor(x)).numpy()
    right = (x - before[:, None, None]) / np.sqrt(layer._variance.numpy()[:, None, None] + 1e-5)
    np.testing.assert_allclose(y, right, atol=1e-5)
    assert (layer._mean.numpy() == before).all()
    assert layer._mean.stop_gradient and layer._mean.grad is None


def test_statistics_may_be_moved_between_forward_and_backward():
    layer = nn.BatchNorm1D(2)
    x = paddle.to_tensor(np.random.default_rng(0).standard_normal((4, 2)).astype("float32"),
                         stop_gradient=False)
    out = layer(x) + layer(x)                       # the second call moves what the first used
    (out * out).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_ranks_are_checked():
    for layer, shape in ((nn.BatchNorm1D(2), [2, 2, 2, 2]), (nn.BatchNorm2D(2), [2, 2]),
                         (nn.BatchNorm3D(2), [2, 2]), (nn.InstanceNorm2D(2), [2, 2, 2])):
        with pytest.raises(ValueError, match=type(layer).__name__):
            layer(paddle.ones(shape))


def test_sync_batch_norm_takes_the_state_over():
    net = nn.Sequential(nn.Conv2D(1, 2, 1), nn.BatchNorm2D(2), nn.Sequential(nn.BatchNorm2D(2)))
    names = list(net.state_dict())
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert list(made.state_dict()) == names
    assert isinstance(made[1], nn.SyncBatchNorm) and isinstance(made[2][0], nn.SyncBatchNorm)


def test_spectral_norm_finds_the_largest_singular_value():
    w = np.random.default_rng(0).standard_normal((4, 3, 2)).astype("float32")
    layer = nn.SpectralNorm(w.shape, dim=1, power_iters=60)
    found = layer(paddle.to_tensor(w)).numpy()
    size = np.linalg.svd(w.transpose(1, 0, 2).reshape(3, -1), compute_uv=False)[0]
    np.testing.assert_allclose(found, w / size, rtol=1e-3, atol=1e-4)


# ---- containers
def test_sequential():
    net = nn.Sequential(("a", nn.Linear(2, 3)), ("b", nn.ReLU()))
    assert net["a"] is net[0] and net[-1] is net["b"] and len(net) == 2
    net.append(nn.Linear(3, 1)).extend([nn.ReLU()])
    assert net(paddle.ones([4, 2])).shape == [4, 1]
    net[1] = nn.Tanh()
    assert isinstance(net["b"], nn.Tanh) and list(net.state_dict())[0] == "a.weight"
    assert len(net[1:3]) == 2 and [type(m).__name__ for m in net][1] == "Tanh"
    net.insert(0, nn.Identity())
    assert isinstance(net[0], nn.Identity) and len(net) == 5
    with pytest.raises(IndexError, match="9"):
        net[9]


def test_layer_list():
    layers = nn.LayerList([nn.Linear(1, 1) for _ in range(3)])
    first, last = layers[0], layers[-1]
    layers.insert(1, nn.ReLU())
    layers.append(nn.Tanh()).extend([nn.Sigmoid()])
    assert len(layers) == 6 and layers[0] is first and layers[3] is last
    assert isinstance(layers.pop(1), nn.ReLU) and len(layers[1:3]) == 2
    layers[0] = nn.Softmax()
    del layers[-1]
    assert [type(m).__name__ for m in layers] == ["Softmax", "Linear", "Linear", "Tanh"]
    assert list(layers.state_dict())[0] == "1.weight"
    assert len(layers + [nn.ReLU()]) == 5
    with pytest.raises(IndexError):
        layers[7]


def test_layer_dict():
    layers = nn.LayerDict([("x", nn.ReLU()), ("y", nn.Linear(1, 1))])
    layers["z"] = nn.Tanh()
    layers.update({"x": nn.Sigmoid()})
    assert list(layers) == ["x", "y", "z"] and "y" in layers and len(layers) == 3
    assert isinstance(layers.pop("x"), nn.Sigmoid) and list(layers.keys()) == ["y", "z"]
    assert list(layers.state_dict()) == ["y.weight", "y.bias"]
    del layers["z"]
    assert len(list(layers.items())) == len(list(layers.values())) == 1
    layers.clear()
    assert not len(layers)


def test_parameter_list_and_dict():
    def make(n):
        return paddle.create_parameter([n], "float32")
    listed = nn.ParameterList([make(1), make(2)]).append(make(3))
    assert [p.shape for p in listed] == [[1], [2], [3]] and listed[-1].shape == [3]
    listed[0] = make(5)
    assert listed[0].shape == [5] and len(listed.parameters()) == 3
    named = nn.ParameterDict({"a": make(1)})
    named["b"] = make(2)
    named.update([("c", make(3))])
    assert list(named) == ["a", "b", "c"] and len(named) == 3 and named["b"].shape == [2]


# ---- every layer
LAYERS = sorted(n for n, c in vars(nn).items() if inspect.isclass(c) and issubclass(c, nn.Layer)
                and n[0] != "_")


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_documented(name):
    layer = getattr(nn, name)
    assert layer.__doc__ and ">>>" in layer.__doc__, f"{name} has no example"
    assert layer.__module__ in ("minipaddle.nn", "minipaddle.layer")


def test_a_network_learns():
    paddle.seed(0)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 1, 6, 6)).astype("float32")
    y = (x.mean((1, 2, 3)) > 0).astype("int64")
    net = nn.Sequential(nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2),
                        nn.Flatten(), nn.Linear(16, 2))
    criterion = nn.CrossEntropyLoss()
    losses = []
    for _ in range(60):
        loss = criterion(net(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        with paddle.no_grad():
            for p in net.parameters():
                if not p.stop_gradient:
                    p.set_value(p - p.grad * 0.3)
        net.clear_gradients()
        losses.append(float(loss))
    assert losses[-1] < 0.35 * losses[0]
