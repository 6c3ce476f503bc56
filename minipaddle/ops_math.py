"""Elementwise operations: arithmetic, comparison, logic, bits, exponentials, trigonometry.

Imports kernels_special, samples and core. Families of one shape are tables: a row holds the name,
a sentence, the forward, the vjp, a sampler for the gradient check and an example.
"""
from __future__ import annotations

import math
import warnings

import numpy as np

from . import kernels_special as special
from .core import (SCALARS, Array, Tensor, convert_dtype, default_float, inplace,
                   is_grad_enabled, op, ops, public, refuse_leaf, to_tensor, written)
from .samples import (pairs, pairs_away, pairs_distinct, quotients, unary, unary_away0,
                      unary_complex, unary_inside1, unary_positive)

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


def _pair(F, g, first):
    """The gradient g given to the first of two inputs where `first` holds, else to the second."""
    return g * first, g * F.logical_not(first)


def _over(g, size, y, x):
    share = g / size
    return share * y, -(share * x)


def _above1(draw):
    return (draw.array(draw.shape(), 1.2, 3.0),), {}


def _orders(draw):
    return (draw.positive(draw.shape()), draw.integer(0, 3)), {}


def _triples(draw):
    a, b = draw.broadcast_pair()
    return (draw.array(a), draw.array(b), draw.array(a)), {}


def _pairs_both_away(draw):
    a, b = draw.broadcast_pair()
    return (draw.away(a), draw.away(b)), {}


def _powers(draw):
    """A positive base with any exponents, or any base with a whole one."""
    a, b = draw.broadcast_pair()
    if draw.bool():
        return (draw.positive(a), draw.array(b)), {}
    return (draw.away(a), draw.choice((-2, -1, 1, 2, 3, 4, 2.0, 3.0))), {}


def _bounds(draw):
    low = draw.choice((None, -1.0))
    high = draw.choice((None, 1.0))
    return (draw.away(draw.shape(), points=(-1.0, 1.0)), low, high), {}


def _choices(draw):
    a, b = draw.broadcast_pair()
    return (draw.array(a) > 0, draw.array(a), draw.array(b)), {}


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


