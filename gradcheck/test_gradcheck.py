"""The checker itself: right gradients pass, each kind of wrong one is caught and described."""
from __future__ import annotations

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import checks
from minipaddle.autograd import gradcheck
from minipaddle.core import Array, op, ops, registry
from minipaddle.samples import unary

rng = np.random.default_rng(0)
M = rng.normal(size=(3, 4))


def wrong(own_ops, forward, vjp, **options):
    """A new op with the given, wrong, vjp."""
    function = op("wrong_demo", namespace=None, **options)(forward)
    function.vjp(vjp)
    return function


# ---- what is right passes
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_gradients_pass(order):
    assert gradcheck(lambda x, y: paddle.tanh(x) * paddle.exp(y) / (x * x + 1.5),
                     [M, M[0]], order=order)


def test_several_results_lists_and_constants():
    def fn(tensors, index, flag):
        a, b = tensors
        assert flag == "plain" and index.dtype == paddle.int64
        return a * b, [(a + b) * index.astype("float64")], index
    assert gradcheck(fn, [[M, M + 1], np.arange(4), "plain"], order=2)


def test_tensors_are_checked_where_they_want_gradients():
    x = paddle.to_tensor(M, stop_gradient=False)
    c = paddle.to_tensor(M)
    assert gradcheck(lambda x, c: x * paddle.floor(c * 1000), [x, c])
    assert x.grad is None


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_small_and_empty_shapes(shape):
    assert gradcheck(lambda x: x * x * x, [np.full(shape, 0.5)], order=2)


@pytest.mark.host_only("complex numbers: the same code on any device")
def test_complex_gradients_follow_the_real_inner_product():
    z = M + 1j * M[::-1]
    assert gradcheck(lambda z: z * z * (0.5 + 1j), [z], order=2)
    assert gradcheck(lambda z: paddle.abs(z), [z])


def test_a_zero_gradient_is_right_for_a_constant():
    assert gradcheck(lambda x, y: y * 2.0, [M, M])


# ---- what is wrong is named
def message(fn, inputs, **options):
    with pytest.raises(AssertionError) as caught:
        gradcheck(fn, inputs, **options)
    assert gradcheck(fn, inputs, raise_exception=False, **options) is False
    assert isinstance(caught.value, checks.GradientError)
    return str(caught.value)


def test_one_wrong_entry_is_found(own_ops):
    def vjp(F, g, x):
        bump = np.zeros((3, 4))
        bump[1, 2] = 0.5
        return g * 2.0 * x + g * paddle.to_tensor(bump)._data
    text = message(wrong(own_ops, lambda xp, x: x * x, vjp), [M])
    lines = text.splitlines()
    assert lines[0] == ("gradcheck: wrong_demo, order 1: the gradient of input 0 (x) is wrong "
                        "at entry [1, 2]:")
    analytic, numeric = (float(line.split()[-1]) for line in lines[1:3])
    assert lines[1].split()[0] == "analytic" and lines[2].split()[0] == "numeric"
    assert abs(analytic - numeric) > 0.2
    assert "1 of 12 entries checked disagree (shape [3, 4])" in lines[3]


@pytest.mark.parametrize("vjp, hint", [
    (lambda F, g, x: g * x, "analytic = numeric * 1/2"),
    (lambda F, g, x: g * x * 3.0, "analytic = numeric * 1.5"),
    (lambda F, g, x: -g * x * 2.0, "the sign is wrong"),
    (lambda F, g, x: g * 0.0, "zero everywhere"),
    (lambda F, g, x: None, "zero everywhere"),
    (lambda F, g, x: g * float("nan"), "not finite"),
], ids=["half", "factor", "sign", "zero", "none", "nan"])
def test_plain_mistakes_get_a_hint(own_ops, vjp, hint):
    assert hint in message(wrong(own_ops, lambda xp, x: x * x, vjp), [M])


def test_a_transpose_gets_a_hint(own_ops):
    square = rng.normal(size=(3, 3))
    text = message(wrong(own_ops, lambda xp, x: x * x,
                         lambda F, g, x: F.transpose(g * 2.0 * x, [1, 0])), [square])
    assert "the transpose of the analytic gradient agrees" in text


def test_exchanged_gradients_get_a_hint(own_ops):
    text = message(wrong(own_ops, lambda xp, x, y: x * y, lambda F, g, x, y: (g * x, g * y)),
                   [M, M + 2])
    assert "it is what was given to input 0 (x): are the vjp's results in order?" in text or \
        "it is what was given to input 1 (y): are the vjp's results in order?" in text


