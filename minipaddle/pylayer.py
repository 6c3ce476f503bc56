"""PyLayer: an operation of one's own as a class. Imports core and below."""
from __future__ import annotations

import functools

from .engine import Node, Pick, PLAIN_OP
from .modes import local, no_grad
from .tensor import Tensor, kind_of, share


class PyLayerContext:
    """What forward leaves for backward: `save_for_backward`, attributes, and marks."""

    _saved: tuple = ()
    _constant: tuple = ()
    _materialize = True

    def save_for_backward(self, *tensors) -> None:
        """Keep tensors for backward, where `saved_tensor()` gives them back."""
        self._saved = tuple(tensors)
        self._stamps = tuple(t._storage.stamp if isinstance(t, Tensor) and t._storage else 0
                             for t in tensors)

    def saved_tensor(self) -> tuple:
        """The tensors that forward saved; RuntimeError when one was written in place since."""
        for i, (t, stamp) in enumerate(zip(self._saved, self._stamps if self._saved else ())):
            if isinstance(t, Tensor) and t._storage is not None and t._storage.stamp > stamp:
                raise RuntimeError(f"PyLayer: saved tensor {i} was modified in place"
                                   f"{t._storage.where} after forward had saved it")
        return self._saved

    def mark_non_differentiable(self, *tensors) -> None:
        """Outputs that get no gradient."""
        self._constant = tuple(id(t) for t in tensors)

    def mark_not_inplace(self, *tensors) -> None:
        """Accepted: outputs never alias inputs here."""

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward sees None, not zeros, for outputs that were not used."""
        self._materialize = bool(value)


class _PyNode(Node):
    """A node whose vjp is the user's backward."""

    def pull(self, F, g, need):
        g = tuple(None if a is None else Tensor(a) for a in g)
        return tuple(None if t is None else t._data for t in self.pull_recorded(F, g, need))

    def pull_recorded(self, F, g, need):
        found = self.layer.backward(self.context, *g)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(self.edges):
            raise ValueError(f"{self.layer.__name__}.backward returned {len(found)} gradients, its "
                             f"forward had {len(self.edges)} Tensor inputs")
        for i, t in enumerate(found):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"{self.layer.__name__}.backward: gradient {i} must be a Tensor or "
                                f"None, got {kind_of(t)}")
            if t is not None and self.edges[i] is not None and t._data.shape != self.shapes[i]:
                raise ValueError(f"{self.layer.__name__}.backward: gradient {i} has shape "
                                 f"{list(t._data.shape)}, its input has {list(self.shapes[i])}")
        return tuple(found)

    def free(self) -> None:
        super().free()
        self.context = None


class PyLayer:
    """An operation of one's own: static methods `forward(ctx, ...)` and `backward(ctx, *grads)`.

    backward gets one gradient an output and returns one an input Tensor (None for none).

    >>> import minipaddle as paddle
    >>> class Double(paddle.autograd.PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x + x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = paddle.to_tensor([1.], stop_gradient=False)
    >>> Double.apply(x).backward(); x.grad.tolist()
    [2.0]
    """

    @staticmethod
    def forward(ctx, *args, **kwargs):
        raise NotImplementedError("a PyLayer needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("a PyLayer needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record backward."""
        if local.tracer is not None:
            result = local.tracer.py_layer(cls, args, kwargs)
            if result is not NotImplemented:
                return result
        ctx = PyLayerContext()
        with no_grad():
            out = cls.forward(ctx, *args, **kwargs)
        tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
        if not local.grad or all(t.stop_gradient for t in tensors):
            return out
        many = isinstance(out, (tuple, list))
        values = list(out) if many else [out]
        edges = tuple(None if t.stop_gradient else t._node or t for t in tensors)
        node = _PyNode(_py_op(cls), edges, (), (), None)
        node.layer, node.context, node.metas, node.plain = cls, ctx, [], False
        node.shapes = [t._data.shape for t in tensors]
        results = []
        for i, t in enumerate(values):
            if not isinstance(t, Tensor):
                node.metas.append(None)
                results.append(t)
                continue
            fresh = Tensor(t._data)
            constant = id(t) in ctx._constant or t._data.dtype.kind not in "fc"
            node.metas.append((t._data.shape, t._data.dtype) if ctx._materialize else None)
            if not constant:
                fresh.stop_gradient, fresh._node = False, Pick(node, i, t._data.dtype)
            if any(t is u for u in tensors):
                share(t, fresh)
            results.append(fresh)
        return type(out)(results) if many else results[0]


@functools.lru_cache(maxsize=None)
def _py_op(cls):
    """What a PyLayer's node shows as its op."""
    return type(cls.__name__, (PLAIN_OP,), {"name": cls.__name__})
