"""Learning-rate schedules against real Paddle's sequences; states, jumps and mistakes."""
from __future__ import annotations

import golden_training
import pytest

import minipaddle as paddle
from minipaddle.optimizer import lr

GOLDEN = golden_training.golden()["schedules"]


@pytest.mark.parametrize("label", golden_training.SCHEDULES)
def test_sequence_and_jumps_are_paddles(label):
    found = golden_training.SCHEDULES[label](paddle)
    assert found["walked"] == pytest.approx(GOLDEN[label]["walked"], rel=1e-9, abs=1e-12)
    assert found["jumped"] == pytest.approx(GOLDEN[label]["jumped"], rel=1e-9, abs=1e-12)


MAKERS = {
    "StepDecay": lambda: lr.StepDecay(0.5, 3), "Noam": lambda: lr.NoamDecay(16, 4),
    "Cosine": lambda: lr.CosineAnnealingDecay(0.5, 4), "LinearLR": lambda: lr.LinearLR(0.5, 6),
    "restarts": lambda: lr.CosineAnnealingWarmRestarts(0.5, 2, 2),
    "warm-up": lambda: lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 6), 3, 0.0, 0.5),
    "lambda": lambda: lr.LambdaDecay(0.5, lambda e: 1 / (1 + e)),
    "cycle": lambda: lr.OneCycleLR(0.5, 20), "CyclicLR": lambda: lr.CyclicLR(0.1, 0.5, 2),
}


def walk(schedule, n: int) -> list:
    rates = []
    for _ in range(n):
        rates.append(schedule())
        schedule.step()
    return rates


@pytest.mark.parametrize("label", MAKERS)
def test_a_state_goes_on_where_it_was(label):
    first, second = MAKERS[label](), MAKERS[label]()
    walk(first, 5)
    second.set_state_dict(first.state_dict())
    assert second() == first()
    assert walk(second, 8) == walk(first, 8)


@pytest.mark.parametrize("label", MAKERS)
def test_jumping_and_walking_agree(label):
    first, second = MAKERS[label](), MAKERS[label]()
    walk(first, 7)
    second.step(7)
    assert second() == pytest.approx(first()) and second.last_epoch == 7


def test_plateau_state_and_kinds_of_metric():
    first = lr.ReduceOnPlateau(1.0, factor=0.5, patience=0)
    for metric in (3.0, paddle.to_tensor(2.0), paddle.to_tensor([2.0]).numpy()):
        first.step(metric)
    assert first() == 0.5
    state = first.state_dict()
    assert sorted(state) == ["best", "cooldown_counter", "last_epoch", "last_lr", "num_bad_epochs"]
    second = lr.ReduceOnPlateau(1.0, factor=0.5, patience=0)
    second.set_state_dict(state)
    second.step(2.0)
    assert second() == 0.25
    with pytest.raises(TypeError, match=r"one number.*\[2\]"):
        first.step(paddle.ones([2]))


def test_a_schedule_drives_an_optimizer_and_verbose_tells(capsys):
    w = paddle.create_parameter([1], "float32")
    rate = lr.StepDecay(1.0, 1, 0.5, verbose=True)
    optimizer = paddle.optimizer.SGD(rate, [w])
    assert optimizer.get_lr() == 1.0
    optimizer.step()
    assert optimizer.get_lr() == 1.0                # step() of the optimizer moves no schedule
    rate.step()
    assert optimizer.get_lr() == 0.5
    assert "Epoch 1: StepDecay set learning rate to 0.5." in capsys.readouterr().out
    optimizer.set_lr_scheduler(lr.ExponentialDecay(2.0, 0.5))
    assert optimizer.get_lr() == 2.0


def test_a_subclass_with_more_state():
    class Mine(lr.LRScheduler):
        def __init__(self):
            self.best = 7
            super().__init__(1.0)

        def get_lr(self):
            return self.base_lr / self.best

        def state_keys(self):
            self.keys = ["last_epoch", "last_lr", "best"]
    assert Mine().state_dict() == {"last_epoch": 0, "last_lr": 1 / 7, "best": 7}


@pytest.mark.parametrize("build, error, text", [
    (lambda: lr.StepDecay("a", 1), TypeError, "StepDecay: learning_rate"),
    (lambda: lr.StepDecay(-1.0, 1), ValueError, "at least 0"),
    (lambda: lr.StepDecay(1.0, 1.5), TypeError, "step_size.*float"),
    (lambda: lr.StepDecay(1.0, 0), ValueError, "step_size"),
    (lambda: lr.StepDecay(1.0, 1, 1.5), ValueError, "gamma"),
    (lambda: lr.MultiStepDecay(1.0, 3), TypeError, "milestones"),
    (lambda: lr.MultiStepDecay(1.0, [3, 2]), ValueError, "increase"),
    (lambda: lr.PiecewiseDecay([], [1]), ValueError, "empty"),
    (lambda: lr.PiecewiseDecay([1], [1]), ValueError, "values"),
    (lambda: lr.ExponentialDecay(1.0, 2), ValueError, "gamma"),
    (lambda: lr.PolynomialDecay(1.0, 0), ValueError, "decay_steps"),
    (lambda: lr.LambdaDecay(1.0, 3), TypeError, "lr_lambda"),
    (lambda: lr.LinearWarmup(1.0, 0, 0, 1), ValueError, "warmup_steps"),
    (lambda: lr.LinearWarmup(1.0, 2, 1, 0), ValueError, "end_lr"),
    (lambda: lr.LinearLR(1.0, 2, 0), ValueError, "start_factor"),
    (lambda: lr.OneCycleLR(1.0, 4, anneal_strategy="x"), ValueError, "'x'"),
    (lambda: lr.OneCycleLR(1.0, 4).step(9), ValueError, "total_steps, 4"),
    (lambda: lr.CyclicLR(1.0, 2.0, 2, mode="x"), ValueError, "triangular2"),
    (lambda: lr.ReduceOnPlateau(1.0, mode="x"), ValueError, "mode"),
    (lambda: lr.StepDecay(1.0, 1).set_state_dict({"last_lr": 1}), RuntimeError, "last_epoch"),
    (lambda: lr.LinearWarmup(lr.StepDecay(1.0, 1), 1, 0, 1).set_state_dict(
        {"last_epoch": 1, "last_lr": 1}), RuntimeError, "LinearWarmup_LR"),
    (lambda: lr.LRScheduler(), NotImplementedError, "get_lr"),
])
def test_mistakes_are_named(build, error, text):
    with pytest.raises(error, match=text):
        build()
