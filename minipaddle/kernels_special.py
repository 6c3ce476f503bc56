"""Special functions for NumPy, which has none: erf and its inverse, the gamma and Bessel families.

Imports numpy alone. On CuPy `cupyx.scipy.special` computes them. Polynomials are Chebyshev fits
made for this file with 40 digits; the others are the textbook series named beside them (DLMF,
https://dlmf.nist.gov). Everything is computed in float64, except erf in float32.
"""
from __future__ import annotations

import functools
import math

import numpy as np


def _special(cupy_name):
    """Decorate f(xp, x, ...) of float64 arrays into one of any floating dtype.

    On CuPy its own fused function is taken where it has one.
    """
    def decorate(function):
        @functools.wraps(function)
        def kernel(xp, *args):
            dtype = next(a.dtype for a in args if hasattr(a, "dtype"))
            if xp is not np:
                import cupyx.scipy.special
                fused = getattr(cupyx.scipy.special, cupy_name, None)
                if fused is not None:
                    return fused(*args).astype(dtype)
            wide = [xp.asarray(a, np.float64) if hasattr(a, "dtype") else a for a in args]
            with np.errstate(all="ignore"):
                return xp.asarray(function(xp, *wide)).astype(dtype, copy=False)
        return kernel
    return decorate


def _horner(xp, x, coefficients):
    """The polynomial with the given coefficients, highest first."""
    total = xp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total *= x
        total += c
    return total


# ---- erf
# erf(x) / x in x * x, for |x| <= 1; error 1e-19.
_ERF = (5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08,
        -1.6350312701054695e-07, 1.6461000484121368e-06, -1.4925595266831182e-05,
        0.0001205533111164271, -0.000854832698083379, 0.0052239776248180145,
        -0.026866170645076792, 0.11283791670954879, -0.3761263890318375, 1.1283791670955126)
# erfc(x) * exp(x * x) in t = (x - 3) / (x + 3), for 1 <= x <= 27; error 5e-17.
_ERFC = (8.614683391745348e-08, -2.2519900458194556e-07, -3.4405160797618754e-07,
         1.26799543398698e-06, 2.1363251837851015e-06, -7.98740524644693e-06,
         -1.2862727086625018e-05, 6.40587733661795e-05, 4.525534137722123e-05,
         -0.0005970622202892882, 0.00070774645939572, 0.004269136350247485,
         -0.024392499320703087, 0.07166583719744352, -0.15011593650071184,
         0.24560380171233703, -0.3262335600430378, 0.17900115118138993)
# erf(x) = tanh(x * P(x * x)) in float32: error 1.4e-7 everywhere, no clipping needed.
_ERF32 = tuple(np.float32(c) for c in (
    1.601313073251731e-07, -6.004801889503142e-06, 8.982163853943348e-05, -0.0006259886431507766,
    -0.0001840961049310863, 0.10276536643505096, 1.1283797025680542))
_BLOCK = 16384                                      # elements: what stays in the second cache


def erf(xp, x):
    """The error function, to 1e-15 in float64 and 2e-7 in float32."""
    if xp is not np:
        import cupyx.scipy.special as special
        return special.erf(x).astype(x.dtype)
    x = np.asarray(x)                               # xp: numpy-only
    if x.dtype == np.float32:
        u = np.multiply(x, x)
        p = u * _ERF32[0]
        for c in _ERF32[1:-1]:
            p += c
            p *= u
        p += _ERF32[-1]
        p *= x
        return np.tanh(p)
    out = np.empty(x.shape)                         # xp: numpy-only
    if x.size <= _BLOCK:
        out[...] = _erf64(np, x.astype(np.float64, copy=False))
    else:
        source, target = x.reshape(-1), out.reshape(-1)
        for i in range(0, x.size, _BLOCK):
            target[i:i + _BLOCK] = _erf64(np, source[i:i + _BLOCK].astype(np.float64, copy=False))
    return out.astype(x.dtype, copy=False)


