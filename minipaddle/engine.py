"""The engine: nodes, and the walk that carries gradients back.

Imports tensor.py and below. A recorded call leaves a `Node` that keeps what the op's vjp names.
Nodes are numbered, so creation order is a topological order: `walk` keeps the nodes that have a
gradient waiting in a heap and always takes the newest, whose gradient must be complete.
"""
from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from .device import xp_of
from .dtypes import F16, F32
from .modes import enable_grad, local, no_grad, set_amp_state
from .tensor import (ZERO, Constant, Tensor, flat, kind_of, ndarray, next_serial, recast,
                     to_tensor)
from .worlds import kernels, ops




class Node:
    """One recorded call: a closure of the op's vjp over what that vjp names."""

    # Class-level defaults, as on Tensor: a node sets what it has.
    out = shapes = residuals = storage = hooks = metas = origin = counts = None
    plain = True            # one output: its gradient is one array
    ordinary = True         # its vjp may be called straight away

    def __init__(self, op, edges, ins, attrs, dtype):
        self.op = op
        self.serial = next_serial()
        self.edges = edges
        self.ins = ins
        self.attrs = attrs
        self.dtype = dtype

    def free(self) -> None:
        """Let go of everything kept; a later walk that comes here is told so."""
        self.edges = self.ins = self.out = None
        if self.residuals is not None or self.origin is not None:
            self.residuals = self.origin = None

    def pull(self, F, g, need):
        """Gradients of the inputs from that of the output, on raw arrays."""
        op = self.op
        if op.constant:
            raise RuntimeError(f"{op.name} has no gradient; detach() its input, or leave it out of "
                               "what is differentiated")
        if self.storage is not None:
            self.check(self.storage, "its result")
        self.check_inputs()
        arrays, out, residuals = [_raw(t) for t in self.ins], self.out, self.residuals
        if self.dtype is F16 and op.half is None and F.xp is np:
            g, arrays, out, residuals = recast([g, arrays, out, residuals], F16, F32)
        return op.adapter(op.vjp or op.kernel_vjp, F if op.vjp else F.xp, g, self, need, arrays,
                          out, residuals)

    def pull_recorded(self, F, g, need):
        """The same on Tensors, so that the gradients can be differentiated again."""
        op = self.op
        if op.vjp is None and op.composite is None:
            what = "has no gradient" if op.constant else \
                "can be differentiated once only: its backward has no differentiable definition"
            raise RuntimeError(f"{op.name} {what} (create_graph=True asks for it)")
        self.check_inputs()
        ins = [t._data.item() if isinstance(t, Constant) else t
               for t in (self.ins if self.origin is None else self.origin)]
        if op.vjp is None:
            return self._differentiate_composite(F, g, ins)
        out = self.out
        if out is not None:
            self.check(self.storage, "its result")
            if isinstance(out, tuple):
                out = tuple(_linked(a, Pick(self, i, a.dtype)) for i, a in enumerate(out))
            else:
                out = _linked(out, self)
        return op.adapter(op.vjp, F, g, self, need, ins, out, None)

    def _differentiate_composite(self, F, g, ins):
        # Each input passes an identity first: the same tensor given twice must stay two inputs.
        fresh = [[ops.identity(u) for u in t] if isinstance(t, list) else
                 ops.identity(t) if isinstance(t, Tensor) else t for t in ins]
        out = self.op.call_composite(F, fresh, self.attrs, self.residuals)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        g = list(g) if isinstance(g, (tuple, list)) else [g]
        wanted = [t for t in flat(fresh) if isinstance(t, Tensor) and not t.stop_gradient]
        pairs = [(o, h) for o, h in zip(outs, g) if not o.stop_gradient]
        found = iter(grad([o for o, _ in pairs], wanted, [h for _, h in pairs], create_graph=True,
                          allow_unused=True))
        return tuple([next(found) if not u.stop_gradient else None for u in t]
                     if isinstance(t, list) else
                     next(found) if isinstance(t, Tensor) and not t.stop_gradient else None
                     for t in fresh)

    def checked(self, i):
        """The array of kept input i, whose memory is shared or was written to."""
        self.check(self.ins[i]._storage, self.op.inputs[i])
        return self.ins[i]._data

    def checked_out(self):
        """The kept result, which may have been written to."""
        self.check(self.storage, "its result")
        return self.out

    def check_inputs(self) -> None:
        for name, t in zip(self.op.inputs, self.ins if self.origin is None else self.origin):
            for u in t if isinstance(t, list) else (t,):
                if u is not None and getattr(u, "_storage", None) is not None:
                    self.check(u._storage, name)

    def check(self, storage, name) -> None:
        if storage.stamp > self.serial:
            raise RuntimeError(
                f"{self.op.name}: {name} was modified in place{storage.where} after this op had "
                "kept it for its gradient (version mismatch). Write into a clone(), or write "
                "before the op uses it")


