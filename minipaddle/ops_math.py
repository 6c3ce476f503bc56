"""Elementwise operations: arithmetic, comparison, logic, bits, exponentials, trigonometry.

Imports kernels_special, samples and core. Families of one shape are tables: a row holds the name,
a sentence, the forward, the vjp, a sampler for the gradient check and an example.
"""
from __future__ import annotations

import warnings

import numpy as np

from .core import Array, op, ops, public, to_tensor

try:
    from .samples import (pairs, pairs_away, pairs_distinct, unary, unary_away0,  # DEV
                          unary_inside1, unary_positive)
except ImportError:  # DEV
    pairs = pairs_away = pairs_distinct = unary = unary_away0 = None  # DEV
    unary_inside1 = unary_positive = None  # DEV

# Paddle is silent where 1 / 0 or log(0) give inf or nan. np.errstate costs more than the whole
# call of a small op, so NumPy's warnings are filtered instead, and only those that come out of
# this package's own lines: a program's own NumPy code still warns.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minipaddle\.")


def _table(rows, **common) -> None:
    """Make an op of each row: (name, sentence, forward, vjp, sampler, example, result, options)."""
    for name, sentence, forward, vjp, sampler, example, result, options in rows:
        names = forward.__code__.co_varnames[1:forward.__code__.co_argcount]
        forward.__annotations__ = {**dict.fromkeys(names, "Array"), "return": "Array"}
        forward.__doc__ = (f"{sentence}\n\n    >>> import minipaddle as paddle\n"
                           f"    >>> {example}\n    {result}\n    ")
        function = op(name, samples=sampler, **{**common, **options})(forward)
        if vjp is not None:
            function.vjp(vjp)
        globals()[name if name not in _BUILTINS else "_" + name] = function


_BUILTINS = ("abs", "round", "pow", "max", "min", "sum", "all", "any", "complex")
# ---- arithmetic
_table((
    ("add", "Elementwise sum x + y; shapes broadcast, dtypes promote.",
     lambda xp, x, y: xp.add(x, y), lambda F, g: (g, g), pairs,
     "paddle.add(paddle.to_tensor([1, 2]), paddle.to_tensor([10, 20])).tolist()", "[11, 22]",
     dict(method=("add", "__add__", "__radd__"), legacy=("elementwise_add",))),
    ("subtract", "Elementwise difference x - y; shapes broadcast, dtypes promote.",
     lambda xp, x, y: xp.subtract(x, y), lambda F, g, need: (g, -g if need[1] else None), pairs,
     "(paddle.to_tensor([1, 2]) - 3).tolist()", "[-2, -1]",
     dict(method=("subtract", "__sub__", "__rsub__"), legacy=("elementwise_sub",))),
    ("multiply", "Elementwise product x * y; shapes broadcast, dtypes promote.",
     lambda xp, x, y: xp.multiply(x, y),
     lambda F, g, x, y, need: (g * y if need[0] else None, g * x if need[1] else None), pairs,
     "(paddle.to_tensor([1, 2]) * 3).tolist()", "[3, 6]",
     dict(method=("multiply", "__mul__", "__rmul__"), legacy=("elementwise_mul",))),
), promote="promote", broadcasts=True, inplace=True)


@op(promote="float", broadcasts=True, inplace=True, samples=pairs_away,
    method=("divide", "__truediv__", "__rtruediv__", "__div__", "__rdiv__"),
    legacy=("elementwise_div",))
def divide(xp, x: Array, y: Array) -> Array:
    """Elementwise true quotient x / y: two integer tensors give the default float dtype.

    Division by zero gives inf or nan, silently.

    >>> import minipaddle as paddle
    >>> (paddle.to_tensor([1, 2]) / 2).tolist()
    [0.5, 1.0]
    """
    return xp.divide(x, y)


@divide.vjp
def _(F, g, x, y, out, need):
    gx = g / y
    return gx, -(gx * out) if need[1] else None


def _refuse_zero(xp, x, y) -> None:
    """Integer division by zero has no value to give: raise, where asking costs no transfer."""
    if xp is np and y.dtype.kind in "iu" and not np.all(y):         # xp: numpy-only
        raise ZeroDivisionError("integer division by zero")


@op(promote="promote", broadcasts=True, inplace=True,
    method=("floor_divide", "__floordiv__", "__rfloordiv__"), legacy=("elementwise_floordiv",))
