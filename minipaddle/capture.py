"""Writing a Program: symbolic values, and the tracer that turns calls into operators.

Imports program_code, static and core. While a `Tracer` is set, every op called in this thread is
recorded: `Variable` is a Tensor whose `_data` is a Value instead of an array, `Scalar` a Python
number or text that is known at run time only. What is changed while a branch or a loop's body is
traced (attributes, items, in-place writes) is in the write log of that region: it is undone, and
merged.
"""
from __future__ import annotations

import weakref

import numpy as np

from . import core, modes
from .core import Tensor, is_array, local, no_grad, ops
from .device import current_place
from .program_code import PYTHON, fold
from .pylayer import PyLayerContext
from .static import (Block, Dim, Operator, Probes, Program, Ref, State, StaticError, Value,
                     _Undefined, probe_of, user_origin)

_KINDS = {"int": np.dtype("int64"), "float": np.dtype("float64"), "bool": np.dtype("bool"),
          "str": np.dtype("U1")}
MISSING = type("Missing", (), {"__repr__": lambda self: "missing"})()
ABSENT = type("Absent", (), {"__repr__": lambda self: "absent"})()   # of a branch that raises


def current() -> "Tracer":
    """The tracer of this thread; StaticError where none is."""
    if local.tracer is None:
        raise StaticError("a symbolic value was used outside of the capture that made it; a "
                          "converted function must not keep its tensors in places that are not "
                          "seen, such as a library object")
    return local.tracer


def where() -> str:
    origin = user_origin()
    return f" (at {origin})" if origin else ""


# ---- symbolic values
class Variable(Tensor):
    """A tensor of a Program that is being built: everything but its values is known."""

    def __init__(self, value: Value) -> None:
        self._data = value
        tracer = local.tracer
        self._born = tracer.logs[-1] if tracer is not None else None

    # Tensor keeps these on the class or in the instance; here they belong to the value.
    @property
    def stop_gradient(self):
        return self._data.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, flag):
        if flag and not self._data.stop_gradient:
            tracer = current()
            tracer.note(HandleEntry(self))
            self._data = self.detach()._data
        elif not flag and self._data.stop_gradient:
            tracer = current()
            tracer.note(HandleEntry(self))
            self._data = tracer.builtin("require_grad", [self._data], self._data.like(
                stop_gradient=False))

    @property
    def shape(self):
        return [n if not isinstance(n, Dim) else current().dim(self._data, i)
                for i, n in enumerate(self._data.shape)]

    @property
    def size(self):
        total = 1
        for n in self.shape:
            total = n * total
        return total

    @property
    def place(self):
        return current_place()

    @property
    def is_leaf(self):
        return self.stop_gradient

    @property
    def grad(self):
        return None

    @grad.setter
    def grad(self, value):
        _refuse("setting .grad of a symbolic tensor")

    def _constant(self, what):
        value = current().constant_of(self._data)
        if value is None:
            _refuse(f"{what} of a tensor whose values are known at run time only", "Work with the "
                    "tensor itself, or put the code into a function with @paddle.jit.not_to_static")
        return value

    def numpy(self):
        return self._constant("numpy()").copy()

    def item(self, *args):
        if args:
            index = args if len(args) > 1 else args[0]
            return (self.reshape([-1])[index] if len(args) == 1 else self[index]).item()
        return current().scalar(self._data, _kind_of_dtype(self._data.dtype))

    def tolist(self):
        return self._constant("tolist()").tolist()

    def __bool__(self):
        raise _truth_error(self)

    def __int__(self):
        return int(self._constant("int()"))

    def __float__(self):
        return float(self._constant("float()"))

    def __index__(self):
        return self._constant("an index").__index__()

    def __complex__(self):
        return complex(self._constant("complex()"))

    def __array__(self, dtype=None, copy=None):
        return self._constant("a NumPy array").astype(dtype or self._data.dtype)

    def __len__(self):
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        n = self._data.shape[0]
        if isinstance(n, Dim):
            _refuse("len() of a tensor in code that is not converted", "Use x.shape[0]")
        return n

    def __iter__(self):
        if not self._data.shape:
            raise TypeError("iteration over a 0-d tensor")
        n = self._data.shape[0]
        if isinstance(n, Dim):
            _refuse("iteration over a tensor whose length is not known, in code that is not "
                    "converted")
        return (self[i] for i in range(n))

    def __format__(self, spec):
        return str(self)

    def __repr__(self):
        return f"<{self._data.describe()}>"

    __str__ = __repr__
    __hash__ = object.__hash__

    def detach(self):
        tracer = current()
        return Variable(tracer.builtin("detach", [self._data], self._data.like(
            stop_gradient=True)))

    def detach_(self):
        self.stop_gradient = True
        return self

    def set_value(self, value):
        current().set_value(self, value)

    def cpu(self):
        return self

    def cuda(self, device_id=None, blocking=True):
        return self

    def backward(self, grad_tensor=None, retain_graph=False):
        _refuse("backward() in a converted function", "Call it on what the function returns")

    def register_hook(self, hook):
        tracer = current()
        tracer.note(HandleEntry(self))
        self._data = tracer.builtin("hook", [self._data], self._data.like(), hook=hook)

        class Kept:
            def remove(self):
                _refuse("removing a hook in a converted function")
        return Kept()

    def _alias(self):
        return Variable(self._data)

    def __deepcopy__(self, memo):
        return self.clone()

    def __reduce__(self):
        _refuse("pickling a symbolic tensor")


