"""What converted code calls: `_jit.if_`, `_jit.while_`, `_jit.call` and the like.

Imports jit_control, jit_passes, jit_source, capture and below. Each does what Python does with
plain values, and writes operators with symbolic ones. Which function is called decides how it is
called: users' functions are converted on first use, library code stays as it is.
"""
from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import itertools
import math
import operator
import os
import string
import sys
import types

import numpy as np

from . import jit_control as control
from . import jit_passes, jit_source
from .capture import Tracer
from .core import Tensor, local
from .layer import Layer
from .program_code import MATH, Deferred
from .static import (PACKAGE, Dim, StaticError, Value, _Undefined, converted_codes,
                     undefined)
from .symbolic import KINDS, MISSING, Scalar, TracedList, Variable, where
from .write_log import AttrEntry, BoxEntry, CellEntry, GlobalEntry

_runtime = sys.modules[__name__]        # what `_jit` is in converted code


def is_symbolic(x) -> bool:
    """Whether the truth of x is known at run time only."""
    return isinstance(x, Tensor) or getattr(x, "symbolic", None) is not None


def _truth(tracer, x) -> Value:
    """The Value whose truth is x's."""
    if isinstance(x, TracedList):
        x = len_(x)
        return tracer.python("gt", x, 0)._data
    v = tracer.read(x)
    if v.kind == "tensor":
        sizes = [n for n in v.shape if not isinstance(n, Dim)]
        if len(sizes) == len(v.shape) and math.prod(sizes) != 1:
            raise ValueError(f"the truth value of a tensor of {math.prod(sizes)} elements is "
                             "ambiguous; use .any() or .all()")
        return v
    return v if v.kind == "bool" else tracer.scalar(v, "bool")._data if v.kind != "str" else \
        tracer.python("ne", Scalar(v), "")._data


# ---- branches
def if_(pred, then, orelse, state, names):
    tracer = local.tracer
    if tracer is None or not is_symbolic(pred):
        return (then if pred else orelse)(*state)
    return control.cond(tracer, _truth(tracer, pred), then, orelse, state, names)


def choose(test, a, b):
    """`a if test else b`; a and b are functions without arguments."""
    tracer = local.tracer
    if tracer is None or not is_symbolic(test):
        return a() if test else b()
    return control.cond(tracer, _truth(tracer, test), lambda: (a(),), lambda: (b(),), (),
                        ("the value",))[0]


def and_(a, b):
    tracer = local.tracer
    if tracer is None or not is_symbolic(a):
        return a and b()
    return _lazy(tracer, a, b, False)


def or_(a, b):
    tracer = local.tracer
    if tracer is None or not is_symbolic(a):
        return a or b()
    return _lazy(tracer, a, b, True)


def _lazy(tracer, a, b, keep):
    """a where its truth is `keep`, else b(): computed only then."""
    truth = _truth(tracer, a)
    mark = len(tracer.block.ops)
    for convert in (lambda v: v, bool_):            # operands that do not match count as bools
        ways = (lambda: (convert(a),)), (lambda: (convert(b()),))
        try:
            return control.cond(tracer, truth, *(ways if keep else ways[::-1]), (),
                                ("the value",))[0]
        except StaticError as error:
            if convert is bool_ or not error.differ:
                raise
            del tracer.block.ops[mark:]
    raise AssertionError("not reached")


def not_(a):
    tracer = local.tracer
    if tracer is None or not is_symbolic(a):
        return not a
    return tracer.python("not", tracer.scalar(_truth(tracer, a), "bool"))


_COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
            "is": lambda a, b: a is b, "is not": lambda a, b: a is not b,
            "in": lambda a, b: in_(a, b), "not in": lambda a, b: not_(in_(a, b))}


def compare(a, sign, b, *rest):
    """`a < b < c`: every operand once, in order, and only as far as needed."""
    b = b()
    first = _COMPARE[sign](a, b)
    return first if not rest else and_(first, lambda: compare(b, *rest))


