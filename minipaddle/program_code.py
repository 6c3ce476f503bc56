"""A Program as one Python function: the text, what it is bound to, and running it.

Imports static and core. The text is straight-line calls, `if` and `while`; it is registered with
linecache, so tracebacks and pdb show it. One text serves two worlds: kernels on raw arrays where
no gradient is wanted, recorded ops on Tensors where one is. Into the text goes nothing of a file
but names of registered ops, fresh names and literals.
"""
from __future__ import annotations

import functools
import keyword
import linecache
import math
import operator

import numpy as np

from .core import (F16, Tensor, asnumpy, current_xp, is_array, local, no_grad, recast, registry,
                   set_amp_state, xp_of)
from .static import Program, Ref, Value, undefined

# ---- what Python itself does with numbers and texts
PYTHON = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod,
    "truediv": operator.truediv, "floordiv": operator.floordiv, "pow": operator.pow,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "neg": operator.neg,
    "pos": operator.pos, "abs": abs, "invert": operator.invert, "not": operator.not_,
    "round": round, "str": str, "contains": lambda a, b: b in a, "min": min, "max": max,
    "int": int, "float": float, "bool": bool,
}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "mod": "%", "truediv": "/", "floordiv": "//",
          "pow": "**", "and": "&", "or": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<",
          "le": "<=", "gt": ">", "ge": ">="}
MATH = {n for n in dir(math) if not n.startswith("_")}
EFFECTS = {"print", "assert", "raise", "check", "hook"}


def _tensor(x):
    """A run-time value as users see it: arrays as Tensors."""
    return Tensor(x) if is_array(x) else x


def _array(x):
    return x._data if isinstance(x, Tensor) else x


def _one_number(kind, x):
    if isinstance(x, Tensor):
        return kind(x)
    if is_array(x) or isinstance(x, np.generic):
        return kind(Tensor(np.asarray(x) if isinstance(x, np.generic) else x))
    return kind(x)


def _truth(x):
    return bool(x) if type(x) is bool or not is_array(x) else bool(Tensor(x))


def _check(v, name, text):
    if v is undefined:
        raise UnboundLocalError(text)
    return v


def _assert(test, message=None):
    if isinstance(test, (list, tuple)) or not _truth(test):
        raise AssertionError(*(() if message is None else (message,)))


def _raise(error):
    raise error


def _print(template, texts, *values):
    print(*[rebuild(t, [_tensor(v) for v in values]) for t in template],
          **rebuild(texts, [_tensor(v) for v in values]))


def _format(template, *values):
    """An f-string: texts and (structure, conversion, spec)."""
    out = []
    for part in template:
        if isinstance(part, str):
            out.append(part)
            continue
        template, conversion, spec = part
        v = rebuild(template, [_tensor(u) for u in values])
        v = {115: str, 114: repr, 97: ascii}.get(conversion, lambda u: u)(v)
        out.append(format(v, spec))
    return "".join(out)


def _list_set(items, index, value):
    items = list(items)
    items[index] = value
    return items


def _list_remove(items, index):
    items = list(items)
    del items[index]
    return items


def _list_insert(items, index, value):
    items = list(items)
    items.insert(index, value)
    return items


def _require_grad(x):
    t = Tensor(_array(x))
    t.stop_gradient = False
    return t if isinstance(x, Tensor) else x


def _hook(x, hook):
    if isinstance(x, Tensor) and not x.stop_gradient:
        x = registry_call("identity", x)
        x.register_hook(hook)
    return x


def registry_call(name, *args):
    from .core import ops
    return getattr(ops, name)(*args)


def _py_layer(raw, values, cls, args, kwargs, places):
    fill = dict(zip(places, [_tensor(v) for v in values]))
    args = [fill.get(i, a) for i, a in enumerate(args)]
    kwargs = {**kwargs, **{k: v for k, v in fill.items() if isinstance(k, str)}}
    if not raw:
        return cls.apply(*args, **kwargs)
    with no_grad():
        out = cls.apply(*args, **kwargs)
    return type(out)(map(_array, out)) if isinstance(out, (tuple, list)) else _array(out)


