"""Optimizers (`paddle.optimizer`). Imports lr, regularizer and core.

An optimizer keeps the parameters of one kind (dtype, place, settings) in one flat buffer, beside
flat gradients and accumulators; the parameters' own arrays become views of it. A rule, `update`,
is written once, in place and elementwise on a stretch of these buffers, so a step is a few calls
however many parameters there are. Where a parameter has no gradient the stretch ends.
"""
from __future__ import annotations

from collections import namedtuple

import numpy as np

from .core import (F16, F32, Tensor, asarray, asnumpy, enable_grad, no_grad, place_of, share,
                   tracer, written, xp_of)
from .lr import LRScheduler
from .regularizer import L2Decay, WeightDecayRegularizer

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Lamb", "Momentum",
           "NAdam", "Optimizer", "RAdam", "RMSProp", "Rprop", "SGD"]

# Elements updated at a time on the CPU: a rule passes over its arrays about ten times, which
# goes from the cache when they are short.
BLOCK = 1 << 17

Kind = namedtuple("Kind", "dtype place factor regularizer clips extra")
Slot = namedtuple("Slot", "bucket index view settings")


class Stretch:
    """What a rule works on: flat arrays `value`, `gradient` (free to be changed) and `temp`.

    The accumulators stand under their names. rate: the learning rate with all factors.
    scalars: the accumulators that are one number a parameter, such as beta1^step, by name.
    option(name): a group's setting, or the optimizer's.
    """

    def __init__(self, **known) -> None:
        self.__dict__.update(known)


class Bucket:
    """Parameters updated together: flat value, gradient and accumulators, and views of them."""

    def __init__(self, kind, params, fills) -> None:
        self.kind, self.params = kind, params
        first = params[0]._data
        self.xp = xp = xp_of(first)
        self.bounds = np.cumsum([0, *(p._data.size for p in params)]).tolist()
        total = self.bounds[-1]
        # float16 parameters are updated in float32: `master` holds those values
        inner = F32 if first.dtype == F16 else first.dtype
        self.value = xp.empty(total, first.dtype)
        self.gradient = xp.empty(total, inner)
        self.master = xp.empty(total, F32) if first.dtype == F16 else self.value
        self.state = {name: xp.full(total, fill, inner) for name, fill in fills.items()}
        self.views = self.parts(self.value)
        self.gradients = self.parts(self.gradient)
        self.scalars: list = [None] * len(params)   # filled at a parameter's first update
        self.given: list = [None] * len(params)     # the gradients of this step
        for p, view in zip(params, self.views):
            view[...] = p._data
            p._data = view
            share(p)                                # writes must go into the buffer from now on
        self.master[...] = self.value

    def parts(self, flat) -> list:
        return [flat[a:b].reshape(p._data.shape)
                for p, a, b in zip(self.params, self.bounds, self.bounds[1:])]

    def runs(self, single: bool) -> list:
        """(first, last + 1) of neighbours that have gradients and were updated equally often."""
        given, scalars = self.given, self.scalars
        found, start = [], None
        for k, g in enumerate([*given, None]):
            if start is not None and (g is None or single or scalars[k] != scalars[start]):
                found.append((start, k))
                start = None
            if start is None and g is not None:
                start = k
        return found

    def gather(self, first: int, last: int) -> None:
        """Copy the gradients of a run into the flat buffer."""
        arrays = self.given[first:last]
        flat = self.gradient[self.bounds[first]:self.bounds[last]]
        if all(isinstance(g, Tensor) for g in arrays):
            self.xp.concatenate([g._data.reshape(-1) for g in arrays], out=flat)
            return
        for g, view in zip(arrays, self.gradients[first:last]):
            view[...] = g._data if isinstance(g, Tensor) else 0     # cleared: reads as zeros


