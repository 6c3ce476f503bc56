"""paddle.fluid.layers: functions of Paddle 1.8 under their old names and arguments.

Imports functional and below. Each maps to a present function; those that create parameters by
being called (`fc`, `conv2d`) belong to static graphs and have no counterpart here.
"""
from __future__ import annotations

from collections.abc import Sequence

from . import functional as F
from .core import Tensor, ops

# ---- the same function under the same name
for _name in ("abs", "assign", "cast", "ceil", "cos", "equal", "exp", "floor", "greater_than",
              "less_than", "log", "mean", "not_equal", "ones_like", "rsqrt", "sin", "sqrt",
              "square", "stack", "tanh", "transpose", "zeros_like"):
    globals()[_name] = getattr(ops, _name)
for _name in ("leaky_relu", "log_softmax", "relu", "sigmoid", "softmax_with_cross_entropy",
              "softplus", "square_error_cost"):
    globals()[_name] = getattr(F, _name)


def activate(x: Tensor, act: str | None) -> Tensor:
    """The old argument `act`: the name of a function to apply last, or None."""
    return x if act is None else getattr(F, act)(x)


# ---- arithmetic, with the old `axis`: where y's dimensions stand within x's
def _elementwise(name: str):
    def function(x: Tensor, y, axis: int = -1, act: str | None = None,
                 name: str | None = None) -> Tensor:
        behind = x.ndim - axis - y.ndim if axis != -1 and isinstance(y, Tensor) else 0
        if behind > 0:
            y = ops.reshape(y, list(y.shape) + [1] * behind)
        return activate(getattr(ops, new)(x, y), act)

    new = name
    function.__doc__ = f"paddle.{new}(x, y), y's dimensions beginning at x's dimension `axis`."
    return function


elementwise_add, elementwise_sub = _elementwise("add"), _elementwise("subtract")
elementwise_mul, elementwise_div = _elementwise("multiply"), _elementwise("divide")
elementwise_max, elementwise_min = _elementwise("maximum"), _elementwise("minimum")
elementwise_pow = _elementwise("pow")


def matmul(x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False,
           alpha: float = 1.0, name: str | None = None) -> Tensor:
    """alpha times the matrix product."""
    out = ops.matmul(x, y, transpose_x, transpose_y)
    return out if alpha == 1.0 else out * alpha


def mul(x: Tensor, y: Tensor, x_num_col_dims: int = 1, y_num_col_dims: int = 1,
        name: str | None = None) -> Tensor:
    """Matrix product of x and y, each flattened to a matrix: its first `num_col_dims`
    dimensions become the rows.

    >>> import minipaddle as paddle
    >>> paddle.fluid.layers.mul(paddle.ones([2, 3, 4]), paddle.ones([12, 5])).shape
    [2, 5]
    """
    rows, columns = list(x.shape[:x_num_col_dims]), list(y.shape[y_num_col_dims:])
    out = ops.matmul(ops.flatten(ops.flatten(x, x_num_col_dims), 0, x_num_col_dims - 1),
                     ops.flatten(ops.flatten(y, y_num_col_dims), 0, y_num_col_dims - 1))
    return ops.reshape(out, rows + columns)


def pow(x: Tensor, factor=1.0, name: str | None = None) -> Tensor:
    """x to the power of `factor`."""
    return ops.pow(x, factor)


def clip(x: Tensor, min: float, max: float, name: str | None = None) -> Tensor:
    """x limited to [min, max]."""
    return ops.clip(x, min, max)


