"""Views, in-place writes, and the versions that keep a gradient from being silently wrong."""
from __future__ import annotations

import numpy as np
import pytest

import minipaddle as paddle


def leaf(value, dtype="float64"):
    return paddle.to_tensor(value, dtype, stop_gradient=False)


def data(value, dtype="float64"):
    return paddle.to_tensor(value, dtype)


VIEWS = {
    "slice": lambda x: x[1:], "row": lambda x: x[0], "negative step": lambda x: x[::-1],
    "reshape": lambda x: x.reshape([-1]), "transpose": lambda x: x.transpose([1, 0]),
    "T": lambda x: x.T, "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1), "flatten": lambda x: x.flatten(),
    "detach": lambda x: x.detach(), "view of a view": lambda x: x[0][1:],
}
COPIES = {
    "clone": lambda x: x.clone(), "to_tensor": lambda x: paddle.to_tensor(x),
    "astype": lambda x: x.astype("float32"), "list index": lambda x: x[[0, 1]],
    "plus zero": lambda x: x + 0,
}


# ---- who shares memory
@pytest.mark.parametrize("name", VIEWS)
def test_writing_to_a_view_changes_its_base(name):
    x = data(np.arange(6.0).reshape(2, 3))
    view = VIEWS[name](x)
    view.fill_(-1.0) if hasattr(view, "fill_") else view.set_value(np.full(view.shape, -1.0))
    changed = int((x.numpy() == -1.0).sum())
    assert changed == view.size > 0


@pytest.mark.parametrize("name", VIEWS)
def test_writing_to_the_base_changes_its_view(name):
    x = data(np.arange(6.0).reshape(2, 3))
    view = VIEWS[name](x)
    before = view.numpy()
    x.add_(data(10.0))
    np.testing.assert_array_equal(view.numpy(), before + 10.0)


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_copies(name):
    x = data(np.arange(6.0).reshape(2, 3))
    before, copy = x.numpy(), COPIES[name](x)
    copy.set_value(np.full(copy.shape, -1.0))
    np.testing.assert_array_equal(x.numpy(), before)


def test_numpy_and_from_numpy_copy():
    source = np.ones(3)
    x = paddle.to_tensor(source)
    source[0] = 5.0
    x.numpy()[1] = 7.0
    assert x.tolist() == [1.0, 1.0, 1.0]


# ---- plain writes
def test_in_place_arithmetic_keeps_the_object_and_the_dtype():
    x = data([1.0, 2.0], "float32")
    held = x
    assert x.add_(data([1.0, 1.0])) is held         # a wider operand does not widen x
    assert x.dtype == paddle.float32 and x.tolist() == [2.0, 3.0]
    x[0] = 9.0
    x[1:] = data([8.0], "float32")
    assert held.tolist() == [9.0, 8.0]


def test_a_result_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"add_: the result has shape \[2, 2\], x has \[2\]"):
        data([1.0, 2.0]).add_(data([[1.0, 2.0], [3.0, 4.0]]))


def test_set_value_checks_the_shape_and_keeps_the_dtype():
    x = paddle.create_parameter([2], "float32")
    x.set_value(np.array([1.0, 2.0]))
    assert x.dtype == paddle.float32 and x.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"set_value: .* has shape \[2\], the value has \[3\]"):
        x.set_value(np.ones(3))


# ---- gradients through writes
def test_gradient_flows_through_an_in_place_result():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.add_(x)
    y.multiply_(data([10.0, 10.0]))
    y.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_setitem_gives_the_value_its_gradient_and_zero_where_overwritten():
    x, v = leaf([1.0, 2.0, 3.0]), leaf([7.0])
    y = x * 2.0
    y[1:2] = v
    (y * data([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 200.0] and v.grad.tolist() == [10.0]


def test_setitem_on_data_with_a_value_that_wants_gradients():
    buffer, v = data([0.0, 0.0, 0.0]), leaf([4.0, 5.0])
    buffer[:2] = v
    assert not buffer.stop_gradient
    (buffer * buffer).sum().backward()
    assert v.grad.tolist() == [8.0, 10.0]


def test_a_mask_and_an_index_list_write_too():
    x = leaf([1.0, -2.0, 3.0])
    y = x * 1.0
    y[y < 0] = 0.0
    y[[0]] = data([5.0])
    y.sum().backward()
    assert y.tolist() == [5.0, 0.0, 3.0] and x.grad.tolist() == [0.0, 0.0, 1.0]


def test_the_base_used_after_its_view_was_written():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2.0
    y[0:2].multiply_(data([10.0, 10.0]))
    assert y.tolist() == [20.0, 40.0, 6.0]          # the values are there,
    with pytest.raises(RuntimeError, match="shares memory with one written in place"):
        y.sum().backward()                          # a wrong gradient is not given


def test_a_view_used_after_its_base_was_written():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2.0
    view = y[0:2]
    y.multiply_(data([10.0, 10.0, 10.0]))
    assert view.tolist() == [20.0, 40.0]
    with pytest.raises(RuntimeError, match="Take the view again after the write"):
        view.sum().backward()
    assert y[0:2].tolist() == [20.0, 40.0]


def test_a_view_taken_after_the_write_is_right():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2.0
    y.multiply_(data([10.0, 10.0, 10.0]))
    y[0:2].sum().backward()
    assert x.grad.tolist() == [20.0, 20.0, 0.0]


# ---- leaves
@pytest.mark.parametrize("write", [
    lambda x: x.add_(data([1.0, 1.0])), lambda x: x.__setitem__(0, 5.0),
    lambda x: x[0:1].multiply_(data([2.0])), lambda x: x.reshape([2, 1]).add_(data(1.0))])
def test_a_leaf_that_needs_gradients_is_not_written(write):
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"leaf that needs gradients.*no_grad\(\).*clone\(\)"):
        write(x)
    assert x.tolist() == [1.0, 2.0] and x.is_leaf and not x.stop_gradient


def test_a_leaf_is_written_under_no_grad_and_stays_a_leaf():
    x = leaf([1.0, 2.0])
    with paddle.no_grad():
        x.add_(data([1.0, 1.0]))
        x[0] = 5.0
        x[1:].multiply_(data([2.0]))
    assert x.tolist() == [5.0, 6.0] and x.is_leaf and not x.stop_gradient
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 12.0]