def _refuse(what, way_out="") -> None:
    raise StaticError(f"{what} is not possible while a Program is built{where()}. {way_out}"
                      .strip())


def _truth_error(x):
    origin = user_origin()
    function = f"`{origin.function}`" if origin else "the function"
    return StaticError(
        f"the truth of a symbolic value ({x._data.describe()}) is needed in code that is not "
        f"converted{where()}. {function} is library code, has no source text (exec, the REPL), or "
        "uses it in a place that has no symbolic form (such as the `if` of a comprehension); use "
        "paddle.where, or decide in a converted `if`")


def _kind_of_dtype(dtype) -> str:
    return {"b": "bool", "i": "int", "u": "int"}.get(dtype.kind, "float")


class Scalar(Variable):
    """A Python int, float, bool or str that is known at run time only."""

    @property
    def kind(self):
        return self._data.kind

    def __repr__(self):
        return f"<{self._data.kind}>"

    def __str__(self):
        return current().python("str", self)

    __hash__ = object.__hash__

    def _need(self, what):
        _refuse(f"{what} of a number that is known at run time only, in code that is not "
                "converted,")

    def __bool__(self):
        raise _truth_error(self)

    def __int__(self):
        self._need("int()")

    def __float__(self):
        self._need("float()")

    def __index__(self):
        self._need("an index")

    def __len__(self):
        self._need("len()")

    def __iter__(self):
        self._need("iteration")

    def item(self, *args):
        return self

    def numpy(self):
        self._need("numpy()")

    @property
    def shape(self):
        raise AttributeError(f"{self._data.kind!r} object has no attribute 'shape'")

    def is_integer(self):
        return current().python("eq", current().python("mod", self, 1), 0)

    def bit_length(self):
        self._need("bit_length()")

    @property
    def real(self):
        return self


def _operator(name, swapped=False):
    def method(self, other):
        if isinstance(other, Tensor) and not isinstance(other, Scalar) or is_array(other):
            return getattr(Variable, method.__name__)(self, other)
        if not isinstance(other, (Scalar, int, float, bool, str, np.generic)):
            if name in ("eq", "ne"):
                return name == "ne"
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return current().python(name, *pair)
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor",
              "lshift", "rshift"):
    for _swapped in (False, True):
        _label = f"__{'r' if _swapped else ''}{_name}__"
        _made = _operator(_name, _swapped)
        _made.__name__ = _label
        setattr(Scalar, _label, _made)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _made = _operator(_name)
    _made.__name__ = f"__{_name}__"
    setattr(Scalar, f"__{_name}__", _made)
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Scalar, f"__{_name}__", lambda self, _n=_name: current().python(_n, self))
Scalar.__round__ = lambda self, *n: current().python("round", self, *n)


class Spread(Variable):
    """All elements of a list of unknown length, where an op takes a list of tensors."""


