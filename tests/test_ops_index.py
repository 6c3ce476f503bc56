"""Indexing, gather and scatter, sorting and searching: values, gradients, sharing, errors."""
from __future__ import annotations

import golden_tensor
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minipaddle as paddle
from minipaddle.autograd import gradcheck
from minipaddle.ops_index import normalise


@pytest.mark.parametrize("line", golden_tensor.lines("index"))
def test_as_real_paddle(line):
    golden_tensor.check("index", line, paddle)


def numbers(*shape, dtype="float32"):
    return paddle.to_tensor(golden_tensor.numbers(*shape, d=dtype))


# ---- NumPy as oracle: any basic index
@st.composite
def basic_indices(draw, shape=(3, 4, 2)):
    index, axis = [], 0
    dots = draw(st.integers(0, 3))
    for k in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["int", "slice", "none"]))
        if k == dots:
            index.append(Ellipsis)
            axis = None
        if kind == "none":
            index.append(None)
            continue
        n = min(shape) if axis is None else shape[axis]
        axis = None if axis is None else axis + 1
        if kind == "int":
            index.append(draw(st.integers(-n, n - 1)))
        else:
            bound = st.none() | st.integers(-6, 6)
            index.append(slice(draw(bound), draw(bound),
                               draw(st.none() | st.integers(-3, 3).filter(bool))))
    return tuple(index)


@given(basic_indices())
def test_any_basic_index(index):
    a = golden_tensor.random(3, 4, 2)
    x = paddle.to_tensor(a, stop_gradient=False)
    y = x[index]
    np.testing.assert_array_equal(y.numpy(), a[index])
    weights = golden_tensor.random(*y.shape, seed=1)
    (y * paddle.to_tensor(weights)).sum().backward()
    expected = np.zeros_like(a)
    expected[index] = weights
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    z = paddle.to_tensor(a)
    z[index] = 5.0
    a[index] = 5.0
    np.testing.assert_array_equal(z.numpy(), a)


@given(st.lists(st.integers(-3, 2), min_size=0, max_size=6))
def test_repeated_entries_add_their_gradients(picks):
    x = paddle.to_tensor(golden_tensor.random(3, 9), stop_gradient=False)
    weights = golden_tensor.random(len(picks), 9, seed=1)
    expected = np.zeros((3, 9))
    np.add.at(expected, np.asarray(picks, "int64"), weights)
    (x[picks] * paddle.to_tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


MIXED = ["[0, 2]", "(slice(None), [1, 1])", "([0, 2], [1, 1])", "([[0], [1]], [1, 3])",
         "(1, slice(None), [0, 1])", "([0, 1], slice(None), [0, 1])", "(None, [2, 0])",
         "(Ellipsis, [1, 0])", "([True, False, True], [1, 3])", "([2, 0], slice(1, 3), None)",
         "([True, False, True],)", "(slice(None), [0, 1], 0)", "(-1, [0, 0], [1, 1])"]


@pytest.mark.parametrize("text", MIXED)
def test_gradients_of_mixed_indices(text):
    index = eval(text)
    x = golden_tensor.random(3, 4, 2)
    assert gradcheck(lambda x: (x * x)[index], [x], order=2)


@pytest.mark.parametrize("text", ["1", "(slice(None), 1)", "[0, 2]", "(slice(None), [0, 1], 0)",
                                  "(1, slice(None), [0, 1])", "([0, 2], [1, 3])", "Ellipsis",
                                  "([True, False, True],)", "(slice(2, 0, -1), slice(1, 3))"])
def test_gradients_of_assignment(text):
    index = eval(text)

    def assign(x, v):
        x, v = x * x, v * v
        x[index] = v
        return x
    x = golden_tensor.random(3, 4, 2)
    full = paddle.to_tensor(x)[index].shape
    for shape in (full, full[-1:], ()):
        assert gradcheck(assign, [x, golden_tensor.random(*shape, seed=1)], order=2)


@pytest.mark.host_only("on a GPU it is undefined which write wins")
def test_of_repeated_writes_the_last_has_the_gradient():
    x = paddle.zeros([3]) * 1.0
    v = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x[[1, 1, 0]] = v
    (x * paddle.to_tensor([5.0, 7.0, 9.0])).sum().backward()
    assert x.tolist() == [3.0, 2.0, 0.0] and v.grad.tolist() == [0.0, 7.0, 5.0]


def test_scatter_last_duplicate_wins_and_has_the_gradient():
    x = paddle.zeros([2, 1])
    u = paddle.to_tensor([[1.0], [2.0], [3.0]], stop_gradient=False)
    y = paddle.scatter(x, paddle.to_tensor([1, 1, 0]), u)
    y.sum().backward()
    assert y.tolist() == [[3.0], [2.0]] and u.grad.tolist() == [[0.0], [1.0], [1.0]]


def test_assignment_on_leaves_and_versions():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 5.0
    with paddle.no_grad():
        x[0] = 5.0
    assert x.tolist() == [5.0, 2.0] and not x.stop_gradient
    y = x * 2.0
    z = y * y                                       # keeps y
    y[0] = 1.0
    with pytest.raises(RuntimeError, match="modified in place"):
        z.sum().backward()


def test_plain_write_is_seen_by_ops_that_kept_the_value():
    x, w = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    y = x * w
    x[0] = 9.0
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


def test_what_may_be_assigned():
    x = numbers(2, 3)
    x[0] = np.array([1, 2, 3])
    x[1] = [4, 5, 6]
    x[:, 0] = True
    x[0, 1] = np.float64(2.5)
    x[:, 2] = paddle.to_tensor([[8], [9]]).flatten()
    x[1:] = numbers(1, 1, 3)                        # ones in front are passed over
    assert x.tolist() == [[1.0, 2.5, 8.0], [0.0, 1.0, 2.0]]
    x[1:] = x[:1]                                   # memory of its own
    assert x[1].tolist() == [1.0, 2.5, 8.0]
    x[:] = x[::-1]
    x[x > 2] = 0.0
    assert x.sum().item() == 2.0
    n = paddle.zeros([2], "int32")
    n[0] = 2.7
    assert n.tolist() == [2, 0]


def test_a_view_written_reaches_the_gradient():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    y = x * 1.0
    v = paddle.to_tensor(5.0, stop_gradient=False)
    y[0, 1] = v * 2.0
    (y * y).sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [6.0, 8.0]] and float(v.grad) == 40.0


