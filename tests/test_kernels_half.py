"""The casts between float16 and float32: bit for bit what NumPy's are."""
from __future__ import annotations

import numpy as np
import pytest

from minipaddle import kernels_half

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same(found, right):
    nan = np.isnan(right)
    assert found.dtype == right.dtype and found.shape == right.shape
    assert (np.isnan(found) == nan).all()
    bits = f"u{right.itemsize}"
    assert (found.view(bits)[~nan] == right.view(bits)[~nan]).all()


def test_every_half_widens():
    same(kernels_half.widen(HALVES.reshape(256, 256)), HALVES.reshape(256, 256).astype("float32"))
    same(kernels_half.widen(HALVES[::3]), HALVES[::3].astype("float32"))


@pytest.mark.filterwarnings("ignore:overflow")
def test_narrowing_rounds_to_even_everywhere():
    values = HALVES[np.isfinite(HALVES)].astype("float32")
    middle = ((values[:-1].astype("float64") + values[1:]) / 2).astype("float32")
    x = np.concatenate([values, middle, np.nextafter(middle, np.float32(np.inf)),
                        np.nextafter(middle, np.float32(-np.inf)),
                        np.float32([65519.99, 65520, 1e9, np.inf, -np.inf, np.nan, 0.0, -0.0])])
    same(kernels_half.narrow(x), x.astype("float16"))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("seed", range(4))
def test_any_bits_narrow(seed):
    bits = np.random.default_rng(seed).integers(0, 1 << 32, 100_003, dtype=np.uint32)
    x = bits.view(np.float32)
    same(kernels_half.narrow(x), x.astype("float16"))
    same(kernels_half.narrow(x[::2]), x[::2].astype("float16"))
    same(kernels_half.narrow(x[:10]), x[:10].astype("float16"))