class TracedList(list):
    """A list made while tracing. Once it has grown in a symbolic loop, its elements are a list
    Value; before that it is a plain list."""

    symbolic = None
    __hash__ = object.__hash__

    def _value(self):
        return self.symbolic

    def _write(self, value):
        current().note(BoxEntry(self))
        self.symbolic = value

    def append(self, x):
        tracer = current() if self.symbolic is not None else None
        if tracer is None:
            return list.append(self, x)
        self._write(tracer.builtin("list_append", [self.symbolic, tracer.element(x, self.symbolic)],
                                   self.symbolic.like()))

    def pop(self, index=-1):
        if self.symbolic is None:
            return list.pop(self, index)
        tracer = current()
        item = self[index]
        self._write(tracer.builtin("list_remove", [self.symbolic, tracer.lift(index)],
                                   self.symbolic.like()))
        return item

    def extend(self, other):
        if self.symbolic is None:
            return list.extend(self, other)
        for x in other:
            self.append(x)

    def insert(self, index, x):
        if self.symbolic is None:
            return list.insert(self, index, x)
        tracer = current()
        self._write(tracer.builtin("list_insert", [self.symbolic, tracer.lift(index),
                                                   tracer.element(x, self.symbolic)],
                                   self.symbolic.like()))

    def __iadd__(self, other):
        self.extend(other)
        return self

    def clear(self):
        if self.symbolic is not None:
            self._write(None)
        list.clear(self)

    def __getitem__(self, index):
        if self.symbolic is None and not isinstance(index, Scalar):
            return list.__getitem__(self, index)
        tracer = current()
        if isinstance(index, slice):
            parts = [tracer.lift(v) for v in (index.start, index.stop, index.step)]
            made = TracedList()
            made.symbolic = tracer.builtin("list_slice", [tracer.list_value(self), *parts],
                                           tracer.list_value(self).like())
            return made
        value = tracer.list_value(self)
        return tracer.wrap(tracer.builtin("list_get", [value, tracer.lift(index)],
                                          value.element.like()))

    def __setitem__(self, index, x):
        if self.symbolic is None and not isinstance(index, Scalar):
            return list.__setitem__(self, index, x)
        tracer = current()
        value = tracer.list_value(self)
        new = tracer.builtin("list_set", [value, tracer.lift(index), tracer.element(x, value)],
                             value.like())
        self._write(new)
        list.clear(self)

    def __len__(self):
        if self.symbolic is None:
            return list.__len__(self)
        _refuse("len() of a list that grew in a symbolic loop, in code that is not converted,")

    def __bool__(self):
        return self.symbolic is not None or list.__len__(self) > 0

    def __iter__(self):
        if self.symbolic is None:
            return list.__iter__(self)
        return iter([Spread(self.symbolic)])

    def __repr__(self):
        return list.__repr__(self) if self.symbolic is None else "<list>"


# ---- the write log
class Entry:
    """One place that was written to: where, and how to read and write it."""

    def read(self):
        raise NotImplementedError

    def write(self, value) -> None:
        raise NotImplementedError


class AttrEntry(Entry):
    def __init__(self, owner, name) -> None:
        self.owner, self.name = owner, name
        self.key = ("attr", id(owner), name)

    def read(self):
        state = getattr(self.owner, "__dict__", {})
        for group in (state, *(state.get(g) or {} for g in ("_parameters", "_sub_layers",
                                                            "_buffers"))):
            if self.name in group:
                return group[self.name]
        return MISSING if "__dict__" in dir(self.owner) else getattr(self.owner, self.name, MISSING)

    def write(self, value):
        if value is MISSING:
            if self.read() is not MISSING:
                delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)

    def __str__(self):
        return f"{type(self.owner).__name__}.{self.name}"


class BoxEntry(Entry):
    """The content of a list, dict or set."""

    def __init__(self, box) -> None:
        self.owner, self.key = box, ("box", id(box))

    def read(self):
        box = self.owner
        if isinstance(box, TracedList) and box.symbolic is not None:
            made = TracedList()
            made.symbolic = box.symbolic
            return made
        if isinstance(box, TracedList):
            return TracedList(list.__iter__(box))
        return box.copy()

    def write(self, value):
        box = self.owner
        if isinstance(box, list):
            content = () if getattr(value, "symbolic", None) is not None else list(value)
            if isinstance(box, TracedList):
                list.clear(box)
                box.symbolic = getattr(value, "symbolic", None)
                list.extend(box, content)
                return
            if getattr(value, "symbolic", None) is not None:
                raise StaticError("a list that was made outside of the converted code grows in a "
                                  f"symbolic branch or loop{where()}; make it in the function")
            box[:] = content
            return
        value = value.copy()
        box.clear()
        box.update(value)

    def __str__(self):
        return f"a {'list' if isinstance(self.owner, list) else type(self.owner).__name__}"