@op(promote="promote", broadcasts=True, inplace=True, samples=quotients,
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
    return F.zeros_like(g), F.zeros_like(g)         # piecewise constant


@op(promote="promote", broadcasts=True, inplace=True, aliases=("mod", "floor_mod"),
    method=("remainder", "mod", "floor_mod", "__mod__", "__rmod__"), samples=quotients,
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
    if (y.ndim == 0 if type(y) is np.ndarray else isinstance(y, (int, float, np.generic))):
        n = y if type(y) is int or type(y) is float else y.item()
        if n == 2:
            return x * x
        if isinstance(n, complex) and n.imag == 0:
            n = n.real
        if n == 0:
            return xp.ones_like(x)
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
                return x.copy()                     # a result of its own, never x's memory
            return result if n > 0 else x.dtype.type(1) / result
    return xp.power(x, y)


_SMALL = {1, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4}


@op("pow", promote="promote", amp="block", broadcasts=True, inplace=True,
    method=("pow", "__pow__", "__rpow__"), legacy=("elementwise_pow",), samples=_powers)
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


@op(samples=_bounds, inplace=True)
def clip(xp, x: Array, min: float | None = None, max: float | None = None) -> Array:
    """x limited to [min, max]; each bound a number, a Tensor of one element, or None.

    The gradient is 1 within and at the bounds, 0 outside.

    >>> import minipaddle as paddle
    >>> paddle.clip(paddle.to_tensor([-3.0, 0.5, 9.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    if x.dtype.kind in "iu" and (type(min) is float or type(max) is float):
        x = x.astype(default_float())
    if min is None and max is None:
        return x.copy()
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


# ---- exponentials, logarithms, powers
def _row(name, sentence, forward, vjp, sampler, values, result, **options):
    """A row of `_table` whose example runs the op on a float64 list."""
    digits = "" if vjp is None else ".numpy().round(4)"
    return (name, sentence, forward, vjp, sampler,
            f"paddle.{name}(paddle.to_tensor({values}, 'float64')){digits}.tolist()",
            result, options)


_table((
    ("neg", "-x, the number of the other sign.",
     lambda xp, x: xp.negative(x), lambda F, g: -g, unary,
     "(-paddle.to_tensor([1, -2])).tolist()", "[-1, 2]",
     dict(promote="keep", aliases=("negative",), method=("neg", "negative", "__neg__"))),
    _row("exp", "e to the power x.", lambda xp, x: xp.exp(x), lambda F, g, out: g * out,
         unary, "[0., 1.]", "[1.0, 2.7183]", amp="block"),
    _row("expm1", "e to the power x, less 1; exact for small x.",
         lambda xp, x: xp.expm1(x), lambda F, g, out: g * (out + 1.0), unary,
         "[0., 1.]", "[0.0, 1.7183]", amp="block"),
    _row("log", "The natural logarithm; -inf at 0, nan below.",
         lambda xp, x: xp.log(x), lambda F, g, x: g / x, unary_positive,
         "[1., 10.]", "[0.0, 2.3026]", amp="block"),
    _row("log2", "The logarithm to the base 2; -inf at 0, nan below.",
         lambda xp, x: xp.log2(x), lambda F, g, x: g / (x * 0.6931471805599453), unary_positive,
         "[1., 8.]", "[0.0, 3.0]", amp="block"),
    _row("log10", "The logarithm to the base 10; -inf at 0, nan below.",
         lambda xp, x: xp.log10(x), lambda F, g, x: g / (x * 2.302585092994046), unary_positive,
         "[1., 100.]", "[0.0, 2.0]", amp="block"),
    _row("log1p", "log(1 + x), exact for small x; -inf at -1, nan below.",
         lambda xp, x: xp.log1p(x), lambda F, g, x: g / (x + 1.0), unary_positive,
         "[0., 1.]", "[0.0, 0.6931]", amp="block"),
    _row("sqrt", "The square root; nan below 0. The gradient at 0 is inf.",
         lambda xp, x: xp.sqrt(x), lambda F, g, out: g * 0.5 / out, unary_positive,
         "[4., 9.]", "[2.0, 3.0]"),
    _row("rsqrt", "1 / sqrt(x); inf at 0.",
         lambda xp, x: x.dtype.type(1) / xp.sqrt(x),
         lambda F, g, out: g * -0.5 * (out * out * out), unary_positive,
         "[4., 0.25]", "[0.5, 2.0]", amp="block"),
    _row("square", "x * x; integers stay integers.", lambda xp, x: xp.multiply(x, x),
         lambda F, g, x: g * x * 2.0, unary, "[2, -3]", "[4.0, 9.0]",
         amp="block", promote="keep"),
    _row("reciprocal", "1 / x; inf at 0.", lambda xp, x: x.dtype.type(1) / x,
         lambda F, g, out: -(g * out * out), unary_away0, "[4., -0.5]", "[0.25, -2.0]",
         amp="block"),
    _row("sigmoid", "1 / (1 + exp(-x)), the logistic function.",
         # By tanh it would be faster, and lose all digits below -18.
         lambda xp, x: x.dtype.type(1) / (xp.exp(-x) + x.dtype.type(1)),
         lambda F, g, out: g * (out * (1.0 - out)), unary, "[0., 1.]", "[0.5, 0.7311]"),
), promote="float", inplace=True)


# ---- trigonometry, hyperbolic functions
_table((
    _row("sin", "The sine of an angle in radians.", lambda xp, x: xp.sin(x),
         lambda F, g, x: g * F.cos(x), unary, "[0., 1.]", "[0.0, 0.8415]"),
    _row("cos", "The cosine of an angle in radians.", lambda xp, x: xp.cos(x),
         lambda F, g, x: -(g * F.sin(x)), unary, "[0., 1.]", "[1.0, 0.5403]"),
    _row("tan", "The tangent of an angle in radians.", lambda xp, x: xp.tan(x),
         lambda F, g, out: g * (out * out + 1.0), unary_inside1, "[0., 1.]", "[0.0, 1.5574]",
         amp="block"),
    _row("asin", "The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1].",
         lambda xp, x: xp.arcsin(x), lambda F, g, x: g / F.sqrt(1.0 - x * x), unary_inside1,
         "[0., 1.]", "[0.0, 1.5708]", amp="block"),
    _row("acos", "The inverse cosine, in [0, pi]; nan outside [-1, 1].",
         lambda xp, x: xp.arccos(x), lambda F, g, x: -(g / F.sqrt(1.0 - x * x)), unary_inside1,
         "[0., 1.]", "[1.5708, 0.0]", amp="block"),
    _row("atan", "The inverse tangent, in (-pi/2, pi/2).",
         lambda xp, x: xp.arctan(x), lambda F, g, x: g / (x * x + 1.0), unary,
         "[0., 1.]", "[0.0, 0.7854]"),
    _row("sinh", "The hyperbolic sine.", lambda xp, x: xp.sinh(x),
         lambda F, g, x: g * F.cosh(x), unary, "[0., 1.]", "[0.0, 1.1752]", amp="block"),
    _row("cosh", "The hyperbolic cosine.", lambda xp, x: xp.cosh(x),
         lambda F, g, x: g * F.sinh(x), unary, "[0., 1.]", "[1.0, 1.5431]", amp="block"),
    _row("tanh", "The hyperbolic tangent.", lambda xp, x: xp.tanh(x),
         lambda F, g, out: g * (1.0 - out * out), unary, "[0., 1.]", "[0.0, 0.7616]"),
    _row("asinh", "The inverse hyperbolic sine.", lambda xp, x: xp.arcsinh(x),
         lambda F, g, x: g / F.sqrt(x * x + 1.0), unary, "[0., 1.]", "[0.0, 0.8814]"),
    _row("acosh", "The inverse hyperbolic cosine; nan below 1.", lambda xp, x: xp.arccosh(x),
         lambda F, g, x: g / F.sqrt(x * x - 1.0), _above1, "[1., 2.]", "[0.0, 1.317]"),
    _row("atanh", "The inverse hyperbolic tangent; nan outside [-1, 1].",
         lambda xp, x: xp.arctanh(x), lambda F, g, x: g / (1.0 - x * x), unary_inside1,
         "[0., 0.5]", "[0.0, 0.5493]", amp="block"),
    _row("deg2rad", "An angle in degrees turned to radians.",
         lambda xp, x: x * x.dtype.type(math.pi / 180), lambda F, g: g * (math.pi / 180), unary,
         "[0., 180.]", "[0.0, 3.1416]"),
    _row("rad2deg", "An angle in radians turned to degrees.",
         lambda xp, x: x * x.dtype.type(180 / math.pi), lambda F, g: g * (180 / math.pi), unary,
         "[0., 1.]", "[0.0, 57.2958]"),
    _row("sinc", "sin(pi x) / (pi x), and 1 at 0.", lambda xp, x: xp.asarray(xp.sinc(x), x.dtype),
         lambda F, g, x, out: g * ((F.cos(x * math.pi) - out) / (x + (x == 0))), unary_away0,
         "[0., 0.5]", "[1.0, 0.6366]"),
), promote="float", inplace=True)


# ---- special functions
_table((
    _row("erf", "The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
         lambda xp, x: special.erf(xp, x),
         lambda F, g, x: g * (F.exp(-(x * x)) * (2 / math.sqrt(math.pi))), unary,
         "[0., 1.]", "[0.0, 0.8427]"),
    _row("erfinv", "The inverse of erf on (-1, 1).", lambda xp, x: special.erfinv(xp, x),
         lambda F, g, out: g * (F.exp(out * out) * (math.sqrt(math.pi) / 2)), unary_inside1,
         "[0., 0.5]", "[0.0, 0.4769]", amp="block"),
    _row("lgamma", "log |gamma(x)|; inf at 0, -1, -2, ...", lambda xp, x: special.lgamma(xp, x),
         lambda F, g, x: g * F.digamma(x), unary_positive, "[1., 0.5]", "[0.0, 0.5724]",
         aliases=("gammaln",)),
    _row("digamma", "The derivative of lgamma; nan at 0, -1, -2, ...",
         lambda xp, x: special.digamma(xp, x), lambda F, g, x: g * F.polygamma(x, 1),
         unary_positive, "[1., 0.5]", "[-0.5772, -1.9635]"),
    _row("i0", "The modified Bessel function of the first kind of order 0.",
         lambda xp, x: special.i0(xp, x), lambda F, g, x: g * F.i1(x), unary,
         "[0., 1.]", "[1.0, 1.2661]"),
    _row("i0e", "exp(-|x|) i0(x).", lambda xp, x: special.i0e(xp, x),
         lambda F, g, x, out: g * (F.i1e(x) - F.sign(x) * out), unary_away0,
         "[0., 1.]", "[1.0, 0.4658]"),
    _row("i1", "The modified Bessel function of the first kind of order 1.",
         lambda xp, x: special.i1(xp, x),
         # i1(x) / x is 1 / 2 at 0.
         lambda F, g, x, out: g * (F.i0(x) - F.where(x == 0, 0.5, out / (x + (x == 0)))),
         unary_away0, "[0., 1.]", "[0.0, 0.5652]"),
    _row("i1e", "exp(-|x|) i1(x).", lambda xp, x: special.i1e(xp, x),
         lambda F, g, x, out: g * (F.i0e(x) - out * F.sign(x)
                                   - F.where(x == 0, 0.5, out / (x + (x == 0)))),
         unary_away0, "[0., 1.]", "[0.0, 0.2079]"),
), promote="float", inplace=True)


@op(promote="float", inplace=True, samples=_orders)
def polygamma(xp, x: Array, n: int) -> Array:
    """The n-th derivative of digamma at x > 0; n = 0 is digamma itself.

    >>> import minipaddle as paddle
    >>> paddle.polygamma(paddle.to_tensor([1.0], 'float64'), 1).numpy().round(4).tolist()
    [1.6449]
    """
    if n < 0:
        raise ValueError(f"n must be 0 or more, got {n}")
    return special.polygamma(xp, int(n), x) if n else special.digamma(xp, x)


@polygamma.vjp
def _(F, g, x, n):
    return g * F.polygamma(x, n + 1)


@public(inplace=True)
def multigammaln(x, p, name=None):
    """The logarithm of the multivariate gamma function of p dimensions, for x > (p - 1) / 2.

    p (p - 1) / 4 log(pi) + sum over i < p of lgamma(x - i / 2).

    >>> import minipaddle as paddle
    >>> paddle.multigammaln(paddle.to_tensor([2.5], 'float64'), 2).numpy().round(4).tolist()
    [0.857]
    """
    total = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = ops.lgamma(x - i / 2) + total
    return total


def _no_order(need) -> None:
    if need[0]:
        raise RuntimeError("gammainc and gammaincc have a gradient for y alone; detach() x")


def _order_and_value(draw):
    a, b = draw.broadcast_pair()
    return (draw.integers(a, 1, 4), draw.positive(b)), {}


def _gamma_density(F, x, y):
    return F.exp(F.log(y) * (x - 1.0) - y - F.lgamma(x))


_table((
    ("gammaincc", "The upper regularised incomplete gamma function Q(x, y), x > 0, y >= 0.",
     lambda xp, x, y: special.gammaincc(xp, x, y),
     lambda F, g, x, y, need: (_no_order(need), -(g * _gamma_density(F, x, y))),
     _order_and_value,
     "paddle.gammaincc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()", "[1.0]", {}),
    ("gammainc", "The lower regularised incomplete gamma function P(x, y) = 1 - Q(x, y).",
     lambda xp, x, y: special.gammainc(xp, x, y),
     lambda F, g, x, y, need: (_no_order(need), g * _gamma_density(F, x, y)), _order_and_value,
     "paddle.gammainc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()", "[0.0]", {}),
), promote="float", broadcasts=True, inplace=True)


# ---- signs and rounding: piecewise constant, so their gradient is 0
def _rounding(name, sentence, function, values, result, **options):
    def forward(xp, x):
        return function(xp, x) if x.dtype.kind in "fc" else x.copy()
    if name == "trunc":                             # Paddle's one that calls its argument so
        def forward(xp, input):
            return function(xp, input) if input.dtype.kind in "fc" else input.copy()
    return _row(name, sentence + " Its gradient is 0; integers stay as they are.", forward,
                lambda F, g: F.zeros_like(g), unary_away0, values, result, **options)


_table((
    _rounding("floor", "The largest whole number not above x.", lambda xp, x: xp.floor(x),
              "[1.7, -1.2]", "[1.0, -2.0]"),
    _rounding("ceil", "The smallest whole number not below x.", lambda xp, x: xp.ceil(x),
              "[1.2, -1.7]", "[2.0, -1.0]", method=("ceil", "__ceil__")),
    _rounding("round", "The nearest whole number, the even one of two as near.",
              lambda xp, x: xp.rint(x), "[0.5, 1.5, -2.7]", "[0.0, 2.0, -3.0]"),
    _rounding("trunc", "x without its fraction: rounded towards 0.", lambda xp, x: xp.trunc(x),
              "[1.7, -1.7]", "[1.0, -1.0]"),
    _row("sign", "-1, 0 or 1 by the sign of x; its gradient is 0.", lambda xp, x: xp.sign(x),
         lambda F, g: F.zeros_like(g), unary_away0, "[-3., 0., 2.]", "[-1.0, 0.0, 1.0]"),
    _row("frac", "The fraction of x: x - trunc(x).", lambda xp, x: x - xp.trunc(x),
         lambda F, g: g, unary_away0, "[1.5, -1.25]", "[0.5, -0.25]"),
), inplace=True)


_table((
    _row("isnan", "Where x is nan.", lambda xp, x: xp.isnan(x), None, None,
         "[1., float('nan')]", "[False, True]"),
    _row("isinf", "Where x is inf or -inf.", lambda xp, x: xp.isinf(x), None, None,
         "[1., float('inf')]", "[False, True]"),
    _row("isfinite", "Where x is neither nan, inf nor -inf.", lambda xp, x: xp.isfinite(x),
         None, None, "[1., float('inf')]", "[True, False]"),
    _row("isposinf", "Where x is inf.", lambda xp, x: x == x.dtype.type("inf"), None, None,
         "[float('inf'), -float('inf')]", "[True, False]", promote="float"),
    _row("isneginf", "Where x is -inf.", lambda xp, x: x == x.dtype.type("-inf"), None, None,
         "[float('inf'), -float('inf')]", "[False, True]", promote="float"),
    _row("isreal", "Where x has no imaginary part.", lambda xp, x: xp.imag(x) == 0, None, None,
         "[1., 2.]", "[True, True]"),
    _row("signbit", "Where the sign bit is set: negative numbers, and -0.0.",
         lambda xp, x: xp.signbit(x), None, None, "[-1., 0.]", "[True, False]",
         promote="float"),
), half="native", amp="keep")


@op("abs", inplace=True, method=("abs", "__abs__"), samples=unary_away0)
def _abs(xp, x: Array) -> Array:
    """The absolute value |x|, of complex x its real modulus; the gradient at 0 is 0.

    >>> import minipaddle as paddle
    >>> paddle.abs(paddle.to_tensor([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """
    return xp.absolute(x)


@_abs.vjp
def _(F, g, x):
    return g * F.sgn(x)


@op(samples=unary_away0)
def sgn(xp, x: Array) -> Array:
    """x / |x|, and 0 at 0: the sign of a real x, the direction of a complex one.

    >>> import minipaddle as paddle
    >>> paddle.sgn(paddle.to_tensor([2j, 0j])).tolist()
    [1j, 0j]
    """
    if x.dtype.kind != "c":
        return xp.sign(x)
    size = xp.absolute(x)
    return x / (size + (size == 0))


@sgn.vjp
def _(F, g, x, out):
    size = F.abs(x)
    if size.dtype == out.dtype:                     # real: piecewise constant
        return F.zeros_like(g)
    return (g - F.real(g * F.conj(out)) * out) / (size + (size == 0))   # what turns the direction


# ---- complex numbers
@op(half="native", samples=unary_complex)
def real(xp, x: Array) -> Array:
    """The real part of x.

    >>> import minipaddle as paddle
    >>> paddle.real(paddle.to_tensor([1 + 2j])).tolist()
    [1.0]
    """
    return xp.real(x).copy()


@real.vjp
def _(F, g):
    return g


@op(half="native", samples=unary_complex)
def imag(xp, x: Array) -> Array:
    """The imaginary part of x, 0 of a real x.

    >>> import minipaddle as paddle
    >>> paddle.imag(paddle.to_tensor([1 + 2j])).tolist()
    [2.0]
    """
    return xp.imag(x).copy()


@imag.vjp
def _(F, g):
    return g * 1j


@op(half="native", samples=unary_complex)
def conj(xp, x: Array) -> Array:
    """The complex conjugate of x; a real x unchanged.

    >>> import minipaddle as paddle
    >>> paddle.conj(paddle.to_tensor([1 + 2j])).tolist()
    [(1-2j)]
    """
    return xp.conj(x)


@conj.vjp
def _(F, g):
    return F.conj(g)


# A vjp here is written as for real numbers, g * f'(x): where a result is complex, the engine
# conjugates around it, which gives g * conj(f'(x)). Not so the functions that are not analytic.
for _function in (conj, sgn):
    _function.op.analytic = False


@op("complex", promote="float", broadcasts=True, method=False, samples=pairs)
def _complex(xp, real: Array, imag: Array) -> Array:
    """The complex numbers real + 1j imag; float32 makes complex64, float64 complex128.

    >>> import minipaddle as paddle
    >>> paddle.complex(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
    [(1+2j)]
    """
    shape = np.broadcast_shapes(real.shape, imag.shape)
    out = xp.empty(shape, xp.promote_types(real.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out


@_complex.vjp
def _(F, g):
    return F.real(g), F.imag(g)


_complex.op.analytic = False


@op(inplace=False, samples=unary_away0)
def angle(xp, x: Array) -> Array:
    """The angle of x in the complex plane, in radians: for real x 0, or pi below 0.

    >>> import minipaddle as paddle
    >>> paddle.angle(paddle.to_tensor([1.0, -1.0], 'float64')).numpy().round(4).tolist()
    [0.0, 3.1416]
    """
    return xp.angle(x).astype(xp.real(x).dtype if x.dtype.kind in "fc" else default_float())


@angle.vjp
def _(F, g, x, out):
    size = F.abs(x)
    if size.dtype == x.dtype:
        return F.zeros_like(g)
    return x * 1j * (g / (size * size))


@public()
def polar(abs, angle, name=None):
    """The complex numbers of given moduli and angles: abs cos(angle) + 1j abs sin(angle).

    >>> import minipaddle as paddle
    >>> paddle.polar(paddle.to_tensor([2.0]), paddle.to_tensor([0.0])).tolist()
    [(2+0j)]
    """
    return _complex(abs * ops.cos(angle), abs * ops.sin(angle))


@op(half="native", samples=lambda draw: ((draw.array((*draw.shape(), 2)),), {}))
def as_complex(xp, x: Array) -> Array:
    """A tensor [..., 2] of real and imaginary parts as the complex [...].

    >>> import minipaddle as paddle
    >>> paddle.as_complex(paddle.to_tensor([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """
    if x.ndim == 0 or x.shape[-1] != 2 or x.dtype.kind != "f":
        raise ValueError("x must be floating and its last dimension 2")
    return xp.ascontiguousarray(x).view(xp.promote_types(x.dtype, np.complex64))[..., 0].copy()


@as_complex.vjp
def _(F, g):
    return F.as_real(g)


as_complex.op.analytic = False


@op(half="native", samples=unary_complex)
def as_real(xp, x: Array) -> Array:
    """A complex tensor [...] as its real and imaginary parts, [..., 2].

    >>> import minipaddle as paddle
    >>> paddle.as_real(paddle.to_tensor([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    return xp.stack([x.real, x.imag], axis=-1)


@as_real.vjp
def _(F, g):
    return F.as_complex(g)


# ---- two arguments more
_table((
    ("fmax", "The larger of x and y; the other one where one is nan. A tie's gradient goes to x.",
     lambda xp, x, y: xp.fmax(x, y),
     lambda F, g, x, y: _pair(F, g, F.logical_or(x >= y, F.isnan(y))), pairs_distinct,
     "paddle.fmax(paddle.to_tensor([1., float('nan')]), paddle.to_tensor([3., 2.])).tolist()",
     "[3.0, 2.0]", {}),
    ("fmin", "The smaller of x and y; the other one where one is nan. A tie's gradient goes to x.",
     lambda xp, x, y: xp.fmin(x, y),
     lambda F, g, x, y: _pair(F, g, F.logical_or(x <= y, F.isnan(y))), pairs_distinct,
     "paddle.fmin(paddle.to_tensor([1., float('nan')]), paddle.to_tensor([3., 2.])).tolist()",
     "[1.0, 2.0]", {}),
), promote="promote", broadcasts=True)


_table((
    ("atan2", "The angle of the point (y, x) in radians, in [-pi, pi]: x is its height.",
     lambda xp, x, y: xp.arctan2(x, y),
     lambda F, g, x, y: _over(g, x * x + y * y, y, x), pairs_away,
     "paddle.atan2(paddle.to_tensor([0.]), paddle.to_tensor([1.])).tolist()", "[0.0]", {}),
    ("hypot", "sqrt(x^2 + y^2), without overflow.", lambda xp, x, y: xp.hypot(x, y),
     lambda F, g, x, y, out: (g * (x / out), g * (y / out)), pairs_away,
     "paddle.hypot(paddle.to_tensor([3.]), paddle.to_tensor([4.])).tolist()", "[5.0]",
     dict(inplace=True)),
    ("copysign", "|x| with the sign of y.", lambda xp, x, y: xp.copysign(x, y),
     lambda F, g, x, y: (g * (F.sign(x) * F.copysign(F.ones_like(y), y)), F.zeros_like(y * g)),
     _pairs_both_away,
     "paddle.copysign(paddle.to_tensor([3.]), paddle.to_tensor([-0.])).tolist()", "[-3.0]",
     dict(inplace=True)),
    ("logaddexp", "log(exp(x) + exp(y)), without overflow.", lambda xp, x, y: xp.logaddexp(x, y),
     lambda F, g, x, y: (g * F.sigmoid(x - y), g * F.sigmoid(y - x)), pairs,
     "paddle.logaddexp(paddle.to_tensor([1e3]), paddle.to_tensor([0.])).tolist()", "[1000.0]",
     {}),
    ("nextafter", "The next number that the dtype has after x in the direction of y.",
     lambda xp, x, y: xp.nextafter(x, y), None, None,
     "paddle.nextafter(paddle.to_tensor([0.]), paddle.to_tensor([1.])).tolist()",
     "[1.401298464324817e-45]", {}),
    ("heaviside", "0 where x < 0, y where x is 0, 1 where x > 0.",
     lambda xp, x, y: xp.heaviside(x, y),
     lambda F, g, x: (F.zeros_like(g), g * (x == 0)), pairs_distinct,
     "paddle.heaviside(paddle.to_tensor([-1., 0., 2.]), paddle.to_tensor([0.5])).tolist()",
     "[0.0, 0.5, 1.0]", dict(legacy=("elementwise_heaviside",))),
), promote="float", broadcasts=True)


_table((
    ("gcd", "The greatest common divisor of integers, not negative.",
     lambda xp, x, y: xp.gcd(x, y), None, None,
     "paddle.gcd(paddle.to_tensor([12]), paddle.to_tensor([18])).tolist()", "[6]", {}),
    ("lcm", "The least common multiple of integers, not negative.",
     lambda xp, x, y: xp.lcm(x, y), None, None,
     "paddle.lcm(paddle.to_tensor([4]), paddle.to_tensor([6])).tolist()", "[12]", {}),
), promote="promote", broadcasts=True, inplace=True)


@public(inplace=True)
def ldexp(x, y, name=None):
    """x times 2 to the power y; the result is floating.

    >>> import minipaddle as paddle
    >>> paddle.ldexp(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([2])).tolist()
    [4.0, 8.0]
    """
    if not x.dtype.is_floating:
        x = ops.cast(x, default_float())
    return x * ops.pow(ops.full([], 2.0, x.dtype), y)


@op(promote="promote", broadcasts=True, inplace=True, samples=_triples)
def lerp(xp, x: Array, y: Array, weight: Array) -> Array:
    """Linear interpolation x + weight (y - x); weight is a number or a Tensor.

    >>> import minipaddle as paddle
    >>> paddle.lerp(paddle.to_tensor([1.0]), paddle.to_tensor([3.0]), 0.25).tolist()
    [1.5]
    """
    return x + weight * (y - x)


@lerp.vjp
def _(F, g, x, y, weight, need):
    gy = g * weight
    return g - gy, gy, g * (y - x) if need[2] else None


def _shift(name, word, example, method):
    def forward(xp, x: Array, y: Array, is_arithmetic: bool = True, out: object = None) -> Array:
        function = xp.left_shift if word == "left" else xp.right_shift
        if is_arithmetic or word == "left" or x.dtype.kind == "u":
            return _written(out, function(x, y))
        bits = np.dtype(f"u{x.dtype.itemsize}")     # zeros come in from the left
        return _written(out, function(x.astype(bits), y.astype(bits)).astype(x.dtype))
    forward.__doc__ = f"""The bits of x shifted {word} by y places; right shifts keep the sign
    unless is_arithmetic is False.

    >>> import minipaddle as paddle
    >>> paddle.{name}(paddle.to_tensor([12]), paddle.to_tensor([1])).tolist()
    {example}
    """
    return op(name, promote="promote", broadcasts=True, inplace=True,
              method=(name, method))(forward)


bitwise_left_shift = _shift("bitwise_left_shift", "left", "[24]", "__lshift__")
bitwise_right_shift = _shift("bitwise_right_shift", "right", "[6]", "__rshift__")


# ---- comparing whole tensors
@op(promote="promote", broadcasts=True)
def isclose(xp, x: Array, y: Array, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Array:
    """Where |x - y| <= atol + rtol |y|; with equal_nan two nans are close.

    >>> import minipaddle as paddle
    >>> paddle.isclose(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 2.1])).tolist()
    [True, False]
    """
    near = xp.absolute(x - y) <= atol + rtol * xp.absolute(y)
    if y.dtype.kind in "fc":
        near = (near & xp.isfinite(y)) | (x == y)
        if equal_nan:
            near |= xp.isnan(x) & xp.isnan(y)
    return near


@public()
def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether all elements are close, a 0-d bool Tensor; see `isclose`.

    >>> import minipaddle as paddle
    >>> bool(paddle.allclose(paddle.to_tensor([1.0]), paddle.to_tensor([1.0])))
    True
    """
    return ops.all(isclose(x, y, rtol, atol, equal_nan))


@op(promote="promote")
def equal_all(xp, x: Array, y: Array) -> Array:
    """Whether x and y have one shape and equal elements, a 0-d bool Tensor.

    >>> import minipaddle as paddle
    >>> bool(paddle.equal_all(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])))
    False
    """
    return (x == y).all() if x.shape == y.shape else xp.zeros((), bool)


# ---- more functions of one argument, with attributes
@op("scale", namespace=None, broadcasts=True,
    samples=lambda draw: ((draw.array(draw.shape()), draw.array(()), 0.5, draw.bool()), {}))
def _scale(xp, x: Array, scale: Array = 1.0, bias: float = 0.0,
           bias_after_scale: bool = True) -> Array:
    """x * scale + bias, or (x + bias) * scale; what `paddle.scale` calls."""
    kind = x.dtype.type
    if scale.dtype != x.dtype:
        scale = scale.astype(x.dtype)               # as Paddle: it never changes x's dtype
    if bias == 0:
        return x * scale
    return x * scale + kind(bias) if bias_after_scale else (x + kind(bias)) * scale


@_scale.vjp
def _(F, g, x, scale, bias, bias_after_scale, need):
    gx = g * scale if need[0] else None
    if not need[1]:
        return gx, None
    return gx, g * x if bias_after_scale else g * (x + bias)


@public(inplace=True)
def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """x * scale + bias, or (x + bias) * scale with bias_after_scale=False; x keeps its dtype.

    scale: a number or a Tensor of one element; act: the name of an op to apply, such as 'tanh'.

    >>> import minipaddle as paddle
    >>> paddle.scale(paddle.to_tensor([1.0, 2.0]), 3.0, 1.0).tolist()
    [4.0, 7.0]
    """
    out = _scale(x, scale, bias, bias_after_scale)
    return out if act is None else getattr(ops, act)(out)


@public()
def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b tanh(scale_a x).

    >>> import minipaddle as paddle
    >>> paddle.stanh(paddle.to_tensor([0.0])).tolist()
    [0.0]
    """
    return ops.tanh(x * scale_a) * scale_b


@public(inplace=True)
def logit(x, eps=None, name=None):
    """log(x / (1 - x)), the inverse of sigmoid; eps first limits x to [eps, 1 - eps].

    >>> import minipaddle as paddle
    >>> paddle.logit(paddle.to_tensor([0.5])).tolist()
    [0.0]
    """
    if eps:
        x = clip(x, eps, 1.0 - eps)
    return ops.log(x / (1.0 - x))


@op(inplace=True, samples=unary)
def nan_to_num(xp, x: Array, nan: float = 0.0, posinf: float | None = None,
               neginf: float | None = None) -> Array:
    """x with nan, inf and -inf replaced; None means the dtype's largest and smallest number.

    The gradient is 0 where a number was replaced.

    >>> import minipaddle as paddle
    >>> paddle.nan_to_num(paddle.to_tensor([1.0, float('nan')])).tolist()
    [1.0, 0.0]
    """
    return xp.nan_to_num(x, True, nan, posinf, neginf)


@nan_to_num.vjp
def _(F, g, x):
    return g * F.isfinite(x)


@op(half="native", method=("frexp",))
def frexp(xp, x: Array) -> Array:
    """Mantissa (in [0.5, 1)) and exponent of x, both of x's dtype: x = mantissa * 2^exponent.

    >>> import minipaddle as paddle
    >>> [t.tolist() for t in paddle.frexp(paddle.to_tensor([6.0]))]
    [[0.75], [3.0]]
    """
    mantissa, exponent = xp.frexp(x)
    return mantissa, exponent.astype(x.dtype)


@public()
def positive(x, name=None):
    """+x: x itself; TypeError for bools.

    >>> import minipaddle as paddle
    >>> paddle.positive(paddle.to_tensor([-1])).tolist()
    [-1]
    """
    if x.dtype.name == "bool":
        raise TypeError("positive: x must hold numbers, got bool")
    return x


# ---- choosing
def _choose(xp, condition, x, y):
    """xp.where; on NumPy by masks of bits, a fifth of np.where's time at random conditions."""
    if xp is np and condition.size > 2048 and x.dtype == y.dtype and x.dtype.itemsize in (4, 8):
        bits = np.int32 if x.dtype.itemsize == 4 else np.int64      # xp: numpy-only
        mask = -condition.view(np.int8).astype(bits)
        a, b = np.asarray(x).view(bits), np.asarray(y).view(bits)
        return (b ^ ((a ^ b) & mask)).view(x.dtype)
    return xp.where(condition, x, y)


@op("where", namespace=None, promote="promote", casts=("x", "y"), broadcasts=True,
    half="native", samples=_choices)
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
    if isinstance(x, SCALARS) and isinstance(y, SCALARS):
        x = to_tensor(x)
    return _where(condition, x, y)


@public()
def where_(condition, x=None, y=None, name=None):
    """`where` that writes its result into x.

    >>> import minipaddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0])
    >>> paddle.where_(paddle.to_tensor([True, False]), x, paddle.zeros([2])).tolist()
    [1.0, 0.0]
    """
    def where(old):
        return _where(condition, old, y)
    return inplace(where, x)


@public()
def cast_(x, dtype, name=None):
    """`cast` in place: x itself gets the other dtype.

    >>> import minipaddle as paddle
    >>> paddle.to_tensor([1.5]).cast_('int64').tolist()
    [1]
    """
    if is_grad_enabled() and not x.stop_gradient and x.is_leaf:
        refuse_leaf(x, "cast")
    out = ops.cast(x._alias(), convert_dtype(dtype).np)
    written(x)
    x._data, x._node, x.stop_gradient, x._storage = out._data, out._node, out.stop_gradient, None
    return x


def _positive(x):
    return positive(x)


Tensor.__pos__ = _positive
