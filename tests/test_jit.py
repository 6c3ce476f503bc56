"""to_static: values and gradients as in eager mode, the cache, guards, effects, errors."""
from __future__ import annotations

import functools
import inspect
import linecache
import threading

import numpy as np
import pytest
import random_programs

import minipaddle as paddle
from minipaddle import nn
from minipaddle.nn import functional as F
from minipaddle.static import InputSpec as Spec
from minipaddle.static import StaticError

convert = paddle.jit.to_static


def tensor(values, grad=True):
    return paddle.to_tensor(np.asarray(values, "float64"), stop_gradient=not grad)


def result(f, *arrays, grad=True):
    """Values and gradients of f at float64 inputs; integers stay integers."""
    inputs = [tensor(a, grad) if np.asarray(a).dtype.kind == "f" else paddle.to_tensor(a)
              for a in arrays]
    out = f(*inputs)
    out = out if isinstance(out, (tuple, list)) else [out]
    values = [o.numpy() if isinstance(o, paddle.Tensor) else np.asarray(o) for o in out]
    total = sum([(o * o).sum() for o in out if isinstance(o, paddle.Tensor)
                 and not o.stop_gradient], start=paddle.zeros([]))
    grads = []
    if grad and not total.stop_gradient:
        total.backward()
        grads = [t.grad.numpy() for t in inputs if t.grad is not None]
    return values, grads


def agree(f, *sets, programs=None):
    """Converted f equals f for all sets of inputs, with gradients and without."""
    static = convert(f)
    for arrays in sets:
        for grad in (True, False):
            want, got = result(f, *arrays, grad=grad), result(static, *arrays, grad=grad)
            for w, g in zip(want, got):
                assert len(w) == len(g)
                for a, b in zip(w, g):
                    assert a.shape == b.shape and a.dtype == b.dtype
                    np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
    if programs is not None:
        assert len(static.program_cache) == programs
    return static


X, Y = np.array([0.4, -1.3, 0.9]), np.array([1.2, 0.3, -0.7])


# ---- straight lines, branches, loops
def test_straight_line():
    agree(lambda x, y: paddle.tanh(x * y + 1).sum() / 3, (X, Y), (Y, X), programs=2)


def test_branches_that_leave_several_names():
    def f(x, y):
        a, b = x, y
        if x.sum() > y.sum():
            a, c = b * 2, a - 1
        elif x[0] > 0:
            c = a * b
        else:
            a = c = x
        return a * c, b
    agree(f, (X, Y), (Y, X), (-X, Y), (-Y, -X))


def test_early_return_in_nested_loops():
    def f(x, n):
        for i in range(n):
            j = 0
            while j < i:
                if x[j] * i > 1.5:
                    return x * j, x.sum() + i
                j += 1
            x = paddle.tanh(x) + 0.1
        return x, x.mean()
    for n in (0, 1, 3, 5):
        agree(f, (X, n), (Y, n), (4 * Y, n))


def test_second_operand_is_only_computed_when_needed():
    def f(x, i):
        if i < 3 and x[i] > 0 or not i < 2 and x[i - 2] < 0:
            return x * 2
        return x - 1
    agree(f, *[(X, k) for k in range(5)])


def test_lists_that_grow_in_a_symbolic_loop():
    def f(x, n):
        outs, k = [x], 0
        for i in range(n):
            outs.append(outs[-1] * 0.5 + i)
            if len(outs) > 3:
                outs.pop(0)
            k += 1
        return paddle.stack(outs).sum(0), outs[0], k
    agree(f, (X, 0), (X, 2), (Y, 6))


def test_shapes_that_grow_in_a_loop():
    def f(x, n):
        while x.shape[0] < n:
            x = paddle.concat([x, x[-1:] * 2])
        return x
    agree(f, (X, 2), (X, 5), (Y, 9))


