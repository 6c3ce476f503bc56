"""The heart: what an operation is, and what happens when one is called.

Imports engine.py and below (modes, worlds, tensor, device, dtypes) and gives out their names.
Read it in this order: `op` (one definition), `_make_call1` and `_make_call2` (the everyday call),
`dispatch` (the general one), `finish` (what leaves a `Node`); then engine.py, where gradients
walk back.
"""
from __future__ import annotations

import functools
import types

import numpy as np

from . import modes
from .device import (Place, asarray, asnumpy, current_place, current_xp,  # noqa: F401
                     generator, is_array, parse, place_of, xp_of)
from .dtypes import (BOOL, F16, F32, F64, I64, DType, convert_dtype,  # noqa: F401
                     default_complex, default_float, get_default_dtype, np_dtype, promote,
                     with_scalar)
from .engine import ComplexNode, Node, Pick, backward, grad  # noqa: F401
from .modes import (amp_state, enable_grad, is_grad_enabled, local,  # noqa: F401
                    no_grad, set_amp_state, set_grad_enabled, set_observers, set_tracer, tracer)
from .samples import unary
from .tensor import (OPERANDS, SCALARS, Constant, Parameter, Storage, Tensor,  # noqa: F401
                     flat, kind_of, new_tensor, ndarray, next_serial, recast, refuse_leaf,
                     same_memory, share, to_tensor, unique_name, written)
from .tensor import astype as to_dtype
from .worlds import kernels, namespaces, ops, publish_kernel, registry  # noqa: F401


class Array:
    """Marks a parameter of an op as a tensor input; `Array | None` as an optional one."""


class Arrays:
    """Marks a parameter of an op as a list of tensors."""


# ---- an operation is one definition
class Op:
    """One operation: its forward, its vjp, and what the rest of the framework must know of it."""

    analytic = True         # a complex function whose vjp is written as for real numbers

    def __init__(self, name, forward, *, namespace, broadcasts, promote, amp, half, view, random,
                 residuals, legacy, casts, samples, portable):
        self.name, self.forward, self.namespace = name, forward, namespace
        self.broadcasts, self.promote, self.amp, self.half = broadcasts, promote, amp, half
        self.view, self.random, self.residuals, self.legacy = view, random, residuals, legacy
        self.samples, self.portable, self.doc = samples, portable, forward.__doc__
        self.vjp = self.kernel_vjp = self.composite = self.explain = None
        self.adapter = self.straight = self.keeps = self.simple = self.call = None
        self.scope, self.operators = {}, []
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
        taken = {"F", "g", "out", "need"} & {*self.inputs}
        if taken:
            raise TypeError(f"{self.name}: an input cannot be called {taken.pop()!r}; a vjp uses "
                            "that name for something else")
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

        # A forward that only calls one function of xp is called without the Python in between.
        shape = _DIRECT.get((self.run.__code__.co_code, len(names)))
        found = shape and getattr(np, self.run.__code__.co_names[0], None)
        self.direct = found if found is not None and self.run is forward and not self.attrs \
            else functools.partial(self.run, np)

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
        slots.update({n + "_shape": f"n.shapes[{k}]" for k, n in enumerate(self.inputs)})
        slots.update({n: f"n.attrs[{k}]" for k, n in enumerate(self.attrs)})
        slots.update({n: f"r[{k}]" for k, n in enumerate(self.residuals)})
        slots.update({"out": "out", "need": "need"})
        for n in wants:
            if n not in slots:
                raise TypeError(f"{self.name}: its vjp names {n!r}, which is none of "
                                f"{', '.join(sorted(slots))}")
            if n in self.residuals and self.vjp:
                raise TypeError(f"{self.name}: only a kernel_vjp may name the residual {n!r}")
        self.keeps = tuple(n in wants for n in self.inputs)
        self.keeps_out, self.keeps_residuals = "out" in wants, bool(set(self.residuals) & {*wants})
        self.names_shapes = any(n + "_shape" in wants for n in self.inputs)
        self.wants_need, self.constant = "need" in wants, vjp is None
        self.simple = not (self.lists or self.residuals) and (
            self.composite is None or all(self.keeps))
        # The vjp called with what it names, from a node n; `straight` is for the usual node,
        # whose kept inputs are tensors.
        # Both are compiled when first called, which spares most of them at import.
        args = ", ".join(slots[n] for n in wants)
        self.adapter = self._later(
            "adapter", f"lambda vjp, F, g, n, need, i, out, r: vjp(F, g, {args})")
        self.straight = None
        if self.vjp and not self.lists and not any(k and n in self.optional
                                                   for k, n in zip(self.keeps, self.inputs)):
            for k, n in enumerate(self.inputs):
                slots[n] = f"n.ins[{k}]._data if n.ins[{k}]._storage is None else n.checked({k})"
            slots["out"] = "n.out if n.storage.stamp <= n.serial else n.checked_out()"
            args = ", ".join(slots[n] for n in wants)
            self.straight = self._later("straight", f"lambda F, g, n, need: vjp(F, g, {args})")
        # The calls know what was read off here, so they are made anew.
        self.call = self.scope["_call"] = _make_call(self)
        for method, swapped in self.operators:
            setattr(Tensor, method, _make_operator(self, swapped))

    def _later(self, name: str, text: str):
        def first(*args):
            made = eval(text, {"vjp": self.vjp})
            setattr(self, name, made)
            return made(*args)
        return first

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
                text = self.explain(**dict(zip(self.inputs, inputs)),
                                    **dict(zip(self.attrs, attrs)))
            except Exception as second:             # an explanation must never hide the fault
                text = f"{error} ({second})"
        if text is None:
            why = "the shapes do not broadcast: from the last dimension on, sizes must be equal, " \
                "or one of them 1" if self.broadcasts and "broadcast" in str(error) else error
            text = f"{why}; {_describe(self, inputs, attrs)}"
        kind = type(error)
        try:
            return kind(f"{self.name}: {text}")
        except TypeError:
            return ValueError(f"{self.name}: {text}")