def in_(a, b):
    tracer = local.tracer
    if tracer is None:
        return a in b
    if isinstance(b, Scalar) or isinstance(a, Scalar) and isinstance(b, str):
        return tracer.python("contains", a, b)
    if isinstance(b, Tensor):
        return (b == a).any()
    if isinstance(b, TracedList) and b.symbolic is not None:
        raise StaticError(f"`in` with a list that grew in a symbolic loop{where()} cannot be "
                          "converted")
    items = list(b) if isinstance(b, (list, tuple, set, frozenset, dict)) else None
    if items is None or not (isinstance(a, Tensor) or any(isinstance(v, Tensor) for v in items)):
        return a in b
    found = False
    for item in items:
        found = or_(found, lambda item=item: a == item)
    return found


# ---- loops
def while_(test, body, state, names):
    tracer = local.tracer
    while True:
        mark = len(tracer.block.ops) if tracer is not None else 0
        t = test(*state)
        if tracer is not None and is_symbolic(t):
            del tracer.block.ops[mark:]
            return control.Loop(tracer, names).run(test, body, state)
        if not t:
            return state
        state = body(*state)


class Sequence:
    """Something to iterate over by index: its length is symbolic."""

    def __init__(self, length, get, reverse=False) -> None:
        self.length, self.get = length, get

    def __iter__(self):
        raise StaticError(f"iteration over a sequence whose length is known at run time only"
                          f"{where()}, in code that is not converted")


def for_(items, body, state, names, stop=None):
    tracer = local.tracer
    if tracer is None:
        for item in items:
            state = body(item, *state)
            if stop is not None and state[stop]:
                break
        return state
    items = _iterable(tracer, items)
    if isinstance(items, Sequence):
        return _for_symbolic(tracer, items, body, state, names, stop)
    count = 0
    for item in items:
        if stop is not None and is_symbolic(state[stop]):
            count += 1
            if count > 4096:
                raise StaticError(f"a loop over more than 4096 items with a symbolic `break`"
                                  f"{where()}; loop over a tensor or a range of a tensor instead")
            state = if_(not_(state[stop]), lambda *s, _i=item: body(_i, *s), lambda *s: s,
                        state, names)
        else:
            state = body(item, *state)
            if stop is not None and not is_symbolic(state[stop]) and state[stop]:
                break
    return state


def _for_symbolic(tracer, items, body, state, names, stop):
    def test(i, *s):
        more = i < items.length
        return more if stop is None else and_(not_(s[stop]), lambda: more)

    def step(i, *s):
        return (i + 1, *body(items.get(i), *s))

    zero = tracer.constant(0)
    zero.probes = None
    return control.Loop(tracer, ("the index", *names)).run(test, step, (Scalar(zero), *state))[1:]


def _iterable(tracer, items):
    """items as a Sequence where its length is symbolic, else as Python iterates over it."""
    if isinstance(items, Tensor) and not isinstance(items, Scalar):
        v = tracer.read(items)
        if v.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        if isinstance(v.shape[0], Dim) or v.shape[0] > 256:
            t = Variable(v)
            return Sequence(t.shape[0], lambda i: t[i])
        return Variable(v)
    if isinstance(items, TracedList) and items.symbolic is not None:
        return Sequence(len_(items), lambda i: items[i])
    return items


def range_(*args):
    tracer = local.tracer
    if not any(isinstance(a, Tensor) for a in args):
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    start, stop, step = [int_(a) if isinstance(a, Tensor) else a.__index__()
                         for a in (start, stop, step)]
    if isinstance(step, int):
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        count = (stop - start + step - (1 if step > 0 else -1)) // step
    else:
        count = tracer.python("floordiv", stop - start + step - choose(
            step > 0, lambda: 1, lambda: -1), step)
    return Sequence(count, lambda i: start + i * step)


def enumerate_(items, start=0):
    items = _iterable(local.tracer, items)
    if isinstance(items, Sequence):
        return Sequence(items.length, lambda i: (i + start, items.get(i)))
    if isinstance(start, Scalar):
        return ((start + i, x) for i, x in enumerate(items))
    return enumerate(items, start)


