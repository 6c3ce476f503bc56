"""paddle.nn.initializer: the starting values of parameters.

Imports core and kernels_special. Calling an initializer with a parameter fills it. Draws come
from the generator of the parameter's device, so `paddle.seed` fixes them.
"""
from __future__ import annotations

import math

import numpy as np

from .core import Parameter, Tensor, asarray, asnumpy, generator, is_array, xp_of
from .kernels_special import erfinv

__all__ = ["Assign", "Bilinear", "Constant", "Dirac", "Initializer", "KaimingNormal",
           "KaimingUniform", "Normal", "Orthogonal", "TruncatedNormal", "Uniform",
           "XavierNormal", "XavierUniform", "calculate_gain", "set_global_initializer"]


class Initializer:
    """Base of all initializers: `forward(param)` returns the values, `init(param)` sets them.

    >>> import minipaddle as paddle
    >>> w = paddle.create_parameter([2], 'float32')
    >>> paddle.nn.initializer.Constant(3.0)(w); w.tolist()
    [3.0, 3.0]
    """

    def __call__(self, param: Tensor, block: object = None) -> None:
        value = self.forward(param, block)
        param._data = value.astype(param._data.dtype).reshape(param._data.shape)

    def forward(self, param: Tensor, block: object = None):
        """The new values, an array of the parameter's shape on its device."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its values are: "
                                  "define forward(self, param, block=None)")


def _uniform(param, low, high):
    array = param._data
    kind = np.float64 if array.dtype == np.float64 else np.float32
    drawn = generator(xp_of(array)).random(array.shape, dtype=kind)
    return drawn * kind(high - low) + kind(low)


def _normal(param, mean, std):
    array = param._data
    kind = np.float64 if array.dtype == np.float64 else np.float32
    drawn = generator(xp_of(array)).standard_normal(array.shape, dtype=kind)
    return drawn * kind(std) + kind(mean)


def fans(shape) -> tuple:
    """(fan in, fan out) of a weight: what one output is made of, what one input goes to."""
    if len(shape) < 2:
        n = shape[0] if shape else 1
        return n, n
    if len(shape) == 2:
        return shape[0], shape[1]
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


class Constant(Initializer):
    """Every entry the same value.

    >>> import minipaddle as paddle
    >>> paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Constant(0.5)).weight.tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, value: float = 0.0) -> None:
        self._value = value

    def forward(self, param, block=None):
        return xp_of(param._data).full(param._data.shape, self._value, param._data.dtype)


class Normal(Initializer):
    """Draws of the normal law.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.Normal(mean=0.0, std=0.02)
    >>> paddle.nn.Linear(3, 2, weight_attr=init).weight.shape
    [3, 2]
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self._mean, self._std = mean, std

    def forward(self, param, block=None):
        return _normal(param, self._mean, self._std)


class TruncatedNormal(Initializer):
    """Draws of the normal law, none further than two deviations from the mean.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.TruncatedNormal(std=0.5)
    >>> float(paddle.nn.Linear(9, 9, weight_attr=init).weight.abs().max()) <= 1.0
    True
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                 name: str | None = None) -> None:
        self._mean, self._std, self._a, self._b = mean, std, a, b

    def forward(self, param, block=None):
        # The inverse of the distribution function, of uniform draws between its values at a, b.
        low, high = [math.erf(v / math.sqrt(2)) for v in (self._a, self._b)]
        xp = xp_of(param._data)
        drawn = erfinv(xp, _uniform(param, low, high).astype(np.float64)) * math.sqrt(2)
        return xp.clip(drawn, self._a, self._b) * self._std + self._mean


class Uniform(Initializer):
    """Draws evenly from [low, high).

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.Uniform(-0.1, 0.1)
    >>> float(paddle.nn.Linear(3, 2, weight_attr=init).weight.abs().max()) <= 0.1
    True
    """

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self._low, self._high = low, high

    def forward(self, param, block=None):
        return _uniform(param, self._low, self._high)