_DIRECT = {((lambda m, x: m.f(x)).__code__.co_code, 1): True,
           ((lambda m, x, y: m.f(x, y)).__code__.co_code, 2): True}


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
        publish_kernel(label, function)
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
        if n.startswith("__"):
            _publish_operator(function, n)
        else:
            setattr(Tensor, n, function)
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


def _publish_operator(function, method: str) -> None:
    """Put a function on Tensor as a dunder method; those that begin with __r get x from behind."""
    swapped = method.startswith("__r") and method not in ("__round__", "__rshift__")
    record = getattr(function, "op", None)
    if record is not None and len(record.inputs) == 2 and not record.lists:
        record.operators.append((method, swapped))
        setattr(Tensor, method, _make_operator(record, swapped))
    elif swapped:
        setattr(Tensor, method, lambda x, y: function(y, x) if _is_operand(y) else NotImplemented)
    else:
        setattr(Tensor, method, function)


def _make_operator(op, swapped):
    """The method of a binary operator: NotImplemented for strangers, so that Python asks them."""
    attrs = (op.forward.__defaults__ or ())
    if not swapped:
        return _make_call2(op, attrs, operator=True)
    call = op.call

    def reflected(x, y):
        return call(y, x, attrs) if _is_operand(y) else NotImplemented
    return reflected


def _is_operand(y) -> bool:
    return isinstance(y, Tensor) or isinstance(y, SCALARS) or is_array(y)


def _inplace_form(function, name):
    @functools.wraps(function)
    def changed(x, *args, **kwargs):
        return inplace(function, x, *args, **kwargs)
    changed.__name__ = changed.__qualname__ = name
    changed.__doc__ = f"`{name[:-1]}` that writes its result into x; see `paddle.{name[:-1]}`."
    return changed


