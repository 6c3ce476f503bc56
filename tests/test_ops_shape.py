"""Operations on shape: values against real Paddle, what shares memory, gradients, errors."""
from __future__ import annotations

import golden_tensor
import numpy as np
import pytest

import minipaddle as paddle
from minipaddle.autograd import gradcheck


@pytest.mark.parametrize("line", golden_tensor.lines("shape"))
def test_as_real_paddle(line):
    golden_tensor.check("shape", line, paddle)


def numbers(*shape, dtype="float32"):
    return paddle.to_tensor(golden_tensor.numbers(*shape, d=dtype))


# ---- what shares memory with its base, and what copies
VIEWS = {
    "reshape": lambda x: x.reshape([3, 2]), "view": lambda x: x.view([3, 2]),
    "flatten": lambda x: x.flatten(), "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0), "transpose": lambda x: x.transpose([1, 0]),
    "T": lambda x: x.T, "mT": lambda x: x.mT, "t": lambda x: x.t(), "detach": lambda x: x.detach(),
    "moveaxis": lambda x: paddle.moveaxis(x, 0, 1), "unbind": lambda x: paddle.unbind(x)[0],
    "diagonal": lambda x: paddle.diagonal(x), "slice": lambda x: paddle.slice(x, [0], [0], [1]),
    "getitem": lambda x: x[0], "reversed": lambda x: x[::-1], "ellipsis": lambda x: x[...],
    "strided_slice": lambda x: paddle.strided_slice(x, [1], [0], [3], [2]),
    "atleast_3d": lambda x: paddle.atleast_3d(x), "unflatten": lambda x: x.unflatten(1, [3, 1]),
    "as_strided": lambda x: paddle.as_strided(x, [2, 2], [1, 1]),
    "unfold": lambda x: x.unfold(0, 1, 1),
}
COPIES = {
    "split": lambda x: paddle.split(x, 2)[0], "chunk": lambda x: paddle.chunk(x, 2)[0],
    "unstack": lambda x: paddle.unstack(x)[0],
    "tensor_split": lambda x: paddle.tensor_split(x, 2)[0],
    "expand": lambda x: x.expand([2, 3]), "broadcast_to": lambda x: x.broadcast_to([2, 2, 3]),
    "flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1), "tile": lambda x: x.tile([1, 1]),
    "crop": lambda x: paddle.crop(x, [1, 2]), "list": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > -1], "concat": lambda x: paddle.concat([x]),
    "gather": lambda x: paddle.gather(x, paddle.to_tensor([0])),
    "sort": lambda x: paddle.sort(x), "rot90": lambda x: x.rot90(2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_into_a_view_is_seen_by_its_base(name):
    x = numbers(2, 3)
    before = x.numpy()
    VIEWS[name](x)[...] = -1.0
    assert (x.numpy() == -1.0).any()
    y = numbers(2, 3)
    view = VIEWS[name](y)
    y[...] = 7.0
    assert (view.numpy() == 7.0).all() and (before != 7.0).all()


@pytest.mark.parametrize("name", COPIES)
def test_a_write_into_a_copy_is_not(name):
    x = numbers(2, 3)
    before = x.numpy()
    COPIES[name](x)[...] = -1.0
    np.testing.assert_array_equal(x.numpy(), before)


# ---- dtypes, odd shapes, memory order
MOVES = [lambda p, x: p.reshape(x, [-1]), lambda p, x: p.transpose(x, [1, 0]),
         lambda p, x: p.expand(x, [2, *x.shape]), lambda p, x: p.tile(x, [2, 1]),
         lambda p, x: p.concat([x, x], 1), lambda p, x: p.stack([x, x]), lambda p, x: p.flip(x, 0),
         lambda p, x: p.roll(x, 1, 1), lambda p, x: p.repeat_interleave(x, 2, 0),
         lambda p, x: p.unsqueeze(x, 1), lambda p, x: p.split(x, [1, -1], 1)[1]]
NUMPYS = [lambda x: x.reshape(-1), lambda x: x.T, lambda x: np.broadcast_to(x, (2, *x.shape)),
          lambda x: np.tile(x, (2, 1)), lambda x: np.concatenate([x, x], 1),
          lambda x: np.stack([x, x]), lambda x: np.flip(x, 0), lambda x: np.roll(x, 1, 1),
          lambda x: np.repeat(x, 2, 0), lambda x: x[:, None], lambda x: x[:, 1:]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1)])
def test_moving_keeps_values_and_dtype(dtype, shape):
    a = golden_tensor.numbers(*shape).astype(dtype)
    for base in (paddle.to_tensor(a), paddle.to_tensor(np.ascontiguousarray(a.T)).T):
        for ours, theirs in zip(MOVES, NUMPYS):
            found = ours(paddle, base)
            assert found.dtype.name == dtype
            np.testing.assert_array_equal(found.numpy(), theirs(a))


