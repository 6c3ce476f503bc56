"""Shapes and dtypes of an op's results, found by running it on small arrays.

Imports static and core. Each size that is not known has two probe sizes: a dimension that comes
out the same in both runs is that, another is a size of its own.
"""
from __future__ import annotations

import numpy as np

from . import core, modes
from .core import Tensor, no_grad
from .program_code import PYTHON
from .static import Ref, Value, probe_of

def signature(values):
    return tuple(tuple(map(_one, x)) if isinstance(x, list) else _one(x) for x in values)


def _one(v):
    if isinstance(v, Value):
        if v.kind == "list":
            return ("list", v.element.shape, v.element.dtype.str)
        return v.shape, v.dtype.str
    return None if v is None else (type(v), v)


_BY_VALUE = {"nonzero", "unique", "unique_consecutive", "masked_select", "bincount", "one_hot",
             "repeat_interleave", "histogram", "sequence_mask"}


def depends_on_values(op, values):
    """Whether the shape of an op's result depends on what its tensors hold."""
    if op.name == "take_at":
        return any(isinstance(v, Value) and v.dtype.kind == "b" for v in values[1])
    return op.name in _BY_VALUE


def probe(op, values, attrs, extra, k):
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


def probe_python(name, values):
    if any(v.probes is None for v in values):
        return None
    try:
        return tuple(PYTHON[name](*[v.probes[k] for v in values]) for k in (0, 1))
    except Exception:                               # such as a division by zero: not known then
        return None
