"""paddle.fluid.dygraph: eager mode's old names, with the arguments they had in Paddle 1.8.

Imports jit, nn, serialization's level and below. `Layer` and the containers are today's; layers
whose arguments have changed since are derived from today's.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np

from . import device, nn
from . import functional as F
from .core import Parameter, Tensor, grad, no_grad, to_tensor  # noqa: F401
from .fluid_layers import activate
from .jit import to_static
from .nn import BatchNorm, Layer, LayerList, ParameterList, Sequential  # noqa: F401
from .serialization import load, save
from .static import in_dynamic_mode

declarative = to_static


def enabled() -> bool:
    """Whether operations run at once, not into a static program.

    >>> import minipaddle as paddle
    >>> paddle.fluid.dygraph.enabled()
    True
    """
    return in_dynamic_mode()


@contextlib.contextmanager
def guard(place=None) -> Iterator[None]:
    """Eager mode on a place for the time of a `with` block; None keeps the current place.

    >>> import minipaddle as paddle
    >>> with paddle.fluid.dygraph.guard(paddle.CPUPlace()):
    ...     float(paddle.fluid.dygraph.to_variable([1.5]).sum())
    1.5
    """
    before = device.current_place()
    try:
        if place is not None:
            device.set_device(place)
        yield
    finally:
        device.set_device(before)


def to_variable(value, name: str | None = None, zero_copy: bool | None = None,
                dtype=None) -> Tensor:
    """A Tensor from an array, a list or a number; a Tensor is given back as it is.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.fluid.dygraph.to_variable(np.ones([2, 3], 'float32')).shape
    [2, 3]
    """
    if isinstance(value, Tensor):
        return value
    tensor = to_tensor(np.asarray(value), dtype)
    if name is not None:
        tensor.name = name
    return tensor


def save_dygraph(state_dict: dict, model_path: str) -> None:
    """Save a layer's state as `model_path.pdparams`, an optimizer's as `model_path.pdopt`."""
    parameters = any(isinstance(value, Parameter) for value in state_dict.values())
    save(state_dict, model_path + (".pdparams" if parameters else ".pdopt"))


def load_dygraph(model_path: str) -> tuple[dict | None, dict | None]:
    """The states of a layer and of an optimizer saved by `save_dygraph`; None for one not there.

    FileNotFoundError when neither is.
    """
    base = model_path.removesuffix(".pdparams").removesuffix(".pdopt")
    found = [load(base + ending) if os.path.isfile(base + ending) else None
             for ending in (".pdparams", ".pdopt")]
    if found == [None, None]:
        raise FileNotFoundError(f"load_dygraph: neither {base}.pdparams nor {base}.pdopt is there")
    return tuple(found)


# ---- layers whose arguments have changed since
class Linear(nn.Linear):
    """x @ weight + bias, then the function named `act`; [N, input_dim] to [N, output_dim].

    >>> import minipaddle as paddle
    >>> layer = paddle.fluid.dygraph.Linear(4, 2, act='relu')
    >>> layer(paddle.ones([3, 4])).shape
    [3, 2]
    """

    def __init__(self, input_dim: int, output_dim: int, param_attr=None, bias_attr=None,
                 act: str | None = None, dtype: str = "float32") -> None:
        super().__init__(input_dim, output_dim, param_attr, bias_attr)
        self._act = act

    def forward(self, input: Tensor) -> Tensor:
        return activate(super().forward(input), self._act)


class Conv2D(nn.Conv2D):
    """Convolution of images [N, num_channels, H, W], then the function named `act`.

    >>> import minipaddle as paddle
    >>> layer = paddle.fluid.dygraph.Conv2D(1, 6, 3, padding=1, act='relu')
    >>> layer(paddle.ones([2, 1, 8, 8])).shape
    [2, 6, 8, 8]
    """

    def __init__(self, num_channels: int, num_filters: int, filter_size, stride=1, padding=0,
                 dilation=1, groups: int | None = None, param_attr=None, bias_attr=None,
                 use_cudnn: bool = True, act: str | None = None, dtype: str = "float32") -> None:
        super().__init__(num_channels, num_filters, filter_size, stride, padding, dilation,
                         groups or 1, weight_attr=param_attr, bias_attr=bias_attr)
        self._act = act

    def forward(self, input: Tensor) -> Tensor:
        return activate(super().forward(input), self._act)


class Pool2D(Layer):
    """The largest value or the mean of each window of images [N, C, H, W].

    >>> import minipaddle as paddle
    >>> pool = paddle.fluid.dygraph.Pool2D(2, 'avg', pool_stride=2)
    >>> pool(paddle.ones([1, 3, 8, 8])).shape
    [1, 3, 4, 4]
    >>> paddle.fluid.dygraph.Pool2D(global_pooling=True)(paddle.ones([1, 3, 8, 8])).shape
    [1, 3, 1, 1]
    """

    def __init__(self, pool_size=-1, pool_type: str = "max", pool_stride=1, pool_padding=0,
                 global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False,
                 exclusive: bool = True, data_format: str = "NCHW") -> None:
        super().__init__()
        if pool_type not in ("max", "avg"):
            raise ValueError(f"Pool2D: pool_type must be 'max' or 'avg', got {pool_type!r}")
        self.pool_type, self.size, self.stride = pool_type, pool_size, pool_stride
        self.padding, self.whole, self.ceil_mode = pool_padding, global_pooling, ceil_mode
        self.exclusive, self.data_format = exclusive, data_format

    def forward(self, input: Tensor) -> Tensor:
        size, stride, padding = self.size, self.stride, self.padding
        if self.whole:
            size = input.shape[2:] if self.data_format == "NCHW" else input.shape[1:3]
            stride, padding = 1, 0
        if self.pool_type == "max":
            return F.max_pool2d(input, size, stride, padding, ceil_mode=self.ceil_mode,
                                data_format=self.data_format)
        return F.avg_pool2d(input, size, stride, padding, ceil_mode=self.ceil_mode,
                            exclusive=self.exclusive, data_format=self.data_format)


class Embedding(nn.Embedding):
    """Rows of a table of `size` [number, width] by their indices.

    >>> import minipaddle as paddle
    >>> table = paddle.fluid.dygraph.Embedding([10, 4])
    >>> table(paddle.to_tensor([[1, 2, 3]])).shape
    [1, 3, 4]
    """

    def __init__(self, size, is_sparse: bool = False, is_distributed: bool = False,
                 padding_idx: int | None = None, param_attr=None,
                 dtype: str = "float32") -> None:
        super().__init__(size[0], size[1], padding_idx, weight_attr=param_attr)


class Dropout(nn.Dropout):
    """Dropout that, unless told 'upscale_in_train', keeps values in training and multiplies by
    1 - p in evaluation.

    >>> import minipaddle as paddle
    >>> drop = paddle.fluid.dygraph.Dropout(0.25); _ = drop.eval()
    >>> drop(paddle.ones([2])).tolist()
    [0.75, 0.75]
    """

    def __init__(self, p: float = 0.5, seed: int | None = None,
                 dropout_implementation: str = "downgrade_in_infer",
                 is_test: bool = False) -> None:
        super().__init__(p, mode="upscale_in_train" if dropout_implementation ==
                         "upscale_in_train" else "downscale_in_infer")


class LayerNorm(nn.LayerNorm):
    """Normalisation over the last dimensions, `normalized_shape`, then the function `act`.

    >>> import minipaddle as paddle
    >>> paddle.fluid.dygraph.LayerNorm(4)(paddle.ones([2, 4])).shape
    [2, 4]
    """

    def __init__(self, normalized_shape, scale: bool = True, shift: bool = True,
                 epsilon: float = 1e-5, param_attr=None, bias_attr=None,
                 act: str | None = None, dtype: str = "float32") -> None:
        super().__init__(normalized_shape, epsilon, param_attr if scale else False,
                         bias_attr if shift else False)
        self._act = act

    def forward(self, input: Tensor) -> Tensor:
        return activate(super().forward(input), self._act)
