"""The static world: what a Program is, and the specification of its inputs.

Imports core and below. A `Program` is blocks of operators on values; nested blocks are the
branches of `cond` and the test and body of `while`, with explicit inputs and outputs: a nested
block sees nothing of its parent. capture.py writes Programs, program_code.py compiles one to a
Python function, program_file.py keeps it in files.
"""
from __future__ import annotations

import itertools
import linecache
import os
import sys

import numpy as np

from .core import Tensor, convert_dtype, tracer

__all__ = ["InputSpec", "Program", "Block", "Operator"]

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
converted_codes: dict = {}     # id -> code made by conversion: its frames are the user's. By id,
                               # for a function without tensors is converted to an equal code


class StaticError(RuntimeError):
    """What cannot be converted to a Program; the text says where and what to do instead."""

    differ = False          # two branches leave what no common type holds


class _Undefined:
    """What stands for a name that has no value, as a variable before its first assignment."""

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        raise UnboundLocalError("a variable is read that has no value on this way")


undefined = _Undefined()


# ---- sizes that are not known yet
class Dim:
    """A size that is only known when the Program runs.

    It is told from others by what it comes to in two probe runs, so that `2 * n` met twice is
    the same size twice: `probes` are these two numbers, never equal.
    """

    __slots__ = ("probes",)

    def __init__(self, probes) -> None:
        self.probes = tuple(probes)

    def __eq__(self, other) -> bool:
        return isinstance(other, Dim) and other.probes == self.probes

    def __hash__(self) -> int:
        return hash(self.probes)

    def __repr__(self) -> str:
        return "None"


def _primes():
    for n in itertools.count(11, 2):
        if all(n % d for d in range(3, int(n ** 0.5) + 1, 2)):
            yield n


class Probes:
    """Gives out pairs of probe sizes, none twice: small ones for a batch, larger for others."""

    def __init__(self) -> None:
        self.primes = _primes()
        self.small = [(3, 5), (7, 4), (6, 9)]

    def new(self, axis: int = 1) -> Dim:
        if axis == 0 and self.small:
            return Dim(self.small.pop(0))
        a, b = next(self.primes), next(self.primes)
        return Dim((a + 40, b + 40))


def probe_of(size, k: int) -> int:
    """What a size is in probe run k."""
    return size.probes[k] if isinstance(size, Dim) else size


# ---- the parts of a Program
class Value:
    """One value of a block. While a Program is built it stands where a Tensor has its array.

    kind is 'tensor', or 'int', 'float', 'bool', 'str' (Python values when the Program runs), or
    'list' (a list whose length is not known; `element` is a Value like its elements).
    """

    __slots__ = ("kind", "shape", "dtype", "block", "name", "maybe", "probes", "element",
                 "stop_gradient", "maker", "__weakref__")
    _abstract = True

    def __init__(self, kind="tensor", shape=(), dtype=None, block=None, name=None, maybe=None,
                 probes=None, element=None, stop_gradient=True) -> None:
        self.kind, self.shape, self.dtype, self.block = kind, tuple(shape), dtype, block
        self.name, self.maybe, self.probes, self.element = name, maybe, probes, element
        self.stop_gradient, self.maker = stop_gradient, None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def like(self, block=None, **changes) -> "Value":
        """Another value of the same type."""
        known = {n: getattr(self, n) for n in ("kind", "shape", "dtype", "name", "maybe", "probes",
                                               "element", "stop_gradient")}
        return Value(block=block, **{**known, **changes})

    def describe(self) -> str:
        if self.kind == "tensor":
            sizes = ", ".join("None" if isinstance(n, Dim) else str(n) for n in self.shape)
            return f"tensor [{sizes}] {self.dtype}"
        return self.kind


class Ref:
    """A place in an operator's attributes that one of its `extra` inputs fills at run time."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"Ref({self.index})"


class Origin:
    """Where in the user's text an operator comes from."""

    __slots__ = ("file", "line", "function")

    def __init__(self, file: str, line: int, function: str) -> None:
        self.file, self.line, self.function = file, line, function

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


