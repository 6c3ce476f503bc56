"""The heart: Tensor, the op decorator with its registry, and the engine that walks the graph.

Imports dtypes.py and device.py alone. Read it in this order: `op` (what an operation is), the
dispatch (`_call1`, `_call2` for the everyday case, `dispatch` for everything), `Node` and `walk`
(gradients), `Tensor`. A program in three lines: a call runs the op's forward on arrays and, when
an input wants gradients, leaves a `Node` that keeps what the op's vjp names; nodes are numbered,
so creation order is a topological order; `walk` visits them newest first.
"""
from __future__ import annotations

import copy
import functools
import itertools
import sys
import threading

import numpy as np

from .device import (CPU, Place, asarray, asnumpy, current_place, current_xp,  # noqa: F401
                     generator, is_array, parse, place_of, xp_of)
from .dtypes import (BOOL, F16, F32, F64, DType, convert_dtype, default_complex, default_float,
                     get_default_dtype, np_dtype, promote, with_scalar)

ndarray = np.ndarray
_SCALARS = (bool, int, float, complex, np.generic)
_serial = itertools.count(1).__next__        # numbers nodes and in-place writes alike


class Array:
    """Marks a parameter of an op as a tensor input; `Array | None` as an optional one."""


class Arrays:
    """Marks a parameter of an op as a list of tensors."""


# ---- modes: everything unusual sets one counter, which the fast path tests once
class _Local(threading.local):
    grad = True          # are operations recorded for gradients?
    amp = None           # the state auto_cast sets: .decide(op), .dtype
    tracer = None        # who turns calls into a Program
    observers = ()       # called with (op, inputs, outputs) after each op


_local = _Local()
_unusual = 0
_lock = threading.Lock()


def _set_mode(name: str, value):
    """Set an unusual mode of this thread (amp, tracer, observers); returns the old value."""
    global _unusual
    old = getattr(_local, name)
    with _lock:
        _unusual += bool(value) - bool(old)
    setattr(_local, name, value)
    return old


def set_amp_state(state):
    """Make `state` decide casts from now on in this thread (None: off); returns the old one."""
    return _set_mode("amp", state)


def amp_state():
    """What `set_amp_state` set in this thread, or None."""
    return _local.amp


def set_tracer(tracer):
    """Send every call of this thread to `tracer.record(op, inputs, attrs)` first.

    record returns NotImplemented for calls that shall simply run. Returns the old tracer.
    """
    return _set_mode("tracer", tracer)


def tracer():
    """The tracer of this thread, or None."""
    return _local.tracer


def set_observers(observers):
    """Call each observer with (op, inputs, outputs) after every op; returns the old ones."""
    return _set_mode("observers", tuple(observers))


class _GradMode:
    """Base of no_grad and enable_grad: a context manager and a decorator."""

    mode = True

    def __init__(self, func=None) -> None:
        self._func, self._old = func, []
        if func is not None:
            functools.update_wrapper(self, func)

    def __enter__(self):
        self._old.append(_local.grad)
        _local.grad = self.mode
        return self

    def __exit__(self, *error) -> None:
        _local.grad = self._old.pop()

    def __call__(self, *args, **kwargs):
        if self._func is not None:                  # @no_grad without parentheses
            with type(self)():
                return self._func(*args, **kwargs)
        func, kind = args[0], type(self)

        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            with kind():
                return func(*args, **kwargs)
        return wrapped

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)


class no_grad(_GradMode):
    """Within it nothing is recorded: `with paddle.no_grad():` or `@paddle.no_grad()`.

    >>> import minipaddle as paddle
    >>> w = paddle.to_tensor([1., 2.], stop_gradient=False)
    >>> with paddle.no_grad():
    ...     y = w * 2
    >>> y.stop_gradient
    True
    """

    mode = False


class enable_grad(_GradMode):
    """Within it operations are recorded again, also inside `no_grad`.

    >>> import minipaddle as paddle
    >>> w = paddle.to_tensor([1.], stop_gradient=False)
    >>> with paddle.no_grad():
    ...     with paddle.enable_grad():
    ...         y = w * 2
    >>> y.stop_gradient
    False
    """


class set_grad_enabled:
    """Switch recording on or off, at once and, in a `with`, until its end.

    >>> import minipaddle as paddle
    >>> with paddle.set_grad_enabled(False):
    ...     paddle.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._old, _local.grad = _local.grad, bool(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        _local.grad = self._old


def is_grad_enabled() -> bool:
    """Whether operations are recorded for gradients in this thread."""
    return _local.grad


# ---- the registry: an operation is one definition
registry: dict[str, "Op"] = {}
# Where public names go; the package's __init__ replaces these dicts by its modules' own.
namespaces: dict[str, dict] = {"paddle": {}, "functional": {}}


class Op:
    """One operation: its forward, its vjp, and what the rest of the framework must know of it."""

    def __init__(self, name, forward, *, namespace, broadcasts, promote, amp, half, view, random,
                 residuals, legacy, casts, samples, portable):
        self.name, self.forward, self.namespace = name, forward, namespace
        self.broadcasts, self.promote, self.amp, self.half = broadcasts, promote, amp, half
        self.view, self.random, self.residuals, self.legacy = view, random, residuals, legacy
        self.samples, self.portable, self.doc = samples, portable, forward.__doc__
        self.vjp = self.kernel_vjp = self.composite = self.explain = None
        self.adapter = self.keeps = self.keeps_out = self.simple = None
        self._read_signature(forward)
        self.casts = tuple(n for n in self.inputs if casts is None or n in casts)

    def _read_signature(self, forward) -> None:
        code = forward.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[1:count]
        self.star = code.co_varnames[count] if code.co_flags & 0x04 else None
        if self.star:                               # (equation, *operands): the list comes last
            names += (self.star,)
        optional = code.co_varnames[1:code.co_argcount][-len(forward.__defaults__ or ()):] \
            if forward.__defaults__ else ()
        self.inputs, self.attrs, self.lists, self.optional = [], [], set(), set(optional)
        for name in names:
            kind = forward.__annotations__.get(name)
            text = "" if kind is None else kind if isinstance(kind, str) else str(kind)
            if "Arrays" in text or name == self.star:
                self.lists.add(len(self.inputs))
                self.inputs.append(name)
            elif "Array" in text or (kind is None and name not in optional):
                self.inputs.append(name)
            else:
                self.attrs.append(name)
        self.names = names
        # run(xp, *inputs, *attrs): the forward itself where its parameters stand so already
        if list(names) == self.inputs + self.attrs and not self.star:
            self.run = forward
        else:
            call = ", ".join("*" + n if n == self.star else
                             n if n in code.co_varnames[:code.co_argcount] else f"{n}={n}"
                             for n in names)
            params = ", ".join(["xp", *self.inputs, *self.attrs])
            self.run = eval(f"lambda {params}: f(xp, {call})", {"f": forward})

    @property
    def signature(self):
        """The forward's `inspect.Signature`."""
        import inspect
        return inspect.signature(self.forward)

    def prepare(self) -> None:
        """Read off the vjp's parameter names what a node must keep."""
        vjp = self.vjp or self.kernel_vjp
        wants = vjp.__code__.co_varnames[2:vjp.__code__.co_argcount] if vjp else ()
        slots = {n: f"i[{k}]" for k, n in enumerate(self.inputs)}
        slots.update({n + "_shape": f"s[{k}]" for k, n in enumerate(self.inputs)})
        slots.update({n: f"a[{k}]" for k, n in enumerate(self.attrs)})
        slots.update({n: f"r[{k}]" for k, n in enumerate(self.residuals)})
        slots.update({"out": "o", "need": "n"})
        for n in wants:
            if n not in slots:
                raise TypeError(f"{self.name}: its vjp names {n!r}, which is none of "
                                f"{', '.join(sorted(slots))}")
            if n in self.residuals and self.vjp:
                raise TypeError(f"{self.name}: only a kernel_vjp may name the residual {n!r}")
        self.keeps = tuple(n in wants for n in self.inputs)
        self.keeps_out, self.keeps_residuals = "out" in wants, bool(set(self.residuals) & {*wants})
        self.keeps_shapes = self.broadcasts or any(n + "_shape" in wants for n in self.inputs)
        self.wants_need, self.constant = "need" in wants, vjp is None
        args = ", ".join(slots[n] for n in wants)
        self.adapter = eval(f"lambda v, F, g, i, o, a, s, n, r: v(F, g, {args})")
        self.simple = not (self.lists or self.residuals or self.view) and (
            self.composite is None or all(self.keeps))

    def call_composite(self, F, tensors, attrs, residuals):
        """Run the composite definition: it may name inputs, attributes and random residuals."""
        code = self.composite.__code__
        known = dict(zip(self.inputs, tensors)) | dict(zip(self.attrs, attrs))
        known |= {n: Tensor(r) for n, r in zip(self.residuals, residuals or ())}
        return self.composite(F, **{n: known[n] for n in code.co_varnames[1:code.co_argcount]})

    def error(self, error, inputs, attrs):
        """The exception a failed forward is answered with: its type, and words a user can use."""
        text = None
        if self.explain is not None:
            try:
                text = self.explain(**dict(zip(self.inputs, inputs)), **dict(zip(self.attrs, attrs)))
            except Exception as second:             # an explanation must never hide the fault
                text = f"{error} ({second})"
        if text is None:
            text = f"{error}; {_describe(self, inputs, attrs)}"
        kind = type(error)
        try:
            return kind(f"{self.name}: {text}")
        except TypeError:
            return ValueError(f"{self.name}: {text}")


