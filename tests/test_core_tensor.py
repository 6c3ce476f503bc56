"""The tensor as an object: making, reading, numbers, iteration, copies, pickles, printing."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle.core import Parameter, Tensor


# ---- making
@pytest.mark.parametrize("data, dtype, shape", [
    (1.5, "float32", []), (3, "int64", []), (True, "bool", []), (1j, "complex64", []),
    ([1, 2.5], "float32", [2]), ([], "float32", [0]), ([[1], [2]], "int64", [2, 1]),
    (np.ones(2), "float64", [2]), (np.float32(1), "float32", []), (range(3), "int64", [3]),
    (np.arange(3, dtype="int8"), "int8", [3]), ([True, False], "bool", [2]),
    ((1, (2)), "int64", [2]), ([np.float64(1.5)], "float32", [1])])
def test_to_tensor(data, dtype, shape):
    t = paddle.to_tensor(data)
    assert (t.dtype.name, t.shape) == (dtype, shape) and t.stop_gradient


def test_to_tensor_of_tensors():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.to_tensor(x)
    y.set_value([5.0, 6.0])
    assert x.tolist() == [1.0, 2.0] and y.stop_gradient
    assert paddle.to_tensor([x[0], x[1], 3.0]).tolist() == [1.0, 2.0, 3.0]
    assert paddle.to_tensor(x, dtype="int32").dtype == paddle.int32


@pytest.mark.host_only("NumPy's strides are looked at")
def test_to_tensor_makes_contiguous_copies():
    a = np.arange(6.0).reshape(2, 3).T
    t = paddle.to_tensor(a)
    assert t._data.flags.c_contiguous and t.tolist() == a.tolist()
    assert paddle.to_tensor(np.float64(2)).shape == []


# ---- reading
def test_shape_is_a_list_that_can_be_added_to():
    x = paddle.ones([2, 3])
    assert x.shape == [2, 3] and x.shape + [1] == [2, 3, 1]
    x.shape.append(5)
    assert x.shape == [2, 3] and (x.ndim, x.size, len(x)) == (2, 6, 2)
    assert paddle.to_tensor(1.0).shape == []


def test_numbers():
    one = paddle.to_tensor([[2.5]])
    assert (float(one), int(one), complex(one), bool(one), one.item()) == (2.5, 2, 2.5, True, 2.5)
    x = paddle.to_tensor([[1, 2], [3, 4]])
    assert x.item(3) == 4 and x.item(1, 0) == 3
    assert [10, 20, 30][paddle.to_tensor(1)] == 20
    assert list(range(paddle.to_tensor(3))) == [0, 1, 2]
    assert f"{one:.1f}" == "2.5" and f"{paddle.to_tensor(3):d}" == "3"


@pytest.mark.parametrize("call, error, words", [
    (lambda x: bool(x), ValueError, r"truth value of a tensor of 2 elements.*any\(\) or .all"),
    (lambda x: x.item(), ValueError, r"shape \[2\]"),
    (lambda x: float(x), TypeError, r"float: only a tensor of one element.*\[2\]"),
    (lambda x: len(x[0]), TypeError, r"len\(\) of a 0-d tensor"),
    (lambda x: list(x[0]), TypeError, "iteration over a 0-d tensor"),
    (lambda x: [1][x[0]], TypeError, "float32 tensor cannot be used as an index"),
    (lambda x: bool(x[:0]), ValueError, "0 elements")])
def test_what_is_no_number_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(paddle.to_tensor([1.0, 2.0]))


def test_iteration_unpacks_and_is_differentiable():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    a, b = x
    (a * 2 + b * 3).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [3.0, 3.0]]
    assert [t.tolist() for t in x] == [[1.0, 2.0], [3.0, 4.0]]


def test_tensors_hash_by_identity():
    x, y = paddle.to_tensor([1.0]), paddle.to_tensor([1.0])
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1
    assert (x == y).tolist() == [True]


def test_numpy_reads_tensors():
    x = paddle.to_tensor([1.0, 4.0])
    np.testing.assert_array_equal(np.asarray(x), [1.0, 4.0])
    assert np.asarray(x, dtype="int64").dtype == np.int64
    np.testing.assert_allclose(np.sqrt(x), [1.0, 2.0])
    np.testing.assert_array_equal(np.stack([x, x]), [[1.0, 4.0], [1.0, 4.0]])


def test_grad_can_be_set():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x.grad = paddle.to_tensor([3.0, 4.0])
    assert x.gradient().tolist() == [3.0, 4.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(ValueError, match=r"gradient of shape \[3\].*shape \[2\]"):
        x.grad = paddle.ones([3])


# ---- names
def test_names_are_counted_by_kind():
    a, b = paddle.to_tensor(1.0).name, paddle.to_tensor(1.0).name
    assert a.startswith("generated_tensor_") and int(b.split("_")[-1]) == int(a.split("_")[-1]) + 1
    x = paddle.to_tensor(1.0)
    assert x.name == x.name
    x.name = "mine"
    assert x.name == "mine"


# ---- copies and pickles
def test_deepcopy_of_a_leaf():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    y.set_value([9.0, 9.0])
    y.grad._data[...] = 0.0
    assert x.tolist() == [1.0, 2.0] and x.grad.tolist() == [2.0, 4.0]
    assert not y.stop_gradient and y.is_leaf


def test_deepcopy_of_a_parameter_keeps_its_class_and_gets_a_name():
    w = paddle.create_parameter([2], "float32")
    v = copy.deepcopy(w)
    assert type(v) is Parameter and v.name.startswith(w.name + "_deepcopy_")
    assert v.optimize_attr == w.optimize_attr and v.optimize_attr is not w.optimize_attr


def test_deepcopy_keeps_shared_tensors_shared():
    x = paddle.to_tensor([1.0])
    a, b = copy.deepcopy([x, x])
    assert a is b and a is not x


def test_deepcopy_of_a_result_is_refused():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match=r"only leaf tensors.*clone\(\) or detach\(\)"):
        copy.deepcopy(x * 2)


def test_shallow_copy_shares_memory():
    x = paddle.to_tensor([1.0])
    copy.copy(x).set_value([5.0])
    assert x.tolist() == [5.0]


@pytest.mark.parametrize("make", [
    lambda: paddle.to_tensor([1.0, 2.0]), lambda: paddle.to_tensor(3),
    lambda: paddle.to_tensor([1.0], stop_gradient=False),
    lambda: paddle.create_parameter([2, 3], "float32")])
def test_pickle(make):
    x = make()
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is type(x) and y.tolist() == x.tolist() and y.dtype == x.dtype
    assert y.stop_gradient == x.stop_gradient and y.place == x.place
    buffer = io.BytesIO()
    pickle.dump({"x": x}, buffer, protocol=4)


def test_clone_is_part_of_the_graph():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    y = x.clone()
    (y * 3.0).backward()
    assert x.grad.tolist() == [3.0] and y is not x


# ---- printing
def test_repr(device):
    place = "cpu" if device == "cpu" else "gpu:0"
    assert repr(paddle.to_tensor([1.0, 2.0, 3.0])) == (
        f"Tensor(shape=[3], dtype=float32, place=Place({place}), stop_gradient=True,\n"
        "       [1., 2., 3.])")
    text = repr(paddle.to_tensor([[1, 2], [3, 4]], stop_gradient=False))
    assert text.endswith("stop_gradient=False,\n       [[1, 2],\n        [3, 4]])")
    assert repr(paddle.to_tensor(2.5)).endswith(",\n       2.5)")
    assert repr(paddle.to_tensor([True])).endswith("[True])") or "[ True]" in \
        repr(paddle.to_tensor([True]))
    w = paddle.create_parameter([1], "float32")
    assert repr(w).startswith("Parameter containing:\nTensor(shape=[1], dtype=float32")
    assert str(w) == repr(w)


def test_long_tensors_are_shortened():
    text = repr(paddle.zeros([2000]))
    assert "..." in text and len(text) < 300


def test_a_tensor_takes_no_unknown_attribute_quietly():
    with pytest.raises(AttributeError, match="no attribute 'shap'"):
        paddle.to_tensor(1.0).shap


def test_subclasses_of_tensor_are_tensors():
    assert issubclass(Parameter, Tensor)
    assert isinstance(paddle.create_parameter([1], "float32"), paddle.Tensor)
