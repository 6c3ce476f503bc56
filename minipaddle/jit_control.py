"""Branches and loops on symbolic values: tracing them as nested blocks and merging what they do.

Imports capture and static. A branch is traced from the same starting state as the other; a loop's
body is traced, its types are joined with those at its entry, and it is traced again until they
hold.
"""
from __future__ import annotations

from .capture import Mismatch, may_be
from .core import Tensor, ops
from .static import StaticError, Value, _Undefined, undefined
from .symbolic import ABSENT, KINDS, MISSING, TracedList, Variable, where



def describe(x) -> str:
    """A value as error texts show it."""
    if isinstance(x, TracedList) and x.symbolic is not None:
        return "list of unknown length"
    if isinstance(x, Variable):
        return x._data.describe()
    if isinstance(x, Tensor):
        return f"tensor {x.shape} {x.dtype.name}"
    if isinstance(x, (list, tuple)):
        kind = "list" if isinstance(x, list) else type(x).__name__
        return f"{kind} of {len(x)}: [" + ", ".join(describe(v) for v in x)[:120] + "]"
    if isinstance(x, dict):
        return "dict {" + ", ".join(f"{k}: {describe(v)}" for k, v in x.items())[:120] + "}"
    return f"{type(x).__name__} {x!r}"[:80] if not isinstance(x, _Undefined) else "undefined"


def is_plain_list(x) -> bool:
    return isinstance(x, list) and getattr(x, "symbolic", None) is None


