"""A Program in files: JSON for the operators, npz without pickle for the values.

Imports program_code, static and core. Loading checks everything before a Program is built: each
operator must be a known one, have the inputs, outputs and attributes of its signature, and use
values that stand before it. Nothing in a file is run, imported or looked up by attribute.
"""
from __future__ import annotations

import builtins
import itertools
import json
import math
import os
import re
import zipfile

import numpy as np

from .core import Parameter, asnumpy, is_array, np_dtype, parse, registry, to_tensor
from .device import Place
from .dtypes import ALL as DTYPES
from .program_code import BUILTINS, MATH, Deferred, compiled
from .static import (Block, Dim, InputSpec, Operator, Origin, Probes, Program, Ref, State,
                     StaticError, Value, undefined)

FORMAT, VERSION = "minipaddle", 1
_DEEP, _LONG = 64, 1_000_000
_NAME = re.compile(r"\w+(\.\w+)*\Z")
_KINDS = ("tensor", "int", "float", "bool", "str", "list", "undefined")
_NOT_SAVED = {"py_layer", "hook"}
# operators that are no ops of the registry: number of inputs (None: any), attributes
_BUILTIN_INPUTS = {"dim": 1, "int": 1, "float": 1, "bool": 1, "array": 0, "number": 1, "detach": 1,
                   "require_grad": 1, "list": 1, "list_append": 2, "list_set": 3, "list_remove": 2,
                   "list_insert": 3, "list_get": 2, "list_slice": 4, "list_len": 1, "check": 1,
                   "raise": 0, "constant": 0}
_BUILTIN_ATTRS = {"dim": ("axis",), "array": ("value",), "number": ("dtype",),
                  "check": ("variable", "text"), "print": ("template", "options"),
                  "raise": ("error",), "format": ("template",), "math": ("function",),
                  "constant": ("value",)}


class Damaged(ValueError):
    """A file that cannot be a Program; the text says which part is wrong."""


# ---- writing
class _Writer:
    """One Program as JSON."""

    def __init__(self, arrays) -> None:
        self.arrays, self.origins, self.known = arrays, [], {}

    def origin(self, o):
        if o is None:
            return None
        key = (o.file, o.line, o.function, o.text)
        if key not in self.known:
            self.known[key] = len(self.origins)
            self.origins.append([os.path.basename(o.file), o.line, o.function, o.text])
        return self.known[key]

    def type(self, v):
        shape = [list(n.probes) if isinstance(n, Dim) else int(n) for n in v.shape]
        return [v.kind, shape, None if v.dtype is None or v.kind != "tensor" else v.dtype.name,
                v.maybe, v.stop_gradient, None if v.element is None else self.type(v.element)]

    def attr(self, a, op):
        """A literal; what JSON has no form for is an object with one key, its tag."""
        if a is None or type(a) in (bool, int, str):
            return a
        if type(a) is float:
            return a if math.isfinite(a) else {"float": repr(a)}
        if type(a) is list:
            return [self.attr(v, op) for v in a]
        if type(a) is tuple:
            return {"tuple": [self.attr(v, op) for v in a]}
        if isinstance(a, Ref):
            return {"ref": a.index}
        if isinstance(a, Deferred):
            return {"value": a.index}
        if isinstance(a, np.dtype):
            return {"dtype": a.name}
        if hasattr(a, "np") and hasattr(a, "name"):
            return {"dtype": a.name}
        if type(a) is slice:
            return {"slice": [self.attr(v, op) for v in (a.start, a.stop, a.step)]}
        if a is Ellipsis:
            return {"ellipsis": True}
        if a is undefined:
            return {"undefined": True}
        if isinstance(a, Place):
            return {"place": str(a).removeprefix("Place(").removesuffix(")")}
        if isinstance(a, np.generic):
            return self.attr(a.item(), op)
        if is_array(a):
            key = f"array_{len(self.arrays)}"
            self.arrays[key] = asnumpy(a)
            return {"array": key}
        if isinstance(a, BaseException):
            kind = type(a)
            plain = isinstance(getattr(builtins, kind.__name__, None), type)
            return {"error": [kind.__name__ if plain else "RuntimeError",
                              [v if isinstance(v, (str, int, float, bool, type(None))) else str(v)
                               for v in a.args]]}
        if isinstance(a, dict):
            return {"dict": [[str(k), self.attr(v, op)] for k, v in a.items()]}
        where = f" (at {op.origin})" if op.origin else ""
        raise StaticError(f"jit.save: {op.name} has an attribute that is no plain value: "
                          f"{type(a).__name__} {a!r:.60}{where}")

    def block(self, block):
        index = {v: i for i, v in enumerate(block.inputs)}
        count, ops = itertools.count(len(index)), []

        def ref(x):
            if isinstance(x, Value):
                return index[x]
            if isinstance(x, list):
                return [ref(v) for v in x]
            if isinstance(x, np.generic):
                return {"number": [x.dtype.name, self.attr(x.item(), None)]}
            return x if x is None else {"number": [None, self.attr(x, None)]}

        for op in block.ops:
            record = registry.get(op.name)
            if op.name in _NOT_SAVED or record is not None and not record.portable:
                where = f" (at {op.origin})" if op.origin else ""
                raise StaticError(f"jit.save: {op.name} calls Python and cannot be saved{where}")
            inputs = [ref(x) for x in op.inputs]
            extra = [index[v] for v in op.extra]
            attrs = {k: self.attr(a, op) for k, a in op.attrs.items()}
            blocks = [self.block(b) for b in op.blocks]
            for v in op.outputs:
                index[v] = next(count)
            ops.append([op.name, inputs, attrs, [self.type(v) for v in op.outputs], blocks,
                        self.origin(op.origin), extra, op.grad, op.tuple_out])
        return {"inputs": [self.type(v) for v in block.inputs], "ops": ops,
                "outputs": [index[v] for v in block.outputs]}