def _describe(op, inputs, attrs) -> str:
    words = []
    for name, x in zip(op.inputs, inputs):
        for k, t in enumerate(x) if isinstance(x, (list, tuple)) else ((None, x),):
            label = name if k is None else f"{name}[{k}]"
            words.append(f"{label} is {list(t._data.shape)} {t._data.dtype}"
                         if isinstance(t, Tensor) else f"{label} is {t!r}")
    words += [f"{name}={value!r}" for name, value in zip(op.attrs, attrs)]
    return ", ".join(words)


def op(name=None, *, namespace="paddle", aliases=(), method=None, inplace=False, broadcasts=False,
       promote="keep", amp="promote", half=None, view=False, random=False, residuals=(), legacy=(),
       casts=None, samples=None, portable=True):
    """Turn a forward on arrays into an operation; see `docs/adding_an_op.md` for all options.

    Everything else follows from this one place: the function `paddle.<name>`, the method, the
    operators, the in-place form, static capture, AMP, the row in the docs, the gradient check.

    >>> import minipaddle as paddle
    >>> from minipaddle.core import op
    >>> @op(promote="float")
    ... def cube_demo(xp, x):
    ...     return x * x * x
    >>> @cube_demo.vjp
    ... def _(F, g, x):
    ...     return g * x * x * 3.0
    >>> x = paddle.to_tensor([2.0], stop_gradient=False)
    >>> x.cube_demo().backward(); float(x.grad)
    12.0
    """
    def define(forward):
        label = name if isinstance(name, str) else forward.__name__
        taken = registry.get(label)
        if taken is not None and taken.forward.__module__ != forward.__module__:
            raise ValueError(f"an op named {label!r} is registered already, by "
                             f"{taken.forward.__module__}; choose another name")
        record = Op(label, forward, namespace=namespace, broadcasts=broadcasts, promote=promote,
                    amp=amp, half=half, view=view, random=random, residuals=tuple(residuals),
                    legacy=tuple(legacy), casts=casts, samples=samples, portable=portable)
        function = _public_function(record)
        function.op = record
        function.vjp = functools.partial(_attach, record, "vjp")
        function.kernel_vjp = functools.partial(_attach, record, "kernel_vjp")
        function.composite = functools.partial(_attach, record, "composite")
        function.explain = functools.partial(_attach, record, "explain")
        registry[label] = record
        setattr(ops, label, function)
        for kernel in _kernels.values():
            kernel.__dict__.pop(label, None)
        record.prepare()
        _publish(function, label, namespace, aliases, method, inplace)
        return function
    if callable(name):                              # @op without parentheses
        forward, name = name, None
        return define(forward)
    return define


def _attach(record, kind, function):
    setattr(record, kind, function)
    record.prepare()
    return function


def _publish(function, name, namespace, aliases=(), method=None, inplace=False) -> None:
    """Put a function under its public names and, as a method, on Tensor."""
    if namespace is not None:
        for n in (name, *aliases):
            namespaces[namespace][n] = function
    if method is None:
        method = namespace == "paddle"
    methods = (name, *aliases) if method is True else method or ()
    for n in methods:
        swapped = n.startswith("__r") and n not in ("__repr__", "__round__", "__rshift__")
        setattr(Tensor, n, _operator(function, swapped) if n.startswith("__") else function)
    if inplace:
        changed = _inplace_form(function, name + "_")
        for n in (name, *aliases):
            if namespace is not None:
                namespaces[namespace][n + "_"] = changed
            if methods:
                setattr(Tensor, n + "_", changed)


def public(namespace="paddle", *, name=None, aliases=(), method=None, inplace=False):
    """Publish a plain function, composed of ops, under `paddle.*` and as a Tensor method."""
    def define(function):
        label = name or function.__name__
        setattr(ops, label, function)
        _publish(function, label, namespace, aliases, method, inplace)
        return function
    return define


def _operator(function, swapped):
    """A dunder method: gives NotImplemented for strangers, so that Python can ask them."""
    record = getattr(function, "op", None)
    if record is not None and len(record.inputs) == 1:
        return function                             # unary
    if record is not None and len(record.inputs) == 2 and not record.lists:
        attrs = function.__defaults__[:-1]          # straight to the dispatch: one call less

        def function(x, y):
            return _call2(record, x, y, attrs)

    def forward(x, y):
        return function(x, y) if type(y) in _OPERANDS or _is_operand(y) else NotImplemented

    def backward(x, y):
        return function(y, x) if type(y) in _OPERANDS or _is_operand(y) else NotImplemented
    return backward if swapped else forward


def _is_operand(y) -> bool:
    return isinstance(y, Tensor) or isinstance(y, _SCALARS) or is_array(y)


def _inplace_form(function, name):
    @functools.wraps(function)
    def changed(x, *args, **kwargs):
        return inplace(function, x, *args, **kwargs)
    changed.__name__ = changed.__qualname__ = name
    changed.__doc__ = f"`{name[:-1]}` that writes its result into x; see `paddle.{name[:-1]}`."
    return changed


def _public_function(record):
    """The function users call. Its text is generated, so that Python itself binds arguments."""
    f, names = record.forward, list(record.names)
    code = f.__code__
    keywords = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    params = [n for n in names if n not in keywords and n != record.star]
    if record.star:
        params.append("*" + record.star)
    elif keywords:
        params.append("*")
    params += keywords
    if "name" not in names:
        params += ["name"]
    inputs, attrs = ", ".join(record.inputs), "".join(n + ", " for n in record.attrs)
    call = {1: "_call1(_op, {0}, ({1}))", 2: "_call2(_op, {0}, ({1}))"}.get(
        len(record.inputs), "dispatch(_op, [{0}], ({1}))")
    if record.lists or not record.inputs:
        call = "dispatch(_op, [{0}], ({1}))"
    python = record.name if record.name.isidentifier() else "op"
    text = f"def {python}({', '.join(params)}):\n    return {call.format(inputs, attrs)}\n"
    scope = {"_op": record, "_call1": _call1, "_call2": _call2, "dispatch": dispatch}
    exec(compile(text, f"<call of {record.name}>", "exec"), scope)
    function = scope[python]
    if record.star or keywords:
        function.__defaults__ = f.__defaults__
        function.__kwdefaults__ = {**(f.__kwdefaults__ or {}),
                                   **({} if "name" in names else {"name": None})}
    else:
        function.__defaults__ = (f.__defaults__ or ()) + (() if "name" in names else (None,))
    function.__doc__, function.__module__ = f.__doc__, f.__module__
    function.__annotations__ = {
        n: a.replace("Arrays", "list[Tensor]").replace("Array", "Tensor") if isinstance(a, str)
        else a for n, a in f.__annotations__.items()}
    return function