def test_data_may_be_written_at_any_time():
    x = data([1.0, 2.0])
    x.add_(x)
    x[0] = x[1]
    assert x.tolist() == [4.0, 4.0] and x.stop_gradient


# ---- versions
USES = {
    "square": lambda y, x: y * y, "kept input": lambda y, x: paddle.exp(x) * y,
    "kept result": lambda y, x: paddle.tanh(y), "matmul": lambda y, x: y @ x,
}


@pytest.mark.parametrize("name", ["square", "kept input", "matmul"])
@pytest.mark.parametrize("write", [
    lambda y: y.add_(data(1.0)), lambda y: y.__setitem__(0, 5.0),
    lambda y: y.set_value(np.zeros(2)), lambda y: y.detach().add_(data(1.0)),
    lambda y: y[0:1].add_(data(1.0)),
], ids=["add_", "setitem", "set_value", "detached", "view"])
def test_a_kept_input_written_later_is_refused(name, write):
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = USES[name](y, x).sum()
    with paddle.no_grad():
        write(y)
    with pytest.raises(RuntimeError) as caught:
        z.backward()
    text = str(caught.value)
    op = {"square": "multiply", "kept input": "multiply", "matmul": "matmul"}[name]
    assert text.startswith(f"{op}: ") and "was modified in place at " in text
    assert "test_core_inplace.py" in text and "version mismatch" in text and "clone()" in text


def test_a_kept_result_written_later_is_refused():
    x = leaf([1.0, 2.0])
    y = paddle.exp(x)
    with paddle.no_grad():
        y.add_(data(1.0))
    with pytest.raises(RuntimeError, match="exp: its result was modified in place"):
        y.sum().backward()


def test_a_recorded_write_into_a_kept_result_is_refused():
    x = leaf([1.0, 2.0])
    y = paddle.exp(x)
    y.multiply_(data([2.0, 2.0]))
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert "exp: its result was modified in place" in str(error)
    else:                                           # or it kept the old result: then it is right
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]))


def test_a_write_into_what_nobody_kept_is_fine():
    x = leaf([1.0, 2.0])
    y = x + 1.0                                     # keeps neither input nor result
    with paddle.no_grad():
        y.add_(data(5.0))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_write_before_the_use_is_fine():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    with paddle.no_grad():
        y.add_(data(5.0))
    (y * y).sum().backward()
    assert x.grad.tolist() == [12.0, 14.0]


def test_a_leaf_written_between_use_and_backward_is_refused():
    w = leaf([1.0, 2.0])
    loss = (w * w).sum()
    with paddle.no_grad():
        w.add_(data(1.0))
    with pytest.raises(RuntimeError, match="version mismatch"):
        loss.backward()


def test_versions_hold_under_create_graph():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = (y * y).sum()
    with paddle.no_grad():
        y.add_(data(1.0))
    with pytest.raises(RuntimeError, match="version mismatch"):
        paddle.grad(z, x, create_graph=True)


def test_reshape_in_place_keeps_values_and_gradient():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 2.0
    assert y.reshape_([4]) is y and y.shape == [4]
    (y * data([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_many_views_do_not_pile_up():
    x = data(np.zeros((4, 4)))
    for _ in range(1000):
        x[0]
    assert len(x._storage.sharers) < 300


def test_detach_and_detach_inplace():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    d = y.detach()
    assert d.stop_gradient and d.is_leaf and not y.stop_gradient
    y.detach_()
    assert y.stop_gradient and y.is_leaf
    (y * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_reshape_that_must_copy_leaves_the_shared_memory():
    x = data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x.T
    y.reshape_([6])
    assert y.tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    y.add_(data(10.0))
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x.add_(leaf(1.0))                               # recorded: nothing to do with y any more
    assert y.stop_gradient and y.is_leaf
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    z = (w * 1.0).T
    kept = z * z
    z.reshape_([4])
    (z * data([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert w.grad.tolist() == [[1.0, 100.0], [10.0, 1000.0]]
    with pytest.raises(RuntimeError, match="version mismatch"):
        kept.sum().backward()