def _template(t):
    if isinstance(t, Deferred):
        return {"value": t.index}
    if isinstance(t, tuple):
        return {"tuple": [_template(v) for v in t]}
    if isinstance(t, list):
        return [_template(v) for v in t]
    if isinstance(t, dict):
        return {"dict": [[str(k), _template(v)] for k, v in t.items()]}
    if t is None or isinstance(t, (bool, int, str)):
        return t
    if isinstance(t, float):
        return t if math.isfinite(t) else {"float": repr(t)}
    raise StaticError(f"jit.save: the function returns a {type(t).__name__}, which cannot be "
                      "saved; return tensors, numbers, texts, and tuples, lists, dicts of these")


def save(methods, training, layer, path: str) -> None:
    """Write methods (name -> ConcreteProgram) as path.json and path.npz.

    training: those that differ in training mode.
    """
    names: dict = {}
    if layer is not None:
        for key, t in layer.to_static_state_dict().items():
            names.setdefault(id(t), key)
    arrays, state, rows = {}, {}, {}
    writer = _Writer(arrays)
    both = [(name, c, "methods") for name, c in methods.items()]
    for name, concrete, group in both + [(name, c, "training") for name, c in training.items()]:
        program = concrete.program
        compiled(program)                           # dead code goes first
        keys = []
        for s in program.state:
            t = s.read()
            key = names.get(id(t))
            if key is None:
                key = names[id(t)] = f"constant_{sum(k.startswith('constant_') for k in state)}"
            if key not in state:
                state[key] = ["parameter" if isinstance(t, Parameter) else "buffer",
                              list(t._data.shape), t._data.dtype.name, bool(t.stop_gradient)]
                arrays["state." + key] = t.numpy()
            keys.append(key)
        root = program.block
        root.inputs = [*program.inputs, *[s.value for s in program.state]]
        root.outputs = [*program.outputs, *[v for _, v in program.writes]]
        place = {id(s): i for i, s in enumerate(program.state)}
        rows.setdefault(group, {})[name] = {
            "block": writer.block(root), "state": keys,
            "writes": [place[id(s)] for s, _ in program.writes],
            "results": _template(concrete.outputs), "count": len(program.outputs),
            "inputs": [[v.name or f"x{i}", [-1 if isinstance(n, Dim) else int(n) for n in v.shape],
                        v.dtype.name, v.stop_gradient] for i, v in enumerate(program.inputs)]}
    order = {key: i for i, key in enumerate(names.values())}
    data = {"format": FORMAT, "version": VERSION, "origins": writer.origins,
            "state": dict(sorted(state.items(), key=lambda item: order[item[0]])),
            "methods": rows["methods"], "training": rows.get("training", {})}
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    _whole(path + ".npz", lambda f: np.savez(f, **arrays))
    _whole(path + ".json", lambda f: f.write(text.encode()))