class Deferred:
    """A part of a printed or formatted structure that is known at run time: value number k."""

    __slots__ = ("index",)

    def __init__(self, index) -> None:
        self.index = index


def rebuild(template, values):
    """A structure with its `Deferred` parts filled in."""
    if isinstance(template, Deferred):
        return values[template.index]
    if isinstance(template, (tuple, list)):
        made = [rebuild(t, values) for t in template]
        return type(template)(*made) if hasattr(template, "_fields") else type(template)(made) \
            if type(template) in (tuple, list) else made
    if isinstance(template, dict):
        return {k: rebuild(t, values) for k, t in template.items()}
    return template


# operators that are no ops of the registry: name -> function(world, attrs) -> callable of inputs
BUILTINS = {
    "dim": lambda w, a: lambda x: x.shape[a["axis"]],
    "int": lambda w, a: functools.partial(_one_number, int),
    "float": lambda w, a: functools.partial(_one_number, float),
    "bool": lambda w, a: functools.partial(_one_number, bool),
    "array": lambda w, a: functools.partial(lambda v: v, w.give(w.xp.asarray(a["value"]))),
    "number": lambda w, a: lambda v: w.give(w.xp.asarray(v, a["dtype"])),
    "detach": lambda w, a: (lambda x: x) if w.raw else lambda x: x.detach(),
    "require_grad": lambda w, a: _require_grad,
    "hook": lambda w, a: functools.partial(_hook, hook=a["hook"]),
    "list": lambda w, a: lambda items: items,
    "list_append": lambda w, a: lambda items, x: [*items, x],
    "list_set": lambda w, a: _list_set,
    "list_remove": lambda w, a: _list_remove,
    "list_insert": lambda w, a: _list_insert,
    "list_get": lambda w, a: lambda items, i: items[i],
    "list_slice": lambda w, a: lambda items, *s: items[slice(*s)],
    "list_len": lambda w, a: len,
    "check": lambda w, a: functools.partial(_check, name=a["variable"], text=a["text"]),
    "print": lambda w, a: functools.partial(_print, a["template"], a["options"]),
    "assert": lambda w, a: _assert,
    "raise": lambda w, a: lambda: _raise(a["error"]),
    "format": lambda w, a: functools.partial(_format, a["template"]),
    "math": lambda w, a: getattr(math, a["function"]),
    "py_layer": lambda w, a: lambda *v: _py_layer(w.raw, v, a["cls"], a["args"], a["kwargs"],
                                                  a["places"]),
    "constant": lambda w, a: lambda: a["value"],
}
for _name, _function in PYTHON.items():
    BUILTINS["py_" + _name] = lambda w, a, _f=_function: _f


# ---- binding ops to a world
def bind_raw(op, xp, half, zero_dim):
    """An op's forward on raw arrays of one module."""
    call = op.direct if xp is np else functools.partial(op.run, xp)
    if half and op.half is None and xp is np:
        inner = call

        def call(*args):
            wide = recast(list(args), F16, np.dtype("float32"))
            return recast(inner(*wide), np.dtype("float32"), F16)
    if op.residuals:
        full, hidden = call, len(op.residuals)

        def call(*args):
            out = full(*args)[:-hidden]
            return out[0] if len(out) == 1 else out
    if zero_dim and xp is np:
        scalar = call

        def call(*args):
            out = scalar(*args)
            if isinstance(out, (tuple, list)):
                return [np.asarray(a) for a in out]
            return np.asarray(out)
    return call


def bind_recorded(op, grad):
    """An op's recorded call with inputs and attributes one after the other."""
    count, call = len(op.inputs), op.call
    if op.lists or count not in (1, 2):
        def run(*args):
            return call(list(args[:count]), args[count:])
    elif count == 1:
        def run(x, *attrs):
            return call(x, attrs)
    else:
        def run(x, y, *attrs):
            return call(x, y, attrs)
    return run if grad else no_grad()(run)