_codes: dict = {}


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
    call = "_call({0}, ({1}))"
    if record.lists or len(record.inputs) not in (1, 2):
        call = "_call([{0}], ({1}))"
    text = f"def call({', '.join(params)}):\n    return {call.format(inputs, attrs)}\n"
    code = _codes.get(text)
    if code is None:                                # many ops have the same parameters
        code = _codes[text] = compile(text, "<call of an op>", "exec").co_consts[0]
    function = types.FunctionType(code.replace(co_name=record.name), record.scope, record.name)
    function.__qualname__ = record.name
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


# ---- calling an op: each has a call of its own, whose local names are what it needs to know
def _make_call(op):
    if op.simple and len(op.inputs) == 1:
        return _make_call1(op)
    if op.simple and len(op.inputs) == 2:
        return _make_call2(op, ())
    call = _make_call_any(op)
    if len(op.inputs) == 1 and not op.lists:
        return lambda x, attrs: call((x,), attrs)
    if len(op.inputs) == 2 and not op.lists:
        return lambda x, y, attrs: call((x, y), attrs)
    return call


def _make_call_any(op):
    """A call of any inputs: tensors of one floating dtype on NumPy spare themselves `dispatch`."""
    run = op.run
    rules = [(n in op.casts, n in op.optional, i in op.lists) for i, n in enumerate(op.inputs)]

    def call(inputs, attrs):
        arrays, common = [], None
        try:
            for x, (one, may_miss, listed) in zip(inputs, rules):
                if x is None and may_miss:
                    arrays.append(None)
                    continue
                many = type(x) is list
                if many is not listed:
                    return dispatch(op, inputs, attrs)
                for t in x if many else (x,):
                    a = t._data
                    kind = a.dtype
                    if one and kind is not common:
                        if common is not None or kind is not F32 and kind is not F64:
                            return dispatch(op, inputs, attrs)
                        common = kind
                    if type(a) is not ndarray or modes.unusual:
                        return dispatch(op, inputs, attrs)
                arrays.append([t._data for t in x] if many else a)
        except AttributeError:
            return dispatch(op, inputs, attrs)
        if common is None:
            return dispatch(op, inputs, attrs)
        try:
            out = run(np, *arrays, *attrs)
        except Exception as error:
            raise op.error(error, inputs, attrs) from error
        return finish(op, [list(x) if type(x) is list else x for x in inputs], attrs, out)
    return call


def _make_call1(op):
    direct, keeps, keeps_out, names_shape = op.direct, op.keeps[0], op.keeps_out, op.names_shapes
    rare = op.view or op.constant
    nothing = (None,)

    def call(x, attrs):
        """One tensor: float32 or float64 on NumPy with nothing unusual goes straight through."""
        try:
            a = x._data
            kind = a.dtype
        except AttributeError:
            return dispatch(op, (x,), attrs)
        if modes.unusual or type(a) is not ndarray or (kind is not F32 and kind is not F64):
            return dispatch(op, (x,), attrs)
        try:
            out = direct(a, *attrs) if attrs else direct(a)
        except Exception as error:
            raise op.error(error, (x,), attrs) from error
        if type(out) is not ndarray:
            if isinstance(out, (tuple, list)):
                return finish(op, [x], attrs, out)
            out = out if is_array(out) else np.asarray(out)
        t = new_tensor(Tensor)
        t._data = out
        if rare:
            if op.constant:
                return finish(op, [x], attrs, out)
            if same_memory(out, a):
                share(x, t)
        if x.stop_gradient or modes.quiet and not local.grad:
            return t
        t.stop_gradient = False
        t._node = node = Node(op, (x._node or x,), (x,) if keeps else nothing, attrs, out.dtype)
        if keeps_out:
            node.out = out
            t._storage = node.storage = t._storage or Storage()
        if names_shape:
            node.shapes = (a.shape,)
        return t
    return call