def _whole(path, write) -> None:
    """Write a file under another name, then give it its own: never half a file."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as f:
            write(f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


# ---- reading
def _need(condition, text) -> None:
    if not condition:
        raise Damaged(text)


def _is_int(x, low=0, high=2 ** 62) -> bool:
    return type(x) is int and low <= x < high


class _Reader:
    """Builds blocks from JSON, checking every part first."""

    def __init__(self, arrays, origins) -> None:
        self.arrays, self.origins, self.probes, self.count = arrays, origins, Probes(), 0

    def type(self, t, what, depth=0) -> Value:
        _need(isinstance(t, list) and len(t) == 6 and t[0] in _KINDS and depth < 4,
              f"{what}: no type of a value")
        kind, shape, dtype, maybe, stop, element = t
        _need(isinstance(shape, list) and len(shape) <= 32, f"{what}: no shape")
        sizes = []
        for n in shape:
            if isinstance(n, list):
                _need(len(n) == 2 and all(_is_int(k) for k in n), f"{what}: no size {n!r:.40}")
                sizes.append(Dim(n))
            else:
                _need(_is_int(n), f"{what}: no size {n!r:.40}")
                sizes.append(n)
        _need(maybe is None or isinstance(maybe, str), f"{what}: maybe must be a text or null")
        _need(type(stop) is bool, f"{what}: stop_gradient must be true or false")
        if kind == "tensor":
            _need(isinstance(dtype, str) and dtype in DTYPES, f"{what}: dtype {dtype!r:.40}")
        return Value(kind, sizes, np_dtype(dtype) if kind == "tensor" else None, maybe=maybe,
                     stop_gradient=stop,
                     element=None if element is None else self.type(element, what, depth + 1))

    def literal(self, a, what, depth=0):
        """An attribute's value from its JSON form."""
        _need(depth < 20, f"{what}: nested too deep")
        if a is None or type(a) in (bool, int, float, str):
            _need(type(a) is not int or abs(a) < 2 ** 63, f"{what}: a number that is too large")
            return a
        if isinstance(a, list):
            return [self.literal(v, what, depth + 1) for v in a]
        _need(isinstance(a, dict) and len(a) == 1, f"{what}: {a!r:.60} is no literal")
        (tag, v), = a.items()
        if tag == "tuple" and isinstance(v, list):
            return tuple(self.literal(x, what, depth + 1) for x in v)
        if tag == "float" and v in ("nan", "inf", "-inf"):
            return float(v)
        if tag == "dtype" and v in DTYPES:
            return np_dtype(v)
        if tag == "slice" and isinstance(v, list) and len(v) == 3:
            return slice(*[self.literal(x, what, depth + 1) for x in v])
        if tag == "ellipsis":
            return Ellipsis
        if tag == "undefined":
            return undefined
        if tag in ("ref", "value") and _is_int(v, high=_LONG):
            return Ref(v) if tag == "ref" else Deferred(v)
        if tag == "place" and isinstance(v, str):
            try:
                return parse(v)
            except ValueError as error:
                raise Damaged(f"{what}: {error}") from None
        if tag == "array" and isinstance(v, str) and v.startswith("array_") and v in self.arrays:
            return self.arrays[v]
        if tag == "error" and isinstance(v, list) and len(v) == 2 and isinstance(v[1], list):
            return _error(v[0], v[1], what)
        if tag == "dict" and isinstance(v, list) and all(
                isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) for p in v):
            return {k: self.literal(x, what, depth + 1) for k, x in v}
        raise Damaged(f"{what}: {a!r:.60} is no literal")

    def block(self, data, parent, what, depth=0) -> Block:
        _need(depth <= _DEEP, f"{what}: blocks are nested deeper than {_DEEP}")
        _need(isinstance(data, dict) and all(isinstance(data.get(k), list)
                                             for k in ("inputs", "ops", "outputs")),
              f"{what}: no block")
        block = Block(parent)
        values: list = []
        for i, t in enumerate(data["inputs"]):
            v = self.type(t, f"{what}, input {i}")
            v.block = block
            values.append(v)
        block.inputs = list(values)

        def value(i, where):
            _need(_is_int(i, high=len(values)), f"{where}: value {i!r:.40} is not defined yet")
            return values[i]

        for k, row in enumerate(data["ops"]):
            self.count += 1
            _need(self.count <= _LONG, "the program has more than a million operators")
            where = f"{what}, operator {k}"
            _need(isinstance(row, list) and len(row) == 9 and isinstance(row[0], str),
                  f"{where}: no operator")
            where += f" ({row[0]:.40})"
            op = self.operator(row, value, block, where, depth)
            for v in op.outputs:
                v.block = block
                values.append(v)
            block.ops.append(op)
        block.outputs = [value(i, f"{what}, outputs") for i in data["outputs"]]
        return block

    def operator(self, row, value, block, where, depth) -> Operator:
        name, inputs, attrs, outputs, blocks, origin, extra, grad, many = row
        _need(isinstance(inputs, list) and isinstance(attrs, dict) and isinstance(outputs, list)
              and isinstance(blocks, list) and isinstance(extra, list) and type(grad) is bool
              and type(many) is bool, f"{where}: fields of the wrong kind")
        _need(origin is None or _is_int(origin, high=len(self.origins)), f"{where}: origin")

        def read(x):
            if isinstance(x, list):
                return [read(v) for v in x]
            if x is None:
                return None
            if isinstance(x, dict):
                _need(list(x) == ["number"] and isinstance(x["number"], list)
                      and len(x["number"]) == 2, f"{where}: input {x!r:.40}")
                dtype, number = x["number"]
                number = self.literal(number, where)
                _need(isinstance(number, (bool, int, float)), f"{where}: no number")
                _need(dtype is None or dtype in DTYPES, f"{where}: dtype {dtype!r:.40}")
                try:
                    return number if dtype is None else np_dtype(dtype).type(number)
                except OverflowError:
                    raise Damaged(f"{where}: a number too large for {dtype}") from None
            return value(x, where)

        ins = [read(x) for x in inputs]
        more = [value(i, where) for i in extra]
        plain = {k: self.literal(a, f"{where}, attribute {k:.40}") for k, a in attrs.items()}
        outs = [self.type(t, f"{where}, output {i}") for i, t in enumerate(outputs)]
        self.signature(name, ins, plain, outs, blocks, more, where)
        inner = [self.block(b, block, f"{where}, block {i}", depth + 1)
                 for i, b in enumerate(blocks)]
        self.nested(name, ins, plain, outs, inner, where)
        for b in inner:
            b.captured = dict(zip(ins[1:] if name == "cond" else ins, b.inputs))
        found = Operator(name, ins, plain, outs, inner,
                         None if origin is None else self.origins[origin], more, grad, many)
        return found

    def signature(self, name, ins, attrs, outs, blocks, extra, where) -> None:
        """Counts and names against what the operator takes."""
        record = registry.get(name)
        if record is not None and name not in ("cond", "while"):
            _need(record.portable, f"{where}: this op cannot be in a file")
            _need(len(ins) == len(record.inputs), f"{where}: {len(ins)} inputs, it takes "
                  f"{len(record.inputs)}")
            _need(list(attrs) == list(record.attrs), f"{where}: attributes {list(attrs)!r:.80}, "
                  f"it takes {record.attrs}")
            for i, x in enumerate(ins):
                _need(isinstance(x, list) == (i in record.lists),
                      f"{where}: input {record.inputs[i]} of the wrong kind")
                _need(x is not None or record.inputs[i] in record.optional,
                      f"{where}: input {record.inputs[i]} is missing")
            _need(bool(outs) and not blocks, f"{where}: outputs or blocks")
        elif name in ("cond", "while"):
            _need(len(blocks) == 2, f"{where}: it has two blocks")
        else:
            _need(name in BUILTINS and name not in _NOT_SAVED, f"{where}: no such operator")
            count = _BUILTIN_INPUTS.get(name)
            _need(count is None or len(ins) == count, f"{where}: {len(ins)} inputs")
            _need(set(attrs) == set(_BUILTIN_ATTRS.get(name, ())), f"{where}: attributes")
            _need(not blocks and not extra and len(outs) <= 1, f"{where}: outputs or blocks")
            self.builtin(name, ins, attrs, where)
        for a in attrs.values():
            for r in _refs(a):
                _need(r.index < len(extra), f"{where}: an attribute names value {r.index}")

    def builtin(self, name, ins, attrs, where) -> None:
        if name == "math":
            _need(attrs["function"] in MATH, f"{where}: math has no {attrs['function']!r:.40}")
        elif name == "dim":
            _need(_is_int(attrs["axis"], high=64), f"{where}: axis")
        elif name == "raise":
            _need(isinstance(attrs["error"], BaseException), f"{where}: error")
        elif name == "array":
            _need(isinstance(attrs["value"], np.ndarray), f"{where}: value")
        elif name == "number":
            _need(isinstance(attrs["dtype"], np.dtype), f"{where}: dtype")
        elif name == "check":
            _need(all(isinstance(v, str) for v in attrs.values()), f"{where}: texts")
        elif name in ("print", "format"):
            for d in _deferred(list(attrs.values())):
                _need(d.index < len(ins), f"{where}: it names value {d.index}")
            if name == "format":
                _need(isinstance(attrs["template"], list), f"{where}: template")
                for p in attrs["template"]:
                    _need(isinstance(p, str) or isinstance(p, tuple) and len(p) == 3
                          and _is_int(p[1], low=-1) and isinstance(p[2], str) and len(p[2]) < 20,
                          f"{where}: template")
            else:
                _need(isinstance(attrs["options"], dict) and set(attrs["options"]) <= {
                    "sep", "end", "flush"}, f"{where}: options")
        elif name == "constant":
            _need(not isinstance(attrs["value"], (Ref, Deferred)), f"{where}: value")
        elif name.startswith("py_"):
            _need(1 <= len(ins) <= 3, f"{where}: inputs")
        for x in ins:
            _need(isinstance(x, Value) or (name == "list" and isinstance(x, list)) or (
                name == "list_slice" and x is None), f"{where}: inputs")

    def nested(self, name, ins, attrs, outs, inner, where) -> None:
        if name == "cond":
            _need(len(ins) >= 1 and all(isinstance(v, Value) for v in ins) and not attrs and all(
                len(b.inputs) == len(ins) - 1 and len(b.outputs) == len(outs) for b in inner),
                f"{where}: its blocks do not fit its inputs and outputs")
        elif name == "while":
            n = attrs.get("carried")
            _need(list(attrs) == ["carried"] and _is_int(n, high=len(ins) + 1) and all(
                isinstance(v, Value) for v in ins) and len(outs) == n and all(
                len(b.inputs) == len(ins) for b in inner) and len(inner[0].outputs) == 1 and
                len(inner[1].outputs) == n, f"{where}: its blocks do not fit")


