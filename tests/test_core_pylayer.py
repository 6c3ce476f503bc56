"""PyLayer in every form: several outputs, None gradients, marks, kwargs, double grad, aliasing."""
from __future__ import annotations

import pytest

import minipaddle as paddle
from minipaddle.autograd import PyLayer


def leaf(value, dtype="float64"):
    return paddle.to_tensor(value, dtype, stop_gradient=False)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x * x * (3.0 * ctx.scale)


def test_one_input_one_output():
    x = leaf([2.0])
    y = Cube.apply(x)
    assert y.tolist() == [8.0] and not y.stop_gradient and not y.is_leaf
    y.backward()
    assert x.grad.tolist() == [12.0]


def test_attributes_and_keyword_arguments():
    x = leaf([2.0])
    Cube.apply(x, scale=0.5).backward()
    assert x.grad.tolist() == [6.0]
    x.clear_grad()
    Cube.apply(x=x).backward()
    assert x.grad.tolist() == [12.0]


def test_higher_orders():
    x = leaf(2.0)
    g = Cube.apply(x)
    for expected in (12.0, 12.0, 6.0):
        (g,) = paddle.grad(g, x, create_graph=True)
        assert float(g) == expected


def test_forward_is_not_recorded_backward_is_outside_the_graph():
    seen = []

    class Watch(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = x * 2.0
            seen.append(y.stop_gradient)
            return y

        @staticmethod
        def backward(ctx, g):
            seen.append((g * 2.0).stop_gradient)
            return g * 2.0
    Watch.apply(leaf([1.0])).backward()
    assert seen == [True, True]


class Split(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x + y, x * y

    @staticmethod
    def backward(ctx, gs, gp):
        x, y = ctx.saved_tensor()
        return gs + gp * y, gs + gp * x


@pytest.mark.parametrize("use, expected", [
    (lambda s, p: s + p, (6.0, 4.0)), (lambda s, p: s, (1.0, 1.0)), (lambda s, p: p, (5.0, 3.0))])
def test_several_outputs_some_unused(use, expected):
    x, y = leaf([3.0]), leaf([5.0])
    use(*Split.apply(x, y)).backward()
    assert (float(x.grad), float(y.grad)) == expected


def test_unused_outputs_get_none_when_not_materialized():
    seen = []

    class Lazy(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1.0, x * 2.0

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, None if b is None else b.tolist()))
            return b * 2.0
    x = leaf([1.0])
    Lazy.apply(x)[1].backward()
    assert seen == [(None, [1.0])] and x.grad.tolist() == [2.0]


def test_none_is_no_gradient():
    class OnlyFirst(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g * 7.0, None
    x, y = leaf([1.0]), leaf([2.0])
    OnlyFirst.apply(x, y).backward()
    assert x.grad.tolist() == [7.0] and y.grad is None


def test_constant_inputs_and_plain_arguments():
    x, c = leaf([2.0]), paddle.to_tensor([3.0], "float64")

    class Mixed(PyLayer):
        @staticmethod
        def forward(ctx, label, x, n, c):
            assert label == "label" and n == 4
            return x * c * n

        @staticmethod
        def backward(ctx, g):
            return g * 12.0, g * 8.0                # one for each Tensor
    Mixed.apply("label", x, 4, c).backward()
    assert x.grad.tolist() == [12.0] and c.grad is None


def test_non_differentiable_outputs():
    class Sorted(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y, flag = x * 2.0, x * 0.0
            ctx.mark_non_differentiable(flag)
            return y, flag

        @staticmethod
        def backward(ctx, g, gflag):
            assert gflag.tolist() == [0.0, 0.0]
            return g * 2.0
    x = leaf([1.0, 2.0])
    y, flag = Sorted.apply(x)
    assert flag.stop_gradient and not y.stop_gradient
    (y + flag).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_integer_outputs_and_outputs_that_are_no_tensors():
    class Odd(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0, paddle.to_tensor([1, 2]), "text"

        @staticmethod
        def backward(ctx, g, gi, gt):
            return g
    x = leaf([1.0])
    y, index, text = Odd.apply(x)
    assert index.stop_gradient and index.dtype == paddle.int64 and text == "text"
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_an_output_that_is_an_input():
    class Same(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5.0
    x = leaf([1.0])
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    (y * 2.0).backward()
    assert x.grad.tolist() == [10.0]


def test_under_no_grad_and_without_gradients_it_just_runs():
    x = leaf([1.0])
    with paddle.no_grad():
        assert Cube.apply(x).stop_gradient
    assert Cube.apply(paddle.to_tensor([1.0])).stop_gradient


def test_graph_is_freed_and_retained():
    x = leaf([1.0])
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_inside_a_larger_graph_with_hooks():
    x = leaf([2.0])
    y = Cube.apply(x * 1.0)
    y.register_hook(lambda g: g * 10.0)
    (y + x).backward()
    assert x.grad.tolist() == [121.0]


def test_a_saved_tensor_written_in_place_is_refused():
    x = leaf([2.0])
    a = x * 1.0
    y = Cube.apply(a)
    a.add_(paddle.to_tensor([1.0], "float64"))
    with pytest.raises(RuntimeError, match="saved tensor 0 was modified in place at .*pylayer"):
        y.backward()


def test_gradients_of_the_wrong_number_or_kind_are_named():
    class Few(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    class Strange(Few):
        @staticmethod
        def backward(ctx, g):
            return g, 1.0
    x = leaf([1.0])
    with pytest.raises(ValueError, match="Few.backward returned 1 gradients, its forward had 2"):
        Few.apply(x, x).backward()
    with pytest.raises(TypeError, match="Strange.backward: gradient 1 must be a Tensor or None"):
        Strange.apply(x, x).backward()


def test_a_gradient_of_another_shape_is_named():
    class Tall(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return paddle.ones([3], "float64")
    with pytest.raises(ValueError, match=r"Tall.*\[3\].*\[2\]"):
        Tall.apply(leaf([1.0, 2.0])).backward()


def test_gradient_dtype_follows_the_input():
    class Up(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x.astype("float64") * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0
    x = leaf([1.0], "float32")
    Up.apply(x).backward()
    assert x.grad.dtype == paddle.float32


def test_without_forward_or_backward():
    class Empty(PyLayer):
        pass
    with pytest.raises(NotImplementedError, match="static method forward"):
        Empty.apply(leaf([1.0]))
