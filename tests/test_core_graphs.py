"""Random expression graphs against a naive reverse mode, forward and backward.

The reference below keeps every step in a list and knows six functions by their derivatives; it
shares nothing with the engine. hypothesis draws programs: which step uses which earlier values,
with broadcasting, the same value twice, results nobody uses, several roots.
"""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minipaddle as paddle


# ---- the reference: a tape in 60 lines
class Tape:
    """Values and, for each, how its gradient goes to the values it was made from."""

    def __init__(self) -> None:
        self.values, self.back = [], []

    def leaf(self, value):
        return self._add(np.asarray(value, np.float64), [])

    def _add(self, value, back):
        self.values.append(np.asarray(value))
        self.back.append(back)
        return len(self.values) - 1

    def call(self, name, *args):
        v = [self.values[a] for a in args]
        if name == "add":
            back = [lambda g: g, lambda g: g]
            out = v[0] + v[1]
        elif name == "sub":
            back = [lambda g: g, lambda g: -g]
            out = v[0] - v[1]
        elif name == "mul":
            back = [lambda g: g * v[1], lambda g: g * v[0]]
            out = v[0] * v[1]
        elif name == "div":                         # by something that is never near zero
            d = 1.5 + v[1] * v[1]
            back = [lambda g: g / d, lambda g: -g * v[0] * 2 * v[1] / (d * d)]
            out = v[0] / d
        elif name == "tanh":
            out = np.tanh(v[0])
            back = [lambda g: g * (1 - out * out)]
        elif name == "mean":
            back = [lambda g: np.broadcast_to(g / v[0].shape[-1], v[0].shape)]
            out = v[0].mean(-1, keepdims=True)
        elif name == "flip":
            back = [lambda g: g[..., ::-1]]
            out = v[0][..., ::-1]
        return self._add(out, list(zip(args, back)))

    def gradients(self, roots):
        """d sum(roots) / d value, for every value."""
        grads = [np.zeros(v.shape) for v in self.values]
        for r in roots:
            grads[r] = grads[r] + 1.0
        for i in reversed(range(len(self.values))):
            for source, rule in self.back[i]:
                g, shape = rule(grads[i]), self.values[source].shape
                while g.ndim > len(shape):
                    g = g.sum(0)
                for axis, n in enumerate(shape):
                    if n == 1 and g.shape[axis] != 1:
                        g = g.sum(axis, keepdims=True)
                grads[source] = grads[source] + g
        return grads


OURS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1.5), "tanh": paddle.tanh,
    "mean": lambda x: x.mean(-1, keepdim=True), "flip": lambda x: x[..., ::-1],
}
TWO = ("add", "sub", "mul", "div")

shapes = st.sampled_from([(3,), (1,), (2, 3), (2, 1), (1, 3), (4, 1, 3)])
steps = st.lists(st.tuples(st.sampled_from(sorted(OURS)), st.integers(0, 30),
                           st.integers(0, 30)), min_size=1, max_size=25)


@st.composite
def programs(draw):
    leaves = draw(st.lists(shapes, min_size=1, max_size=4))
    return leaves, draw(steps), draw(st.lists(st.integers(0, 60), min_size=1, max_size=3))


def build(program):
    """The program on the tape and on Tensors."""
    leaves, calls, roots = program
    rng = np.random.default_rng(0)
    tape, tensors = Tape(), []
    for shape in leaves:
        value = rng.uniform(-1, 1, shape)
        tape.leaf(value)
        tensors.append(paddle.to_tensor(value, stop_gradient=False))
    for name, i, j in calls:
        args = [i % len(tensors), j % len(tensors)][:2 if name in TWO else 1]
        try:
            tape.call(name, *args)
        except ValueError:                          # these shapes do not broadcast
            continue
        tensors.append(OURS[name](*[tensors[a] for a in args]))
    return tape, tensors, [r % len(tensors) for r in roots]