# ---- passes
def has_effect(op) -> bool:
    record = registry.get(op.name)
    return op.name in EFFECTS or (record is not None and record.random) or any(
        has_effect(o) for b in op.blocks for o in b.ops)


def dead_code(block, outputs) -> list:
    """The operators of a block that something depends on; unused results of cond are dropped."""
    needed, kept = set(outputs), []
    for op in reversed(block.ops):
        if not has_effect(op) and not any(v in needed for v in op.outputs):
            continue
        if op.name == "cond":
            use = [i for i, v in enumerate(op.outputs) if v in needed]
            op.outputs = [op.outputs[i] for i in use]
            for b in op.blocks:
                b.outputs = [b.outputs[i] for i in use]
        for b in op.blocks:
            b.ops = dead_code(b, b.outputs)
        kept.append(op)
        needed.update(op.reads())
    return kept[::-1]


# ---- the text
def _literal(v):
    """A literal's text, or None for what must be bound to a name."""
    if v is None or type(v) in (bool, int, str):
        return repr(v)
    if type(v) is float and math.isfinite(v):
        return repr(v)
    if type(v) is tuple:
        parts = [_literal(x) for x in v]
        if None not in parts:
            return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
    if type(v) is list:
        parts = [_literal(x) for x in v]
        if None not in parts:
            return "[" + ", ".join(parts) + "]"
    return None


