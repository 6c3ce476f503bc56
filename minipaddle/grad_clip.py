"""Gradient clipping, which the optimizers do before weight decay. Imports core.

A clip is a function in place on flat gradients: an optimizer keeps those of its parameters in a
few flat arrays, so that all of them are clipped in a few calls.
"""
from __future__ import annotations

import numpy as np

from .core import F16, F32, Tensor, no_grad, xp_of

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]


class ClipGradBase:
    """Base of the clips; called with [(parameter, gradient)] it gives the same with clipped ones.

    A subclass changes flat gradients in place in `clip_`, or overrides `_dygraph_clip`, which
    works on pairs of Tensors as in Paddle.
    """

    def __call__(self, params_grads: list) -> list:
        return self._dygraph_clip(params_grads)

    @no_grad()
    def _dygraph_clip(self, params_grads: list) -> list:
        """[(parameter, gradient or None)] with clipped copies where need_clip allows."""
        out = [(p, g) if g is None or not getattr(p, "need_clip", True) else
               (p, Tensor(g._data.copy())) for p, g in params_grads]
        copies = [new._data for (_, old), (_, new) in zip(params_grads, out) if new is not old]
        if copies:
            self.clip_([(a.reshape(-1), [a]) for a in copies])
        return out

    def clip_(self, pieces: list) -> None:
        """Clip [(flat gradient, [its parameters' parts])] in place."""
        raise NotImplementedError(f"{type(self).__name__} needs clip_ or _dygraph_clip")

    @property
    def plain(self) -> bool:
        """Whether `clip_` is all there is to this clip."""
        kind = type(self)
        return kind.__call__ is ClipGradBase.__call__ and \
            kind._dygraph_clip is ClipGradBase._dygraph_clip


class ClipGradByValue(ClipGradBase):
    """Every entry of every gradient into [min, max]; min is -max unless given.

    >>> import minipaddle as paddle
    >>> w, g = paddle.create_parameter([3], 'float32'), paddle.to_tensor([-2.0, 0.5, 3.0])
    >>> paddle.nn.ClipGradByValue(1.0)([(w, g)])[0][1].tolist()
    [-1.0, 0.5, 1.0]
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = float(max), -float(max) if min is None else float(min)
        if self.min > self.max:
            raise ValueError(f"ClipGradByValue: min {self.min} is above max {self.max}")

    def clip_(self, pieces: list) -> None:
        for flat, _ in pieces:
            xp_of(flat).clip(flat, self.min, self.max, out=flat)


class ClipGradByNorm(ClipGradBase):
    """Each gradient by itself, down to a 2-norm of at most clip_norm.

    >>> import minipaddle as paddle
    >>> w, g = paddle.create_parameter([2], 'float32'), paddle.to_tensor([3.0, 4.0])
    >>> [round(v, 4) for v in paddle.nn.ClipGradByNorm(1.0)([(w, g)])[0][1].tolist()]
    [0.6, 0.8]
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def clip_(self, pieces: list) -> None:
        for _, parts in pieces:
            for g in parts:
                _scale_down([g], _square_norm(g), self.clip_norm)


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients of an optimizer together, down to a 2-norm of at most clip_norm.

    Parameters with need_clip=False neither count nor change. Pascanu et al., 2013.

    >>> import minipaddle as paddle
    >>> a, b = (paddle.create_parameter([1], 'float32') for _ in 'ab')
    >>> clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    >>> pairs = clip([(a, paddle.to_tensor([3.0])), (b, paddle.to_tensor([4.0]))])
    >>> [round(g.item(), 4) for _, g in pairs]
    [0.6, 0.8]
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group",
                 auto_skip_clip: bool = False) -> None:
        self.clip_norm, self.group_name = float(clip_norm), group_name
        self.auto_skip_clip = auto_skip_clip

    def clip_(self, pieces: list) -> None:
        flats = [flat for flat, _ in pieces]
        squares = [_square_norm(flat) for flat in flats]
        total = squares[0]
        for square in squares[1:]:
            total = total + square
        _scale_down(flats, total, self.clip_norm)


def _square_norm(g):
    """The sum of squares, a 0-d array; float16 would overflow and is counted in float32."""
    flat = g.reshape(-1)
    flat = flat.astype(F32) if flat.dtype == F16 else flat
    return flat @ flat


def _scale_down(arrays, square, limit: float) -> None:
    """Scale in place to a norm of `limit` where it is above; the factor stays on its device."""
    xp = xp_of(square)
    if xp is np:
        norm = float(square) ** 0.5
        if norm <= limit:
            return                                  # a nan goes on: it must not be hidden
        for a in arrays:
            a *= limit / norm                       # xp: numpy-only
        return
    factor = limit / xp.maximum(xp.sqrt(square), limit)
    for a in arrays:
        a *= factor.astype(a.dtype)