def test_a_missing_broadcast_sum_gets_a_hint(own_ops):
    function = wrong(own_ops, lambda xp, x, y: x * y, lambda F, g, x, y: (g * y, g * x))
    text = message(function, [M, M[0]])
    assert "the gradient of input 1 (y) has shape [3, 4], the input has [4]" in text
    assert "broadcasts=True" in text


def test_a_mean_in_place_of_a_sum_gets_a_hint(own_ops):
    function = wrong(own_ops, lambda xp, x, y: x + y, lambda F, g: (g, F.mean(g, axis=0)))
    text = message(function, [M, M[0]])
    assert "input 1 (y)" in text and "1/3; is a sum over the broadcast dimension" in text


def test_a_wrong_second_order_is_found(own_ops):
    # The first order is right, but hides x from the walk: the second misses a part.
    def vjp(F, g, x):
        return g * (x.detach() if isinstance(x, paddle.Tensor) else x) * 2.0
    function = wrong(own_ops, lambda xp, x: x * x, vjp)
    assert gradcheck(function, [M])
    text = message(function, [M], order=2)
    assert "order 2: the gradient of input 0 (x) is wrong" in text and "zero everywhere" in text


def test_a_wrong_weight_gradient_is_found_at_order_two(own_ops):
    def vjp(F, g, x):
        return (g.detach() if isinstance(g, paddle.Tensor) else g) * 3.0
    function = wrong(own_ops, lambda xp, x: x * 3.0, vjp)
    assert gradcheck(function, [M])
    assert "the gradient handed to the result" in message(function, [M], order=2)


def test_a_kink_gets_a_hint():
    assert "kink" in message(lambda x: paddle.abs(x), [np.array([1.0, 1e-5])])


# ---- what cannot be checked is refused
@pytest.mark.parametrize("fn, inputs, words", [
    (lambda x: x * 2, [np.ones(2, "float32")], "float32; its rounding would hide errors"),
    (lambda x: x * 2, [np.arange(2)], "no input to differentiate"),
    (lambda x: x > 0, [np.ones(2)], "no floating Tensor to check"),
    (lambda x: paddle.log(x), [np.zeros(2)], "not finite"),
    (lambda x: x * paddle.rand([2]).astype("float64"), [np.ones(2)], "different values"),
], ids=["float32", "integers", "bool", "infinite", "random"])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_refused(fn, inputs, words):
    with pytest.raises(ValueError, match=words):
        gradcheck(fn, inputs)


def test_a_result_that_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="fn must return Tensors, got float"):
        gradcheck(lambda x: 1.0, [np.ones(2)])


# ---- registered ops
def test_check_op_takes_a_name_a_function_or_an_op():
    for what in ("tanh", paddle.tanh, registry["tanh"]):
        report = checks.check_op(what)
        assert len(report.errors) == 2 and max(report.errors) < 1e-8
    with pytest.raises(ValueError, match="equal: has no gradient"):
        checks.check_op("equal")


def test_table(capsys):
    assert checks.main(["tanh", "equal", "multiply"]) == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert [c.strip() for c in head.split("|")] == ["op", "order 1", "order 2", "worst error",
                                                    "samples"]
    cells = [[c.strip() for c in row.split("|")] for row in rows]
    assert cells[0][:3] == ["tanh", "ok", "ok"] and float(cells[0][3]) < 1e-8
    assert cells[1] == ["equal", "no gradient", "", "", ""]
    assert cells[2][0] == "multiply" and int(cells[2][4]) > 0


def test_table_of_a_wrong_op_fails(own_ops, capsys):
    @op("wrong_demo", namespace=None, samples=unary)
    def wrong_demo(xp, x: Array) -> Array:
        return x * x

    @wrong_demo.vjp
    def _(F, g, x):
        return g * x
    assert checks.main(["tanh", "wrong_demo"]) == 1
    out = capsys.readouterr().out
    assert "FAILED" in out and "analytic = numeric * 1/2" in out
    assert hasattr(ops, "wrong_demo")


def test_unknown_op_is_a_usage_error(capsys):
    assert checks.main(["tanh", "tanhh"]) == 2
    seen = capsys.readouterr()
    assert seen.out == "" and seen.err.startswith("usage: python -m minipaddle gradcheck")
    assert "no op is called 'tanhh'; near it: tanh" in seen.err