def test_an_index_is_plain_data():
    import json
    spec, tensors = normalise((1, slice(None, -1, 2), None, ..., [0, 1], paddle.to_tensor([True])))
    assert json.loads(json.dumps(spec)) == [1, [None, -1, 2], None, "...", "$0", "$1"]
    assert [t.dtype.name for t in tensors] == ["int64", "bool"]


@pytest.mark.parametrize("index, words", [
    (3, ["3", "axis 0", "size 3"]), (-4, ["-4", "axis 0", "size 3"]),
    ((0, 4), ["4", "axis 1", "size 4"]), ((0, 0, 0), ["too many indices"]),
    (1.5, ["int, slice", "1.5"]), ("a", ["int, slice", "'a'"]), (slice(0.5), ["bound of a slice"]),
])
def test_errors(index, words):
    for act in (lambda x: x[index], lambda x: x.__setitem__(index, 0.0)):
        with pytest.raises((IndexError, TypeError)) as caught:
            act(numbers(3, 4))
        for word in words:
            assert word in str(caught.value), caught.value


@pytest.mark.host_only("an index array is not looked at on a GPU")
def test_errors_of_index_arrays():
    x = numbers(3, 4)
    for act in (lambda: x[[0, 5]], lambda: paddle.gather(x, paddle.to_tensor([5])),
                lambda: paddle.take(x, paddle.to_tensor([12])),
                lambda: paddle.scatter(x, paddle.to_tensor([3]), numbers(1, 4)),
                lambda: paddle.index_add(x, paddle.to_tensor([-4]), 0, numbers(1, 4))):
        with pytest.raises(IndexError, match="out of bounds"):
            act()