# ---- the three worlds an op's text runs in
class Kernels:
    """Every op's forward bound to one array module: what a vjp's `F` is in ordinary backward."""

    recorded = False

    def __init__(self, xp) -> None:
        self.xp = xp

    def __getattr__(self, name):
        try:
            record = registry[name]
        except KeyError:
            raise AttributeError(f"no op is called {name!r}") from None
        bound = functools.partial(record.forward, self.xp)
        if record.residuals:
            full, hidden = bound, len(record.residuals)

            def bound(*args, **kwargs):
                out = full(*args, **kwargs)[:-hidden]
                return out[0] if len(out) == 1 else out
        setattr(self, name, bound)
        return bound


class _Recorded:
    """Every op as recorded function: `F` under create_graph, and what composed functions use."""

    recorded = True


_kernels: dict = {}
ops = _Recorded()


def kernels(xp) -> Kernels:
    """The `Kernels` of an array module."""
    found = _kernels.get(xp)
    if found is None:
        found = _kernels[xp] = Kernels(xp)
    return found


# ---- calling an op
def _call1(op, x, attrs):
    """One tensor input; float32 or float64 on NumPy with nothing unusual goes straight through."""
    try:
        a = x._data
        kind = a.dtype
    except AttributeError:
        return dispatch(op, [x], attrs)
    if (_unusual or type(a) is not ndarray or (kind is not F32 and kind is not F64)
            or not op.simple):
        return dispatch(op, [x], attrs)
    try:
        out = op.run(np, a, *attrs)
    except Exception as error:
        raise op.error(error, [x], attrs) from error
    if type(out) is not ndarray:
        if type(out) is tuple:
            return finish(op, [x], attrs, out)
        out = np.asarray(out)
    t = _new(Tensor)
    t._data = out
    if x.stop_gradient or not _local.grad:
        return t
    if op.constant:
        return finish(op, [x], attrs, out)
    node = x._node
    if node is None:
        node = x
    elif x._storage is not None:
        _check_history(op, x)
    t.stop_gradient = False
    t._node = new = Node(
        op, (node,), (x,) if op.keeps[0] else _NONE,
        out if op.keeps_out else None, attrs, (a.shape,) if op.keeps_shapes else None, out.dtype)
    if op.keeps_out:
        t._storage = new.storage = Storage()
    return t


def _call2(op, x, y, attrs):
    """Two inputs, the second may be a Python scalar; as `_call1` else."""
    try:
        a = x._data
        kind = a.dtype
        if type(y) is float or type(y) is int:
            b = _scalars.get((kind, y))
            if b is None:
                b = _scalar(kind, y)
            other = None
        else:
            b, other = y._data, y
    except AttributeError:
        return dispatch(op, [x, y], attrs)
    if (_unusual or type(a) is not ndarray or kind is not b.dtype
            or (kind is not F32 and kind is not F64) or not op.simple):
        return dispatch(op, [x, y], attrs)
    try:
        out = op.run(np, a, b, *attrs)
    except Exception as error:
        raise op.error(error, [x, y], attrs) from error
    if type(out) is not ndarray:
        if type(out) is tuple:
            return finish(op, [x, b if other is None else y], attrs, out)
        out = np.asarray(out)
    t = _new(Tensor)
    t._data = out
    if other is None:
        if x.stop_gradient or not _local.grad:
            return t
        y, edge2 = b, None
    else:
        if (x.stop_gradient and y.stop_gradient) or not _local.grad:
            return t
        edge2 = None if y.stop_gradient else _edge(op, y)
    if op.constant:
        return finish(op, [x, y], attrs, out)
    edge1 = None if x.stop_gradient else _edge(op, x)
    keep1, keep2 = op.keeps
    t.stop_gradient = False
    t._node = new = Node(
        op, (edge1, edge2), (x if keep1 else None, y if keep2 else None),
        out if op.keeps_out else None, attrs,
        (a.shape, b.shape) if op.keeps_shapes else None, out.dtype)
    if op.keeps_out:
        t._storage = new.storage = Storage()
    return t


_scalars: dict = {}


def _scalar(kind, value):
    """A Python scalar as a 0-d array, kept: NumPy takes those twice as fast as scalars."""
    array = np.asarray(value, kind)
    array.flags.writeable = False
    if value != 0:                                  # 0.0 and -0.0 would be one key
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[kind, value] = array
    return array


def _edge(op, x):
    """Where x's gradient goes: to its node, or to x itself when it is a leaf."""
    node = x._node
    if node is None:
        return x
    if x._storage is not None:
        _check_history(op, x)
    return node


def _check_history(op, x) -> None:
    if x._storage.tracked > x._seen:
        raise RuntimeError(
            f"{op.name}: this tensor {list(x._data.shape)} shares memory with one that was written "
            f"in place{x._storage.where} since; its gradient would miss that write. Take the view "
            "again after the write, or clone() before it")


def dispatch(op, inputs, attrs):
    """The general way: scalars, NumPy arrays, AMP, promotion, half precision, GPU, tracing."""
    inputs, tensors = _to_tensors(op, inputs)
    if _local.tracer is not None:
        result = _local.tracer.record(op, inputs, dict(zip(op.attrs, attrs)))
        if result is not NotImplemented:
            return result
    if _local.amp is not None and tensors:
        inputs = _amp_cast(op, inputs, _local.amp)
    inputs = _unify(op, inputs)
    arrays = [[t._data for t in x] if isinstance(x, list) else
              x._data if isinstance(x, Tensor) else x for x in inputs]
    xp = _module_of(op, tensors)
    half = op.half is None and xp is np and any(
        getattr(a, "dtype", None) is F16 for a in _flat(arrays))
    try:
        if half:
            out = op.run(xp, *_astype(arrays, F16, F32), *attrs)
            out = _astype(out, F32, F16)
        else:
            out = op.run(xp, *arrays, *attrs)
    except Exception as error:
        raise op.error(error, inputs, attrs) from error
    result = finish(op, inputs, attrs, out)
    for observer in _local.observers:
        observer(op, inputs, result)
    return result


def _flat(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from v
        else:
            yield v


def _astype(value, old, new):
    """The same structure with arrays of dtype `old` turned to `new`."""
    if isinstance(value, (list, tuple)):
        return type(value)(_astype(v, old, new) for v in value)
    return value.astype(new) if getattr(value, "dtype", None) == old else value


def _to_tensors(op, inputs):
    """Check every input's kind; NumPy arrays become tensors. Also all tensors in one list."""
    inputs, tensors = list(inputs), []
    for i, x in enumerate(inputs):
        if i in op.lists:
            if x is None or isinstance(x, (Tensor, str, *_SCALARS)):
                raise TypeError(f"{op.name}: {op.inputs[i]} must be a list of Tensors, "
                                f"got {_kind(x)}")
            inputs[i] = [_as_tensor(op, i, t) for t in x]
            tensors += inputs[i]
        elif isinstance(x, Tensor):
            tensors.append(x)
        elif isinstance(x, _SCALARS) or (x is None and op.inputs[i] in op.optional):
            continue
        else:
            inputs[i] = _as_tensor(op, i, x)
            tensors.append(inputs[i])
    if not tensors and op.inputs:
        for i, x in enumerate(inputs):
            if isinstance(x, _SCALARS):
                inputs[i] = to_tensor(x)
                tensors.append(inputs[i])
                break
    return inputs, tensors


def _as_tensor(op, i, value):
    if isinstance(value, Tensor):
        return value
    if is_array(value) or (i in op.lists and isinstance(value, _SCALARS)):
        return to_tensor(value)
    raise TypeError(f"{op.name}: {op.inputs[i]} must be a Tensor, got {_kind(value)}")


def _kind(value) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r:.60}"