class Optimizer:
    """Base of the optimizers: a subclass names its accumulators and gives `update(stretch)`.

    learning_rate: a number or an LRScheduler. parameters: Parameters, or dicts with 'params' and
    settings of their own (their 'learning_rate' multiplies; 'weight_decay', 'grad_clip' and the
    optimizer's numbers replace). weight_decay: a number (L2), L1Decay or L2Decay, added to the
    gradient after clipping. grad_clip: a ClipGradBy... object. A parameter's ParamAttr may scale
    its rate, replace its decay and keep it out of clipping.

    >>> import minipaddle as paddle
    >>> w = paddle.create_parameter([1], 'float32')
    >>> w.set_value(paddle.to_tensor([1.0]))
    >>> optimizer = paddle.optimizer.SGD(learning_rate=0.25, parameters=[w])
    >>> (w * 2).sum().backward(); optimizer.step(); optimizer.clear_grad(); w.tolist()
    [0.5]
    """

    accumulators: dict = {}         # accumulator name -> initial value
    scalars: dict = {}              # the same for one number a parameter; text names a setting
    scalars_in_full = False         # whether Paddle saves these in the parameter's shape
    single = False                  # the rule needs each parameter by itself
    blocks = True                   # the rule may be applied block by block

    def __init__(self, learning_rate, parameters=None, weight_decay=None, grad_clip=None,
                 name: str | None = None) -> None:
        label = type(self).__name__
        if isinstance(learning_rate, bool) or \
                not isinstance(learning_rate, (int, float, np.number, LRScheduler)):
            raise TypeError(f"{label}: learning_rate must be a number or an LRScheduler, got "
                            f"{type(learning_rate).__name__}")
        if parameters is None and tracer() is None:
            raise ValueError(f"{label}: parameters is required: give model.parameters()")
        if isinstance(parameters, (Tensor, dict, set, str)):
            raise TypeError(f"{label}: parameters must be a list of Parameters or of dicts, got "
                            f"a {type(parameters).__name__}")
        if grad_clip is not None and not callable(grad_clip):
            raise TypeError(f"{label}: grad_clip must be a ClipGradBy... object, got "
                            f"{type(grad_clip).__name__}")
        self._learning_rate, self._grad_clip, self._name = learning_rate, grad_clip, name
        self._multi_precision = False
        self.regularization = self._as_regularizer(weight_decay)
        self._param_groups: list = []
        self._parameter_list: list = []
        self._slots: dict = {}      # id of a parameter -> where it is in the buffers
        self._buckets: list = []    # for each group its buckets
        self._settings: list = []   # for each group what its buckets were made from
        self._pending: dict = {}    # loaded accumulators whose parameter had no step yet
        entries = [] if parameters is None else list(parameters)
        grouped = bool(entries) and isinstance(entries[0], dict)
        for group in entries if grouped else [{"params": entries}]:
            self._add_param_group(dict(group))

    def _as_regularizer(self, weight_decay):
        if weight_decay is None or isinstance(weight_decay, WeightDecayRegularizer):
            return weight_decay
        if isinstance(weight_decay, bool) or not isinstance(weight_decay, (int, float, np.number)):
            raise TypeError(f"{type(self).__name__}: weight_decay must be a number, L1Decay or "
                            f"L2Decay, got {type(weight_decay).__name__}")
        return L2Decay(float(weight_decay))

    def _add_param_group(self, group: dict) -> None:
        label = type(self).__name__
        if "params" not in group:
            raise ValueError(f"{label}: a parameter group needs 'params', this one has "
                             f"{', '.join(map(repr, group))}")
        params = group["params"]
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        known = {id(p) for p in self._parameter_list}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"{label}: parameters must hold Parameters, got "
                                f"{type(p).__name__}")
            if id(p) in known:
                raise ValueError(f"{label}: parameter {p.name} is given more than once")
            known.add(id(p))
        self._param_groups.append(group)
        self._parameter_list += params
        self._buckets.append([])
        self._settings.append(None)

    # -- the learning rate
    def get_lr(self) -> float:
        """The current learning rate."""
        rate = self._learning_rate
        return float(rate() if isinstance(rate, LRScheduler) else rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate; RuntimeError when a scheduler decides it."""
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("set_lr: the learning rate of this optimizer is decided by "
                               f"{type(self._learning_rate).__name__}; set_lr_scheduler gives it "
                               "another scheduler")
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler decide the learning rate from now on."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError("set_lr_scheduler: scheduler must be an LRScheduler, got "
                            f"{type(scheduler).__name__}")
        self._learning_rate = scheduler

    # -- stepping
    def step(self) -> None:
        """Update every parameter that has a gradient. The scheduler, if any, stays where it is."""
        self._apply([[(p, p._grad) for p in group["params"]
                      if p._grad is not None and not p.stop_gradient]
                     for group in self._param_groups])

    def apply_gradients(self, params_grads: list) -> list:
        """Update with the gradients given, [(parameter, gradient Tensor)], not with `.grad`."""
        given = {id(p): g for p, g in params_grads if g is not None}
        self._apply([[(p, given[id(p)]) for p in group["params"] if id(p) in given]
                     for group in self._param_groups])
        return params_grads

    def _apply(self, pairs_of_groups) -> None:
        rate = self.get_lr()
        for k, pairs in enumerate(pairs_of_groups):
            if pairs:
                self._apply_group(k, pairs, rate)

    def _apply_group(self, k, pairs, rate) -> None:
        group = self._param_groups[k]
        clip = group.get("grad_clip", self._grad_clip)
        if clip is not None and not getattr(clip, "plain", False):
            with no_grad():                         # a clip of the user's own, on Tensors
                pairs = [(p, g) for p, g in clip([(p, self._tensor(p, g)) for p, g in pairs])
                         if g is not None]
        buckets, slots = self._ready(k, pairs), self._slots
        for p, g in pairs:
            bucket, index, _, _ = slots[id(p)]
            bucket.given[index] = g
        runs = []
        for bucket in buckets:
            for first, last in bucket.runs(self.single):
                bucket.gather(first, last)
                runs.append((bucket, first, last))
            bucket.given = [None] * len(bucket.given)
        if clip is not None and getattr(clip, "plain", False):
            pieces = [(b.gradient[b.bounds[i]:b.bounds[j]], b.gradients[i:j])
                      for b, i, j in runs if b.kind.clips]
            if pieces:
                clip.clip_(pieces)
        for bucket, first, last in runs:
            self._update_run(bucket, first, last, rate * bucket.kind.factor, group)
        mark = None
        for bucket, first, last in runs:
            for p in bucket.params[first:last]:     # graphs that kept the old values must refuse
                if mark is None:
                    written(p)
                    mark = p._storage
                p._storage.stamp, p._storage.where = mark.stamp, mark.where

    @staticmethod
    def _tensor(p, g):
        return g if isinstance(g, Tensor) else p.grad

    def _update_run(self, bucket, first, last, rate, group) -> None:
        a, b = bucket.bounds[first], bucket.bounds[last]
        xp, half = bucket.xp, bucket.master is not bucket.value
        if half and not self._multi_precision:
            bucket.master[a:b] = bucket.value[a:b]
        option = self._option_of(group)
        scalars = bucket.scalars[first] or {
            name: self._rounded(option(start) if isinstance(start, str) else start, bucket)
            for name, start in self.scalars.items()}
        scalars = self._advanced(self.before, scalars, option, bucket)
        size = min(BLOCK, b - a) if xp is np and self.blocks and not self.single else b - a
        temp = self._scratch(bucket, size)
        for i in range(a, b, size or 1):
            j = min(i + size, b)
            s = Stretch(value=bucket.master[i:j], gradient=bucket.gradient[i:j],
                        temp=temp[:j - i], rate=rate, scalars=scalars, option=option,
                        kind=bucket.kind, xp=xp,
                        **{name: flat[i:j] for name, flat in bucket.state.items()})
            self.regularize(s)
            self.update(s)
        if half:
            bucket.value[a:b] = bucket.master[a:b]
        bucket.scalars[first:last] = [self._advanced(self.after, scalars, option, bucket)] * (
            last - first)

    def _advanced(self, rule, scalars, option, bucket):
        new = rule(scalars, option)
        return scalars if new is scalars else \
            {name: self._rounded(value, bucket) for name, value in new.items()}

    @staticmethod
    def _rounded(value: float, bucket) -> float:
        """Scalars are kept as they are saved, so that a resumed run goes on bit for bit."""
        return float(bucket.gradient.dtype.type(value))

    def before(self, scalars: dict, option) -> dict:
        """The scalars that an update uses, from those kept."""
        return scalars

    def after(self, scalars: dict, option) -> dict:
        """The scalars to keep, from those an update used."""
        return scalars

    def _scratch(self, bucket, size):
        kept = getattr(bucket, "temp", None)
        if kept is None or kept.size < size:
            kept = bucket.temp = bucket.xp.empty(size, bucket.gradient.dtype)
        return kept

    def _option_of(self, group):
        return lambda name: group.get(name, getattr(self, "_" + name))

    def regularize(self, s) -> None:
        """Add the weight decay to the gradient."""
        regularizer = s.kind.regularizer
        if regularizer is None or not regularizer.coeff:
            return
        if type(regularizer) is L2Decay:
            s.xp.multiply(s.value, regularizer.coeff, out=s.temp)
            s.gradient += s.temp
        else:
            s.gradient += regularizer.term(s.value)

    def update(self, s: Stretch) -> None:
        """Change `s.value` in place; every optimizer defines it."""
        raise NotImplementedError(f"{type(self).__name__} needs update(self, s)")

    # -- the flat buffers
    def extra(self, p, group):
        """More of what parameters must agree in to be updated together."""
        return None

    def _kind(self, p, group) -> Kind:
        own = getattr(p, "regularizer", None)
        regularizer = own if own is not None else self._as_regularizer(
            group.get("weight_decay", self.regularization))
        factor = float(getattr(p, "optimize_attr", _PLAIN)["learning_rate"])
        return Kind(p._data.dtype, place_of(p._data),
                    factor * float(group.get("learning_rate", 1.0)) * self.factor(p), regularizer,
                    getattr(p, "need_clip", True), self.extra(p, group))

    def factor(self, p) -> float:
        """What else multiplies the rate of a parameter."""
        return 1.0

    @staticmethod
    def _key(kind):
        """Regularizers with the same effect count as equal."""
        r = kind.regularizer
        plain = isinstance(r, WeightDecayRegularizer)
        return kind._replace(regularizer=(type(r), r.coeff) if plain else id(r))

    def _ready(self, k, pairs) -> list:
        """The buckets of group k, made anew when parameters came, moved or got other settings."""
        group, slots = self._param_groups[k], self._slots
        settings = (group.get("learning_rate"), group.get("weight_decay"), self.regularization)
        fresh = settings == self._settings[k]
        for p, _ in pairs:
            if not fresh:
                break
            slot = slots.get(id(p))
            fresh = slot is not None and slot.view is p._data and slot.settings == _settings(p)
        if fresh:
            return self._buckets[k]
        self._settings[k] = settings
        known = {id(p) for b in self._buckets[k] for p in b.params} | {id(p) for p, _ in pairs}
        old, kinds = {}, {}
        for p in group["params"]:
            if id(p) in known:
                if id(p) in slots:
                    old[id(p)] = self._take(*slots.pop(id(p))[:2])
                kind = self._kind(p, group)
                kinds.setdefault(self._key(kind), (kind, []))[1].append(p)
        self._buckets[k] = []
        for kind, params in kinds.values():
            bucket = Bucket(kind, params, self.accumulators)
            self._buckets[k].append(bucket)
            for index, p in enumerate(params):
                slots[id(p)] = Slot(bucket, index, bucket.views[index], _settings(p))
                if id(p) in old:
                    self._put(bucket, index, *old[id(p)])
                self._restore(p)
        return self._buckets[k]

    @staticmethod
    def _take(bucket, index):
        """The state of a parameter that leaves a bucket."""
        a, b = bucket.bounds[index], bucket.bounds[index + 1]
        arrays = {name: flat[a:b].copy() for name, flat in bucket.state.items()}
        master = bucket.master[a:b].copy() if bucket.master is not bucket.value else None
        same = bucket.params[index]._data is bucket.views[index]
        return arrays, bucket.scalars[index], master if same else None

    @staticmethod
    def _put(bucket, index, arrays, scalars, master) -> None:
        a, b = bucket.bounds[index], bucket.bounds[index + 1]
        for name, array in arrays.items():
            bucket.state[name][a:b] = asarray(array, bucket.kind.place)
        bucket.scalars[index] = scalars
        if master is not None and bucket.master is not bucket.value:
            bucket.master[a:b] = asarray(master, bucket.kind.place)

    # -- gradients
    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients (they read as zeros), or drop them with set_to_zero=False."""
        for p in self._parameter_list:
            if p._grad is not None:
                p.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None,
                 callbacks=None) -> list:
        """[(parameter, gradient)] of all that have one; as in Paddle no backward is run here."""
        if not isinstance(loss, Tensor):
            raise TypeError(f"backward: loss must be a Tensor, got {type(loss).__name__}")
        return [(p, p.grad) for p in self._parameter_list if parameters is None or
                any(p is q for q in parameters) if p._grad is not None and not p.stop_gradient]

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None) -> tuple:
        """Step with the gradients that are there: call loss.backward() first, as in Paddle.

        Returns (None, [(parameter, gradient)]). parameters: update these alone.
        """
        if not isinstance(loss, Tensor):
            raise TypeError(f"minimize: loss must be a Tensor, got {type(loss).__name__}")
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        if parameters is None:
            self.step()
        else:
            self.apply_gradients(pairs)
        return None, pairs

    @no_grad()
    def append_regularization_ops(self, parameters_and_grads: list, regularization=None) -> list:
        """[(parameter, gradient)] with weight decay added to the gradients."""
        out = []
        for p, g in parameters_and_grads:
            rule = getattr(p, "regularizer", None) or regularization
            out.append((p, g if g is None or rule is None else
                        Tensor(g._data + rule.term(p._data))))
        return out

    # -- state
    def _names(self, p) -> str:
        """What the names of a parameter's accumulators begin with."""
        master = self._multi_precision and p._data.dtype == F16
        return f"{p.name}_fp32_master_0" if master else p.name

    def state_dict(self) -> dict:
        """Copies of the accumulators under Paddle's names, and the scheduler's state.

        Names: parameter, accumulator, `_0`, such as `linear_0.w_0_moment1_0`. float16 parameters
        with multi_precision also have their float32 values in `master_weights`.
        """
        state, masters = {}, {}
        for p in self._parameter_list:
            slot = self._slots.get(id(p))
            if slot is None:
                continue
            bucket, k, label = slot.bucket, slot.index, self._names(p)
            a, b = bucket.bounds[k], bucket.bounds[k + 1]
            arrays = {name: flat[a:b].reshape(p._data.shape).copy()
                      for name, flat in bucket.state.items()}
            for name, value in (bucket.scalars[k] or {}).items():
                shape = p._data.shape if self.scalars_in_full else (1,)
                arrays[name] = bucket.xp.full(shape, value, bucket.gradient.dtype)
            for name, array in self.pack(arrays, bucket.xp).items():
                state[f"{label}_{name}_0"] = Tensor(array)
            if self._multi_precision and bucket.master is not bucket.value:
                masters[p.name] = Tensor(bucket.master[a:b].reshape(p._data.shape).copy())
        state.update(self._pending)
        if masters:
            state["master_weights"] = masters
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave: accumulators by parameter name, and the scheduler.

        Parameters that were not updated yet find theirs at their first step. ValueError for an
        accumulator of a wrong shape, or a state that lacks the scheduler's.
        """
        state = dict(state_dict)
        schedule = state.pop("LR_Scheduler", None)
        if isinstance(self._learning_rate, LRScheduler):
            if schedule is None:
                raise ValueError("set_state_dict: this optimizer has a scheduler, but the state "
                                 "holds no LR_Scheduler")
            self._learning_rate.set_state_dict(schedule)
        self._pending = state
        for p in self._parameter_list:
            if id(p) in self._slots:
                self._restore(p)

    set_dict = set_state_dict

    def _restore(self, p) -> None:
        """Take a parameter's accumulators out of what was loaded."""
        if not self._pending:
            return
        bucket, k, _, _ = self._slots[id(p)]
        a, b, label = bucket.bounds[k], bucket.bounds[k + 1], self._names(p)
        names = self.pack({name: None for name in (*bucket.state, *self.scalars)})
        found = {n: self._pending.pop(f"{label}_{n}_0") for n in names
                 if f"{label}_{n}_0" in self._pending}
        arrays = self.unpack({n: _array(value) for n, value in found.items()})
        for name in bucket.state.keys() & arrays.keys():
            if tuple(arrays[name].shape) != tuple(p._data.shape):
                raise ValueError(f"set_state_dict: {label}_{name}_0 has shape "
                                 f"{list(arrays[name].shape)}, but parameter {p.name} has "
                                 f"{p.shape}")
            bucket.state[name][a:b] = asarray(arrays[name].reshape(-1), bucket.kind.place)
        master = self._pending.get("master_weights", {}).get(p.name)
        if master is not None and bucket.master is not bucket.value:
            bucket.master[a:b] = asarray(_array(master).reshape(-1), bucket.kind.place)
        scalars = {name: float(asnumpy(arrays[name]).reshape(-1)[0])
                   for name in self.scalars if name in arrays}
        if len(scalars) == len(self.scalars):
            bucket.scalars[k] = scalars

    def pack(self, arrays: dict, xp=np) -> dict:
        """Accumulators as Paddle saves them, from those kept."""
        return arrays

    def unpack(self, arrays: dict) -> dict:
        """The other way."""
        return arrays

    def get_opti_var_name_list(self) -> list:
        """The names of all accumulators."""
        return [k for k in self.state_dict() if k not in ("LR_Scheduler", "master_weights")]


