"""Numerical checks of gradients: `paddle.autograd.gradcheck`, and those of the registered ops.

Imports core, samples and below. A check draws a random direction u and a random weight v for the
results: d/dt <v, f(x + t u)> by central differences must equal <grad, u>. That costs four
evaluations whatever the sizes, and a wrong entry cannot hide in it. Only when it fails are the
entries visited one by one, to say which is wrong and how.

Order two checks the gradients themselves as a function: of the inputs, and of the weights.
"""
from __future__ import annotations

import functools
import inspect
import sys
from typing import Callable, NamedTuple

import numpy as np

from .core import Op, Tensor, asnumpy, convert_dtype, grad, is_array, ops, registry, to_tensor
from .device import place_of
from .samples import Draw

_ENTRIES = 400          # how many entries of an input are visited to explain a failure


class GradientError(AssertionError):
    """A gradient that disagrees with the numerical one; `str()` says where and how."""


def gradcheck(fn: Callable, inputs, order: int = 1, eps: float = 1e-4, rtol: float = 1e-6,
              atol: float = 1e-7, raise_exception: bool = True) -> bool:
    """Check the gradients of `fn` against central differences, in float64, up to an order.

    fn: takes Tensors, returns a Tensor or several, and is smooth where it is asked.
    inputs: float64 arrays or Tensors of any shape (also lists of them); other dtypes, Tensors
    with stop_gradient=True, and plain values are handed to fn as constants.
    order: 1 checks gradients, 2 gradients of gradients too, 3 and more likewise.
    eps: step of the central differences; steps eps and 2 eps are combined, so that the error is
    of the order eps^4. A gradient passes within atol + rtol * its size.

    Returns True. A wrong gradient raises GradientError (an AssertionError) that names the input,
    the entry and both values; with raise_exception=False it gives False.
    ValueError when nothing can be checked or fn is random.

    >>> import numpy as np
    >>> import minipaddle as paddle
    >>> paddle.autograd.gradcheck(lambda x, y: x * x / y, [np.ones(3), np.array(2.0)], order=2)
    True
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    try:
        check_function(fn, inputs, _parameter_names(fn, len(inputs)), order, eps, rtol, atol)
    except GradientError:
        if raise_exception:
            raise
        return False
    return True


def check_function(fn, inputs, names, order=1, eps=1e-4, rtol=1e-6, atol=1e-7, seed=0,
                   subject=None) -> list[float]:
    """`gradcheck` that gives the relative error of each order; names: one for each input."""
    rng, errors = np.random.default_rng(seed), []
    subject = subject or getattr(fn, "__name__", "fn")
    for level in range(1, order + 1):
        problem = _Problem(fn, inputs, names, f"{subject}, order {level}")
        seeds = problem.weights(rng)
        errors.append(problem.check(seeds, rng, eps, rtol, atol))
        if level < order:
            fn = problem.gradient_function()
            inputs = problem.inputs + seeds
            names = list(names) + [f"the gradient handed to {name}" for name in
                                   _result_names(len(seeds))]
    return errors


def _parameter_names(fn, count) -> list[str]:
    """The names of the first parameters of fn, as far as it tells them."""
    try:
        found = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):                 # a builtin may not tell
        found = []
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = [p.name for p in found if p.kind == p.VAR_POSITIONAL]
    names += [f"{rest[0]}[{i}]" if rest else "" for i in range(count)]
    return names[:count]


def _result_names(count) -> list[str]:
    return ["the result"] if count == 1 else [f"result {i}" for i in range(count)]


def _differentiable(value) -> bool:
    if isinstance(value, Tensor):
        return not value.stop_gradient and value._data.dtype.kind in "fc"
    return is_array(value) and value.dtype.kind in "fc"


def _dot(a, b) -> float:
    """The real inner product, for real and complex arrays."""
    return float(np.real(np.vdot(a, b)))


class _Problem:
    """A function, a point, and which of its arguments are differentiated."""

    def __init__(self, fn, inputs, names, subject) -> None:
        self.fn, self.subject = fn, subject
        self.inputs = list(inputs)
        self.paths, self.names, self.base, self.places = [], [], [], []
        for i, value in enumerate(self.inputs):
            group = value if isinstance(value, (list, tuple)) else [value]
            for k, v in enumerate(group):
                if not _differentiable(v):
                    continue
                array = v._data if isinstance(v, Tensor) else v
                if array.dtype not in (np.float64, np.complex128):
                    raise ValueError(f"gradcheck: input {i} is {array.dtype}; its rounding would "
                                     "hide errors. Give float64, or an integer for a constant")
                self.places.append(place_of(array) if isinstance(v, Tensor) else None)
                listed = isinstance(value, (list, tuple))
                self.paths.append((i, k if listed else None))
                label = f"input {i}" + (f"[{k}]" if listed else "")
                self.names.append(f"{label} ({names[i]})" if names[i] else label)
                self.base.append(np.array(asnumpy(array)))
        if not self.paths:
            raise ValueError("gradcheck: no input to differentiate; give float64 arrays, or "
                             "Tensors with stop_gradient=False")

    # -- evaluation
    def run(self, arrays):
        """fn at a point: the leaves made for it, and its floating results."""
        leaves = [to_tensor(a, place=p, stop_gradient=False)
                  for a, p in zip(arrays, self.places)]
        args = [[_constant(u) for u in v] if isinstance(v, (list, tuple)) else _constant(v)
                for v in self.inputs]
        for (i, k), leaf in zip(self.paths, leaves):
            if k is None:
                args[i] = leaf
            else:
                args[i][k] = leaf
        return leaves, _results(self.fn(*args))

    def weights(self, rng) -> list:
        """A random array like each result."""
        _, outs = self.run(self.base)
        if not outs:
            raise ValueError(f"gradcheck: {self.subject}: fn gave no floating Tensor to check")
        return [_random_like(rng, asnumpy(t._data)) for t in outs]

    def value(self, arrays, weights) -> float:
        _, outs = self.run(arrays)
        return sum(_dot(w, asnumpy(t._data)) for w, t in zip(weights, outs))

    def gradient_function(self) -> Callable:
        """(inputs, weights) -> gradients, as a function that can be differentiated again."""
        fn, paths, count = self.fn, self.paths, len(self.inputs)

        def gradients(*args):
            leaves = [args[i] if k is None else args[i][k] for i, k in paths]
            outs = _results(fn(*args[:count]))
            pairs = [(t, w) for t, w in zip(outs, args[count:]) if not t.stop_gradient]
            found = [None] * len(leaves)
            if pairs:
                found = grad([t for t, _ in pairs], leaves, [w for _, w in pairs],
                             create_graph=True, allow_unused=True)
            return [ops.zeros_like(t) if g is None else g for t, g in zip(leaves, found)]
        return gradients

    # -- the check
    def check(self, weights, rng, eps, rtol, atol) -> float:
        """The relative error along a random direction; GradientError when it is too large."""
        leaves, outs = self.run(self.base)
        values = [asnumpy(t._data) for t in outs]
        size = sum(float(np.sum(np.abs(w * v))) for w, v in zip(weights, values))
        if not np.isfinite(size):
            raise ValueError(f"gradcheck: {self.subject}: fn is not finite at this point")
        again = self.value(self.base, weights)
        if not abs(again - sum(_dot(w, v) for w, v in zip(weights, values))) <= 1e-12 * size:
            raise ValueError(f"gradcheck: {self.subject}: fn gives different values for the same "
                             "inputs; call paddle.seed inside it")
        analytic = self.analytic(leaves, outs, weights)
        directions = [_random_like(rng, a) for a in self.base]
        largest = max([1.0] + [float(np.max(np.abs(u))) for u in directions if u.size])
        directions = [u / largest for u in directions]
        numeric, doubt = self.slope(directions, weights, eps)
        mine = sum(_dot(g, u) for g, u in zip(analytic, directions))
        rounding = 1e-14 * size / eps               # what the differences lose to float64
        parts = sum(float(np.sum(np.abs(g * u))) for g, u in zip(analytic, directions))
        error = abs(mine - numeric)
        if not error <= atol + rtol * max(abs(mine), abs(numeric)) + rounding + 1e-13 * parts:
            self.explain(analytic, weights, eps, rtol, atol + rounding, mine, numeric, doubt)
        return error / max(1.0, abs(mine), abs(numeric))

    def analytic(self, leaves, outs, weights) -> list:
        """The gradients that the engine gives; their shapes and dtypes are checked here."""
        pairs = [(t, to_tensor(w, place=t.place)) for t, w in zip(outs, weights)
                 if not t.stop_gradient]
        found = [None] * len(leaves)
        if pairs:
            found = grad([t for t, _ in pairs], leaves, [w for _, w in pairs], allow_unused=True)
        arrays = []
        for name, leaf, g in zip(self.names, leaves, found):
            g = np.zeros_like(asnumpy(leaf._data)) if g is None else asnumpy(g._data)
            if g.shape != tuple(leaf.shape):
                hint = ""
                if g.ndim >= leaf.ndim and _broadcasts(tuple(leaf.shape), g.shape):
                    hint = ("; the sum over the broadcast dimensions is missing "
                            "(broadcasts=True in op(...) leaves it to the engine)")
                elif g.shape == tuple(leaf.shape)[::-1]:
                    hint = "; it is transposed"
                raise GradientError(f"gradcheck: {self.subject}: the gradient of {name} has shape "
                                    f"{list(g.shape)}, the input has {leaf.shape}{hint}")
            if g.dtype != leaf._data.dtype:
                raise GradientError(f"gradcheck: {self.subject}: the gradient of {name} is "
                                    f"{g.dtype}, the input is {leaf._data.dtype}")
            arrays.append(g)
        return arrays

    def slope(self, directions, weights, eps) -> tuple[float, float]:
        """d/dt <v, f(x + t u)> from steps eps and 2 eps, and how far these two disagree."""
        def central(h):
            ahead, back = ([np.asarray(a + t * u) for a, u in zip(self.base, directions)]
                           for t in (h, -h))
            return (self.value(ahead, weights) - self.value(back, weights)) / (2 * h)
        near, far = central(eps), central(2 * eps)
        return (4 * near - far) / 3, abs(near - far)

    # -- the explanation
    def explain(self, analytic, weights, eps, rtol, atol, mine, numeric, doubt) -> None:
        """Visit the entries and raise with the worst one."""
        worst, numerics, doubts = None, [], []
        for i, g in enumerate(analytic):
            n, visited, unsure = self.entries(i, weights, eps)
            numerics.append((n, visited))
            doubts.append(unsure)
            with np.errstate(invalid="ignore"):
                wrong = ~(np.abs(g - n) <= atol + rtol * np.maximum(np.abs(g), np.abs(n)))
            wrong &= visited
            if wrong.any():
                off = np.where(wrong, np.nan_to_num(np.abs(g - n), nan=np.inf, posinf=np.inf), -1)
                at = np.unravel_index(int(np.argmax(off)), g.shape)
                if worst is None or off[at] > worst[0]:
                    worst = (off[at], i, at, int(wrong.sum()))
        head = f"gradcheck: {self.subject}: "
        if worst is None:
            raise GradientError(f"{head}wrong along a random direction (analytic {mine:.10g}, "
                                f"numeric {numeric:.10g}), though no single entry is; the numeric "
                                f"value changes by {doubt:.2g} with the step: is there a kink?")
        _, i, at, count = worst
        n, visited = numerics[i]
        place = "" if not at else " at entry " + str([int(k) for k in at])
        lines = [f"{head}the gradient of {self.names[i]} is wrong{place}:",
                 f"    analytic  {analytic[i][at]:.10g}",
                 f"    numeric   {n[at]:.10g}",
                 f"  {count} of {int(visited.sum())} entries checked disagree"
                 f" (shape {list(n.shape)})"]
        hint = _hint(i, analytic, numerics, self.names)
        if not hint and doubts[i][at] > 1e-3 * max(1.0, abs(n[at])):
            hint = ("steps of different size give different values: is there a kink or a jump "
                    "at this point?")
        if hint:
            lines.append("  " + hint)
        raise GradientError("\n".join(lines))

    def entries(self, i, weights, eps):
        """The numeric gradient of input i entry by entry; which were visited; how unsure."""
        base = self.base[i]
        numeric, visited = np.zeros(base.shape, base.dtype), np.zeros(base.shape, bool)
        unsure = np.zeros(base.shape)
        stride = -(-base.size // _ENTRIES) or 1
        units = (1.0, 1j) if base.dtype.kind == "c" else (1.0,)
        for flat in range(0, base.size, stride):
            at = np.unravel_index(flat, base.shape)
            visited[at] = True
            for unit in units:
                step = [np.zeros_like(b) for b in self.base]
                step[i][at] = unit
                slope, doubt = self.slope(step, weights, eps)
                numeric[at] += unit * slope
                unsure[at] += doubt
        return numeric, visited, unsure


def _constant(value):
    """What fn gets for an input that is not differentiated."""
    if isinstance(value, Tensor):
        return value.detach()
    return to_tensor(value) if is_array(value) else value


def _results(out) -> list:
    """The floating Tensors among what fn returned."""
    if isinstance(out, Tensor):
        out = [out]
    elif not isinstance(out, (list, tuple)):
        raise TypeError(f"gradcheck: fn must return Tensors, got {type(out).__name__}")
    found = []
    for t in out:
        if isinstance(t, (list, tuple)):
            found += _results(t)
        elif isinstance(t, Tensor) and convert_dtype(t.dtype).np.kind in "fc":
            found.append(t)
    return found


def _random_like(rng, array):
    """Values of size 0.5 to 1.5 and either sign: none so small that it hides an entry."""
    def draw():
        return rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1.0, 1.0], array.shape)
    return np.asarray(draw() + 1j * draw() if array.dtype.kind == "c" else draw())


def _broadcasts(small, large) -> bool:
    try:
        return np.broadcast_shapes(small, large) == large
    except ValueError:
        return False


def _hint(i, analytic, numerics, names) -> str:
    """What a wrong gradient looks like: a factor, a sign, a transpose, another input's."""
    g, (n, visited) = analytic[i], numerics[i]
    if not np.isfinite(g).all():
        return "the analytic gradient is not finite"
    if not g.any():
        return "the analytic gradient is zero everywhere: is the input left out of the vjp?"

    def same(a, b):
        return a.shape == b.shape and np.allclose(a[visited], b[visited], rtol=1e-4, atol=1e-6)
    for k, other in enumerate(analytic):
        if k != i and other.shape == g.shape and same(other, n):
            return f"it is what was given to {names[k]}: are the vjp's results in order?"
    if g.ndim >= 2 and visited.all() and not same(g, n):
        if same(np.swapaxes(g, -1, -2), n):
            return "the transpose of the analytic gradient agrees"
        for axis in range(g.ndim):
            if same(np.flip(g, axis), n):
                return f"the analytic gradient flipped along axis {axis} agrees"
    clear = visited & (np.abs(n) > 1e-6) & (np.abs(g) > 1e-6)
    if clear.any() and same(np.where(clear, n, g), n):
        ratio = np.real(g[clear] / n[clear])
        factor = float(np.median(ratio))
        if np.allclose(ratio, factor, rtol=1e-4):
            if abs(factor + 1) < 1e-4:
                return "everywhere the sign is wrong"
            if clear.sum() > 1:
                inverse = 1 / factor
                whole = abs(inverse) > 1.5 and abs(inverse - round(inverse)) < 1e-4
                text = f"1/{inverse:.0f}" if whole else f"{factor:.6g}"
                if whole and any(a.size == g.size * round(inverse) for a in analytic):
                    text += ("; is a sum over the broadcast dimension of that length missing, "
                             "or a mean in its place?")
                return f"everywhere analytic = numeric * {text}"
    return ""