def _amp_cast(op, inputs, state):
    """Casts of automatic mixed precision: recorded ones, so that gradients are cast back."""
    plan = state.decide(op)
    if plan is None:
        return inputs
    picked = [x for n, x in zip(op.inputs, inputs) if n in op.casts]
    kinds = {t._data.dtype for t in _flat(picked) if isinstance(t, Tensor)} & {F16, F32}
    low = state.dtype.np
    target = low if plan == "low" else F32 if plan == "float32" or F32 in kinds else low
    if not kinds or kinds == {target}:
        return inputs
    old = set_amp_state(None)
    try:
        return _cast_inputs(op, inputs, lambda dtype: target if dtype in (F16, F32) else dtype)
    finally:
        set_amp_state(old)


def _cast_inputs(op, inputs, rule):
    def cast(x):
        if isinstance(x, list):
            return [cast(t) for t in x]
        if not isinstance(x, Tensor) or rule(x._data.dtype) == x._data.dtype:
            return x
        return ops.cast(x, rule(x._data.dtype))
    return [cast(x) if n in op.casts else x for n, x in zip(op.inputs, inputs)]


def _unify(op, inputs):
    """Bring the inputs to the dtype that the op's promotion rule asks for."""
    picked = [x for n, x in zip(op.inputs, inputs) if n in op.casts]
    kinds = [t._data.dtype for t in _flat(picked) if isinstance(t, Tensor)]
    if not kinds:
        return inputs
    target, rule = kinds[0], op.promote
    if rule in ("promote", "float"):
        target = promote(kinds)
    elif rule == "same" and any(k != target for k in kinds):
        raise TypeError(f"{op.name}: the inputs must have one dtype; {_describe(op, inputs, ())}. "
                        "Cast one with x.astype(...)")
    for x in _flat(picked):
        if isinstance(x, _SCALARS):
            target = with_scalar(target, x)
    if rule == "float" and target.kind not in "fc":
        target = default_float()
    if rule != "keep" and any(k is not target for k in kinds):
        inputs = _cast_inputs(op, inputs, lambda dtype: target)
    return [target.type(x) if isinstance(x, _SCALARS) else x for x in inputs]


def _module_of(op, tensors):
    if not tensors:
        return current_xp()
    xp = xp_of(tensors[0]._data)
    for t in tensors[1:]:
        if xp_of(t._data) is not xp:
            where = ", ".join(str(place_of(t._data)) for t in tensors)
            raise RuntimeError(f"{op.name}: the inputs are on different devices ({where}); move "
                               "them to one with .cpu(), .cuda() or paddle.to_tensor(..., place=)")
    return xp


def finish(op, inputs, attrs, out):
    """Wrap what a forward returned, and record a node when an input wants gradients."""
    residuals = None
    if op.residuals:
        residuals, out = out[-len(op.residuals):], out[:-len(op.residuals)]
        out = out[0] if len(out) == 1 else out
    arrays = out if isinstance(out, (tuple, list)) else (out,)
    results = [Tensor(a if is_array(a) else np.asarray(a)) for a in arrays]
    many = isinstance(out, (tuple, list))
    tensors = [t for t in _flat(inputs) if isinstance(t, Tensor)]
    if _local.grad and any(not t.stop_gradient for t in tensors):
        _record(op, inputs, attrs, results, many, residuals)
    if op.view and tensors:
        for t in results:
            if _same_memory(t._data, tensors[0]._data):
                share(tensors[0], t)
    return type(out)(results) if many else results[0]


def _record(op, inputs, attrs, results, many, residuals) -> None:
    differentiable = op.vjp is not None or op.kernel_vjp is not None
    kinds = [t._data.dtype.kind for t in results]
    if not differentiable and not any(k in "fc" for k in kinds):
        return
    edges, shapes = [], [] if op.keeps_shapes else None
    for i, x in enumerate(inputs):
        group = x if isinstance(x, list) else (x,)
        edges += [None if not isinstance(t, Tensor) or t.stop_gradient else _edge(op, t)
                  for t in group]
        if shapes is not None:
            sizes = [getattr(t, "_data", t).shape if t is not None else () for t in group]
            shapes.append(sizes if isinstance(x, list) else sizes[0])
    kept = tuple(x if k else None for x, k in zip(inputs, op.keeps))
    out = None
    if op.keeps_out:
        out = tuple(t._data for t in results) if many else results[0]._data
    node = Node(op, tuple(edges), kept, out, attrs, shapes and tuple(shapes),
                None if many else results[0]._data.dtype)
    if residuals is not None and (op.keeps_residuals or op.composite is not None):
        node.residuals = residuals
    if op.composite is not None and not all(op.keeps):
        node.origin = inputs                        # a composite needs every input again
    if op.keeps_out:
        node.storage = Storage()
    for i, t in enumerate(results):
        if kinds[i] in "fc" or not many:
            t.stop_gradient = kinds[i] not in "fc" and not differentiable
            t._node = Pick(node, i, t._data.dtype) if many else node
            if op.keeps_out:
                t._storage = node.storage
    if many:
        node.metas = [(t._data.shape, t._data.dtype) for t in results]


# ---- the graph
_NONE = (None,)


class Node:
    """One recorded call: a closure of the op's vjp over what that vjp names."""

    # Class-level defaults, as on Tensor: a node sets what it has.
    residuals = storage = hooks = metas = origin = None

    def __init__(self, op, edges, ins, out, attrs, shapes, dtype):
        self.op = op
        self.serial = _serial()
        self.edges = edges
        self.ins = ins
        self.out = out
        self.attrs = attrs
        self.shapes = shapes
        self.dtype = dtype

    def free(self) -> None:
        """Let go of everything kept; a later walk that comes here is told so."""
        self.edges = self.ins = self.out = self.residuals = self.origin = self.attrs = None

    def pull(self, F, g, need):
        """Gradients of the inputs from that of the output, on raw arrays."""
        op, ins = self.op, self.ins
        if op.vjp is None and op.kernel_vjp is None:
            raise RuntimeError(f"{op.name} has no gradient; detach() its input, or leave it out of "
                               "what is differentiated")
        arrays = []
        for i, t in enumerate(ins):
            if isinstance(t, Tensor):
                if t._storage is not None:
                    self.check(t._storage, op.inputs[i])
                arrays.append(t._data)
            elif isinstance(t, list):
                for k, u in enumerate(t):
                    if u._storage is not None:
                        self.check(u._storage, f"{op.inputs[i]}[{k}]")
                arrays.append([u._data for u in t])
            else:
                arrays.append(t)
        if self.storage is not None:
            self.check(self.storage, "its result")
        out, residuals, world = self.out, self.residuals, F
        if op.vjp is None:
            world = F.xp
        if self.dtype is F16 and op.half is None and F.xp is np:
            g, arrays, out, residuals = _astype([g, arrays, out, residuals], F16, F32)
        return op.adapter(op.vjp or op.kernel_vjp, world, g, arrays, out, self.attrs,
                          self.shapes, need, residuals)

    def pull_recorded(self, F, g, need):
        """The same on Tensors, so that the gradients can be differentiated again."""
        op = self.op
        if op.vjp is None and op.composite is None:
            what = "has no gradient" if op.kernel_vjp is None else \
                "can be differentiated once only: its backward has no differentiable definition"
            raise RuntimeError(f"{op.name} {what} (create_graph=True asks for it)")
        ins = list(self.ins if self.origin is None else self.origin)
        for i, t in enumerate(ins):
            for u in t if isinstance(t, list) else (t,):
                if isinstance(u, Tensor) and u._storage is not None:
                    self.check(u._storage, op.inputs[i])
        if op.vjp is None:
            return self._differentiate_composite(F, g, ins)
        out = self.out
        if out is not None:
            self.check(self.storage, "its result")
            nodes = [Pick(self, i, a.dtype) for i, a in enumerate(out)] \
                if isinstance(out, tuple) else [self]
            again = [_linked(a, n) for a, n in zip(out if isinstance(out, tuple) else (out,), nodes)]
            out = tuple(again) if isinstance(out, tuple) else again[0]
        return op.adapter(op.vjp, F, g, ins, out, self.attrs, self.shapes, need, None)

    def _differentiate_composite(self, F, g, ins):
        # Each input passes an identity first: the same tensor given twice must stay two inputs.
        fresh = [[ops.identity(u) for u in t] if isinstance(t, list) else
                 ops.identity(t) if isinstance(t, Tensor) else t for t in ins]
        out = self.op.call_composite(F, fresh, self.attrs, self.residuals)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        g = list(g) if isinstance(g, (tuple, list)) else [g]
        wanted = [t for t in _flat(fresh) if isinstance(t, Tensor) and not t.stop_gradient]
        pairs = [(o, h) for o, h in zip(outs, g) if not o.stop_gradient]
        found = iter(grad([o for o, _ in pairs], wanted, [h for _, h in pairs], create_graph=True,
                          allow_unused=True))
        return tuple([next(found) if not u.stop_gradient else None for u in t]
                     if isinstance(t, list) else
                     next(found) if isinstance(t, Tensor) and not t.stop_gradient else None
                     for t in fresh)

    def check(self, storage, name) -> None:
        if storage.stamp > self.serial:
            raise RuntimeError(
                f"{self.op.name}: {name} was modified in place{storage.where} after this op had "
                "kept it for its gradient (version mismatch). Write into a clone(), or write "
                "before the op uses it")


