"""Automatic mixed precision (`paddle.amp`): auto_cast, decorate, GradScaler. Imports nn and core.

The class of an op stands with the op (`amp=` in its definition), not in a list here. Unlike the
original, all of this works on the CPU too: half precision is computed in float32 there and rounded
once, as a GPU's matrix units do. That serves to check numerics and code paths; it is slower than
float32, and faster only on a GPU.
"""
from __future__ import annotations

import functools
import warnings

import numpy as np

from .core import (F16, F32, Tensor, amp_state, asnumpy, convert_dtype, no_grad, ops,
                   registry, set_amp_state, xp_of)

__all__ = ["GradScaler", "amp_guard", "auto_cast", "decorate", "get_autocast_cpu_dtype",
           "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_enabled",
           "is_bfloat16_supported", "is_float16_supported"]

# At O2 sensitive ops run in half precision once their inputs are, save those whose result
# would be spoilt: they index, or add up many small parts.
_FLOAT32_AT_O2 = {"embedding", "lookup_table", "lookup_table_v2", "scatter", "nearest_interp_v2",
                  "bilinear_interp_v2", "bicubic_interp_v2", "trilinear_interp_v2",
                  "linear_interp_v2"}


class AmpState:
    """What the dispatch asks about each op while auto_cast is on."""

    def __init__(self, dtype, level, white, black, use_promote) -> None:
        self.dtype, self.level, self.use_promote = dtype, level, use_promote
        self.white, self.black, self._plans = white, black, {}

    def decide(self, op):
        """'low', 'float32', 'promote' (half if every float input is) or None (left alone)."""
        try:
            return self._plans[op]
        except KeyError:
            plan = self._plans[op] = self._plan(op)
            return plan

    def _plan(self, op):
        names = {op.name, *op.legacy}
        listed = "allow" if names & self.white else "block" if names & self.black else None
        kind = listed or op.amp
        if kind == "keep":
            return None
        if kind == "allow":
            return "low"
        if listed == "block" or self.level == "OD":
            return "float32"
        if kind == "block" and (self.level == "O1" or names & _FLOAT32_AT_O2):
            return "float32"
        return "promote" if self.level == "O1" or self.use_promote else "low"


def _names(names, argument: str) -> frozenset:
    """A custom list as a set; a name of no op draws a warning, since it would do nothing."""
    if isinstance(names, str):
        raise TypeError(f"auto_cast: {argument} must be a list or set of op names, got the text "
                        f"{names!r}")
    names = frozenset(names or ())
    if names:
        known = {n for op in registry.values() for n in (op.name, *op.legacy)}
        for n in sorted(names - known):
            warnings.warn(f"auto_cast: {argument} names {n!r}, which is no operation; it has no "
                          "effect", stacklevel=3)
    return names


def _low_dtype(dtype, api: str):
    try:
        kind = convert_dtype(dtype)
    except TypeError as error:
        raise TypeError(f"{api}: {error}") from None
    if kind.name != "float16":
        raise ValueError(f"{api}: dtype must be 'float16', got {dtype!r}")
    return kind


