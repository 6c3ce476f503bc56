"""The write log: what a branch or a loop's body changes while it is traced.

Imports symbolic and static. A region's first write to a place notes what was there; when the
region has been traced the log is undone, so that another branch begins from the same state, and
the final values are merged.
"""
from __future__ import annotations

from .static import StaticError
from .symbolic import MISSING, TracedList, Variable, where

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
