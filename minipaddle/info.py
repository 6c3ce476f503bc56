"""`python -m minipaddle info`: versions, devices and the BLAS that NumPy multiplies with.

May import the package itself and the standard library.
"""
from __future__ import annotations

import importlib.metadata
import os
import platform

import numpy as np

import minipaddle

from .device import device_count


def blas() -> str:
    """Name and version of the BLAS library NumPy was built with.

    >>> isinstance(blas(), str)
    True
    """
    config = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def devices() -> str:
    """The devices `paddle.set_device` accepts here, or why there is no GPU among them."""
    try:
        count = device_count()
    except RuntimeError:
        return "cpu (no GPU: CuPy is not installed)"
    if not count:
        return "cpu (no GPU: CuPy is installed and finds none, or the driver is missing)"
    return ", ".join(["cpu", *(f"gpu:{index}" for index in range(count))])


def installed(names: tuple[str, ...]) -> str:
    """Those of the named distributions that are installed, with their versions."""
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) or "none"


def main() -> int:
    """Print the table; gives the exit status 0."""
    from .core import registry
    rows = {
        "minipaddle": f"{minipaddle.__version__} ({os.path.dirname(minipaddle.__file__)})",
        "python": f"{platform.python_version()} ({platform.python_implementation()}, "
                  f"{platform.system()} {platform.machine()})",
        "numpy": np.__version__,
        "blas": blas(),
        "threads": f"{os.cpu_count()} cores" + "".join(
            f", {name}={os.environ[name]}"
            for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
            if name in os.environ),
        "devices": devices(),
        "cupy": installed(("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")),
        "optional": installed(("matplotlib", "pillow")),
        "operations": str(len(registry)),
    }
    for name, value in rows.items():
        print(f"{name:<12}{value}")
    return 0