def test_in_place_writes_in_branches_and_loops():
    def f(x, n):
        y = x * 1
        z = y[1:]
        for i in range(n):
            y[i] = y[i] * 2 + 1
            if y.sum() > 2:
                y[0] = x[2]
        z[0] = 7.0
        return y, z
    static = convert(f)
    for n in (0, 1, 3):
        want, got = (result(g, X, n, grad=False)[0] for g in (f, static))
        for a, b in zip(want, got):
            np.testing.assert_allclose(a, b)


def test_names_that_may_mean_one_tensor_are_not_written_in_place():
    def f(x, y):
        a, b = x * 1, y * 1
        c = a if x.sum() > 0 else b
        a[0] = 5.0
        return a, b, c
    with pytest.raises(StaticError, match=r"clone\(\)"):
        convert(f)(tensor(X), tensor(Y))


# ---- gradients
def test_several_forwards_before_one_backward():
    net = nn.Linear(3, 3)

    def f(x):
        return net(x) * (x if x.mean() > 0 else -x)

    static = convert(f)
    got = []
    for g in (f, static):
        a, b = g(paddle.ones([2, 3])), g(-paddle.ones([2, 3]))
        (b.sum() * 2 + a.sum()).backward()
        got.append([net.weight.grad.numpy(), net.bias.grad.numpy()])
        net.clear_gradients()
    for a, b in zip(*got):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_double_gradient():
    f = convert(lambda x: (x ** 3 if x.mean() > 0 else x ** 2).sum())
    for a, want in ((X + 1, 36 * (X + 1) ** 3), (X - 1, 8 * (X - 1))):
        x = tensor(a)
        g = paddle.grad(f(x), x, create_graph=True)[0]
        np.testing.assert_allclose(paddle.grad((g * g).sum(), x)[0].numpy(), want, rtol=1e-12)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.bn, self.one = nn.BatchNorm1D(4), nn.Linear(4, 8)
        self.two, self.drop = nn.Linear(8, 2), nn.Dropout(0.5)
        self.gain = 1.0

    def forward(self, x):
        h = paddle.tanh(self.one(self.bn(x)))
        if h.mean() > 0:
            h = h * 1.5
        return self.two(self.drop(h)) * self.gain


