"""Starts the command line in a process of its own, for tests that must see what a user sees."""
from __future__ import annotations

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPTS = os.path.join(ROOT, "tests", "scripts")


def python(*args: str, cwd=None, **env: str) -> subprocess.CompletedProcess:
    """`python args...` with this checkout importable from any folder; output as text."""
    path = os.pathsep.join(filter(None, [env.pop("PYTHONPATH", ""), ROOT,
                                         os.environ.get("PYTHONPATH", "")]))
    return subprocess.run([sys.executable, *args], cwd=cwd, capture_output=True, text=True,
                          timeout=300, env={**os.environ, **env, "PYTHONPATH": path})


def minipaddle(*args: str, cwd=None, **env: str) -> subprocess.CompletedProcess:
    """`python -m minipaddle args...`"""
    return python("-m", "minipaddle", *args, cwd=cwd, **env)