@settings(max_examples=150)
@given(programs())
def test_forward_and_backward_agree_with_the_tape(program):
    tape, tensors, roots = build(program)
    for t, v in zip(tensors, tape.values, strict=True):
        np.testing.assert_allclose(t.numpy(), v, rtol=1e-12, atol=1e-12)
    expected = tape.gradients(roots)
    paddle.autograd.backward([tensors[r] for r in roots])
    for i in range(len(program[0])):
        got = tensors[i].grad
        got = np.zeros(tensors[i].shape) if got is None else got.numpy()
        np.testing.assert_allclose(got, expected[i], rtol=1e-10, atol=1e-10)


@settings(max_examples=100)
@given(programs())
def test_grad_of_every_value_agrees_with_the_tape(program):
    """Also results in the middle, and under create_graph."""
    tape, tensors, roots = build(program)
    expected = tape.gradients(roots)
    for recorded in (False, True):
        found = paddle.grad([tensors[r] for r in roots], tensors, create_graph=recorded,
                            allow_unused=True)
        for g, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.zeros(e.shape) if g is None else g.numpy(), e,
                                       rtol=1e-10, atol=1e-10)


@settings(max_examples=40)
@given(programs())
def test_second_order_agrees_with_differences(program):
    """d/dx <grad, u> along u against differences of the tape's gradients."""
    tape, tensors, roots = build(program)
    count = len(program[0])
    leaves = tensors[:count]
    rng = np.random.default_rng(1)
    us = [rng.uniform(-1, 1, t.shape) for t in leaves]

    def slope(step):
        moved, _ = Tape(), None
        for k, u in enumerate(us):
            moved.leaf(tape.values[k] + step * u)
        for name, i, j in program[1]:
            n = len(moved.values)
            args = [i % n, j % n][:2 if name in TWO else 1]
            try:
                moved.call(name, *args)
            except ValueError:
                continue
        return sum(float((g * u).sum()) for g, u in zip(moved.gradients(roots), us))
    found = paddle.grad([tensors[r] for r in roots], leaves, create_graph=True, allow_unused=True)
    live = [(g * paddle.to_tensor(u)).sum() for g, u in zip(found, us) if g is not None]
    live = [t for t in live if not t.stop_gradient]
    second = paddle.grad(live, leaves, allow_unused=True) if live else [None] * count
    got = sum(float((h.numpy() * u).sum()) for h, u in zip(second, us) if h is not None)
    h = 1e-4
    near, far = (slope(h) - slope(-h)) / (2 * h), (slope(2 * h) - slope(-2 * h)) / (4 * h)
    expected = (4 * near - far) / 3
    assert got == pytest.approx(expected, rel=1e-5, abs=1e-5 + 1e-9 * abs(near) + abs(near - far))


@settings(max_examples=50)
@given(programs(), st.integers(0, 30))
def test_backward_in_two_parts_is_backward(program, cut):
    """The chain rule: through a value in the middle, by hand."""
    tape, tensors, roots = build(program)
    middle = tensors[cut % len(tensors)]
    whole = paddle.grad([tensors[r] for r in roots], tensors[0], allow_unused=True)[0]
    upper, direct = paddle.grad([tensors[r] for r in roots], [middle, tensors[0]],
                                no_grad_vars=None, allow_unused=True)
    if middle is tensors[0] or upper is None:
        return
    around = paddle.grad([tensors[r] for r in roots], tensors[0], no_grad_vars=[middle],
                         allow_unused=True)[0]
    through = paddle.grad(middle, tensors[0], upper, allow_unused=True)[0]
    total = sum(g.numpy() for g in (around, through) if g is not None)
    expected = 0.0 if whole is None else whole.numpy()
    np.testing.assert_allclose(total + np.zeros(tensors[0].shape),
                               expected + np.zeros(tensors[0].shape), rtol=1e-9, atol=1e-9)