def zip_(*parts, strict=False):
    parts = [_iterable(local.tracer, p) for p in parts]
    if not any(isinstance(p, Sequence) for p in parts):
        return zip(*parts)
    gets, length = [], None
    for p in parts:
        if isinstance(p, Sequence):
            n, get = p.length, p.get
        else:
            box = TracedList(p)
            n, get = list.__len__(box), lambda i, _b=box: _b[i]
        length = n if length is None else min_(length, n)
        gets.append(get)
    return Sequence(length, lambda i: tuple(g(i) for g in gets))


def reversed_(items):
    items = _iterable(local.tracer, items)
    if isinstance(items, Sequence):
        return Sequence(items.length, lambda i: items.get(items.length - 1 - i))
    return reversed(list(items)) if isinstance(items, Tensor) else reversed(items)


# ---- names, text, effects
def read(value, name):
    """A name that may be unbound."""
    if isinstance(value, _Undefined):
        raise UnboundLocalError(f"`{name}` is not defined here: local variable '{name}' is read "
                                "before it was given a value")
    tracer = local.tracer
    if tracer is None:
        return value
    if isinstance(value, (Variable, TracedList)):
        v = value.symbolic if isinstance(value, TracedList) else value._data
        if v is not None and v.maybe:
            out = tracer.builtin("check", [v], v.like(maybe=None), variable=name,
                                 text=v.maybe)
            return tracer.wrap(out)
    elif isinstance(value, (tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return control.remade(value, [read(p, name) for p in parts])
    return value


def format(*parts):
    """An f-string: texts and (value, conversion, spec)."""
    tracer = local.tracer
    values: list = []
    template = []
    for part in parts:
        if isinstance(part, str):
            template.append(part)
            continue
        value, conversion, spec = part
        if isinstance(spec, Scalar):
            raise StaticError(f"a format whose width is symbolic{where()} cannot be converted")
        template.append((_defer(tracer, value, values), conversion, spec))
    if not values:
        out = []
        for part in template:
            if not isinstance(part, str):
                value, conversion, spec = part
                value = {115: str, 114: repr, 97: ascii}.get(conversion, lambda u: u)(value)
                part = builtins.format(value, spec)
            out.append(part)
        return "".join(out)
    return Scalar(tracer.builtin("format", values, Value("str", (), KINDS["str"]),
                                 template=template))


def _defer(tracer, x, values):
    """x with its symbolic parts replaced by `Deferred` numbers of values."""
    if tracer is None:
        return x
    if isinstance(x, Tensor) or getattr(x, "symbolic", None) is not None:
        values.append(tracer.lift(x))
        return Deferred(len(values) - 1)
    if isinstance(x, (list, tuple)):
        made = [_defer(tracer, v, values) for v in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made) if isinstance(
            x, tuple) else made
    if isinstance(x, dict):
        return {k: _defer(tracer, v, values) for k, v in x.items()}
    return x


def print_(*args, **kwargs):
    tracer = local.tracer
    if kwargs.get("file") is not None:
        return print(*args, **kwargs)
    values: list = []
    template = [_defer(tracer, a, values) for a in args]
    tracer.effect("print", values, template=template, options=_defer(tracer, kwargs, values))
    return None


def assert_(test, message=None):
    tracer = local.tracer
    if tracer is None or not is_symbolic(test):
        if not test:
            raise AssertionError(*(() if message is None else (message(),)))
        return

    def fail():
        text = [] if message is None else [message()]
        text = [tracer.lift(t) if tracer.lift(t) is not None else tracer.constant(str(t))
                for t in text]
        tracer.effect("assert", [tracer.constant(False), *text])
        return ()

    if_(test, lambda: (), fail, (), ())


def note(owner, name=None) -> None:
    """Log what is about to be written: an attribute, or the content of a container."""
    tracer = local.tracer
    if tracer is None:
        return
    if name is None:
        if isinstance(owner, (list, dict, set)):
            tracer.note(BoxEntry(owner))
        return
    if isinstance(owner, Tensor) or isinstance(getattr(type(owner), name, None), property) or \
            isinstance(owner, (type, types.ModuleType)):
        return
    tracer.note(AttrEntry(owner, name))


def new(thing):
    """A list, dict or set that converted code makes."""
    tracer = local.tracer
    if tracer is None:
        return thing
    if type(thing) is list:
        thing = TracedList(thing)
    return tracer.born(thing)


# ---- builtins of Python, by their function objects
def _number(kind):
    def convert(x=0, *more, **kwargs):
        tracer = local.tracer
        if not is_symbolic(x) or isinstance(x, TracedList):
            if isinstance(x, TracedList) and kind == "bool":
                return not_(not_(x))
            return getattr(builtins, kind)(x, *more, **kwargs)
        v = tracer.read(x)
        if v.kind == "tensor" and not any(isinstance(n, Dim) for n in v.shape) and \
                math.prod(v.shape) != 1:
            raise (ValueError if kind == "bool" else TypeError)(
                f"{kind}: only a tensor of one element can be converted, this one has shape "
                f"{list(v.shape)}")
        if v.kind == "str":
            return tracer.python(kind, Scalar(v), kind=kind)
        if v.kind == kind:
            return x
        return tracer.scalar(v, kind)
    return convert


int_, float_, bool_ = _number("int"), _number("float"), _number("bool")


def len_(x):
    tracer = local.tracer
    if isinstance(x, TracedList) and x.symbolic is not None:
        return Scalar(tracer.builtin("list_len", [x.symbolic], Value("int", (), KINDS["int"])))
    if isinstance(x, Sequence):
        return x.length
    if isinstance(x, Scalar):
        return tracer.python("len", x) if x.kind == "str" else len(0)
    if isinstance(x, Tensor):
        v = tracer.read(x)
        if not v.shape:
            raise TypeError("len() of a 0-d tensor")
        return tracer.dim(v, 0)
    return len(x)


def _extreme(name, better):
    plain = getattr(builtins, name)

    def pick(*args, key=None, **kwargs):
        items = list(args[0]) if len(args) == 1 else list(args)
        if key is None and any(is_symbolic(a) for a in items):
            best = items[0]
            for item in items[1:]:
                if all(isinstance(v, (Scalar, int, float)) for v in (best, item)):
                    best = local.tracer.python(name, best, item)
                else:
                    best = choose(better(item, best), lambda i=item: i, lambda b=best: b)
            return best
        return plain(*args, **({"key": key} if key is not None else {}), **kwargs)
    return pick


max_, min_ = _extreme("max", lambda a, b: a > b), _extreme("min", lambda a, b: a < b)


def any_(items):
    found = False
    for x in items:
        found = or_(found, lambda x=x: x)
    return found if isinstance(found, bool) else bool_(found)


def all_(items):
    found = True
    for x in items:
        found = and_(found, lambda x=x: x)
    return found if isinstance(found, bool) else bool_(found)


def isinstance_(x, kinds):
    if not isinstance(x, Scalar):
        return isinstance(x, kinds)
    real = {"int": int, "float": float, "bool": bool, "str": str}[x.kind]
    return any(issubclass(real, k) for k in (kinds if isinstance(kinds, tuple) else (kinds,))
               if isinstance(k, type))


def type_(x, *more):
    if more:
        return type(x, *more)
    if isinstance(x, Scalar):
        return {"int": int, "float": float, "bool": bool, "str": str}[x.kind]
    if isinstance(x, TracedList):
        return list
    return Tensor if isinstance(x, Variable) else type(x)


def str_(x="", *more):
    if is_symbolic(x) and not more:
        return format((x, -1, ""))
    return str(x, *more)


def list_(items=()):
    items = _iterable(local.tracer, items)
    if isinstance(items, TracedList) or isinstance(items, Sequence):
        if isinstance(items, Sequence):
            raise StaticError(f"list() of something whose length is known at run time only"
                              f"{where()} cannot be converted")
        return new(TracedList(items))
    return new(list(items))


def sum_(items, start=0):
    items = _iterable(local.tracer, items)
    if isinstance(items, Sequence):
        return for_(items, lambda x, s: (s + x,), (start,), ("the sum",))[0]
    return sum(items, start)


def setattr_(owner, name, value):
    note(owner, name)
    setattr(owner, name, value)


def round_(x, *n):
    return x.__round__(*n) if isinstance(x, Scalar) else round(x, *n)


HANDLERS = {
    int: int_, float: float_, bool: bool_, str: str_, len: len_, range: range_,
    enumerate: enumerate_, zip: zip_, reversed: reversed_, print: print_, isinstance: isinstance_,
    type: type_, max: max_, min: min_, any: any_, all: all_, list: list_, sum: sum_,
    setattr: setattr_, round: round_,
}
_MUTATORS = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update",
             "setdefault", "popitem", "add", "discard", "__setitem__", "__delitem__",
             "difference_update", "intersection_update", "symmetric_difference_update",
             "move_to_end"}


# ---- which functions are converted
_LIBRARIES = {"numpy", "cupy", "scipy", *sys.stdlib_module_names}
ignored_modules: list = []
_converted: dict = {}                   # id of a code -> (it, Converted or None without source)


def is_library(function) -> bool:
    """Whether a function is left as it is: Python's, NumPy's, this package's, ignored modules'."""
    if getattr(function, "_jit_not_to_static", False):
        return True
    name = getattr(function, "__module__", None) or ""
    if any(name == m or name.startswith(m + ".") for m in ignored_modules):
        return True
    # By file: a wrapper has the name of the module of what it wraps.
    return _is_library_file(function.__code__.co_filename, name.split(".")[0])


@functools.lru_cache(maxsize=None)
def _is_library_file(file, top) -> bool:
    if file.startswith(PACKAGE):
        return os.path.basename(file) != "demo.py"
    if "site-packages" in file or "dist-packages" in file:
        return top in _LIBRARIES
    return file.startswith(_STDLIB) or file.startswith("<frozen")


_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class Converted:
    """What conversion made of a code object."""

    def __init__(self, code, node, file) -> None:
        self.code, self.node, self.file = code, node, file

    @property
    def text(self) -> str:
        return ast.unparse(self.node)


code_level = 0
verbosity = 0


def convert_code(function) -> Converted | None:
    """The converted code of a function, found or made; None where there is no source text."""
    code = function.__code__
    if id(code) in converted_codes:
        return None
    if id(code) in _converted:
        return _converted[id(code)][1]
    try:
        source = jit_source.find(function)
    except jit_source.NoSource:
        _converted[id(code)] = code, None
        return None
    node = source.node
    if source.owner:
        node = jit_source.Mangle(source.owner).visit(node)
    try:
        with _level_report(function) as report:
            node = jit_passes.convert(node, report)
    except jit_passes.Refused as refused:
        line = getattr(refused.node, "lineno", code.co_firstlineno)
        raise StaticError(f"{refused}\n  at {source.file}:{line}, in {code.co_name}") from None
    new_code = jit_source.compile_like(function, node, source.file)
    for c in jit_source.codes_within(new_code):
        converted_codes[id(c)] = c
    found = Converted(new_code, node, source.file)
    _converted[id(code)] = code, found
    return found


class _level_report:
    """Prints the code after each pass when `set_code_level` asks for it."""

    def __init__(self, function) -> None:
        self.name = function.__qualname__

    def __enter__(self):
        if not code_level:
            return None

        def report(name, node):
            stages = [p.__name__ for p in jit_passes.PASSES]
            stage = stages.index(name) + 1
            if stage == code_level or code_level >= 100 and stage == len(stages):
                say(f"After stage {stage} ({name}), the code of {self.name} is:\n"
                    f"{ast.unparse(node)}")
        return report

    def __exit__(self, *error) -> None:
        return None


def say(text) -> None:
    print(text)


def convert_function(function):
    """A function that traces: its text converted, or itself where there is none."""
    made = convert_code(function)
    if made is None:
        return function
    return jit_source.instantiate(function, made.code, _runtime)


# ---- calls
def call(f):
    """What is called in the place of f."""
    tracer = local.tracer
    if tracer is None:
        return f
    try:
        handler = HANDLERS.get(f)
    except TypeError:                               # not hashable
        handler = None
    if handler is not None:
        return handler
    kind = type(f)
    if kind is types.FunctionType:
        return _function(tracer, f)
    if kind is types.MethodType:
        return _method(tracer, f)
    if kind is types.BuiltinMethodType:
        return _builtin(tracer, f)
    static = getattr(f, "_jit_inner", None)
    if static is not None and kind is not types.FunctionType:
        return call(static())
    if isinstance(f, functools.partial):
        return functools.partial(call(f.func), *f.args, **f.keywords)
    if isinstance(f, Layer):
        return functools.partial(call_layer, tracer, f)
    if isinstance(f, type):
        return _class(tracer, f)
    if isinstance(f, np.ufunc):
        return functools.partial(_numpy, f)
    inner = getattr(kind, "__call__", None)
    if isinstance(inner, types.FunctionType) and not is_library(inner):
        return _function(tracer, inner, f)
    return f


def root(function):
    """What to call for the function that is converted itself."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None and code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE |
                                             inspect.CO_ASYNC_GENERATOR):
        convert_code(getattr(function, "__func__", function))
        raise StaticError(f"{function.__name__} is a generator or `async` and cannot be converted")
    return call(function)


def _numpy(f, *args, **kwargs):
    if any(isinstance(a, Scalar) for a in args) and f.__name__ in MATH:
        return _math(f.__name__, args)
    return f(*args, **kwargs)


def _math(name, args):
    tracer = local.tracer
    kind = "int" if name in ("floor", "ceil", "trunc", "gcd", "lcm", "isqrt", "comb", "perm",
                             "factorial", "prod") else "bool" if name.startswith("is") else "float"
    values = [tracer.lift(tracer.scalar(tracer.read(a), "float") if isinstance(a, Tensor) and
                          not isinstance(a, Scalar) else a) for a in args]
    return Scalar(tracer.builtin("math", values, Value(kind, (), KINDS[kind]), function=name))


def _builtin(tracer, f):
    owner = f.__self__
    if isinstance(owner, (list, dict, set)) and f.__name__ in _MUTATORS:
        tracer.note(BoxEntry(owner))
        return f
    if isinstance(owner, types.ModuleType) and owner is math:
        def run(*args):
            if any(isinstance(a, Tensor) for a in args):
                return _math(f.__name__, args)
            return f(*args)
        return run
    if isinstance(owner, str) and f.__name__ in ("format", "join"):
        return functools.partial(_text_method, owner, f)
    return f


def _text_method(owner, f, *args, **kwargs):
    if f.__name__ == "join":
        items = list(args[0])
        if not any(isinstance(v, Scalar) for v in items):
            return owner.join(items)
        parts = []
        for k, v in enumerate(items):
            parts += [owner] * bool(k) + [(v, -1, "")]
        return format(*parts)
    if not any(is_symbolic(v) for v in [*args, *kwargs.values()]):
        return owner.format(*args, **kwargs)
    parts, auto = [], itertools.count()
    for text, field, spec, conversion in string.Formatter().parse(owner):
        parts.append(text)
        if field is not None:
            name = field if field else str(next(auto))
            if not name.isidentifier() and not name.isdigit():
                raise StaticError(f"the field {{{name}}} of str.format{where()} cannot be "
                                  "converted; use an f-string")
            value = args[int(name)] if name.isdigit() else kwargs[name]
            parts.append((value, ord(conversion) if conversion else -1, spec))
    return format(*parts)


def _method(tracer, f):
    owner, function = f.__self__, f.__func__
    if isinstance(owner, (list, dict, set)) and f.__name__ in _MUTATORS:
        tracer.note(BoxEntry(owner))
        return f
    if isinstance(owner, Tensor) and not isinstance(owner, Variable):
        if f.__name__ in ("item", "numpy", "tolist", "__len__", "detach", "register_hook", "dim"):
            return getattr(Variable(tracer.read(owner)), f.__name__)
        return f
    if not isinstance(function, types.FunctionType):
        return functools.partial(call(function), owner) if getattr(
            function, "_jit_inner", None) else f
    if is_library(function):
        if isinstance(owner, Layer):
            tracer.guard_object(owner)
        return f
    return _function(tracer, function, owner)


def _function(tracer, f, owner=MISSING):
    """A function of Python text (bound to owner): converted unless it is a library's."""
    bound = () if owner is MISSING else (owner,)
    if id(f.__code__) in converted_codes:
        if _stores(f.__code__):
            return functools.partial(_enter, tracer, f, f, bound)
        return functools.partial(f, *bound) if bound else f
    if is_library(f) or f.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE |
                                               inspect.CO_ASYNC_GENERATOR):
        return functools.partial(f, *bound) if bound else f
    return functools.partial(_enter, tracer, f, convert_function(f), bound)


