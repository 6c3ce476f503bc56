"""Learning-rate schedules (`paddle.optimizer.lr`): plain Python on numbers, nothing imported.

A scheduler starts at epoch 0 with its first value; `step()` moves it on, calling it gives the
rate. Nearly all rates are a function of the epoch alone, so that jumping to an epoch and walking
there agree, and the epoch is all a scheduler has to save.
"""
from __future__ import annotations

import math
from bisect import bisect_right

__all__ = ["CosineAnnealingDecay", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialDecay",
           "InverseTimeDecay", "LRScheduler", "LambdaDecay", "LinearLR", "LinearWarmup",
           "MultiStepDecay", "MultiplicativeDecay", "NaturalExpDecay", "NoamDecay", "OneCycleLR",
           "PiecewiseDecay", "PolynomialDecay", "ReduceOnPlateau", "StepDecay"]


class LRScheduler:
    """Base of the schedules: a subclass gives `get_lr()` from `last_epoch` and `base_lr`.

    learning_rate: the base rate, not negative. last_epoch: the epoch before the first one, -1 at
    a start. verbose: print each new rate. TypeError and ValueError name a bad argument.

    >>> import minipaddle as paddle
    >>> class Halving(paddle.optimizer.lr.LRScheduler):
    ...     def get_lr(self):
    ...         return self.base_lr * 0.5 ** self.last_epoch
    >>> rate = Halving(1.0)
    >>> rate(), rate.step(), rate()
    (1.0, None, 0.5)
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._start(learning_rate, last_epoch, verbose)
        self.step()

    def _start(self, learning_rate, last_epoch, verbose) -> None:
        self._number("learning_rate", learning_rate)
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = last_epoch, verbose

    def _number(self, label: str, value, least: float = 0.0) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{type(self).__name__}: {label} must be a number, got "
                            f"{type(value).__name__} {value!r:.60}")
        if value < least:
            raise ValueError(f"{type(self).__name__}: {label} must be at least {least:g}, got "
                             f"{value}")

    def _whole(self, label: str, value) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{type(self).__name__}: {label} must be an int, got "
                            f"{type(value).__name__} {value!r:.60}")
        if value <= 0:
            raise ValueError(f"{type(self).__name__}: {label} must be positive, got {value}")

    def _require(self, holds: bool, text: str) -> None:
        if not holds:
            raise ValueError(f"{type(self).__name__}: {text}")

    def __call__(self) -> float:
        """The current rate."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Move to the next epoch, or to the one given."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            # subclasses written for Paddle may have a form of their own for jumps
            self.last_lr = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._tell()

    def _tell(self) -> None:
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to "
                  f"{self.last_lr}.")

    def get_lr(self) -> float:
        """The rate for `last_epoch`; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} needs get_lr(self)")

    def state_keys(self) -> None:
        """Name in `self.keys` the attributes that `state_dict` keeps; subclasses may add some."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict:
        """What is needed to go on."""
        self.state_keys()
        state = {key: self.__dict__[key] for key in self.keys if key in self.__dict__}
        return {k: float(v) if hasattr(v, "numpy") else v for k, v in state.items()}

    def set_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave; RuntimeError names what it lacks."""
        self.state_keys()
        missing = [key for key in self.keys if key not in state_dict]
        if missing:
            raise RuntimeError(f"{type(self).__name__}.set_state_dict: the state lacks "
                               f"{', '.join(missing)}; it belongs to another scheduler")
        for key in self.keys:
            setattr(self, key, state_dict[key])

    set_dict = set_state_dict


# ---- decays
class StepDecay(LRScheduler):
    """base * gamma^(epoch // step_size).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.StepDecay(1.0, step_size=2, gamma=0.5)
    >>> [(rate(), rate.step())[0] for _ in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, learning_rate: float, step_size: int, gamma: float = 0.1,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self._whole("step_size", step_size)
        self._require(gamma < 1.0, f"gamma must be below 1, got {gamma}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepDecay(LRScheduler):
    """base * gamma^(how many milestones the epoch has reached).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.MultiStepDecay(1.0, milestones=[1, 3], gamma=0.5)
    >>> [(rate(), rate.step())[0] for _ in range(5)]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(self, learning_rate: float, milestones, gamma: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        if not isinstance(milestones, (tuple, list)):
            raise TypeError("MultiStepDecay: milestones must be a list or tuple, got "
                            f"{type(milestones).__name__}")
        self._require(all(a < b for a, b in zip(milestones, milestones[1:])),
                      f"milestones must increase, got {list(milestones)}")
        self._require(gamma < 1.0, f"gamma must be below 1, got {gamma}")
        self.milestones, self.gamma = milestones, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** bisect_right(self.milestones, self.last_epoch)


class PiecewiseDecay(LRScheduler):
    """values[i] up to boundaries[i], the last value after them; one value more than boundaries.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.PiecewiseDecay([1, 3], [0.3, 0.2, 0.1])
    >>> [(rate(), rate.step())[0] for _ in range(5)]
    [0.3, 0.2, 0.2, 0.1, 0.1]
    """

    def __init__(self, boundaries, values, last_epoch: int = -1, verbose: bool = False) -> None:
        self._require(len(boundaries) > 0, "boundaries must not be empty")
        self._require(len(values) > len(boundaries), f"values must have one entry more than "
                      f"boundaries, got {len(values)} for {len(boundaries)}")
        self.boundaries, self.values = boundaries, values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        return self.values[bisect_right(self.boundaries, self.last_epoch)]


class ExponentialDecay(LRScheduler):
    """base * gamma^epoch, gamma in (0, 1).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.ExponentialDecay(1.0, gamma=0.5)
    >>> [(rate(), rate.step())[0] for _ in range(3)]
    [1.0, 0.5, 0.25]
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._require(0.0 < gamma < 1.0, f"gamma must be in (0, 1), got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** self.last_epoch


class NaturalExpDecay(LRScheduler):
    """base * exp(-gamma * epoch).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.NaturalExpDecay(1.0, gamma=0.1)
    >>> [round((rate(), rate.step())[0], 4) for _ in range(3)]
    [1.0, 0.9048, 0.8187]
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._require(gamma > 0.0, f"gamma must be positive, got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """base / (1 + gamma * epoch).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.InverseTimeDecay(1.0, gamma=1.0)
    >>> [(rate(), rate.step())[0] for _ in range(2)]
    [1.0, 0.5]
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """(base - end_lr) * (1 - epoch / decay_steps)^power + end_lr, then end_lr.

    cycle=True: after decay_steps the way down begins again, over 2, 3, ... times decay_steps.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.PolynomialDecay(1.0, decay_steps=2, end_lr=0.5)
    >>> [(rate(), rate.step())[0] for _ in range(4)]
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(self, learning_rate: float, decay_steps: int, end_lr: float = 0.0001,
                 power: float = 1.0, cycle: bool = False, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._whole("decay_steps", decay_steps)
        self._require(power > 0.0, f"power must be positive, got {power}")
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class CosineAnnealingDecay(LRScheduler):
    """eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2; it rises again after T_max.

    Loshchilov and Hutter, SGDR, 2017 (without the restarts).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.CosineAnnealingDecay(1.0, T_max=2)
    >>> [round((rate(), rate.step())[0], 4) for _ in range(4)]
    [1.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._whole("T_max", T_max)
        self._number("eta_min", eta_min, -math.inf)
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return _cosine(self.base_lr, self.eta_min, self.last_epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing from base to eta_min over T_0 epochs, then anew, T_mult times as long.

    `step(epoch)` takes fractions of epochs. Loshchilov and Hutter, SGDR, 2017.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.CosineAnnealingWarmRestarts(1.0, T_0=1, T_mult=2)
    >>> [round((rate(), rate.step())[0], 4) for _ in range(4)]
    [1.0, 1.0, 0.5, 1.0]
    """

    def __init__(self, learning_rate: float, T_0: int, T_mult: int = 1, eta_min: float = 0,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self._whole("T_0", T_0)
        self._whole("T_mult", T_mult)
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def step(self, epoch: float | None = None) -> None:
        """Move to the next epoch, or to the one given, which may be a fraction."""
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self._require(epoch >= 0, f"epoch must not be negative, got {epoch}")
        self.last_epoch = math.floor(epoch)
        self.last_lr = self._at(epoch)
        self._tell()

    def _at(self, epoch: float) -> float:
        length = self.T_0
        if self.T_mult == 1:
            epoch %= length
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        return _cosine(self.base_lr, self.eta_min, epoch / length)

    def get_lr(self) -> float:
        return self._at(self.last_epoch)


class LambdaDecay(LRScheduler):
    """base * lr_lambda(epoch).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.LambdaDecay(2.0, lambda epoch: 0.5 ** epoch)
    >>> [(rate(), rate.step())[0] for _ in range(3)]
    [2.0, 1.0, 0.5]
    """

    def __init__(self, learning_rate: float, lr_lambda, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        _callable(self, lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """The last rate times lr_lambda(epoch).

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.MultiplicativeDecay(2.0, lambda epoch: 0.5)
    >>> [(rate(), rate.step())[0] for _ in range(3)]
    [2.0, 1.0, 0.5]
    """

    def __init__(self, learning_rate: float, lr_lambda, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        _callable(self, lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.prod(map(self.lr_lambda, range(1, self.last_epoch + 1)))


def _callable(scheduler, lr_lambda) -> None:
    if not callable(lr_lambda):
        raise TypeError(f"{type(scheduler).__name__}: lr_lambda must be a function of the epoch, "
                        f"got {type(lr_lambda).__name__}")


def _cosine(start: float, end: float, part: float) -> float:
    """Half a cosine wave from start (part 0) to end (part 1)."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def _linear(start: float, end: float, part: float) -> float:
    return start + (end - start) * part


# ---- warm-ups and cycles
class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then learning_rate: a number or a scheduler.

    A scheduler given starts at its epoch 0 when the warm-up is over.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.LinearWarmup(1.0, warmup_steps=4, start_lr=0.0, end_lr=1.0)
    >>> [(rate(), rate.step())[0] for _ in range(6)]
    [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    """

    def __init__(self, learning_rate, warmup_steps: int, start_lr: float, end_lr: float,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError("LinearWarmup: learning_rate must be a number or an LRScheduler, got "
                            f"{type(learning_rate).__name__}")
        self._whole("warmup_steps", warmup_steps)
        self._require(end_lr > start_lr, f"end_lr must be above start_lr, got {end_lr} and "
                      f"{start_lr}")
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return _linear(self.start_lr, self.end_lr, self.last_epoch / self.warmup_steps)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate

    def state_dict(self) -> dict:
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict) -> None:
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            if "LinearWarmup_LR" not in state_dict:
                raise RuntimeError("LinearWarmup.set_state_dict: the state lacks LinearWarmup_LR, "
                                   "the state of the scheduler after the warm-up")
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict


class LinearLR(LRScheduler):
    """base times a factor that goes from start_factor to end_factor in total_steps.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.LinearLR(1.0, total_steps=2, start_factor=0.5)
    >>> [(rate(), rate.step())[0] for _ in range(4)]
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(self, learning_rate: float, total_steps: int, start_factor: float = 1. / 3,
                 end_factor: float = 1.0, last_epoch: int = -1, verbose: bool = False) -> None:
        self._require(0 < start_factor <= 1.0, f"start_factor must be in (0, 1], got "
                      f"{start_factor}")
        self._require(0 <= end_factor <= 1.0, f"end_factor must be in [0, 1], got {end_factor}")
        self._whole("total_steps", total_steps)
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        part = min(self.last_epoch, self.total_steps) / self.total_steps
        return self.base_lr * _linear(self.start_factor, self.end_factor, part)


class NoamDecay(LRScheduler):
    """learning_rate * d_model^-0.5 * min(epoch^-0.5, epoch * warmup_steps^-1.5); 0 at first.

    Vaswani et al., Attention is all you need, 2017.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.NoamDecay(d_model=4, warmup_steps=4)
    >>> [(rate(), rate.step())[0] for _ in range(3)]
    [0.0, 0.0625, 0.125]
    """

    def __init__(self, d_model: int, warmup_steps: int, learning_rate: float = 1.0,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self._number("d_model", d_model, 1)
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch = self.last_epoch
        falling = 1.0 if epoch == 0 else epoch ** -0.5
        return self.base_lr * self.d_model ** -0.5 * min(falling, self.warmup_steps ** -1.5 * epoch)


class OneCycleLR(LRScheduler):
    """Up to max_learning_rate in the share phase_pct of total_steps, then down to the end.

    It starts at max_learning_rate / divide_factor. three_phase: down to the start at the speed of
    the way up first. anneal_strategy: 'cos' or 'linear'. ValueError past total_steps.
    Smith and Topin, Super-convergence, 2018.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.OneCycleLR(1.0, total_steps=5, divide_factor=2.0, phase_pct=0.4,
    ...                                       anneal_strategy='linear', end_learning_rate=0.1)
    >>> [round((rate(), rate.step())[0], 4) for _ in range(5)]
    [0.5, 1.0, 0.7, 0.4, 0.1]
    """

    def __init__(self, max_learning_rate: float, total_steps: int, divide_factor: float = 25.,
                 end_learning_rate: float = 0.0001, phase_pct: float = 0.3,
                 anneal_strategy: str = "cos", three_phase: bool = False, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self._number("max_learning_rate", max_learning_rate)
        self._number("end_learning_rate", end_learning_rate)
        self._number("divide_factor", divide_factor)
        self._number("phase_pct", phase_pct)
        self._whole("total_steps", total_steps)
        self._require(phase_pct <= 1, f"phase_pct must be in [0, 1], got {phase_pct}")
        self._require(not three_phase or phase_pct < 0.5, "three_phase=True needs a phase_pct "
                      f"below 0.5, got {phase_pct}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("OneCycleLR: anneal_strategy must be 'cos' or 'linear', got "
                             f"{anneal_strategy!r}")
        self._between = _cosine if anneal_strategy == "cos" else _linear
        self.total_steps = total_steps
        first, up = max_learning_rate / divide_factor, phase_pct * total_steps - 1
        self._ends = [0, up, total_steps - 1]
        self._rates = [first, max_learning_rate, float(end_learning_rate)]
        if three_phase:
            self._ends.insert(2, 2 * up)
            self._rates.insert(2, first)
        super().__init__(first, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch = self.last_epoch
        self._require(epoch <= self.total_steps, f"step {epoch} is past total_steps, "
                      f"{self.total_steps}")
        ends, rates = self._ends, self._rates
        k = next((k for k in range(1, len(ends) - 1) if epoch <= ends[k]), len(ends) - 1)
        part = (epoch - ends[k - 1]) / (ends[k] - ends[k - 1])
        return self._between(rates[k - 1], rates[k], part)


class CyclicLR(LRScheduler):
    """Up from base to max in step_size_up steps, down in step_size_down, and again.

    mode: 'triangular'; 'triangular2' halves the height each cycle; 'exp_range' scales it by
    exp_gamma^epoch. scale_fn(x) replaces the mode, x the cycle (from 1) or, with
    scale_mode='iterations', the epoch. Smith, Cyclical learning rates, 2017.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.CyclicLR(0.5, 1.0, step_size_up=2)
    >>> [(rate(), rate.step())[0] for _ in range(5)]
    [0.5, 0.75, 1.0, 0.75, 0.5]
    """

    def __init__(self, base_learning_rate: float, max_learning_rate: float, step_size_up: int,
                 step_size_down: int | None = None, mode: str = "triangular",
                 exp_gamma: float = 1., scale_fn=None, scale_mode: str = "cycle",
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self._number("max_learning_rate", max_learning_rate)
        self._number("exp_gamma", exp_gamma, -math.inf)
        self._whole("step_size_up", step_size_up)
        down = step_size_up if step_size_down is None else step_size_down
        self._whole("step_size_down", down)
        modes = {"triangular": (lambda x: 1.0, "cycle"),
                 "triangular2": (lambda x: 0.5 ** (x - 1), "cycle"),
                 "exp_range": (lambda x: exp_gamma ** x, "iterations")}
        if scale_fn is None and mode not in modes:
            raise ValueError(f"CyclicLR: mode must be one of {', '.join(modes)} where no scale_fn "
                             f"is given, got {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError("CyclicLR: scale_mode must be 'cycle' or 'iterations', got "
                             f"{scale_mode!r}")
        self.scale_fn, self.scale_mode = modes[mode] if scale_fn is None else (scale_fn, scale_mode)
        self.mode, self.gamma = mode, exp_gamma
        self.cycle_size = float(step_size_up + down)
        self.step_up_pct = step_size_up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        cycle = 1 + self.last_epoch // self.cycle_size
        part = 1.0 + self.last_epoch / self.cycle_size - cycle
        height = part / self.step_up_pct if part <= self.step_up_pct else \
            (1 - part) / (1 - self.step_up_pct)
        x = cycle if self.scale_mode == "cycle" else self.last_epoch
        return self.base_lr + self.amplitude * height * self.scale_fn(x)


class ReduceOnPlateau(LRScheduler):
    """Multiplies the rate by factor when a metric has not improved for more than patience steps.

    mode: 'min' or 'max', what is better. An improvement is more than threshold, relative to the
    best ('rel') or absolute ('abs'). After a cut, cooldown steps are not judged. The rate stays at
    least min_lr; cuts of less than epsilon are not made.

    >>> import minipaddle as paddle
    >>> rate = paddle.optimizer.lr.ReduceOnPlateau(1.0, factor=0.5, patience=1)
    >>> [(rate.step(loss), rate())[1] for loss in (3.0, 2.0, 2.0, 2.0, 1.0)]
    [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, learning_rate: float, mode: str = "min", factor: float = 0.1,
                 patience: int = 10, threshold: float = 1e-4, threshold_mode: str = "rel",
                 cooldown: int = 0, min_lr: float = 0, epsilon: float = 1e-8,
                 verbose: bool = False) -> None:
        self.mode, self.threshold_mode = mode.lower(), threshold_mode.lower()
        self._require(self.mode in ("min", "max"), f"mode must be 'min' or 'max', got {mode!r}")
        self._require(self.threshold_mode in ("rel", "abs"),
                      f"threshold_mode must be 'rel' or 'abs', got {threshold_mode!r}")
        self._require(factor < 1.0, f"factor must be below 1, got {factor}")
        self.factor, self.patience, self.threshold = factor, patience, threshold
        self.cooldown, self.min_lr, self.epsilon = cooldown, min_lr, epsilon
        self.cooldown_counter, self.best, self.num_bad_epochs = 0, None, 0
        self._start(learning_rate, 0, verbose)

    def state_keys(self) -> None:
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics, epoch: int | None = None) -> None:
        """Judge a metric: a number, or a Tensor or array of one element."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        try:
            metric = float(metrics if not hasattr(metrics, "item") else metrics.item())
        except (TypeError, ValueError):
            raise TypeError("ReduceOnPlateau.step: metrics must be one number, got "
                            f"{type(metrics).__name__} of shape {getattr(metrics, 'shape', None)}; "
                            "take its mean first") from None
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metric, self.best):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            rate = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - rate > self.epsilon:
                self.last_lr = rate
                self._tell()

    def _is_better(self, current: float, best: float) -> bool:
        margin = self.threshold * (best if self.threshold_mode == "rel" else 1.0)
        return current < best - margin if self.mode == "min" else current > best + margin
