"""Errors name the operation, the argument, the shapes or dtypes, and the way out."""
from __future__ import annotations

import re

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle.core import ops, registry

F = paddle.nn.functional


def leaf(value, dtype="float32"):
    return paddle.to_tensor(value, dtype, stop_gradient=False)


def message(call, error) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# ---- shapes
@pytest.mark.parametrize("call, words", [
    (lambda: paddle.ones([2, 3]) @ paddle.ones([2, 3]), ["matmul", "[2, 3]"]),
    (lambda: paddle.ones([2, 3]) + paddle.ones([2]), ["add", "[2, 3]", "[2]"]),
    (lambda: paddle.ones([2, 3]).reshape([4]), ["reshape", "[2, 3]", "[4]"]),
    (lambda: paddle.concat([paddle.ones([2, 3]), paddle.ones([2])]), ["concat", "[2, 3]", "[2]"]),
    (lambda: paddle.stack([paddle.ones([2]), paddle.ones([3])]), ["stack", "[2]", "[3]"]),
    (lambda: paddle.ones([2, 3]).transpose([0]), ["transpose", "[0]"]),
    (lambda: paddle.split(paddle.ones([5]), 2), ["split", "[5]", "2"]),
    (lambda: paddle.ones([2]).expand([3]), ["expand", "[2]", "[3]"]),
    (lambda: paddle.ones([2, 3]).sum(axis=2), ["sum", "[2, 3]", "2"]),
    (lambda: F.linear(paddle.ones([2, 3]), paddle.ones([4, 5])), ["linear", "[2, 3]", "[4, 5]"]),
    (lambda: paddle.multiply(paddle.ones([3]), paddle.ones([4])), ["multiply", "[3]", "[4]"]),
    (lambda: leaf([1.0, 2.0]).backward(paddle.ones([3])), ["backward", "[3]", "[2]"]),
    (lambda: paddle.grad(leaf([1.0]) * 2, leaf([1.0]), paddle.ones([2])), ["grad", "[2]", "[1]"]),
], ids=lambda v: v[0] if isinstance(v, list) else "")
def test_shapes_that_do_not_fit(call, words):
    text = message(call, (ValueError, IndexError))
    assert text.startswith(words[0]), text
    assert all(w in text for w in words), text


def test_a_message_lists_every_argument():
    text = message(lambda: paddle.ones([2, 3]) * paddle.ones([4], "float64"), ValueError)
    for part in ("x is [2, 3]", "y is [4]", "float64"):
        assert part in text, text


# ---- dtypes and kinds
@pytest.mark.parametrize("call, words", [
    (lambda: paddle.ones([2, 2]) @ paddle.ones([2, 2], "float64"),
     ["matmul", "float32", "float64", "astype"]),
    (lambda: paddle.concat([paddle.ones([2]), paddle.ones([2], "int64")]),
     ["concat", "float32", "int64", "astype"]),
    (lambda: paddle.exp("text"), ["exp", "x must be a Tensor", "str"]),
    (lambda: paddle.exp(None), ["exp", "x must be a Tensor", "None"]),
    (lambda: paddle.add(paddle.ones([1]), "text"), ["add", "y must be a Tensor", "str 'text'"]),
    (lambda: paddle.add(paddle.ones([1]), [1.0]), ["add", "y must be a Tensor", "list"]),
    (lambda: paddle.concat(paddle.ones([2])), ["concat", "x must be a list of Tensors", "Tensor"]),
    (lambda: F.linear([paddle.ones([2, 2])], paddle.ones([2, 2])),
     ["linear", "x must be a Tensor", "list"]),
    (lambda: paddle.concat([paddle.ones([2]), "no"]), ["concat", "must be a Tensor", "str"]),
    (lambda: paddle.ones([2]).astype("float31"), ["dtype", "'float31'", "float32"]),
    (lambda: paddle.to_tensor("text"), ["to_tensor", "numbers", "str 'text'"]),
    (lambda: paddle.to_tensor(None), ["to_tensor", "None"]),
    (lambda: paddle.to_tensor({"a": 1}), ["to_tensor", "dict"]),
    (lambda: paddle.grad([1.0], leaf(1.0)), ["grad", "outputs", "float 1.0"]),
    (lambda: paddle.grad(leaf(1.0), ["x"]), ["grad", "inputs", "str 'x'"]),
], ids=lambda v: v[0] if isinstance(v, list) else "")
def test_kinds_that_do_not_fit(call, words):
    text = message(call, TypeError)
    assert text.startswith(words[0]), text
    assert all(w in text for w in words), text


