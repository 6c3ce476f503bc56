"""One definition makes an operation: everything else about it is found to follow."""
from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import checks, core
from minipaddle.core import Array, Arrays, Tensor, op, ops, public, registry
from minipaddle.samples import pairs


@pytest.fixture
def blend(own_ops):
    """A new op, as an author would write one: x^2 y, times a factor."""
    @op(broadcasts=True, promote="float", amp="allow", aliases=("mix_demo",), inplace=True,
        method=("blend_demo", "__lshift__", "__rlshift__"), samples=pairs)
    def blend_demo(xp, x: Array, y: Array, factor: float = 1.0) -> Array:
        """x * x * y, times `factor`."""
        return x * x * (y * x.dtype.type(factor))

    @blend_demo.vjp
    def _(F, g, x, y, factor):
        return g * x * y * (2.0 * factor), g * x * x * factor
    before = {n: vars(Tensor).get(n) for n in ("__lshift__", "__rlshift__")}
    yield blend_demo
    for name, method in before.items():
        delattr(Tensor, name) if method is None else setattr(Tensor, name, method)


class Recorder:
    """The smallest tracer: notes what is called, and lets it run."""

    def __init__(self) -> None:
        self.calls = []

    def record(self, op, inputs, attrs):
        self.calls.append((op.name, len(inputs), attrs))
        return NotImplemented

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: NotImplemented


class Half:
    """The smallest mixed-precision state: ops marked "allow" run in float16."""

    dtype = paddle.float16

    def decide(self, op):
        return {"allow": "low", "block": "float32", "promote": "promote"}.get(op.amp)


def two():
    return (paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False),
            paddle.to_tensor([10.0, 20.0], stop_gradient=False))


# ---- what follows from a definition
def test_function_method_alias_operator_inplace(blend):
    x, y = two()
    expected = [[10.0, 80.0], [90.0, 320.0]]
    for result in (paddle.blend_demo(x, y), paddle.mix_demo(x, y), x.blend_demo(y), x << y,
                   ops.blend_demo(x, y), paddle.blend_demo(x=x, y=y, name="any")):
        assert result.tolist() == expected and not result.stop_gradient
    assert paddle.blend_demo(x, y, factor=2.0).tolist() == [[20.0, 160.0], [180.0, 640.0]]
    assert (2.0 << y).tolist() == [40.0, 80.0]      # the swapped operator
    z = x * 1.0
    assert z.blend_demo_(y) is z and z.tolist() == expected
    assert paddle.blend_demo_(x * 1.0, y).tolist() == expected


def test_signature_docstring_and_name_are_the_authors(blend):
    signature = inspect.signature(paddle.blend_demo)
    assert list(signature.parameters) == ["x", "y", "factor", "name"]
    assert signature.parameters["factor"].default == 1.0
    assert paddle.blend_demo.__doc__ == "x * x * y, times `factor`."
    assert paddle.blend_demo.__name__ == "blend_demo"
    assert registry["blend_demo"].inputs == ["x", "y"]
    assert registry["blend_demo"].attrs == ["factor"]


def test_gradients_and_gradients_of_gradients(blend):
    x, y = two()
    blend(x, y).sum().backward()
    assert x.grad.tolist() == [[20.0, 80.0], [60.0, 160.0]]
    assert y.grad.tolist() == [10.0, 20.0]          # summed over the broadcast rows
    (dx,) = paddle.grad(blend(x, y), x, create_graph=True)
    (dxx,) = paddle.grad(dx, x)
    assert dxx.tolist() == [[20.0, 40.0], [20.0, 40.0]]


def test_promotion(blend):
    ints = paddle.to_tensor([1, 2])
    assert blend(ints, ints).dtype == paddle.float32
    assert blend(ints, paddle.to_tensor([1.0, 1.0], "float64")).dtype == paddle.float64
    assert blend(paddle.to_tensor([2.0]), np.float64(3)).dtype == paddle.float32
    x = paddle.to_tensor([2.0], "float16", stop_gradient=False)
    y = blend(x, 3.0)
    y.backward()
    assert (y.dtype, x.grad.dtype, float(x.grad)) == (paddle.float16, paddle.float16, 12.0)


def test_capture(blend):
    x, y = two()
    recorder = Recorder()
    core.set_tracer(recorder)
    x.blend_demo(y, factor=3.0)
    core.set_tracer(None)
    assert recorder.calls == [("blend_demo", 2, {"factor": 3.0})]


def test_amp(blend):
    x, y = two()
    core.set_amp_state(Half())
    out = x.blend_demo(y)
    core.set_amp_state(None)
    assert out.dtype == paddle.float16
    out.astype("float32").sum().backward()
    assert x.grad.dtype == paddle.float32 and x.grad.tolist() == [[20.0, 80.0], [60.0, 160.0]]


def test_gradient_check_finds_it(blend, capsys):
    assert max(checks.check_op("blend_demo").errors) < 1e-8
    assert checks.main(["blend_demo"]) == 0
    assert "blend_demo | ok      | ok" in capsys.readouterr().out


def test_observers_see_it(blend):
    x, y = two()
    seen = []
    core.set_observers([lambda op, inputs, outputs: seen.append((op.name, outputs.shape))])
    x.blend_demo(y)
    core.set_observers(())
    x.blend_demo(y)
    assert seen == [("blend_demo", [2, 2])]


def test_in_a_static_program_and_in_converted_code(blend):
    """A converted function calls it like any other; see also tests of jit."""
    @paddle.jit.to_static(input_spec=[paddle.static.InputSpec([None, 2]),
                                      paddle.static.InputSpec([2])])
    def fn(x, y):
        return paddle.blend_demo(x, y, 2.0) + 1.0
    x, y = two()
    np.testing.assert_allclose(fn(x, y).numpy(), (blend(x, y, 2.0) + 1.0).numpy())


