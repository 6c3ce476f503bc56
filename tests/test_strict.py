"""The CuPy route on the stand-in: no hidden copies, no mixing, device in and device out.

Runs whatever --device is: the stand-in is installed here where it is not yet.
`pytest --device=strict` runs all the other tests on it too.
"""
from __future__ import annotations

import os
import pickle
import sys

import numpy as np
import pytest
from processes import ROOT

import minipaddle as paddle
from minipaddle import checks, device, worlds
from minipaddle.core import registry
from minipaddle.samples import Draw

sys.path.insert(0, os.path.join(ROOT, "tests", "strict_cupy"))
import strict_cupy  # noqa: E402


@pytest.fixture
def strict(request):
    """The stand-in as cupy, and the current device a GPU."""
    installed = request.config.getoption("--device") == "strict"
    if not installed:
        strict_cupy.install()
    paddle.set_device("gpu")
    yield strict_cupy
    paddle.set_device("cpu")
    if not installed:
        strict_cupy.uninstall()
        for cache in (worlds._kernels, device._generators):
            for xp in [xp for xp in cache if xp is not np]:
                del cache[xp]


HIDDEN = ("d2h", "h2d", "sync")


# ---- training steps
def test_a_step_of_raw_ops_stays_on_the_device(strict):
    """Forward, backward and update: not one transfer, in either direction."""
    x = paddle.rand([8, 4])
    label = paddle.rand([8, 3])
    w = paddle.to_tensor(np.ones((4, 3), "float32"), stop_gradient=False)
    b = paddle.to_tensor(np.zeros(3, "float32"), stop_gradient=False)

    def step():
        hidden = paddle.nn.functional.relu(x @ w + b)
        loss = ((hidden - label) ** 2).mean() + 0.01 * (w * w).sum()
        loss.backward()
        with paddle.no_grad():
            for p in (w, b):
                p.subtract_(p.grad * 0.1)
                p.clear_grad()
        return loss
    first = step()
    with strict.forbid(*HIDDEN):
        for _ in range(20):
            loss = step()
    assert float(loss) < float(first)
    strict.stats.reset()
    step()
    assert strict.stats.calls < 60, "kernel launches of one step"


def demo_step(strict, amp: bool):
    """The demo's network and its own `train_step`, with data on the device."""
    from minipaddle.demo import DigitNet, train_step
    net = DigitNet()
    net.train()
    rate = paddle.optimizer.lr.LinearWarmup(0.01, 5, 0.001, 0.01)
    optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters(), weight_decay=0.01,
                                       grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    scaler = paddle.amp.GradScaler(enable=amp, init_loss_scaling=1024)
    criterion = paddle.nn.CrossEntropyLoss()
    image = paddle.rand([16, 1, 8, 8])
    label = paddle.to_tensor(np.arange(16) % 10)

    def step():
        loss = train_step(net, criterion, optimizer, scaler, image, label)
        rate.step()
        return loss
    return step


def test_a_step_of_the_demo_reads_one_flag_and_nothing_else(strict):
    """Mixed precision must know whether a gradient overflowed: one bool a step, no other copy."""
    step = demo_step(strict, amp=True)
    first = step()
    strict.stats.reset()
    steps = 3
    for _ in range(steps):
        loss = step()
    log = [(kind, size) for kind, size, _ in strict.stats.log if kind in ("d2h", "h2d")]
    assert [e for e in log if e[0] == "d2h"] == [("d2h", 1)] * steps, strict.stats.log
    assert not [e for e in log if e[0] == "h2d"], strict.stats.log
    assert np.isfinite(float(first)) and np.isfinite(float(loss))


def test_a_step_of_the_demo_without_mixed_precision_is_silent(strict):
    step = demo_step(strict, amp=False)
    step()
    with strict.forbid("d2h", "h2d"):
        step()


# ---- every op
# Where values decide how much there is to do, CuPy itself waits for them.
WAITS = {
    "setitem": "a bool mask: how many entries it selects",
    "getitem": "a bool mask: how many entries it selects",
    "getitem_place": "a bool mask: how many entries it selects",
    "gammainc": "a series until it has converged",
    "gammaincc": "a series until it has converged",
    "put_along_axis": "reduce='mul' goes in rounds, as many as the busiest place has writes",
}


