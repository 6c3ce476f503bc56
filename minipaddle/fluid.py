"""paddle.fluid: names of Paddle 1.8 and 2.0 that programs still import.

Stands near the top of the house: imports fluid_dygraph, fluid_layers, fluid_optimizer, static and
below. Only what maps cleanly onto today's Paddle is here.
"""
from __future__ import annotations

from . import fluid_dygraph as dygraph  # noqa: F401
from . import fluid_layers as layers  # noqa: F401
from . import fluid_optimizer as optimizer  # noqa: F401
from . import initializer, regularizer  # noqa: F401
from .device import CPUPlace, CUDAPinnedPlace, CUDAPlace, is_compiled_with_cuda  # noqa: F401
from .fluid_dygraph import load_dygraph, save_dygraph  # noqa: F401
from .layer import ParamAttr  # noqa: F401
from .static import in_dynamic_mode as in_dygraph_mode  # noqa: F401
