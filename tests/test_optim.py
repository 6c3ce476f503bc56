"""Optimizers against real Paddle, and what the flat buffers must not break."""
from __future__ import annotations

import copy
import gc
import weakref

import golden_training
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minipaddle as paddle

GOLDEN = golden_training.golden()["optimizers"]


@pytest.mark.parametrize("label", golden_training.OPTIMIZERS)
def test_trajectory_and_state_are_paddles(label):
    found, wanted = golden_training.OPTIMIZERS[label](paddle), GOLDEN[label]
    np.testing.assert_allclose(found["trace"], wanted["trace"], rtol=2e-5, atol=3e-6)
    if "rates" in wanted:
        assert found["rates"] == pytest.approx(wanted["rates"])
    if "state" in wanted:
        assert sorted(found["state"]) == sorted(wanted["state"])
        for name, value in wanted["state"].items():
            if isinstance(value, dict):
                assert found["state"][name] == pytest.approx(value)
                continue
            assert np.shape(found["state"][name]) == np.shape(value), name
            np.testing.assert_allclose(found["state"][name], value, rtol=2e-5, atol=3e-6,
                                       err_msg=name)


def weights(*shapes, dtype="float32"):
    out = []
    for i, shape in enumerate(shapes):
        w = paddle.create_parameter(list(shape), dtype)
        w.set_value(np.full(shape, i + 1.0, dtype))
        out.append(w)
    return out


def pull(*params, by: float = 1.0) -> None:
    """One backward that gives every parameter the gradient `by`."""
    terms = [(w * by).sum() for w in params]
    sum(terms[1:], terms[0]).backward()


def values(w) -> list:
    return np.asarray(w.numpy(), "float64").ravel().round(5).tolist()


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_every_float_dtype_keeps_its_dtype(kind):
    w, v = weights([2], [3], dtype=kind)
    optimizer = paddle.optimizer.Adam(0.5, parameters=[w, v])
    for _ in range(3):
        pull(w, v)
        optimizer.step()
        optimizer.clear_grad()
    assert w.dtype == getattr(paddle, kind)
    np.testing.assert_allclose(w.numpy(), -0.5, atol=2e-3)


