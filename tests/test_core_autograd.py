"""Backward and grad: what they give, to whom, in what order, and what they leave alone."""
from __future__ import annotations

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import core


def leaf(value, dtype="float64"):
    return paddle.to_tensor(value, dtype, stop_gradient=False)


# ---- leaves, results, stop_gradient
def test_stop_gradient_defaults():
    x, w = paddle.to_tensor([1.0]), paddle.create_parameter([1], "float32")
    assert x.stop_gradient and not w.stop_gradient
    assert (x * 2).stop_gradient and not (x * w).stop_gradient
    w.trainable = False
    assert w.stop_gradient and (x * w).stop_gradient


def test_only_leaves_own_a_gradient():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    z = (y * y).sum()
    z.backward()
    assert x.grad.tolist() == [18.0, 36.0] and y.grad is None and z.grad is None
    assert x.is_leaf and not y.is_leaf and paddle.to_tensor(1.0).is_leaf


def test_retain_grads_keeps_a_results_gradient():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.retain_grads()
    (y * y).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [6.0, 12.0]
    x.retain_grads()                                # a leaf keeps its own already
    (y * y).sum().backward()
    assert x.grad.tolist() == [36.0, 72.0]


def test_gradients_accumulate_and_are_cleared():
    x = leaf([1.0])
    for expected in (2.0, 4.0):
        (x * 2.0).backward()
        assert x.grad.tolist() == [expected] and x.gradient().tolist() == [expected]
    x.clear_grad()
    assert x.grad.tolist() == [0.0]
    (x * 2.0).backward()
    assert x.grad.tolist() == [2.0]
    x.clear_grad(set_to_zero=False)
    assert x.grad is None and x.gradient() is None
    x.clear_gradient()
    assert x.grad is None                           # there was nothing to make zero


def test_backward_of_many_entries_starts_from_ones_or_from_weights():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (x * x).backward()
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    x.clear_grad()
    (x * x).backward(paddle.to_tensor([[1.0, 0.0], [0.0, -1.0]], "float64"))
    assert x.grad.tolist() == [[2.0, 0.0], [0.0, -8.0]]


def test_backward_without_gradients_does_nothing():
    x = paddle.to_tensor([1.0])
    (x * 2).backward()
    x.backward()
    assert x.grad is None


def test_backward_from_a_leaf():
    x = leaf([1.0, 2.0])
    x.backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("f", [lambda x: x + x, lambda x: x * x, lambda x: paddle.tanh(x)])
def test_a_graph_is_walked_once(f):
    x = leaf([1.0])
    y = f(x)
    y.backward()
    with pytest.raises(RuntimeError, match="graph was freed by an earlier backward.*retain_graph"):
        y.backward()
    first = x.grad.tolist()
    z = f(x)
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [3 * first[0]]
    with pytest.raises(RuntimeError, match="freed"):
        z.backward()


def test_a_shared_part_that_was_freed_is_named():
    x = leaf([1.0])
    shared = paddle.exp(x)
    a, b = shared * 2.0, shared * 3.0
    a.backward()
    with pytest.raises(RuntimeError, match="exp: the graph was freed"):
        b.backward()


def test_integer_tensors_may_want_gradients():
    x = paddle.to_tensor([1, 2], stop_gradient=False)
    (x * x).sum().backward()
    assert x.grad.dtype == paddle.int64 and x.grad.tolist() == [2, 4]


# ---- shapes of graphs
def test_the_same_tensor_twice_in_one_call():
    x = leaf([3.0])
    for f, expected in ((lambda: x * x, 6.0), (lambda: x + x, 2.0), (lambda: x - x, 0.0),
                        (lambda: paddle.add_n([x, x, x]), 3.0),
                        (lambda: paddle.concat([x, x]), 2.0), (lambda: x / x, 0.0)):
        assert paddle.grad(f(), x)[0].tolist() == [expected]


def test_diamonds():
    x = leaf(2.0)
    y = x
    for _ in range(40):                             # 2^40 paths, 40 nodes
        y = y * 0.5 + y * 0.5
    y.backward()
    assert float(x.grad) == 1.0


def test_a_result_used_after_its_user():
    x = leaf(2.0)
    a = x * 3.0
    b = a * a
    c = a * b + b
    c.backward()
    assert float(x.grad) == 3 * (3 * 36 + 2 * 6)


def test_several_results_some_unused():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = paddle.unbind(x)
    (second * second).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [6.0, 8.0]]
    x.clear_grad()
    first, second = paddle.unbind(x)
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]
    values, indices = paddle.topk(x, 1)
    assert indices.stop_gradient and indices.dtype == paddle.int64
    values.sum().backward()
    assert x.grad.tolist() == [[3.0, 5.0], [1.0, 3.0]]