class CellEntry(Entry):
    def __init__(self, cell, name) -> None:
        self.owner, self.name, self.key = cell, name, ("cell", id(cell))

    def read(self):
        try:
            return self.owner.cell_contents
        except ValueError:
            return MISSING

    def write(self, value):
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value

    def __str__(self):
        return self.name


class GlobalEntry(Entry):
    def __init__(self, space, name) -> None:
        self.owner, self.name, self.key = space, name, ("global", id(space), name)

    def read(self):
        return self.owner.get(self.name, MISSING)

    def write(self, value):
        if value is MISSING:
            self.owner.pop(self.name, None)
        else:
            self.owner[self.name] = value

    def __str__(self):
        return self.name


class HandleEntry(Entry):
    """The value of a symbolic tensor, which in-place writes replace."""

    def __init__(self, handle) -> None:
        self.owner, self.key = handle, ("handle", id(handle))

    def read(self):
        return Variable(self.owner._data)

    def write(self, value):
        self.owner._data = value._data

    def __str__(self):
        return "a tensor written in place"


class StateEntry(Entry):
    """The value of a tensor from outside that is written in place."""

    def __init__(self, tracer, tensor) -> None:
        self.tracer, self.owner, self.key = tracer, tensor, ("state", id(tensor))

    def read(self):
        return Variable(self.tracer.read(self.owner))

    def write(self, value):
        self.tracer.current[id(self.owner)] = value._data

    def __str__(self):
        return self.owner._name or "a tensor"


class Log(dict):
    """The first old value of everything written in a region, by key."""

    __hash__ = object.__hash__

    def finals(self) -> dict:
        return {k: e.read() for k, e in self.items()}

    def undo(self) -> None:
        for e in reversed(list(self.values())):
            e.write(e.old)


class Region:
    """A traced branch or body: its block, what it returned or raised, what it wrote."""

    def __init__(self, block) -> None:
        self.block, self.outs, self.error, self.log, self.finals = block, None, None, Log(), {}

    def final(self, x):
        """A tensor or container as the region left it, before what it wrote was undone."""
        if isinstance(x, Variable):
            return self.finals.get(("handle", id(x)), x)
        if isinstance(x, (list, dict, set)):
            return self.finals.get(("box", id(x)), x)
        return x

    def final_deep(self, x):
        """The same for everything in it."""
        y = self.final(x)
        if isinstance(y, (list, tuple, dict)) and getattr(y, "symbolic", None) is None:
            parts = list(y.values()) if isinstance(y, dict) else list(y)
            new = [self.final_deep(p) for p in parts]
            if any(a is not b for a, b in zip(parts, new)):
                if isinstance(y, dict):
                    return {**y, **dict(zip(y, new))}
                return type(y)(*new) if hasattr(y, "_fields") else type(y)(new)
        return y


# ---- the tracer
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
        out = Value(kind, (), _KINDS.get(kind), self.block, probes=probes)
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
        return Scalar(self.builtin("dim", [v], Value("int", (), _KINDS["int"], probes=size.probes),
                                   axis=axis))

    def scalar(self, v: Value, kind: str):
        """The Python number of a one-element tensor (or of another number)."""
        if v.kind == kind:
            return Scalar(v)
        return Scalar(self.builtin(kind, [v], Value(kind, (), _KINDS[kind])))

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
        probes = _probe_python(name, values) if kind == "int" else None
        out = Value(kind, (), _KINDS[kind], probes=probes)
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
                extra.append(self.scalar(v, _kind_of_dtype(v.dtype))._data)
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
            key = (op.name, _signature(values), repr(attrs),
                   tuple((v.kind, v.probes) for v in extra))
            if key in self.shapes:
                found, kind = self.shapes[key]
                return [(tuple(self.probes.new() if n is None else n for n in s), d)
                        for s, d in found], kind
        except TypeError:
            key = None
        runs = [_probe(op, values, attrs, extra, 0)]
        data = _depends_on_values(op, values)
        if not known or data:
            runs.append(_probe(op, values, attrs, extra, 1))
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
            dtype = wanted or (core.default_float() if kind == "float" else _KINDS[kind])
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
        for s in getattr(x, "_same", None) or ():
            if any(r() is not None and r() is not x for r in s.members):
                raise StaticError(
                    f"this tensor is written in place{where()}, and another name may mean the same "
                    "tensor, depending on a condition that is known at run time only; write into "
                    "a clone()")
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
        return self.pack([self.lift(x) for x in box])

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
            return Value(kind, (), _KINDS[kind], maybe=maybe, probes=a.probes if same else None)
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