class Pick(Node):
    """One output of a node that has several: hands its gradient on under its index."""

    def __init__(self, node, index, dtype):
        super().__init__(node.op, (node,), (), None, None, None, dtype)
        self.index = index


def _linked(array, node):
    t = Tensor(array)
    t.stop_gradient, t._node = False, node
    return t


class Storage:
    """What tensors that share memory share: when and where it was last written in place."""

    __slots__ = ("stamp", "tracked", "shared", "where")

    def __init__(self) -> None:
        self.stamp = self.tracked = 0
        self.shared, self.where = False, ""


def _same_memory(a, b) -> bool:
    base, other = a.base, b.base
    return a is b or base is b or (base is not None and base is other) or \
        (other is not None and other is a)


def share(x, view=None) -> None:
    """Note that x's memory is shared (with `view`, where given): writes must then go into it."""
    if x._storage is None:
        x._storage = Storage()
    x._storage.shared = True
    if view is not None:
        view._storage, view._seen = x._storage, _serial()


def written(x, recorded: bool = False, serial: int | None = None) -> None:
    """Stamp x's memory as written in place just now: older nodes that kept it must refuse."""
    s = x._storage
    if s is None:
        s = x._storage = Storage()
    s.stamp = x._seen = serial or _serial()
    if recorded:
        s.tracked = s.stamp
    s.where = _user_line()


def _user_line() -> str:
    """' at file:line' of the nearest frame outside the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"


def inplace(function, x, *args, **kwargs):
    """Run `function` on x and leave the result in x: what `x.op_(...)` does.

    RuntimeError when x is a leaf that wants gradients (its old value would be lost).
    """
    if _local.tracer is not None:
        result = _local.tracer.inplace(function, x, *args, **kwargs)
        if result is not NotImplemented:
            return result
    if _local.grad and not x.stop_gradient and x._node is None:
        raise RuntimeError(f"{getattr(function, '__name__', 'write')}: x is a leaf that needs "
                           "gradients; it cannot be changed in place. Do it under "
                           "paddle.no_grad(), or work on x.clone()")
    old = x._alias()
    out = function(old, *args, **kwargs)
    if out is old:
        return x
    array = out._data
    if array.dtype != x._data.dtype:
        out = ops.cast(out, x._data.dtype)
        array = out._data
    storage = x._storage
    if storage is not None and storage.shared:
        if array.shape != x._data.shape:
            if not _same_memory(array, x._data):
                raise ValueError(f"{function.__name__}_: the result has shape {list(array.shape)}, "
                                 f"x has {list(x._data.shape)} and shares its memory")
            x._data = array
        elif array is not x._data:
            if out._node is not None and any(t is old for t in _flat(out._node.ins or ())):
                old._data = old._data.copy()        # the node keeps the old value
            x._data[...] = array
    else:
        if array.shape != x._data.shape and xp_of(array).broadcast_shapes(
                array.shape, x._data.shape) != array.shape:
            raise ValueError(f"{function.__name__}_: the result has shape {list(array.shape)}, "
                             f"x has {list(x._data.shape)}")
        x._data = array
        if out._storage is not None and not out._storage.shared:
            if storage is not None:
                storage.stamp = _serial()           # nodes that kept x look there
            x._storage = out._storage
    recorded = out._node is not None and not out.stop_gradient
    if recorded or _local.grad:
        x._node, x.stop_gradient = out._node, out.stop_gradient
    written(x, recorded, out._node.serial if recorded else None)
    return x


# ---- walking back
def _unbroadcast(F, g, shape):
    """Sum a gradient over the dimensions its input was broadcast along."""
    extra = len(g.shape) - len(shape)
    axes = list(range(extra)) + [i + extra for i, n in enumerate(shape)
                                 if n == 1 and g.shape[i + extra] != 1]
    if axes:
        g = F.sum(g, axis=axes, keepdim=True)
    return F.reshape(g, list(shape)) if extra else g


def walk(roots, seeds, recorded, retain, wanted=None, stopped=()):
    """Carry gradients from the roots back; newest node first, each freed once it is done.

    roots: tensors; seeds: their gradients (arrays, or Tensors when recorded). Leaves accumulate
    into `.grad`; with `wanted` (a dict whose keys are edges) they go there instead.
    """
    grads: dict = {}
    for root, seed in zip(roots, seeds):
        edge = root if root._node is None else root._node
        grads[edge] = seed if edge not in grads else grads[edge] + seed
    nodes, stack, seen = [], [e for e in grads if isinstance(e, Node)], set(grads)
    while stack:
        node = stack.pop()
        nodes.append(node)
        for e in node.edges or ():
            if e is not None and e not in seen:
                seen.add(e)
                if not isinstance(e, Tensor):
                    stack.append(e)
    nodes.sort(key=_by_serial)
    useful = None
    if wanted is not None:
        useful = {e for e in wanted} - set(stopped)
        for node in nodes:                          # oldest first: does it lead to a wanted one?
            if node.edges is None or any(e in useful for e in node.edges if e is not None):
                useful.add(node)
    F = ops if recorded else kernels(xp_of(seeds[0])) if seeds else None
    while nodes:
        node = nodes.pop()
        g = grads.pop(node, None)
        if g is None or (useful is not None and node not in useful):
            continue
        if node.edges is None:
            raise RuntimeError(
                f"{node.op.name}: the graph was freed by an earlier backward; a second time needs "
                "backward(retain_graph=True) the first time")
        kind = node.dtype
        if kind is not None:
            if recorded:
                if g._data.dtype != kind:
                    g = ops.cast(g, kind)
            elif g.dtype is not kind or type(g) is not ndarray:
                g = _fit(g, kind)
            if node.hooks:
                g = _run_hooks(node.hooks, g, recorded)
        if wanted is not None and node in wanted:
            wanted[node] = g
        edges = node.edges
        if type(node) is Pick:
            main = edges[0]
            parts = grads.setdefault(main, {})
            parts[node.index] = g
            if not retain:
                node.free()
            continue
        if node.metas is not None:
            g = _fill(node, g, recorded, F)
        need = None
        if node.op.wants_need or useful is not None:
            need = tuple(e is not None and (useful is None or e in useful) for e in edges)
        if node.op.lists and need is not None:
            need = _group(need, node.ins)
        found = node.pull_recorded(F, g, need) if recorded else node.pull(F, g, need)
        if type(found) is not tuple:
            found = (found,)
        if node.op.lists:
            found = tuple(_flat(found))
        shapes = node.shapes if node.op.broadcasts else None
        if len(found) != len(edges):
            raise RuntimeError(f"{node.op.name}: its vjp gave {len(found)} gradients for "
                               f"{len(edges)} inputs")
        for i, e in enumerate(edges):
            gi = found[i]
            if e is None or gi is None or (useful is not None and e not in useful):
                continue
            if shapes is not None and tuple(gi.shape) != shapes[i]:
                gi = _unbroadcast(F, gi, shapes[i])
            old = grads.get(e)
            grads[e] = gi if old is None else old + gi
        if not retain:
            node.free()
    _deliver(grads, seeds, recorded, wanted)


def _by_serial(node):
    return node.serial


def _fit(g, dtype):
    """A gradient as an array of the dtype of what it belongs to."""
    xp = xp_of(g)
    g = xp.asarray(g)
    return g if g.dtype == dtype else (g.real if g.dtype.kind == "c" and dtype.kind != "c"
                                       else g).astype(dtype)


def _fill(node, parts, recorded, F):
    """The gradients of all outputs, zeros where none arrived."""
    some = next(iter(parts.values()))
    xp = xp_of(some._data if recorded else some)
    zeros = (lambda s, d: Tensor(xp.zeros(s, d))) if recorded else xp.zeros
    return tuple(parts[i] if i in parts else zeros(shape, dtype)
                 for i, (shape, dtype) in enumerate(node.metas))


def _group(need, ins):
    """Per-tensor needs put together: one bool for each input, a list of tensors counting once."""
    flags, out = iter(need), []
    for x in ins:
        out.append(any([next(flags) for _ in x]) if isinstance(x, list) else next(flags))
    return tuple(out)


def _run_hooks(hooks, g, recorded):
    t = g if recorded else Tensor(g)
    for hook in list(hooks.values()):
        new = hook(t)
        if new is not None:
            t = new
    return t if recorded else t._data


def _deliver(grads, seeds, recorded, wanted) -> None:
    """Give the leaves their gradients; two tensors never share one gradient array."""
    given = {id(s) for s in seeds}
    for leaf, g in grads.items():
        if not isinstance(leaf, Tensor) or (wanted is not None and leaf not in wanted):
            continue
        if not recorded:
            g = _fit(g, leaf._data.dtype)
        elif g._data.dtype != leaf._data.dtype:
            g = ops.cast(g, leaf._data.dtype)
        if leaf._hooks:
            g = _run_hooks(leaf._hooks, g, recorded)
        if wanted is not None:
            wanted[leaf] = g
            continue
        if recorded:
            leaf._grad = g if leaf._grad is None else leaf.grad + g
            continue
        if leaf._grad is None or leaf._grad is _ZERO:
            if id(g) in given or g.base is not None:
                g = g.copy()
            leaf._grad = Tensor(g)
        else:
            leaf._grad = Tensor(leaf._grad._data + g)
        given.add(id(g))


def _seed(y, g, api: str):
    """The gradient to start from: ones, or what the caller gave, checked against y."""
    if g is None:
        xp = xp_of(y._data)
        return xp.ones(y._data.shape, y._data.dtype)
    g = g if isinstance(g, Tensor) else to_tensor(g)
    if g._data.shape != y._data.shape:
        raise ValueError(f"{api}: the gradient given has shape {list(g._data.shape)}, the tensor "
                         f"has {list(y._data.shape)}; they must be equal")
    return _fit(g._data, y._data.dtype)


def backward(tensors, grad_tensors=None, retain_graph: bool = False) -> None:
    """Accumulate the gradients of several tensors into the leaves' `.grad`.

    grad_tensors: one gradient (same shape) or None (ones) for each tensor. Tensors with
    stop_gradient=True are passed over. RuntimeError on a graph that was freed.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1., 2.], stop_gradient=False)
    >>> paddle.autograd.backward([x * x, x * 3.])
    >>> x.grad.tolist()
    [5.0, 7.0]
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    grad_tensors = [grad_tensors] if isinstance(grad_tensors, Tensor) else grad_tensors
    seeds = list(grad_tensors) if grad_tensors is not None else [None] * len(tensors)
    if len(seeds) != len(tensors):
        raise ValueError(f"backward: {len(tensors)} tensors but {len(seeds)} grad_tensors")
    pairs = [(t, _seed(t, g, "backward")) for t, g in zip(tensors, seeds) if not t.stop_gradient]
    if pairs:
        with _plain(), no_grad():
            walk([t for t, _ in pairs], [g for _, g in pairs], False, retain_graph)