def test_mixed_dtypes_in_one_optimizer():
    (w,), (v,) = weights([2]), weights([2], dtype="float64")
    optimizer = paddle.optimizer.SGD(1.0, [w, v], grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    pull(w)
    v.grad = paddle.to_tensor(np.array([1.0, 1.0]))
    optimizer.step()
    assert values(w) == values(v) == [0.5, 0.5]


def test_float16_parameters_need_master_weights_for_small_steps():
    plain, exact = weights([1], [1], dtype="float16")
    exact.set_value(plain)
    first = paddle.optimizer.SGD(1e-4, [plain])
    second = paddle.optimizer.SGD(1e-4, [exact], multi_precision=True)
    for _ in range(20):
        plain.grad = exact.grad = paddle.ones([1], "float16")
        first.step()
        second.step()
    assert values(plain) == [1.0]                   # each step was rounded away
    assert exact.item() == pytest.approx(1 - 20e-4, abs=5e-4)
    master = second.state_dict()["master_weights"][exact.name]
    assert master.dtype == paddle.float32
    assert master.item() == pytest.approx(0.998, abs=1e-6)


def test_identity_and_views_survive_flattening():
    net = paddle.nn.Linear(2, 2)
    weight, view = net.weight, net.weight.detach()
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    net(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    assert net.weight is weight
    del view


def test_set_value_between_steps_is_what_the_next_step_starts_from():
    w, v = weights([2], [2])
    optimizer = paddle.optimizer.Momentum(0.5, 0.5, [w, v])
    pull(w, v)
    optimizer.step()
    w.set_value(np.array([7.0, 7.0], "float32"))
    assert values(v) == [1.5, 1.5]
    optimizer.step()                                # the same gradients; velocity 1.5
    assert values(w) == [6.25, 6.25] and values(v) == [0.75, 0.75]


def test_set_state_dict_of_the_layer_reaches_the_optimizer():
    net = paddle.nn.Linear(1, 1)
    optimizer = paddle.optimizer.SGD(1.0, parameters=net.parameters())
    net(paddle.ones([1, 1])).sum().backward()
    optimizer.step()
    net.set_state_dict({"weight": np.array([[5.0]], "float32"), "bias": np.array([0], "float32")})
    optimizer.step()
    assert net.weight.item() == 4.0 and net.bias.item() == -1.0


def test_a_replaced_array_is_noticed():
    w, v = weights([2], [2])
    optimizer = paddle.optimizer.Momentum(0.5, 0.5, [w, v])
    pull(w, v)
    optimizer.step()
    w._data = w._data * 0 + 3                       # what Layer.to(dtype) does
    optimizer.step()
    assert values(w) == [2.25, 2.25] and values(v) == [0.75, 0.75]


def test_a_dtype_changed_midway_keeps_the_accumulators():
    net = paddle.nn.Linear(1, 1, bias_attr=False)
    net.weight.set_value(np.array([[1.0]], "float32"))
    optimizer = paddle.optimizer.Momentum(0.5, 0.5, net.parameters())
    net.weight.grad = paddle.ones([1, 1])
    optimizer.step()
    net.to(dtype="float64")
    net.weight.grad = paddle.ones([1, 1], "float64")
    optimizer.step()
    assert net.weight.dtype == paddle.float64
    assert net.weight.item() == pytest.approx(1 - 0.5 - 0.75)


def test_parameters_frozen_and_thawed():
    w, v, u = weights([2], [1], [2])
    optimizer = paddle.optimizer.Momentum(1.0, 0.5, [w, v, u], weight_decay=0.5)
    pull(w, v, u)
    optimizer.step()
    optimizer.clear_grad()
    v.stop_gradient = True
    pull(w, u)
    frozen = values(v)
    optimizer.step()
    assert values(v) == frozen
    v.stop_gradient = False
    v.grad = paddle.zeros([1])
    w.grad = u.grad = None
    before = values(w)
    optimizer.step()                                # velocity 2 * .5 + .5 * (2 - 2)
    assert values(v) == [-1.0] and values(w) == before


def test_a_parameter_that_joins_later():
    w, v = weights([1], [1])
    optimizer = paddle.optimizer.Adam(0.5, parameters=[w, v])
    w.grad = paddle.ones([1])
    optimizer.step()
    assert not any(k.startswith(v.name) for k in optimizer.state_dict())
    w.grad = v.grad = paddle.ones([1])
    optimizer.step()
    state = optimizer.state_dict()
    assert values(w + v) == pytest.approx([1.5], abs=1e-4)
    assert state[f"{w.name}_beta1_pow_acc_0"].item() == pytest.approx(0.9 ** 3)
    assert state[f"{v.name}_beta1_pow_acc_0"].item() == pytest.approx(0.9 ** 2)


def test_settings_changed_between_steps_count():
    w, v = weights([1], [1])
    optimizer = paddle.optimizer.SGD(1.0, [w, v])
    for x in (w, v):
        x.grad = paddle.ones([1])
    optimizer.step()
    w.optimize_attr["learning_rate"] = 0.25
    v.regularizer = paddle.regularizer.L2Decay(0.5)
    optimizer.step()
    assert values(w) == [-0.25] and values(v) == [-0.5]
    optimizer.set_lr(2.0)
    optimizer.step()
    assert optimizer.get_lr() == 2.0 and values(w) == [-0.75]


def test_a_step_makes_a_graph_that_kept_the_old_values_refuse():
    w, = weights([2])
    optimizer = paddle.optimizer.SGD(1.0, [w])
    loss = (w * w).sum()
    w.grad = paddle.ones([2])
    optimizer.step()
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_gradients_are_left_as_they_were():
    w, = weights([2])
    optimizer = paddle.optimizer.Adam(0.1, parameters=[w], weight_decay=0.5,
                                      grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1))
    pull(w, by=2.0)
    optimizer.step()
    assert values(w.grad) == [2.0, 2.0]


def test_minimize_runs_no_backward_and_gives_pairs():
    w, v = weights([1], [1])
    optimizer = paddle.optimizer.SGD(1.0, [w, v])
    loss = (w * 2 + v).sum()
    assert optimizer.minimize(loss) == (None, []) and values(w) == [1.0]
    loss.backward()
    ops, pairs = optimizer.minimize(loss, parameters=[v])
    assert [p is v for p, _ in pairs] == [True]
    assert values(w) == [1.0] and values(v) == [1.0]


def test_clear_grad_reads_as_zeros_or_none():
    w, v = weights([2], [1])
    optimizer = paddle.optimizer.SGD(1.0, [w, v])
    pull(w)
    optimizer.clear_grad()
    assert values(w.grad) == [0.0, 0.0] and v.grad is None
    optimizer.clear_grad(set_to_zero=False)
    assert w.grad is None


def test_resume_is_bit_for_bit():
    def run(optimizer, w, steps):
        for k in steps:
            w.grad = paddle.to_tensor(np.sin(np.arange(5) + k).astype("float32"))
            optimizer.step()
    for make in (lambda w: paddle.optimizer.Adam(0.1, 0.9, 0.95, parameters=[w]),
                 lambda w: paddle.optimizer.NAdam(0.1, parameters=[w]),
                 lambda w: paddle.optimizer.ASGD(0.1, 3, parameters=[w]),
                 lambda w: paddle.optimizer.RMSProp(0.1, momentum=0.9, parameters=[w])):
        w, = weights([5])
        optimizer = make(w)
        run(optimizer, w, range(7))
        state, kept = optimizer.state_dict(), w.numpy()
        run(optimizer, w, range(7, 12))
        v = paddle.create_parameter([5], "float32", attr=paddle.ParamAttr(name="resumed"))
        v.set_value(kept)
        again = make(v)
        again.set_state_dict({k.replace(w.name, "resumed"): x for k, x in state.items()})
        run(again, v, range(7, 12))
        assert (v.numpy() == w.numpy()).all()


def test_state_dict_is_a_copy_and_round_trips_before_the_first_step():
    w, = weights([2])
    optimizer = paddle.optimizer.Momentum(1.0, 0.5, [w])
    w.grad = paddle.ones([2])
    optimizer.step()
    state = optimizer.state_dict()
    optimizer.step()
    assert values(state[f"{w.name}_velocity_0"]) == [1.0, 1.0]
    fresh = paddle.optimizer.Momentum(1.0, 0.5, [w])
    fresh.set_state_dict(state)
    assert values(fresh.state_dict()[f"{w.name}_velocity_0"]) == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"velocity_0 has shape \[3\].*\[2\]"):
        optimizer.set_state_dict({f"{w.name}_velocity_0": np.ones(3, "float32")})