def floor_divide(xp, x: Array, y: Array) -> Array:
    """The quotient rounded down, x // y: -7 // 2 is -4.

    ZeroDivisionError for integers divided by zero; floats give inf or nan.

    >>> import minipaddle as paddle
    >>> (paddle.to_tensor([-7, 7]) // 2).tolist()
    [-4, 3]
    """
    _refuse_zero(xp, x, y)
    return xp.floor_divide(x, y)


@floor_divide.vjp
def _(F, g):
    return g * 0.0, g * 0.0                 # piecewise constant


@op(promote="promote", broadcasts=True, inplace=True, aliases=("mod", "floor_mod"),
    method=("remainder", "mod", "floor_mod", "__mod__", "__rmod__"), samples=pairs_away,
    legacy=("elementwise_mod",))
def remainder(xp, x: Array, y: Array) -> Array:
    """The remainder of the division rounded down, x - y * (x // y): it has the sign of y.

    ZeroDivisionError for integers divided by zero; floats give nan.

    >>> import minipaddle as paddle
    >>> (paddle.to_tensor([-7.0, 7.5]) % 2).tolist()
    [1.0, 1.5]
    """
    _refuse_zero(xp, x, y)
    return xp.remainder(x, y)


@remainder.vjp
def _(F, g, x, y, need):
    return g, -(g * F.floor(x / y)) if need[1] else None


def _power(xp, x, y):
    """x ** y; a small whole exponent that stands on the host is done by products.

    np.power takes 60 ns an element for x ** 3, two products take 0.3.
    """
    if isinstance(y, np.generic) or (y.ndim == 0 and isinstance(y, np.ndarray)):
        n = y.item()
        if n == 2:
            return x * x
        if n == 0.5 and x.dtype.kind == "f":
            return xp.sqrt(x)
        if n in _SMALL and (x.dtype.kind in "fc" or n > 0):
            m = int(n) if n > 0 else -int(n)
            square, result = x, None
            while m:
                if m & 1:
                    result = square if result is None else result * square
                m >>= 1
                if m:
                    square = square * square
            if n == 1:
                return x + x.dtype.type(0)          # a result of its own, never x's memory
            return result if n > 0 else x.dtype.type(1) / result
    return xp.power(x, y)


_SMALL = {1, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4}


@op("pow", promote="promote", amp="block", broadcasts=True, inplace=True,
    method=("pow", "__pow__", "__rpow__"), legacy=("pow", "elementwise_pow"),
    samples=None)
def _pow(xp, x: Array, y: Array) -> Array:
    """x to the power y; y a number or a Tensor that broadcasts against x.

    Whole exponents up to 8 are computed by products. Where x is 0 the gradient of y is 0.

    >>> import minipaddle as paddle
    >>> (paddle.to_tensor([1.0, 2.0, 3.0]) ** 2).tolist()
    [1.0, 4.0, 9.0]
    """
    return _power(xp, x, y)


@_pow.vjp
def _(F, g, x, y, out, need):
    gx = gy = None
    if need[0]:
        # y == 0 has gradient 0 even at x == 0: its exponent is left at 0 and not made -1.
        gx = g * (y * F.pow(x, y - (y != 0)))
    if need[1]:
        gy = g * out * F.log(x + (x == 0))          # log 1 at x == 0
    return gx, gy


# ---- the larger and the smaller
def _extremum_vjp(larger):
    def vjp(F, g, x, y, need):
        # A tie shares: each side gets half.
        gx = (g * (x >= y) + g * (x > y) if larger else g * (x <= y) + g * (x < y)) * 0.5
        return gx, g - gx if need[1] else None
    return vjp


_table((
    ("maximum", "The larger of x and y; nan where either is. At ties each gets half the gradient.",
     lambda xp, x, y: xp.maximum(x, y), _extremum_vjp(True), pairs_distinct,
     "paddle.maximum(paddle.to_tensor([1, 5]), paddle.to_tensor([3, 2])).tolist()", "[3, 5]",
     dict(legacy=("elementwise_max",))),
    ("minimum", "The smaller of x and y; nan where either is. At ties each gets half the gradient.",
     lambda xp, x, y: xp.minimum(x, y), _extremum_vjp(False), pairs_distinct,
     "paddle.minimum(paddle.to_tensor([1, 5]), paddle.to_tensor([3, 2])).tolist()", "[1, 2]",
     dict(legacy=("elementwise_min",))),
), promote="promote", broadcasts=True)


