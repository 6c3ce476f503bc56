"""Tutorial 3: an operation of your own, its vjp, the check of both, and a wrong one caught.

docs/adding_an_op.md has all options; the operations in minipaddle/ops_*.py are written this way.
"""
import numpy as np

import minipaddle as paddle
from minipaddle.autograd import gradcheck
from minipaddle.core import Array, op
from minipaddle.samples import pairs_away

# ---- one definition
# The distance of the point (x, y) from the origin. The forward works on arrays: xp is numpy, or
# cupy on a GPU. `broadcasts` leaves it to the engine to sum gradients over broadcast dimensions,
# `promote` lets integers in as floats, `samples` draws arguments for the gradient checks.


@op(broadcasts=True, promote="float", samples=pairs_away)
def radius(xp, x: Array, y: Array) -> Array:
    """sqrt(x^2 + y^2), elementwise."""
    return xp.sqrt(xp.square(x) + xp.square(y))


# The vjp (vector-Jacobian product) gets F, the operations, and g, the gradient of the result.
# It asks for what it needs by name: here the two inputs and the result. dr/dx = x / r.
@radius.vjp
def _(F, g, x, y, out):
    return g * x / out, g * y / out


# ---- everything else follows
x = paddle.to_tensor([3.0, 5.0], stop_gradient=False)
y = paddle.to_tensor([[4.0], [12.0]])
r = paddle.radius(x, y)                             # a function of paddle,
assert r.shape == [2, 2]
assert x.radius(y).numpy().tolist() == r.numpy().tolist()   # and a method
print("distances:", r.tolist())

r.sum().backward()
print("gradient, summed over the broadcast rows:", x.grad.tolist())
by_hand = [3 / 5 + 3 / np.hypot(3, 12), 5 / np.hypot(5, 4) + 5 / 13]
np.testing.assert_allclose(x.grad.numpy(), by_hand, rtol=1e-6)

# The same vjp, run on Tensors, gives gradients of gradients: d2r/dx2 = y^2 / r^3.
x = paddle.to_tensor(3.0, stop_gradient=False)
slope = paddle.grad(paddle.radius(x, paddle.to_tensor(4.0)), x, create_graph=True)[0]
curvature = paddle.grad(slope, x)[0]
print("curvature at (3, 4):", float(curvature))
assert abs(float(curvature) - 16 / 125) < 1e-6

# ---- is it right?
# gradcheck compares with numerical derivatives, in float64, to the order asked for.
point = [np.array([0.5, -1.5, 2.0]), np.array([1.0, 0.25, -3.0])]
assert gradcheck(paddle.radius, point, order=2)
print("radius: first and second order gradients are right")


# ---- and if it were not?
@op(broadcasts=True, promote="float")
def wrong_radius(xp, x: Array, y: Array) -> Array:
    """The same forward, and a vjp that forgets to divide the second gradient."""
    return xp.sqrt(xp.square(x) + xp.square(y))


@wrong_radius.vjp
def _(F, g, x, y, out):
    return g * x / out, g * y


try:
    gradcheck(paddle.wrong_radius, point)
except AssertionError as error:
    print("wrong_radius is caught:")
    print(error)
else:
    raise SystemExit("gradcheck passed a wrong gradient")

# An op that stands in a chapter of the package is checked like this on random shapes, too:
#     python -m minipaddle gradcheck radius