class _plain:
    """AMP and observers off: a backward follows what the forward recorded."""

    def __enter__(self):
        self.amp = set_amp_state(None) if _local.amp is not None else None

    def __exit__(self, *error):
        if self.amp is not None:
            set_amp_state(self.amp)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool = False, no_grad_vars=None) -> list:
    """Gradients of the outputs with respect to the inputs; no `.grad` is touched.

    create_graph=True records the gradients themselves, so that they can be differentiated again.
    no_grad_vars: tensors taken as constants. Returns a list, one Tensor an input.
    ValueError for an input that is not reached, unless allow_unused=True (then None).

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor(3.0, stop_gradient=False)
    >>> (d,) = paddle.grad(x ** 3, x, create_graph=True)
    >>> float(paddle.grad(d, x)[0])
    18.0
    """
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for kind, group in (("outputs", outputs), ("inputs", inputs)):
        for t in group:
            if not isinstance(t, Tensor):
                raise TypeError(f"grad: {kind} must hold Tensors, got {_kind(t)}")
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs
    seeds = list(grad_outputs) if grad_outputs is not None else [None] * len(outputs)
    if len(seeds) != len(outputs):
        raise ValueError(f"grad: {len(outputs)} outputs but {len(seeds)} grad_outputs")
    no_grad_vars = [no_grad_vars] if isinstance(no_grad_vars, Tensor) else no_grad_vars or ()
    stopped = {t._node or t for t in no_grad_vars}
    pairs = []
    for t, g in zip(outputs, seeds):
        if not t.stop_gradient:
            start = _seed(t, g, "grad")
            pairs.append((t, (g if isinstance(g, Tensor) and g._data.dtype == t._data.dtype
                              else Tensor(start)) if create_graph else start))
    wanted = {(t if t._node is None else t._node): None for t in inputs if not t.stop_gradient}
    if pairs:
        with _plain(), (enable_grad() if create_graph else no_grad()):
            walk([t for t, _ in pairs], [g for _, g in pairs], create_graph,
                 create_graph or retain_graph is not False, wanted, stopped)
    results = []
    for i, t in enumerate(inputs):
        g = None if t.stop_gradient else wanted[t if t._node is None else t._node]
        if g is None and not allow_unused:
            raise ValueError(f"grad: inputs[{i}] {list(t._data.shape)} does not appear in the graph "
                             "of the outputs (unused); allow_unused=True gives None for it")
        results.append(g if g is None or isinstance(g, Tensor) else Tensor(g))
    return results