def test_deep_chain_runs_backward_and_dies_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y + 1e-5
    y.backward()
    assert float(x.grad) == 1.0
    y = x * 1.0
    for _ in range(50_000):
        y = paddle.tanh(y) * 1.0
    del y                                           # never walked: freed all the same


def test_constants_cost_no_gradient():
    x, c = leaf([1.0]), paddle.to_tensor([5.0], "float64")
    (x * c).backward()
    assert c.grad is None and x.grad.tolist() == [5.0]


# ---- paddle.grad
def test_grad_gives_a_list_and_leaves_grad_alone():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    result = paddle.grad(x * y, [x, y])
    assert isinstance(result, list) and [g.tolist() for g in result] == [[3.0, 4.0], [1.0, 2.0]]
    assert x.grad is None and y.grad is None and result[0].stop_gradient
    assert paddle.grad(x * y, x)[0].tolist() == [3.0, 4.0]


def test_grad_twice_over_one_graph():
    x = leaf(3.0)
    y = x * x * x
    assert [float(paddle.grad(y, x)[0]) for _ in range(2)] == [27.0, 27.0]
    paddle.grad(y, x, retain_graph=False)
    with pytest.raises(RuntimeError, match="freed"):
        paddle.grad(y, x)


def test_grad_of_a_result_in_the_middle():
    x = leaf(2.0)
    a = x * x
    b = a * 3.0
    assert float(paddle.grad(b, a)[0]) == 3.0
    assert [float(g) for g in paddle.grad(b, [a, x])] == [3.0, 12.0]
    assert float(paddle.grad(b, b)[0]) == 1.0


def test_grad_with_weights_and_several_outputs():
    x = leaf([1.0, 2.0])
    w = paddle.to_tensor([2.0, 0.5], "float64")
    assert paddle.grad(x * x, x, grad_outputs=w)[0].tolist() == [4.0, 2.0]
    assert paddle.grad([x * x, x * 3.0], x, [w, None])[0].tolist() == [7.0, 5.0]
    assert paddle.grad([x, x], x)[0].tolist() == [2.0, 2.0]


def test_grad_of_what_is_not_reached():
    x, z = leaf([1.0]), leaf([1.0])
    with pytest.raises(ValueError, match=r"inputs\[1\] \[1\] does not appear.*allow_unused=True"):
        paddle.grad(x * 2.0, [x, z])
    found = paddle.grad(x * 2.0, [x, z], allow_unused=True)
    assert found[0].tolist() == [2.0] and found[1] is None
    constant = paddle.to_tensor([1.0])
    assert paddle.grad(x * constant.astype("float64"), [constant], allow_unused=True) == [None]


def test_no_grad_vars_are_constants():
    x = leaf(2.0)
    a = x * x
    y = a * x
    assert float(paddle.grad(y, x)[0]) == 12.0
    assert float(paddle.grad(y, x, no_grad_vars=[a])[0]) == 4.0
    z = leaf(3.0)
    assert float(paddle.grad(x * z, x, no_grad_vars=z)[0]) == 3.0


def test_backward_of_several_tensors_at_once():
    x = leaf([1.0, 2.0])
    shared = x * x
    paddle.autograd.backward([shared, shared * 3.0], [None, paddle.to_tensor([1.0, 0.0],
                                                                             "float64")])
    assert x.grad.tolist() == [8.0, 4.0]


# ---- higher orders
def test_third_order():
    x = leaf([0.5, 1.5])
    g = paddle.sin(x)
    for expected in (np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin):
        (g,) = paddle.grad(g, x, create_graph=True)
        np.testing.assert_allclose(g.numpy(), expected(np.array([0.5, 1.5])), rtol=1e-12)


def test_create_graph_then_backward():
    x, w = leaf(2.0), leaf(3.0)
    (g,) = paddle.grad(x * x * w, x, create_graph=True)
    assert not g.stop_gradient
    (g * g).backward()                              # a gradient penalty
    assert (float(x.grad), float(w.grad)) == (144.0, 96.0)


def test_gradient_with_respect_to_the_weights_of_a_gradient():
    x, v = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (g,) = paddle.grad(x * x, x, grad_outputs=v, create_graph=True)
    (back,) = paddle.grad(g.sum(), v)
    assert back.tolist() == [2.0, 4.0]


def test_hessian_of_a_small_network():
    w = leaf(np.linspace(-1, 1, 6).reshape(2, 3))
    x = paddle.to_tensor([[0.3, -0.7]], "float64")
    loss = (paddle.tanh(x @ w) ** 2).sum()
    (g,) = paddle.grad(loss, w, create_graph=True)
    rows = [paddle.grad(g.flatten()[i], w)[0].numpy().ravel() for i in range(6)]
    hessian = np.array(rows)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-14)
    assert np.abs(hessian).max() > 0.1