@pytest.mark.parametrize("call, words", [
    (lambda x: x[paddle.to_tensor([True, False])], ["boolean", "3", "2"]),
    (lambda x: x.__setitem__(0, paddle.ones([3])), ["setitem", "[3]", "[3, 4]"]),
    (lambda x: paddle.topk(x, 5), ["topk", "5", "[3, 4]"]),
    (lambda x: paddle.gather(x, paddle.to_tensor([0.5])), ["gather", "float32"]),
    (lambda x: paddle.gather_nd(x, paddle.zeros([1, 3], "int64")), ["gather_nd", "3", "[3, 4]"]),
    (lambda x: paddle.scatter(x, paddle.to_tensor([0]), paddle.ones([2, 4])),
     ["scatter", "[1, 4]", "[2, 4]"]),
    (lambda x: paddle.put_along_axis(x, paddle.to_tensor([[0]]), 1.0, 0, "max"), ["max", "amax"]),
    (lambda x: paddle.masked_select(x, paddle.to_tensor([1])), ["masked_select", "bool"]),
    (lambda x: paddle.crop(x, [3, 3], [1, 1]), ["crop", "[3, 3]", "[3, 4]"]),
    (lambda x: paddle.kthvalue(x, 0), ["kthvalue", "1 to 4", "0"]),
    (lambda x: paddle.take(x, paddle.to_tensor([0]), mode="no"), ["take", "'wrap'", "'no'"]),
    (lambda x: paddle.histogram(x, 4, 3, 1), ["histogram", "min=3"]),
])
def test_errors_of_functions(call, words):
    with pytest.raises((ValueError, IndexError, TypeError)) as caught:
        call(numbers(3, 4))
    for word in words:
        assert word in str(caught.value), caught.value


# ---- gradients of what is composed of several ops
PICKS, J = [2, 0], [[0, 1], [1, 0]]
COMPOSED = {
    "index_put": lambda x, v: paddle.index_put(
        x, (paddle.to_tensor(PICKS), paddle.to_tensor(PICKS)), v[0, :2]),
    "index_put_add": lambda x, v: paddle.index_put(x, (paddle.to_tensor([1, 1]),), v[:2], True),
    "index_fill": lambda x, v: paddle.index_fill(x, paddle.to_tensor(PICKS), 1, v[0, 0]),
    "select_scatter": lambda x, v: paddle.select_scatter(x, v[0], 0, 1),
    "slice_scatter": lambda x, v: paddle.slice_scatter(x, v[:, :2], [1], [0], [4], [2]),
    "diagonal_scatter": lambda x, v: paddle.diagonal_scatter(x, v[0, :3], 1),
    "masked_fill": lambda x, v: paddle.masked_fill(x, x > 1.0, v[0, 0]),
    "masked_scatter": lambda x, v: paddle.masked_scatter(x, x > 1.0, v),
    "masked_select": lambda x, v: paddle.masked_select(x, v > 1.0),
    "multiplex": lambda x, v: paddle.multiplex([x, v], paddle.to_tensor([[1], [0], [1]])),
    "take": lambda x, v: paddle.take(x, paddle.to_tensor([[0, 0], [5, -1]])),
    "index_sample": lambda x, v: paddle.index_sample(x, paddle.to_tensor([[0, 0], [1, 2], [3, 1]])),
    "put_mean": lambda x, v: paddle.put_along_axis(
        x, paddle.to_tensor([[0, 1, 2, 0], [0, 2, 2, 1], [1, 1, 1, 1]]), v, 0, "mean", False),
    "take_broadcast": lambda x, v: paddle.take_along_axis(x, paddle.to_tensor([[1], [0]])[:1], 1),
    "take_smaller": lambda x, v: paddle.take_along_axis(x, paddle.to_tensor(J), 1, False),
    "fill_diagonal_tensor": lambda x, v: x.fill_diagonal_tensor(v[0, :3]),
    "loop": lambda x, v: paddle.stack([x[i] * v[2 - i] for i in range(3)]),
    "swap": lambda x, v: x[[1, 0]] + v[::-1][1:] * 2.0,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_gradients_of_composed_ones(name):
    x, v = golden_tensor.random(3, 4), golden_tensor.random(3, 4, seed=1)
    assert gradcheck(lambda x, v: COMPOSED[name](x * x, v * v), [x, v], order=2)


@pytest.mark.parametrize("reduce", ["assign", "add", "mul", "mean", "amin", "amax"])
@pytest.mark.parametrize("include_self", [True, False])
def test_put_along_axis_gradients(reduce, include_self):
    x, v = golden_tensor.random(3, 4), golden_tensor.random(2, 4, seed=1)
    index = paddle.to_tensor([[0, 1, 2, 0], [2, 2, 1, 1]])
    assert gradcheck(lambda x, v: paddle.put_along_axis(x, index, v, 0, reduce, include_self),
                     [x, v], order=2)


def test_products_with_zeros_have_exact_gradients():
    x = paddle.to_tensor([[2.0, 0.0, 3.0]], stop_gradient=False)
    v = paddle.to_tensor([[0.0, 4.0, 0.0]], stop_gradient=False)
    y = paddle.put_along_axis(x, paddle.to_tensor([[0, 1, 1]]), v, 1, "mul")
    y.sum().backward()
    assert y.tolist() == [[0.0, 0.0, 3.0]]
    assert x.grad.tolist() == [[0.0, 0.0, 1.0]] and v.grad.tolist() == [[2.0, 0.0, 0.0]]


# ---- sorting and searching against NumPy
@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64", "uint8"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_of_all_dtypes(dtype, descending):
    a = np.random.default_rng(0).integers(0, 9, (4, 7)).astype(dtype)
    x = paddle.to_tensor(a)
    order = paddle.argsort(x, 1, descending)
    assert order.dtype.name == "int64"
    expected = np.sort(a, 1)[:, ::-1] if descending else np.sort(a, 1)
    np.testing.assert_array_equal(paddle.sort(x, 1, descending).numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(a, order.numpy(), 1), expected)
    key = (10 - a.astype("int64")) if descending else a
    np.testing.assert_array_equal(order.numpy(), np.argsort(key, 1, kind="stable"))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, -1])
