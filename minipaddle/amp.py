"""Automatic mixed precision (`paddle.amp`): auto_cast and GradScaler. Imports core.

The class of an op stands with the op (`amp=` in its definition), not in a list here. On the CPU
half precision is computed in float32 and rounded: it serves to check numerics, it is not faster.
"""
from __future__ import annotations

import warnings

import numpy as np

from .core import (Tensor, convert_dtype, no_grad, registry, set_amp_state, xp_of)

__all__ = ["GradScaler", "amp_guard", "auto_cast", "is_bfloat16_supported", "is_float16_supported"]


class AmpState:
    """What the dispatch asks for each op while auto_cast is on."""

    def __init__(self, dtype, level, white, black) -> None:
        self.dtype, self.level, self.white, self.black = dtype, level, white, black

    def decide(self, op):
        names = {op.name, *op.legacy}
        kind = "allow" if names & self.white else "block" if names & self.black else op.amp
        if kind == "keep":
            return None
        if kind == "allow":
            return "low"
        if kind == "block" or self.level == "OD":
            return "float32"
        return "promote"


def _names(names, argument: str) -> set:
    known = {n for op in registry.values() for n in (op.name, *op.legacy)}
    names = set(names or ())
    for n in sorted(names - known):
        warnings.warn(f"auto_cast: {argument} names {n!r}, which is no operation; it has no effect",
                      stacklevel=3)
    return names


class auto_cast:
    """Within it, matmul and convolutions run in float16, sensitive ops in float32.

    level: 'O0' (off), 'O1', or 'OD' (only the white list in half precision). dtype: 'float16'.
    custom_white_list, custom_black_list: op names, today's or Paddle's old ones; ValueError when
    a name is in both, a warning for an unknown one.

    >>> import minipaddle as paddle
    >>> with paddle.amp.auto_cast():
    ...     paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype
    paddle.float16
    """

    def __init__(self, enable: bool = True, custom_white_list=None, custom_black_list=None,
                 level: str = "O1", dtype: str = "float16", use_promote: bool = True) -> None:
        if level not in ("O0", "O1", "OD", "O2"):
            raise ValueError(f"auto_cast: level must be 'O0', 'OD', 'O1' or 'O2', got {level!r}")
        kind = convert_dtype(dtype)
        if kind.name != "float16":
            raise ValueError(f"auto_cast: dtype must be 'float16', got {dtype!r}")
        white = _names(custom_white_list, "custom_white_list")
        black = _names(custom_black_list, "custom_black_list")
        if white & black:
            raise ValueError("auto_cast: custom_white_list overlaps custom_black_list: "
                             f"{sorted(white & black)}")
        self._state = AmpState(kind, level, white, black) if enable and level != "O0" else None
        self._old = []

    def __enter__(self):
        self._old.append(set_amp_state(self._state))
        return self

    def __exit__(self, *error) -> None:
        set_amp_state(self._old.pop())

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return wrapped


amp_guard = auto_cast


def is_float16_supported(device: str | None = None) -> bool:
    """Whether float16 computes: everywhere, by rounding on the CPU."""
    return True


def is_bfloat16_supported(device: str | None = None) -> bool:
    """Whether bfloat16 computes: not yet."""
    return False