# ---- registered operations
class Report(NamedTuple):
    """What `check_op` found: the relative error of each order."""

    errors: tuple
    args: tuple
    kwargs: dict


def is_differentiable(record: Op) -> bool:
    """Whether an op defines a gradient."""
    return record.vjp is not None or record.kernel_vjp is not None


def problem_of(record: Op, draw) -> tuple:
    """(function of the arrays, arrays, their names, args, kwargs) of one sample of an op."""
    args, kwargs = record.samples(draw)
    # NumPy's arithmetic makes scalars of 0-d arrays; an op's inputs are arrays.
    args = tuple(np.asarray(a) if isinstance(a, np.inexact) else a for a in args)
    held = [k for k, v in kwargs.items() if is_array(v) or (
        isinstance(v, (list, tuple)) and v and all(is_array(u) for u in v))]
    plain = {k: v for k, v in kwargs.items() if k not in held}
    function, count = getattr(ops, record.name), len(args)

    @functools.wraps(function)
    def call(*values):
        return function(*values[:count], **plain, **dict(zip(held, values[count:])))
    names = _parameter_names(function, count) + held
    return call, list(args) + [kwargs[k] for k in held], names, args, kwargs


def check_op(op, draw: Draw | None = None, order: int = 2, rtol: float = 1e-6,
             atol: float = 1e-7) -> Report:
    """Check the gradients of a registered op on one sample of its own.

    op: its name, its function, or its `Op`. Raises GradientError as `gradcheck` does.
    KeyError when no op has that name, ValueError when it has no gradient or no samples.

    >>> from minipaddle.checks import check_op
    >>> max(check_op("tanh").errors) < 1e-7
    True
    """
    record = op if isinstance(op, Op) else registry[op] if isinstance(op, str) else op.op
    if not is_differentiable(record) or record.samples is None:
        raise ValueError(f"{record.name}: " + ("has no samples" if is_differentiable(record)
                                               else "has no gradient"))
    call, values, names, args, kwargs = problem_of(record, draw or Draw())
    errors = check_function(call, values, names, order, rtol=rtol, atol=atol, subject=record.name)
    return Report(tuple(errors), args, kwargs)