def _make_call2(op, fixed, operator=False):
    """A call of two inputs; as an operator its attributes are `fixed`, and strangers may answer."""
    direct, (keep1, keep2), keeps_out = op.direct, op.keeps, op.keeps_out
    names_shapes, broadcasts = op.names_shapes, op.broadcasts
    rare = op.view or op.constant

    def call(x, y, attrs=fixed):
        """Two inputs, the second may be a Python scalar; straight through as with one."""
        try:
            a = x._data
            kind = a.dtype
            z = y
            if type(y) is float or type(y) is int:
                z = (_scalars32 if kind is F32 else _scalars64).get(y) or _scalar(kind, y)
            b = z._data
        except AttributeError:
            if operator and not _is_operand(y):
                return NotImplemented
            return dispatch(op, (x, y), attrs)
        if (modes.unusual or kind is not b.dtype or (kind is not F32 and kind is not F64)
                or type(a) is not ndarray or type(b) is not ndarray):
            return dispatch(op, (x, y), attrs)
        try:
            out = direct(a, b) if operator or not attrs else direct(a, b, *attrs)
        except Exception as error:
            raise op.error(error, (x, z), attrs) from error
        if type(out) is not ndarray:
            if isinstance(out, (tuple, list)):
                return finish(op, [x, z], attrs, out)
            out = out if is_array(out) else np.asarray(out)
        t = new_tensor(Tensor)
        t._data = out
        if rare:
            if op.constant:
                return finish(op, [x, z], attrs, out)
            if same_memory(out, a):
                share(x, t)
        if x.stop_gradient and z.stop_gradient or modes.quiet and not local.grad:
            return t
        t.stop_gradient = False
        t._node = node = Node(
            op, (None if x.stop_gradient else x._node or x, None if z.stop_gradient else
                 z._node or z), (x if keep1 else None, z if keep2 else None), attrs, out.dtype)
        if broadcasts and z is y and a.shape != b.shape or names_shapes:
            node.shapes = (a.shape, b.shape)
        if keeps_out:
            node.out = out
            t._storage = node.storage = t._storage or Storage()
        return t
    return call


_scalars32: dict = {}
_scalars64: dict = {}


def _scalar(kind, value):
    """The `Constant` of a value, kept for the next time."""
    array = np.asarray(value, kind)
    array.flags.writeable = False
    scalar = Constant(array)
    known = _scalars32 if kind is F32 else _scalars64 if kind is F64 else None
    if known is not None and value != 0:            # 0.0 and -0.0 would be one key
        if len(known) > 4096:
            known.clear()
        known[value] = scalar
    return scalar


def dispatch(op, inputs, attrs):
    """The general way: scalars, NumPy arrays, AMP, promotion, half precision, GPU, tracing."""
    inputs, tensors = _to_tensors(op, inputs)
    if local.tracer is not None:
        result = local.tracer.record(op, inputs, dict(zip(op.attrs, attrs)))
        if result is not NotImplemented:
            return result
    if local.amp is not None and tensors:
        inputs = _amp_cast(op, inputs, local.amp)
    inputs = _unify(op, inputs)
    arrays = [[t._data for t in x] if isinstance(x, list) else
              x._data if isinstance(x, Tensor) else x for x in inputs]
    xp = _module_of(op, tensors)
    half = op.half is None and xp is np and any(
        getattr(a, "dtype", None) is F16 for a in flat(arrays))
    try:
        if half:
            out = op.run(xp, *recast(arrays, F16, F32), *attrs)
            out = recast(out, F32, F16)
        else:
            out = op.run(xp, *arrays, *attrs)
    except Exception as error:
        raise op.error(error, inputs, attrs) from error
    result = finish(op, inputs, attrs, out)
    for observer in local.observers:
        observer(op, inputs, result)
    return result


