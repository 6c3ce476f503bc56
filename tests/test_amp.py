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


# On purpose: a batched matmul counts as a matmul, and what only moves data is left alone.
DIFFERENT = {"bmm": ("O1", "O2", "OD"), "reshape": ("OD",), "transpose": ("OD",)}


@pytest.mark.parametrize("label, level", [
    (label, level) for label in CALLS for level in ("O1", "O2", "OD")
    if CLASSES[label][level] is not None and level not in DIFFERENT.get(label, ())])
def test_op_class_is_paddles(label, level):
    assert kind_of(CALLS[label], level) == CLASSES[label][level]


def test_linear_and_convolution_with_a_bias_give_float16():
    with amp.auto_cast():
        assert paddle.nn.Linear(2, 2)(paddle.ones([1, 2])).dtype == paddle.float16
        assert paddle.nn.Conv2D(1, 1, 1)(paddle.ones([1, 1, 2, 2])).dtype == paddle.float16


def test_gradients_come_back_in_their_dtypes_and_backward_may_run_outside():
    net = paddle.nn.Linear(3, 2)
    x = paddle.rand([4, 3])
    x.stop_gradient = False
    with amp.auto_cast():
        loss = F.cross_entropy(net(x), paddle.to_tensor([0, 1, 0, 1]))
    assert loss.dtype == paddle.float32
    loss.backward()
    assert net.weight.grad.dtype == x.grad.dtype == paddle.float32
    exact = paddle.nn.functional.cross_entropy(net(x), paddle.to_tensor([0, 1, 0, 1]))
    old = net.weight.grad.numpy()
    net.clear_gradients()
    exact.backward()
    np.testing.assert_allclose(old, net.weight.grad.numpy(), atol=2e-3)


def test_float64_and_integers_are_left_alone():
    with amp.auto_cast():
        x = paddle.ones([2, 2], "float64")
        assert paddle.matmul(x, x).dtype == paddle.float64
        assert (paddle.ones([2], "int64") + 1).dtype == paddle.int64


def test_nesting_and_levels():
    x = paddle.ones([2, 2])

    def now():
        return paddle.matmul(x, x).dtype.name
    with amp.auto_cast():
        assert now() == "float16" and amp.is_autocast_enabled()
        with amp.auto_cast(enable=False):
            assert now() == "float32" and not amp.is_autocast_enabled()
        with amp.auto_cast(level="O0"):
            assert now() == "float32"
        assert now() == "float16"
    assert now() == "float32"
    with pytest.raises(ZeroDivisionError), amp.auto_cast():
        1 / 0
    assert now() == "float32"
    assert amp.amp_guard is amp.auto_cast


def test_it_serves_as_a_decorator_and_one_object_many_times():
    @amp.auto_cast()
    def product(x):
        return paddle.matmul(x, x)
    for _ in range(2):
        assert product(paddle.ones([2, 2])).dtype == paddle.float16
    assert not amp.is_autocast_enabled()


def test_other_threads_are_not_touched():
    seen = []
    with amp.auto_cast():
        thread = threading.Thread(
            target=lambda: seen.append(paddle.matmul(*[paddle.ones([2, 2])] * 2).dtype.name))
        thread.start()
        thread.join()
    assert seen == ["float32"]


@pytest.mark.parametrize("name", ["matmul", "matmul_v2"])
def test_custom_black_list_by_either_name(name):
    x = paddle.ones([2, 2])
    with amp.auto_cast(custom_black_list={name}):
        assert paddle.matmul(x, x).dtype == paddle.float32


@pytest.mark.parametrize("name", ["add", "elementwise_add"])
def test_custom_white_list_by_either_name(name):
    x = paddle.ones([2, 2])
    with amp.auto_cast(custom_white_list=[name]):
        assert (x + x).dtype == paddle.float16
        assert (x * x).dtype == paddle.float32


def test_custom_lists_that_make_no_sense():
    with pytest.raises(ValueError, match="overlap.*exp"):
        amp.auto_cast(custom_white_list=["exp"], custom_black_list=["exp"])
    with pytest.warns(UserWarning, match="'matmull'"):
        amp.auto_cast(custom_black_list=["matmull"])
    with pytest.raises(TypeError, match="list or set"):
        amp.auto_cast(custom_white_list="exp")
    with pytest.raises(ValueError, match="'O3'"):
        amp.auto_cast(level="O3")
    with pytest.raises(ValueError, match="'float64'"):
        amp.auto_cast(dtype="float64")


def test_o2_without_promotion_runs_everything_low():
    x = paddle.ones([2, 2])
    with amp.auto_cast(level="O2"):
        assert F.softmax(x).dtype == paddle.float32
    with amp.auto_cast(level="O2", use_promote=False):
        assert F.softmax(x).dtype == paddle.float16


def test_an_op_defined_later_is_asked_for_its_class(own_ops):
    from minipaddle.core import op

    @op(amp="allow")
    def amp_probe(xp, x):
        return x * 2
    with amp.auto_cast():
        assert paddle.amp_probe(paddle.ones([1])).dtype == paddle.float16
    with amp.auto_cast(custom_black_list=["amp_probe"]):
        assert paddle.amp_probe(paddle.ones([1])).dtype == paddle.float32