class Writer:
    """Writes the text of a Program and notes what its names are bound to."""

    def __init__(self, program) -> None:
        self.program, self.lines, self.origins = program, [], {}
        self.names: dict = {}               # Value -> its name or literal in the text
        self.free: list = []
        self.count = 0
        self.bound: dict = {}               # name -> how to bind it, given a world
        self.functions: dict = {}
        self.last = None

    def fresh(self) -> str:
        if self.free:
            return self.free.pop()
        self.count += 1
        return f"v{self.count - 1}"

    def write(self, indent, text, origin=None) -> None:
        if origin is not None and (origin.file, origin.line) != self.last:
            self.last = origin.file, origin.line
            short = origin.file.replace("\\", "/").rsplit("/", 1)[-1]
            self.lines.append(f"{'    ' * indent}# {short}:{origin.line}  {origin.text}")
        self.lines.append("    " * indent + text)
        if origin is not None:
            self.origins[len(self.lines)] = origin

    def bind(self, stem, make, key) -> str:
        """A name bound to make(world); the same key gives the same name."""
        if key is not None and key in self.functions:
            return self.functions[key]
        stem = stem if stem.isidentifier() else "f"
        name, k = stem, 1
        while name in self.bound or name in _RESERVED or keyword.iskeyword(name) or (
                name[0] in "vxs" and name[1:].isdigit()):
            k += 1
            name = f"{stem}_{k}"
        self.bound[name] = make
        if key is not None:
            self.functions[key] = name
        return name

    def value(self, v) -> str:
        if isinstance(v, Value):
            return self.names[v]
        if isinstance(v, list):
            return "[" + ", ".join(
                ("*" if isinstance(u, Value) and u.kind == "list" else "") + self.value(u)
                for u in v) + "]"
        if isinstance(v, np.generic):
            return self.bind("number", lambda w, _v=v: _v if w.raw else _v.item(),
                             ("number", v.dtype.str, repr(v)))
        text = _literal(v)
        return text if text is not None else self.bind("constant", lambda w, _v=v: _v, None)

    def attribute(self, a, extra) -> str:
        if isinstance(a, Ref):
            return self.names[extra[a.index]]
        if type(a) is slice:
            return "slice(" + ", ".join(self.attribute(p, extra)
                                        for p in (a.start, a.stop, a.step)) + ")"
        text = _literal(a)
        if text is not None:
            return text
        if type(a) in (tuple, list):
            parts = [self.attribute(p, extra) for p in a]
            return ("(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")") \
                if type(a) is tuple else "[" + ", ".join(parts) + "]"
        if a is Ellipsis:
            return "..."
        return self.bind("constant", lambda w, _a=a: _a, ("attr", type(a), repr(a))
                         if isinstance(a, np.dtype) else None)

    # -- operators
    def block(self, block, indent, keep) -> None:
        """The operators of a block; `keep` are values that live on after it."""
        last: dict = {}
        for i, op in enumerate(block.ops):
            for v in op.reads():
                last[v] = i
        for v in keep:
            last[v] = len(block.ops)
        own = set()
        for i, op in enumerate(block.ops):
            for v in op.outputs:
                if v not in last:
                    last[v] = i
            self.operator(op, indent)
            own.update(op.outputs)
            for v in [v for v in own if last[v] == i]:
                own.discard(v)
                name = self.names[v]
                if name[0] == "v" and name[1:].isdigit() and v.maker is not None and \
                        v.maker.name not in _ALIASES:
                    self.free.append(name)

    def operator(self, op, indent) -> None:
        if op.name == "cond":
            return self.cond(op, indent)
        if op.name == "while":
            return self.loop(op, indent)
        if op.name == "constant":
            v = op.attrs["value"]
            text = _literal(v)
            self.names[op.outputs[0]] = text if text is not None and not isinstance(
                v, (tuple, list)) else self.bind("constant", lambda w, _v=v: _v, None)
            if text is not None and text.startswith("-"):
                self.names[op.outputs[0]] = f"({text})"
            return None
        args = [self.value(x) for x in op.inputs]
        if op.name[:3] == "py_" and op.name[3:] in _SIGNS:
            text = f"{args[0]} {_SIGNS[op.name[3:]]} {args[1]}"
        elif op.name in registry:
            record = registry[op.name]
            args += [self.attribute(a, op.extra) for a in op.attrs.values()]
            half = any(isinstance(v, Value) and v.dtype == F16 for v in op.reads())
            zero = any(v.kind == "tensor" and not v.shape for v in op.outputs)
            grad = op.grad

            def make(w, _r=record, _half=half, _zero=zero, _grad=grad):
                return bind_raw(_r, w.xp, _half, _zero) if w.raw else bind_recorded(_r, _grad)
            text = f"{self.bind(op.name, make, (op.name, half, zero, grad))}({', '.join(args)})"
        else:
            attrs = {k: self.plain(a) for k, a in op.attrs.items()}
            args += [self.names[v] for v in op.extra]

            def make(w, _n=op.name, _a=attrs):
                return BUILTINS[_n](w, _a)
            key = None if attrs and op.name not in ("dim",) else (op.name, repr(attrs))
            text = f"{self.bind(op.name, make, key)}({', '.join(args)})"
        for v in op.outputs:
            self.names[v] = self.fresh()
        target = ", ".join(self.names[v] for v in op.outputs)
        if op.tuple_out:
            target = f"{target}," if len(op.outputs) == 1 else target
        self.write(indent, f"{target} = {text}" if op.outputs else text, op.origin)
        return None

    def plain(self, a):
        return a

    def enter(self, block, values) -> None:
        for inner, outer in zip(block.inputs, values):
            self.names[inner] = self.names[outer]

    def give(self, indent, targets, values) -> None:
        pairs = [(t, v) for t, v in zip(targets, values) if t != v]
        if pairs:
            self.write(indent, ", ".join(t for t, _ in pairs) + " = " +
                       ", ".join(v for _, v in pairs))

    def cond(self, op, indent) -> None:
        pred, values = op.inputs[0], op.inputs[1:]
        truth = self.names[pred]
        if pred.kind != "bool":
            truth = f"{self.bind('truth', lambda w: _truth, 'truth')}({truth})"
        self.write(indent, f"if {truth}:", op.origin)
        start = list(self.free)
        outs = [self.fresh() for _ in op.outputs]
        for k, block in enumerate(op.blocks):
            if k:
                if not block.ops and not outs:
                    break
                self.write(indent, "else:")
            saved, self.free = self.free, [n for n in start if n not in outs]
            before = len(self.lines)
            self.enter(block, values)
            self.block(block, indent + 1, block.outputs)
            self.give(indent + 1, outs, [self.names[v] for v in block.outputs])
            if len(self.lines) == before:
                self.write(indent + 1, "pass")
            self.free = saved
        for v, n in zip(op.outputs, outs):
            self.names[v] = n

    def loop(self, op, indent) -> None:
        n = op.attrs["carried"]
        first, rest = op.inputs[:n], op.inputs[n:]
        carried = [self.fresh() for _ in range(n)]
        self.give(indent, carried, [self.names[v] for v in first])
        for v, name in zip(op.outputs, carried):
            self.names[v] = name
        test, body = op.blocks
        self.write(indent, "while True:", op.origin)
        saved, self.free = self.free, []            # what is free now may hold nothing inside
        names = [*op.outputs, *rest]
        self.enter(test, names)
        self.block(test, indent + 1, test.outputs)
        pred = test.outputs[0]
        truth = self.names[pred]
        if pred.kind != "bool":
            truth = f"{self.bind('truth', lambda w: _truth, 'truth')}({truth})"
        self.write(indent + 1, f"if not {truth}:", op.origin)
        self.write(indent + 2, "break")
        self.enter(body, names)
        self.block(body, indent + 1, body.outputs)
        self.give(indent + 1, carried, [self.names[v] for v in body.outputs])
        self.free = saved