class auto_cast:
    """Within it, matmul and convolutions run in float16, sensitive ops in float32.

    level: 'O1'; 'O0' (off); 'OD' (all but the white list in float32); 'O2' (sensitive ops too in
    half precision when their inputs are; use_promote=False: whatever their inputs are; see
    `decorate`). dtype: 'float16'. custom_white_list, custom_black_list: op names, today's or
    Paddle's old ones. Casts are recorded, so gradients come back in their tensors' dtypes; backward
    may run outside. Serves as a decorator too. ValueError when a name is in both lists, a warning
    for an unknown one.

    >>> import minipaddle as paddle
    >>> with paddle.amp.auto_cast():
    ...     paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype
    paddle.float16
    """

    def __init__(self, enable: bool = True, custom_white_list=None, custom_black_list=None,
                 level: str = "O1", dtype: str = "float16", use_promote: bool = True) -> None:
        if level not in ("O0", "OD", "O1", "O2"):
            raise ValueError(f"auto_cast: level must be 'O0', 'OD', 'O1' or 'O2', got {level!r}")
        kind = _low_dtype(dtype, "auto_cast")
        white = _names(custom_white_list, "custom_white_list")
        black = _names(custom_black_list, "custom_black_list")
        if white & black:
            raise ValueError("auto_cast: Custom white list overlap custom black list: "
                             f"{', '.join(sorted(white & black))}")
        on = enable and level != "O0"
        self._state = AmpState(kind, level, white, black, use_promote) if on else None
        self._old: list = []

    def __enter__(self) -> "auto_cast":
        self._old.append(set_amp_state(self._state))
        return self

    def __exit__(self, *error) -> None:
        set_amp_state(self._old.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return wrapped


amp_guard = auto_cast


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether auto_cast is on in this thread.

    >>> import minipaddle as paddle
    >>> with paddle.amp.auto_cast():
    ...     paddle.amp.is_autocast_enabled()
    True
    """
    return amp_state() is not None


def get_autocast_dtype(device_type: str | None = None) -> str:
    """The name of the low dtype of the auto_cast that is on, or of the one it would use.

    >>> import minipaddle as paddle
    >>> paddle.amp.get_autocast_dtype()
    'float16'
    """
    state = amp_state()
    return "float16" if state is None else state.dtype.name


get_autocast_cpu_dtype = get_autocast_gpu_dtype = get_autocast_dtype


def is_float16_supported(device: str | None = None) -> bool:
    """Whether float16 computes: on every device, by rounding on the CPU.

    >>> import minipaddle as paddle
    >>> paddle.amp.is_float16_supported()
    True
    """
    return True


def is_bfloat16_supported(device: str | None = None) -> bool:
    """Whether bfloat16 computes: it is not a dtype here yet.

    >>> import minipaddle as paddle
    >>> paddle.amp.is_bfloat16_supported()
    False
    """
    return False


# ---- O2
def decorate(models, optimizers=None, level: str = "O1", dtype: str = "float16",
             master_weight: bool | None = None, save_dtype: str | None = None,
             master_grad: bool = False, excluded_layers=None):
    """Prepare models and optimizers for training at level O2: parameters in half precision.

    Batch, layer and instance norms stay float32, and so do excluded_layers (a layer, a layer
    class, or a list of them). The optimizers keep float32 copies of the parameters unless
    master_weight=False. save_dtype: what state_dict gives instead of float16. master_grad is
    accepted: the optimizers count in float32 anyway. At O1 all is returned as it is.
    Returns the models, or (models, optimizers), each single or a list as it was given.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 2)
    >>> optimizer = paddle.optimizer.SGD(parameters=net.parameters())
    >>> net, optimizer = paddle.amp.decorate(net, optimizer, level='O2')
    >>> net.weight.dtype
    paddle.float16
    """
    from .nn import Layer
    from .optim import Optimizer
    if level not in ("O1", "O2"):
        raise ValueError(f"decorate: level must be 'O1' or 'O2', got {level!r}")
    low = _low_dtype(dtype, "decorate")
    if save_dtype not in (None, "float16", "float32", "float64"):
        raise ValueError("decorate: save_dtype must be 'float16', 'float32' or 'float64', got "
                         f"{save_dtype!r}")
    given = (models,) if optimizers is None else (models, optimizers)
    layers = _listed(models, Layer, "models")
    opts = _listed(optimizers, Optimizer, "optimizers") if optimizers is not None else []
    if level == "O2":
        excluded = _excluded(excluded_layers)
        for model in layers:
            for layer in model.sublayers(include_self=True):
                if not excluded(layer):
                    _lower(layer, low)
            if save_dtype is not None:
                model.register_state_dict_hook(_saving_as(save_dtype))
        for optimizer in opts:
            optimizer._multi_precision = master_weight is not False
    return given[0] if optimizers is None else given


def _listed(value, kind, label: str) -> list:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    for v in values:
        if not isinstance(v, kind):
            raise TypeError(f"decorate: {label} must be a single {kind.__name__} or a list of "
                            f"them, got {type(v).__name__}")
    return values


def _excluded(excluded_layers):
    """Which layers keep their parameters in float32."""
    from . import nn
    kinds = [nn.BatchNorm, nn.BatchNorm1D.__base__, nn.LayerNorm, nn.InstanceNorm1D.__base__]
    kept = []
    for entry in excluded_layers if isinstance(excluded_layers, (list, tuple)) else \
            [excluded_layers] if excluded_layers is not None else []:
        if isinstance(entry, type):
            kinds.append(entry)
        elif isinstance(entry, nn.Layer):
            kept += entry.sublayers(include_self=True)
        else:
            raise TypeError("decorate: excluded_layers must hold layers or layer classes, got "
                            f"{type(entry).__name__}")
    return lambda layer: isinstance(layer, tuple(kinds)) or any(layer is k for k in kept)


def _lower(layer, low) -> None:
    for p in layer._parameters.values():
        if p is not None and p._data.dtype == F32:
            p._data = p._data.astype(low.np)
            p._grad = None


def _saving_as(dtype: str):
    def hook(state: dict) -> None:
        for key, value in state.items():
            if isinstance(value, Tensor) and value._data.dtype == F16:
                name, state[key] = value.name, value.detach().astype(dtype)
                state[key].name = name
    return hook


# ---- the scaler
class GradScaler:
    """Scales the loss so that small float16 gradients do not vanish, and skips steps that overflow.

    After incr_every_n_steps good steps in a row the scale grows by incr_ratio; after
    decr_every_n_nan_or_inf steps in a row with an inf or nan gradient it shrinks by decr_ratio.
    Such a step changes nothing: no parameter, no accumulator. use_dynamic_loss_scaling=False keeps
    the scale. enable=False passes everything through. Works on every device, the CPU among them.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    >>> scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
    >>> with paddle.amp.auto_cast():
    ...     loss = net(paddle.ones([4, 2])).mean()
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer); scaler.update(); optimizer.clear_grad()
    >>> round(net.bias.item(), 3)
    -0.1
    """

    def __init__(self, enable: bool = True, init_loss_scaling: float = 65536.0,
                 incr_ratio: float = 2.0, decr_ratio: float = 0.5, incr_every_n_steps: int = 2000,
                 decr_every_n_nan_or_inf: int = 1, use_dynamic_loss_scaling: bool = True) -> None:
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self._enable = bool(enable)
        self._init_loss_scaling = float(init_loss_scaling) if enable else 1.0
        self._scale = _float32(self._init_loss_scaling)
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._use_dynamic_loss_scaling = bool(use_dynamic_loss_scaling and enable)
        self._incr_count = self._decr_count = 0
        self._states: dict = {}     # id of an optimizer -> 'unscaled' or 'stepped'
        self._found: dict = {}      # id of an optimizer -> whether a gradient is inf or nan

    @property
    def _found_inf(self) -> bool:
        return any(self._found.values())

    def scale(self, var: Tensor) -> Tensor:
        """var times the scale, of shape [1] when var is 0-d, as in Paddle."""
        if not isinstance(var, Tensor):
            raise TypeError(f"GradScaler.scale: var must be a Tensor, got {type(var).__name__}")
        if not self._enable:
            return var
        old = set_amp_state(None)                   # a float16 loss must not meet a scale of inf
        try:
            var = ops.cast(var, F32) if var._data.dtype == F16 else var
            return (ops.reshape(var, [1]) if not var._data.shape else var) * self._scale
        finally:
            set_amp_state(old)

    @no_grad()
    def unscale_(self, optimizer) -> None:
        """Divide the optimizer's gradients by the scale; once between two updates.

        For clipping or looking at them before `step`. RuntimeError when called twice.
        """
        if not self._enable:
            return
        state = self._states.get(id(optimizer))
        if state is not None:
            raise RuntimeError("unscale_() has already been called on this optimizer since the "
                               "last update()." if state == "unscaled" else
                               "unscale_() is being called after step().")
        arrays = {id(p._grad._data): p._grad._data for p in optimizer._parameter_list
                  if isinstance(p._grad, Tensor) and not p.stop_gradient}
        checks = []
        with np.errstate(all="ignore"):
            for a in arrays.values():
                a *= a.dtype.type(1.0 / self._scale)
                checks.append(xp_of(a).isfinite(a).all())
        self._found[id(optimizer)] = not _all(checks)
        self._states[id(optimizer)] = "unscaled"

    def step(self, optimizer) -> None:
        """optimizer.step(), unless a gradient is inf or nan; unscales first where needed."""
        self._run(optimizer, optimizer.step)

    def minimize(self, optimizer, *args, **kwargs) -> tuple:
        """`step` and `update` in one: minimize(optimizer, scaled_loss), after its backward.

        Returns what optimizer.minimize gives, (None, None) for a skipped step.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        result = self._run(optimizer, lambda: optimizer.minimize(*args, **kwargs))
        self.update()
        return (None, None) if result is None else result

    def _run(self, optimizer, step):
        if not self._enable:
            return step()
        if self._states.get(id(optimizer)) == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._states:
            self.unscale_(optimizer)
        result = None if self._found[id(optimizer)] else step()
        self._states[id(optimizer)] = "stepped"
        return result

    def update(self) -> None:
        """Adapt the scale to what the steps since the last update met."""
        if not self._enable:
            return
        if self._use_dynamic_loss_scaling:
            if self._found_inf:
                self._incr_count, self._decr_count = 0, self._decr_count + 1
                if self._decr_count == self._decr_every_n_nan_or_inf:
                    print(f"Found inf or nan, current scale is: {self._scale}, decrease to: "
                          f"{self._scale}*{self._decr_ratio}")
                    self._scale = _float32(self._scale * self._decr_ratio)
                    self._decr_count = 0
            else:
                self._incr_count, self._decr_count = self._incr_count + 1, 0
                if self._incr_count == self._incr_every_n_steps:
                    self._scale = _float32(self._scale * self._incr_ratio)
                    self._incr_count = 0
        self._states.clear()
        self._found.clear()

    # -- settings
    def is_enable(self) -> bool:
        """Whether it scales at all."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the scale adapts."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        """The scale at the start."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Set the scale."""
        self._init_loss_scaling = float(new_init_loss_scaling)
        self._scale = _float32(self._init_loss_scaling)

    def get_incr_ratio(self) -> float:
        """By what the scale grows."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set by what the scale grows; above 1."""
        if not new_incr_ratio > 1.0:
            raise AssertionError(f"The incr_ratio must be > 1.0. (got {new_incr_ratio})")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        """By what the scale shrinks."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set by what the scale shrinks; below 1."""
        if not new_decr_ratio < 1.0:
            raise AssertionError(f"The decr_ratio must be < 1.0. (got {new_decr_ratio})")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set after how many good steps in a row the scale grows."""
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self) -> int:
        """After how many bad steps in a row the scale shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set after how many bad steps in a row the scale shrinks."""
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    def state_dict(self) -> dict:
        """What is needed to go on; empty when disabled."""
        if not self._enable:
            return {}
        return {"scale": np.array([self._scale], "float32"),
                **{key: getattr(self, "_" + key) for key in _STATE}}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave; RuntimeError for an empty one."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError("The input state dict is empty, possibly because it was saved from "
                               "a disabled instance of GradScaler.")
        missing = [key for key in ("scale", *_STATE) if key not in state_dict]
        if missing:
            raise ValueError(f"GradScaler.load_state_dict: the state lacks {', '.join(missing)}")
        scale = float(np.asarray(state_dict["scale"]).reshape(-1)[0])
        self._init_loss_scaling = self._scale = scale
        for key in _STATE:
            setattr(self, "_" + key, state_dict[key])

    set_state_dict = load_state_dict


_STATE = ("incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf",
          "incr_count", "decr_count", "use_dynamic_loss_scaling")


def _float32(value: float) -> float:
    """The scale is a float32 number; past its range it is inf, as the original's is."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _all(checks) -> bool:
    """Whether all 0-d flags hold: the one transfer of a step, since skipping is decided here."""
    if not checks:
        return True
    xp = xp_of(checks[0])
    return all(checks) if xp is np else bool(asnumpy(xp.stack(checks).all()))
