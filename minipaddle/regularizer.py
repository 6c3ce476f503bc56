"""Weight decay as a term of the gradient: L1Decay, L2Decay. Imports core."""
from __future__ import annotations

from .core import xp_of


class WeightDecayRegularizer:
    """What is added to a gradient array; `coeff` is its weight."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = self._coeff = float(coeff)

    def term(self, value):
        raise NotImplementedError


class L1Decay(WeightDecayRegularizer):
    """Adds coeff * sign(parameter) to the gradient."""

    def term(self, value):
        return xp_of(value).sign(value) * value.dtype.type(self.coeff)


class L2Decay(WeightDecayRegularizer):
    """Adds coeff * parameter to the gradient."""

    def term(self, value):
        return value * value.dtype.type(self.coeff)