def _enter(tracer, f, converted, bound, *args, **kwargs):
    """Run a converted function: guards for what it reads, the log for what it writes, recursion."""
    code = f.__code__
    tracer.guard_function(f)
    if bound:
        tracer.guard_object(bound[0])
    for name in _stores(code):
        if name in code.co_freevars:
            tracer.note(CellEntry(f.__closure__[code.co_freevars.index(name)], name))
        else:
            tracer.note(GlobalEntry(f.__globals__, name))
    depth = tracer.block.depth
    types_ = tuple(_type_of(tracer, a) for a in (*args, *kwargs.values()))
    for other, level, known in tracer.active:
        if other is code and level < depth and known == types_:
            raise StaticError(
                f"{code.co_name} calls itself under a condition that is known at run time only"
                f"{where()}: such recursion has no end while a Program is built. Write it as a "
                "`while`")
    tracer.active.append((code, depth, types_))
    try:
        return converted(*bound, *args, **kwargs)
    finally:
        tracer.active.pop()


@functools.lru_cache(maxsize=None)
def _stores(code):
    cells, names = set(), set()
    for c in jit_source.codes_within(code):
        for i in dis.get_instructions(c):
            if i.opname in ("STORE_DEREF", "DELETE_DEREF"):
                cells.add(i.argval)
            elif i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                names.add(i.argval)
    return tuple((cells & set(code.co_freevars)) | names)