@op(samples=None, inplace=True)
def clip(xp, x: Array, min: float | None = None, max: float | None = None) -> Array:
    """x limited to [min, max]; each bound a number, a Tensor of one element, or None.

    The gradient is 1 within and at the bounds, 0 outside.

    >>> import minipaddle as paddle
    >>> paddle.clip(paddle.to_tensor([-3.0, 0.5, 9.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    if min is None and max is None:
        return x + x.dtype.type(0)
    return x.clip(_bound(x, min), _bound(x, max))


def _bound(x, value):
    """A bound of clip as a scalar of x's dtype."""
    if value is None:
        return None
    if x.dtype.kind in "iu":
        limits, value = np.iinfo(x.dtype), int(value)
        value = limits.min if value < limits.min else limits.max if value > limits.max else value
    return x.dtype.type(float(value) if x.dtype.kind == "f" else value)


@clip.vjp
def _(F, g, x, min, max):
    if min is None and max is None:
        return g
    if min is None:
        return g * (x <= float(max))
    if max is None:
        return g * (x >= float(min))
    return g * F.logical_and(x >= float(min), x <= float(max))


# ---- comparison
def _comparison(name, sign, doc, function):
    return (name, doc, function, None, None,
            f"(paddle.to_tensor([1, 2, 3]) {sign} 2).tolist()",
            str([eval(f"{v} {sign} 2") for v in (1, 2, 3)]))


_table([(*row, dict(method=(row[0], dunder))) for row, dunder in (
    (_comparison("equal", "==", "Elementwise x == y, a bool Tensor.",
                 lambda xp, x, y: xp.equal(x, y)), "__eq__"),
    (_comparison("not_equal", "!=", "Elementwise x != y, a bool Tensor.",
                 lambda xp, x, y: xp.not_equal(x, y)), "__ne__"),
    (_comparison("less_than", "<", "Elementwise x < y, a bool Tensor.",
                 lambda xp, x, y: xp.less(x, y)), "__lt__"),
    (_comparison("less_equal", "<=", "Elementwise x <= y, a bool Tensor.",
                 lambda xp, x, y: xp.less_equal(x, y)), "__le__"),
    (_comparison("greater_than", ">", "Elementwise x > y, a bool Tensor.",
                 lambda xp, x, y: xp.greater(x, y)), "__gt__"),
    (_comparison("greater_equal", ">=", "Elementwise x >= y, a bool Tensor.",
                 lambda xp, x, y: xp.greater_equal(x, y)), "__ge__"),
)], promote="promote", broadcasts=True, inplace=True, half="native")


# ---- logic and bits
def _written(out, result):
    """Write a result into the Tensor a caller gave as `out`, where one was given."""
    if out is not None:
        out.set_value(result)
    return result


def _logic(name, word, example, result, dunders=()):
    def forward(xp, x: Array, y: Array, out: object = None) -> Array:
        return _written(out, getattr(xp, name)(x, y))
    forward.__doc__ = f"""Elementwise {word}; shapes broadcast. A Tensor `out` gets the result too.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor({example[0]}), paddle.to_tensor({example[1]})
    >>> paddle.{name}(a, b).tolist()
    {result}
    """
    globals()[name] = op(name, promote="promote", broadcasts=True, inplace=True, half="native",
                         method=(name, *dunders))(forward)


_TRUTH, _NUMBERS = ("[True, True, False]", "[True, False, False]"), ("[12, 10]", "[10, 6]")
_logic("logical_and", "truth of x and y", _TRUTH, "[True, False, False]")
_logic("logical_or", "truth of x or y", _TRUTH, "[True, True, False]")
_logic("logical_xor", "truth of just one of x and y", _TRUTH, "[False, True, False]")
_logic("bitwise_and", "and of the bits of x and y", _NUMBERS, "[8, 2]", ("__and__", "__rand__"))
_logic("bitwise_or", "or of the bits of x and y", _NUMBERS, "[14, 14]", ("__or__", "__ror__"))
_logic("bitwise_xor", "exclusive or of the bits of x and y", _NUMBERS, "[6, 12]",
       ("__xor__", "__rxor__"))