def _to_tensors(op, inputs):
    """Check every input's kind; NumPy arrays become tensors. Also all tensors in one list."""
    inputs, tensors = list(inputs), []
    for i, x in enumerate(inputs):
        if i in op.lists:
            if x is None or isinstance(x, (Tensor, str, *SCALARS)):
                raise TypeError(f"{op.name}: {op.inputs[i]} must be a list of Tensors, "
                                f"got {kind_of(x)}")
            inputs[i] = [_as_tensor(op, i, t) for t in x]
            tensors += inputs[i]
        elif isinstance(x, Tensor):
            tensors.append(x)
        elif isinstance(x, SCALARS) or (x is None and op.inputs[i] in op.optional):
            continue
        else:
            inputs[i] = _as_tensor(op, i, x)
            tensors.append(inputs[i])
    if not tensors and op.inputs:
        for i, x in enumerate(inputs):
            if isinstance(x, SCALARS):
                inputs[i] = to_tensor(x)
                tensors.append(inputs[i])
                break
    return inputs, tensors


def _as_tensor(op, i, value):
    if isinstance(value, Tensor):
        return value
    if is_array(value) or (i in op.lists and isinstance(value, SCALARS)):
        return to_tensor(value)
    raise TypeError(f"{op.name}: {op.inputs[i]} must be a Tensor, got {kind_of(value)}")


def _amp_cast(op, inputs, state):
    """Casts of automatic mixed precision: recorded ones, so that gradients are cast back."""
    plan = state.decide(op)
    if plan is None:
        return inputs
    picked = [x for n, x in zip(op.inputs, inputs) if n in op.casts]
    kinds = {t._data.dtype for t in flat(picked) if isinstance(t, Tensor)} & {F16, F32}
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
    kinds = [t._data.dtype for t in flat(picked) if isinstance(t, Tensor)]
    if not kinds:
        return inputs
    target, rule = kinds[0], op.promote
    if rule in ("promote", "float"):
        target = promote(kinds)
    elif rule == "same" and any(k != target for k in kinds):
        raise TypeError(f"{op.name}: the inputs must have one dtype; {_describe(op, inputs, ())}. "
                        "Cast one with x.astype(...)")
    for x in flat(picked):
        if isinstance(x, SCALARS):
            target = with_scalar(target, x)
    if rule == "float" and target.kind not in "fc":
        target = default_float()
    if rule != "keep" and any(k is not target for k in kinds):
        inputs = _cast_inputs(op, inputs, lambda dtype: target)
    return [target.type(x) if isinstance(x, SCALARS) else x for x in inputs]


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
    many = isinstance(out, (tuple, list))
    results = [_wrap(a) for a in out] if many else [_wrap(out)]
    if op.view:
        for t in results:
            if same_memory(t._data, inputs[0]._data):
                share(inputs[0], t)
    if local.grad and (not op.constant or any([t._data.dtype.kind in "fc" for t in results])):
        edges, wanted = [], False
        for x in inputs:
            for t in x if type(x) is list else (x,):
                if getattr(t, "stop_gradient", True):
                    edges.append(None)
                else:
                    edges.append(t._node or t)
                    wanted = True
        if wanted:
            _record(op, inputs, attrs, results, many, residuals, tuple(edges))
    return type(out)(results) if many else results[0]


def _wrap(array):
    t = new_tensor(Tensor)
    t._data = array if type(array) is ndarray or is_array(array) else np.asarray(array)
    return t