def test_shapes_may_mix_ints_and_tensors():
    two = paddle.to_tensor(2)
    assert numbers(6).reshape([two, -1]).shape == [2, 3]
    assert numbers(3).expand([two, 3]).shape == [2, 3]
    assert numbers(3).tile([two]).shape == [6]
    assert paddle.squeeze(numbers(1, 3), paddle.to_tensor(0)).shape == [3]
    assert [t.shape for t in paddle.split(numbers(3), [paddle.to_tensor(1), -1])] == [[1], [2]]
    assert numbers(2, 3).transpose(paddle.to_tensor([1, 0])).shape == [3, 2]
    assert numbers(4).reshape(np.array([2, 2])).shape == [2, 2]


def test_inplace_forms_keep_the_tensor():
    x = numbers(2, 3)
    assert x.reshape_([3, 2]) is x and x.shape == [3, 2]
    assert x.unsqueeze_(0) is x and x.shape == [1, 3, 2]
    assert x.squeeze_() is x and x.flatten_().shape == [6]


# ---- gradients of what is composed of several ops
COMPOSED = {
    "moveaxis": (lambda x: paddle.moveaxis(x, 0, 1), (2, 3)),
    "repeat_interleave": (lambda x: paddle.repeat_interleave(x, 2, 1), (2, 3)),
    "repeats": (lambda x: paddle.repeat_interleave(x, paddle.to_tensor([2, 0, 1]), 1), (2, 3)),
    "tensor_split": (lambda x: paddle.tensor_split(x, [1, 2], 1), (2, 3)),
    "unfold": (lambda x: x.unfold(1, 2, 1), (2, 4)), "rot90": (lambda x: x.rot90(3), (2, 3)),
    "crop": (lambda x: paddle.crop(x, [1, 2], [1, 0]), (2, 3)),
    "hstack": (lambda x: paddle.hstack([x, x * x]), (2, 3)),
    "column_stack": (lambda x: paddle.column_stack([x, x * x]), (3,)),
    "block_diag": (lambda x: paddle.block_diag([x, x * x]), (2, 3)),
    "cartesian_prod": (lambda x: paddle.cartesian_prod([x, x * x]), (3,)),
    "combinations": (lambda x: paddle.combinations(x), (3,)),
    "unflatten": (lambda x: x.unflatten(0, [1, -1]), (2, 3)),
    "atleast_3d": (lambda x: paddle.atleast_3d(x), (2, 3)),
    "broadcast_tensors": (lambda x: paddle.broadcast_tensors([x, x.t()]), (1, 3)),
    "slice": (lambda x: paddle.slice(x, [0, 1], [0, -2], [1, 9]), (2, 3)),
    "strided_slice": (lambda x: paddle.strided_slice(x, [1], [2], [-9], [-2]), (2, 3)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_gradients_of_composed_ones(name):
    function, shape = COMPOSED[name]
    assert gradcheck(lambda x: function(x * x), [golden_tensor.random(*shape)], order=2)


# ---- errors say what is wrong and what to do
@pytest.mark.parametrize("call, words", [
    (lambda x: x.reshape([4, 2]), ["reshape", "[2, 3]", "6 elements", "[4, 2]", "-1"]),
    (lambda x: x.transpose([0]), ["transpose", "perm [0]", "[2, 3]"]),
    (lambda x: x.squeeze(7), ["squeeze", "axis 7", "2 dimensions"]),
    (lambda x: x.expand([4, 3]), ["expand", "[2, 3]", "[4, 3]", "dimension 0"]),
    (lambda x: paddle.concat([x, x.t()]), ["concat", "x[1]", "[3, 2]", "[2, 3]", "axis 0"]),
    (lambda x: paddle.stack([x, x.t()]), ["stack", "x[1]", "[3, 2]", "one shape"]),
    (lambda x: paddle.concat([x, x.astype("float64")]), ["concat", "float32", "float64"]),
    (lambda x: paddle.concat([]), ["concat", "at least one"]),
    (lambda x: paddle.concat([x.sum(), x.sum()]), ["concat", "0-d", "stack"]),
    (lambda x: paddle.split(x, 2, 1), ["split", "[2, 3]", "2 equal parts"]),
    (lambda x: paddle.split(x, [1, 1], 1), ["split", "[1, 1]", "3"]),
    (lambda x: paddle.t(x.unsqueeze(0)), ["t:", "[1, 2, 3]", "transpose"]),
    (lambda x: x.flatten(1, 0), ["flatten", "start_axis 1"]),
    (lambda x: x.unflatten(1, [2, 2]), ["unflatten", "[2, 2]", "3"]),
    (lambda x: paddle.unstack(x, 0, 3), ["unstack", "3", "2"]),
    (lambda x: paddle.broadcast_tensors([x, x.t()]), ["broadcast", "[2, 3]", "[3, 2]"]),
    (lambda x: paddle.as_strided(x, [4, 4], [1, 1], 3), ["as_strided", "6 elements"]),
    (lambda x: x.reshape([1.5, 4]), ["reshape", "int", "1.5"]),
])
def test_errors(call, words):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call(numbers(2, 3))
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {caught.value}"
