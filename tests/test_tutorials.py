"""Every tutorial runs, from a folder that is not the checkout, and asserts what it says."""
from __future__ import annotations

import os
import re

import pytest
from processes import ROOT, python

pytestmark = pytest.mark.host_only("starts processes of its own")

TUTORIALS = sorted(os.listdir(os.path.join(ROOT, "tutorials")))


def test_there_are_tutorials():
    assert len(TUTORIALS) >= 3


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_runs(name, tmp_path):
    done = python("-W", "error", os.path.join(ROOT, "tutorials", name), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout and not done.stderr


def test_the_engine_in_80_lines_has_80_lines():
    path = os.path.join(ROOT, "tutorials", "02_engine_in_80_lines.py")
    with open(path, encoding="utf-8") as file:
        _, engine, _ = re.split("^# -+ 80 lines$", file.read(), flags=re.MULTILINE)
    assert len([line for line in engine.splitlines() if line.strip()]) == 80