def _record(op, inputs, attrs, results, many, residuals, edges) -> None:
    kept = tuple([None if not k or x is None else x if isinstance(x, (Tensor, list)) else
                  Constant(x) for x, k in zip(inputs, op.keeps)])
    first = results[0]._data.dtype if results else None
    kind = ComplexNode if not many and first.kind == "c" and op.analytic else Node
    node = kind(op, edges, kept, attrs, None if many else first)
    if op.broadcasts or op.names_shapes:
        node.shapes = tuple([[t._data.shape for t in x] if type(x) is list else () if x is None
                             else getattr(x, "_data", x).shape for x in inputs])
    if residuals is not None and (op.keeps_residuals or op.composite is not None):
        node.residuals = residuals
    if op.composite is not None and not all(op.keeps):
        node.origin = inputs                        # a composite needs every input again
    if op.keeps_out:
        node.out = tuple([t._data for t in results]) if many else results[0]._data
        node.storage = results[0]._storage or Storage()
    for i, t in enumerate(results):
        kind = t._data.dtype.kind
        if kind in "fc" or not many:
            t.stop_gradient = kind not in "fc" and op.constant
            t._node = Pick(node, i, t._data.dtype) if many else node
            if op.keeps_out:
                t._storage = node.storage
    if op.lists:
        node.counts = [len(x) if type(x) is list else 1 for x in inputs]
    if many:
        node.plain = False
        node.metas = [(t._data.shape, t._data.dtype) for t in results]


def inplace(function, x, *args, **kwargs):
    """Run `function` on x and leave the result in x: what `x.op_(...)` does.

    RuntimeError when x is a leaf that wants gradients (its old value would be lost).
    """
    if local.tracer is not None:
        result = local.tracer.inplace(function, x, *args, **kwargs)
        if result is not NotImplemented:
            return result
    name, storage = getattr(function, "__name__", "write"), x._storage
    shared = storage is not None and storage.shared
    if local.grad and not x.stop_gradient and (x._node is None or shared):
        refuse_leaf(x, name)
    old = x._alias()
    if shared and local.grad and not kwargs.get("inplace"):
        old._data = x._data.copy()                  # nodes may keep the old value
    out = function(old, *args, **kwargs)
    if out is old:
        return x
    if out._data.dtype != x._data.dtype:
        out = ops.cast(out, x._data.dtype)
    array = out._data
    moved = same_memory(array, x._data)            # reshape_ and its like: the same values
    if array.shape != x._data.shape and not moved:
        if not getattr(getattr(function, "op", None), "view", False):
            raise ValueError(f"{name}_: the result has shape {list(array.shape)}, x has "
                             f"{list(x._data.shape)}; in place they must be equal")
        if shared:                                  # a reshape that had to copy: x leaves the rest
            storage.sharers[:] = [r for r in storage.sharers if r() is not x]
            x._storage, storage, shared = None, None, False
    if shared and not moved:
        x._data[...] = array
    elif array is not x._data:
        x._data = array
        if storage is not None and not shared:
            storage.stamp = next_serial()               # nodes that kept x's old value look there
        if out._storage is not None and not shared and not moved:
            x._storage = out._storage
    recorded = out._node is not None and not out.stop_gradient
    if recorded or local.grad:
        x._node, x.stop_gradient = out._node, out.stop_gradient
    written(x, recorded or (local.grad and old._node is not None),
            out._node.serial if recorded else None)
    return x


def create_parameter(shape, dtype=None, name=None, attr=None, is_bias=False,
                     default_initializer=None) -> Parameter:
    """A Parameter outside any layer; see `paddle.nn.Layer.create_parameter`."""
    from .layer import make_parameter
    return make_parameter(shape, dtype=dtype, name=name, attr=attr, is_bias=is_bias,
                          default_initializer=default_initializer)


# ---- the three ops the core itself needs
@op(half="native", amp="keep", legacy=("cast",), samples=lambda draw: (
    (draw.array(draw.shape()), draw.choice(["float64", "complex128"])), {}))
def cast(xp, x: Array, dtype: str) -> Array:
    """x with another dtype; floats go to integers by truncation towards zero.

    Gradients are cast back to x's dtype.

    >>> import minipaddle as paddle
    >>> paddle.cast(paddle.to_tensor([1.7, -1.7]), 'int64').tolist()
    [1, -1]
    """
    target = dtype if isinstance(dtype, np.dtype) else convert_dtype(dtype).np
    return to_dtype(x, target)


@cast.vjp
def _(F, g):
    return g                    # the engine gives each gradient the dtype of what it belongs to


@op(namespace=None, half="native", amp="keep", samples=unary)
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
