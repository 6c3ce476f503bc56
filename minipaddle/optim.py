"""Optimizers (`paddle.optimizer`). Imports lr, clip, regularizer and core.

A rule is one function on arrays, `update`, written in place. It runs on a flat buffer that holds
all parameters of one kind (dtype, device, settings) where every one of them has a gradient, and on
single parameters else: both are views of the same memory.
"""
from __future__ import annotations

import warnings

import numpy as np

from .core import Parameter, Tensor, asarray, no_grad, share, to_tensor, written, xp_of
from .lr import LRScheduler
from .regularizer import L2Decay, WeightDecayRegularizer

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "Momentum", "Optimizer",
           "RMSProp", "SGD"]


class Bucket:
    """Parameters updated together: their flat value, flat gradient and flat state."""

    def __init__(self, params, states) -> None:
        first = params[0]._data
        xp = xp_of(first)
        self.params = params
        sizes = [p._data.size for p in params]
        self.bounds = np.cumsum([0, *sizes]).tolist()
        total = self.bounds[-1]
        self.value, self.gradient = xp.empty(total, first.dtype), xp.empty(total, first.dtype)
        self.state = {name: xp.full(total, fill, first.dtype) for name, fill in states.items()}
        self.views = self._views(self.value)
        self.gradient_views = self._views(self.gradient)
        self.state_views = {name: self._views(flat) for name, flat in self.state.items()}
        for p, view in zip(params, self.views):
            view[...] = p._data
            p._data = view
            share(p)                                # writes must go into the buffer from now on

    def _views(self, flat):
        return [flat[a:b].reshape(p._data.shape) for p, a, b in
                zip(self.params, self.bounds, self.bounds[1:])]

    def intact(self) -> bool:
        """Whether every parameter still lives in the buffer."""
        return all(p._data is v for p, v in zip(self.params, self.views))


