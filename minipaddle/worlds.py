"""The registry of operations and the worlds their text runs in.

Imports nothing of the package. A vjp receives `F`: the kernels bound to NumPy, the kernels bound
to CuPy, or the recorded ops; all three have every op under its name.
"""
from __future__ import annotations

import functools

registry: dict = {}
# Where public names go; the package's __init__ replaces these dicts by its modules' own.
namespaces: dict[str, dict] = {"paddle": {}, "functional": {}}



class Kernels:
    """Every op's forward bound to one array module: what a vjp's `F` is in ordinary backward."""

    recorded = False

    def __init__(self, xp) -> None:
        self.xp = xp

    def __getattr__(self, name):
        try:
            record = registry[name]
        except KeyError:
            raise AttributeError(f"no op is called {name!r}") from None
        bound = functools.partial(record.forward, self.xp)
        if record.residuals:
            full, hidden = bound, len(record.residuals)

            def bound(*args, **kwargs):
                out = full(*args, **kwargs)[:-hidden]
                return out[0] if len(out) == 1 else out
        setattr(self, name, bound)
        return bound


class _Recorded:
    """Every op as recorded function: `F` under create_graph, and what composed functions use."""

    recorded = True


_kernels: dict = {}
ops = _Recorded()


def publish_kernel(name: str, function) -> None:
    """Make an op's recorded function known; kernels bound to an older one are forgotten."""
    setattr(ops, name, function)
    for kernel in _kernels.values():
        kernel.__dict__.pop(name, None)


def kernels(xp) -> Kernels:
    """The `Kernels` of an array module."""
    found = _kernels.get(xp)
    if found is None:
        found = _kernels[xp] = Kernels(xp)
    return found