# ---- the tensor
class Tensor:
    """An array with a device, a place in the graph, and a gradient.

    Tensor(array) wraps an array without copying; users call `paddle.to_tensor`.
    Class-level defaults keep the making of a result cheap: only what differs is set.
    """

    stop_gradient = True
    persistable = False
    _node = None            # what made it; None for a leaf
    _grad = None
    _hooks = None           # of a leaf; a result's are on its node
    _storage = None         # shared with views, once there are any or it was written in place
    _seen = 0               # its history is right up to this serial
    _name = None
    __array_priority__ = 100

    def __init__(self, data, dtype=None) -> None:
        if not is_array(data) and not hasattr(data, "_abstract"):
            data = to_tensor(data, dtype)._data
        self._data = data

    # -- what it is
    @property
    def shape(self) -> list:
        return list(self._data.shape)

    @property
    def dtype(self) -> DType:
        return convert_dtype(self._data.dtype)

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return int(self._data.size)

    @property
    def place(self) -> Place:
        return place_of(self._data)

    @property
    def name(self) -> str:
        if self._name is None:
            self._name = unique_name("generated_tensor")
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def is_leaf(self) -> bool:
        return self.stop_gradient or self._node is None

    # -- to the host
    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array: writing to it changes nothing here."""
        a = asnumpy(self._data)
        return a.copy() if a is self._data else a

    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        # ndarray + tensor is a Tensor, as tensor + ndarray is; other ufuncs get plain arrays.
        operator = _UFUNCS.get(ufunc.__name__)
        if operator and method == "__call__" and not kwargs and len(inputs) == 2 and \
                isinstance(inputs[0], ndarray):
            return getattr(to_tensor(inputs[0]), operator)(inputs[1])
        arrays = [t.numpy() if isinstance(t, Tensor) else t for t in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    def item(self, *args):
        """The value of a one-element tensor, or of the element at a flat index or indices."""
        a = asnumpy(self._data)
        if args:
            return a.item(*args)
        if a.size != 1:
            raise ValueError(f"item: only a tensor of one element is a Python number, this one has "
                             f"shape {self.shape}; item(i) takes a flat index")
        return a.item()

    def tolist(self):
        return asnumpy(self._data).tolist()

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ValueError(f"bool: the truth value of a tensor of {self._data.size} elements is "
                             "ambiguous; use .any() or .all()")
        return bool(asnumpy(self._data).reshape(()))

    def _number(self, kind):
        if self._data.size != 1:
            raise TypeError(f"{kind.__name__}: only a tensor of one element can be converted, this "
                            f"one has shape {self.shape}")
        return kind(asnumpy(self._data).reshape(()).item())

    def __int__(self) -> int:
        return self._number(int)

    def __float__(self) -> float:
        return self._number(float)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub":
            raise TypeError(f"a {self._data.dtype} tensor cannot be used as an index")
        return self._number(int)

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __iter__(self):
        if not self._data.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self._data.shape[0]))

    def __format__(self, spec: str) -> str:
        return format(self.item() if spec and self._data.size == 1 else str(self), spec)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from .printing import tensor_text
        return tensor_text(self)

    # -- gradients
    @property
    def grad(self):
        """The accumulated gradient, a Tensor, or None."""
        if self._grad is _ZERO:
            self._grad = Tensor(xp_of(self._data).zeros(self._data.shape, self._data.dtype))
        return self._grad

    @grad.setter
    def grad(self, value) -> None:
        if value is not None:
            value = value if isinstance(value, Tensor) else to_tensor(value)
            if value._data.shape != self._data.shape:
                raise ValueError(f"grad: a gradient of shape {value.shape} cannot belong to a "
                                 f"tensor of shape {self.shape}")
        self._grad = value

    def gradient(self):
        """The gradient as a NumPy array, or None."""
        return None if self.grad is None else self.grad.numpy()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradient, or drop it with set_to_zero=False."""
        self._grad = _ZERO if set_to_zero and self._grad is not None else None

    clear_gradient = clear_grad

    def backward(self, grad_tensor=None, retain_graph: bool = False) -> None:
        """Accumulate d self / d leaf into each leaf's `.grad`; starts from ones or grad_tensor.

        RuntimeError when the graph was freed by an earlier backward without retain_graph.
        """
        backward([self], None if grad_tensor is None else [grad_tensor], retain_graph)

    def register_hook(self, hook):
        """Call `hook(grad)` when this tensor's gradient is complete; what it returns replaces it.

        Returns an object whose `remove()` takes the hook away.
        """
        if self.stop_gradient:
            raise RuntimeError("register_hook: this tensor has stop_gradient=True and gets none")
        owner = self if self._node is None else self._node
        where = "_hooks" if owner is self else "hooks"
        if getattr(owner, where) is None:
            setattr(owner, where, {})
        return HookRemover(getattr(owner, where), hook)

    def retain_grads(self) -> None:
        """Keep `.grad` of a result too."""
        if self._node is None or self.stop_gradient:
            return
        import weakref
        me = weakref.ref(self)

        def keep(g):
            t = me()
            if t is not None:
                t._grad = Tensor(g._data.copy()) if t._grad is None else Tensor(t.grad._data + g._data)
        self.register_hook(keep)

    def detach(self) -> "Tensor":
        """The same memory outside the graph."""
        t = Tensor(self._data)
        share(self, t)
        return t

    def detach_(self) -> "Tensor":
        self._node, self.stop_gradient = None, True
        return self

    def _alias(self) -> "Tensor":
        """The same value and history as another object; does not share in-place bookkeeping."""
        t = Tensor(self._data)
        t.stop_gradient, t._node = self.stop_gradient, self._node
        if self._node is not None and self._storage is not None and \
                self._storage.tracked > self._seen:
            t._storage, t._seen = self._storage, self._seen      # a stale history stays stale
        return t

    # -- values
    def set_value(self, value) -> None:
        """Overwrite the values: an array, Tensor or number of the same shape; the dtype stays."""
        source = value._data if isinstance(value, Tensor) else value
        if not is_array(source):
            source = np.asarray(source)
        if tuple(source.shape) != self._data.shape:
            raise ValueError(f"set_value: {self._name or 'the tensor'} has shape {self.shape}, the "
                             f"value has {list(source.shape)}")
        source = asarray(source, self.place).astype(self._data.dtype)
        if _local.tracer is not None:
            result = _local.tracer.set_value(self, value)
            if result is not NotImplemented:
                return
        if self._storage is not None and self._storage.shared:
            self._data[...] = source
        else:
            self._data = source if source is not getattr(value, "_data", value) else source.copy()
        written(self)

    def copy_(self, other, blocking: bool = True) -> "Tensor":
        self.set_value(other)
        return self

    @property
    def data(self) -> "Tensor":
        return self

    @data.setter
    def data(self, value) -> None:
        self.set_value(value)

    def cpu(self) -> "Tensor":
        """This tensor in host memory (itself when it is there)."""
        return self if self.place == CPU else ops.to_place(self, CPU)

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> "Tensor":
        """This tensor on a GPU (itself when it is there)."""
        place = parse(f"gpu:{device_id or 0}")
        return self if self.place == place else ops.to_place(self, place)

    def pin_memory(self) -> "Tensor":
        return self.cpu()

    def __copy__(self):
        return self.detach()

    def __deepcopy__(self, memo):
        if self._node is not None:
            raise RuntimeError("deepcopy: only leaf tensors can be copied; use clone() or detach()")
        t = type(self).__new__(type(self))
        memo[id(self)] = t
        for key, value in self.__dict__.items():
            if key == "_data":
                t._data = value.copy()
            elif key not in ("_storage", "_hooks", "_name", "_seen"):
                setattr(t, key, copy.deepcopy(value, memo) if value is not _ZERO else _ZERO)
        if self._name is not None:
            t._name = unique_name(self._name + "_deepcopy")
        return t

    def __reduce__(self):
        return _rebuild, (type(self), asnumpy(self._data), self.stop_gradient, self._name)


_UFUNCS = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__",
           "divide": "__truediv__", "true_divide": "__truediv__", "floor_divide": "__floordiv__",
           "remainder": "__mod__", "power": "__pow__", "matmul": "__matmul__",
           "equal": "__eq__", "not_equal": "__ne__", "less": "__lt__", "less_equal": "__le__",
           "greater": "__gt__", "greater_equal": "__ge__", "bitwise_and": "__and__",
           "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
_new = Tensor.__new__
_ZERO = object()            # a cleared gradient: zeros once somebody looks


class Parameter(Tensor):
    """A tensor that training changes: gradients wanted, named, listed by its Layer."""

    stop_gradient = False
    persistable = True
    is_distributed = False
    need_clip = True
    regularizer = None
    do_model_average = None

    def __init__(self, data, dtype=None, name: str | None = None, trainable: bool = True) -> None:
        super().__init__(data, dtype)
        self.stop_gradient = not trainable
        self._name = name or unique_name("_eager_param_base")
        self.optimize_attr = {"learning_rate": 1.0}

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not value


def _rebuild(kind, array, stop_gradient, name):
    t = kind.__new__(kind)
    t._data, t.stop_gradient, t._name = array, stop_gradient, name
    if kind is Parameter:
        t.optimize_attr = {"learning_rate": 1.0}
    return t


class HookRemover:
    """What register_hook returns: `remove()` takes the hook away."""

    def __init__(self, hooks: dict, hook) -> None:
        self._hooks, self._key = hooks, object()
        hooks[self._key] = hook

    def remove(self) -> bool:
        return self._hooks.pop(self._key, None) is not None


_OPERANDS = {Tensor, Parameter, float, int}
_counters: dict[str, int] = {}


def unique_name(kind: str) -> str:
    """`kind_0`, `kind_1`, ...: a counter for each kind."""
    with _lock:
        n = _counters.get(kind, 0)
        _counters[kind] = n + 1
    return f"{kind}_{n}"