class Optimizer:
    """Base of the optimizers.

    learning_rate: a number or an LRScheduler. parameters: Parameters, or dicts with 'params' and
    settings of their own ('learning_rate' there multiplies). weight_decay: a number (L2), L1Decay
    or L2Decay, added to the gradient after clipping. grad_clip: a ClipGradBy... object.
    """

    states: dict = {}               # accumulator name -> initial value
    decoupled = False               # AdamW: weight decay is not a term of the gradient

    def __init__(self, learning_rate, parameters=None, weight_decay=None, grad_clip=None,
                 name: str | None = None) -> None:
        if parameters is None:
            raise ValueError(f"{type(self).__name__}: parameters is required: give "
                             "model.parameters()")
        if isinstance(parameters, Tensor):
            raise TypeError(f"{type(self).__name__}: parameters must be a list of Parameters, got a "
                            "Tensor")
        if not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError(f"{type(self).__name__}: learning_rate must be a number or an "
                            f"LRScheduler, got {type(learning_rate).__name__}")
        self._learning_rate, self._grad_clip, self._name = learning_rate, grad_clip, name
        self.regularization = self._decay(weight_decay)
        self._param_groups, self._parameter_list = [], []
        entries = list(parameters)
        if entries and isinstance(entries[0], dict):
            for entry in entries:
                self._add_param_group(dict(entry))
        else:
            self._add_param_group({"params": entries})
        self._buckets, self._where, self._steps, self._pending = [], {}, {}, {}

    @staticmethod
    def _decay(weight_decay):
        if weight_decay is None or isinstance(weight_decay, WeightDecayRegularizer):
            return weight_decay
        return L2Decay(float(weight_decay))

    def _add_param_group(self, group: dict) -> None:
        params = group["params"]
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"{type(self).__name__}: parameters must hold Parameters, got "
                                f"{type(p).__name__}")
        self._param_groups.append(group)
        self._parameter_list += params

    # -- settings of one parameter
    def _setting(self, group, name):
        return group.get(name, getattr(self, "_" + name))

    def _factor(self, p, group) -> float:
        own = getattr(p, "optimize_attr", {}).get("learning_rate", 1.0)
        return float(own) * float(group.get("learning_rate", 1.0))

    def _regularizer(self, p, group):
        if self.decoupled:
            return None
        own = getattr(p, "regularizer", None)
        if own is not None:
            return own
        return self._decay(group["weight_decay"]) if "weight_decay" in group else \
            self.regularization

    # -- learning rate
    def get_lr(self) -> float:
        """The current learning rate."""
        rate = self._learning_rate
        return float(rate()) if isinstance(rate, LRScheduler) else float(rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate; RuntimeError when a scheduler decides it."""
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("set_lr: a scheduler decides the learning rate; use "
                               "set_lr_scheduler, or give the optimizer a number")
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler decide the learning rate from now on."""
        self._learning_rate = scheduler

    # -- stepping
    @no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        rate = self.get_lr()
        for group in self._param_groups:
            pairs = [(p, p._grad._data if isinstance(p._grad, Tensor) else p.grad._data)
                     for p in group["params"] if not p.stop_gradient and p._grad is not None]
            if not pairs:
                continue
            clip = group.get("grad_clip", self._grad_clip)
            if clip is not None:
                pairs = clip.clip(pairs)
            self._update_group(group, pairs, rate)

    def _update_group(self, group, pairs, rate) -> None:
        gradients = {id(p): g for p, g in pairs}
        for bucket, settings in self._buckets_of(group, [p for p, _ in pairs]):
            params = bucket.params
            steps = {self._steps.get(id(p), 0) for p in params}
            if len(steps) == 1 and all(id(p) in gradients for p in params):
                for p, view in zip(params, bucket.gradient_views):
                    view[...] = gradients[id(p)]
                self._advance(params)
                self._apply(bucket.value, bucket.gradient, bucket.state, rate, params[0], settings,
                            bucket)
            else:
                for k, p in enumerate(params):
                    if id(p) in gradients:
                        bucket.gradient_views[k][...] = gradients[id(p)]
                        self._advance([p])
                        self._apply(bucket.views[k], bucket.gradient_views[k],
                                    {n: v[k] for n, v in bucket.state_views.items()}, rate, p,
                                    settings, None)
            for p in params:
                if id(p) in gradients:
                    written(p)

    def _advance(self, params) -> None:
        for p in params:
            self._steps[id(p)] = self._steps.get(id(p), 0) + 1

    def _apply(self, value, gradient, state, rate, p, settings, bucket) -> None:
        factor, regularizer, group = settings
        if regularizer is not None and regularizer.coeff:
            gradient += regularizer.term(value)
        self.update(value, gradient, state, rate * factor, self._steps[id(p)], group, p)

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        """Change `value` in place; `gradient` may be used as scratch space."""
        raise NotImplementedError

    def _key(self, p, group):
        """Parameters with one key are updated together."""
        regularizer = self._regularizer(p, group)
        return (p._data.dtype, xp_of(p._data), self._factor(p, group),
                None if regularizer is None else (type(regularizer), regularizer.coeff))

    def _buckets_of(self, group, params):
        """The group's buckets, made anew when parameters came, went or moved."""
        known = group.get("_buckets")
        if known is None or not all(b.intact() for b, _ in known) or \
                any(id(p) not in self._where for p in params):
            old = {id(p): {n: v[k].copy() for n, v in b.state_views.items()}
                   for b, _ in known or () for k, p in enumerate(b.params)}
            kinds: dict = {}
            have = [p for b, _ in known or () for p in b.params]
            for p in have + [p for p in params if not any(p is q for q in have)]:
                kinds.setdefault(self._key(p, group), []).append(p)
            group["_buckets"] = known = []
            for members in kinds.values():
                bucket = Bucket(members, self.states_of(group))
                settings = (self._factor(members[0], group),
                            self._regularizer(members[0], group), group)
                known.append((bucket, settings))
                for k, p in enumerate(members):
                    self._where[id(p)] = bucket, k
                    for name, value in old.get(id(p), {}).items():
                        bucket.state_views[name][k][...] = asarray(value, p.place)
                    self._restore(p, bucket, k)
        return known

    def states_of(self, group) -> dict:
        return self.states

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients (they read as zeros), or drop them with set_to_zero=False."""
        for p in self._parameter_list:
            p.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None) -> tuple:
        """Step with the gradients that are there: call loss.backward() first, as in Paddle."""
        if not isinstance(loss, Tensor):
            raise TypeError("minimize: loss must be a Tensor")
        pairs = [(p, p.grad) for p in parameters or self._parameter_list if p._grad is not None]
        self.step()
        return None, pairs

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None,
                 callbacks=None) -> list:
        """Run loss.backward() and give the (parameter, gradient) pairs."""
        loss.backward()
        return [(p, p.grad) for p in parameters or self._parameter_list if p._grad is not None]

    # -- state
    def state_dict(self) -> dict:
        """Accumulators by parameter name, as Paddle names them, and the scheduler's state."""
        state = {}
        for p in self._parameter_list:
            if id(p) in self._where:
                bucket, k = self._where[id(p)]
                for name, views in bucket.state_views.items():
                    state[f"{p.name}_{name}_0"] = Tensor(views[k].copy())
                for name, value in self.powers(self._steps.get(id(p), 0)).items():
                    state[f"{p.name}_{name}_0"] = to_tensor([value], p.dtype)
            for key, value in self._pending.items():
                if key.startswith(p.name + "_"):
                    state.setdefault(key, value)
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def powers(self, step: int) -> dict:
        """Accumulators that follow from the number of steps."""
        return {}

    def set_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave; entries of unknown parameters are left alone."""
        state = dict(state_dict)
        scheduler = state.pop("LR_Scheduler", None)
        if scheduler is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(scheduler)
        self._pending = state
        known = [p for p in self._parameter_list if id(p) in self._where]
        for p in known:
            self._restore(p, *self._where[id(p)])

    set_dict = set_state_dict

    def _restore(self, p, bucket, k) -> None:
        for name in bucket.state_views:
            value = self._pending.pop(f"{p.name}_{name}_0", None)
            if value is None:
                continue
            array = asarray(value._data if isinstance(value, Tensor) else np.asarray(value),
                            p.place)
            if tuple(array.shape) != tuple(p._data.shape):
                raise ValueError(f"set_state_dict: {p.name}_{name}_0 has shape "
                                 f"{list(array.shape)}, the parameter has {p.shape}")
            bucket.state_views[name][k][...] = array
        for name, beta in self.bases().items():
            value = self._pending.pop(f"{p.name}_{name}_0", None)
            if value is not None:
                power = float(np.asarray(value.numpy() if isinstance(value, Tensor) else value)
                              .reshape(-1)[0])
                self._steps[id(p)] = round(np.log(power) / np.log(beta)) - 1 if power > 0 else 10**6

    def bases(self) -> dict:
        """The base of each accumulator in `powers`."""
        return {}


# ---- the rules
class SGD(Optimizer):
    """value -= rate * gradient."""

    def __init__(self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None,
                 multi_precision: bool = False, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        gradient *= gradient.dtype.type(rate)
        value -= gradient


class Momentum(Optimizer):
    """velocity = momentum * velocity + gradient; value -= rate * velocity (Nesterov: looks ahead).

    """

    states = {"velocity": 0.0}

    def __init__(self, learning_rate=0.001, momentum: float = 0.9, parameters=None,
                 use_nesterov: bool = False, weight_decay=None, grad_clip=None,
                 multi_precision: bool = False, rescale_grad: float = 1.0,
                 use_multi_tensor: bool = False, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum, self._nesterov, self._rescale = momentum, use_nesterov, rescale_grad

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, velocity = gradient.dtype.type, state["velocity"]
        if self._rescale != 1.0:
            gradient *= kind(self._rescale)
        velocity *= kind(self._momentum)
        velocity += gradient
        if self._nesterov:
            gradient += velocity * kind(self._momentum)
            gradient *= kind(rate)
            value -= gradient
        else:
            value -= velocity * kind(rate)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), epsilon outside the bias correction:

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
    value -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon * sqrt(1 - b2^t))
    """

    states = {"moment1": 0.0, "moment2": 0.0}

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=None, grad_clip=None, lazy_mode: bool = False,
                 multi_precision: bool = False, use_multi_tensor: bool = False,
                 name: str | None = None) -> None:
        for label, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= float(beta) < 1:
                raise ValueError(f"{type(self).__name__}: {label} must be in [0, 1), got {beta}")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1, self._beta2, self._epsilon = float(beta1), float(beta2), float(epsilon)

    def bases(self) -> dict:
        return {"beta1_pow_acc": self._beta1, "beta2_pow_acc": self._beta2}

    def powers(self, step: int) -> dict:
        return {name: base ** (step + 1) for name, base in self.bases().items()}

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, xp = gradient.dtype.type, xp_of(gradient)
        b1, b2 = group.get("beta1", self._beta1), group.get("beta2", self._beta2)
        m, v = state["moment1"], state["moment2"]
        t = gradient * kind(1 - b1)
        m *= kind(b1)
        m += t
        gradient *= gradient
        gradient *= kind(1 - b2)
        v *= kind(b2)
        v += gradient
        root = (1 - b2 ** step) ** 0.5
        xp.sqrt(v, out=t)
        t += kind(self._epsilon * root)
        xp.divide(m, t, out=t)
        t *= kind(rate * root / (1 - b1 ** step))
        value -= t


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: value *= 1 - rate * weight_decay first.

    apply_decay_param_fun(name) says which parameters decay; lr_ratio(parameter) scales the rate.
    """

    decoupled = True

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=0.01, lr_ratio=None, apply_decay_param_fun=None, grad_clip=None,
                 lazy_mode: bool = False, multi_precision: bool = False,
                 name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip,
                         lazy_mode, multi_precision, False, name)
        self._coeff = getattr(weight_decay, "coeff", weight_decay)
        self._lr_ratio, self._decays = lr_ratio, apply_decay_param_fun

    def _factor(self, p, group) -> float:
        factor = super()._factor(p, group)
        return factor if self._lr_ratio is None else factor * float(self._lr_ratio(p))

    def _key(self, p, group):
        return (*super()._key(p, group), self._decays is None or bool(self._decays(p.name)))

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        coeff = group.get("weight_decay", self._coeff)
        coeff = float(getattr(coeff, "coeff", coeff) or 0.0)
        if coeff and (self._decays is None or self._decays(p.name)):
            value *= value.dtype.type(1 - rate * coeff)
        super().update(value, gradient, state, rate, step, group, p)


class Adagrad(Optimizer):
    """moment += gradient^2; value -= rate * gradient / (sqrt(moment) + epsilon)."""

    def __init__(self, learning_rate, epsilon=1e-06, parameters=None, weight_decay=None,
                 grad_clip=None, name: str | None = None,
                 initial_accumulator_value: float = 0.0) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self.states = float(epsilon), {"moment": float(initial_accumulator_value)}

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, moment = gradient.dtype.type, state["moment"]
        moment += gradient * gradient
        gradient /= xp_of(gradient).sqrt(moment) + kind(self._epsilon)
        gradient *= kind(rate)
        value -= gradient


class RMSProp(Optimizer):
    """ms = rho ms + (1 - rho) g^2; mom = momentum mom + rate g / sqrt(ms + epsilon); value -= mom.

    centered: ms minus the square of the mean gradient, under the root.
    """

    states = {"momentum": 0.0, "mean_square": 0.0, "mean_grad": 0.0}

    def __init__(self, learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0,
                 centered: bool = False, parameters=None, weight_decay=None, grad_clip=None,
                 name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho, self._epsilon, self._momentum = float(rho), float(epsilon), float(momentum)
        self._centered = centered

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, xp = gradient.dtype.type, xp_of(gradient)
        square, mean, move = state["mean_square"], state["mean_grad"], state["momentum"]
        square *= kind(self._rho)
        square += gradient * gradient * kind(1 - self._rho)
        spread = square
        if self._centered:
            mean *= kind(self._rho)
            mean += gradient * kind(1 - self._rho)
            spread = square - mean * mean
        gradient /= xp.sqrt(spread + kind(self._epsilon))
        gradient *= kind(rate)
        move *= kind(self._momentum)
        move += gradient
        value -= move


class Adamax(Adam):
    """Adam with the infinity norm: n = max(b2 n, |g|); value -= rate / (1 - b1^t) m / (n + eps)."""

    states = {"moment": 0.0, "inf_norm": 0.0}

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip,
                         name=name)

    def bases(self) -> dict:
        return {"beta1_pow_acc": self._beta1}

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, xp = gradient.dtype.type, xp_of(gradient)
        m, n = state["moment"], state["inf_norm"]
        m *= kind(self._beta1)
        m += gradient * kind(1 - self._beta1)
        n *= kind(self._beta2)
        n += kind(self._epsilon)
        xp.maximum(xp.abs(gradient), n, out=n)
        value -= m / n * kind(rate / (1 - self._beta1 ** step))


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): steps scaled by the running size of earlier steps."""

    states = {"_avg_squared_grad": 0.0, "_avg_squared_update": 0.0}

    def __init__(self, learning_rate=0.001, epsilon=1e-06, rho=0.95, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self._rho = float(epsilon), float(rho)

    def update(self, value, gradient, state, rate, step, group, p) -> None:
        kind, xp = gradient.dtype.type, xp_of(gradient)
        squares, moves = state["_avg_squared_grad"], state["_avg_squared_update"]
        squares *= kind(self._rho)
        squares += gradient * gradient * kind(1 - self._rho)
        gradient *= xp.sqrt((moves + kind(self._epsilon)) / (squares + kind(self._epsilon)))
        moves *= kind(self._rho)
        moves += gradient * gradient * kind(1 - self._rho)
        value -= gradient * kind(rate)