# ---- O2
def test_decorate_lowers_all_but_norms_and_trains_with_master_weights():
    net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.BatchNorm1D(8),
                               paddle.nn.LayerNorm(8), paddle.nn.ReLU(), paddle.nn.Linear(8, 2))
    optimizer = paddle.optimizer.Momentum(0.05, 0.9, net.parameters())
    decorated = amp.decorate(net, optimizer, level="O2", save_dtype="float32")
    assert decorated == (net, optimizer) and optimizer._multi_precision
    kinds = {name: p.dtype.name for name, p in net.named_parameters()}
    assert kinds["0.weight"] == kinds["4.bias"] == "float16"
    assert {kinds[n] for n in kinds if n[0] in "12"} == {"float32"}
    assert {v.dtype.name for v in net.state_dict().values()} == {"float32"}
    scaler = amp.GradScaler(init_loss_scaling=128.0)
    x, y = paddle.randn([16, 4]), paddle.to_tensor(np.arange(16) % 2)
    losses = []
    for _ in range(25):
        with amp.auto_cast(level="O2"):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.minimize(optimizer, loss)
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0] * 0.8
    masters = optimizer.state_dict()["master_weights"]
    master = masters[net[0].weight.name]
    assert master.dtype == paddle.float32
    np.testing.assert_array_equal(master.numpy().astype("float16"), net[0].weight.numpy())


def test_decorate_returns_what_it_was_given_and_excludes():
    one, two = paddle.nn.Linear(1, 1), paddle.nn.Linear(1, 1)
    assert amp.decorate(one) is one
    assert one.weight.dtype == paddle.float32
    models = amp.decorate([one, two], level="O2", excluded_layers=[one])
    assert models == [one, two]
    assert one.weight.dtype == paddle.float32 and two.weight.dtype == paddle.float16
    for arguments, error, text in [
            (dict(models=one, level="O3"), ValueError, "level"),
            (dict(models=one, dtype="float64"), ValueError, "dtype"),
            (dict(models=len), TypeError, "models"),
            (dict(models=one, optimizers="sgd"), TypeError, "optimizers"),
            (dict(models=one, save_dtype="int32"), ValueError, "int32"),
            (dict(models=one, level="O2", excluded_layers=3), TypeError, "excluded_layers")]:
        with pytest.raises(error, match=text):
            amp.decorate(**arguments)


# ---- the scaler: sequences of the original
def number(values):
    return np.array([float(v) for v in np.ravel(values)], "float32")


OPTIMIZERS = {"sgd": lambda lr, ps: paddle.optimizer.SGD(lr, ps),
              "momentum": lambda lr, ps: paddle.optimizer.Momentum(lr, 0.9, ps),
              "adam": lambda lr, ps: paddle.optimizer.Adam(lr, parameters=ps)}


@pytest.mark.parametrize("case", SCALER["cases"], ids=lambda case: case["name"])
def test_scaler_sequence_is_paddles(case, capsys):
    first = number(case["init_param"])
    ps = [paddle.create_parameter([2], "float32"), paddle.create_parameter([1], "float32")]
    ps[0].set_value(first[:2])
    ps[1].set_value(first[2:])
    optimizer = OPTIMIZERS[case["optimizer"]](case["lr"], ps)
    scaler = amp.GradScaler(**case["scaler_args"])

    def gradients():
        return np.concatenate([p.grad.numpy() for p in ps])
    with np.errstate(all="ignore"):
        for wanted in case["steps"]:
            pull = number(wanted["grad_wanted"])
            loss = (ps[0] * paddle.to_tensor(pull[:2])).sum() + (
                ps[1] * paddle.to_tensor(pull[2:])).sum()
            scaled = scaler.scale(loss)
            assert loss.shape == wanted["loss_shape"]
            assert scaled.shape == wanted["scaled_loss_shape"]
            scaled.backward()
            np.testing.assert_allclose(gradients(), number(wanted["grad_after_backward"]),
                                       rtol=1e-6)
            if case["how"] == "minimize":
                scaler.minimize(optimizer, scaled)
            else:
                if case["how"] == "unscale_step_update":
                    scaler.unscale_(optimizer)
                scaler.step(optimizer)
                assert scaler._found_inf == wanted["found_inf"]
                if not wanted["found_inf"]:         # else the original's gradients are arbitrary
                    np.testing.assert_allclose(gradients(), number(wanted["grad_after_unscale"]),
                                               rtol=1e-6)
                scaler.update()
            optimizer.clear_grad()
            np.testing.assert_allclose(np.concatenate([p.numpy() for p in ps]),
                                       number(wanted["param"]), rtol=1e-6, atol=2e-5)
            state = scaler.state_dict()
            assert state["scale"].tolist() == [float(wanted["scale"])]
            if "incr_count" in wanted:
                assert state["incr_count"] == wanted["incr_count"]
                assert state["decr_count"] == wanted["decr_count"]
            assert capsys.readouterr().out.strip() == wanted["printed"]
    assert {**state, "scale": state["scale"].tolist()} == case["state_dict"]