def _type_of(tracer, a):
    if isinstance(a, Tensor):
        v = tracer.read(a)
        return v.kind, v.shape, v.dtype
    return (type(a), a) if isinstance(a, (int, float, str, bool)) else type(a)


def _class(tracer, cls):
    if issubclass(cls, (BaseException, tuple)) or cls.__module__.split(".")[0] in _LIBRARIES or \
            type(cls) is not type or cls.__new__ is not object.__new__:
        return lambda *a, **k: _made(tracer, cls(*a, **k))
    init = cls.__init__
    if not isinstance(init, types.FunctionType) or is_library(init):
        return lambda *a, **k: _made(tracer, cls(*a, **k))

    def make(*args, **kwargs):
        thing = tracer.born(object.__new__(cls))
        _function(tracer, init, thing)(*args, **kwargs)
        return thing
    return make


def _made(tracer, thing):
    if hasattr(thing, "__dict__") or isinstance(thing, (dict, set, list)):
        tracer.born(thing)
    return thing


def call_layer(tracer, layer, *inputs, **kwargs):
    """What Layer.__call__ does, with converted hooks and forward."""
    custom = type(layer).__call__
    if custom is not Layer.__call__:
        return _method(tracer, types.MethodType(custom, layer))(*inputs, **kwargs)
    tracer.guard_object(layer)
    for hook in list(layer._forward_pre_hooks.values()):
        changed = call(hook)(layer, inputs)
        if changed is not None:
            inputs = changed if isinstance(changed, tuple) else (changed,)
    outputs = call(layer.forward)(*inputs, **kwargs)
    for hook in list(layer._forward_post_hooks.values()):
        changed = call(hook)(layer, inputs, outputs)
        if changed is not None:
            outputs = changed
    return outputs


