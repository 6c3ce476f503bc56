"""Property-based checks of every registered op, drawn by hypothesis from the ops' own samplers.

Adding an op with `samples=` is all it takes to be checked here: first and second order against
central differences in float64, the two worlds of its vjp against each other, a fused kernel
against its composite, single gradients against all at once.
"""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minipaddle as paddle
from minipaddle import checks
from minipaddle.core import Tensor, ops, registry, to_tensor
from minipaddle.samples import Draw

EXAMPLES = 12

# Differentiable ops that cannot be drawn, and why.
UNDRAWN = {
    "to_place": "moves a tensor between devices; tests/test_strict.py differentiates through it",
}

OURS = {name: record for name, record in registry.items()
        if record.forward.__module__.startswith("minipaddle.")}
DRAWN = sorted(name for name, record in OURS.items()
               if checks.is_differentiable(record) and record.samples is not None)
FUSED = [name for name in DRAWN if OURS[name].kernel_vjp is not None]


class Hypothesis(Draw):
    """The samplers' `Draw` with hypothesis choosing: it prefers small and odd cases, and shrinks
    a failure to the smallest one."""

    def __init__(self, data) -> None:
        self._data, self._arrays = data, 0

    def integer(self, low, high):
        return self._data.draw(st.integers(low, high))

    def seed(self):
        self._arrays += 1                           # no two arrays alike, though hypothesis likes 0
        return self._data.draw(st.integers(0, 2 ** 31 - 1)) + (self._arrays << 31)


def each(names, examples=EXAMPLES):
    """Parametrise over ops and draw arguments of each."""
    def decorate(test):
        test = settings(max_examples=examples)(given(st.data())(test))
        return pytest.mark.parametrize("name", names)(test)
    return decorate


def test_every_differentiable_op_is_drawn():
    missing = {name for name, record in OURS.items() if checks.is_differentiable(record)
               and record.samples is None}
    assert missing == set(UNDRAWN), f"give these ops samples=: {sorted(missing - set(UNDRAWN))}"


@each(DRAWN)
def test_first_and_second_order(name, data):
    record = registry[name]
    once = record.vjp is None and record.composite is None
    checks.check_op(record, Hypothesis(data), order=1 if once else 2)


def gradients(problem, recorded, weights, only=None):
    """The gradients of <weights, results>, of all inputs or of one, as NumPy arrays."""
    leaves, outs = problem.run(problem.base)
    if only is not None:
        for i, leaf in enumerate(leaves):
            leaf.stop_gradient = i != only
        args = list(problem.inputs)
        for (i, k), leaf in zip(problem.paths, leaves):
            if k is None:
                args[i] = leaf
            else:
                args[i] = [*args[i][:k], leaf, *args[i][k + 1:]]
        paddle.seed(1)
        outs = checks._results(problem.fn(*args))
        leaves = [leaves[only]]
    pairs = [(t, to_tensor(w)) for t, w in zip(outs, weights) if not t.stop_gradient]
    if not pairs:
        return [np.zeros(t.shape) for t in leaves]
    found = paddle.grad([t for t, _ in pairs], leaves, [w for _, w in pairs],
                        create_graph=recorded, allow_unused=True)
    return [np.zeros(t.shape) if g is None else g.numpy() for t, g in zip(leaves, found)]


def problem_and_weights(name, data):
    call, values, names, _, _ = checks.problem_of(registry[name], Hypothesis(data))
    problem = checks._Problem(call, values, names, name)
    return problem, problem.weights(np.random.default_rng(0))


def assert_same(got, expected, what):
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert a.shape == b.shape, f"{what}: gradient {i}"
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10, err_msg=f"{what}: gradient {i}")


@each([n for n in DRAWN if OURS[n].vjp is not None or OURS[n].composite is not None], 6)
def test_both_worlds_agree(name, data):
    """Backward on arrays, and on Tensors under create_graph: the same gradients."""
    problem, weights = problem_and_weights(name, data)
    assert_same(gradients(problem, True, weights), gradients(problem, False, weights), name)


@each([n for n in DRAWN if len(OURS[n].inputs) > 1], 6)
def test_one_gradient_alone_is_the_same(name, data):
    """An input's gradient does not depend on which others are wanted (`need`)."""
    problem, weights = problem_and_weights(name, data)
    together = gradients(problem, False, weights)
    for i, g in enumerate(together):
        assert_same(gradients(problem, False, weights, only=i), [g], f"{name}, input {i}")


@each(DRAWN, 6)
def test_backward_writes_into_nothing(name, data):
    """Twice through one graph gives the same; inputs, results and weights stay as they were."""
    problem, weights = problem_and_weights(name, data)
    leaves, outs = problem.run(problem.base)
    pairs = [(t, to_tensor(w)) for t, w in zip(outs, weights) if not t.stop_gradient]
    if not pairs:
        return
    results = [t.numpy() for t in outs]
    found = [paddle.grad([t for t, _ in pairs], leaves, [w for _, w in pairs],
                         allow_unused=True) for _ in range(2)]
    for first, second in zip(*found, strict=True):
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(first.numpy(), second.numpy())
    for leaf, before in zip(leaves, problem.base):
        np.testing.assert_array_equal(leaf.numpy(), before)
    for t, before in zip(outs, results):
        np.testing.assert_array_equal(t.numpy(), before)
    for (_, w), before in zip(pairs, [w for t, w in zip(outs, weights) if not t.stop_gradient]):
        np.testing.assert_array_equal(w.numpy(), before)


@each(FUSED)
def test_fused_kernel_is_its_composite(name, data):
    """The fast forward and backward against the definition made of differentiable ops."""
    record = registry[name]
    assert record.composite is not None, f"{name}: a kernel_vjp needs a composite"
    problem, weights = problem_and_weights(name, data)
    leaves, outs = problem.run(problem.base)
    node = next((t._node for t in outs if t._node is not None), None)
    if node is None:
        return
    if node.op is not record:                       # one of several results
        node = node.edges[0]
    if node.op is not record:                       # the function is wrapped around its op
        return
    ins = node.origin if node.origin is not None else node.ins
    again = record.call_composite(ops, list(ins), node.attrs, node.residuals)
    again = [t for t in (again if isinstance(again, (tuple, list)) else [again])
             if isinstance(t, Tensor) and t._data.dtype.kind in "fc"]
    for a, b in zip(again, outs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-10)
    assert_same(gradients(problem, False, weights), gradients(problem, True, weights), name)


@each([n for n in DRAWN if not OURS[n].random and "dtype" not in OURS[n].attrs], 5)
def test_results_and_gradients_stay_arrays_of_their_dtype(name, data):
    """float32 in, float32 out and back; a 0-d result is an array, never a NumPy scalar."""
    call, values, names, _, _ = checks.problem_of(registry[name], Hypothesis(data))
    problem = checks._Problem(call, values, names, name)
    problem.base = [a.astype("complex64" if a.dtype.kind == "c" else "float32")
                    for a in problem.base]
    leaves, outs = problem.run(problem.base)
    for t in outs:
        assert isinstance(t._data, type(leaves[0]._data)), f"{type(t._data)} is no array"
        assert t._data.dtype in (np.float32, np.complex64)
    alive = [t for t in outs if not t.stop_gradient]
    if alive:
        for leaf, g in zip(leaves, paddle.grad(alive, leaves, allow_unused=True)):
            if g is not None:
                assert isinstance(g._data, type(leaf._data))
                assert (g.dtype, g.shape) == (leaf.dtype, leaf.shape)