def train(net, model, steps=8):
    opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    rng, losses = np.random.default_rng(1), []
    paddle.seed(5)
    for k in range(steps):
        x = paddle.to_tensor(rng.standard_normal((4 + k % 2, 4)).astype("float32"))
        loss = (model(x) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(float(loss))
    return losses + [v.numpy() for v in net.state_dict().values()]


def test_training_equals_eager_training():
    runs = []
    for how in (lambda n: n, convert):
        paddle.seed(1)
        net = Net()
        runs.append(train(net, how(net)))
    for a, b in zip(*runs):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_frozen_parameters_and_modes():
    net = Net()
    model = convert(net)
    x = paddle.rand([3, 4])
    net.one.weight.stop_gradient = True
    model(x).sum().backward()
    assert net.one.weight.grad is None and net.two.weight.grad is not None
    net.one.weight.stop_gradient = False
    model(x).sum().backward()
    assert net.one.weight.grad is not None
    net.eval()
    before = net.bn._mean.numpy()
    assert (model(x).numpy() == model(x).numpy()).all()
    assert (net.bn._mean.numpy() == before).all()
    net.train()
    assert (model(x).numpy() != model(x).numpy()).any()
    assert (net.bn._mean.numpy() != before).any()


def test_no_grad_and_detach_inside():
    def f(x, y):
        with paddle.no_grad():
            k = x.mean()
        z = (y * 2).detach() if x.sum() > 0 else y
        return x * k + z
    agree(f, (X, Y), (Y, X), (-X, Y))


def test_random_numbers_are_drawn_at_run_time():
    f = convert(lambda x: F.dropout(x + paddle.rand([64]), 0.5, training=True))
    x = paddle.ones([64])
    paddle.seed(3)
    state = f(x).numpy()
    assert (f(x).numpy() != state).any()
    paddle.seed(3)
    assert (f(x).numpy() == state).all()


# ---- dynamic sizes
def test_one_program_for_all_batch_sizes():
    def f(x):
        n = x.shape[0]
        y = x.reshape([n, -1]) / n
        for i, row in enumerate(x):
            y = y + row.reshape([-1]) * i
        if n > 3:
            y = y + 1
        return y, n

    static = convert(f, input_spec=[Spec([None, 2, 3], "float64")])
    for n in (1, 2, 5):
        x = np.random.default_rng(n).standard_normal((n, 2, 3))
        want, got = result(f, x), result(static, x)
        for a, b in zip(want[0] + want[1], got[0] + got[1]):
            np.testing.assert_allclose(a, b)
    assert len(static.program_cache) == 1
    with pytest.raises(ValueError, match=r"InputSpec says \[None, 2, 3\]"):
        static(tensor(np.ones((2, 3))))


# ---- the cache and its guards
def test_one_program_for_one_kind_of_arguments():
    traced = []

    def g(x, k=1, *, flip=False):
        traced.append(k)
        y = x * k if x.mean() > 0 else x - k
        return -y if flip else y

    f = convert(g)
    x = paddle.ones([2])
    for call in (lambda: f(x), lambda: f(x + 1), lambda: f(x, 1), lambda: f(x, k=1),
                 lambda: f(x, flip=False)):
        call()
    assert len(f.program_cache) == 1 and traced == [1] * 5
    f(x, 1.0), f(x, True), f(x, 2), f(x, flip=True), f(paddle.ones([3]))
    assert len(f.program_cache) == 6


def test_changed_globals_cells_and_attributes_are_seen():
    k = 1.0
    net = Net()
    net.eval()
    f = convert(lambda x: net(x) * k + SCALE)
    x = paddle.ones([2, 4])

    def check():
        np.testing.assert_allclose(f(x).numpy(), net(x).numpy() * k + SCALE, rtol=1e-6)

    global SCALE
    for SCALE, k, net.gain in ((2.0, 1.0, 1.0), (5.0, 1.0, 1.0), (5.0, -1.0, 1.0), (5.0, -1.0, 3.0),
                               (2.0, 1.0, 1.0)):
        check()
    assert len(f.program_cache) == 4
    net.two.weight.set_value(np.ones([8, 2], "float32"))
    check()
    net.two.bias = paddle.create_parameter([2], "float32")
    check()
    net.register_forward_post_hook(lambda layer, inputs, out: out * 10)
    check()


SCALE = 2.0


def test_what_is_written_outside_is_written_at_every_call():
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", paddle.zeros([1]))
            self.calls, self.last, self.seen = 0, None, []

        def forward(self, x):
            self.calls += 1
            self.steps = self.steps + 1
            if x.mean() > 0:
                self.last = x * 2
            else:
                self.last = x - 1
            self.seen.append(self.calls)
            return self.last + self.steps

    nets = Counter(), convert(Counter())
    for sign in (1, -1, 1):
        a, b = [n(paddle.ones([2]) * sign) for n in nets]
        assert a.tolist() == b.tolist()
    a, b = nets
    assert (a.calls, a.seen, a.steps.tolist(), a.last.tolist()) == \
        (b.calls, b.seen, b.steps.tolist(), b.last.tolist())


def test_printing_happens_at_run_time(capsys):
    def f(x):
        s = x.sum()
        if s > 0:
            print("warm", s.item(), sep="=")
        else:
            print(f"cold {float(s):.1f} {x.shape}")
        return s

    static = convert(f)
    capsys.readouterr()
    for sign in (1, -1, 1):
        f(paddle.ones([2]) * sign)
        want = capsys.readouterr().out
        static(paddle.ones([2]) * sign)
        assert capsys.readouterr().out == want != ""


# ---- functions of every kind
def test_callables():
    class Scaler:
        factor = 3.0

        def __call__(self, t):
            return t * self.factor if t.mean() > 0 else self.cold(t)

        @staticmethod
        def cold(t):
            return t - 1

    def helper(x, k):
        return x * k if x.sum() > 0 else x

    for f in (Scaler(), functools.partial(helper, k=4), Scaler().cold, lambda x: Scaler()(x)):
        agree(f, (X,), (-X,), (Y,))
    assert inspect.signature(convert(helper)) == inspect.signature(helper)


class Decorated(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    @paddle.jit.to_static(input_spec=[Spec([None, 3])])
    def forward(self, x):
        """Doc."""
        return self.double(self.fc(x))

    @paddle.jit.not_to_static
    def double(self, x):
        return x * 2


def test_decorated_methods_belong_to_their_instance():
    a, b = Decorated(), Decorated()
    x = paddle.ones([2, 3])
    for net in (a, b):
        np.testing.assert_allclose(net(x).numpy(), (net.fc(x) * 2).numpy(), rtol=1e-6)
    assert a.forward is a.forward and a.forward is not b.forward
    assert Decorated.forward.__doc__ == "Doc."


def test_rollback_and_switch():
    net = nn.Linear(2, 2)
    convert(net)
    assert hasattr(net.forward, "program_cache")
    net.forward.rollback()
    assert not hasattr(net.forward, "program_cache")
    f = convert(lambda x: x + 1)
    paddle.jit.enable_to_static(False)
    try:
        f(paddle.ones([1]))
        assert len(f.program_cache) == 0
    finally:
        paddle.jit.enable_to_static(True)


def test_py_layer_and_hooks_inside():
    class Triple(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 3

    def f(x):
        y = Triple.apply(x)
        if not y.stop_gradient:
            y.register_hook(lambda g: g * 10)
        return y * 2
    agree(f, (X,), (Y,))


def test_a_program_serves_several_threads():
    net = Net()
    net.eval()
    model = convert(net, input_spec=[Spec([None, 4])])
    inputs = [paddle.ones([k + 1, 4]) * k for k in range(8)]
    want = [model(x).numpy() for x in inputs]
    bad = []

    def work(k):
        for _ in range(50):
            if not (model(inputs[k]).numpy() == want[k]).all():
                bad.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


# ---- errors
def line_of(f, text):
    lines, first = inspect.getsourcelines(f)
    return first + next(i for i, t in enumerate(lines) if text in t)


def told(error):
    return str(error.value) + "".join(getattr(error.value, "__notes__", []))


def test_error_while_building_names_the_line():
    def f(x):
        y = x + 1
        return paddle.matmul(y, x)

    with pytest.raises(ValueError, match="matmul") as error:
        convert(f)(paddle.ones([3, 4]))
    assert f"{__file__}:{line_of(f, 'matmul')}, in f" in told(error)


def test_error_at_run_time_names_the_line():
    def f(x, i):
        y = x + 1
        return y[i]

    static = convert(f)
    static(tensor(X), paddle.to_tensor(1))
    for grad in (True, False):
        with pytest.raises(IndexError) as error:
            static(tensor(X, grad), paddle.to_tensor(7))
        assert f":{line_of(f, 'y[i]')}, in f" in told(error)


def test_unbound_names_fail_as_in_python():
    def f(x):
        if x.sum() < 0:
            late = x * 2
        return x + late

    static = convert(f)
    assert static(-paddle.ones([2])).tolist() == [-3.0, -3.0]
    with pytest.raises(UnboundLocalError, match="late") as error:
        static(paddle.ones([2]))
    assert f":{line_of(f, 'x + late')}, in f" in told(error)


def test_asserts_and_raises_keep_type_and_text():
    def f(x):
        assert x.min() > 0, f"too small: {x.min().item():.1f}"
        if x.sum() > 10:
            raise LookupError("too large")
        return x

    static = convert(f)
    assert static(paddle.ones([2])).tolist() == [1.0, 1.0]
    with pytest.raises(AssertionError, match="too small: -1.0"):
        static(-paddle.ones([2]))
    with pytest.raises(LookupError, match="too large"):
        static(paddle.ones([2]) * 9)


@pytest.mark.parametrize("text, says", [
    ("if x.sum() > 0:\n        y = [x]\n    else:\n        y = {'a': x}\n    return y", "`y`"),
    ("while x.sum() < 9:\n        x = paddle.stack([x, x])\n    return x", "changes what `x` is"),
    ("return x.numpy() * 2", "numpy"),
    ("yield x", "yield"),
    ("return [r for r in x if r > 0]", "comprehension"),
    ("return f(x / 2) if x.max() > 1 else x", "calls itself"),
])
def test_refusals_say_what_and_where(text, says, tmp_path):
    path = tmp_path / "user.py"
    path.write_text(f"import minipaddle as paddle\n\n\ndef f(x):\n    {text}\n")
    space: dict = {"__name__": "user"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(StaticError) as error:
        convert(space["f"])(paddle.ones([3]))
    assert says in told(error) and "user.py:" in told(error)


def test_a_failed_conversion_changes_nothing():
    net = Net()
    net.flag = "whole"

    def f(x):
        net.flag = "half"
        with paddle.no_grad():
            return x.reshape([7])

    static = convert(f)
    with pytest.raises(ValueError):
        static(paddle.ones([3]))
    assert net.flag == "whole" and len(static.program_cache) == 0
    assert paddle.is_grad_enabled() and static(paddle.ones([7])).shape == [7]


def test_no_source():
    space: dict = {"paddle": paddle}
    exec("def made(x):\n    return paddle.tanh(x) + x.shape[0]\n"
         "def branch(x):\n    return x if x.sum() > 0 else -x", space)
    f = convert(space["made"])
    np.testing.assert_allclose(f(tensor(X)).numpy(), np.tanh(X) + 3)
    with pytest.raises(StaticError, match="no source"):
        convert(space["branch"])(tensor(X))


# ---- what else a StaticFunction offers
def test_code_and_levels(capsys):
    def sample(x):
        while x.sum() > 1:
            x = x / 2
        return x

    code = convert(sample).code
    assert "def sample(x)" in code and "x = x / 2" in code and "_jit.while_" in code
    assert paddle.jit.ProgramTranslator().get_code(sample) == code

    def fresh(x):
        return -x if x.sum() > 1 else x

    paddle.jit.set_code_level(100)
    try:
        convert(fresh)(paddle.ones([3]))
    finally:
        paddle.jit.set_code_level(0)
    assert "def fresh(x)" in capsys.readouterr().out


# ---- random programs
def program(seed, folder):
    path = folder / f"random_{seed}.py"
    path.write_text(random_programs.write(seed))
    linecache.checkcache(str(path))
    space: dict = {"paddle": paddle, "__name__": f"random_{seed}"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["f"]


def outcome(f, arrays, grad=True):
    try:
        return result(f, *arrays, grad=grad)
    except StaticError:
        raise
    except Exception as error:                      # both must fail alike
        return type(error)


@pytest.mark.filterwarnings("ignore:.*encountered in")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, tmp_path):
    f = program(seed, tmp_path)
    static, loaded = convert(f), None
    rng = np.random.default_rng(seed)
    sets = [(rng.standard_normal(3) * s, rng.standard_normal(3), n)
            for s, n in ((1, 2), (2, 0), (-1, 3))]
    try:
        for arrays in sets:
            want, got = outcome(f, arrays), outcome(static, arrays)
            if isinstance(want, type):
                if want is not RuntimeError:        # eager refuses some in-place writes
                    assert got is want
                continue
            for w, g in zip(want, got):
                assert len(w) == len(g)
                for a, b in zip(w, g):
                    np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10)
        spec = [Spec([3], "float64"), Spec([3], "float64"), Spec([], "int64")]
        paddle.jit.save(static, str(tmp_path / "m"), spec)
        loaded = paddle.jit.load(str(tmp_path / "m"))
    except StaticError as error:
        assert f"random_{seed}.py:" in str(error)   # refused, with the place
    for arrays in sets if loaded is not None else ():
        want, got = outcome(f, arrays, False), outcome(loaded, arrays, False)
        if isinstance(want, type):
            assert got is want
            continue
        for a, b in zip(want[0], got[0]):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10)
