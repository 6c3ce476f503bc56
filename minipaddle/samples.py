"""Sample inputs for the operations' checks. Imports nothing of the package.

A sampler is a function of a `Draw` that returns the positional and keyword arguments of an op's
public function, with float64 NumPy arrays for the tensors. `Draw` asks a NumPy generator; the
property-based checks ask hypothesis through the same interface, so one sampler serves both.
"""
from __future__ import annotations

import math

import numpy as np


class Draw:
    """Random shapes, arrays and choices for samplers."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    # -- what a backend must offer
    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(self._rng.integers(low, high + 1))

    def seed(self) -> int:
        """A number that fixes the values of an array."""
        return int(self._rng.integers(0, 2**31))

    # -- all else is made of those two
    def bool(self) -> bool:
        return bool(self.integer(0, 1))

    def choice(self, options):
        options = list(options)
        return options[self.integer(0, len(options) - 1)]

    def shape(self, min_dims: int = 0, max_dims: int = 3, min_side: int = 0,
              max_side: int = 4) -> tuple:
        """A shape; small sides, so that 0 and 1 are frequent."""
        return tuple(self.integer(min_side, max_side)
                     for _ in range(self.integer(min_dims, max_dims)))

    def array(self, shape, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        """Floats in [low, high)."""
        return np.asarray(np.random.default_rng(self.seed()).uniform(low, high, shape))

    def positive(self, shape, low: float = 0.2, high: float = 3.0) -> np.ndarray:
        return self.array(shape, low, high)

    def away(self, shape, points=(0,), gap: float = 0.1, low: float = -2.0,
             high: float = 2.0) -> np.ndarray:
        """Floats at least `gap` from each of the points, where a function has a kink."""
        x = self.array(shape, low, high)
        for p in points:
            near = np.abs(x - p) < gap
            x = np.where(near, p + np.where(x >= p, gap, -gap) * 1.5, x)
        return np.asarray(x)

    def distinct(self, shape) -> np.ndarray:
        """Floats no two of which are closer than 0.05: no ties, no order that a step changes."""
        n = math.prod(shape)
        order = np.random.default_rng(self.seed()).permutation(n)
        return np.asarray(((order - n / 2) * 0.1 + 0.025).reshape(shape))

    def integers(self, shape, low: int, high: int) -> np.ndarray:
        """int64 numbers from low to high, both included."""
        return np.asarray(np.random.default_rng(self.seed()).integers(low, high + 1, shape))

    def broadcast_pair(self) -> tuple:
        """Two shapes that broadcast together: ones, missing and empty dimensions included."""
        full = self.shape()

        def part():
            cut = full[self.integer(0, len(full)):]
            return tuple(1 if self.integer(0, 3) == 0 else n for n in cut)
        return (full, part()) if self.bool() else (part(), full)

    def axis(self, ndim: int) -> int:
        """An axis of a tensor with ndim dimensions, counted from either end."""
        return self.integer(-ndim, ndim - 1) if ndim else -1

    def axes(self, ndim: int):
        """None, one axis, or a list of some."""
        if not ndim:
            return None
        kind = self.integer(0, 2)
        return None if kind == 0 else self.axis(ndim) if kind == 1 else \
            [i for i in range(ndim) if self.bool()] or [0]


def unary(draw):
    return (draw.array(draw.shape()),), {}


def unary_away0(draw):
    return (draw.away(draw.shape()),), {}


def unary_positive(draw):
    return (draw.positive(draw.shape()),), {}


def unary_inside1(draw):
    return (draw.array(draw.shape(), -0.9, 0.9),), {}


def pairs(draw):
    a, b = draw.broadcast_pair()
    return (draw.array(a), draw.array(b)), {}


def pairs_away(draw):
    a, b = draw.broadcast_pair()
    return (draw.array(a), draw.away(b, gap=0.3)), {}


def pairs_distinct(draw):
    """Two tensors of one shape whose entries differ clearly."""
    shape = draw.shape()
    x = draw.array(shape)
    return (x, np.asarray(x + draw.away(shape, gap=0.2))), {}


def reduction(draw):
    shape = draw.shape(min_side=1)
    return (draw.array(shape),), {"axis": draw.axes(len(shape)), "keepdim": draw.bool()}


def unary_complex(draw):
    shape = draw.shape()
    return (np.asarray(draw.array(shape) + 1j * draw.array(shape)),), {}


def quotients(draw):
    """x and y whose quotient is never near a whole number, y never near 0; y broadcasts."""
    shape = draw.shape()
    y = draw.away(shape[draw.integer(0, len(shape)):], gap=0.3)
    return (np.asarray(y * (draw.integers(shape, -3, 2) + draw.array(shape, 0.2, 0.8))), y), {}
