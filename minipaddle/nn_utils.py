"""paddle.nn.utils: weights in other forms, clipping of gradients by hand, parameters as a vector.

Imports nn and core. A weight in another form is a plain attribute that a hook computes before
each forward, from parameters of its own.
"""
from __future__ import annotations

import math

from .core import Parameter, Tensor, no_grad, ops
from .nn import Layer, Linear, _ConvTransposeNd

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "remove_weight_norm",
           "spectral_norm", "vector_to_parameters", "weight_norm"]


def _norms(weight: Tensor, dim: int) -> Tensor:
    """The lengths of the slices along dim, [n]; of everything for dim -1, [1]."""
    if dim == -1:
        return ops.reshape(ops.sqrt(ops.sum(weight * weight)), [1])
    axes = [a for a in range(len(weight.shape)) if a != dim]
    return ops.sqrt(ops.sum(weight * weight, axis=axes))


def _take_out(layer: Layer, name: str) -> Parameter:
    weight = layer._parameters.get(name)
    if weight is None:
        raise ValueError(f"{type(layer).__name__} has no parameter {name!r}; it has "
                         f"{', '.join(layer._parameters) or 'none'}")
    del layer._parameters[name]
    return weight


class _WeightNorm:
    """The hook of weight_norm: weight = g * v / |v|."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def weight(self, layer):
        g, v = getattr(layer, self.name + "_g"), getattr(layer, self.name + "_v")
        shape = [1] * len(v.shape)
        shape[self.dim] = -1
        return v * ops.reshape(g / _norms(v, self.dim), shape)

    def __call__(self, layer, inputs) -> None:
        object.__setattr__(layer, self.name, self.weight(layer))


def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Train a weight as length and direction: weight = g * v / |v|; gives the layer back.

    The parameter `name` becomes `name_g` (a length for each index of axis dim; one for dim=None)
    and `name_v`. Salimans and Kingma, Weight Normalization, 2016.

    >>> import minipaddle as paddle
    >>> conv = paddle.nn.utils.weight_norm(paddle.nn.Conv2D(3, 5, 3))
    >>> list(conv.state_dict()), conv.weight_g.shape
    (['bias', 'weight_v', 'weight_g'], [5])
    """
    if any(isinstance(h, _WeightNorm) and h.name == name
           for h in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"weight_norm: {name!r} of {type(layer).__name__} has it already")
    weight = _take_out(layer, name)
    n = len(weight.shape)
    if dim is not None and not -n <= dim < n:
        raise ValueError(f"weight_norm: dim {dim} is out of range for a weight of {n} axes")
    hook = _WeightNorm(name, -1 if dim is None or dim == -1 else dim % n)
    with no_grad():
        g = Parameter(_norms(weight, hook.dim)._data)
        v = Parameter(weight._data)
    layer.add_parameter(name + "_v", v)
    layer.add_parameter(name + "_g", g)
    hook(layer, None)
    layer.register_forward_pre_hook(hook)
    return layer


