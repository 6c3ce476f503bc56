"""Symbolic values: tensors, numbers, texts and lists that are known when a Program runs.

Imports static and core. A `Variable` is a Tensor whose `_data` is a Value instead of an array, a
`Scalar` a Python number or text. What Python can only do with values (truth, int(), iteration) is
refused here with the user's line; converted code does it otherwise (jit_runtime.py).
"""
from __future__ import annotations

import numpy as np

from .core import Tensor, is_array, local
from .device import current_place
from .static import Dim, StaticError, Value, user_origin

KINDS = {"int": np.dtype("int64"), "float": np.dtype("float64"), "bool": np.dtype("bool"),
          "str": np.dtype("U1")}
MISSING = type("Missing", (), {"__repr__": lambda self: "missing"})()
ABSENT = type("Absent", (), {"__repr__": lambda self: "absent"})()   # of a branch that raises


def current():
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
            tracer.note_handle(self)
            self._data = self.detach()._data
        elif not flag and self._data.stop_gradient:
            tracer = current()
            tracer.note_handle(self)
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
        return current().scalar(self._data, kind_of_dtype(self._data.dtype))

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
        tracer.note_handle(self)
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


def kind_of_dtype(dtype) -> str:
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
        current().note_box(self)
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