def test_ragged_data():
    text = message(lambda: paddle.to_tensor([[1, 2], [3]]), ValueError)
    assert "to_tensor: data is no rectangular list of numbers" in text


def test_missing_and_unknown_arguments_name_the_function():
    assert "add() missing 1 required positional argument: 'y'" in \
        message(lambda: paddle.add(paddle.ones([1])), TypeError)
    assert "tanh() got an unexpected keyword argument 'axis'" in \
        message(lambda: paddle.tanh(paddle.ones([1]), axis=0), TypeError)


# ---- indices and labels
@pytest.mark.parametrize("call, words", [
    (lambda: paddle.ones([3])[5], ["5", "3"]),
    (lambda: paddle.ones([3])[0, 0], ["[3]"]),
    (lambda: F.one_hot(paddle.to_tensor([5]), 3), ["one_hot", "5", "3"]),
    (lambda: F.embedding(paddle.to_tensor([7]), paddle.ones([4, 2])), ["embedding", "7", "4"]),
    (lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 3])), ["3"]),
], ids=["item", "too many", "one_hot", "embedding", "cross_entropy"])
@pytest.mark.host_only("a GPU does not look at the values: that would stop it")
def test_out_of_range(call, words):
    text = message(call, (IndexError, ValueError))
    assert all(w in text for w in words), text


