"""minipaddle: PaddlePaddle 2.x as a small, readable NumPy/CuPy framework.

    import minipaddle as paddle

The package is flat; Paddle's dotted names (`paddle.nn.functional`, `paddle.optimizer.lr`) resolve
through the one table `_DOTTED` below. Names of ops arrive in this module's globals by their own
definition (see core.op), not by a list here.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from . import core, dtypes
from .core import (Parameter, Tensor, create_parameter, enable_grad, grad,  # noqa: F401
                   is_grad_enabled, no_grad, set_grad_enabled, to_tensor)
from .device import (CPUPlace, CUDAPinnedPlace, CUDAPlace, get_device,  # noqa: F401
                     get_rng_state, is_compiled_with_cuda, seed, set_device, set_rng_state)
from .dtypes import DType as dtype  # noqa: F401
from .dtypes import finfo, get_default_dtype, iinfo, set_default_dtype  # noqa: F401
from .memory import keep_pages

__version__ = "0.1.0"

keep_pages()

globals().update(dtypes.ALL)
globals().update(core.namespaces["paddle"])
core.namespaces["paddle"] = globals()

# Paddle's dotted name -> the flat module that holds it. Those in _EAGER are imported at once,
# the others when they are first asked for.
_DOTTED = {
    "autograd": "autograd", "amp": "amp", "device": "device", "fluid": "fluid",
    "fluid.dygraph": "fluid_dygraph", "fluid.layers": "fluid_layers",
    "fluid.optimizer": "fluid_optimizer", "framework": "framework",
    "io": "io", "jit": "jit", "linalg": "linalg", "metric": "metric", "nn": "nn",
    "nn.clip": "grad_clip", "nn.functional": "functional", "nn.functional.common": "functional",
    "nn.initializer": "initializer", "nn.layer": "nn", "nn.layer.common": "nn",
    "nn.layer.norm": "nn", "nn.loss": "nn", "nn.utils": "nn_utils", "optimizer": "optim",
    "optimizer.lr": "lr", "regularizer": "regularizer", "static": "static",
    "vision": "vision", "vision.datasets": "vision_datasets",
    "vision.datasets.mnist": "vision_datasets", "vision.transforms": "vision_transforms",
    "vision.transforms.functional": "vision_transforms",
}
_EAGER = ("nn", "optimizer", "autograd", "device")
_CHAPTERS = ("ops_math", "ops_reduce", "ops_create", "ops_random", "ops_shape", "ops_index",
             "ops_linalg", "ops_nn")
_PARENTS = {_DOTTED[dotted.rpartition(".")[0]] for dotted in _DOTTED if "." in dotted}


class _DottedFinder(importlib.abc.MetaPathFinder):
    """Finds `minipaddle.nn.functional` and its like: the flat module under another name."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        package, _, dotted = fullname.partition(".")
        if package != __name__:
            return None
        if _DOTTED.get(dotted, dotted) != dotted:
            return importlib.util.spec_from_loader(fullname, _Alias())
        if dotted in _PARENTS:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            if spec is not None:
                spec.loader = _Parent(spec.loader)
            return spec
        return None


class _Alias(importlib.abc.Loader):
    """Gives the flat module that a dotted name stands for."""

    def create_module(self, spec):
        self.module = importlib.import_module(f"{__name__}.{_DOTTED[spec.name.partition('.')[2]]}")
        self.spec = self.module.__spec__
        return self.module

    def exec_module(self, module) -> None:
        module.__spec__ = self.spec                 # it ran under its own name already


class _Parent(importlib.abc.Loader):
    """Loads a flat module that has dotted names below it: Python looks for a `__path__` there."""

    def __init__(self, loader) -> None:
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module) -> None:
        module.__path__ = []
        self._loader.exec_module(module)


def _submodule(dotted: str):
    module = importlib.import_module(f"{__name__}.{_DOTTED[dotted]}")
    sys.modules.setdefault(f"{__name__}.{dotted}", module)
    for inner, flat in _DOTTED.items():
        parent, _, last = inner.rpartition(".")
        if parent == dotted:
            setattr(module, last, _submodule(inner))
    return module


# Names of `paddle.*` that are no ops -> the module that has them, imported on first use.
_LATER = {
    "save": "serialization", "load": "serialization", "set_printoptions": "printing",
    "ParamAttr": "layer", "enable_static": "static", "disable_static": "static",
    "in_dynamic_mode": "static",
}


def __getattr__(name: str):
    if name in _DOTTED:
        globals()[name] = module = _submodule(name)
        return module
    if name in _LATER:
        module = importlib.import_module(f"{__name__}.{_LATER[name]}")
        globals()[name] = value = getattr(module, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.meta_path.insert(0, _DottedFinder)
for _name in _CHAPTERS:
    importlib.import_module(f"{__name__}.{_name}")
for _name in _EAGER:
    globals()[_name] = _submodule(_name)