def _erf64(xp, x):
    a = xp.abs(x)
    small = a < 1.0
    near = x * _horner(xp, xp.minimum(a, 1.0) ** 2, _ERF)
    far = xp.copysign(1.0 - _erfc_above1(xp, xp.maximum(a, 1.0)), x)
    return xp.where(small, near, far)


def _erfc_above1(xp, a):
    """1 - erf(a) for a >= 1."""
    a = xp.minimum(a, 27.0)                         # 0 from there on
    return _horner(xp, (a - 3.0) / (a + 3.0), _ERFC) * xp.exp(-a * a)


@_special("erfinv")
def erfinv(xp, y):
    """The inverse of erf on (-1, 1); inf at the ends, nan beyond."""
    a = xp.abs(y)
    # Winitzki's formula is good to 2e-3; each of Halley's steps cubes the error.
    w = xp.log1p(-a * a)
    h = 2 / (math.pi * 0.147) + w / 2
    x = xp.sqrt(xp.sqrt(h * h - w / 0.147) - h)
    for _ in range(3):
        # For large x the difference of the small complements keeps the digits.
        far = (1.0 - a) - _erfc_above1(xp, xp.maximum(x, 1.0))
        error = xp.where(x < 1.0, _erf64(xp, x) - a, far)
        step = error / (2 / math.sqrt(math.pi) * xp.exp(-x * x))
        x = x - step / (1.0 + x * step)
    x = xp.where(a < 1.0, x, xp.where(a == 1.0, math.inf, math.nan))
    return xp.copysign(x, y)


# ---- gamma
# B(2k) / (2k (2k - 1)) of Stirling's series, B(2k) the Bernoulli numbers (DLMF 5.11.1).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
              43867 / 798, -174611 / 330)
_STIRLING = tuple(b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(_BERNOULLI))
_SHIFT = 10                                         # the series serve from here on


@_special("gammaln")
def lgamma(xp, x):
    """log |gamma(x)|; inf at 0, -1, -2, ..."""
    positive = xp.where(x > 0, x, 1.0 - x)
    small = positive < _SHIFT
    product = xp.ones_like(x)
    z = xp.where(small, positive, 1.0)
    for k in range(_SHIFT):
        product *= z + k
    z = positive + _SHIFT * small
    series = _horner(xp, 1.0 / (z * z), _STIRLING[::-1]) / z
    result = (z - 0.5) * xp.log(z) - z + 0.5 * math.log(2 * math.pi) + series \
        - xp.where(small, xp.log(product), 0.0)
    # gamma(x) gamma(1 - x) = pi / sin(pi x), with the sine taken of the distance to an integer.
    sine = xp.abs(xp.sin(math.pi * (x - xp.rint(x))))
    result = xp.where(x > 0, result, math.log(math.pi) - xp.log(sine) - result)
    return xp.where(xp.isinf(x), math.inf, result)


@_special("digamma")
def digamma(xp, x):
    """The derivative of log gamma; nan at 0, -1, -2, ..."""
    positive = xp.where(x > 0, x, 1.0 - x)
    small = positive < _SHIFT
    z = positive + _SHIFT * small
    u = 1.0 / (z * z)
    result = xp.log(z) - 0.5 / z - u * _horner(
        xp, u, [b / (2 * k + 2) for k, b in enumerate(_BERNOULLI)][::-1])
    down = xp.zeros_like(x)
    for k in range(_SHIFT):
        down += 1.0 / (positive + k)
    result -= xp.where(small, down, 0.0)
    angle = math.pi * (x - xp.rint(x))
    reflected = xp.where(angle == 0, math.nan, math.pi / xp.tan(angle))
    return xp.where(x > 0, result, result - reflected)