@pytest.mark.parametrize("name", sorted(n for n, r in registry.items() if r.samples is not None))
def test_an_op_runs_forward_and_backward_without_the_host(name, strict):
    for seed in range(3):
        call, values, names, _, _ = checks.problem_of(registry[name], Draw(seed))
        problem = checks._Problem(call, values, names, name)
        constants = [[checks._constant(u) for u in v] if isinstance(v, (list, tuple)) else
                     checks._constant(v) for v in problem.inputs]
        leaves = [paddle.to_tensor(a, stop_gradient=False) for a in problem.base]
        for (i, k), leaf in zip(problem.paths, leaves):
            if k is None:
                constants[i] = leaf
            else:
                constants[i][k] = leaf
        with strict.forbid(*(() if name in WAITS else ("d2h", "sync"))):
            outs = checks._results(call(*constants))
            alive = [t for t in outs if not t.stop_gradient]
            if alive:
                paddle.autograd.backward(alive)
        for t in [*outs, *(leaf.grad for leaf in leaves if leaf.grad is not None)]:
            assert type(t._data) is strict.ndarray


# ---- over the bridge and back
def test_only_what_reads_values_copies_them(strict):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    with strict.forbid(*HIDDEN):
        y = x * 2 + x.sum()
        assert (y.shape, y.dtype, y.ndim, y.size) == ([2, 2], paddle.float32, 2, 4)
        assert len(y) == 2 and str(y.place) == "gpu:0" and y.stop_gradient
    reads = [lambda: y.numpy(), lambda: y.tolist(), lambda: y[0, 0].item(),
             lambda: float(y[0, 0]), lambda: bool(y[0, 0] > 0), lambda: repr(y)]
    for read in reads:
        strict.stats.reset()
        read()
        assert strict.stats.d2h == 1
    with pytest.raises(strict.HiddenTransfer):
        with strict.forbid("d2h"):
            y.numpy()


def test_moving_is_differentiable(strict):
    x = paddle.to_tensor([1.0, 2.0], place="cpu", stop_gradient=False)
    y = (x.cuda() * 3.0).cpu()
    assert str(y.place) == "cpu"
    (y * y).sum().backward()
    assert str(x.grad.place) == "cpu" and x.grad.tolist() == [18.0, 36.0]
    assert x.cuda().place == paddle.CUDAPlace(0) and x.cpu() is x


def test_moving_is_differentiable_twice(strict):
    x = paddle.to_tensor(2.0, place="cpu", stop_gradient=False)
    (g,) = paddle.grad((x.cuda() ** 3).cpu(), x, create_graph=True)
    (h,) = paddle.grad(g, x)
    assert (float(g), float(h)) == (12.0, 12.0) and str(h.place) == "cpu"


def test_results_live_where_their_inputs_do(strict):
    cpu = paddle.to_tensor([1.0, 2.0], place="cpu")
    gpu = paddle.to_tensor([1.0, 2.0])
    assert str((cpu * 2).place) == "cpu" and str((gpu * 2).place) == "gpu:0"
    assert str(paddle.zeros_like(cpu).place) == "cpu"
    assert str(paddle.zeros([2]).place) == str(paddle.rand([2]).place) == "gpu:0"
    paddle.set_device("cpu")
    assert str((gpu + 1.5).place) == "gpu:0" and str(paddle.zeros([2]).place) == "cpu"
    paddle.set_device("gpu")


def test_scalars_cost_no_upload(strict):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with strict.forbid(*HIDDEN):
        y = 1.0 - (x * 2.0 + 3) / 4 - 1e-3
        y.sum().backward()
    assert x.grad.tolist() == [-0.5, -0.5]


def test_half_precision_runs_natively(strict):
    a = paddle.to_tensor(np.ones((4, 4), "float16"), stop_gradient=False)
    with strict.forbid(*HIDDEN):
        (a @ a).sum().backward()
    assert a.grad.dtype == paddle.float16


def test_pickles_travel_by_the_host(strict):
    x = paddle.to_tensor([1.0, 2.0])
    y = pickle.loads(pickle.dumps(x))
    assert y.tolist() == [1.0, 2.0]


def test_seeds_steer_the_devices_generator(strict):
    paddle.seed(3)
    first = paddle.rand([4]).tolist()
    paddle.seed(3)
    assert paddle.rand([4]).tolist() == first
    with pytest.raises(NotImplementedError, match="use paddle.seed"):
        paddle.get_rng_state()


def test_a_missing_card_is_named(strict):
    with pytest.raises(RuntimeError, match=r"set_device\('gpu:3'\): CuPy finds 1 GPUs"):
        paddle.set_device("gpu:3")
    assert paddle.get_device() == "gpu:0" and paddle.is_compiled_with_cuda()


def test_the_stand_in_refuses_what_cupy_refuses(strict):
    """The guard works: a kernel that mixes host and device arrays would fail here."""
    x = paddle.to_tensor([1.0])
    with pytest.raises(TypeError, match="Unsupported type"):
        x._data + np.ones(1)
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(x._data)
