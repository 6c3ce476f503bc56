"""float16 to float32 and back, faster than NumPy's own casts. Imports numpy alone.

NumPy converts half precision one number at a time, which makes up most of a mixed precision step
on the CPU. A table of all 65,536 values reads twice as fast; the way back does the rounding in
float32 arithmetic and integer steps over whole blocks. Both give exactly NumPy's results (nan
stays nan).
"""
from __future__ import annotations

import functools

import numpy as np

_FEW_WIDE, _FEW_NARROW = 4096, 32768        # below so many elements NumPy's own cast is as fast
_BLOCK = 16384          # elements: the steps stay in the cache


@functools.lru_cache(maxsize=1)
def _table():
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    values.flags.writeable = False
    return values


def widen(x):
    """A float16 array as float32."""
    if x.size < _FEW_WIDE:
        return x.astype(np.float32)
    x = np.ascontiguousarray(x)
    return _table().take(x.view(np.uint16))


def narrow(x):
    """A float32 array as float16, rounded to the nearest, ties to even."""
    if x.size < _FEW_NARROW:
        return x.astype(np.float16)
    out = np.empty(x.shape, np.uint16)
    source, target = np.ascontiguousarray(x).reshape(-1), out.reshape(-1)
    n = min(x.size, _BLOCK)
    a, b, c = np.empty(n, np.float32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    for i in range(0, x.size, n):
        part = source[i:i + n]
        m = len(part)
        _narrow(part, target[i:i + n], a[:m], b[:m], c[:m])
    return out.view(np.float16)


def _narrow(x, out, base, bias, bits) -> None:
    # Adding 2^(e + 13) to a number with exponent e leaves the eleven digits of a half in the low
    # bits of the sum, rounded by the addition itself (the way of M. Dukhan's FP16 library).
    np.absolute(x, out=base)
    base *= np.float32(2.0 ** 112)                  # what is beyond a half becomes inf
    base *= np.float32(2.0 ** -110)
    word = x.view(np.uint32)
    np.add(word, word, out=bias)                    # the sign falls out
    bias &= np.uint32(0xFF000000)
    np.maximum(bias, np.uint32(0x71000000), out=bias)       # subnormal halves share one exponent
    bias >>= np.uint32(1)
    bias += np.uint32(0x07800000)
    base += bias.view(np.float32)
    np.right_shift(base.view(np.uint32), np.uint32(13), out=bits)
    bits &= np.uint32(0x7C00)
    np.bitwise_and(base.view(np.uint32), np.uint32(0x0FFF), out=bias)
    bits += bias
    np.right_shift(word, np.uint32(16), out=bias)
    bias &= np.uint32(0x8000)
    bits |= bias
    out[...] = bits
    nan = np.isnan(x)
    if nan.any():
        out[nan] = 0x7E00