def _refs(a):
    if isinstance(a, Ref):
        yield a
    elif isinstance(a, slice):
        yield from _refs([a.start, a.stop, a.step])
    elif isinstance(a, (list, tuple)):
        for v in a:
            yield from _refs(v)


def _deferred(a):
    if isinstance(a, Deferred):
        yield a
    elif isinstance(a, dict):
        yield from _deferred(list(a.values()))
    elif isinstance(a, (list, tuple)):
        for v in a:
            yield from _deferred(v)


def _error(name, args, what):
    """An exception of Python's own by its name; its arguments are plain values."""
    kind = vars(builtins).get(name) if isinstance(name, str) else None
    _need(isinstance(kind, type) and issubclass(kind, Exception)
          and not issubclass(kind, (UnicodeError, OSError)), f"{what}: no exception {name!r:.40}")
    _need(all(isinstance(v, (str, int, float, bool, type(None))) for v in args),
          f"{what}: arguments of an exception")
    try:
        return kind(*args)
    except TypeError as error:
        raise Damaged(f"{what}: {error}") from None


def _unique(pairs):
    made = dict(pairs)
    _need(len(made) == len(pairs), "a name stands twice in one object")
    return made


def load(path: str):
    """(methods, those in training mode, state): what `save` wrote, checked.

    A method is a pair of its Program and the structure of its results, with `Deferred` in it.
    """
    for end in (".json", ".npz"):
        if not os.path.isfile(path + end):
            raise FileNotFoundError(f"jit.load: {path + end} is missing; jit.save writes "
                                    f"{os.path.basename(path)}.json and .npz")
    try:
        with open(path + ".json", encoding="utf-8") as f:
            data = json.load(f, object_pairs_hook=_unique, parse_constant=_no_constant)
        _need(isinstance(data, dict) and data.get("format") == FORMAT, "its format is another")
        version = data.get("version")
        _need(type(version) is int, "it has no version")
        if version > VERSION:
            raise Damaged(f"it has version {version}, this minipaddle reads up to {VERSION}; "
                          "update minipaddle")
        _need(all(isinstance(data.get(k), t) for k, t in (
            ("state", dict), ("methods", dict), ("training", dict), ("origins", list))),
            "parts are missing")
        arrays = _arrays(path + ".npz")
        state = _state(data["state"], arrays)
        origins = []
        for o in data["origins"]:
            _need(isinstance(o, list) and len(o) == 4 and isinstance(o[0], str) and _is_int(o[1])
                  and isinstance(o[2], str) and isinstance(o[3], str), "an origin is damaged")
            origins.append(SavedOrigin(*o))
        reader = _Reader(arrays, origins)
        _need("forward" in data["methods"], "it has no forward")
        methods, training = {}, {}
        for group, rows in ((methods, data["methods"]), (training, data["training"])):
            for name, row in rows.items():
                _need(name.isidentifier() and isinstance(row, dict), f"method {name!r:.40}")
                group[name] = _method(reader, name, row, state)
        _need(all(n in methods and training[n][0].input_specs ==
                  methods[n][0].input_specs for n in training), "training and methods differ")
    except (Damaged, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"jit.load: {path}.json is damaged or no saved program: {error}") from None
    return methods, training, state