def test_a_clip_of_the_users_own():
    class Halve(type(paddle.nn.ClipGradByNorm(1.0)).__base__):
        def _dygraph_clip(self, params_grads):
            return [(p, g * 0.5) for p, g in params_grads]
    w, = weights([2])
    optimizer = paddle.optimizer.SGD(1.0, [w], grad_clip=Halve())
    pull(w)
    optimizer.step()
    assert values(w) == [0.5, 0.5]


def test_a_rule_of_the_users_own():
    class Sign(paddle.optimizer.Optimizer):
        accumulators = {"count": 0.0}

        def update(self, s):
            s.count += 1
            s.value -= s.rate * s.xp.sign(s.gradient)
    w, v = weights([2], [1])
    optimizer = Sign(0.5, [w, v])
    pull(w, v, by=3.0)
    optimizer.step()
    assert values(w) == [0.5, 0.5] and values(v) == [1.5]
    assert values(optimizer.state_dict()[f"{v.name}_count_0"]) == [1.0]


def test_lr_ratio_and_rescale_grad():
    w, v = weights([1], [1])
    optimizer = paddle.optimizer.AdamW(0.5, parameters=[w, v], weight_decay=0.0,
                                       lr_ratio=lambda p: 0.5 if p is v else 1.0)
    pull(w, v)
    optimizer.step()
    assert values(w) == [0.5] and values(v) == [1.75]
    optimizer = paddle.optimizer.Momentum(1.0, 0.9, [w], rescale_grad=0.25)
    w.grad = paddle.ones([1])
    optimizer.step()
    assert values(w) == [0.25]