class _Xavier(Initializer):
    def __init__(self, fan_in: float | None = None, fan_out: float | None = None,
                 name: str | None = None) -> None:
        self._fan_in, self._fan_out = fan_in, fan_out

    def _variance(self, param):
        fan_in, fan_out = fans(param._data.shape)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        return 2.0 / max(fan_in + fan_out, 1e-12)


class XavierUniform(_Xavier):
    """Even draws within sqrt(6 / (fan_in + fan_out)): the default of most layers' weights.

    Glorot and Bengio, Understanding the difficulty of training deep networks, 2010.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.XavierUniform()
    >>> float(paddle.nn.Linear(3, 3, weight_attr=init).weight.abs().max()) <= 1.0
    True
    """

    def forward(self, param, block=None):
        bound = math.sqrt(3 * self._variance(param))
        return _uniform(param, -bound, bound)


class XavierNormal(_Xavier):
    """Normal draws with deviation sqrt(2 / (fan_in + fan_out)).

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.XavierNormal()
    >>> paddle.nn.Linear(3, 2, weight_attr=init).weight.shape
    [3, 2]
    """

    def forward(self, param, block=None):
        return _normal(param, 0.0, math.sqrt(self._variance(param)))


class _Kaiming(Initializer):
    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0,
                 nonlinearity: str = "relu") -> None:
        self._fan_in, self._gain = fan_in, calculate_gain(nonlinearity, negative_slope)

    def _deviation(self, param):
        fan_in = fans(param._data.shape)[0] if self._fan_in is None else self._fan_in
        return self._gain / math.sqrt(max(fan_in, 1e-12))


class KaimingUniform(_Kaiming):
    """Even draws within gain * sqrt(3 / fan_in).

    He et al., Delving deep into rectifiers, 2015.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.KaimingUniform()
    >>> float(paddle.nn.Linear(6, 3, weight_attr=init).weight.abs().max()) <= 1.0
    True
    """

    def forward(self, param, block=None):
        bound = math.sqrt(3) * self._deviation(param)
        return _uniform(param, -bound, bound)


class KaimingNormal(_Kaiming):
    """Normal draws with deviation gain / sqrt(fan_in).

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.KaimingNormal()
    >>> paddle.nn.Conv2D(3, 8, 3, weight_attr=init).weight.shape
    [8, 3, 3, 3]
    """

    def forward(self, param, block=None):
        return _normal(param, 0.0, self._deviation(param))