def _no_constant(text):
    raise Damaged(f"{text} is no JSON")


class SavedOrigin(Origin):
    """An origin whose text came with the file."""

    __slots__ = ("kept",)

    def __init__(self, file, line, function, text) -> None:
        super().__init__(file, line, function)
        self.kept = text

    @property
    def text(self) -> str:
        return self.kept.replace("\n", " ")


def _arrays(path) -> dict:
    """The arrays of an npz file: without pickle, and never more than the file can hold."""
    arrays, size = {}, os.path.getsize(path)
    try:
        with zipfile.ZipFile(path) as z:
            for info in z.infolist():
                _need(info.compress_type == zipfile.ZIP_STORED and info.file_size <= size,
                      f"{os.path.basename(path)}: {info.filename!r:.60} is larger than the file")
        with np.load(path, allow_pickle=False) as z:
            for key in z.files:
                arrays[key] = z[key]
    except (zipfile.BadZipFile, ValueError, OSError, KeyError, EOFError, MemoryError) as error:
        raise ValueError(f"jit.load: {path} is damaged: {error}") from None
    return arrays


def _state(rows, arrays) -> dict:
    state = {}
    for name, row in rows.items():
        _need(_NAME.match(name), f"state {name!r:.60}: no name")
        _need(isinstance(row, list) and len(row) == 4 and row[0] in ("parameter", "buffer")
              and isinstance(row[1], list) and row[2] in DTYPES and type(row[3]) is bool,
              f"state {name}: its entry is damaged")
        array = arrays.get("state." + name)
        _need(array is not None, f"state {name}: no values in the npz file")
        _need(list(array.shape) == row[1] and array.dtype == np_dtype(row[2]),
              f"state {name}: the values are {list(array.shape)} {array.dtype}, the program says "
              f"{row[1]} {row[2]}")
        t = to_tensor(array)
        if row[0] == "parameter":
            t = Parameter(t._data, name=None, trainable=not row[3])
        else:
            t.stop_gradient, t.persistable = row[3], True
        state[name] = t
    for a in state:
        for b in state:
            _need(not b.startswith(a + "."), f"state {a}: a tensor and a part of it")
    return state