@pytest.mark.host_only("a GPU does not look at the values: that would stop it")
def test_integer_division_by_zero_names_the_op():
    for call in (lambda: paddle.to_tensor([1]) // 0, lambda: paddle.to_tensor([1]) % 0):
        with pytest.raises(ZeroDivisionError, match="^(floor_divide|remainder): "):
            call()


# ---- backward
def test_backward_through_a_freed_graph():
    x = leaf([1.0])
    y = paddle.exp(x)
    y.backward()
    text = message(y.backward, RuntimeError)
    assert text.startswith("exp: ") and "freed" in text and "retain_graph=True" in text


def test_grad_of_what_is_not_reached():
    text = message(lambda: paddle.grad(leaf([1.0]) * 2, leaf([[2.0, 3.0]])), ValueError)
    assert "inputs[0]" in text and "[1, 2]" in text and "allow_unused=True" in text


def test_grad_of_a_constant():
    text = message(lambda: paddle.grad(paddle.ones([2]) * 2, leaf([1.0])), ValueError)
    assert "inputs[0]" in text and "allow_unused" in text


def test_an_op_without_gradient_raises_by_name(own_ops):
    from minipaddle.core import Array, op

    @op("step_demo", namespace=None)
    def step_demo(xp, x: Array) -> Array:
        return xp.floor(x)
    y = step_demo(leaf([1.5]))
    assert not y.stop_gradient
    text = message(y.backward, RuntimeError)
    assert text.startswith("step_demo has no gradient") and "detach()" in text


def test_an_op_that_is_differentiable_once_says_so(own_ops):
    from minipaddle.core import Array, op

    @op("once_demo", namespace=None)
    def once_demo(xp, x: Array) -> Array:
        return x * x

    @once_demo.kernel_vjp
    def _(xp, g, x):
        return g * 2 * x
    x = leaf(3.0)
    assert float(paddle.grad(once_demo(x), x)[0]) == 6.0
    text = message(lambda: paddle.grad(once_demo(x), x, create_graph=True), RuntimeError)
    assert text.startswith("once_demo can be differentiated once only") and "create_graph" in text


def test_wrong_numbers_of_gradients():
    text = message(lambda: paddle.autograd.backward([leaf(1.0)], [None, None]), ValueError)
    assert "1 tensors but 2 grad_tensors" in text
    text = message(lambda: paddle.grad([leaf(1.0)], leaf(1.0), [None, None]), ValueError)
    assert "1 outputs but 2 grad_outputs" in text


# ---- in place
def test_in_place_on_a_leaf():
    text = message(lambda: leaf([1.0]).add_(paddle.ones([1])), RuntimeError)
    assert text.startswith("add: ") or text.startswith("add_: ")
    assert "leaf" in text and "no_grad()" in text and "clone()" in text


def test_in_place_on_a_kept_value_names_op_argument_and_line():
    x = leaf([1.0])
    y = x * 1.0
    z = y * y
    y.detach().add_(paddle.ones([1]))  # the write
    text = message(z.backward, RuntimeError)
    assert text.startswith("multiply: x was modified in place at ")
    path, line = re.search(r"at (\S+):(\d+) ", text).groups()
    with open(path, encoding="utf-8") as file:
        assert "# the write" in file.read().splitlines()[int(line) - 1]
    assert path == __file__ and "clone()" in text


# ---- devices
def test_mixed_devices(device):
    if device == "cpu":
        with pytest.raises(RuntimeError, match=r"CuPy.*(pip install|GPUs).*set_device\('cpu'\)"):
            paddle.set_device("gpu:7")
        return
    a, b = paddle.to_tensor([1.0], place="cpu"), paddle.to_tensor([1.0], place="gpu:0")
    for call, name in ((lambda: a + b, "add"), (lambda: b * a, "multiply"),
                       (lambda: paddle.concat([a, b]), "concat")):
        text = message(call, RuntimeError)
        assert text.startswith(f"{name}: the inputs are on different devices")
        assert "cpu" in text and "gpu:0" in text and ".cuda()" in text


def test_an_unknown_attribute_of_the_package():
    with pytest.raises(AttributeError, match="'minipaddle' has no attribute 'addd'"):
        paddle.addd


# ---- state
def test_missing_and_unexpected_state_dict_keys():
    layer = paddle.nn.Linear(2, 3)
    missing, unexpected = layer.set_state_dict({"weight": np.ones((2, 3), "float32"),
                                                "extra": np.ones(1, "float32")})
    assert missing == ["bias"] and unexpected == ["extra"]
    with pytest.warns(UserWarning, match=r"weight.*\[5, 5\].*\[2, 3\]"):
        layer.set_state_dict({"weight": np.ones((5, 5), "float32"),
                              "bias": np.zeros(3, "float32")})


def test_damaged_and_absent_files(tmp_path):
    absent = tmp_path / "absent.pdparams"
    with pytest.raises((FileNotFoundError, ValueError), match="absent.pdparams"):
        paddle.load(str(absent))
    damaged = tmp_path / "damaged.pdparams"
    paddle.save({"w": paddle.ones([100])}, str(damaged))
    damaged.write_bytes(damaged.read_bytes()[:40])
    with pytest.raises((ValueError, RuntimeError), match="damaged.pdparams"):
        paddle.load(str(damaged))


# ---- every op
@pytest.mark.parametrize("name", sorted(
    n for n, r in registry.items() if len(r.inputs) == 1 and not r.lists
    and r.optional.issuperset(r.attrs) and r.inputs[0] not in r.optional
    and getattr(getattr(ops, n), "op", None) is r))
def test_every_op_of_one_input_refuses_text_by_name(name):
    text = message(lambda: getattr(ops, name)("text"), TypeError)
    assert text.startswith(name) and "must be a Tensor, got str" in text
