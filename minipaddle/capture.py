"""Writing a Program: the tracer that turns calls into operators.

Imports infer, write_log, symbolic, program_code and below. While a `Tracer` is set, every op called
in this thread is recorded. In-place writes become new values; views and names that may mean one
tensor are kept account of, so that what eager mode shares is never silently two things.
"""
from __future__ import annotations

import weakref

import numpy as np

from . import core
from .core import Tensor, is_array, local, no_grad, ops
from .infer import depends_on_values, probe, probe_python, signature
from .program_code import fold
from .pylayer import PyLayerContext
from .static import (Block, Dim, Operator, Probes, Program, Ref, State, StaticError, Value,
                     _Undefined, probe_of, user_origin)
from .symbolic import KINDS, Scalar, Spread, TracedList, Variable, kind_of_dtype, where
from .write_log import BoxEntry, HandleEntry, Log, Region, StateEntry


class Tracer:
    """Builds a Program from the calls of one thread."""

    def __init__(self, name: str) -> None:
        self.program = Program(name)
        self.block = self.program.block
        self.probes = Probes()
        self.logs = [Log()]
        self.births: dict = {}          # id -> (object, the log of the region it was made in)
        self.current: dict = {}         # id of a tensor from outside -> its Value now
        self.states: dict = {}          # id of a tensor from outside -> State
        self.shapes: dict = {}          # what inference found before
        self.active: list = []          # (code, block depth, types) of converted calls under way
        self.guards: list = []

    # -- blocks
    def use(self, v: Value) -> Value:
        """The value as the current block sees it: brought in through the blocks between."""
        if v.block is self.block:
            return v
        chain, b = [], self.block
        while b is not v.block:
            if b is None:
                raise StaticError("a value of a branch or loop that has ended is used outside of "
                                  f"it{where()}; it was kept in a place that conversion does not "
                                  "see (a library object, an object made by a library)")
            chain.append(b)
            b = b.parent
        for b in reversed(chain):
            inner = b.captured.get(v)
            if inner is None:
                inner = b.captured[v] = v.like(block=b)
            v = inner
        return v

    def emit(self, name, inputs, attrs, outputs, blocks=(), extra=(), tuple_out=False):
        def bring(x):
            return self.use(x) if isinstance(x, Value) else [bring(v) for v in x] \
                if isinstance(x, list) else x
        op = Operator(name, [bring(x) for x in inputs], attrs, outputs, blocks, user_origin(),
                      [self.use(v) for v in extra], local.grad, tuple_out)
        for v in outputs:
            v.block = self.block
        self.block.ops.append(op)
        return op

    def builtin(self, name, inputs, output=None, /, **attrs):
        """Write one of the operators that are no ops of the registry; returns its value."""
        self.emit(name, inputs, attrs, [] if output is None else [output])
        return output

    def effect(self, name, inputs, /, **attrs):
        self.emit(name, inputs, attrs, [])

    def region(self, function, args) -> Region:
        """Trace a function of state as a nested block; what it writes is undone."""
        r = Region(Block(self.block))
        self.block = r.block
        self.logs.append(r.log)
        try:
            r.outs = function(*args)
            r.finals = r.log.finals()
        except (StaticError, RecursionError):
            raise
        except Exception as error:
            r.error = error
            self.effect("raise", [], error=error)
        finally:
            r.log.undo()
            self.logs.pop()
            self.block = r.block.parent
        return r

    # -- the log
    def note(self, entry) -> None:
        """Log the value of a place before it is written, once for each region."""
        log = self.logs[-1]
        if entry.key in log:
            return
        owner = entry.owner
        born = owner._born if isinstance(owner, Variable) else \
            self.births.get(id(owner), (None, None))[1]
        if born is log:
            return                                  # made in this region: nobody else knows it
        entry.old = entry.read()
        log[entry.key] = entry

    def note_handle(self, t) -> None:
        self.note(HandleEntry(t))

    def note_box(self, box) -> None:
        self.note(BoxEntry(box))

    def born(self, thing):
        self.births[id(thing)] = thing, self.logs[-1]
        return thing

    # -- values
    def wrap(self, v: Value):
        if v.kind == "list":
            made = TracedList()
            made.symbolic = v
            return self.born(made)
        return Variable(v) if v.kind == "tensor" else Scalar(v)

    def read(self, t: Tensor) -> Value:
        """The Value of a tensor: its own, or the state entry of one from outside."""
        if not is_array(t._data):
            return t._data
        found = self.current.get(id(t))
        if found is None:
            v = Value("tensor", t._data.shape, t._data.dtype, self.program.block,
                      stop_gradient=t.stop_gradient)
            self.states[id(t)] = State(v, t, t._name or f"constant_{len(self.states)}")
            self.program.state.append(self.states[id(t)])
            found = self.current[id(t)] = v
        return found

    def constant(self, value) -> Value:
        """A Python number or text (or `undefined`) as a Value."""
        kind = "undefined" if isinstance(value, _Undefined) else type(value).__name__
        probes = (value, value) if kind in ("int", "float", "bool") else None
        out = Value(kind, (), KINDS.get(kind), self.block, probes=probes)
        self.emit("constant", [], {"value": value}, [out])
        return out

    def lift(self, value):
        """Any leaf as a Value; None for what has none."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, TracedList) and value.symbolic is not None:
            return value.symbolic
        if isinstance(value, Tensor):
            return self.read(value)
        if isinstance(value, (bool, int, float, str, _Undefined)):
            return self.constant(value)
        return None

    def dim(self, v: Value, axis: int):
        size = v.shape[axis]
        if not isinstance(size, Dim):
            return size
        return Scalar(self.builtin("dim", [v], Value("int", (), KINDS["int"], probes=size.probes),
                                   axis=axis))

    def scalar(self, v: Value, kind: str):
        """The Python number of a one-element tensor (or of another number)."""
        if v.kind == kind:
            return Scalar(v)
        return Scalar(self.builtin(kind, [v], Value(kind, (), KINDS[kind])))

    def python(self, name, *args, kind=None):
        """A Python operator or function of numbers and texts, some of them symbolic."""
        values = [self.lift(a) for a in args]
        if any(v is None for v in values):
            raise StaticError(f"{name} of a symbolic number and {args!r} cannot be written as an "
                              f"operator{where()}")
        kinds = [v.kind for v in values]
        if kind is None:
            if name in ("eq", "ne", "lt", "le", "gt", "ge", "not", "contains"):
                kind = "bool"
            elif name in ("str", "format") or "str" in kinds:
                kind = "str"
            elif name in ("and", "or", "xor") and set(kinds) == {"bool"}:
                kind = "bool"
            elif name == "truediv" or "float" in kinds or (name == "round" and len(kinds) == 2):
                kind = "float"
            else:
                kind = "int"
        probes = probe_python(name, values) if kind == "int" else None
        out = Value(kind, (), KINDS[kind], probes=probes)
        return Scalar(self.builtin("py_" + name, values, out))

    def constant_of(self, v: Value):
        """The array of a value that depends on no input and no state, or None."""
        return fold(v)

    # -- ops
    def record(self, op, inputs, attrs):
        """Turn a call of an op into an operator: what core.dispatch asks first."""
        if local.amp is not None:
            inputs = core._amp_cast(op, inputs, local.amp)
        inputs = list(inputs)
        numbers, spreads = {}, {}
        for i, x in enumerate(inputs):
            if isinstance(x, Scalar):
                numbers[i] = x
                inputs[i] = {"int": 1, "float": 1.0, "bool": True}.get(x.kind, 1)
            elif isinstance(x, list):
                inputs[i] = x = [self.to_tensor(t, None) if isinstance(t, Scalar) else t for t in x]
                if any(isinstance(t, Spread) for t in x):
                    spreads[i] = x
                    inputs[i] = [Variable(t._data.element) if isinstance(t, Spread) else t
                                 for t in x]
        if numbers and not any(isinstance(t, Tensor) for t in core.flat(inputs)):
            inputs = [self.to_tensor(numbers.pop(i), None) if i in numbers else x
                      for i, x in enumerate(inputs)]
        if not spreads:
            inputs = core._unify(op, inputs)
        for i, x in numbers.items():
            sample = inputs[i]
            if isinstance(sample, np.generic):
                kind = sample.dtype
                inputs[i] = Variable(self.builtin("number", [x._data], Value(
                    "tensor", (), kind, probes=x._data.probes), dtype=kind))
            else:
                inputs[i] = self.to_tensor(x, None)
        for i, x in spreads.items():
            inputs[i] = x
        values = [[self.read(t) if isinstance(t, Tensor) else t for t in x]
                  if isinstance(x, list) else self.read(x) if isinstance(x, Tensor) else x
                  for x in inputs]
        extra: list = []
        plan = {n: self.attr(a, extra) for n, a in attrs.items()}
        if plan.get("inplace") is True and "inplace" in plan:
            plan["inplace"] = False
        found, kind = self.infer(op, values, plan, extra)
        tensors = [v for x in values for v in (x if isinstance(x, list) else (x,))
                   if isinstance(v, Value)]
        wants = local.grad and any(not v.stop_gradient for v in tensors) and \
            (op.vjp is not None or op.kernel_vjp is not None)
        outs = [Value("tensor", shape, dtype, stop_gradient=not (wants and dtype.kind in "fc"))
                for shape, dtype in found]
        self.emit(op.name, values, plan, outs, extra=extra, tuple_out=kind is not None)
        results = [Variable(v) for v in outs]
        if op.view and isinstance(inputs[0], Tensor):
            _viewed(inputs[0], results[0], op, plan)
        return results[0] if kind is None else kind(results)

    def attr(self, a, extra):
        """An attribute with its symbolic parts replaced by `Ref`s to extra inputs."""
        if isinstance(a, Tensor):
            v = self.read(a)
            if v.kind != "tensor":
                extra.append(v)
                return Ref(len(extra) - 1)
            if v.ndim == 0 or v.shape == (1,):
                extra.append(self.scalar(v, kind_of_dtype(v.dtype))._data)
                return Ref(len(extra) - 1)
            if v.ndim == 1 and not isinstance(v.shape[0], Dim):
                flat = a if isinstance(a, Variable) else Variable(v)
                return [self.attr(flat[i], extra) for i in range(v.shape[0])]
            raise StaticError(f"a tensor {v.describe()} stands where a plain value is needed"
                              f"{where()}")
        if isinstance(a, slice):
            parts = [self.attr(v, extra) for v in (a.start, a.stop, a.step)]
            return slice(*parts)
        if isinstance(a, (tuple, list)) and not hasattr(a, "_fields"):
            made = [self.attr(v, extra) for v in a]
            return tuple(made) if isinstance(a, tuple) else made
        if isinstance(a, np.integer):
            return int(a)
        return a

    def infer(self, op, values, attrs, extra):
        """Shapes and dtypes of the outputs, from probe runs; (list, type of a sequence or None)."""
        sizes = [n for x in values for v in (x if isinstance(x, list) else (x,))
                 if isinstance(v, Value) for n in
                 (v.element.shape if v.kind == "list" else v.shape)]
        known = not any(isinstance(n, Dim) for n in sizes) and not extra and \
            not any(isinstance(v, Value) and v.kind == "list" for x in values
                    if isinstance(x, list) for v in x)
        if op.name == "getitem" or op.name == "take_at" and all(
                v.shape == () and v.dtype.kind != "b" for v in values[1]):
            shape = self.index_shape(values[0].shape, attrs["spec"], values[1:] and values[1])
            return [(shape, values[0].dtype)], None
        key = None
        try:
            key = (op.name, signature(values), repr(attrs),
                   tuple((v.kind, v.probes) for v in extra))
            if key in self.shapes:
                found, kind = self.shapes[key]
                return [(tuple(self.probes.new() if n is None else n for n in s), d)
                        for s, d in found], kind
        except TypeError:
            key = None
        runs = [probe(op, values, attrs, extra, 0)]
        data = depends_on_values(op, values)
        if not known or data:
            runs.append(probe(op, values, attrs, extra, 1))
        first = runs[0]
        kind = type(first) if isinstance(first, (tuple, list)) else None
        rows = [r if kind else [r] for r in runs]
        found = []
        for parts in zip(*rows):
            if any(p.ndim != parts[0].ndim for p in parts):
                raise StaticError(f"{op.name}: the rank of its result depends on a size that is "
                                  f"not known{where()}")
            shape = tuple(n[0] if len(set(n)) == 1 else None if data else Dim(n)
                          for n in zip(*[p.shape for p in parts]))
            found.append((shape, parts[0].dtype))
        if key is not None:
            self.shapes[key] = found, kind
        return [(tuple(self.probes.new() if n is None else n for n in s), d)
                for s, d in found], kind

    def index_shape(self, shape, spec, tensors):
        """The shape of x[spec], where "$k" stands for the number that tensors[k] holds."""
        used = sum(1 for p in spec if p is not None and p != "...")
        if used > len(shape):
            raise IndexError(f"too many indices: {used} for a tensor of {len(shape)} dimensions")
        out, axis = [], 0
        for p in spec if "..." in spec else (*spec, "..."):
            if p is None:
                out.append(1)
            elif p == "...":
                rest = len(shape) - used
                out += shape[axis:axis + rest]
                axis += rest
            elif isinstance(p, tuple):
                out.append(self.slice_size(shape[axis], p, tensors))
                axis += 1
            else:
                size = shape[axis]
                if isinstance(p, int) and isinstance(size, int) and not -size <= p < size:
                    raise IndexError(f"index {p} is out of range for dimension {axis} of size "
                                     f"{size}")
                axis += 1
        return tuple(out)

    def slice_size(self, size, bounds, tensors):
        if bounds == (None, None, None):
            return size
        if bounds[0] in (None, 0) and bounds[2] in (None, 1) and isinstance(bounds[1], str) and \
                isinstance(size, Dim) and tensors[int(bounds[1][1:])].probes == size.probes:
            return size
        pairs = [tensors[int(p[1:])].probes if isinstance(p, str) else (p, p) for p in bounds]
        if None in pairs:
            return self.probes.new()
        a, b = [len(range(*slice(*[p[k] for p in pairs]).indices(probe_of(size, k))))
                for k in (0, 1)]
        return a if a == b else Dim((a, b))

    def to_tensor(self, data, wanted):
        """paddle.to_tensor while tracing."""
        if isinstance(data, Scalar):
            kind = data.kind
            if kind not in ("int", "float", "bool"):
                raise TypeError("to_tensor: data must hold numbers or bools, got a str")
            dtype = wanted or (core.default_float() if kind == "float" else KINDS[kind])
            return Variable(self.builtin("number", [data._data], Value(
                "tensor", (), dtype, probes=data._data.probes), dtype=dtype))
        if isinstance(data, Tensor):
            v = Variable(self.read(data)).detach()
            return v if wanted is None or v._data.dtype == wanted else ops.cast(v, wanted)
        if isinstance(data, (list, tuple)) and any(isinstance(t, Tensor) for t in _leaves(data)):
            if isinstance(data, TracedList) and data.symbolic is not None:
                return ops.stack(data)
            parts = [t if isinstance(t, Tensor) and not isinstance(t, Scalar) else
                     self.to_tensor(t, None) for t in data]
            kinds = core.promote([self.read(t).dtype for t in parts])
            parts = [t if self.read(t).dtype == kinds else ops.cast(t, kinds) for t in parts]
            return ops.stack(parts) if wanted is None else ops.cast(ops.stack(parts), wanted)
        old = core.set_tracer(None)
        try:
            t = core.to_tensor(data, wanted)
        finally:
            core.set_tracer(old)
        return Variable(self.array(t._data))

    def array(self, array) -> Value:
        """A constant array as a value that one operator gives."""
        return self.builtin("array", [], Value("tensor", array.shape, array.dtype), value=array)

    # -- writes
    def inplace(self, function, x, *args, **kwargs):
        """`x.op_(...)` while tracing: the result becomes the value of x."""
        if kwargs.get("inplace"):
            kwargs["inplace"] = False
        if isinstance(x, Scalar):
            raise TypeError("a number cannot be changed in place")
        v = self.read(x)
        if local.grad and not v.stop_gradient and (v.maker is None and v.block is
                                                   self.program.block and
                                                   id(x) in self.states):
            core.refuse_leaf(x, getattr(function, "__name__", "write"))
        out = function(Variable(v), *args, **kwargs)
        if self.read(out).dtype != v.dtype:
            out = ops.cast(out, v.dtype)
        self.assign(x, self.read(out))
        return x

    def assign(self, x, v: Value) -> None:
        """Make v the value of a tensor that is written in place, and of its views."""
        if getattr(x, "_packed", False) or any(
                r() is not None and r() is not x
                for s in getattr(x, "_same", None) or () for r in s.members):
            raise StaticError(
                f"this tensor is written in place{where()}, and another name or a list may hold "
                "the same tensor, depending on what is known at run time only; write into a "
                "clone()")
        self.put(x, v)
        base = getattr(x, "_view_of", None)
        if base is not None:
            owner, op, attrs = base
            whole = Variable(self.read(owner))
            part = Variable(v)
            if op.name == "getitem":
                new = ops.setitem(whole, part, [], attrs["spec"])
            elif op.name in ("reshape", "squeeze", "unsqueeze", "flatten", "identity"):
                new = ops.reshape(part, whole.shape)
            else:
                raise StaticError(f"writing in place into the view that {op.name} gave cannot be "
                                  f"converted{where()}; write into the tensor itself, or clone()")
            self.assign(owner, self.read(new))
            return
        for r, op, attrs in getattr(x, "_views", ()):
            w = r()
            if w is not None and getattr(w, "_view_of", None) is not None:
                again = core.dispatch(op, [Variable(self.read(x))],
                                      tuple(attrs[n] for n in op.attrs))
                if w._data is not v:
                    self.put(w, self.read(again))

    def put(self, x, v: Value) -> None:
        if is_array(x._data):
            self.read(x)
            self.note(StateEntry(self, x))
            self.current[id(x)] = v
        else:
            self.note(HandleEntry(x))
            x._data = v

    def set_value(self, x, value):
        """x.set_value(value) while tracing: unrecorded for gradients."""
        with no_grad():
            v = self.read(x)
            value = value if isinstance(value, Tensor) else self.to_tensor(value, None)
            new = self.read(value)
            if new.kind != "tensor":
                value = self.to_tensor(value, None)
                new = self.read(value)
            if len(new.shape) != len(v.shape):
                raise ValueError(f"set_value: the tensor is {v.describe()}, the value "
                                 f"{new.describe()}")
            if new.dtype != v.dtype:
                new = self.read(ops.cast(value, v.dtype))
            self.assign(x, self.builtin("detach", [new], new.like(stop_gradient=True)))

    def py_layer(self, cls, args, kwargs):
        """A PyLayer stays Python: an operator that calls it."""
        places, values = [], []
        for i, a in [*enumerate(args), *kwargs.items()]:
            if isinstance(a, Tensor):
                places.append(i)
                values.append(self.read(a))
        old = core.set_tracer(None)
        try:
            with no_grad():
                def sample(v):
                    return core.Tensor(np.ones([probe_of(n, 0) for n in v.shape], v.dtype))
                fill = dict(zip(places, map(sample, values)))
                out = cls.forward(PyLayerContext(), *[fill.get(i, a) for i, a in enumerate(args)],
                                  **{k: fill.get(k, a) for k, a in kwargs.items()})
        finally:
            core.set_tracer(old)
        many = isinstance(out, (tuple, list))
        outs = []
        sizes = {probe_of(n, 0): n for v in values for n in v.shape if isinstance(n, Dim)}
        for t in out if many else [out]:
            outs.append(Value("tensor", [sizes.get(n, n) for n in t._data.shape], t._data.dtype,
                              stop_gradient=all(v.stop_gradient for v in values)))
        self.emit("py_layer", values, {"cls": cls, "args": tuple(
            None if i in places else a for i, a in enumerate(args)), "kwargs": {
                k: a for k, a in kwargs.items() if k not in places}, "places": tuple(places)},
            outs, tuple_out=many)
        results = [Variable(v) for v in outs]
        return type(out)(results) if many else results[0]

    # -- lists
    def list_value(self, box) -> Value:
        """A list as a list Value."""
        if getattr(box, "symbolic", None) is not None:
            return box.symbolic
        for x in box:
            self.packed(x)
        return self.pack([self.lift(x) for x in box])

    def packed(self, x) -> None:
        """Note that a tensor is in a list Value: a later write in place would miss it there."""
        if isinstance(x, Variable):
            x._packed = True

    def pack(self, values, element=None) -> Value:
        if any(v is None for v in values):
            raise StaticError("a list that grows in a symbolic loop or branch may hold tensors, "
                              f"numbers and texts only{where()}")
        for v in values:
            element = v.like(block=None) if element is None else self.join(element, v)
        out = Value("list", (), None, self.block, element=element)
        return self.builtin("list", [list(values)], out)

    def element(self, x, value: Value) -> Value:
        v = self.lift(x)
        self.packed(x)
        if v is None:
            raise StaticError("a list that grows in a symbolic loop or branch may hold tensors, "
                              f"numbers and texts only{where()}")
        if value.element is not None:
            value.element = self.join(value.element, v)
        else:
            value.element = v.like(block=None)
        return v

    # -- types
    def join(self, a: Value, b: Value) -> Value:
        """The type that holds both; StaticError where there is none."""
        maybe = a.maybe or b.maybe
        if a.kind == "undefined" or b.kind == "undefined":
            return (b if a.kind == "undefined" else a).like(maybe=maybe or "a variable")
        if a.kind == b.kind == "list":
            e = a.element or b.element
            if a.element is not None and b.element is not None:
                e = self.join(a.element, b.element)
            return a.like(element=e, maybe=maybe)
        numbers = ("bool", "int", "float")
        if a.kind in numbers and b.kind in numbers:
            kind = max(a.kind, b.kind, key=numbers.index)
            same = a.probes == b.probes and a.kind == b.kind
            return Value(kind, (), KINDS[kind], maybe=maybe, probes=a.probes if same else None)
        if a.kind == b.kind and a.kind != "tensor":
            return a.like(maybe=maybe, probes=None)
        if a.kind in numbers and b.kind == "tensor":
            a, b = b, a
        if a.kind == "tensor" and b.kind in numbers:
            if a.shape != () or (b.kind == "float" and a.dtype.kind not in "fc"):
                raise Mismatch(f"{a.describe()} in one and {b.kind} in the other")
            return a.like(maybe=maybe)
        if a.kind != "tensor" or b.kind != "tensor" or len(a.shape) != len(b.shape) or \
                a.dtype != b.dtype:
            raise Mismatch(f"{a.describe()} in one and {b.describe()} in the other")
        shape = tuple(m if m == n else self.probes.new() for m, n in zip(a.shape, b.shape))
        return Value("tensor", shape, a.dtype, maybe=maybe,
                     stop_gradient=a.stop_gradient and b.stop_gradient)

    def convert(self, v: Value, to: Value) -> Value:
        """A value of this block as the wider type it is joined into."""
        v = self.use(v)
        if to.kind == "tensor" and v.kind in ("bool", "int", "float"):
            return self.builtin("number", [v], Value("tensor", (), to.dtype), dtype=to.dtype)
        return v


class Mismatch(Exception):
    """Two values that no common type holds; the text says what they are."""


def _leaves(data):
    for v in data:
        if isinstance(v, (list, tuple)):
            yield from _leaves(v)
        else:
            yield v


def _viewed(base, result, op, attrs) -> None:
    """Remember that two symbolic tensors share memory in eager mode."""
    if not isinstance(base, Variable):
        return
    result._view_of = base, op, attrs
    views = base.__dict__.setdefault("_views", [])
    if len(views) > 32:
        views[:] = [v for v in views if v[0]() is not None]
    views.append((weakref.ref(result), op, attrs))


class Same:
    """One tensor that several symbolic ones may be, depending on conditions of run time."""

    def __init__(self, first) -> None:
        self.members = [weakref.ref(first)]


def may_be(out, sources) -> None:
    """Note that a result is one of several tensors, which one being known at run time only."""
    if isinstance(out, Scalar) or not isinstance(out, Variable):
        return
    found: set = set()
    for x in sources:
        if getattr(x, "_same", None) is None:
            x._same = {Same(x)}
        found |= x._same
    out._same = found
    for s in found:
        s.members.append(weakref.ref(out))


__all__ = ["Tracer", "Mismatch", "may_be"]