@op(half="native", inplace=True)
def logical_not(xp, x: Array, out: object = None) -> Array:
    """Elementwise truth of not x. A Tensor `out` gets the result too.

    >>> import minipaddle as paddle
    >>> paddle.logical_not(paddle.to_tensor([True, False])).tolist()
    [False, True]
    """
    return _written(out, xp.logical_not(x))


@op(half="native", inplace=True, method=("bitwise_not", "__invert__"))
def bitwise_not(xp, x: Array, out: object = None) -> Array:
    """Elementwise inverse of all bits; of a bool its opposite. A Tensor `out` gets it too.

    >>> import minipaddle as paddle
    >>> (~paddle.to_tensor([True, False])).tolist()
    [False, True]
    """
    return _written(out, xp.invert(x))


# ---- one argument
_table((
    ("neg", "-x.", lambda xp, x: xp.negative(x), lambda F, g: -g, unary,
     "(-paddle.to_tensor([1, -2])).tolist()", "[-1, 2]",
     dict(promote="keep", method=("neg", "__neg__"))),
    ("exp", "e to the power x.", lambda xp, x: xp.exp(x), lambda F, g, out: g * out, unary,
     "paddle.exp(paddle.to_tensor([0., 1.], 'float64')).numpy().round(4).tolist()",
     "[1.0, 2.7183]", dict(amp="block")),
    ("expm1", "e to the power x, less 1; exact for small x.",
     lambda xp, x: xp.expm1(x), lambda F, g, out: g * (out + 1.0), unary,
     "paddle.expm1(paddle.to_tensor([0., 1.], 'float64')).numpy().round(4).tolist()",
     "[0.0, 1.7183]", dict(amp="block")),
    ("log", "Natural logarithm; -inf at 0, nan below.",
     lambda xp, x: xp.log(x), lambda F, g, x: g / x, unary_positive,
     "paddle.log(paddle.to_tensor([1., 10.], 'float64')).numpy().round(4).tolist()",
     "[0.0, 2.3026]", dict(amp="block")),
    ("log2", "Logarithm to the base 2.", lambda xp, x: xp.log2(x),
     lambda F, g, x: g / (x * 0.6931471805599453), unary_positive,
     "paddle.log2(paddle.to_tensor([1., 8.])).tolist()", "[0.0, 3.0]", dict(amp="block")),
    ("log10", "Logarithm to the base 10.", lambda xp, x: xp.log10(x),
     lambda F, g, x: g / (x * 2.302585092994046), unary_positive,
     "paddle.log10(paddle.to_tensor([1., 100.])).tolist()", "[0.0, 2.0]", dict(amp="block")),
    ("log1p", "log(1 + x), exact for small x.", lambda xp, x: xp.log1p(x),
     lambda F, g, x: g / (x + 1.0), unary_positive,
     "paddle.log1p(paddle.to_tensor([0., 1.], 'float64')).numpy().round(4).tolist()",
     "[0.0, 0.6931]", dict(amp="block")),
    ("sqrt", "Square root; the gradient at 0 is inf.", lambda xp, x: xp.sqrt(x),
     lambda F, g, out: g * 0.5 / out, unary_positive,
     "paddle.sqrt(paddle.to_tensor([4., 9.])).tolist()", "[2.0, 3.0]", {}),
    ("rsqrt", "1 / sqrt(x).", lambda xp, x: x.dtype.type(1) / xp.sqrt(x),
     lambda F, g, out: g * -0.5 * (out * out * out), unary_positive,
     "paddle.rsqrt(paddle.to_tensor([4., 0.25])).tolist()", "[0.5, 2.0]", dict(amp="block")),
    ("square", "x * x.", lambda xp, x: xp.multiply(x, x), lambda F, g, x: g * x * 2.0, unary,
     "paddle.square(paddle.to_tensor([2, -3])).tolist()", "[4, 9]",
     dict(amp="block", promote="keep")),
    ("reciprocal", "1 / x.", lambda xp, x: x.dtype.type(1) / x,
     lambda F, g, out: -(g * out * out), unary_away0,
     "paddle.reciprocal(paddle.to_tensor([4., -0.5])).tolist()", "[0.25, -2.0]",
     dict(amp="block")),
    ("tanh", "Hyperbolic tangent.", lambda xp, x: xp.tanh(x),
     lambda F, g, out: g * (1.0 - out * out), unary,
     "paddle.tanh(paddle.to_tensor([0., 1.], 'float64')).numpy().round(4).tolist()",
     "[0.0, 0.7616]", {}),
), promote="float", inplace=True)