def test_under_auto_cast(blend):
    x, y = two()
    with paddle.amp.auto_cast():
        assert x.blend_demo(y).dtype == paddle.float16


# ---- the definition itself
def test_vjp_gets_what_it_names(own_ops):
    seen = {}

    @op("named_demo", namespace=None)
    def named_demo(xp, x: Array, scale: float = 2.0) -> Array:
        return x * scale

    @named_demo.vjp
    def _(F, g, out, x_shape, scale, need):
        seen.update(out=out, x_shape=x_shape, scale=scale, need=need)
        return g * scale
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = named_demo(x * 1.0)
    y.backward()
    assert seen["out"] is y._data and tuple(seen["x_shape"]) == (2,)
    assert seen["scale"] == 2.0 and seen["need"] == (True,)


def test_vjp_with_an_unknown_name_is_refused_at_once(own_ops):
    @op("odd_demo", namespace=None)
    def odd_demo(xp, x: Array) -> Array:
        return x
    with pytest.raises(TypeError, match="odd_demo: its vjp names 'weight', which is none of"):
        @odd_demo.vjp
        def _(F, g, weight):
            return g


def test_a_plain_vjp_may_not_name_residuals(own_ops):
    @op("odd_demo", namespace=None, residuals=("mask",))
    def odd_demo(xp, x: Array) -> Array:
        return x, x
    with pytest.raises(TypeError, match="only a kernel_vjp may name the residual 'mask'"):
        @odd_demo.vjp
        def _(F, g, mask):
            return g * mask


def test_a_name_is_taken_once(own_ops):
    with pytest.raises(ValueError, match="an op named 'tanh' is registered already"):
        @op("tanh")
        def tanh(xp, x: Array) -> Array:
            return x


def test_wrong_number_of_gradients_is_named(own_ops):
    @op("short_demo", namespace=None, broadcasts=True)
    def short_demo(xp, x: Array, y: Array) -> Array:
        return x + y

    @short_demo.vjp
    def _(F, g):
        return g
    x, y = two()
    with pytest.raises(RuntimeError, match="short_demo: its vjp gave 1 gradients for 2 inputs"):
        short_demo(x, y).backward()


def test_lists_optionals_and_several_results(own_ops):
    @op("many_demo", namespace=None)
    def many_demo(xp, xs: Arrays, w: Array | None = None, k: int = 1) -> tuple:
        total = sum(xs[1:], xs[0]) * k
        return total, total * (2 if w is None else w)

    @many_demo.vjp
    def _(F, g, xs, w, out, k):
        first, second = g
        total = first + second * (2.0 if w is None else w)
        gw = None if w is None else second * out[0]
        return [total * float(k) for _ in xs], gw
    a, b = (paddle.to_tensor([float(i)], stop_gradient=False) for i in (1, 2))
    w = paddle.to_tensor([3.0], stop_gradient=False)
    t, u = many_demo([a, b], w, k=2)
    assert (t.tolist(), u.tolist()) == ([6.0], [18.0])
    (t + u).backward()
    assert (a.grad.tolist(), b.grad.tolist(), w.grad.tolist()) == ([8.0], [8.0], [6.0])
    parts = [a, b]
    second = many_demo(parts)[1]                    # the second result alone, no w
    parts.clear()                                   # the list stays the caller's
    second.backward()
    assert a.grad.tolist() == [10.0]


def test_fused_op_and_its_composite(own_ops):
    calls = []

    @op("fused_demo", namespace=None, residuals=("e",))
    def fused_demo(xp, x: Array) -> Array:
        e = xp.exp(x)
        return x * e, e

    @fused_demo.kernel_vjp
    def _(xp, g, x, e):
        calls.append("kernel")
        return g * (e + x * e)

    @fused_demo.composite
    def _(F, x):
        calls.append("composite")
        return x * F.exp(x)
    x = paddle.to_tensor(1.0, "float64", stop_gradient=False)
    y = fused_demo(x)
    assert isinstance(y, Tensor)
    y.backward()
    assert calls == ["kernel"]
    (d1,) = paddle.grad(fused_demo(x), x, create_graph=True)
    (d2,) = paddle.grad(d1, x, create_graph=True)
    (d3,) = paddle.grad(d2, x)
    assert "kernel" not in calls[1:]
    np.testing.assert_allclose([float(x.grad), float(d1), float(d2), float(d3)],
                               np.e * np.array([2.0, 2.0, 3.0, 4.0]), rtol=1e-12)


def test_public_functions_are_published_too(own_ops):
    @public(method=True, aliases=("twice_demo",))
    def doubled_demo(x):
        return x + x
    x, _ = two()
    assert x.doubled_demo().tolist() == x.twice_demo().tolist() == paddle.doubled_demo(x).tolist()
    assert ops.doubled_demo is doubled_demo


# ---- every op that is registered
@pytest.mark.parametrize("name", sorted(registry))
def test_every_op_is_documented_and_typed(name):
    record = registry[name]
    assert record.doc and record.doc.strip(), "a docstring says what it computes"
    assert record.amp in ("allow", "block", "promote", "keep")
    assert record.promote in ("keep", "promote", "float", "same")
    assert not (record.vjp and record.kernel_vjp)
    assert record.kernel_vjp is None or record.composite is not None
    assert set(record.casts) <= set(record.inputs)
    missing = [n for n in record.names if n not in record.forward.__annotations__]
    assert not missing, f"no type for {missing}"


def test_the_registry_is_no_part_of_a_pickle():
    x, _ = two()
    assert len(pickle.dumps(x)) < 1000