# ---- the tracer of conversion
class Conversion(Tracer):
    """A Tracer that notes what was read from outside: a changed value asks for another Program."""

    def __init__(self, name) -> None:
        super().__init__(name)
        self.seen: set = set()
        self.layers: dict = {}

    def layer(self, layer, inputs, kwargs):
        return call_layer(self, layer, *inputs, **kwargs)

    def guard_function(self, f) -> None:
        if id(f) in self.seen:
            return
        self.seen.add(id(f))
        code, space = f.__code__, f.__globals__
        for name in {n for c in jit_source.codes_within(code) for n in c.co_names}:
            if name in space and not isinstance(space[name], types.ModuleType):
                self.guards.append(Guard("global", space, name, space[name], f))
        for name, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is not _runtime:
                self.guards.append(Guard("cell", cell, name, value, f))

    def guard_object(self, owner) -> None:
        if id(owner) in self.seen or id(owner) in self.births or isinstance(owner, (
                Tensor, type, types.ModuleType)):
            return
        state = getattr(owner, "__dict__", None)
        if state is None:
            return
        self.seen.add(id(owner))
        self.guards.append(ObjectGuard(owner))
        if isinstance(owner, Layer):
            self.layers[id(owner)] = owner


_PLAIN = (int, float, bool, str, type(None), tuple)


