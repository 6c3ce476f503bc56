"""Memory: graphs die by reference counts alone, backward frees as it walks, nothing piles up."""
from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle.autograd import PyLayer

host_only = pytest.mark.host_only("tracemalloc and weak references watch NumPy's arrays")
pytestmark = host_only


@pytest.fixture
def no_gc():
    """The garbage collector off: what is freed is freed by reference counts."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*shape):
    return paddle.to_tensor(np.ones(shape, "float32"), stop_gradient=False)


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensor()[0] * 2.0


def kept_result(x):
    return paddle.tanh(paddle.exp(x))


def several_results(x):
    a, b = paddle.split(x, 2)
    return a * b


def written(x):
    y = x * 2.0
    y[0] = 1.0
    y.add_(x)
    return y * y


def viewed(x):
    y = x * 2.0
    return y[1:].reshape([-1]) * 3.0 + y.T.sum()


def hooked(x):
    y = x * 2.0
    y.register_hook(lambda g: g * 2.0)
    y.retain_grads()
    return y * y


def second_order(x):
    (g,) = paddle.grad((x * x * x).sum(), x, create_graph=True)
    return g * g


def fused(x):
    return paddle.nn.functional.softmax(x) * paddle.nn.functional.gelu(x)


def layer(x):
    return Square.apply(x * 2.0)


GRAPHS = [kept_result, several_results, written, viewed, hooked, second_order, fused, layer]


# ---- by reference counts alone
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("walk", [True, False], ids=["after backward", "never walked"])
def test_a_graph_dies_by_reference_counts(graph, walk, no_gc):
    x = leaf(4, 4)
    out = graph(x).sum()
    alive = [weakref.ref(out._data), weakref.ref(out._node)]
    edge = out._node.edges[0]
    alive += [weakref.ref(edge)] if not isinstance(edge, paddle.Tensor) else []
    if walk:
        out.backward()
    del out, edge
    assert [r() for r in alive] == [None] * len(alive)
    assert gc.collect() == 0 or not any(isinstance(o, paddle.Tensor) for o in gc.garbage)


@pytest.mark.parametrize("graph", GRAPHS)
def test_no_cycles_are_left_behind(graph, no_gc):
    """What the collector finds after a step holds no tensor and no node."""
    x = leaf(4, 4)
    graph(x).sum().backward()                       # caches are filled now
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        graph(x).sum().backward()
        graph(x)
        gc.collect()
        found = [type(o).__name__ for o in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not {"Tensor", "Node", "Pick", "Constant", "Storage", "ndarray"} & set(found), found


@pytest.mark.parametrize("graph", GRAPHS)
def test_memory_returns_to_its_baseline(graph, no_gc):
    x = leaf(200, 200)                              # 160 kB an array

    def step():
        graph(x).sum().backward()
        x.clear_grad(set_to_zero=False)
    for _ in range(3):
        step()
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        step()
    grown = tracemalloc.get_traced_memory()[0] - base
    tracemalloc.stop()
    assert grown < 20_000, f"{grown} bytes more after 20 steps"


def test_backward_frees_as_it_walks(no_gc):
    """The peak of a backward is a few arrays, not one for every step of the chain."""
    x = leaf(500, 500)                              # 1 MB
    y = x
    for _ in range(30):
        y = paddle.tanh(y)
    out = y.sum()
    del y
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    out.backward()
    peak = tracemalloc.get_traced_memory()[1] - base
    tracemalloc.stop()
    assert peak < 6e6, f"{peak / 1e6:.1f} MB at the peak"


def test_what_the_vjp_does_not_name_is_not_kept(no_gc):
    x = leaf(10)
    a = x * 1.0
    b = a + 1.0                                     # addition needs neither input nor result
    alive = weakref.ref(a._data)
    del a
    assert alive() is None
    b.sum().backward()


def test_nothing_is_kept_without_gradients(no_gc):
    x = paddle.to_tensor(np.ones(10))
    with paddle.no_grad():
        w = leaf(10).astype("float64")
        y = paddle.exp(x * w)
    a = paddle.exp(x)
    assert y._node is None and a._node is None


def test_accumulating_into_a_leaf_does_not_grow(no_gc):
    x = leaf(100, 100)
    tracemalloc.start()
    for _ in range(3):
        (x * 2.0).sum().backward()
    base = tracemalloc.get_traced_memory()[0]
    for _ in range(50):
        (x * 2.0).sum().backward()
    grown = tracemalloc.get_traced_memory()[0] - base
    tracemalloc.stop()
    assert grown < 20_000


def test_names_scalars_and_views_do_not_pile_up(no_gc):
    x = leaf(10)
    for i in range(200):
        (x * float(i + 3)).sum()
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    for i in range(10_000):
        (x * float(i) + 1.0)[0]
    grown = tracemalloc.get_traced_memory()[0] - base
    tracemalloc.stop()
    # The cache of scalars holds 4096 at most.
    assert grown < 5_000_000, f"{grown} bytes"


def test_failed_calls_and_failed_backwards_leave_nothing(no_gc):
    x = leaf(4, 4)

    def fail():
        y = paddle.exp(x)
        try:
            y @ leaf(5, 5)
        except ValueError:
            pass
        else:
            raise AssertionError("the shapes do not fit")
        with paddle.no_grad():
            y.add_(x)
        try:
            y.sum().backward()
        except RuntimeError:
            pass
        else:
            raise AssertionError("y was written in place")
        return weakref.ref(y._data)
    alive = fail()
    assert alive() is None
