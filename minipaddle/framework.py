"""`paddle.framework`: names of the package under the module where programs also look for them.

Imports static, serialization, layer and below; holds nothing of its own.
"""
from __future__ import annotations

from .core import Parameter, Tensor, create_parameter, grad, no_grad  # noqa: F401
from .device import (CPUPlace, CUDAPinnedPlace, CUDAPlace, get_rng_state, seed,  # noqa: F401
                     set_rng_state)
from .dtypes import get_default_dtype, set_default_dtype  # noqa: F401
from .layer import ParamAttr  # noqa: F401
from .serialization import load, save  # noqa: F401
from .static import in_dynamic_mode  # noqa: F401

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "ParamAttr", "Parameter", "Tensor",
           "create_parameter", "get_default_dtype", "get_rng_state", "grad", "in_dynamic_mode",
           "load", "no_grad", "save", "seed", "set_default_dtype", "set_rng_state"]