class ComplexNode(Node):
    """A call with a complex result: its vjp, written as g * f'(x), shall give g * conj(f'(x))."""

    ordinary = False

    def pull(self, F, g, need):
        return _conjugate(F, super().pull(F, F.conj(g), need))

    def pull_recorded(self, F, g, need):
        if self.op.vjp is None:                     # the composite's own nodes conjugate
            return super().pull_recorded(F, g, need)
        return _conjugate(F, super().pull_recorded(F, F.conj(g), need))


def _conjugate(F, found):
    """The conjugates of gradients: None and real ones stay, lists are gone through."""
    if isinstance(found, (tuple, list)):
        return type(found)(_conjugate(F, g) for g in found)
    return None if found is None else F.conj(found)


class Pick(Node):
    """One output of a node that has several: hands its gradient on under its index."""

    def __init__(self, node, index, dtype):
        super().__init__(PLAIN_OP, (node,), (), (), dtype)
        self.index = index

    def pull(self, F, g, need):
        return ({self.index: g},)

    pull_recorded = pull


class PLAIN_OP:
    """What stands for an op where a node is no op's call."""

    name, inputs, straight = "output", (), None
    wants_need = broadcasts = lists = False


def _raw(x):
    """The array, or arrays, of what a node kept."""
    if isinstance(x, list):
        return [t._data for t in x]
    return None if x is None else x._data


def _linked(array, node):
    t = Tensor(array)
    t.stop_gradient, t._node = False, node
    return t


class Stale(Node):
    """The history of a tensor whose memory a recorded write through another tensor changed."""

    def __init__(self, where):
        super().__init__(PLAIN_OP, (), (), (), None)
        self.plain, self.where = False, where

    def pull(self, F, g, need):
        raise RuntimeError(
            "backward reached a tensor that shares memory with one written in place"
            f"{self.where}; its gradient would miss that write. Take the view again after the "
            "write, or clone() before it")

    pull_recorded = pull


# ---- walking back
def _unbroadcast(F, g, shape):
    """Sum a gradient over the dimensions its input was broadcast along."""
    extra = len(g.shape) - len(shape)
    axes = list(range(extra)) + [i + extra for i, n in enumerate(shape)
                                 if n == 1 and g.shape[i + extra] != 1]
    if axes:
        g = F.sum(g, axis=axes, keepdim=True)
    return F.reshape(g, list(shape)) if extra else g


def walk(roots, seeds, recorded, retain, wanted=None, stopped=()):
    """Carry gradients from the roots back; newest node first, each freed once it is done.

    roots: tensors; seeds: their gradients (arrays, or Tensors when recorded). Leaves accumulate
    into `.grad`; with `wanted` (a dict whose keys are edges) they go there instead.
    """
    grads: dict = {}
    for root, seed in zip(roots, seeds):
        edge = root._node or root
        grads[edge] = grads[edge] + seed if edge in grads else seed
    # Every node that uses a node's result is newer than it: the newest waiting one is complete.
    waiting = [(-e.serial, e) for e in grads if e.serial]
    heapify(waiting)
    useful = None if wanted is None else _leading_to(wanted, stopped, waiting)
    F, world = ops if recorded else kernels(xp_of(seeds[0])), type(seeds[0])
    device = not recorded and F.xp is not np        # then F is chosen for each node
    while waiting:
        node = heappop(waiting)[1]
        g = grads.pop(node)
        if useful is not None and node not in useful:
            continue
        edges, op = node.edges, node.op
        if edges is None:
            raise RuntimeError(
                f"{op.name}: the graph was freed by an earlier backward; going through it a second "
                "time needs backward(retain_graph=True) the first time")
        if node.plain:
            if not recorded:
                if g.dtype is not node.dtype or type(g) is not ndarray or device:
                    g, F = _fit(g, node.dtype), kernels(xp_of(g))
                    device = device or F.xp is not np
            elif g._data.dtype != node.dtype:
                g = ops.cast(g, node.dtype)
        elif node.metas is not None:
            g = _fill(node, g, recorded)
            if device:
                F = kernels(xp_of(next(a for a in g if a is not None)))
        if node.hooks:
            g = _run_hooks(node.hooks, g, recorded)
        if wanted is not None:
            if node in wanted:
                wanted[node] = g
            if not any([e in useful for e in edges]):
                continue                            # a wanted one with nothing wanted below it
        need = None
        if op.wants_need:
            if useful is not None or op.lists:
                need = [e is not None and (useful is None or e in useful) for e in edges]
                need = _group(need, node) if op.lists else tuple(need)
            elif len(edges) == 2:
                need = edges[0] is not None, edges[1] is not None
            else:
                need = tuple([e is not None for e in edges])
        if not recorded and type(g) is not world:   # the first node, or one on another device
            world = type(g)
            F = kernels(xp_of(next(a for a in g if a is not None) if world is tuple else g))
        if recorded:
            found = node.pull_recorded(F, g, need)
        elif op.straight is not None and node.dtype is not F16 and node.ordinary:
            found = op.straight(F, g, node, need)
        else:
            found = node.pull(F, g, need)
        if type(found) is not tuple:
            found = (found,)
        if op.lists:
            found = tuple(flat(found))
        if len(found) != len(edges):
            raise RuntimeError(f"{op.name}: its vjp gave {len(found)} gradients for "
                               f"{len(edges)} inputs")
        if op.broadcasts and node.shapes is not None:
            found = [gi if gi is None or e is None or tuple(gi.shape) == shape else
                     _unbroadcast(F, gi, shape)
                     for e, gi, shape in zip(edges, found, node.shapes)]
        for e, gi in zip(edges, found):
            if e is None or gi is None or useful is not None and e not in useful:
                continue
            if e in grads:
                old = grads[e]
                grads[e] = old + gi if type(old) is not dict else _merge(old, gi)
            else:
                grads[e] = gi
                if e.serial:
                    heappush(waiting, (-e.serial, e))
        if not retain:
            node.free()
    _deliver(grads, seeds, recorded, wanted)


