"""Gradient clipping, done by the optimizers before weight decay. Imports core."""
from __future__ import annotations

from .core import Tensor, xp_of


class ClipGradBase:
    """What an optimizer calls with [(parameter, gradient array)]: gives the same, clipped."""

    def clip(self, pairs: list) -> list:
        raise NotImplementedError

    def __call__(self, params_grads: list) -> list:
        arrays = [(p, g._data) for p, g in params_grads if g is not None]
        return [(p, Tensor(a)) for p, a in self.clip(arrays)]


class ClipGradByValue(ClipGradBase):
    """Every entry of every gradient into [min, max]; min is -max unless given."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = float(max), -float(max) if min is None else float(min)

    def clip(self, pairs):
        return [(p, g.clip(self.min, self.max) if p.need_clip else g) for p, g in pairs]


class ClipGradByNorm(ClipGradBase):
    """Each gradient by itself, down to a 2-norm of at most clip_norm."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def clip(self, pairs):
        return [(p, self._one(g) if p.need_clip else g) for p, g in pairs]

    def _one(self, g):
        xp = xp_of(g)
        norm = xp.sqrt((g * g).sum())
        limit = g.dtype.type(self.clip_norm)
        return g * (limit / xp.maximum(norm, limit))


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients together, down to a 2-norm of at most clip_norm."""

    def __init__(self, clip_norm: float, group_name: str = "default_group",
                 auto_skip_clip: bool = False) -> None:
        self.clip_norm, self.group_name = float(clip_norm), group_name

    def clip(self, pairs):
        clipped = [g for p, g in pairs if p.need_clip]
        if not clipped:
            return pairs
        xp = xp_of(clipped[0])
        total = sum([(g.astype("float32") if g.dtype.itemsize < 4 else g).ravel() @ (
            g.astype("float32") if g.dtype.itemsize < 4 else g).ravel() for g in clipped])
        norm = xp.sqrt(total)
        factor = self.clip_norm / xp.maximum(norm, self.clip_norm)
        return [(p, g * factor.astype(g.dtype) if p.need_clip else g) for p, g in pairs]