_PLAIN = {"learning_rate": 1.0}


def _settings(p):
    """What of a parameter decides how it is updated."""
    try:
        return p.optimize_attr["learning_rate"], p.regularizer, p.need_clip
    except AttributeError:                          # a Tensor that is no Parameter
        return 1.0, None, True


def _array(value):
    return value._data if isinstance(value, Tensor) else np.asarray(value)


# ---- the rules
class SGD(Optimizer):
    """value -= rate * gradient.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step()
    >>> round(net.bias.item(), 4)
    -0.1
    """

    def __init__(self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None,
                 multi_precision: bool = False, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._multi_precision = multi_precision

    def update(self, s: Stretch) -> None:
        s.gradient *= s.rate
        s.value -= s.gradient


class Momentum(Optimizer):
    """velocity = momentum * velocity + gradient; value -= rate * velocity.

    use_nesterov: value -= rate * (gradient + momentum * velocity). rescale_grad multiplies the
    gradient first.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Momentum(0.1, 0.9, net.parameters())
    >>> for _ in range(2):
    ...     net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); optimizer.clear_grad()
    >>> round(net.bias.item(), 4)
    -0.29
    """

    accumulators = {"velocity": 0.0}

    def __init__(self, learning_rate=0.001, momentum: float = 0.9, parameters=None,
                 use_nesterov: bool = False, weight_decay=None, grad_clip=None,
                 multi_precision: bool = False, rescale_grad: float = 1.0,
                 use_multi_tensor: bool = False, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum, self._use_nesterov = float(momentum), bool(use_nesterov)
        self._rescale_grad, self._multi_precision = float(rescale_grad), multi_precision

    def regularize(self, s: Stretch) -> None:
        if self._rescale_grad != 1.0:
            s.gradient *= self._rescale_grad
        super().regularize(s)

    def update(self, s: Stretch) -> None:
        momentum = s.option("momentum")
        s.velocity *= momentum
        s.velocity += s.gradient
        if s.option("use_nesterov"):
            s.xp.multiply(s.velocity, momentum, out=s.temp)
            s.temp += s.gradient
            s.temp *= s.rate
        else:
            s.xp.multiply(s.velocity, s.rate, out=s.temp)
        s.value -= s.temp


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), epsilon outside the bias correction:

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
    value -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon * sqrt(1 - b2^t))

    lazy_mode and use_multi_tensor are accepted; all parameters are updated together anyway.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step()
    >>> round(net.bias.item(), 4), list(optimizer.state_dict())[-1].split('.')[-1]
    (-0.1, 'b_0_beta2_pow_acc_0')
    """

    accumulators = {"moment1": 0.0, "moment2": 0.0}
    scalars = {"beta1_pow_acc": "beta1", "beta2_pow_acc": "beta2"}

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=None, grad_clip=None, lazy_mode: bool = False,
                 multi_precision: bool = False, use_multi_tensor: bool = False,
                 name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1, self._beta2, self._epsilon = self._betas(beta1, beta2, epsilon)
        self._lazy_mode, self._multi_precision = lazy_mode, multi_precision

    def _betas(self, beta1, beta2, epsilon) -> tuple:
        label = type(self).__name__
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= float(beta) < 1:
                raise ValueError(f"{label}: {name} must be in [0, 1), got {float(beta)}")
        if float(epsilon) < 0:
            raise ValueError(f"{label}: epsilon must not be negative, got {float(epsilon)}")
        return float(beta1), float(beta2), float(epsilon)

    def after(self, scalars: dict, option) -> dict:
        return {name: power * option(self.scalars[name]) for name, power in scalars.items()}

    def _moments(self, s: Stretch) -> None:
        """Move the running mean of the gradient and of its square."""
        b1, b2 = s.option("beta1"), s.option("beta2")
        s.xp.multiply(s.gradient, 1 - b1, out=s.temp)
        s.moment1 *= b1
        s.moment1 += s.temp
        s.xp.multiply(s.gradient, s.gradient, out=s.temp)
        s.temp *= 1 - b2
        s.moment2 *= b2
        s.moment2 += s.temp

    def update(self, s: Stretch) -> None:
        self._moments(s)
        root = (1 - s.scalars["beta2_pow_acc"]) ** 0.5
        s.xp.sqrt(s.moment2, out=s.temp)
        s.temp += s.option("epsilon") * root
        s.xp.divide(s.moment1, s.temp, out=s.temp)
        s.temp *= s.rate * root / (1 - s.scalars["beta1_pow_acc"])
        s.value -= s.temp


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: value *= 1 - rate * weight_decay first.

    apply_decay_param_fun(name) says by a parameter's global name whether it decays;
    lr_ratio(parameter) scales its rate. Loshchilov and Hutter, 2019.

    >>> import minipaddle as paddle
    >>> w = paddle.create_parameter([1], 'float32')
    >>> w.set_value(paddle.to_tensor([1.0])); w.grad = paddle.zeros([1])
    >>> paddle.optimizer.AdamW(0.1, parameters=[w], weight_decay=0.5).step()
    >>> round(w.item(), 4)
    0.95
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=0.01, lr_ratio=None, apply_decay_param_fun=None, grad_clip=None,
                 lazy_mode: bool = False, multi_precision: bool = False,
                 name: str | None = None) -> None:
        self._lr_ratio, self._apply_decay_param_fun = lr_ratio, apply_decay_param_fun
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip,
                         lazy_mode, multi_precision, False, name)
        self._weight_decay = self._coefficient(weight_decay)

    def _coefficient(self, weight_decay) -> float:
        rule = self._as_regularizer(weight_decay)
        if rule is not None and not isinstance(rule, L2Decay):
            raise TypeError(f"{type(self).__name__}: weight_decay must be a number, got {rule}")
        return 0.0 if rule is None else rule.coeff

    def factor(self, p) -> float:
        return 1.0 if self._lr_ratio is None else float(self._lr_ratio(p))

    def extra(self, p, group):
        decays = self._apply_decay_param_fun
        if decays is not None and not decays(p.name):
            return 0.0
        return self._coefficient(group.get("weight_decay", self._weight_decay))

    def _kind(self, p, group) -> Kind:
        # the group's weight decay is this rule's, no term of the gradient
        kind = super()._kind(p, {k: v for k, v in group.items() if k != "weight_decay"})
        return kind._replace(extra=self.extra(p, group))

    def update(self, s: Stretch) -> None:
        if s.kind.extra:
            s.value *= 1 - s.rate * s.kind.extra
        super().update(s)


class Adamax(Adam):
    """Adam with the infinity norm: n = max(|g|, b2 n + epsilon); value -= rate / (1 - b1^t) m / n.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Adamax(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step()
    >>> round(net.bias.item(), 4)
    -0.1
    """

    accumulators = {"moment": 0.0, "inf_norm": 0.0}
    scalars = {"beta1_pow_acc": "beta1"}

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip,
                         name=name)

    def update(self, s: Stretch) -> None:
        b1 = s.option("beta1")
        s.xp.multiply(s.gradient, 1 - b1, out=s.temp)
        s.moment *= b1
        s.moment += s.temp
        s.inf_norm *= s.option("beta2")
        s.inf_norm += s.option("epsilon")
        s.xp.maximum(s.xp.abs(s.gradient), s.inf_norm, out=s.inf_norm)
        s.xp.divide(s.moment, s.inf_norm, out=s.temp)
        s.temp *= s.rate / (1 - s.scalars["beta1_pow_acc"])
        s.value -= s.temp


class NAdam(Adam):
    """Adam with Nesterov momentum (Dozat, 2016).

    mu_t = b1 (1 - 0.5 * 0.96^(t * momentum_decay)); the step is along
    mu_(t+1) m / (1 - prod mu_(i<=t+1)) + (1 - mu_t) g / (1 - prod mu_(i<=t)).

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.NAdam(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); net.bias.item() < 0
    True
    """

    scalars = {"momentum_decay_pow": 1.0, "beta2_pow": 1.0, "mu_product": 1.0}
    scalars_in_full = True

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, epsilon=1e-08,
                 momentum_decay: float = 0.004, parameters=None, weight_decay=None, grad_clip=None,
                 name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip,
                         name=name)
        self._momentum_decay = float(momentum_decay)

    def before(self, scalars: dict, option) -> dict:
        power = scalars["momentum_decay_pow"] * 0.96
        mu = option("beta1") * (1 - 0.5 * power ** option("momentum_decay"))
        return {"momentum_decay_pow": power, "mu_product": scalars["mu_product"] * mu,
                "beta2_pow": scalars["beta2_pow"] * option("beta2")}

    def after(self, scalars: dict, option) -> dict:
        return scalars

    def update(self, s: Stretch) -> None:
        self._moments(s)
        b1, decay = s.option("beta1"), s.option("momentum_decay")
        power, product = s.scalars["momentum_decay_pow"], s.scalars["mu_product"]
        now, following = (b1 * (1 - 0.5 * p ** decay) for p in (power, power * 0.96))
        s.xp.multiply(s.moment1, following / (1 - product * following), out=s.temp)
        s.gradient *= (1 - now) / (1 - product)
        s.temp += s.gradient
        s.xp.divide(s.moment2, 1 - s.scalars["beta2_pow"], out=s.gradient)
        s.xp.sqrt(s.gradient, out=s.gradient)
        s.gradient += s.option("epsilon")
        s.temp /= s.gradient
        s.temp *= s.rate
        s.value -= s.temp


class RAdam(Adam):
    """Adam whose adaptive rate waits until its variance is known well enough (Liu et al., 2020).

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.RAdam(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); round(net.bias.item(), 4)
    -0.1
    """

    scalars = {"beta1_pow": 1.0, "beta2_pow": 1.0, "rho": 1.0}
    scalars_in_full = True

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip,
                         name=name)

    def before(self, scalars: dict, option) -> dict:
        old, b2 = scalars["beta2_pow"], option("beta2")
        power = old * b2
        # rho is t b2^t / (1 - b2^t)
        return {"beta1_pow": scalars["beta1_pow"] * option("beta1"), "beta2_pow": power,
                "rho": (scalars["rho"] * b2 * (1 - old) + power) / (1 - power)}

    def after(self, scalars: dict, option) -> dict:
        return scalars

    def update(self, s: Stretch) -> None:
        self._moments(s)
        last = 2 / (1 - s.option("beta2")) - 1
        length = last - 2 * s.scalars["rho"]
        s.xp.multiply(s.moment1, s.rate / (1 - s.scalars["beta1_pow"]), out=s.temp)
        if length > 5:
            trust = ((length - 4) * (length - 2) * last /
                     ((last - 4) * (last - 2) * length)) ** 0.5
            s.xp.sqrt(s.moment2, out=s.gradient)
            s.gradient += s.option("epsilon")
            s.temp *= trust * (1 - s.scalars["beta2_pow"]) ** 0.5
            s.temp /= s.gradient
        s.value -= s.temp


class Adagrad(Optimizer):
    """moment += gradient^2; value -= rate * gradient / (sqrt(moment) + epsilon).

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Adagrad(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); round(net.bias.item(), 4)
    -0.1
    """

    def __init__(self, learning_rate, epsilon=1e-06, parameters=None, weight_decay=None,
                 grad_clip=None, name: str | None = None,
                 initial_accumulator_value: float = 0.0) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = float(epsilon)
        self.accumulators = {"moment": float(initial_accumulator_value)}

    def update(self, s: Stretch) -> None:
        s.xp.multiply(s.gradient, s.gradient, out=s.temp)
        s.moment += s.temp
        s.xp.sqrt(s.moment, out=s.temp)
        s.temp += s.option("epsilon")
        s.gradient /= s.temp
        s.gradient *= s.rate
        s.value -= s.gradient


class RMSProp(Optimizer):
    """ms = rho ms + (1 - rho) g^2; mom = momentum mom + rate g / sqrt(ms + epsilon); value -= mom.

    centered: ms minus the square of the mean gradient, under the root. epsilon is inside it.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.RMSProp(0.1, rho=0.75, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); round(net.bias.item(), 4)
    -0.2
    """

    accumulators = {"momentum": 0.0, "mean_square": 0.0, "mean_grad": 0.0}

    def __init__(self, learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0,
                 centered: bool = False, parameters=None, weight_decay=None, grad_clip=None,
                 name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho, self._epsilon, self._momentum = float(rho), float(epsilon), float(momentum)
        self._centered = bool(centered)

    def update(self, s: Stretch) -> None:
        rho = s.option("rho")
        s.xp.multiply(s.gradient, s.gradient, out=s.temp)
        s.temp *= 1 - rho
        s.mean_square *= rho
        s.mean_square += s.temp
        if s.option("centered"):
            s.xp.multiply(s.gradient, 1 - rho, out=s.temp)
            s.mean_grad *= rho
            s.mean_grad += s.temp
            s.xp.multiply(s.mean_grad, s.mean_grad, out=s.temp)
            s.xp.subtract(s.mean_square, s.temp, out=s.temp)
            s.temp += s.option("epsilon")
        else:
            s.xp.add(s.mean_square, s.option("epsilon"), out=s.temp)
        s.xp.sqrt(s.temp, out=s.temp)
        s.gradient /= s.temp
        s.gradient *= s.rate
        s.momentum *= s.option("momentum")
        s.momentum += s.gradient
        s.value -= s.momentum


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): gradients scaled by the running size of earlier steps.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Adadelta(1.0, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); net.bias.item() < 0
    True
    """

    accumulators = {"_avg_squared_grad": 0.0, "_avg_squared_update": 0.0}

    def __init__(self, learning_rate=0.001, epsilon=1e-06, rho=0.95, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self._rho = float(epsilon), float(rho)

    def update(self, s: Stretch) -> None:
        rho, epsilon = s.option("rho"), s.option("epsilon")
        squares, moves = s._avg_squared_grad, s._avg_squared_update
        s.xp.multiply(s.gradient, s.gradient, out=s.temp)
        s.temp *= 1 - rho
        squares *= rho
        squares += s.temp
        s.xp.add(squares, epsilon, out=s.temp)
        s.xp.divide(moves + epsilon, s.temp, out=s.temp)
        s.xp.sqrt(s.temp, out=s.temp)
        s.gradient *= s.temp
        s.xp.multiply(s.gradient, s.gradient, out=s.temp)
        s.temp *= 1 - rho
        moves *= rho
        moves += s.temp
        s.gradient *= s.rate
        s.value -= s.gradient


class Lamb(Adam):
    """Adam scaled layer by layer to the size of the parameter (You et al., 2020).

    r = m^ / (sqrt(v^) + epsilon) + lamb_weight_decay * value; value -= rate * |value| / |r| * r.
    exclude_from_weight_decay_fn(parameter): no decay for it, and no scaling unless always_adapt.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Lamb(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); net.bias.item() < 0
    True
    """

    single = True

    def __init__(self, learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999,
                 epsilon=1e-06, parameters=None, grad_clip=None,
                 exclude_from_weight_decay_fn=None, multi_precision: bool = False,
                 always_adapt: bool = False, name: str | None = None) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, False,
                         multi_precision, False, name)
        self._lamb_weight_decay = float(lamb_weight_decay)
        self._excluded, self._always_adapt = exclude_from_weight_decay_fn, bool(always_adapt)

    def extra(self, p, group):
        if self._excluded is not None and self._excluded(p):
            return 0.0
        return float(group.get("lamb_weight_decay", self._lamb_weight_decay))

    def update(self, s: Stretch) -> None:
        self._moments(s)
        xp, decay = s.xp, s.kind.extra
        move = s.gradient
        xp.divide(s.moment2, 1 - s.scalars["beta2_pow_acc"], out=s.temp)
        xp.sqrt(s.temp, out=s.temp)
        s.temp += s.option("epsilon")
        xp.divide(s.moment1, s.temp, out=move)
        move /= 1 - s.scalars["beta1_pow_acc"]
        if decay:
            xp.multiply(s.value, decay, out=s.temp)
            move += s.temp
        if decay or self._always_adapt:
            size, length = xp.sqrt(s.value @ s.value), xp.sqrt(move @ move)
            both = (size > 0) & (length > 0)
            ratio = xp.where(both, size, 1) / xp.where(both, length, 1)
            move *= ratio.astype(move.dtype)
        move *= s.rate
        s.value -= move


class Rprop(Optimizer):
    """Steps by the sign of the gradient, of a length of its own for each entry.

    The length grows by etas[1] while the sign stays and shrinks by etas[0] when it turns, within
    learning_rate_range; a turn makes no step. For full batches. Riedmiller and Braun, 1993.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.Rprop(0.1, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); round(net.bias.item(), 4)
    -0.1
    """

    def __init__(self, learning_rate=0.001, learning_rate_range=(1e-5, 50), parameters=None,
                 etas=(0.5, 1.2), grad_clip=None, multi_precision: bool = False,
                 name: str | None = None) -> None:
        low, high = learning_rate_range
        if not 0 < low <= float(getattr(learning_rate, "base_lr", learning_rate)) <= high:
            raise ValueError("Rprop: learning_rate must lie in learning_rate_range "
                             f"{tuple(learning_rate_range)}, got {learning_rate}")
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: etas must be (below 1, above 1), got {tuple(etas)}")
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._range, self._etas, self._multi_precision = (low, high), etas, multi_precision
        self.accumulators = {"prevs": 0.0, "learning_rates": self.get_lr()}

    def update(self, s: Stretch) -> None:
        xp, rates = s.xp, s.learning_rates
        xp.multiply(s.gradient, s.prevs, out=s.temp)
        turned = s.temp < 0
        rates *= xp.where(s.temp > 0, self._etas[1], 1.0).astype(rates.dtype)
        rates *= xp.where(turned, self._etas[0], 1.0).astype(rates.dtype)
        xp.clip(rates, *self._range, out=rates)
        s.gradient *= ~turned
        s.prevs[...] = s.gradient
        xp.sign(s.gradient, out=s.gradient)
        s.gradient *= rates
        s.value -= s.gradient


class ASGD(Optimizer):
    """The average of the last gradients of batch_num batches (Schmidt et al., SAG, 2017).

    d += gradient - the one batch_num steps ago; value -= rate * d / min(step, batch_num).

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(2, 1)
    >>> optimizer = paddle.optimizer.ASGD(0.1, 2, parameters=net.parameters())
    >>> net(paddle.ones([1, 2])).sum().backward(); optimizer.step(); round(net.bias.item(), 4)
    -0.1
    """

    scalars = {"m": 0.0}

    def __init__(self, learning_rate=0.001, batch_num: int = 1, parameters=None,
                 weight_decay=None, grad_clip=None, multi_precision: bool = False,
                 name: str | None = None) -> None:
        if batch_num <= 0:
            raise ValueError(f"ASGD: batch_num must be positive, got {batch_num}")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._batch_num, self._multi_precision = int(batch_num), multi_precision
        self.accumulators = {"d": 0.0, **{f"y{i}": 0.0 for i in range(self._batch_num)}}

    def before(self, scalars: dict, option) -> dict:
        return {"m": scalars["m"] + 1}

    def update(self, s: Stretch) -> None:
        step = int(s.scalars["m"])
        old = getattr(s, f"y{(step - 1) % self._batch_num}")
        s.d += s.gradient
        s.d -= old
        old[...] = s.gradient
        s.xp.multiply(s.d, s.rate / min(step, self._batch_num), out=s.temp)
        s.value -= s.temp

    def pack(self, arrays: dict, xp=np) -> dict:
        rows = [arrays[f"y{i}"] for i in range(self._batch_num)]
        return {"d": arrays["d"], "m": arrays.get("m"),
                "y": None if rows[0] is None else xp.stack(rows)}

    def unpack(self, arrays: dict) -> dict:
        rows = arrays.pop("y", ())
        return {**arrays, **{f"y{i}": row for i, row in enumerate(rows)}}


# ---- L-BFGS: a rule of its own, which evaluates the loss as often as it wants
class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal and Wright, Numerical optimization, 2006, chapter 7).

    `step(closure)`: the closure clears the gradients, computes the loss, runs backward and returns
    the loss; step calls it several times. max_iter iterations a step, at most max_eval closures
    (max_iter * 5 // 4 unless given). It ends early when no gradient is above tolerance_grad, or
    loss or parameters change by less than tolerance_change. history_size: pairs remembered.
    line_search_fn: None (steps of learning_rate) or 'strong_wolfe'. Weight decay belongs into the
    closure's loss. Meant for full batches; reads the loss on the host.

    >>> import minipaddle as paddle
    >>> x = paddle.create_parameter([2], 'float32')
    >>> optimizer = paddle.optimizer.LBFGS(parameters=[x], line_search_fn='strong_wolfe')
    >>> def closure():
    ...     optimizer.clear_grad()
    ...     loss = ((x - paddle.to_tensor([1., 2.])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> [round(v, 4) for v in x.tolist()]
    [1.0, 2.0]
    """

    def __init__(self, learning_rate: float = 1.0, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-07, tolerance_change: float = 1e-09,
                 history_size: int = 100, line_search_fn: str | None = None, parameters=None,
                 weight_decay=None, grad_clip=None, name: str | None = None) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError("LBFGS: line_search_fn must be None or 'strong_wolfe', got "
                             f"{line_search_fn!r}")
        if weight_decay is not None or grad_clip is not None:
            raise ValueError("LBFGS: weight_decay and grad_clip would contradict the loss that the "
                             "closure gives; add the decay to that loss")
        super().__init__(learning_rate, parameters, None, None, name)
        self._max_iter = max_iter
        self._max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self._tolerance_grad, self._tolerance_change = tolerance_grad, tolerance_change
        self._history_size, self._line_search_fn = history_size, line_search_fn
        self.state: dict = {"func_evals": 0, "n_iter": 0}

    @no_grad()
    def step(self, closure) -> Tensor:
        """Minimise for up to max_iter iterations; returns the loss before them."""
        state = self.state
        closure = enable_grad()(closure)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        gradient = self._flat_gradient()
        xp = xp_of(gradient)
        for n in range(1, self._max_iter + 1):
            if _largest(xp, gradient) <= self._tolerance_grad:
                break
            direction = self._direction(gradient)
            state["n_iter"] += 1
            t = self.get_lr()
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / _number(xp.abs(gradient).sum()))
            slope = _dot(gradient, direction)
            if slope > -self._tolerance_change:
                break
            old_loss, count = loss, 0
            state.update(prev_flat_grad=gradient.copy(), prev_loss=loss, d=direction)
            if self._line_search_fn is not None:
                found, count = self._search(closure, t, direction, loss, slope, gradient)
                t, loss, gradient = found.t, found.f, found.g
                self._move(t, direction)
            else:
                self._move(t, direction)
                if n < self._max_iter:              # else nobody looks at them any more
                    loss, gradient, count = float(closure()), self._flat_gradient(), 1
            state["alpha"] = t
            evaluations += count
            if t * _largest(xp, direction) <= self._tolerance_change or \
                    abs(loss - old_loss) < self._tolerance_change or \
                    evaluations >= self._max_eval:
                break
        state["func_evals"] += evaluations
        return first_loss

    def _direction(self, gradient):
        """Minus the approximate inverse Hessian times the gradient: the two-loop recursion."""
        state = self.state
        if "d" not in state:
            state.update(old_yk=[], old_sk=[], ro=[], H_diag=1.0)
            return -gradient
        ys, ss, weights = state["old_yk"], state["old_sk"], state["ro"]
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["alpha"]
        product = _dot(y, s)
        if product > 1e-10:
            for memory, new in ((ys, y), (ss, s), (weights, 1.0 / product)):
                memory.append(new)
                del memory[:-self._history_size]
            state["H_diag"] = product / _dot(y, y)
        q, shares = -gradient, []
        for y, s, weight in zip(reversed(ys), reversed(ss), reversed(weights)):
            shares.append(weight * _dot(s, q))
            q -= y * shares[-1]
        q *= state["H_diag"]
        for y, s, weight in zip(ys, ss, weights):
            q += s * (shares.pop() - weight * _dot(y, q))
        return q

    def _search(self, closure, t, direction, loss, slope, gradient):
        start = [p._data.copy() for p in self._parameter_list]

        def at(t):
            self._move(t, direction)
            value = float(closure())
            g = self._flat_gradient()
            for p, old in zip(self._parameter_list, start):
                p.set_value(Tensor(old))
            return _Point(t, value, _dot(g, direction), g)
        return _strong_wolfe(at, _Point(0.0, loss, slope, gradient), t, self._tolerance_change,
                             _largest(xp_of(direction), direction))

    def _flat_gradient(self):
        parts = [xp_of(p._data).zeros(p._data.size, p._data.dtype) if p.grad is None else
                 p.grad._data.reshape(-1) for p in self._parameter_list]
        return xp_of(parts[0]).concatenate(parts)

    def _move(self, t, direction) -> None:
        start = 0
        for p in self._parameter_list:
            part = direction[start:start + p._data.size].reshape(p._data.shape)
            p.set_value(Tensor(p._data + part * p._data.dtype.type(t)))
            start += p._data.size

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None) -> tuple:
        """Not with this optimizer: it needs a closure."""
        raise NotImplementedError("LBFGS evaluates the loss several times: use step(closure)")

    def state_dict(self) -> dict:
        """All that the next step builds on, under 'state'."""
        return {"state": {k: Tensor(v.copy()) if hasattr(v, "dtype") else
                          [Tensor(x.copy()) if hasattr(x, "dtype") else x for x in v]
                          if isinstance(v, list) else v for k, v in self.state.items()}}

    def set_state_dict(self, state_dict: dict) -> None:
        """Go on from what `state_dict` gave."""
        place = self._parameter_list[0].place

        def plain(v):
            if isinstance(v, list):
                return [plain(x) for x in v]
            return asarray(_array(v), place).copy() if hasattr(v, "shape") else v
        self.state = {k: plain(v) for k, v in state_dict["state"].items()}

    set_dict = set_state_dict


_Point = namedtuple("_Point", "t f slope g")        # a step length, the loss there, its slope


def _dot(a, b) -> float:
    return _number(a @ b)


def _largest(xp, a) -> float:
    return _number(xp.abs(a).max()) if a.size else 0.0


def _number(x) -> float:
    return float(asnumpy(xp_of(x).asarray(x)))


def _cubic(a, b, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes is least, kept in [low, high]."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    d = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d * d - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = square ** 0.5
    t = b.t - (b.t - a.t) * (b.slope + root - d) / (b.slope - a.slope + 2 * root)
    return min(max(t, low), high)


def _strong_wolfe(at, first, t, tolerance, width, c1=1e-4, c2=0.9, most=25):
    """A point that meets the strong Wolfe conditions, and how many were tried.

    Nocedal and Wright, algorithms 3.5 (bracketing) and 3.6 (zoom).
    """
    def too_high(p):
        return p.f > first.f + c1 * p.t * first.slope

    def flat_enough(p):
        return abs(p.slope) <= -c2 * first.slope
    before, now, tries = first, at(t), 0
    while tries < most:
        if too_high(now) or (tries > 1 and now.f >= before.f):
            break
        if flat_enough(now):
            return now, tries + 1
        if now.slope >= 0:
            break
        further = _cubic(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now, tries = now, at(further), tries + 1
    else:
        before = first
    low, high = (before, now) if before.f <= now.f else (now, before)
    stuck = False
    while tries < most and abs(high.t - low.t) * width >= tolerance:
        left, right = sorted((low.t, high.t))
        t, margin = _cubic(low, high, left, right), 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (stuck or not left < t < right):    # twice near an end: go inside
            t = right - margin if right - t < t - left else left + margin
            near = False
        stuck = near
        now, tries = at(t), tries + 1
        if too_high(now) or now.f >= low.f:
            low, high = (low, now) if low.f <= now.f else (now, low)
            continue
        if flat_enough(now):
            return now, tries + 1
        if now.slope * (high.t - low.t) >= 0:
            high = low
        low = now
    return low, tries + 1
