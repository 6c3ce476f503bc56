"""One setting of the host's allocator. Imports nothing of the package.

glibc gives a big array's pages back to the system as soon as it dies, so each temporary is faulted
in again: the largest single cost of eager NumPy on arrays of 100 KB to 30 MB. Two calls make it
keep them. Peak memory is unchanged; what was once used stays with the process.
MINIPADDLE_KEEP_PAGES=0 in the environment leaves the allocator alone.
"""
from __future__ import annotations

import os

_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1       # from glibc's malloc.h


def keep_pages() -> bool:
    """Make glibc keep freed pages up to 32 MB blocks; False where there is no glibc."""
    if os.environ.get("MINIPADDLE_KEEP_PAGES") == "0":
        return False
    try:
        import ctypes
        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, AttributeError, TypeError):
        return False                                # musl, macOS, Windows: nothing to set
    return bool(mallopt(_M_MMAP_THRESHOLD, 32 << 20) and mallopt(_M_TRIM_THRESHOLD, 2**31 - 1))