def to_tensor(data, dtype=None, place=None, stop_gradient: bool = True) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested list, NumPy array or Tensor.

    Python floats become the default dtype (float32), ints int64, bools bool; NumPy arrays keep
    their dtype. place: 'cpu', 'gpu', a place; the current device when None.
    ValueError for ragged lists, TypeError for what holds no numbers.

    >>> import minipaddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]]).dtype
    paddle.int64
    >>> paddle.to_tensor([1.5, 2]).dtype
    paddle.float32
    """
    wanted = None if dtype is None else convert_dtype(dtype).np
    place = current_place() if place is None else parse(place)
    if isinstance(data, Tensor):
        if not is_array(data._data):
            return data if wanted is None else ops.cast(data, wanted)
        source, weak = data._data, False
    elif is_array(data):
        source, weak = data, False
    else:
        if isinstance(data, (list, tuple)) and _local.tracer is not None:
            built = _local.tracer.to_tensor(data, wanted)
            if built is not NotImplemented:
                return built
        try:
            source, weak = np.asarray(_plain_data(data)), True
        except ValueError as error:
            raise ValueError(f"to_tensor: data is no rectangular list of numbers ({error})") from None
    if source.dtype.kind not in "biufc":
        raise TypeError(f"to_tensor: data must hold numbers or bools, got {_kind(data)}")
    if wanted is None:
        wanted = source.dtype
        if weak and wanted.kind == "f" and source.dtype is F64:
            wanted = default_float()
        elif weak and wanted.kind == "c":
            wanted = default_complex()
        elif weak and wanted.kind == "f":
            wanted = default_float()
    array = asarray(source, place)
    array = array.astype(wanted) if array.dtype != wanted else \
        array.copy() if array is source else array
    t = Tensor(np.ascontiguousarray(array).reshape(array.shape) if xp_of(array) is np else array)
    t.stop_gradient = stop_gradient
    return t


def _plain_data(data):
    """Nested lists with the tensors in them read out."""
    if isinstance(data, (list, tuple)):
        return [_plain_data(v) for v in data]
    if isinstance(data, Tensor):
        return asnumpy(data._data)
    return data


# ---- operations written by the user as a class
class PyLayerContext:
    """What forward leaves for backward: `save_for_backward`, attributes, and marks."""

    _saved: tuple = ()
    _constant: tuple = ()
    _materialize = True

    def save_for_backward(self, *tensors) -> None:
        """Keep tensors for backward, where `saved_tensor()` gives them back."""
        self._saved = tuple(tensors)
        self._stamps = tuple(t._storage.stamp if isinstance(t, Tensor) and t._storage else 0
                             for t in tensors)

    def saved_tensor(self) -> tuple:
        """The tensors that forward saved; RuntimeError when one was written in place since."""
        for i, (t, stamp) in enumerate(zip(self._saved, self._stamps if self._saved else ())):
            if isinstance(t, Tensor) and t._storage is not None and t._storage.stamp > stamp:
                raise RuntimeError(f"PyLayer: saved tensor {i} was modified in place"
                                   f"{t._storage.where} after forward had saved it")
        return self._saved

    def mark_non_differentiable(self, *tensors) -> None:
        """Outputs that get no gradient."""
        self._constant = tuple(id(t) for t in tensors)

    def mark_not_inplace(self, *tensors) -> None:
        """Accepted: outputs never alias inputs here."""

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward sees None, not zeros, for outputs that were not used."""
        self._materialize = bool(value)


class _PyNode(Node):
    """A node whose vjp is the user's backward."""

    def pull(self, F, g, need):
        g = tuple(None if a is None else Tensor(a) for a in g)
        return tuple(None if t is None else t._data for t in self.pull_recorded(F, g, need))

    def pull_recorded(self, F, g, need):
        found = self.layer.backward(self.context, *g)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(self.edges):
            raise ValueError(f"{self.layer.__name__}.backward returned {len(found)} gradients, its "
                             f"forward had {len(self.edges)} Tensor inputs")
        for i, t in enumerate(found):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"{self.layer.__name__}.backward: gradient {i} must be a Tensor or "
                                f"None, got {_kind(t)}")
        return tuple(found)

    def free(self) -> None:
        super().free()
        self.context = None


class PyLayer:
    """An operation of one's own: static methods `forward(ctx, ...)` and `backward(ctx, *grads)`.

    backward gets one gradient an output and returns one an input Tensor (None for none).

    >>> import minipaddle as paddle
    >>> class Double(paddle.autograd.PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x + x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = paddle.to_tensor([1.], stop_gradient=False)
    >>> Double.apply(x).backward(); x.grad.tolist()
    [2.0]
    """

    @staticmethod
    def forward(ctx, *args, **kwargs):
        raise NotImplementedError("a PyLayer needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("a PyLayer needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record backward."""
        if _local.tracer is not None:
            result = _local.tracer.py_layer(cls, args, kwargs)
            if result is not NotImplemented:
                return result
        ctx = PyLayerContext()
        with no_grad():
            out = cls.forward(ctx, *args, **kwargs)
        tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
        if not _local.grad or all(t.stop_gradient for t in tensors):
            return out
        many = isinstance(out, (tuple, list))
        values = list(out) if many else [out]
        node = _PyNode(_py_op(cls), tuple(None if t.stop_gradient else _edge(_py_op(cls), t)
                                          for t in tensors), (), None, (), None, None)
        node.layer, node.context, node.metas = cls, ctx, []
        results = []
        for i, t in enumerate(values):
            if not isinstance(t, Tensor):
                node.metas.append(None)
                results.append(t)
                continue
            fresh = Tensor(t._data)
            constant = id(t) in ctx._constant or t._data.dtype.kind not in "fc"
            node.metas.append((t._data.shape, t._data.dtype) if ctx._materialize else None)
            if not constant:
                fresh.stop_gradient, fresh._node = False, Pick(node, i, t._data.dtype)
            if any(t is u for u in tensors):
                share(t, fresh)
            results.append(fresh)
        return type(out)(results) if many else results[0]


@functools.lru_cache(maxsize=None)
def _py_op(cls):
    """What a PyLayer's node shows as its op."""
    record = Op.__new__(Op)
    record.name, record.inputs, record.lists = cls.__name__, (), ()
    record.broadcasts = record.wants_need = False
    return record


def create_parameter(shape, dtype=None, name=None, attr=None, is_bias=False,
                     default_initializer=None) -> Parameter:
    """A Parameter outside any layer; see `paddle.nn.Layer.create_parameter`."""
    from .nn import make_parameter
    return make_parameter(shape, dtype=dtype, name=name, attr=attr, is_bias=is_bias,
                          default_initializer=default_initializer)


# ---- the three ops the core itself needs
@op(half="native", amp="keep", legacy=("cast",))
def cast(xp, x: Array, dtype: str) -> Array:
    """x with another dtype; floats go to integers by truncation towards zero.

    Gradients are cast back to x's dtype.

    >>> import minipaddle as paddle
    >>> paddle.cast(paddle.to_tensor([1.7, -1.7]), 'int64').tolist()
    [1, -1]
    """
    target = dtype if isinstance(dtype, np.dtype) else convert_dtype(dtype).np
    return x.astype(target)


@cast.vjp
def _(F, g):
    return g                    # the engine gives each gradient the dtype of what it belongs to


@op(namespace=None, half="native", amp="keep")
def identity(xp, x: Array) -> Array:
    """x itself, as another step of the graph."""
    return x


@identity.vjp
def _(F, g):
    return g


@op(namespace=None, half="native", amp="keep", portable=False)
def to_place(xp, x: Array, place: Place) -> Array:
    """x copied to another device; the gradient travels back."""
    return asarray(x, place)


@to_place.vjp
def _(F, g, x):
    return F.to_place(g, x.place if isinstance(x, Tensor) else place_of(x))


def astype(x: Tensor, dtype) -> Tensor:
    """x as another dtype: `x.astype('float64')`; x itself when it has it already."""
    wanted = convert_dtype(dtype)
    return cast(x, wanted.np)


Tensor.astype = astype