def scaled_parameter(value: float = 1.0):
    w = paddle.create_parameter([1], "float32")
    w.set_value(np.array([1.0], "float32"))
    w.grad = paddle.to_tensor([value])
    return w, paddle.optimizer.SGD(1.0, [w]), amp.GradScaler(init_loss_scaling=2.0)


ERRORS = SCALER["errors"]


@pytest.mark.parametrize("calls, label", [
    (["unscale_", "unscale_"], "unscale_ twice"), (["step", "step"], "step twice"),
    (["step", "unscale_"], "unscale_ after step")])
def test_scaler_calls_out_of_order(calls, label):
    w, optimizer, scaler = scaled_parameter()
    getattr(scaler, calls[0])(optimizer)
    with pytest.raises(RuntimeError) as error:
        getattr(scaler, calls[1])(optimizer)
    assert str(error.value) == ERRORS[label][1]
    scaler.update()
    scaler.step(optimizer)


def test_scaler_arguments_and_settings():
    for argument in ("incr_ratio", "decr_ratio"):
        with pytest.raises(AssertionError, match=ERRORS[argument + "=1"][1].rstrip(".")):
            amp.GradScaler(**{argument: 1.0})
    with pytest.raises(RuntimeError) as error:
        amp.GradScaler().load_state_dict({})
    assert str(error.value) == ERRORS["load empty state_dict"][1]
    with pytest.raises(TypeError, match="float"):
        amp.GradScaler().scale(1.0)
    scaler, wanted = amp.GradScaler(), SCALER["accessors"]
    for name in ("get_decr_every_n_nan_or_inf", "get_decr_ratio", "get_incr_every_n_steps",
                 "get_incr_ratio", "get_init_loss_scaling", "is_enable",
                 "is_use_dynamic_loss_scaling"):
        assert getattr(scaler, name)() == wanted[name], name
    for name, value in (("incr_ratio", 3.0), ("decr_ratio", 0.1), ("incr_every_n_steps", 7),
                        ("decr_every_n_nan_or_inf", 4), ("init_loss_scaling", 64.0)):
        getattr(scaler, "set_" + name)(value)
        assert getattr(scaler, "get_" + name)() == value
    assert scaler.scale(paddle.ones([1])).tolist() == [64.0]


def test_a_disabled_scaler_passes_everything_through():
    w, optimizer, _ = scaled_parameter(math.inf)
    scaler, wanted = amp.GradScaler(enable=False), SCALER["accessors"]["disabled"]
    loss = w.sum()
    assert scaler.scale(loss) is loss
    assert scaler.state_dict() == wanted["state_dict"]
    assert scaler.get_init_loss_scaling() == wanted["get_init_loss_scaling"]
    assert scaler.is_use_dynamic_loss_scaling() == wanted["is_use_dynamic_loss_scaling"]
    w.grad = paddle.ones([1])
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == 0.0


def test_scaler_state_round_trip():
    _, optimizer, scaler = scaled_parameter()
    for _ in range(3):
        scaler.step(optimizer)
        scaler.update()
    other = amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.state_dict()["incr_count"] == 3
    with pytest.raises(ValueError, match="incr_count"):
        other.load_state_dict({"scale": np.ones(1)})


def test_two_optimizers_one_bad():
    good, first, scaler = scaled_parameter(2.0)
    bad, second, _ = scaled_parameter(math.nan)
    with np.errstate(all="ignore"):
        scaler.step(first)
        scaler.step(second)
    scaler.update()
    assert good.item() == 0.0 and bad.item() == 1.0
    assert scaler.state_dict()["scale"].tolist() == [1.0]   # one bad one counts


def test_a_float16_loss_is_scaled_in_float32():
    loss = paddle.to_tensor([3.0], dtype="float16")
    assert amp.GradScaler().scale(loss).tolist() == [3.0 * 65536]


def test_a_gradient_shared_by_two_parameters_is_unscaled_once():
    w, _, scaler = scaled_parameter()
    v = paddle.create_parameter([1], "float32")
    v._grad = w._grad
    scaler.unscale_(paddle.optimizer.SGD(1.0, [w, v]))
    assert w.grad.item() == 0.5


def test_one_transfer_a_step(monkeypatch):
    """On a device the whole step must ask the host once: whether to skip."""
    w, optimizer, scaler = scaled_parameter()
    counted = []
    real = amp.asnumpy
    monkeypatch.setattr(amp, "asnumpy", lambda a: counted.append(1) or real(a))
    scaler.step(optimizer)
    assert len(counted) == (0 if w.place.is_cpu_place() else 1)


def test_no_warning_in_a_usual_step():
    net = paddle.nn.Linear(2, 2)
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    scaler = amp.GradScaler(init_loss_scaling=1024)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with amp.auto_cast():
            loss = net(paddle.ones([2, 2])).mean()
        scaler.scale(loss).backward()
        scaler.minimize(optimizer, loss)
