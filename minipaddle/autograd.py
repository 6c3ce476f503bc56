"""`paddle.autograd`: backward, grad modes, PyLayer, numerical checks. Imports core and checks."""
from __future__ import annotations

from .core import (backward, enable_grad, grad, is_grad_enabled, no_grad,
                   set_grad_enabled)
from .pylayer import PyLayer, PyLayerContext

__all__ = ["PyLayer", "PyLayerContext", "backward", "enable_grad", "grad",
           "gradcheck",                             # noqa: F822 (by __getattr__ below)
           "is_grad_enabled", "no_grad", "set_grad_enabled"]


def __getattr__(name: str):
    if name == "gradcheck":                         # the checker is no part of a training run
        from .checks import gradcheck
        return gradcheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