def _leading_to(wanted, stopped, waiting) -> set:
    """The nodes from which a wanted edge is reached: the others need not be visited."""
    useful, nodes, stack = set(wanted) - set(stopped), [], [node for _, node in waiting]
    seen = set(stack)
    while stack:
        node = stack.pop()
        nodes.append(node)
        for e in node.edges or ():
            if e is not None and e.serial and e not in seen:
                seen.add(e)
                stack.append(e)
    for node in sorted(nodes, key=lambda n: n.serial):
        if node not in stopped and (node.edges is None or any(e in useful for e in node.edges)):
            useful.add(node)
    return useful


def _fit(g, dtype):
    """A gradient as an array of the dtype of what it belongs to."""
    g = np.asarray(g) if xp_of(g) is np else g      # a NumPy scalar becomes an array again
    return g if g.dtype == dtype else (g.real if g.dtype.kind == "c" and dtype.kind != "c"
                                       else g).astype(dtype)


def _merge(parts, more):
    """Gradients of a node's outputs by index, put together."""
    return {**parts, **{i: parts[i] + g if i in parts else g for i, g in more.items()}}


def _fill(node, parts, recorded):
    """The gradients of all outputs, zeros where none arrived."""
    some = next(iter(parts.values()))
    xp = xp_of(some._data if recorded else some)
    zeros = (lambda s, d: Tensor(xp.zeros(s, d))) if recorded else xp.zeros
    return tuple(parts[i] if i in parts else None if meta is None else zeros(*meta)
                 for i, meta in enumerate(node.metas))


def _group(need, node):
    """Per-tensor needs put together: one bool for each input, a list of tensors counting once."""
    flags = iter(need)
    return tuple(any([next(flags) for _ in range(n)]) for n in node.counts)


def _run_hooks(hooks, g, recorded):
    t = g if recorded else Tensor(g)
    for hook in list(hooks.values()):
        new = hook(t)
        if new is not None:
            t = new
    return t if recorded else t._data


def _deliver(grads, seeds, recorded, wanted) -> None:
    """Give the leaves their gradients; two tensors never share one gradient array."""
    given = {id(s) for s in seeds}
    for leaf, g in grads.items():
        if not isinstance(leaf, Tensor) or (wanted is not None and leaf not in wanted):
            continue
        if not recorded:
            g = _fit(g, leaf._data.dtype)
        elif g._data.dtype != leaf._data.dtype:
            g = ops.cast(g, leaf._data.dtype)
        if leaf._hooks:
            g = _run_hooks(leaf._hooks, g, recorded)
        if wanted is not None:
            wanted[leaf] = g
            continue
        if recorded:
            leaf._grad = g if leaf._grad is None else leaf.grad + g
            continue
        if leaf._grad is None or leaf._grad is ZERO:
            if id(g) in given or g.base is not None or leaf._hooks:
                g = g.copy()
            leaf._grad = Tensor(g)
        else:
            leaf._grad = Tensor(leaf._grad._data + g)
        given.add(id(g))