_ALIASES = ()
_RESERVED = {"slice", "program"}


class World:
    """Where a program runs: kernels of an array module, or recorded ops."""

    def __init__(self, raw, xp) -> None:
        self.raw, self.xp = raw, xp

    def give(self, array):
        """An array as values are in this world."""
        return array if self.raw else Tensor(array)


class Compiled:
    """The function of a Program: its text, and the function in each world."""

    def __init__(self, program) -> None:
        w = Writer(program)
        program.block.ops = dead_code(program.block, [*program.outputs,
                                                      *[v for _, v in program.writes]])
        inputs = [f"x{i}" for i in range(len(program.inputs))]
        states = [f"s{i}" for i in range(len(program.state))]
        for v, n in [*zip(program.inputs, inputs),
                     *zip([s.value for s in program.state], states)]:
            w.names[v] = n
        results = [*program.outputs, *[v for _, v in program.writes]]
        w.lines.append("")                          # the head, once the bindings are known
        w.block(program.block, 1, results)
        w.write(1, "return (" + "".join(w.names[v] + ", " for v in results) + ")")
        bound = [f"{n}={n}" for n in w.bound]
        w.lines[0] = f"def program({', '.join([*inputs, *states, *bound])}):"
        self.text = "\n".join(w.lines) + "\n"
        self.origins, self.bound = w.origins, w.bound
        self.file = f"<program {program.name} {program.version}>"
        self.title = program.name
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(True), self.file)
        self.code = compile(self.text, self.file, "exec")
        self.worlds: dict = {}

    def function(self, raw, xp):
        key = raw, xp
        found = self.worlds.get(key)
        if found is None:
            world = World(raw, xp)
            space = {n: make(world) for n, make in self.bound.items()}
            exec(self.code, space)
            found = self.worlds[key] = space["program"]
        return found

    def run(self, tensors) -> tuple:
        """The results for the tensors of the inputs and the state: Tensors or Python values."""
        recorded = local.grad and any(not t.stop_gradient for t in tensors)
        xp = xp_of(tensors[0]._data) if tensors else current_xp()
        args = tensors if recorded else [t._data for t in tensors]
        function = self.function(not recorded, xp)
        amp = set_amp_state(None) if local.amp is not None else None
        try:
            out = function(*args)
        except Exception as error:
            annotate(error, self)
            raise
        finally:
            if amp is not None:
                set_amp_state(amp)
        return out