def main(argv: list[str] | None = None, samples: int = 12) -> int:
    """`python -m minipaddle gradcheck [OP ...]`: print a table; 1 when a check failed, 2 for a
    name that no op has."""
    names = list(argv or sorted(registry))
    unknown = [n for n in names if n not in registry]
    if unknown:
        import difflib
        print("usage: python -m minipaddle gradcheck [OP ...]", file=sys.stderr)
        for n in unknown:
            near = difflib.get_close_matches(n, registry, 3)
            print(f"python -m minipaddle gradcheck: error: no op is called {n!r}"
                  + (f"; near it: {', '.join(near)}" if near else ""), file=sys.stderr)
        return 2
    width = max(len("op"), *(len(n) for n in names))
    print(f"{'op':<{width}} | order 1 | order 2 | worst error | samples")
    print(f"{'-' * width}-|---------|---------|-------------|--------")
    failures = []
    for name in names:
        status, worst, count = _row(registry[name], samples, failures)
        print(f"{name:<{width}} | {status[0]:<7} | {status[1]:<7} | {worst:>11} | {count:>7}",
              flush=True)
    for text in failures:
        print("\n" + text)
    return 1 if failures else 0


def _row(record, samples, failures):
    """One line of the table: the verdict of each order, the worst error, how many samples."""
    if not is_differentiable(record):
        return ("no gradient", ""), "", ""
    if record.samples is None:
        return ("no samples", ""), "", ""
    status, worst = [], 0.0
    once = record.vjp is None and record.composite is None
    for order in (1, 2):
        if order == 2 and (once or status[0] != "ok"):
            status.append("once" if once else "-")
            continue
        try:
            for seed in range(samples):
                report = check_op(record, Draw(seed), order)
                worst = max(worst, *report.errors)
            status.append("ok")
        except Exception as error:                  # the table goes on; the reason comes below
            kind = "" if isinstance(error, GradientError) else f"{type(error).__name__}: "
            failures.append(f"{record.name}, sample {seed}: {kind}{error}")
            status.append("FAILED")
    return status, f"{worst:.1e}", samples