def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Undo `weight_norm`: the weight is one parameter again; gives the layer back.

    >>> import minipaddle as paddle
    >>> fc = paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 3))
    >>> list(paddle.nn.utils.remove_weight_norm(fc).state_dict())
    ['bias', 'weight']
    """
    for key, hook in list(layer._forward_pre_hooks.items()):
        if isinstance(hook, _WeightNorm) and hook.name == name:
            with no_grad():
                weight = Parameter(hook.weight(layer)._data)
            del layer._forward_pre_hooks[key]
            del layer._parameters[name + "_g"], layer._parameters[name + "_v"]
            layer.__dict__.pop(name, None)
            layer.add_parameter(name, weight)
            return layer
    raise ValueError(f"remove_weight_norm: {name!r} of {type(layer).__name__} has no weight_norm")


class _SpectralNorm:
    """The hook of spectral_norm: weight = original / its largest singular value."""

    def __init__(self, name: str, dim: int, steps: int, eps: float) -> None:
        self.name, self.dim, self.steps, self.eps = name, dim, steps, eps

    def _unit(self, x):
        return x / ops.clip(ops.sqrt(ops.sum(x * x)), min=self.eps)

    def matrix(self, weight):
        order = [self.dim] + [a for a in range(len(weight.shape)) if a != self.dim]
        return ops.reshape(ops.transpose(weight, order), [weight.shape[self.dim], -1])

    def __call__(self, layer, inputs) -> None:
        weight = getattr(layer, self.name + "_orig")
        kept_u, kept_v = (getattr(layer, self.name + end) for end in ("_u", "_v"))
        matrix = self.matrix(weight)
        u, v = kept_u, kept_v
        if layer.training:
            with no_grad():
                for _ in range(self.steps):
                    v = self._unit(ops.matmul(matrix, u, transpose_x=True))
                    u = self._unit(ops.matmul(matrix, v))
                kept_u.set_value(u)
                kept_v.set_value(v)
        sigma = ops.sum(u.detach() * ops.matmul(matrix, v.detach()))
        object.__setattr__(layer, self.name, weight / sigma)


def spectral_norm(layer: Layer, name: str = "weight", n_power_iterations: int = 1,
                  eps: float = 1e-12, dim: int | None = None) -> Layer:
    """Divide a weight by its largest singular value before each forward; gives the layer back.

    The parameter `name` becomes `name_orig`; `name_u` and `name_v` hold the singular vectors,
    which each forward in training improves by power iteration. dim: the axis of the outputs, by
    default 1 for Linear and transposed convolutions, else 0. Miyato et al., 2018.

    >>> import minipaddle as paddle
    >>> fc = paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 3))
    >>> list(fc.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise ValueError(f"spectral_norm: n_power_iterations must be positive, got "
                         f"{n_power_iterations}")
    if any(isinstance(h, _SpectralNorm) and h.name == name
           for h in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"spectral_norm: {name!r} of {type(layer).__name__} has it already")
    if dim is None:
        dim = 1 if isinstance(layer, (Linear, _ConvTransposeNd)) else 0
    weight = _take_out(layer, name)
    hook = _SpectralNorm(name, dim, n_power_iterations, eps)
    layer.add_parameter(name + "_orig", weight)
    with no_grad():
        rows, columns = hook.matrix(weight).shape
        for end, n in (("_u", rows), ("_v", columns)):
            drawn = ops.cast(ops.randn([n]), weight.dtype)
            layer.register_buffer(name + end, hook._unit(drawn))
    hook(layer, None)
    layer.register_forward_pre_hook(hook)
    return layer


def _with_grad(parameters) -> list:
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p for p in parameters if p.grad is not None]


def clip_grad_norm_(parameters, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False) -> Tensor:
    """Scale the gradients so that their common norm is at most max_norm; gives the old norm.

    norm_type: the p of the norm, also float('inf'). error_if_nonfinite: RuntimeError when the
    norm is nan or infinite (looks at it, so a GPU must wait).

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([3., 4.], stop_gradient=False)
    >>> (x * x * 0.5).sum().backward()
    >>> float(paddle.nn.utils.clip_grad_norm_([x], 1.0))
    5.0
    >>> [round(v, 4) for v in x.grad.tolist()]
    [0.6, 0.8]
    """
    found = _with_grad(parameters)
    if not found:
        return ops.zeros([])
    with no_grad():
        if norm_type == math.inf:
            total = ops.max(ops.stack([ops.max(ops.abs(p.grad)) for p in found]))
        else:
            parts = [ops.sum(ops.pow(ops.abs(p.grad), float(norm_type))) for p in found]
            total = ops.pow(ops.sum(ops.stack(parts)), 1.0 / norm_type)
        if error_if_nonfinite and not math.isfinite(float(total)):
            raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {float(total)}")
        factor = ops.clip(float(max_norm) / (total + 1e-6), max=1.0)
        for p in found:
            p.grad = p.grad * factor
    return total


def clip_grad_value_(parameters, clip_value: float) -> None:
    """Cut every entry of the gradients to [-clip_value, clip_value].

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([3., 0.5], stop_gradient=False)
    >>> (x * x * 0.5).sum().backward()
    >>> paddle.nn.utils.clip_grad_value_([x], 1.0); x.grad.tolist()
    [1.0, 0.5]
    """
    with no_grad():
        for p in _with_grad(parameters):
            p.grad = ops.clip(p.grad, -float(clip_value), float(clip_value))


def parameters_to_vector(parameters, name: str | None = None) -> Tensor:
    """All parameters one after another in one vector.

    >>> import minipaddle as paddle
    >>> paddle.nn.utils.parameters_to_vector(paddle.nn.Linear(3, 2).parameters()).shape
    [8]
    """
    return ops.concat([ops.reshape(p, [-1]) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters, name: str | None = None) -> None:
    """Overwrite the parameters with the parts of a vector, in order.

    >>> import minipaddle as paddle
    >>> fc = paddle.nn.Linear(1, 2)
    >>> paddle.nn.utils.vector_to_parameters(paddle.arange(4.), fc.parameters())
    >>> fc.bias.tolist()
    [2.0, 3.0]
    """
    parameters = list(parameters)
    total = sum(p.size for p in parameters)
    if vec.size != total:
        raise ValueError(f"vector_to_parameters: the vector has {vec.size} numbers, the "
                         f"parameters take {total}")
    at = 0
    with no_grad():
        for p in parameters:
            p.set_value(ops.reshape(vec[at:at + p.size], p.shape))
            at += p.size
