"""Optimizers against real Paddle's trajectories and states, and what flat buffers must not break."""
from __future__ import annotations

import copy
import gc
import weakref

import golden_training
import numpy as np
import pytest

import minipaddle as paddle

GOLDEN = golden_training.golden()["optimizers"]


@pytest.mark.parametrize("label", golden_training.OPTIMIZERS)
def test_trajectory_and_state_are_paddles(label):
    found, wanted = golden_training.OPTIMIZERS[label](paddle), GOLDEN[label]
    np.testing.assert_allclose(found["trace"], wanted["trace"], rtol=2e-5, atol=3e-6)
    if "rates" in wanted:
        assert found["rates"] == pytest.approx(wanted["rates"])
    if "state" in wanted:
        assert sorted(found["state"]) == sorted(wanted["state"])
        for name, value in wanted["state"].items():
            if isinstance(value, dict):
                assert found["state"][name] == pytest.approx(value)
                continue
            assert np.shape(found["state"][name]) == np.shape(value), name
            np.testing.assert_allclose(found["state"][name], value, rtol=2e-5, atol=3e-6,
                                       err_msg=name)