def user_origin() -> Origin | None:
    """The origin of the innermost frame that runs the user's text."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if id(code) in converted_codes or not (file.startswith((PACKAGE, "<call of", "<string>",
                                                            "<frozen"))):
            return Origin(file, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


class Operator:
    """One step: `outputs = name(inputs, attrs)`; cond and while have nested blocks.

    inputs: one entry for each input parameter: a Value, None, a NumPy scalar, or a list of these.
    extra: Values that stand in the attributes, where a `Ref` names them.
    grad: whether it was recorded with gradients on.
    """

    def __init__(self, name, inputs, attrs=None, outputs=(), blocks=(), origin=None, extra=(),
                 grad=True, tuple_out=False) -> None:
        self.name, self.inputs, self.attrs = name, list(inputs), dict(attrs or {})
        self.outputs, self.blocks, self.origin = list(outputs), list(blocks), origin
        self.extra, self.grad, self.tuple_out = list(extra), grad, tuple_out
        for v in self.outputs:
            v.maker = self

    def reads(self):
        """Every Value this operator reads."""
        for x in self.inputs:
            for v in x if isinstance(x, list) else (x,):
                if isinstance(v, Value):
                    yield v
        yield from self.extra


class Block:
    """A list of operators between explicit inputs and outputs."""

    def __init__(self, parent: "Block | None" = None) -> None:
        self.parent, self.inputs, self.ops, self.outputs = parent, [], [], []
        self.captured: dict = {}        # a Value of the parent -> the input that brings it in

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1


class State:
    """A tensor that a Program reads from its owner at every call, and may write back."""

    def __init__(self, value: Value, tensor: Tensor, name: str, get=None) -> None:
        self.value, self.tensor, self.name, self.get = value, tensor, name, get

    def read(self) -> Tensor:
        return self.tensor if self.get is None else self.get()


class Program:
    """Blocks of operators, the state they read and write, and the values they give.

    inputs: Values for the arguments; outputs: Values; state: `State` entries; writes: pairs of a
    State and the Value that it holds after a call. `code()` and `str()` are program_code.py's.
    """

    _versions = itertools.count(1)

    def __init__(self, name: str = "program") -> None:
        self.name, self.version = name, next(self._versions)
        self.block, self.inputs, self.outputs = Block(), [], []
        self.state: list[State] = []
        self.writes: list = []
        self.input_specs: list = []

    def blocks(self):
        """All blocks, each before those nested in it."""
        stack = [self.block]
        while stack:
            block = stack.pop(0)
            yield block
            stack += [b for op in block.ops for b in op.blocks]

    def global_block(self) -> Block:
        return self.block


# ---- what users give for inputs
class InputSpec:
    """Shape, dtype and name of an input: `InputSpec([None, 784], 'float32', 'x')`.

    shape: sizes; None or -1 for one that may differ from call to call. dtype: a dtype or its
    name. stop_gradient: whether the input wants no gradient.

    >>> import minipaddle as paddle
    >>> paddle.static.InputSpec([None, 784], 'float32', 'x')
    InputSpec(shape=(-1, 784), dtype=paddle.float32, name=x, stop_gradient=False)
    """

    def __init__(self, shape, dtype="float32", name: str | None = None,
                 stop_gradient: bool = False) -> None:
        if isinstance(shape, (int, np.integer)):
            shape = [shape]
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"InputSpec: shape must be a list or tuple, got {shape!r}")
        sizes = []
        for n in shape:
            if n is None or (isinstance(n, (int, np.integer)) and n == -1):
                sizes.append(-1)
            elif isinstance(n, (int, np.integer)) and n >= 0:
                sizes.append(int(n))
            else:
                raise ValueError(f"InputSpec: a size must be a non-negative int, None or -1, got "
                                 f"{n!r} in {list(shape)}")
        self.shape, self.dtype = tuple(sizes), convert_dtype(dtype)
        self.name, self.stop_gradient = name, stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> "InputSpec":
        """The specification of a tensor: its shape, dtype and name."""
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray, name: str | None = None) -> "InputSpec":
        """The specification of a NumPy array."""
        return cls(list(ndarray.shape), ndarray.dtype, name)

    def batch(self, batch_size) -> "InputSpec":
        """Put a batch dimension in front; returns self."""
        if isinstance(batch_size, (list, tuple)):
            if len(batch_size) != 1:
                raise ValueError(f"batch: one size is needed, got {list(batch_size)}")
            batch_size = batch_size[0]
        if not (batch_size is None or isinstance(batch_size, (int, np.integer))):
            raise TypeError(f"batch: batch_size must be an int or None, got {batch_size!r}")
        self.shape = (-1 if batch_size is None else int(batch_size), *self.shape)
        return self

    def unbatch(self) -> "InputSpec":
        """Take the first dimension away; returns self."""
        if not self.shape:
            raise ValueError("unbatch: a shape without dimensions has no batch")
        self.shape = self.shape[1:]
        return self

    def __repr__(self) -> str:
        return (f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, "
                f"stop_gradient={self.stop_gradient})")

    def _key(self):
        return self.shape, self.dtype.name, self.name, self.stop_gradient

    def __eq__(self, other) -> bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


# ---- which of the two modes
def in_dynamic_mode() -> bool:
    """Whether operations run at once; False while a function is being converted.

    >>> import minipaddle as paddle
    >>> paddle.in_dynamic_mode()
    True
    """
    return tracer() is None


def disable_static(place=None) -> None:
    """Operations run at once, which is how every program starts."""


def enable_static() -> None:
    """Building Programs call by call is not there yet: NotImplementedError says what is."""
    raise NotImplementedError("enable_static: programs are made by @paddle.jit.to_static; the "
                              "static mode of Program and Executor is not there yet")