def test_create_graph_under_no_grad_records_the_gradient():
    x = leaf(2.0)
    y = x * x * x
    with paddle.no_grad():
        (g,) = paddle.grad(y, x, create_graph=True)
        (h,) = paddle.grad(g, x)
    assert (float(g), float(h)) == (12.0, 12.0) and h.stop_gradient


# ---- hooks
def test_hooks_run_in_order_see_the_whole_gradient_and_may_replace_it():
    x = leaf([1.0])
    y = x * 2.0
    seen = []
    y.register_hook(lambda g: seen.append(("first", g.tolist())) or g * 10.0)
    y.register_hook(lambda g: seen.append(("second", g.tolist())))
    x.register_hook(lambda g: seen.append(("leaf", g.tolist())))
    (y * 3.0 + y * 4.0).backward()
    assert seen == [("first", [7.0]), ("second", [70.0]), ("leaf", [140.0])]
    assert x.grad.tolist() == [140.0]


def test_hooks_are_removed():
    x = leaf([1.0])
    handle = x.register_hook(lambda g: g * 100.0)
    assert handle.remove() is True and handle.remove() is False
    (x * 2.0).backward()
    assert x.grad.tolist() == [2.0]


def test_hooks_in_grad_and_under_create_graph():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 3.0)
    (g,) = paddle.grad(y * 1.0, x, create_graph=True)
    assert float(g) == 12.0
    assert float(paddle.grad(g, x)[0]) == 6.0


def test_a_hook_sees_tensors_outside_the_graph():
    x = leaf(2.0)
    kinds = []
    x.register_hook(lambda g: kinds.append((type(g), g.stop_gradient)))
    (x * x).backward()
    assert kinds == [(core.Tensor, True)]


def test_a_hook_on_a_constant_is_refused():
    with pytest.raises(RuntimeError, match="register_hook: this tensor has stop_gradient=True"):
        paddle.to_tensor(1.0).register_hook(print)


# ---- arrays are nobody's but theirs
def test_gradients_do_not_alias_each_other_or_the_seed():
    x, y, z = leaf([1.0, 2.0]), leaf([1.0, 2.0]), leaf([[1.0, 2.0]])
    seed = paddle.to_tensor([[1.0, 1.0]], "float64")
    out = x + y + z
    out.backward(seed)
    grads = [x.grad, y.grad, z.grad, seed]
    for t in grads[:3]:
        t._data[...] = 5.0
        assert all((u.numpy() == 1.0).all() for u in grads if u is not t and u is not seed)
        assert seed.tolist() == [[1.0, 1.0]]
        t._data[...] = 1.0


def test_accumulating_does_not_write_into_what_the_user_holds():
    x = leaf([1.0])
    (x * 2.0).backward()
    held = x.grad
    (x * 2.0).backward()
    assert held.tolist() == [2.0] and x.grad.tolist() == [4.0]


def test_the_gradient_of_a_view_is_an_array_of_its_own():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    x.sum().backward()                              # a broadcast, zero-stride gradient inside
    x.grad._data[0, 0] = 9.0
    assert x.grad.tolist() == [[9.0, 1.0], [1.0, 1.0]]


def test_grad_results_can_be_written_one_by_one():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a, b = paddle.grad((x + y).sum(), [x, y])
    a._data[...] = 7.0
    assert b.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("low, high", [("float16", "float32"), ("float32", "float64"),
                                       ("float16", "float64")])
def test_a_gradient_has_the_dtype_of_what_it_belongs_to(low, high):
    x, y = leaf([1.0, 2.0], low), leaf([3.0, 4.0], high)
    z = x * y
    assert z.dtype == core.convert_dtype(high)
    z.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (x.dtype, y.dtype)
    for g, t in zip(paddle.grad((x * y).sum(), [x, y], create_graph=True), (x, y)):
        assert g.dtype == t.dtype


# ---- kinks and ties, as Paddle 2.x has them
@pytest.mark.parametrize("f, expected", [
    (lambda x: paddle.nn.functional.relu(x), 0.0), (lambda x: paddle.abs(x), 0.0),
    (lambda x: paddle.sqrt(x), np.inf), (lambda x: paddle.sign(x), 0.0)])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_gradients_at_zero(f, expected):
    x = leaf([0.0])
    assert paddle.grad(f(x), x)[0].tolist() == [expected]


def test_a_list_of_inputs_may_be_changed_afterwards():
    x, y = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
    parts = [x, x]
    (g,) = paddle.grad(paddle.concat(parts) * paddle.add_n(parts), x, create_graph=True)
    parts.append(y)
    assert g.tolist() == [[8.0, 16.0]]