def _method(reader, name, row, state):
    """(Program, structure of its results) of one method."""
    what = f"method {name}"
    _need(all(isinstance(row.get(k), list) for k in ("state", "writes", "inputs"))
          and _is_int(row.get("count"), high=_LONG), f"{what}: parts are missing")
    block = reader.block(row.get("block"), None, what)
    program = Program(name)
    program.block = block
    n = len(row["inputs"])
    _need(len(block.inputs) == n + len(row["state"]), f"{what}: inputs and state do not fit")
    for i, (v, spec) in enumerate(zip(block.inputs, row["inputs"])):
        _need(isinstance(spec, list) and len(spec) == 4 and isinstance(spec[0], str)
              and isinstance(spec[1], list) and spec[2] in DTYPES
              and all(_is_int(k, low=-1) for k in spec[1]), f"{what}, input {i}")
        v.name = spec[0]
        program.input_specs.append(InputSpec(spec[1], spec[2], spec[0], bool(spec[3])))
    program.inputs = block.inputs[:n]
    for key, v in zip(row["state"], block.inputs[n:]):
        _need(isinstance(key, str) and key in state, f"{what}: state {key!r:.60} is missing")
        program.state.append(State(v, state[key], key))
    count = row["count"]
    _need(len(block.outputs) == count + len(row["writes"]), f"{what}: outputs do not fit")
    program.outputs = block.outputs[:count]
    for place, v in zip(row["writes"], block.outputs[count:]):
        _need(_is_int(place, high=len(program.state)), f"{what}: writes")
        program.writes.append((program.state[place], v))
    template = reader.literal(row.get("results"), f"{what}, results")
    for d in _deferred(template):
        _need(d.index < count, f"{what}: results name value {d.index}")
    _need(not list(_refs(template)), f"{what}: results")
    return program, template


__all__ = ["save", "load"]
