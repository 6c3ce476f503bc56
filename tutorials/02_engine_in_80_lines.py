"""Tutorial 2: an automatic differentiation engine in 80 lines, and where minipaddle has the same.

The engine stands between the two rulers below (blank lines not counted). What follows checks it
against minipaddle, whose files say the same things at full length: worlds.py (the registry),
core.py (`op`, the call that records a `Node`), engine.py (`walk`, `_unbroadcast`).
"""
import heapq
import itertools

import numpy as np

# ------------------------------------------------------------------------------------- 80 lines
serial_numbers = itertools.count(1)
registry = {}                               # worlds.py: registry


def op(forward):                            # core.py: op
    """One definition of an operation: a forward on arrays; its vjp follows below it."""
    def call(*inputs):                      # core.py: _call2 and finish
        inputs = [x if isinstance(x, Tensor) else Tensor(x) for x in inputs]
        out = Tensor(forward(*[x.array for x in inputs]))
        if any(x.wants_grad for x in inputs):
            out.wants_grad, out.node = True, Node(call, inputs)
        return out

    def vjp(function):
        call.pull = function
        return function
    call.vjp, registry[forward.__name__] = vjp, call
    return call


class Node:                                 # engine.py: Node; newer than all it depends on
    def __init__(self, op, inputs):
        self.op, self.inputs, self.serial = op, inputs, next(serial_numbers)

    def __lt__(self, other):                # the newest first
        return self.serial > other.serial


class Tensor:                               # tensor.py: Tensor
    def __init__(self, array, wants_grad=False):
        self.array, self.wants_grad = np.asarray(array, np.float64), wants_grad
        self.node = self.grad = None

    def backward(self):                     # engine.py: walk
        """Carry gradients back, newest node first: what is newest has its gradient complete."""
        grads, waiting = {self.node: np.ones_like(self.array)}, [self.node]
        while waiting:
            node = heapq.heappop(waiting)
            found = node.op.pull(grads.pop(node), *[x.array for x in node.inputs])
            for x, g in zip(node.inputs, found):
                if not x.wants_grad:
                    continue
                g = unbroadcast(g, x.array.shape)
                if x.node is None:          # a leaf: only leaves own a .grad
                    x.grad = g if x.grad is None else x.grad + g
                elif x.node in grads:
                    grads[x.node] = grads[x.node] + g
                else:
                    grads[x.node] = g
                    heapq.heappush(waiting, x.node)

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    def __matmul__(self, other):
        return matmul(self, other)


def unbroadcast(g, shape):                  # engine.py: _unbroadcast, the one place for it
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@op                                         # ops_math.py and its neighbours: an op a paragraph
def add(x, y):
    return x + y


@add.vjp
def _(g, x, y):
    return g, g


@op
def multiply(x, y):
    return x * y


@multiply.vjp
def _(g, x, y):
    return g * y, g * x


@op
def matmul(x, y):
    return x @ y


@matmul.vjp
def _(g, x, y):
    return g @ y.T, x.T @ g


@op
def tanh(x):
    return np.tanh(x)


@tanh.vjp
def _(g, x):
    return (g * (1 - np.tanh(x) ** 2),)


@op
def mean(x):
    return x.mean()


@mean.vjp
def _(g, x):
    return (np.full(x.shape, g / x.size),)
# ------------------------------------------------------------------------------------- 80 lines

# ---- does it work? The same network, the same numbers, on both engines.
import minipaddle as paddle  # noqa: E402

draw = np.random.default_rng(0).standard_normal
data, target = draw((16, 3)), draw((16, 1))
start = [draw((3, 8)), draw(8), draw((8, 1)), draw(1)]


def loss_of(engine_tanh, engine_mean, x, y, w1, b1, w2, b2):
    """Two layers and the mean square error: both engines run this very function."""
    error = engine_tanh(x @ w1 + b1) @ w2 + b2 + y * -1.0
    return engine_mean(error * error)


ours = [Tensor(array, wants_grad=True) for array in start]
loss = loss_of(tanh, mean, Tensor(data), Tensor(target), *ours)
loss.backward()

theirs = [paddle.to_tensor(array, stop_gradient=False) for array in start]
expected = loss_of(paddle.tanh, paddle.mean, paddle.to_tensor(data), paddle.to_tensor(target),
                   *theirs)
expected.backward()

print(f"loss: {loss.array:.12f} here, {float(expected):.12f} in minipaddle")
for name, mine, reference in zip(("w1", "b1", "w2", "b2"), ours, theirs):
    difference = np.abs(mine.grad - reference.grad.numpy()).max()
    print(f"gradient of {name}, shape {mine.grad.shape}: largest difference {difference:.1e}")
    assert mine.grad.shape == mine.array.shape and difference < 1e-12

# ---- why the numbers
# A value used twice gets its gradient from both uses before it is passed on. Taking the newest
# waiting node ensures it: whoever used the value is newer than the call that made it.
x = Tensor(2.0, wants_grad=True)
square = x * x
(square * square + square).backward()       # x^4 + x^2: 4 x^3 + 2 x = 36
assert x.grad == 36.0

# And nothing here calls itself: a chain of 100,000 calls is walked in a loop.
y = x
for _ in range(100_000):
    y = y + 0.0
x.grad = None
y.backward()
assert x.grad == 1.0

# ---- what minipaddle adds
# Here a vjp runs on arrays. In minipaddle it is handed a namespace F first, and the same text
# runs on NumPy arrays, on CuPy arrays, or on Tensors, which gives gradients of gradients. Nodes
# keep only what the vjp's parameters name, and are freed as the walk passes them. The next
# tutorial writes such an op.