def same(a, b) -> bool:
    """Whether two plain values are one value."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, (Tensor, list, dict, set)):
        return False
    if isinstance(a, (int, float, str, bytes, complex)):
        return a == b or (a != a and b != b)
    if hasattr(a, "__func__") and hasattr(b, "__func__"):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


def remade(x, parts):
    """A container like x with other parts."""
    if isinstance(x, dict):
        return type(x)(zip(x, parts)) if type(x) is dict else _mapping(x, parts)
    if hasattr(x, "_fields"):
        return type(x)(*parts)
    if isinstance(x, list):
        return TracedList(parts)
    return type(x)(parts)


def _mapping(x, parts):
    new = x.copy()
    new.update(zip(x, parts))
    return new


def kind_of(x):
    """What kind of container x is, for comparing structures; None for leaves."""
    if isinstance(x, (dict, tuple)):
        return type(x)
    return list if is_plain_list(x) else None


# ---- cond
class Merge:
    """Puts together what two branches left behind."""

    def __init__(self, tracer, regions) -> None:
        self.tracer, self.regions, self.pairs = tracer, regions, []

    def __call__(self, a, b, name):
        if a is b:
            return a
        a, b = self.regions[0].final(a), self.regions[1].final(b)
        if a is b or (isinstance(a, Variable) and isinstance(b, Variable) and a._data is b._data):
            return a
        if a is MISSING or b is MISSING:
            a, b = [undefined if v is MISSING else v for v in (a, b)]
        for x, y in ((a, b), (b, a)):
            if x is ABSENT or isinstance(x, _Undefined):
                kind = kind_of(y)
                if kind is not None:
                    parts = y.values() if isinstance(y, dict) else y
                    return remade(y, [self(*((x, p) if x is a else (p, x)), name) for p in parts])
                if not self.liftable(y) or x is ABSENT and not isinstance(y, (Tensor, TracedList)):
                    return y
                return self.pair(undefined if a is ABSENT else a, undefined if b is ABSENT else b,
                                 name, absent=x is ABSENT)
        ka, kb = kind_of(a), kind_of(b)
        if ka is not None and ka is kb:
            if ka is list and len(a) != len(b):
                return self.lists(a, b, name)
            if isinstance(a, dict):
                if set(a) != set(b):
                    self.refuse(a, b, name)
                return remade(a, [self(a[k], b[k], name) for k in a])
            if len(a) == len(b):
                return remade(a, [self(x, y, name) for x, y in zip(a, b)])
            self.refuse(a, b, name)
        if isinstance(a, list) and isinstance(b, list):
            return self.lists(a, b, name)
        if same(a, b):
            return a
        if self.liftable(a) and self.liftable(b) and ka is None and kb is None:
            return self.pair(a, b, name)
        return self.refuse(a, b, name)

    def liftable(self, x) -> bool:
        return isinstance(x, (Tensor, bool, int, float, str, _Undefined)) or \
            getattr(x, "symbolic", None) is not None

    def lists(self, a, b, name):
        out = []
        for x, r in zip((a, b), self.regions):
            old, self.tracer.block = self.tracer.block, r.block
            try:
                for t in x if is_plain_list(x) else ():
                    self.tracer.packed(t)
                x = r.final_deep(x)
                out.append(self.tracer.use(self.tracer.list_value(x)))
            finally:
                self.tracer.block = old
        try:
            value = self.tracer.join(*out)
        except Mismatch:
            self.refuse(a, b, name)
        self.pairs.append((*out, value))
        value.block = self.tracer.block
        return self.tracer.wrap(value)

    def pair(self, a, b, name, absent=False):
        tracer, lifted = self.tracer, []
        for x, r in zip((a, b), self.regions):
            old, tracer.block = tracer.block, r.block
            try:
                lifted.append(tracer.use(tracer.lift(x)))
            finally:
                tracer.block = old
        try:
            value = tracer.join(*lifted)
        except Mismatch:
            self.refuse(a, b, name)
        known = [v for v in lifted if v.kind != "undefined"]
        if len(known) < 2:
            value.maybe = known[0].maybe if absent else (
                f"`{name}` is not defined here: it is assigned only on one way through the `if`"
                f"{where()}, and another one was taken")
        for i, r in enumerate(self.regions):
            old, tracer.block = tracer.block, r.block
            try:
                lifted[i] = tracer.convert(lifted[i], value)
            finally:
                tracer.block = old
        self.pairs.append((*lifted, value))
        value.block = tracer.block
        out = tracer.wrap(value)
        may_be(out, [x for x in (a, b) if isinstance(x, Variable)])
        return out

    def refuse(self, a, b, name):
        error = StaticError(
            f"the branches of the `if`{where()} leave `{name}` as different things:\n"
            f"  where it holds:       {describe(a)}\n  where it does not:    {describe(b)}\n"
            "Give both branches the same structure, or decide by a Python value.")
        error.differ = True                         # `and`, `or` then take truths instead
        raise error from None


def cond(tracer, pred: Value, then, orelse, args, names):
    """Write a `cond` operator for two functions of state; what they return, merged."""
    regions = [tracer.region(f, args) for f in (then, orelse)]
    if all(r.error is not None for r in regions):
        raise regions[0].error
    merge = Merge(tracer, regions)
    outs = [[ABSENT] * len(names) if r.error is not None else r.outs for r in regions]
    merged = tuple(merge(a, b, n) for a, b, n in zip(*outs, names))
    entries = {k: e for r in regions for k, e in r.log.items()}
    written = []
    for key, entry in entries.items():
        a, b = [ABSENT if r.error is not None else r.finals.get(key, entry.old) for r in regions]
        written.append((entry, merge(a, b, str(entry))))
    _close(tracer, regions, merge, pred)
    for entry, value in written:
        tracer.note(entry)
        entry.write(value)
    return merged


def _close(tracer, regions, merge, pred) -> None:
    blocks = [r.block for r in regions]
    for k, b in enumerate(blocks):
        b.outputs = [p[k] for p in merge.pairs]
    outer = share_inputs(tracer, blocks)
    tracer.emit("cond", [pred, *outer], {}, [p[2] for p in merge.pairs], blocks)


def share_inputs(tracer, blocks) -> list:
    """Give nested blocks the same captured inputs, in one order; the outer values of them."""
    outer = list(dict.fromkeys(v for b in blocks for v in b.captured))
    for b in blocks:
        for v in outer:
            if v not in b.captured:
                b.captured[v] = v.like(block=b)
        b.inputs = b.inputs + [b.captured[v] for v in outer]
    return outer


# ---- while
class Keep:
    """A plain value that the loop does not change."""

    def __init__(self, value) -> None:
        self.value = value


class Carry:
    """A value that changes from trip to trip: its type, and what it is at first."""

    def __init__(self, proto, initial) -> None:
        self.proto, self.initial = proto, initial


class Box:
    """A container whose parts are looked at one by one."""

    def __init__(self, like, parts) -> None:
        self.like, self.parts = like, parts


class Loop:
    """Finds the types that hold in every trip, and writes the `while`."""

    def __init__(self, tracer, names) -> None:
        self.tracer, self.names = tracer, names
        self.entries: dict = {}                     # key -> [Entry, spec]
        self.wide: set = set()                      # sizes that change from trip to trip

    def spec(self, x):
        if isinstance(x, TracedList) and x.symbolic is not None:
            return Carry(x.symbolic.like(block=None), x)
        if isinstance(x, Tensor):
            v = self.tracer.read(x)
            return Carry(v.like(block=None), x)
        kind = kind_of(x)
        if kind is None:
            return Keep(x)
        return Box(x, [self.spec(p) for p in (x.values() if isinstance(x, dict) else x)])

    def enter(self, spec, block):
        """The state as the block sees it; new inputs of the block for what is carried."""
        if isinstance(spec, Carry):
            v = spec.proto.like(block=block)
            block.inputs.append(v)
            return self.tracer.wrap(v)
        if isinstance(spec, Keep):
            return spec.value
        return remade(spec.like, [self.enter(p, block) for p in spec.parts])

    def type_of(self, x):
        if isinstance(x, TracedList) and x.symbolic is not None:
            return x.symbolic
        if isinstance(x, Tensor):
            return self.tracer.read(x)
        if isinstance(x, _Undefined):
            return Value("undefined")
        if isinstance(x, (bool, int, float, str)):
            return self.number(x)
        return None

    def number(self, x):
        kind = type(x).__name__
        return Value(kind, (), KINDS.get(kind), probes=None if isinstance(x, str) else (x, x))

    def widen(self, spec, out, name):
        """(spec, changed): the spec that holds for `out` too."""
        tracer = self.tracer
        if out is MISSING:
            out = undefined
        if isinstance(spec, Keep):
            if spec.value is MISSING:
                spec = Keep(undefined)
            if same(spec.value, out) or isinstance(spec.value, _Undefined) and isinstance(
                    out, _Undefined):
                return spec, False
            if isinstance(spec.value, _Undefined):
                if kind_of(out) is not None:
                    parts = out.values() if isinstance(out, dict) else out
                    return Box(out, [self.widen(Keep(undefined), p, name)[0] for p in parts]), True
                if self.type_of(out) is None:
                    return Keep(out), False
            a, b = self.type_of(spec.value), self.type_of(out)
            if a is None or b is None:
                self.refuse(spec.value, out, name)
            return Carry(self.join(a, b, spec.value, out, name), spec.value), True
        if isinstance(spec, Box):
            kind = kind_of(out)
            if kind is kind_of(spec.like) and isinstance(out, dict) and set(out) == set(spec.like):
                parts = [self.widen(p, out[k], name) for k, p in zip(spec.like, spec.parts)]
            elif kind is kind_of(spec.like) and not isinstance(out, dict) and \
                    len(out) == len(spec.parts):
                parts = [self.widen(p, o, name) for p, o in zip(spec.parts, out)]
            elif isinstance(out, list) and isinstance(spec.like, list):
                return Carry(self.list_type(spec.like, out, name), spec.like), True
            else:
                return self.refuse(spec.like, out, name)
            return Box(spec.like, [p for p, _ in parts]), any(c for _, c in parts)
        if is_plain_list(out) and spec.proto.kind == "list":
            b = self.list_type(out, [], name)
        else:
            b = self.type_of(out)
        if b is None:
            self.refuse(spec.initial, out, name)
        proto = self.join(spec.proto, b, spec.initial, out, name)
        changed = _type(tracer, proto) != _type(tracer, spec.proto)
        return Carry(proto, spec.initial), changed

    def list_type(self, a, b, name):
        element = None
        for x in (a, b):
            for p in [x] if getattr(x, "symbolic", None) is not None else x:
                t = p.symbolic.element if isinstance(p, TracedList) else self.type_of(p)
                if t is None and not isinstance(p, TracedList):
                    self.refuse(a, b, name)
                if t is not None:
                    element = t.like(block=None) if element is None else \
                        self.join(element, t, a, b, name)
        return Value("list", element=element)

    def join(self, a, b, first, later, name):
        try:
            if a.kind == b.kind == "tensor" and a.dtype != b.dtype and a.dtype.kind in "biu":
                a = a.like(dtype=b.dtype)           # an int that becomes a float in the loop
            if a.kind == "undefined":
                return b.like(block=None, maybe=f"`{name}` is not defined here: it is assigned in "
                              f"the loop{where()} only, and that made no trip")
            out = self.tracer.join(a, b)
            if out.kind == "tensor" and a.kind == "tensor" and b.kind == "tensor":
                out.shape = tuple(self.size(m, n) for m, n in zip(a.shape, b.shape))
            return out
        except Mismatch:
            return self.refuse(first, later, name)

    def size(self, m, n):
        """A size that holds before and after a trip; once it varies, it varies."""
        if m == n or m in self.wide:
            return m
        made = self.tracer.probes.new()
        self.wide.add(made)
        return made

    def refuse(self, first, later, name):
        raise StaticError(
            f"the loop{where()} changes what `{name}` is:\n  before it:    {describe(first)}\n"
            f"  after a trip: {describe(later)}\nGive it the same kind, dtype and number of "
            "dimensions before the loop.") from None

    # -- tracing
    def begin(self, block, specs):
        """State for a block: its carried inputs, in the order of `carried`."""
        state = [self.enter(s, block) for s in specs]
        for entry, spec in self.entries.values():
            value = self.enter(spec, block)
            self.tracer.note(entry)
            entry.write(value)
        return state

    def carried(self, specs):
        def walk(s):
            if isinstance(s, Carry):
                yield s
            elif isinstance(s, Box):
                for p in s.parts:
                    yield from walk(p)
        for s in [*specs, *[e[1] for e in self.entries.values()]]:
            yield from walk(s)

    def leaves(self, specs, values, block):
        """The Values that the block hands to the next trip."""
        tracer, out = self.tracer, []

        def walk(spec, x):
            if isinstance(spec, Carry):
                x = undefined if x is MISSING else x
                if spec.proto.kind == "list":
                    v = tracer.list_value(x)
                else:
                    v = tracer.lift(x)
                if spec.proto.kind == "tensor" and v.kind == "tensor" and \
                        v.dtype != spec.proto.dtype:
                    v = tracer.read(ops.cast(Variable(v), spec.proto.dtype))
                out.append(tracer.convert(v, spec.proto))
            elif isinstance(spec, Box):
                x = undefined if x is MISSING else x
                parts = [undefined] * len(spec.parts) if x is undefined else \
                    [x[k] for k in spec.like] if isinstance(x, dict) else x
                for s, p in zip(spec.parts, parts):
                    walk(s, p)
        old, tracer.block = tracer.block, block
        try:
            for s, x in zip([*specs, *[e[1] for e in self.entries.values()]], values):
                walk(s, x)
        finally:
            tracer.block = old
        return out

    def run(self, test, body, state):
        tracer, specs = self.tracer, [self.spec(x) for x in state]
        for k in range(8):
            ask = tracer.region(lambda: test(*self.begin(tracer.block, specs)), ())
            do = tracer.region(lambda: self.trip(body, specs), ())
            if ask.error is not None or do.error is not None and k:
                raise ask.error or do.error
            if do.error is not None:                # a loop whose first trip raises, if it has one
                do.outs, do.finals = self.entered, {}
                return self.write(ask, do, specs, state)
            do.outs = [do.final_deep(x) for x in do.outs]
            do.finals = {key: do.final_deep(x) for key, x in do.finals.items()}
            changed = False
            for i, out in enumerate(do.outs):
                specs[i], c = self.widen(specs[i], out, self.names[i])
                changed |= c
            for key, entry in do.log.items():
                known = self.entries.get(key)
                if known is None:
                    if self.unchanged(entry.old, do.finals[key]):
                        continue
                    known = self.entries[key] = [entry, self.spec(entry.old)]
                    changed = True
                known[1], c = self.widen(known[1], do.finals[key], str(entry))
                changed |= c
            if not changed:
                return self.write(ask, do, specs, state)
        raise StaticError(f"the loop{where()} changes its state in a new way on every trip, and "
                          "cannot be converted")

    def trip(self, body, specs):
        self.entered = self.begin(self.tracer.block, specs)
        return body(*self.entered)

    def unchanged(self, old, new) -> bool:
        if isinstance(old, Variable) and isinstance(new, Variable):
            return old._data is new._data
        if is_plain_list(old) and is_plain_list(new) or isinstance(old, tuple) and isinstance(
                new, tuple):
            return len(old) == len(new) and all(map(self.unchanged, old, new))
        if isinstance(old, dict) and isinstance(new, dict):
            return list(old) == list(new) and all(self.unchanged(old[k], new[k]) for k in old)
        return same(old, new)

    def write(self, ask, do, specs, state):
        tracer = self.tracer
        old, tracer.block = tracer.block, ask.block
        try:
            test = ask.outs
            test = tracer.use(tracer.lift(bool(test) if tracer.lift(test) is None else test))
            if test.kind != "bool" and test.kind != "tensor":
                test = tracer.scalar(test, "bool")._data
        finally:
            tracer.block = old
        ask.block.outputs = [test]
        entries = [e for e, _ in self.entries.values()]
        finals = [do.finals.get(e.key, None) for e in entries]
        do.block.outputs = self.leaves(specs, [*do.outs, *finals], do.block)
        first = self.leaves(specs, [*state, *[e.read() for e in entries]], tracer.block)
        outer = share_inputs(tracer, [ask.block, do.block])
        outs = [c.proto.like() for c in self.carried(specs)]
        tracer.emit("while", [*first, *outer], {"carried": len(first)}, outs,
                    [ask.block, do.block])
        given = iter(outs)

        def leave(spec):
            if isinstance(spec, Carry):
                return tracer.wrap(next(given))
            if isinstance(spec, Keep):
                return spec.value
            return remade(spec.like, [leave(p) for p in spec.parts])

        result = tuple(leave(s) for s in specs)
        for entry, spec in self.entries.values():
            value = leave(spec)
            tracer.note(entry)
            entry.write(value)
        return result


def _type(tracer, v):
    return (v.kind, v.shape if v.kind == "tensor" else None, v.dtype, bool(v.maybe), v.probes,
            v.stop_gradient if v.kind == "tensor" else None,
            None if v.element is None else _type(tracer, v.element))


__all__ = ["cond", "Loop", "describe", "remade"]