@op("abs", inplace=True, method=("abs", "__abs__"), samples=unary_away0)
def _abs(xp, x: Array) -> Array:
    """Absolute value |x|, of complex x its real modulus; the gradient at 0 is 0.

    >>> import minipaddle as paddle
    >>> paddle.abs(paddle.to_tensor([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """
    return xp.absolute(x)


@_abs.vjp
def _(F, g, x):
    return g * F.sgn(x)


@op(inplace=True, samples=unary_away0)
def sign(xp, x: Array) -> Array:
    """-1, 0 or 1 by the sign of x; its gradient is 0.

    >>> import minipaddle as paddle
    >>> paddle.sign(paddle.to_tensor([-3.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return xp.sign(x)


@sign.vjp
def _(F, g):
    return g * 0.0


@op(samples=unary_away0)
def sgn(xp, x: Array) -> Array:
    """x / |x|, and 0 at 0: the sign of a real x, the direction of a complex one.

    >>> import minipaddle as paddle
    >>> paddle.sgn(paddle.to_tensor([3 + 4j])).numpy().round(2).tolist()
    [(0.6+0.8j)]
    """
    if x.dtype.kind != "c":
        return xp.sign(x)
    size = xp.absolute(x)
    return x / (size + (size == 0))


@sgn.vjp
def _(F, g, x, out):
    if out.dtype != F.abs(x).dtype:                 # complex: what is along x cancels
        size = F.abs(x)
        along = F.real(g * F.conj(out)) * out
        return (g - along) / (size + (size == 0))
    return g * 0.0


@op(inplace=True, promote="float", samples=unary, namespace="paddle")
def sigmoid(xp, x: Array) -> Array:
    """1 / (1 + exp(-x)).

    >>> import minipaddle as paddle
    >>> paddle.nn.functional.sigmoid(paddle.to_tensor([0.0])).tolist()
    [0.5]
    """
    one = x.dtype.type(1)
    return one / (one + xp.exp(-x))                 # by tanh it would lose all digits below -18


@sigmoid.vjp
def _(F, g, out):
    return g * (out * (1.0 - out))


# ---- choosing
def _choose(xp, condition, x, y):
    """xp.where; on NumPy by masks of bits, a fifth of np.where's time at random conditions."""
    if xp is np and condition.ndim and x.dtype == y.dtype and x.dtype.itemsize in (4, 8):
        bits = np.int32 if x.dtype.itemsize == 4 else np.int64      # xp: numpy-only
        mask = -condition.view(np.int8).astype(bits)
        a, b = np.asarray(x).view(bits), np.asarray(y).view(bits)
        return (b ^ ((a ^ b) & mask)).view(x.dtype)
    return xp.where(condition, x, y)


@op("where", namespace=None, promote="promote", casts=("x", "y"), broadcasts=True,
    half="native", samples=None)
def _where(xp, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, y elsewhere; what `paddle.where` calls."""
    if condition.dtype.kind != "b":
        condition = condition != 0
    if isinstance(x, float):                        # a vjp's plain number
        x = y.dtype.type(x)
    elif isinstance(y, float):
        y = x.dtype.type(y)
    return _choose(xp, condition, x, y)


@_where.vjp
def _(F, g, condition, need):
    # Chosen, not multiplied by the mask: a gradient of inf or nan must not leak to the other side.
    return (None, F.where(condition, g, 0.0) if need[1] else None,
            F.where(condition, 0.0, g) if need[2] else None)


@public()
def where(condition, x=None, y=None, name=None):
    """Elementwise x where the condition holds and y elsewhere; Tensors or numbers, broadcasting.

    With the condition alone: the indices where it holds, as `paddle.nonzero(as_tuple=True)`.

    >>> import minipaddle as paddle
    >>> paddle.where(paddle.to_tensor([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """
    if x is None and y is None:
        return ops.nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ValueError("where: x and y must be given both, or neither")
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = to_tensor(x)
    return _where(condition, x, y)