def _signature(values):
    return tuple(tuple(map(_one, x)) if isinstance(x, list) else _one(x) for x in values)


def _one(v):
    if isinstance(v, Value):
        if v.kind == "list":
            return ("list", v.element.shape, v.element.dtype.str)
        return v.shape, v.dtype.str
    return None if v is None else (type(v), v)


_BY_VALUE = {"nonzero", "unique", "unique_consecutive", "masked_select", "bincount", "one_hot",
             "repeat_interleave", "histogram", "sequence_mask"}


def _depends_on_values(op, values):
    """Whether the shape of an op's result depends on what its tensors hold."""
    if op.name == "take_at":
        return any(isinstance(v, Value) and v.dtype.kind == "b" for v in values[1])
    return op.name in _BY_VALUE


def _probe(op, values, attrs, extra, k):
    """Run an op on small arrays: sizes of probe k; several contents are tried."""
    error = None
    for content in ("ramp", "eye", "ones", "zeros"):
        for ints in ((None, 0, 1) if any(v.probes is None for v in extra) else (None,)):
            try:
                return _run_probe(op, values, attrs, extra, k, content, ints)
            except Exception as found:
                error = error or found
    raise error


def _run_probe(op, values, attrs, extra, k, content, ints):
    def sample(v):
        if not isinstance(v, Value):
            return v
        if v.kind == "list":
            return [sample(v.element)] * (3 + 2 * k) if v.element is not None else []
        shape = tuple(probe_of(n, k) for n in v.shape)
        if v.dtype.kind == "b":
            a = np.ones(shape, "bool")
            if k:
                a.reshape(-1)[::2] = False
        elif v.dtype.kind in "iu":
            a = np.zeros(shape, v.dtype) if content != "ones" and not k else \
                np.zeros(shape, v.dtype)
            if op.name in _BY_VALUE and k:
                a = np.arange(a.size).reshape(shape).astype(v.dtype)
        elif content == "eye" and len(shape) > 1:
            a = np.broadcast_to(np.eye(shape[-2], shape[-1], dtype=v.dtype), shape)
        elif content == "zeros":
            a = np.zeros(shape, v.dtype)
        else:
            a = np.full(shape, 0.5, v.dtype) if not k else np.full(shape, 0.25, v.dtype)
            if op.name in _BY_VALUE and k:
                a.reshape(-1)[::2] = 0
        return Tensor(a)

    def fill(a):
        if isinstance(a, Ref):
            v = extra[a.index]
            if v.probes is not None:
                return v.probes[k]
            if v.kind == "int":
                return (13, 17)[k] if ints is None else ints
            return {"float": 0.5 + k, "bool": True}.get(v.kind, "")
        if isinstance(a, slice):
            return slice(fill(a.start), fill(a.stop), fill(a.step))
        if isinstance(a, (tuple, list)):
            return type(a)(fill(v) for v in a) if not hasattr(a, "_fields") else a
        return a

    tensors = []
    for x in values:
        if isinstance(x, list):
            row = []
            for v in x:
                s = sample(v)
                row += s if isinstance(s, list) else [s]
            tensors.append(row)
        else:
            tensors.append(sample(x))
    generator = core.generator(np) if op.random else None
    state = generator.bit_generator.state if generator is not None else None
    observers, modes.local.observers = modes.local.observers, ()
    tracer, amp = core.set_tracer(None), core.set_amp_state(None)
    try:
        with no_grad(), np.errstate(all="ignore"):
            plain = tuple(fill(a) for a in attrs.values())
            if any(isinstance(t, Tensor) for t in core.flat(tensors)):
                out = core.dispatch(op, tensors, plain)
            else:                                   # on the host, whatever the device
                out = core.finish(op, [], plain, op.run(np, *tensors, *plain))
    finally:
        core.set_tracer(tracer)
        core.set_amp_state(amp)
        modes.local.observers = observers
        if generator is not None:
            generator.bit_generator.state = state
    if isinstance(out, (tuple, list)):
        return type(out)(t._data for t in out)
    return out._data


def _probe_python(name, values):
    if any(v.probes is None for v in values):
        return None
    try:
        return tuple(PYTHON[name](*[v.probes[k] for v in values]) for k in (0, 1))
    except Exception:                               # such as a division by zero: not known then
        return None


__all__ = ["Variable", "Scalar", "Tracer", "TracedList"]
