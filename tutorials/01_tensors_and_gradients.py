"""Tutorial 1: tensors and gradients.

Run it with `python tutorials/01_tensors_and_gradients.py` and read it from top to bottom.
"""
import numpy as np

import minipaddle as paddle

# A tensor is an array that can remember how it was computed. Python floats become float32,
# Python ints int64; NumPy arrays keep their dtype.
a = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
print(a)
assert a.shape == [2, 2] and a.dtype == paddle.float32

# Operators and functions broadcast as NumPy's do; `axis` and `keepdim` are Paddle's words.
column_means = paddle.mean(a, axis=0)
print("means of the columns:", column_means.tolist())
print("centred:", (a - column_means).tolist())

# ---- asking for gradients
# Data does not need gradients and says so: stop_gradient is True. We ask for one.
x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
y = (x ** 2).sum()              # y = x1^2 + x2^2 + x3^2
y.backward()                    # dy/dx = 2 x, delivered into x.grad
print("gradient of the sum of squares:", x.grad.tolist())
assert x.grad.tolist() == [2.0, 4.0, 6.0]

# Gradients add up over backward calls (so that a batch can be worked off in parts);
# clear_grad() sets them back to zero.
(3.0 * x).sum().backward()
assert x.grad.tolist() == [5.0, 7.0, 9.0]
x.clear_grad()
assert x.grad.tolist() == [0.0, 0.0, 0.0]

# ---- fitting a line, with nothing but gradients
# 50 points near y = 2 x - 1, and two numbers to find.
points = np.linspace(-1, 1, 50, dtype=np.float32)
truth = 2 * points - 1 + 0.1 * np.random.default_rng(0).standard_normal(50).astype(np.float32)
inputs, targets = paddle.to_tensor(points), paddle.to_tensor(truth)

slope = paddle.to_tensor(0.0, stop_gradient=False)
offset = paddle.to_tensor(0.0, stop_gradient=False)
for step in range(100):
    loss = ((slope * inputs + offset - targets) ** 2).mean()
    loss.backward()
    with paddle.no_grad():      # the update itself is not to be differentiated
        for parameter in (slope, offset):
            parameter.set_value(parameter - 0.3 * parameter.grad)
            parameter.clear_grad()
print(f"found y = {float(slope):.2f} x + {float(offset):.2f}, loss {float(loss):.4f}")
assert abs(float(slope) - 2) < 0.1 and abs(float(offset) + 1) < 0.1

# ---- gradients of gradients
# paddle.grad gives gradients back instead of storing them. With create_graph=True they remember
# how they were computed, and can be differentiated again: x^3, 3 x^2, 6 x, 6.
x = paddle.to_tensor(2.0, stop_gradient=False)
value, derivatives = x ** 3, []
for _ in range(3):
    value = paddle.grad(value, x, create_graph=True)[0]
    derivatives.append(float(value))
print("derivatives of x^3 at 2:", derivatives)
assert derivatives == [12.0, 12.0, 6.0]

# ---- where gradients stop
# detach() gives the same numbers without their history.
x = paddle.to_tensor(3.0, stop_gradient=False)
(x * x.detach()).backward()     # d/dx of 3 x, since the second factor counts as a constant
assert float(x.grad) == 3.0

# The next tutorial builds the machine that does this, in 80 lines.