class Assign(Initializer):
    """Given values: a list, array or Tensor of the parameter's shape.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.Assign([[1.0], [2.0]])
    >>> paddle.nn.Linear(2, 1, weight_attr=init).weight.tolist()
    [[1.0], [2.0]]
    """

    def __init__(self, value, name: str | None = None) -> None:
        self._value = value

    def forward(self, param, block=None):
        value = self._value._data if isinstance(self._value, Tensor) else self._value
        value = value if is_array(value) else np.asarray(
            [asnumpy(v._data) if isinstance(v, Tensor) else v for v in value]
            if isinstance(value, (list, tuple)) else value)
        if tuple(value.shape) != param._data.shape:
            raise ValueError(f"Assign: the value has shape {list(value.shape)}, the parameter has "
                             f"{param.shape}")
        return asarray(value, param.place).copy()


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times gain; all but the first axis are one.

    Saxe et al., Exact solutions to the nonlinear dynamics of learning, 2013.

    >>> import minipaddle as paddle
    >>> w = paddle.nn.Linear(3, 3, weight_attr=paddle.nn.initializer.Orthogonal()).weight
    >>> bool(((paddle.matmul(w, w.T) - paddle.eye(3)).abs() < 1e-5).all())
    True
    """

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self._gain = gain

    def forward(self, param, block=None):
        shape = param._data.shape
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: the parameter must have at least two axes, got shape "
                             f"{list(shape)}")
        xp = xp_of(param._data)
        rows, columns = shape[0], math.prod(shape[1:])
        drawn = generator(xp).standard_normal((max(rows, columns), min(rows, columns)),
                                              dtype=np.float64)
        q, r = xp.linalg.qr(drawn)
        q = q * xp.sign(xp.diag(r))                 # else not every orthogonal matrix is as likely
        return (q.T if rows < columns else q).reshape(shape) * self._gain


class Dirac(Initializer):
    """The identity as a convolution's weight: each output channel copies one input channel.

    >>> import minipaddle as paddle
    >>> conv = paddle.nn.Conv1D(2, 2, 3, padding=1, bias_attr=False,
    ...                         weight_attr=paddle.nn.initializer.Dirac())
    >>> conv(paddle.to_tensor([[[1., 2.], [3., 4.]]])).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        self._groups = groups

    def forward(self, param, block=None):
        shape = param._data.shape
        if not 3 <= len(shape) <= 5 or shape[0] % self._groups:
            raise ValueError(f"Dirac: the parameter must be a convolution's weight whose first "
                             f"size groups={self._groups} divides, got shape {list(shape)}")
        value = np.zeros(shape)
        each = shape[0] // self._groups
        centre = tuple([n // 2 for n in shape[2:]])
        for g in range(self._groups):
            for i in range(min(each, shape[1])):
                value[(g * each + i, i, *centre)] = 1
        return asarray(value, param.place)


class Bilinear(Initializer):
    """Bilinear interpolation as the weight of a transposed convolution, for upsampling.

    >>> import minipaddle as paddle
    >>> init = paddle.nn.initializer.Bilinear()
    >>> up = paddle.nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=init)
    >>> up.weight[0, 0, 1].tolist()
    [0.1875, 0.5625, 0.5625, 0.1875]
    """

    def forward(self, param, block=None):
        shape = param._data.shape
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError(f"Bilinear: the parameter must be a square 4-D weight, got shape "
                             f"{list(shape)}")
        half = math.ceil(shape[3] / 2)
        centre = (2 * half - 1 - half % 2) / (2 * half)
        line = 1 - np.abs(np.arange(shape[3]) / half - centre)
        return asarray(np.broadcast_to(line[:, None] * line, shape), param.place).copy()


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which an initializer must make up for a nonlinearity.

    >>> import minipaddle as paddle
    >>> round(paddle.nn.initializer.calculate_gain('relu'), 4)
    1.4142
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"sigmoid": 1.0, "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0,
             "conv1d_transpose": 1.0, "conv2d_transpose": 1.0, "conv3d_transpose": 1.0,
             "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain: nonlinearity must be one of {', '.join(gains)}, "
                         f"leaky_relu; got {nonlinearity!r}")
    return gains[nonlinearity]


_global: dict = {"weight": None, "bias": None}


def set_global_initializer(weight_init: Initializer | None,
                           bias_init: Initializer | None = None) -> None:
    """Use these for every parameter whose ParamAttr names no initializer; None ends it.

    >>> import minipaddle as paddle
    >>> paddle.nn.initializer.set_global_initializer(paddle.nn.initializer.Constant(2.0))
    >>> paddle.nn.Linear(1, 1).weight.tolist()
    [[2.0]]
    >>> paddle.nn.initializer.set_global_initializer(None)
    """
    for what, init in (("weight_init", weight_init), ("bias_init", bias_init)):
        if init is not None and not isinstance(init, Initializer):
            raise TypeError(f"set_global_initializer: {what} must be an Initializer or None, got "
                            f"{init!r}")
    _global.update(weight=weight_init, bias=bias_init)


def choose(attr, is_bias: bool, default: Initializer | None) -> Initializer:
    """Whose values a new parameter gets: its attr's, the global ones, the layer's, Paddle's."""
    found = getattr(attr, "initializer", None) or _global["bias" if is_bias else "weight"] \
        or default
    return found or (Constant(0.0) if is_bias else XavierUniform())


def fill(param: Parameter, init) -> None:
    """Run an initializer, or any callable, on a parameter."""
    if not callable(init):
        raise TypeError(f"an initializer must be callable with the parameter, got {init!r}")
    init(param)