def test_a_long_buffer_is_updated_in_blocks_alike():
    from minipaddle import optim
    big, = weights([optim.BLOCK + 7])
    small, = weights([7])
    for w in (big, small):
        optimizer = paddle.optimizer.AdamW(0.1, parameters=[w])
        for k in range(3):
            w.grad = paddle.full(w.shape, 0.5 + k)
            optimizer.step()
    assert (big.numpy() == small.numpy()[0]).all()


def test_zero_dimensional_and_empty_parameters():
    w = paddle.create_parameter([], "float32")
    w.set_value(np.float32(2.0))
    e = paddle.create_parameter([0, 3], "float32")
    optimizer = paddle.optimizer.Lamb(0.5, 0.0, parameters=[w, e])
    w.grad, e.grad = paddle.to_tensor(1.0), paddle.zeros([0, 3])
    optimizer.step()
    assert w.shape == [] and w.item() < 2.0 and e.shape == [0, 3]


def test_the_optimizer_keeps_no_cycle_alive():
    gc.collect()
    gc.disable()
    try:
        net = paddle.nn.Linear(2, 2)
        optimizer = paddle.optimizer.Adam(parameters=net.parameters())
        net(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        gone = weakref.ref(net.weight)
        del net, optimizer
        assert gone() is None
    finally:
        gc.enable()


def test_a_deep_copied_layer_trains_by_itself():
    net = paddle.nn.Linear(1, 1)
    optimizer = paddle.optimizer.SGD(1.0, parameters=net.parameters())
    net(paddle.ones([1, 1])).sum().backward()
    optimizer.step()
    twin = copy.deepcopy(net)
    before = twin.weight.item()
    optimizer.step()
    assert twin.weight.item() == before != net.weight.item()


@pytest.mark.parametrize("build, error, text", [
    (lambda w: paddle.optimizer.SGD(0.1), ValueError, "parameters is required"),
    (lambda w: paddle.optimizer.SGD(0.1, w), TypeError, "list of Parameters"),
    (lambda w: paddle.optimizer.SGD("fast", [w]), TypeError, "learning_rate.*str"),
    (lambda w: paddle.optimizer.SGD(0.1, [w, w]), ValueError, "more than once"),
    (lambda w: paddle.optimizer.SGD(0.1, [w], weight_decay="l2"), TypeError, "weight_decay"),
    (lambda w: paddle.optimizer.SGD(0.1, [w.numpy()]), TypeError, "ndarray"),
    (lambda w: paddle.optimizer.SGD(0.1, [{"learning_rate": 1}]), ValueError, "'params'"),
    (lambda w: paddle.optimizer.SGD(0.1, [w], grad_clip=1.0), TypeError, "grad_clip"),
    (lambda w: paddle.optimizer.Adam(0.1, beta1=1.0, parameters=[w]), ValueError, "beta1"),
    (lambda w: paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(1.0, 1), [w]).set_lr(1),
     RuntimeError, "StepDecay"),
    (lambda w: paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(1.0, 1), [w])
     .set_state_dict({}), ValueError, "LR_Scheduler"),
    (lambda w: paddle.optimizer.SGD(0.1, [w]).minimize(3.0), TypeError, "loss"),
])
def test_mistakes_are_named(build, error, text):
    with pytest.raises(error, match=text):
        build(weights([1])[0])


# ---- any order of events against a plain reference, one parameter at a time
class Reference:
    """Adam with coupled decay and a global-norm clip, in float64, straight from the formulas."""

    def __init__(self, clip) -> None:
        self.clip, self.state = clip, {}

    def step(self, params) -> None:
        grads = {i: g.copy() for i, (_, g, frozen, _, _) in enumerate(params)
                 if g is not None and not frozen}
        if self.clip is not None and grads:
            norm = np.sqrt(sum((g * g).sum() for g in grads.values()))
            grads = {i: g * (self.clip / max(norm, self.clip)) for i, g in grads.items()}
        for i, g in grads.items():
            value, _, _, rate, decay = params[i]
            m, v, t = self.state.get(i, (0.0, 0.0, 0))
            g = g + decay * value
            m, v, t = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g, t + 1
            self.state[i] = m, v, t
            params[i][0] = value - 0.1 * rate * (m / (1 - 0.9 ** t)) / (
                np.sqrt(v / (1 - 0.99 ** t)) + 1e-4)


