"""Weight decay as a term of the gradient (`paddle.regularizer`). Imports core."""
from __future__ import annotations

from .core import xp_of

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """What is added to a gradient: a subclass gives `term(value)`, an array; `coeff` weighs it."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = self._coeff = self._regularization_coeff = float(coeff)

    def term(self, value):
        """The array to add to the gradient of a parameter with this value."""
        raise NotImplementedError(f"{type(self).__name__} needs term(self, value)")

    def __str__(self) -> str:
        return f"{type(self).__name__}, coeff={self.coeff:f}"


class L1Decay(WeightDecayRegularizer):
    """Adds coeff * sign(parameter) to the gradient: many values end up at zero.

    >>> import minipaddle as paddle
    >>> w = paddle.create_parameter([2], 'float32')
    >>> w.set_value(paddle.to_tensor([1.0, -2.0])); w.grad = paddle.zeros([2])
    >>> paddle.optimizer.SGD(1.0, [w], paddle.regularizer.L1Decay(0.5)).step(); w.tolist()
    [0.5, -1.5]
    """

    def term(self, value):
        return xp_of(value).sign(value) * self.coeff


class L2Decay(WeightDecayRegularizer):
    """Adds coeff * parameter to the gradient: what a float weight_decay means.

    >>> import minipaddle as paddle
    >>> w = paddle.create_parameter([2], 'float32')
    >>> w.set_value(paddle.to_tensor([1.0, -2.0])); w.grad = paddle.zeros([2])
    >>> paddle.optimizer.SGD(1.0, [w], paddle.regularizer.L2Decay(0.5)).step(); w.tolist()
    [0.5, -1.0]
    """

    def term(self, value):
        return value * self.coeff