class GradScaler:
    """Scales the loss so that small float16 gradients do not vanish, and skips steps that overflow.

    incr_ratio, decr_ratio: by how much the scale changes after incr_every_n_steps good steps in a
    row, or decr_every_n_nan_or_inf bad ones. Works on every device.
    """

    def __init__(self, enable: bool = True, init_loss_scaling: float = 65536.0,
                 incr_ratio: float = 2.0, decr_ratio: float = 0.5, incr_every_n_steps: int = 2000,
                 decr_every_n_nan_or_inf: int = 1, use_dynamic_loss_scaling: bool = True) -> None:
        if incr_ratio <= 1.0:
            raise AssertionError(f"GradScaler: incr_ratio must be above 1, got {incr_ratio}")
        if decr_ratio >= 1.0:
            raise AssertionError(f"GradScaler: decr_ratio must be below 1, got {decr_ratio}")
        self._enable, self._scale = enable, float(init_loss_scaling)
        self._init_loss_scaling = float(init_loss_scaling)
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._incr_every, self._decr_every = incr_every_n_steps, decr_every_n_nan_or_inf
        self._dynamic = use_dynamic_loss_scaling
        self._incr_count = self._decr_count = 0
        self._found_inf, self._states = False, {}

    def scale(self, var: Tensor) -> Tensor:
        """var times the scale."""
        return var * self._scale if self._enable else var

    @no_grad()
    def unscale_(self, optimizer) -> None:
        """Divide the optimizer's gradients by the scale; once between two updates."""
        if not self._enable:
            return
        state = self._states.get(id(optimizer))
        if state is not None:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last "
                               "update()." if state == "unscaled" else
                               "unscale_() is being called after step().")
        grads = [p._grad for p in optimizer._parameter_list if isinstance(p._grad, Tensor)]
        found = None
        for g in grads:
            a = g._data
            a *= a.dtype.type(1.0 / self._scale)
            bad = ~xp_of(a).isfinite(a).all()
            found = bad if found is None else found | bad
        # the one transfer of a step: whether to skip it must be known here
        self._found_inf = False if found is None else bool(found)
        self._states[id(optimizer)] = "unscaled"

    def step(self, optimizer) -> None:
        """optimizer.step(), unless a gradient is inf or nan; unscales first where needed."""
        if not self._enable:
            optimizer.step()
            return
        if self._states.get(id(optimizer)) == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._states:
            self.unscale_(optimizer)
        if not self._found_inf:
            optimizer.step()
        self._states[id(optimizer)] = "stepped"

    def update(self) -> None:
        """Adapt the scale to what the steps since the last update met."""
        if not self._enable:
            return
        if self._dynamic:
            if self._found_inf:
                self._incr_count, self._decr_count = 0, self._decr_count + 1
                if self._decr_count >= self._decr_every:
                    self._scale, self._decr_count = self._scale * self._decr_ratio, 0
            else:
                self._incr_count, self._decr_count = self._incr_count + 1, 0
                if self._incr_count >= self._incr_every:
                    self._scale, self._incr_count = self._scale * self._incr_ratio, 0
        self._states.clear()

    def minimize(self, optimizer, *args, **kwargs):
        """step and update in one; the scaled loss's backward has run already."""
        self.step(optimizer)
        self.update()
        return None, [(p, p.grad) for p in optimizer._parameter_list if p._grad is not None]

    # -- settings
    def is_enable(self) -> bool:
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        return self._dynamic

    def get_init_loss_scaling(self) -> float:
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        self._init_loss_scaling = self._scale = float(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        if new_incr_ratio <= 1.0:
            raise AssertionError("GradScaler: incr_ratio must be above 1")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        if new_decr_ratio >= 1.0:
            raise AssertionError("GradScaler: decr_ratio must be below 1")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        return self._incr_every

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        self._incr_every = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self) -> int:
        return self._decr_every

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        self._decr_every = new_decr_every_n_nan_or_inf

    def state_dict(self) -> dict:
        """What is needed to go on; empty when disabled."""
        if not self._enable:
            return {}
        return {"scale": np.array([self._scale], "float32"), "incr_ratio": self._incr_ratio,
                "decr_ratio": self._decr_ratio, "incr_every_n_steps": self._incr_every,
                "decr_every_n_nan_or_inf": self._decr_every, "incr_count": self._incr_count,
                "decr_count": self._decr_count, "use_dynamic_loss_scaling": self._dynamic}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave; RuntimeError for an empty one."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError("The input state dict is empty, possibly because it was saved from a "
                               "disabled instance of GradScaler.")
        self._scale = float(np.asarray(state_dict["scale"]).reshape(-1)[0])
        self._incr_ratio, self._decr_ratio = state_dict["incr_ratio"], state_dict["decr_ratio"]
        self._incr_every = state_dict["incr_every_n_steps"]
        self._decr_every = state_dict["decr_every_n_nan_or_inf"]
        self._incr_count, self._decr_count = state_dict["incr_count"], state_dict["decr_count"]
        self._dynamic = state_dict["use_dynamic_loss_scaling"]

    set_state_dict = load_state_dict