EVENTS = st.lists(st.tuples(
    st.sampled_from(["step"] * 4 + ["grad"] * 4 + ["zero", "none", "freeze", "thaw", "set", "move",
                                                  "rate", "decay", "reload"]),
    st.integers(0, 4), st.integers(0, 99)), min_size=5, max_size=40)


@settings(max_examples=60)
@given(events=EVENTS, clip=st.sampled_from([None, 0.5]))
def test_any_order_of_events_equals_a_plain_reference(events, clip):
    shapes = [(2,), (), (3, 2), (0,), (1,)]
    ps = [paddle.create_parameter(list(s), "float64") for s in shapes]
    mirror = []                                     # value, gradient, frozen, rate, decay
    for i, (p, s) in enumerate(zip(ps, shapes)):
        p.set_value(np.full(s, i + 1.0))
        mirror.append([p.numpy(), None, False, 1.0, 0.25])

    def make():
        return paddle.optimizer.Adam(
            0.1, 0.9, 0.99, 1e-4, ps, weight_decay=0.25,
            grad_clip=None if clip is None else paddle.nn.ClipGradByGlobalNorm(clip))
    optimizer, reference = make(), Reference(clip)
    for event, i, n in events:
        p, row = ps[i], mirror[i]
        fresh = np.sin(np.arange(p.size) + n).reshape(shapes[i])
        if event == "step":
            optimizer.step()
            reference.step(mirror)
        elif event == "grad":
            p.grad, row[1] = paddle.to_tensor(fresh), fresh
        elif event == "zero":
            optimizer.clear_grad()
            for r in mirror:
                r[1] = None if r[1] is None else r[1] * 0
        elif event == "none":
            p.clear_grad(set_to_zero=False)
            row[1] = None
        elif event in ("freeze", "thaw"):
            p.stop_gradient = row[2] = event == "freeze"
        elif event == "set":
            p.set_value(fresh)
            row[0] = fresh
        elif event == "move":
            p._data = (p + 1.0)._data
            row[0] = row[0] + 1.0
        elif event == "rate":
            p.optimize_attr["learning_rate"] = row[3] = 1 + n / 100
        elif event == "decay":
            p.regularizer, row[4] = paddle.regularizer.L2Decay(n / 100), n / 100
        else:
            state = optimizer.state_dict()
            optimizer = make()
            optimizer.set_state_dict(state)
    optimizer.step()
    reference.step(mirror)
    for p, row in zip(ps, mirror):
        np.testing.assert_allclose(p.numpy(), row[0], rtol=1e-5, atol=1e-7)


def test_two_optimizers_on_the_same_parameters_take_turns():
    w, v = weights([2], [1])
    first = paddle.optimizer.Momentum(0.5, 0.5, [w, v])
    second = paddle.optimizer.Momentum(0.25, 0.0, [w])
    for optimizer in (first, second, first):
        pull(w, v)
        optimizer.step()
        first.clear_grad()
    assert values(w) == [1 - 0.5 - 0.25 - 0.75] * 2 and values(v) == [2 - 0.5 - 0.75]


def test_neighbours_in_the_buffer_stay_apart():
    """Parameters share one flat memory, but writing to one must not touch or alias another."""
    w, v, u = weights([2], [2], [2])
    optimizer = paddle.optimizer.SGD(0.0, [w, v, u])
    pull(w, v, u)
    optimizer.step()
    with paddle.no_grad():
        paddle.assign(v, w)                         # w = v, then they must part again
        w.add_(paddle.ones([2]))
        u.copy_(w)
        v[0] = 9.0
    assert [values(x) for x in (w, v, u)] == [[3, 3], [9, 2], [3, 3]]
    loss = (w * w).sum()                            # w unharmed by writes to its neighbours
    with paddle.no_grad():
        v.set_value(np.zeros(2, "float32"))
    loss.backward()
    assert values(w.grad) == [1 + 6, 1 + 6]         # added to what pull left
    optimizer.step()
    assert [values(x) for x in (w, v, u)] == [[3, 3], [0, 0], [3, 3]]