@_special("polygamma")
def polygamma(xp, n, x):
    """The n-th derivative of digamma, for x > 0 (n >= 1): (-1)^(n + 1) n! zeta(n + 1, x)."""
    s, total = n + 1, xp.zeros_like(x)
    # Euler and Maclaurin's sum (DLMF 25.11.5).
    steps = _SHIFT + n
    for k in range(steps):
        total += (x + k) ** -s
    z = x + steps
    total += z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    rising, power, factorial = float(s), z ** (-s - 1), 2.0
    for k, b in enumerate(_BERNOULLI):
        total += b / factorial * rising * power
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (z * z)
        factorial *= (2 * k + 3) * (2 * k + 4)
    total = xp.where(x > 0, total, math.nan)
    return (1 if n % 2 else -1) * math.factorial(n) * total


# ---- modified Bessel functions
def _bessel_scaled(xp, x, order):
    """exp(-|x|) I_order(|x|): the power series below 25, Hankel's expansion above."""
    a = xp.abs(x)
    low = xp.minimum(a, 25.0)
    u, term = low * low / 4, xp.exp(-low)
    if order:
        term = term * low / 2
    total = term.copy()
    for k in range(1, 70):
        term = term * u / (k * (k + order))
        total += term
    high = xp.maximum(a, 25.0)
    term, series = xp.ones_like(a), xp.ones_like(a)
    for k in range(1, 25):
        term = term * -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * high)
        series += term
    return xp.where(a < 25.0, total, series / xp.sqrt(2 * math.pi * high))


@_special("i0e")
def i0e(xp, x):
    """exp(-|x|) i0(x)."""
    return _bessel_scaled(xp, x, 0)


@_special("i0")
def i0(xp, x):
    """The modified Bessel function of the first kind, of order 0."""
    return _bessel_scaled(xp, x, 0) * xp.exp(xp.abs(x))


@_special("i1e")
def i1e(xp, x):
    """exp(-|x|) i1(x)."""
    return xp.sign(x) * _bessel_scaled(xp, x, 1)


@_special("i1")
def i1(xp, x):
    """The modified Bessel function of the first kind, of order 1."""
    return xp.sign(x) * _bessel_scaled(xp, x, 1) * xp.exp(xp.abs(x))


# ---- incomplete gamma functions
def _incomplete_gamma(xp, a, x, upper):
    """P(a, x), or Q(a, x) = 1 - P(a, x) with `upper`."""
    a, x = xp.broadcast_arrays(a, x)
    by_series = x < a + 1.0
    scale = xp.exp(-x + a * xp.log(xp.where(x > 0, x, 1.0)) - lgamma(xp, a))
    # The series of P (DLMF 8.11.4) below a + 1 ...
    s = xp.where(by_series, x, 0.0)
    term = 1.0 / a
    total = term.copy()
    steps = int(60 + 12 * math.sqrt(float(a.max()))) if a.size else 0
    for k in range(1, steps):
        term = term * s / (a + k)
        total += term
    series = xp.where(x > 0, scale * total, 0.0)
    # ... and Lentz's form of the continued fraction of Q (DLMF 8.9.2) above.
    f = xp.where(by_series, a + 1.0, x)
    b = f + 1.0 - a
    c, d = xp.full_like(f, 1e300), 1.0 / b
    h = d.copy()
    for k in range(1, steps):
        ak = -k * (k - a)
        b = b + 2.0
        d = 1.0 / (ak * d + b)
        c = b + ak / c
        h = h * d * c
    fraction = xp.where(xp.isinf(x), 0.0, scale * h)
    if upper:
        result = xp.where(by_series, 1.0 - series, fraction)
    else:
        result = xp.where(by_series, series, 1.0 - fraction)
    return xp.where((a > 0) & (x >= 0), result, math.nan)


@_special("gammaincc")
def gammaincc(xp, a, x):
    """The upper regularised incomplete gamma function Q(a, x), for a > 0 and x >= 0."""
    return _incomplete_gamma(xp, a, x, True)


@_special("gammainc")
def gammainc(xp, a, x):
    """The lower regularised incomplete gamma function P(a, x), for a > 0 and x >= 0."""
    return _incomplete_gamma(xp, a, x, False)
