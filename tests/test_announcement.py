"""The two programs of Paddle 2.0's announcement run unmodified, as files of their own."""
from __future__ import annotations

import os
import re

import pytest
from processes import SCRIPTS, minipaddle

pytestmark = pytest.mark.host_only("starts processes of its own")


def run(name: str, folder) -> str:
    done = minipaddle("run", os.path.join(SCRIPTS, name), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mixed_precision_loop_learns(tmp_path):
    losses = [float(text) for text in re.findall(r"loss (\S+)", run("announced_amp.py", tmp_path))]
    assert len(losses) == 20
    assert losses[-1] < 0.2 * losses[0]


def test_network_of_two_inputs_is_saved_and_reloads_with_equal_answers(tmp_path):
    run("announced_to_static.py", tmp_path)
    assert [name for name in os.listdir(tmp_path) if name.startswith("simple_net")]
    text = run("reload_simple_net.py", tmp_path)        # a new process: only the files are left
    assert float(re.search(r"difference (\S+)", text)[1]) <= 1e-6
    assert "batch of 7: [7, 3]" in text