def sums(input: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """The sum of a list of tensors; also put into `out`."""
    total = input[0]
    for x in input[1:]:
        total = total + x
    return total if out is None else ops.assign(total, out)


# ---- reductions: `dim` and `keep_dim` are now `axis` and `keepdim`
def _reduce(new: str):
    def function(input: Tensor, dim=None, keep_dim: bool = False,
                 name: str | None = None) -> Tensor:
        return getattr(ops, new)(input, axis=dim, keepdim=keep_dim)

    function.__doc__ = f"paddle.{new}(input, axis=dim, keepdim=keep_dim)."
    return function


reduce_sum, reduce_mean, reduce_prod = _reduce("sum"), _reduce("mean"), _reduce("prod")
reduce_max, reduce_min = _reduce("max"), _reduce("min")


def argmax(x: Tensor, axis: int = 0) -> Tensor:
    """Indices of the largest values along an axis, 0 unless told."""
    return ops.argmax(x, axis)


def argmin(x: Tensor, axis: int = 0) -> Tensor:
    """Indices of the smallest values along an axis, 0 unless told."""
    return ops.argmin(x, axis)


def topk(input: Tensor, k: int, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The k largest values along the last axis, and their indices."""
    return ops.topk(input, k)


# ---- shapes
def concat(input: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """The tensors joined along an axis."""
    return ops.concat(input, axis)


def split(input: Tensor, num_or_sections, dim: int = -1, name: str | None = None) -> list[Tensor]:
    """Equal parts, or parts of the sizes given, along `dim` (the last unless told)."""
    return ops.split(input, num_or_sections, dim)


def reshape(x: Tensor, shape, actual_shape: Tensor | None = None, act: str | None = None,
            inplace: bool = False, name: str | None = None) -> Tensor:
    """x with another shape."""
    return activate(ops.reshape(x, shape if actual_shape is None else actual_shape), act)


def squeeze(input: Tensor, axes, name: str | None = None) -> Tensor:
    """input without the dimensions `axes`, which must be 1; all of those for an empty list."""
    return ops.squeeze(input, axes or None)


def unsqueeze(input: Tensor, axes, name: str | None = None) -> Tensor:
    """input with dimensions of size 1 put in at `axes`."""
    return ops.unsqueeze(input, axes)


def flatten(x: Tensor, axis: int = 1, name: str | None = None) -> Tensor:
    """A matrix: the dimensions before `axis` are its rows, the others its columns.

    >>> import minipaddle as paddle
    >>> paddle.fluid.layers.flatten(paddle.ones([2, 3, 4]), axis=2).shape
    [6, 4]
    """
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return ops.reshape(x, [rows, -1])


def expand(x: Tensor, expand_times, name: str | None = None) -> Tensor:
    """x repeated along each dimension: today's `tile`."""
    return ops.tile(x, expand_times)


def gather(input: Tensor, index: Tensor, overwrite: bool = True) -> Tensor:
    """Rows of input."""
    return ops.gather(input, index)


# ---- creation
def fill_constant(shape, dtype, value, force_cpu: bool = False, out: Tensor | None = None,
                  name: str | None = None) -> Tensor:
    """A tensor of one value."""
    filled = ops.full(shape, value, dtype)
    return filled if out is None else ops.assign(filled, out)


def zeros(shape, dtype, force_cpu: bool = False, name: str | None = None) -> Tensor:
    """A tensor of zeros."""
    return ops.zeros(shape, dtype)


def ones(shape, dtype, force_cpu: bool = False) -> Tensor:
    """A tensor of ones."""
    return ops.ones(shape, dtype)


def one_hot(input: Tensor, depth: int, allow_out_of_range: bool = False) -> Tensor:
    """Labels [N, 1] as rows [N, depth] that hold a single 1."""
    return F.one_hot(ops.squeeze(input, -1) if input.ndim > 1 else input, depth)


# ---- networks
def softmax(input: Tensor, use_cudnn: bool = False, name: str | None = None,
            axis: int = -1) -> Tensor:
    """exp(x) over its sum along `axis`."""
    return F.softmax(input, axis)


def dropout(x: Tensor, dropout_prob: float, is_test: bool = False, seed: int | None = None,
            name: str | None = None,
            dropout_implementation: str = "downgrade_in_infer") -> Tensor:
    """Dropout that keeps values in training and multiplies by 1 - p in testing, unless
    `dropout_implementation` is 'upscale_in_train'."""
    mode = ("downscale_in_infer" if dropout_implementation == "downgrade_in_infer" else
            dropout_implementation)
    return F.dropout(x, dropout_prob, training=not is_test, mode=mode)


def cross_entropy(input: Tensor, label: Tensor, soft_label: bool = False,
                  ignore_index: int = -100) -> Tensor:
    """-log of the probability given to each label, [N, 1], not reduced. `input` holds
    probabilities, not logits.

    >>> import minipaddle as paddle
    >>> p = paddle.to_tensor([[0.25, 0.75]])
    >>> out = paddle.fluid.layers.cross_entropy(p, paddle.to_tensor([[1]]))
    >>> out.shape, round(float(out), 4)
    ([1, 1], 0.2877)
    """
    return F.cross_entropy(input, label, ignore_index=ignore_index, reduction="none",
                           soft_label=soft_label, use_softmax=False)


def sigmoid_cross_entropy_with_logits(x: Tensor, label: Tensor,
                                      name: str | None = None) -> Tensor:
    """The cross entropy of independent yes-or-no answers given as logits, not reduced."""
    return F.binary_cross_entropy_with_logits(x, label, reduction="none")


def accuracy(input: Tensor, label: Tensor, k: int = 1) -> Tensor:
    """The share of rows whose label [N, 1] is among the k best scores; a tensor of shape [1].

    >>> import minipaddle as paddle
    >>> scores = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]])
    >>> float(paddle.fluid.layers.accuracy(scores, paddle.to_tensor([[1], [1]])))
    0.5
    """
    best = ops.topk(input, k)[1]
    hit = ops.cast(ops.equal(best, ops.reshape(label, [-1, 1])), "float32")
    return ops.reshape(ops.mean(ops.sum(hit, axis=1)), [1])