def annotate(error, compiled) -> None:
    """Say with an exception which line of the user's made the operator that failed."""
    frame, line = error.__traceback__, None
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == compiled.file:
            line = frame.tb_lineno
        frame = frame.tb_next
    origin = compiled.origins.get(line)
    if origin is not None:
        add_note(error, f"  at {origin}: {origin.text}        (while running the program of "
                        f"`{compiled.title}`)")


def add_note(error, text: str) -> None:
    """A note on an exception; in its message where Python has no notes."""
    if hasattr(error, "add_note"):
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
    elif error.args and isinstance(error.args[0], str) and text not in error.args[0]:
        error.args = (error.args[0] + "\n" + text, *error.args[1:])


def compiled(program) -> Compiled:
    """The Program's function, made on first need."""
    found = program.__dict__.get("_compiled")
    if found is None:
        found = program._compiled = Compiled(program)
    return found


def fold(v):
    """The array of a value that depends on nothing that changes, or None."""
    op = v.maker
    if op is None or op.blocks or op.extra or has_effect(op):
        return None
    record = registry.get(op.name)
    if record is None and op.name not in ("array", "number", "constant"):
        return None
    args = []
    for x in op.inputs:
        row = [fold(u) if isinstance(u, Value) else u for u in (x if isinstance(x, list) else [x])]
        if any(isinstance(u, Value) and a is None
               for u, a in zip(x if isinstance(x, list) else [x], row)):
            return None
        args.append(row if isinstance(x, list) else row[0])
    world = World(True, np)
    if record is None:
        out = BUILTINS[op.name](world, {k: asnumpy(a) if is_array(a) else a
                                        for k, a in op.attrs.items()})(*args)
    else:
        out = bind_raw(record, np, v.dtype == F16, True)(*args, *op.attrs.values())
    if op.tuple_out:
        out = out[op.outputs.index(v)]
    return out if isinstance(out, str) else np.asarray(asnumpy(out) if is_array(out) else out)


# ---- a listing for readers
def listing(program) -> str:
    """The Program as text: types of all values, operators, nested blocks."""
    names: dict = {}

    def name(v):
        if not isinstance(v, Value):
            return repr(v) if not isinstance(v, list) else "[" + ", ".join(map(name, v)) + "]"
        return names.setdefault(v, f"%{len(names)}")

    def show(block, indent):
        pad = "  " * indent
        for op in block.ops:
            attrs = ", ".join(f"{k}={a!r}" for k, a in op.attrs.items() if k != "value")
            args = ", ".join([*map(name, op.inputs), *([attrs] if attrs else [])])
            outs = ", ".join(f"{name(v)}: {v.describe()}" for v in op.outputs)
            where = f"    # {op.origin.file.rsplit('/', 1)[-1]}:{op.origin.line}" \
                if op.origin else ""
            value = f" {op.attrs['value']!r}"[:40] if op.name == "constant" else ""
            lines.append(f"{pad}{outs + ' = ' if outs else ''}{op.name}{value}({args}){where}")
            for b in op.blocks:
                lines.append(pad + "  {" + ", ".join(map(name, b.inputs)) + " ->")
                show(b, indent + 2)
                lines.append(pad + "  } -> " + ", ".join(map(name, b.outputs)))

    lines = [f"program {program.name}(" + ", ".join(
        f"{name(v)}: {v.describe()}" for v in program.inputs) + ")"]
    for s in program.state:
        lines.append(f"  state {s.name} = {name(s.value)}: {s.value.describe()}")
    show(program.block, 1)
    lines.append("  return " + ", ".join(map(name, program.outputs)))
    for s, v in program.writes:
        lines.append(f"  {s.name} <- {name(v)}")
    return "\n".join(lines)


def _code(self) -> str:
    """The Python function that the Program is compiled to, as text."""
    return compiled(self).text


Program.code, Program.__str__, Program.__repr__ = _code, listing, listing
__all__ = ["Compiled", "compiled", "fold", "listing"]