def test_topk_of_much(largest, axis):
    a = np.random.default_rng(0).normal(size=(500, 600)).astype("float32")
    values, indices = paddle.topk(paddle.to_tensor(a), 4, axis, largest)
    ordered = np.sort(a, axis)
    n = a.shape[axis]
    expected = np.take(ordered, range(n - 1, n - 5, -1) if largest else range(4), axis)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(a, indices.numpy(), axis), expected)


def test_ties_and_indices_of_topk_and_mode():
    values, indices = paddle.topk(paddle.to_tensor([1.0, 3.0, 3.0, 2.0, 3.0]), 3)
    assert indices.tolist() == [1, 2, 4] and indices.dtype.name == "int64"
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, (6, 9))
    values, indices = paddle.mode(paddle.to_tensor(a))
    for row, value, index in zip(a, values.tolist(), indices.tolist()):
        counts = np.bincount(row)
        assert value == counts.argmax() and index == np.flatnonzero(row == value)[-1]


@given(st.lists(st.integers(-4, 4), max_size=9), st.lists(st.integers(-5, 5), max_size=5),
       st.booleans())
def test_searching_and_counting_are_numpys(data, values, right):
    a, v = np.sort(np.asarray(data, "int64")), np.asarray(values, "int64")
    found = paddle.searchsorted(paddle.to_tensor(a), paddle.to_tensor(v), right=right)
    side = "right" if right else "left"
    np.testing.assert_array_equal(found.numpy(), np.searchsorted(a, v, side))
    np.testing.assert_array_equal(paddle.isin(paddle.to_tensor(a), paddle.to_tensor(v)).numpy(),
                                  np.isin(a, v))
    unique = paddle.unique(paddle.to_tensor(a), True, True, True)
    whole = np.unique(a, True, True, True)
    for ours, theirs in zip(unique, whole):
        np.testing.assert_array_equal(ours.numpy(), theirs.reshape(-1))
    if len(a):
        counts = paddle.bincount(paddle.to_tensor(a + 4), minlength=3)
        np.testing.assert_array_equal(counts.numpy(), np.bincount(a + 4, minlength=3))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "complex64"])
def test_gather_and_scatter_of_all_dtypes(dtype):
    a = golden_tensor.numbers(3, 2).astype(dtype)
    x, i = paddle.to_tensor(a), paddle.to_tensor([2, 0])
    np.testing.assert_array_equal(paddle.gather(x, i).numpy(), a[[2, 0]])
    np.testing.assert_array_equal(x[i, 1].numpy(), a[[2, 0], 1])
    along = paddle.take_along_axis(x, i.reshape([2, 1]), 0)
    np.testing.assert_array_equal(along.numpy(), a[[2, 0]])
    expected = a.copy()
    expected[[2, 0]] = a[:2]
    np.testing.assert_array_equal(paddle.scatter(x, i, x[:2]).numpy(), expected)
    x[i] = x[:2]
    np.testing.assert_array_equal(x.numpy(), expected)


def test_int32_indices_and_wide_rows():
    rng = np.random.default_rng(0)
    table = paddle.to_tensor(rng.normal(size=(20, 33)), stop_gradient=False)
    rows = rng.integers(-20, 20, 64).astype("int32")
    g = rng.normal(size=(64, 33))
    (paddle.gather(table, paddle.to_tensor(rows)) * paddle.to_tensor(g)).sum().backward()
    expected = np.zeros((20, 33))
    np.add.at(expected, rows, g)
    np.testing.assert_allclose(table.grad.numpy(), expected, atol=1e-12)