def _seed(y, g, api: str):
    """The gradient to start from: ones, or what the caller gave, checked against y."""
    if g is None:
        xp = xp_of(y._data)
        return xp.ones(y._data.shape, y._data.dtype)
    g = g if isinstance(g, Tensor) else to_tensor(g)
    if g._data.shape != y._data.shape:
        raise ValueError(f"{api}: the gradient given has shape {list(g._data.shape)}, the tensor "
                         f"has {list(y._data.shape)}; they must be equal")
    return _fit(g._data, y._data.dtype)


def backward(tensors, grad_tensors=None, retain_graph: bool = False) -> None:
    """Accumulate the gradients of several tensors into the leaves' `.grad`.

    grad_tensors: one gradient (same shape) or None (ones) for each tensor. Tensors with
    stop_gradient=True are passed over. RuntimeError on a graph that was freed.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1., 2.], stop_gradient=False)
    >>> paddle.autograd.backward([x * x, x * 3.])
    >>> x.grad.tolist()
    [5.0, 7.0]
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    grad_tensors = [grad_tensors] if isinstance(grad_tensors, Tensor) else grad_tensors
    seeds = list(grad_tensors) if grad_tensors is not None else [None] * len(tensors)
    if len(seeds) != len(tensors):
        raise ValueError(f"backward: {len(tensors)} tensors but {len(seeds)} grad_tensors")
    pairs = [(t, _seed(t, g, "backward")) for t, g in zip(tensors, seeds) if not t.stop_gradient]
    if pairs:
        with _plain(), no_grad():
            walk([t for t, _ in pairs], [g for _, g in pairs], False, retain_graph)


class _plain:
    """AMP and observers off: a backward follows what the forward recorded."""

    def __enter__(self):
        self.amp = set_amp_state(None) if local.amp is not None else None

    def __exit__(self, *error):
        if self.amp is not None:
            set_amp_state(self.amp)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool = False, no_grad_vars=None) -> list:
    """Gradients of the outputs with respect to the inputs; no `.grad` is touched.

    create_graph=True records the gradients themselves, so that they can be differentiated again.
    no_grad_vars: tensors taken as constants. Returns a list, one Tensor an input.
    ValueError for an input that is not reached, unless allow_unused=True (then None).

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor(3.0, stop_gradient=False)
    >>> (d,) = paddle.grad(x ** 3, x, create_graph=True)
    >>> float(paddle.grad(d, x)[0])
    18.0
    """
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for kind, group in (("outputs", outputs), ("inputs", inputs)):
        for t in group:
            if not isinstance(t, Tensor):
                raise TypeError(f"grad: {kind} must hold Tensors, got {kind_of(t)}")
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs
    seeds = list(grad_outputs) if grad_outputs is not None else [None] * len(outputs)
    if len(seeds) != len(outputs):
        raise ValueError(f"grad: {len(outputs)} outputs but {len(seeds)} grad_outputs")
    no_grad_vars = [no_grad_vars] if isinstance(no_grad_vars, Tensor) else no_grad_vars or ()
    stopped = {t._node or t for t in no_grad_vars}
    pairs = []
    for t, g in zip(outputs, seeds):
        if not t.stop_gradient:
            start = _seed(t, g, "grad")
            pairs.append((t, (g if isinstance(g, Tensor) and g._data.dtype == t._data.dtype
                              else Tensor(start)) if create_graph else start))
    wanted = {(t if t._node is None else t._node): None for t in inputs if not t.stop_gradient}
    if pairs:
        with _plain(), (enable_grad() if create_graph else no_grad()):
            walk([t for t, _ in pairs], [g for _, g in pairs], create_graph,
                 create_graph or retain_graph is not False, wanted, stopped)
    results, given = [], {id(g) for _, g in pairs}
    for i, t in enumerate(inputs):
        g = None if t.stop_gradient else wanted[t if t._node is None else t._node]
        if g is None and not allow_unused:
            raise ValueError(f"grad: inputs[{i}] {list(t._data.shape)} does not appear in the "
                             "graph of the outputs (unused); allow_unused=True gives None for it")
        if isinstance(g, Tensor):
            if id(g) in given:
                with enable_grad():
                    g = ops.clone(g)
        elif g is not None and (g.base is not None or id(g) in given):
            g = g.copy()                            # nobody's memory but the result's
        given.add(id(g))
        results.append(g if g is None or isinstance(g, Tensor) else Tensor(g))
    return results