def _is_plain(v, depth=0) -> bool:
    if isinstance(v, (int, float, bool, str, bytes, complex, type(None))):
        return True
    if isinstance(v, (tuple, list)) and depth < 3:
        return len(v) <= 64 and all(_is_plain(x, depth + 1) for x in v)
    if isinstance(v, dict) and depth < 3:
        return len(v) <= 64 and all(_is_plain(x, depth + 1) for x in v.values())
    return False


class Guard:
    """Something read from outside while tracing, and what it was."""

    def __init__(self, kind, owner, name, value, kept) -> None:
        self.kind, self.owner, self.name, self.kept = kind, owner, name, kept
        self.plain = _is_plain(value)
        self.value = value.copy() if self.plain and isinstance(value, (list, dict)) else value

    def holds(self) -> bool:
        if self.kind == "global":
            now = self.owner.get(self.name, MISSING)
        else:
            try:
                now = self.owner.cell_contents
            except ValueError:
                now = MISSING
        if not self.plain:
            return now is self.value
        return type(now) is type(self.value) and now == self.value


class ObjectGuard:
    """The plain attributes of an object; of a Layer also which parts and hooks it has."""

    kind, name = "object", None

    def __init__(self, owner) -> None:
        self.owner = self.kept = self.value = owner
        state = owner.__dict__
        self.names = [k for k, v in state.items() if type(v) in _PLAIN]
        names = self.names
        self.get = operator.itemgetter(*names, *names[:1]) if names else None
        self.values = self.get(state) if names else ()
        self.types = tuple(map(type, self.values))
        self.ids = [(g, tuple(map(id, state[g].values()))) for g in _GROUPS
                    if isinstance(state.get(g), dict)]

    def holds(self) -> bool:
        state = self.owner.__dict__
        try:
            if self.get is not None:
                now = self.get(state)
                if not all(map(operator.is_, now, self.values)) and (
                        now != self.values or tuple(map(type, now)) != self.types):
                    return False
            for g, ids in self.ids:
                parts = state[g]
                if len(parts) != len(ids) or ids and tuple(map(id, parts.values())) != ids:
                    return False
        except KeyError:
            return False
        return True

    def changed(self) -> str:
        """The name of an attribute that is not what it was."""
        for n, v in zip(self.names, self.values):
            if self.owner.__dict__.get(n, MISSING) != v:
                return f"{type(self.owner).__name__}.{n}"
        return f"the parts of {type(self.owner).__name__}"


class StateGuard:
    """A tensor that an attribute holds, and each call replaces: it must stay one of its kind."""

    kind, name, kept = "state", "the state", None

    def __init__(self, state) -> None:
        self.state, self.type = state, (state.tensor._data.shape, state.tensor._data.dtype)

    def holds(self) -> bool:
        t = self.state.read()
        return isinstance(t, Tensor) and (t._data.shape, t._data.dtype) == self.type


_GROUPS = ("_parameters", "_sub_layers", "_forward_pre_hooks", "_forward_post_hooks")
__all__ = ["if_", "while_", "for_", "call", "undefined", "Conversion"]
