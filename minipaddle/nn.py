"""paddle.nn: the layers.

Imports functional, layer and initializer. Layers that only hold the options of a function are
rows of tables; those with parameters are classes, one body for all ranks of a family.
"""
from __future__ import annotations

import math

from . import functional as F
from .core import no_grad, ops
from .grad_clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue  # noqa: F401
from .initializer import Constant, Normal
from .layer import (Layer, LayerDict, LayerList, ParamAttr, ParameterDict,  # noqa: F401
                    ParameterList, Sequential, make_parameter)
from .ops_conv import ints


def __getattr__(name: str):
    if name == "utils":                             # it builds on this module
        import importlib
        return importlib.import_module(__package__ + ".nn_utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- layers that hold the options of a function
def _layer(name: str, function, params: str, doc: str, example: str, result: str = "",
           shown=None, inputs: str = "x") -> type:
    """A layer class: `params` as in a signature, given on to the function after the inputs."""
    names = [p.split("=")[0].strip() for p in params.split(", ") if p]
    text = (f"def __init__(self, {params + ', ' if params else ''}name=None):\n"
            "    Layer.__init__(self)\n"
            + "".join(f"    self._{n} = {n}\n" for n in names)
            + f"def forward(self, {inputs}):\n    return function({inputs}"
            + "".join(f", {n}=self._{n}" for n in names) + ")\n")
    scope = {"Layer": Layer, "function": function}
    exec(compile(text, f"<layer {name}>", "exec"), scope)
    shown = names if shown is None else shown

    def extra_repr(self):
        return ", ".join(f"{n}={getattr(self, '_' + n)}" for n in shown)
    first, second = (f"{example}\n", "") if not result else (f"{example}\n", f"    {result}\n")
    body = {"__init__": scope["__init__"], "forward": scope["forward"], "extra_repr": extra_repr,
            "__module__": __name__,
            "__doc__": f"{doc}\n\n    >>> import minipaddle as paddle\n    >>> {first}{second}    "}
    for method in ("__init__", "forward"):
        body[method].__module__, body[method].__qualname__ = __name__, f"{name}.{method}"
    globals()[name] = made = type(name, (Layer,), body)
    return made


_PAIR = "paddle.to_tensor([-1., 2.])"
for _name, _function, _params, _words, _result in (
    ("ReLU", F.relu, "", "max(x, 0).", "[0.0, 2.0]"),
    ("ReLU6", F.relu6, "", "min(max(x, 0), 6).", "[0.0, 2.0]"),
    ("LeakyReLU", F.leaky_relu, "negative_slope=0.01", "x above 0, negative_slope * x below.",
     None),
    ("ELU", F.elu, "alpha=1.0", "x above 0, alpha * (exp(x) - 1) below.", None),
    ("SELU", F.selu, "scale=1.0507009873554804934193349852946, "
     "alpha=1.6732632423543772848170429916717", "The self-normalising ELU.", None),
    ("CELU", F.celu, "alpha=1.0", "x above 0, alpha * (exp(x / alpha) - 1) below.", None),
    ("GELU", F.gelu, "approximate=False", "x * Phi(x), Phi the normal distribution function.",
     None),
    ("Silu", F.silu, "", "x * sigmoid(x).", None),
    ("Swish", F.swish, "", "x * sigmoid(x).", None),
    ("Mish", F.mish, "", "x * tanh(softplus(x)).", None),
    ("Sigmoid", F.sigmoid, "", "1 / (1 + exp(-x)).", None),
    ("LogSigmoid", F.log_sigmoid, "", "log(sigmoid(x)).", None),
    ("Tanh", F.tanh, "", "The hyperbolic tangent.", None),
    ("Tanhshrink", F.tanhshrink, "", "x - tanh(x).", None),
    ("Hardswish", F.hardswish, "", "x * min(max(x + 3, 0), 6) / 6.", None),
    ("Hardsigmoid", F.hardsigmoid, "", "min(max(x / 6 + 0.5, 0), 1).", None),
    ("Hardtanh", F.hardtanh, "min=-1.0, max=1.0", "x cut to [min, max].", "[-1.0, 1.0]"),
    ("Softplus", F.softplus, "beta=1, threshold=20", "log(1 + exp(beta * x)) / beta.", None),
    ("Softsign", F.softsign, "", "x / (1 + |x|).", None),
    ("Softshrink", F.softshrink, "threshold=0.5", "x brought nearer to 0 by threshold.",
     "[-0.5, 1.5]"),
    ("Hardshrink", F.hardshrink, "threshold=0.5", "x where |x| > threshold, else 0.",
     "[-1.0, 2.0]"),
    ("ThresholdedReLU", F.thresholded_relu, "threshold=1.0", "x above threshold, else 0.",
     "[0.0, 2.0]"),
    ("Softmax", F.softmax, "axis=-1", "exp(x) / sum(exp(x)) along an axis.", None),
    ("LogSoftmax", F.log_softmax, "axis=-1", "x - log(sum(exp(x))) along an axis.", None),
    ("GLU", F.glu, "axis=-1", "One half of x times the sigmoid of the other.", None),
):
    _layer(_name, _function, _params, _words,
           f"paddle.nn.{_name}()({_PAIR}).{'tolist()' if _result else 'shape'}",
           _result or ("[1]" if _name == "GLU" else "[2]"))

_layer("Maxout", F.maxout, "groups, axis=1", "The largest of each `groups` neighbouring channels.",
       "paddle.nn.Maxout(2)(paddle.ones([1, 4, 2, 2])).shape", "[1, 2, 2, 2]")

_SIGNAL, _IMAGE, _VOLUME = "[1, 2, 4]", "[1, 2, 4, 4]", "[1, 2, 4, 4, 4]"
_POOLED = ("[1, 2, 2]", "[1, 2, 2, 2]", "[1, 2, 2, 2, 2]")
for _n, (_shape, _pooled, _format) in enumerate(zip((_SIGNAL, _IMAGE, _VOLUME), _POOLED,
                                                   ("NCL", "NCHW", "NCDHW")), 1):
    _window = "kernel_size, stride=None, padding=0, "
    _layout = "" if _n == 1 else f", data_format='{_format}'"
    _windows = ["kernel_size", "stride", "padding"]
    _layer(f"MaxPool{_n}D", getattr(F, f"max_pool{_n}d"),
           _window + "return_mask=False, ceil_mode=False" + _layout,
           f"The largest value of each window; see `functional.max_pool{_n}d`.",
           f"paddle.nn.MaxPool{_n}D(2)(paddle.ones({_shape})).shape", _pooled, _windows)
    _layer(f"AvgPool{_n}D", getattr(F, f"avg_pool{_n}d"),
           _window + ("exclusive=True, ceil_mode=False" if _n == 1 else
                      "ceil_mode=False, exclusive=True, divisor_override=None") + _layout,
           f"The mean of each window; see `functional.avg_pool{_n}d`.",
           f"paddle.nn.AvgPool{_n}D(2)(paddle.ones({_shape})).shape", _pooled, _windows)
    _layer(f"AdaptiveAvgPool{_n}D", getattr(F, f"adaptive_avg_pool{_n}d"),
           "output_size" + _layout, "The means of output_size equal parts.",
           f"paddle.nn.AdaptiveAvgPool{_n}D(2)(paddle.ones({_shape})).shape", _pooled,
           ["output_size"])
    _layer(f"AdaptiveMaxPool{_n}D", getattr(F, f"adaptive_max_pool{_n}d"),
           "output_size, return_mask=False", "The maxima of output_size equal parts.",
           f"paddle.nn.AdaptiveMaxPool{_n}D(2)(paddle.ones({_shape})).shape", _pooled)
    _layer(f"MaxUnPool{_n}D", getattr(F, f"max_unpool{_n}d"),
           f"kernel_size, stride=None, padding=0, data_format='{_format}', output_size=None",
           "Maxima put back at their positions, zeros elsewhere.",
           f"paddle.nn.MaxUnPool{_n}D(2)", f"MaxUnPool{_n}D(kernel_size=2, stride=None, padding=0)",
           _windows, "x, indices")
    if _n < 3:
        _layer(f"LPPool{_n}D", getattr(F, f"lp_pool{_n}d"),
               f"norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, "
               f"data_format='{_format}'", "The p-norm of each window.",
               f"paddle.nn.LPPool{_n}D(2, 2)(paddle.ones({_shape})).shape", _pooled)

for _name, _function, _params, _words, _example, _result in (
    ("PixelShuffle", F.pixel_shuffle, "upscale_factor, data_format='NCHW'",
     "Channels to pixels: (N, C * r^2, H, W) to (N, C, H * r, W * r).",
     "paddle.nn.PixelShuffle(2)(paddle.ones([1, 4, 3, 3])).shape", "[1, 1, 6, 6]"),
    ("PixelUnshuffle", F.pixel_unshuffle, "downscale_factor, data_format='NCHW'",
     "Pixels to channels: the inverse of PixelShuffle.",
     "paddle.nn.PixelUnshuffle(2)(paddle.ones([1, 1, 4, 4])).shape", "[1, 4, 2, 2]"),
    ("ChannelShuffle", F.channel_shuffle, "groups, data_format='NCHW'",
     "Channels dealt out anew over the groups.",
     "paddle.nn.ChannelShuffle(2)(paddle.ones([1, 4, 2, 2])).shape", "[1, 4, 2, 2]"),
    ("LocalResponseNorm", F.local_response_norm,
     "size, alpha=0.0001, beta=0.75, k=1.0, data_format='NCHW'",
     "x divided by a power of the squares of its neighbouring channels.",
     "paddle.nn.LocalResponseNorm(3)(paddle.ones([1, 4, 2, 2])).shape", "[1, 4, 2, 2]"),
    ("Fold", F.fold, "output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1",
     "Columns added up as images; see `functional.fold`.",
     "paddle.nn.Fold([3, 3], 2)(paddle.ones([1, 4, 4])).shape", "[1, 1, 3, 3]"),
    ("Unfold", F.unfold, "kernel_sizes, dilations=1, paddings=0, strides=1",
     "The windows of images as columns; see `functional.unfold`.",
     "paddle.nn.Unfold(3)(paddle.ones([1, 2, 4, 4])).shape", "[1, 18, 4]"),
):
    _layer(_name, _function, _params, _words, _example, _result,
           [p.split("=")[0] for p in _params.split(", ") if not p.startswith("data_format")])

for _name, _function, _params, _words, _inputs in (
    ("MSELoss", F.mse_loss, "reduction='mean'", "The squared difference.", "input, label"),
    ("L1Loss", F.l1_loss, "reduction='mean'", "The absolute difference.", "input, label"),
    ("SmoothL1Loss", F.smooth_l1_loss, "reduction='mean', delta=1.0", "Huber's loss.",
     "input, label"),
    ("KLDivLoss", F.kl_div, "reduction='mean'",
     "The Kullback-Leibler divergence of log-probabilities from labels.", "input, label"),
    ("BCELoss", F.binary_cross_entropy, "weight=None, reduction='mean'",
     "Binary cross-entropy of probabilities.", "input, label"),
    ("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits,
     "weight=None, reduction='mean', pos_weight=None", "Binary cross-entropy of logits.",
     "logit, label"),
    ("NLLLoss", F.nll_loss, "weight=None, ignore_index=-100, reduction='mean'",
     "The negative log-likelihood of log-probabilities.", "input, label"),
    ("CrossEntropyLoss", F.cross_entropy,
     "weight=None, ignore_index=-100, reduction='mean', soft_label=False, axis=-1, "
     "use_softmax=True, label_smoothing=0.0",
     "The loss of classification; see `functional.cross_entropy`.", "input, label"),
    ("MarginRankingLoss", F.margin_ranking_loss, "margin=0.0, reduction='mean'",
     "max(0, -label * (input - other) + margin).", "input, other, label"),
    ("HingeEmbeddingLoss", F.hinge_embedding_loss, "margin=1.0, reduction='mean'",
     "input where label is 1, max(0, margin - input) where it is -1.", "input, label"),
    ("CosineEmbeddingLoss", F.cosine_embedding_loss, "margin=0, reduction='mean'",
     "1 - cos where label is 1, max(0, cos - margin) where it is -1.", "input1, input2, label"),
    ("SoftMarginLoss", F.soft_margin_loss, "reduction='mean'", "log(1 + exp(-label * input)).",
     "input, label"),
    ("MultiLabelSoftMarginLoss", F.multi_label_soft_margin_loss,
     "weight=None, reduction='mean'", "Binary cross-entropy of logits, its mean over classes.",
     "input, label"),
    ("MultiMarginLoss", F.multi_margin_loss, "p=1, margin=1.0, weight=None, reduction='mean'",
     "The margins of the other classes; see `functional.multi_margin_loss`.", "input, label"),
    ("TripletMarginLoss", F.triplet_margin_loss,
     "margin=1.0, p=2.0, epsilon=1e-06, swap=False, reduction='mean'",
     "max(0, d(input, positive) - d(input, negative) + margin).", "input, positive, negative"),
    ("TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss,
     "distance_function=None, margin=1.0, swap=False, reduction='mean'",
     "The triplet loss with a distance of one's own.", "input, positive, negative"),
    ("PoissonNLLLoss", F.poisson_nll_loss,
     "log_input=True, full=False, epsilon=1e-08, reduction='mean'",
     "The negative log-likelihood of counts.", "input, label"),
    ("GaussianNLLLoss", F.gaussian_nll_loss, "full=False, epsilon=1e-06, reduction='mean'",
     "The negative log-likelihood of normal draws.", "input, label, variance"),
    ("CosineSimilarity", F.cosine_similarity, "axis=1, eps=1e-08",
     "The cosine of the angle between vectors.", "x1, x2"),
    ("PairwiseDistance", F.pairwise_distance, "p=2.0, epsilon=1e-06, keepdim=False",
     "The p-norm of differences along the last axis.", "x, y"),
):
    _shown = ["axis", "eps"] if _name == "CosineSimilarity" else []
    _layer(_name, _function, _params, _words, f"paddle.nn.{_name}()",
           f"{_name}({'axis=1, eps=1e-08' if _shown else ''})", _shown, _inputs)


class Dropout(Layer):
    """Zeroes each element with probability p in training; see `functional.dropout`.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Dropout(0.5)
    >>> net.eval()(paddle.ones([3])).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, axis=None, mode: str = "upscale_in_train",
                 name: str | None = None) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.mode)

    def extra_repr(self) -> str:
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class _ChannelDropout(Layer):
    def extra_repr(self) -> str:
        return f"p={self.p}, data_format={self.data_format}"


class Dropout2D(_ChannelDropout):
    """Zeroes whole channels of images in training.

    >>> import minipaddle as paddle
    >>> paddle.nn.Dropout2D(0.5)(paddle.ones([1, 2, 3, 3])).shape
    [1, 2, 3, 3]
    """

    def __init__(self, p: float = 0.5, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format = p, data_format

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.data_format)


class Dropout3D(_ChannelDropout):
    """Zeroes whole channels of volumes in training.

    >>> import minipaddle as paddle
    >>> paddle.nn.Dropout3D(0.5)(paddle.ones([1, 2, 3, 3, 3])).shape
    [1, 2, 3, 3, 3]
    """

    def __init__(self, p: float = 0.5, data_format: str = "NCDHW",
                 name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format = p, data_format

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.data_format)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of SELU's output.

    >>> import minipaddle as paddle
    >>> paddle.nn.AlphaDropout(0.5)(paddle.ones([3])).shape
    [3]
    """

    _function = staticmethod(F.alpha_dropout)

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p

    def forward(self, input):
        return self._function(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class FeatureAlphaDropout(AlphaDropout):
    """`AlphaDropout` of whole channels.

    >>> import minipaddle as paddle
    >>> paddle.nn.FeatureAlphaDropout(0.5)(paddle.ones([1, 3, 2])).shape
    [1, 3, 2]
    """

    _function = staticmethod(F.feature_alpha_dropout)


class RReLU(Layer):
    """x above 0, x times a random slope below; the mean slope in evaluation.

    >>> import minipaddle as paddle
    >>> paddle.nn.RReLU(0.5, 0.5)(paddle.to_tensor([-2., 1.])).tolist()
    [-1.0, 1.0]
    """

    def __init__(self, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0,
                 name: str | None = None) -> None:
        super().__init__()
        self._lower, self._upper = lower, upper

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self._lower}, upper={self._upper}, training={self.training}"


class Softmax2D(Layer):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W).

    >>> import minipaddle as paddle
    >>> float(paddle.nn.Softmax2D()(paddle.zeros([1, 2, 1, 1]))[0, 0, 0, 0])
    0.5
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise ValueError(f"Softmax2D: x must have 3 or 4 axes, got shape {list(x.shape)}")
        return F.softmax(x, -3)


class Identity(Layer):
    """Gives back its input; takes and forgets any arguments.

    >>> import minipaddle as paddle
    >>> paddle.nn.Identity()(paddle.ones([2])).shape
    [2]
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Layer):
    """Merges the axes from start_axis to stop_axis into one.

    >>> import minipaddle as paddle
    >>> paddle.nn.Flatten()(paddle.ones([5, 2, 3])).shape
    [5, 6]
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        return ops.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Splits an axis into several.

    >>> import minipaddle as paddle
    >>> paddle.nn.Unflatten(1, [2, 3])(paddle.ones([5, 6])).shape
    [5, 2, 3]
    """

    def __init__(self, axis: int, shape, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape = axis, shape

    def forward(self, input):
        axis = self.axis % len(input.shape)
        return ops.reshape(input, list(input.shape[:axis]) + list(self.shape)
                           + list(input.shape[axis + 1:]))

    def extra_repr(self) -> str:
        return f"axis={self.axis}, shape={self.shape}"


class CTCLoss(Layer):
    """The loss of labels without alignment; see `functional.ctc_loss`.

    >>> import minipaddle as paddle
    >>> paddle.nn.CTCLoss(blank=0)
    CTCLoss()
    """

    def __init__(self, blank: int = 0, reduction: str = "mean") -> None:
        super().__init__()
        self.blank, self.reduction = blank, reduction

    def forward(self, log_probs, labels, input_lengths, label_lengths, norm_by_times=False):
        return F.ctc_loss(log_probs, labels, input_lengths, label_lengths, self.blank,
                          self.reduction, norm_by_times)


# ---- linear layers
class Linear(Layer):
    """y = x @ weight + bias: x (*, in_features), weight (in_features, out_features).

    The weight is Xavier uniform, the bias zero; bias_attr=False leaves it out.

    >>> import minipaddle as paddle
    >>> paddle.nn.Linear(3, 2)(paddle.ones([4, 3])).shape
    [4, 2]
    """

    def __init__(self, in_features: int, out_features: int, weight_attr=None, bias_attr=None,
                 name: str | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features, self.name = in_features, out_features, name
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"dtype={self._dtype}{name}")


class Bilinear(Layer):
    """y[n, k] = x1[n] @ weight[k] @ x2[n] + bias[k]; see `functional.bilinear`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Bilinear(2, 3, 4)(paddle.ones([5, 2]), paddle.ones([5, 3])).shape
    [5, 4]
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, weight_attr=None,
                 bias_attr=None, name: str | None = None) -> None:
        super().__init__()
        self._sizes = in1_features, in2_features, out_features
        self.weight = self.create_parameter([out_features, in1_features, in2_features],
                                            weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        a, b, c = self._sizes
        return f"in1_features={a}, in2_features={b}, out_features={c}, dtype={self._dtype}"


class Embedding(Layer):
    """A table of vectors: integers (*) to their rows (*, embedding_dim).

    padding_idx: the row of this number is zero and is not trained; negative counts from the end.

    >>> import minipaddle as paddle
    >>> paddle.nn.Embedding(10, 3)(paddle.to_tensor([[1, 2]])).shape
    [1, 2, 3]
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 sparse: bool = False, weight_attr=None, name: str | None = None) -> None:
        super().__init__()
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise ValueError(f"Embedding: num_embeddings and embedding_dim must be positive, got "
                             f"{num_embeddings} and {embedding_dim}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"Embedding: padding_idx {padding_idx} is out of range for "
                             f"{num_embeddings} rows")
        self._num_embeddings, self._embedding_dim = num_embeddings, embedding_dim
        self._padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self._sparse, self._name = sparse, name
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        if padding_idx is not None:
            self.weight._data[self._padding_idx] = 0

    def forward(self, x):
        return F.embedding(x, self.weight, self._padding_idx, self._sparse)

    def extra_repr(self) -> str:
        padding = "" if self._padding_idx is None else f", padding_idx={self._padding_idx}"
        return (f"{self._num_embeddings}, {self._embedding_dim}{padding}, "
                f"sparse={self._sparse}")


class PReLU(Layer):
    """x above 0, weight * x below; the weight (one, or one a channel) is trained, first 0.25.

    >>> import minipaddle as paddle
    >>> paddle.nn.PReLU()(paddle.to_tensor([[-4., 1.]])).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, weight_attr=None,
                 data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._num_parameters, self._init, self._data_format = num_parameters, init, data_format
        self._weight = self.create_parameter([num_parameters], weight_attr,
                                             default_initializer=Constant(init))

    def forward(self, x):
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self) -> str:
        return (f"num_parameters={self._num_parameters}, data_format={self._data_format}, "
                f"init={self._init}, dtype={self._dtype}")


# ---- convolution: one body for all ranks
class _ConvNd(Layer):
    """What the convolution layers share; `_rank` axes of space, `_transposed` or not."""

    _rank, _transposed = 2, False

    def _setup(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
               padding_mode, weight_attr, bias_attr, data_format, output_padding=0):
        Layer.__init__(self)
        n, kind = self._rank, type(self).__name__
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{kind}: groups={groups} must divide in_channels={in_channels} and "
                             f"out_channels={out_channels}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"{kind}: padding_mode must be 'zeros', 'reflect', 'replicate' or "
                             f"'circular', got {padding_mode!r}")
        if padding_mode != "zeros" and isinstance(padding, str):
            raise ValueError(f"{kind}: padding_mode {padding_mode!r} needs padding in numbers")
        self._in_channels, self._out_channels = in_channels, out_channels
        self._kernel_size = list(ints(kernel_size, n, "kernel_size"))
        self._stride, self._dilation = list(ints(stride, n, "stride")), list(
            ints(dilation, n, "dilation"))
        self._padding, self._padding_mode, self._groups = padding, padding_mode, groups
        self._output_padding, self._data_format = output_padding, data_format
        default = None
        if self._transposed:
            shape = [in_channels, out_channels // groups, *self._kernel_size]
        else:
            shape = [out_channels, in_channels // groups, *self._kernel_size]
            default = Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * in_channels)))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=default)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x):
        padding = self._padding
        if self._padding_mode != "zeros":
            sides = ints(padding, self._rank, "padding")[::-1]
            x = F.pad(x, [s for p in sides for s in (p, p)], self._padding_mode,
                      data_format=self._data_format)
            padding = 0
        conv = (F.conv1d, F.conv2d, F.conv3d)[self._rank - 1]
        return conv(x, self.weight, self.bias, self._stride, padding, self._dilation,
                    self._groups, self._data_format)

    def extra_repr(self) -> str:
        n = self._rank
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != [1] * n:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self._padding_mode != "zeros":
            text += f", padding_mode={self._padding_mode}"
        if self._output_padding != 0:
            text += f", output_padding={self._output_padding}"
        if self._dilation != [1] * n:
            text += f", dilation={self._dilation}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        return f"{text}, data_format={self._data_format}"


class Conv1D(_ConvNd):
    """Convolution of signals (N, C, L); see `Conv2D`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv1D(3, 8, 3)(paddle.ones([2, 3, 10])).shape
    [2, 8, 8]
    """

    _rank = 1

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 dilation=1, groups: int = 1, padding_mode: str = "zeros", weight_attr=None,
                 bias_attr=None, data_format: str = "NCL") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    padding_mode, weight_attr, bias_attr, data_format)


class Conv2D(_ConvNd):
    """Convolution of images (N, C, H, W) with a trained weight and bias.

    weight: [out_channels, in_channels / groups, kh, kw], normal with deviation
    sqrt(2 / (kh * kw * in_channels)); bias zero, left out by bias_attr=False. padding as in
    `functional.conv2d`; padding_mode 'reflect', 'replicate' or 'circular' pads with the image.

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv2D(3, 8, 3, stride=2, padding=1)(paddle.ones([2, 3, 16, 16])).shape
    [2, 8, 8, 8]
    """

    _rank = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 dilation=1, groups: int = 1, padding_mode: str = "zeros", weight_attr=None,
                 bias_attr=None, data_format: str = "NCHW") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    padding_mode, weight_attr, bias_attr, data_format)


class Conv3D(_ConvNd):
    """Convolution of volumes (N, C, D, H, W); see `Conv2D`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv3D(1, 2, 3)(paddle.ones([1, 1, 5, 5, 5])).shape
    [1, 2, 3, 3, 3]
    """

    _rank = 3

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 dilation=1, groups: int = 1, padding_mode: str = "zeros", weight_attr=None,
                 bias_attr=None, data_format: str = "NCDHW") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    padding_mode, weight_attr, bias_attr, data_format)


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def forward(self, x, output_size=None):
        conv = (F.conv1d_transpose, F.conv2d_transpose, F.conv3d_transpose)[self._rank - 1]
        extra = 0 if output_size is not None else self._output_padding
        return conv(x, self.weight, self.bias, self._stride, self._padding, extra,
                    dilation=self._dilation, groups=self._groups, output_size=output_size,
                    data_format=self._data_format)


class Conv1DTranspose(_ConvTransposeNd):
    """Transposed convolution of signals; see `Conv2DTranspose`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv1DTranspose(3, 2, 2, stride=2)(paddle.ones([1, 3, 4])).shape
    [1, 2, 8]
    """

    _rank = 1

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, groups: int = 1, dilation=1, weight_attr=None, bias_attr=None,
                 data_format: str = "NCL") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    "zeros", weight_attr, bias_attr, data_format, output_padding)


class Conv2DTranspose(_ConvTransposeNd):
    """Transposed convolution of images: weight [in_channels, out_channels / groups, kh, kw].

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv2DTranspose(3, 2, 2, stride=2)(paddle.ones([1, 3, 4, 4])).shape
    [1, 2, 8, 8]
    """

    _rank = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, dilation=1, groups: int = 1, weight_attr=None, bias_attr=None,
                 data_format: str = "NCHW") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    "zeros", weight_attr, bias_attr, data_format, output_padding)


class Conv3DTranspose(_ConvTransposeNd):
    """Transposed convolution of volumes; see `Conv2DTranspose`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Conv3DTranspose(1, 2, 2, stride=2)(paddle.ones([1, 1, 2, 2, 2])).shape
    [1, 2, 4, 4, 4]
    """

    _rank = 3

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, dilation=1, groups: int = 1, weight_attr=None, bias_attr=None,
                 data_format: str = "NCDHW") -> None:
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                    "zeros", weight_attr, bias_attr, data_format, output_padding)


# ---- normalisation
class _BatchNormBase(Layer):
    """Normalisation by channels with running statistics; see `functional.batch_norm`."""

    _axes: tuple = ()
    _first = "NCHW"

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05,
                 weight_attr=None, bias_attr=None, data_format: str = "NCHW",
                 use_global_stats: bool | None = None, name: str | None = None) -> None:
        super().__init__()
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats = data_format, use_global_stats
        shape = [num_features]
        self.weight = self.create_parameter(shape, weight_attr,
                                            default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)
        self._mean = self.create_parameter(shape, ParamAttr(initializer=Constant(0.0),
                                                            trainable=False))
        self._variance = self.create_parameter(shape, ParamAttr(initializer=Constant(1.0),
                                                                trainable=False))

    def forward(self, input):
        if self._axes and len(input.shape) not in self._axes:
            raise ValueError(f"{type(self).__name__}: the input must have "
                             f"{' or '.join(map(str, self._axes))} axes, got shape "
                             f"{list(input.shape)}")
        return F.batch_norm(input, self._mean, self._variance, self.weight, self.bias,
                            self.training, self._momentum, self._epsilon, self._data_format,
                            self._use_global_stats)

    def extra_repr(self) -> str:
        text = (f"num_features={self._num_features}, momentum={self._momentum}, "
                f"epsilon={self._epsilon}")
        return text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}"


class BatchNorm1D(_BatchNormBase):
    """Batch normalisation of (N, C) or (N, C, L); see `BatchNorm2D`.

    >>> import minipaddle as paddle
    >>> paddle.nn.BatchNorm1D(3)(paddle.ones([4, 3])).shape
    [4, 3]
    """

    _axes = (2, 3)

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05,
                 weight_attr=None, bias_attr=None, data_format: str = "NCL",
                 use_global_stats: bool | None = None, name: str | None = None) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                         use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """Batch normalisation of images (N, C, H, W), by channels.

    In training by the batch's own mean and (biased) variance, and the running ones in `_mean`
    and `_variance` move: running = momentum * running + (1 - momentum) * batch. In evaluation,
    or with use_global_stats=True, by the running ones. Ioffe and Szegedy, 2015.

    >>> import minipaddle as paddle
    >>> paddle.nn.BatchNorm2D(3)(paddle.ones([2, 3, 4, 4])).shape
    [2, 3, 4, 4]
    """

    _axes = (4,)


class BatchNorm3D(_BatchNormBase):
    """Batch normalisation of volumes (N, C, D, H, W); see `BatchNorm2D`.

    >>> import minipaddle as paddle
    >>> paddle.nn.BatchNorm3D(3)(paddle.ones([2, 3, 2, 2, 2])).shape
    [2, 3, 2, 2, 2]
    """

    _axes = (5,)

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05,
                 weight_attr=None, bias_attr=None, data_format: str = "NCDHW",
                 use_global_stats: bool | None = None, name: str | None = None) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                         use_global_stats, name)


class SyncBatchNorm(_BatchNormBase):
    """Batch normalisation over the batches of all processes; with one process, its own.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Sequential(paddle.nn.BatchNorm2D(3))
    >>> type(paddle.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05,
                 weight_attr=None, bias_attr=None, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                         None, name)

    def forward(self, x):
        return super().forward(x)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """The network with every BatchNorm*D replaced by a SyncBatchNorm of the same state."""
        made = layer
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, SyncBatchNorm):
            made = cls(layer._num_features, layer._momentum, layer._epsilon,
                       data_format=layer._data_format)
            for name in ("weight", "bias", "_mean", "_variance"):
                setattr(made, name, getattr(layer, name))
            made.training = layer.training
        for name, child in layer.named_children():
            made.add_sublayer(name, cls.convert_sync_batchnorm(child))
        return made


class BatchNorm(Layer):
    """Batch normalisation of any rank, as Paddle 1.8 had it: with an activation, `act`.

    >>> import minipaddle as paddle
    >>> paddle.nn.BatchNorm(3, act='relu')(paddle.ones([2, 3, 4, 4])).shape
    [2, 3, 4, 4]
    """

    def __init__(self, num_channels: int, act: str | None = None, is_test: bool = False,
                 momentum: float = 0.9, epsilon: float = 1e-05, param_attr=None, bias_attr=None,
                 dtype: str = "float32", data_layout: str = "NCHW", in_place: bool = False,
                 moving_mean_name: str | None = None, moving_variance_name: str | None = None,
                 do_model_average_for_mean_and_var: bool = True, use_global_stats: bool = False,
                 trainable_statistics: bool = False) -> None:
        super().__init__(dtype=dtype)
        if act is not None and not hasattr(F, act):
            raise ValueError(f"BatchNorm: act {act!r} is no function of paddle.nn.functional")
        self._act, self._momentum, self._epsilon = act, momentum, epsilon
        self._data_layout, self._use_global_stats = data_layout, use_global_stats
        self._trainable_statistics = trainable_statistics
        if is_test:
            self.training = False
        shape = [num_channels]
        self.weight = self.create_parameter(shape, param_attr,
                                            default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)
        self._mean = self.create_parameter(
            shape, ParamAttr(moving_mean_name, Constant(0.0), trainable=False))
        self._variance = self.create_parameter(
            shape, ParamAttr(moving_variance_name, Constant(1.0), trainable=False))

    def forward(self, input):
        out = F.batch_norm(input, self._mean, self._variance, self.weight, self.bias,
                           self.training or self._trainable_statistics, self._momentum,
                           self._epsilon, self._data_layout, self._use_global_stats or None)
        return out if self._act is None else getattr(F, self._act)(out)


class LayerNorm(Layer):
    """Normalisation of each sample over its last axes, of sizes normalized_shape.

    weight, bias: flat, one number for each element of normalized_shape; attr=False leaves one
    out. Ba, Kiros and Hinton, 2016.

    >>> import minipaddle as paddle
    >>> paddle.nn.LayerNorm(4)(paddle.ones([2, 3, 4])).shape
    [2, 3, 4]
    """

    def __init__(self, normalized_shape, epsilon: float = 1e-05, weight_attr=None, bias_attr=None,
                 name: str | None = None) -> None:
        super().__init__()
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else \
            [int(n) for n in normalized_shape]
        self._epsilon = epsilon
        size = [math.prod(self._normalized_shape)]
        self.weight = self.create_parameter(size, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(size, bias_attr, is_bias=True)

    def forward(self, input):
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalisation of each sample over groups of channels; see `functional.group_norm`.

    >>> import minipaddle as paddle
    >>> paddle.nn.GroupNorm(2, 4)(paddle.ones([1, 4, 3, 3])).shape
    [1, 4, 3, 3]
    """

    def __init__(self, num_groups: int, num_channels: int, epsilon: float = 1e-05,
                 weight_attr=None, bias_attr=None, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_channels={num_channels} does not divide by "
                             f"num_groups={num_groups}")
        self._num_groups, self._num_channels, self._epsilon = num_groups, num_channels, epsilon
        self._data_format = data_format
        self.weight = self.create_parameter([num_channels], weight_attr,
                                            default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True)

    def forward(self, input):
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias,
                            self._data_format)

    def extra_repr(self) -> str:
        return (f"num_groups={self._num_groups}, num_channels={self._num_channels}, "
                f"epsilon={self._epsilon}")


class _InstanceNormNd(Layer):
    """Normalisation of each channel of each sample; the parameters are `scale` and `bias`."""

    _axes: tuple = ()

    def _setup(self, num_features, epsilon, momentum, weight_attr, bias_attr, data_format):
        Layer.__init__(self)
        self._num_features, self._epsilon, self._momentum = num_features, epsilon, momentum
        self._data_format = data_format
        self.scale = self.create_parameter([num_features], weight_attr,
                                           default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input):
        if len(input.shape) not in self._axes:
            raise ValueError(f"{type(self).__name__}: the input must have "
                             f"{' or '.join(map(str, self._axes))} axes, got shape "
                             f"{list(input.shape)}")
        return F.instance_norm(input, None, None, self.scale, self.bias, True, self._momentum,
                               self._epsilon, self._data_format)

    def extra_repr(self) -> str:
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNormNd):
    """Instance normalisation of (N, C, L); see `functional.instance_norm`.

    >>> import minipaddle as paddle
    >>> paddle.nn.InstanceNorm1D(2)(paddle.ones([1, 2, 5])).shape
    [1, 2, 5]
    """

    _axes = (2, 3)

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9,
                 weight_attr=None, bias_attr=None, data_format: str = "NCL",
                 name: str | None = None) -> None:
        self._setup(num_features, epsilon, momentum, weight_attr, bias_attr, data_format)


class InstanceNorm2D(_InstanceNormNd):
    """Instance normalisation of images (N, C, H, W); see `functional.instance_norm`.

    >>> import minipaddle as paddle
    >>> paddle.nn.InstanceNorm2D(2)(paddle.ones([1, 2, 5, 5])).shape
    [1, 2, 5, 5]
    """

    _axes = (4,)

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9,
                 weight_attr=None, bias_attr=None, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        self._setup(num_features, epsilon, momentum, weight_attr, bias_attr, data_format)


class InstanceNorm3D(_InstanceNormNd):
    """Instance normalisation of volumes (N, C, D, H, W); see `functional.instance_norm`.

    >>> import minipaddle as paddle
    >>> paddle.nn.InstanceNorm3D(2)(paddle.ones([1, 2, 3, 3, 3])).shape
    [1, 2, 3, 3, 3]
    """

    _axes = (5,)

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9,
                 weight_attr=None, bias_attr=None, data_format: str = "NCDHW",
                 name: str | None = None) -> None:
        self._setup(num_features, epsilon, momentum, weight_attr, bias_attr, data_format)


class SpectralNorm(Layer):
    """A weight divided by its largest singular value, found by power iteration.

    Called with the weight. Miyato et al., Spectral Normalization, 2018.

    >>> import minipaddle as paddle
    >>> paddle.nn.SpectralNorm([4, 3], power_iters=2)(paddle.ones([4, 3])).shape
    [4, 3]
    """

    def __init__(self, weight_shape, dim: int = 0, power_iters: int = 1, eps: float = 1e-12,
                 dtype: str = "float32") -> None:
        super().__init__(dtype=dtype)
        self._dim, self._power_iters, self._eps = dim, power_iters, eps
        rows = weight_shape[dim]
        columns = math.prod(weight_shape) // rows
        for name, size in (("weight_u", rows), ("weight_v", columns)):
            setattr(self, name, self.create_parameter(
                [size], ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)))

    def forward(self, x):
        n = len(x.shape)
        order = [self._dim] + [a for a in range(n) if a != self._dim]
        matrix = ops.reshape(ops.transpose(x, order), [x.shape[self._dim], -1])
        with no_grad():
            u, v, fixed = self.weight_u, self.weight_v, matrix.detach()
            for _ in range(self._power_iters):
                v = ops.matmul(fixed, u, transpose_x=True)
                v = v / (ops.sqrt(ops.sum(v * v)) + self._eps)
                u = ops.matmul(fixed, v)
                u = u / (ops.sqrt(ops.sum(u * u)) + self._eps)
            self.weight_u.set_value(u)
            self.weight_v.set_value(v)
            u, v = u.detach(), v.detach()
        return x / ops.sum(u * ops.matmul(matrix, v))


# ---- resampling and padding
class Upsample(Layer):
    """Resampling to a size or by a factor; see `functional.interpolate`.

    >>> import minipaddle as paddle
    >>> paddle.nn.Upsample(scale_factor=2)(paddle.ones([1, 1, 2, 2])).shape
    [1, 1, 4, 4]
    """

    def __init__(self, size=None, scale_factor=None, mode: str = "nearest",
                 align_corners: bool = False, align_mode: int = 0, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.align_mode = align_corners, align_mode
        self.data_format = data_format

    def forward(self, x):
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.align_mode, self.data_format)

    def extra_repr(self) -> str:
        what = f"size={self.size}" if self.scale_factor is None else \
            f"scale_factor={self.scale_factor}"
        return (f"{what}, mode={self.mode}, align_corners={self.align_corners}, "
                f"align_mode={self.align_mode}, data_format={self.data_format}")


class _UpsamplingNd(Layer):
    _mode, _corners = "nearest", False

    def __init__(self, size=None, scale_factor=None, data_format: str = "NCHW",
                 name: str | None = None) -> None:
        super().__init__()
        self.size, self.scale_factor, self.data_format = size, scale_factor, data_format

    def forward(self, x):
        return F.interpolate(x, self.size, self.scale_factor, self._mode, self._corners,
                             data_format=self.data_format)

    def extra_repr(self) -> str:
        what = f"size={self.size}" if self.scale_factor is None else \
            f"scale_factor={self.scale_factor}"
        return f"{what}, data_format={self.data_format}"


class UpsamplingNearest2D(_UpsamplingNd):
    """Images enlarged by repeating pixels.

    >>> import minipaddle as paddle
    >>> paddle.nn.UpsamplingNearest2D(scale_factor=2)(paddle.ones([1, 1, 2, 2])).shape
    [1, 1, 4, 4]
    """


class UpsamplingBilinear2D(_UpsamplingNd):
    """Images enlarged bilinearly, corner pixels staying in the corners.

    >>> import minipaddle as paddle
    >>> paddle.nn.UpsamplingBilinear2D(scale_factor=2)(paddle.ones([1, 1, 2, 2])).shape
    [1, 1, 4, 4]
    """

    _mode, _corners = "bilinear", True


class _PadNd(Layer):
    _rank = 2

    def _setup(self, padding, mode, value, data_format):
        Layer.__init__(self)
        self._pad = [int(padding)] * (2 * self._rank) if isinstance(padding, int) else padding
        self._mode, self._value, self._data_format = mode, value, data_format

    def forward(self, x):
        return F.pad(x, self._pad, self._mode, self._value, self._data_format)

    def extra_repr(self) -> str:
        return (f"padding={self._pad}, mode={self._mode}, value={self._value}, "
                f"data_format={self._data_format}")


def _pad_layers() -> None:
    for n, layout, sides in ((1, "NCL", "left, right"), (2, "NCHW", "left, right, top, bottom"),
                             (3, "NCDHW", "left, right, top, bottom, front, back")):
        scope = {}
        exec(f"def pad(self, padding, mode='constant', value=0.0, data_format='{layout}', "
             "name=None):\n    self._setup(padding, mode, value, data_format)\n"
             f"def zero(self, padding, data_format='{layout}', name=None):\n"
             "    self._setup(padding, 'constant', 0.0, data_format)\n", scope)
        shape = [1, 1] + [2] * n
        for name, init, words in ((f"Pad{n}D", scope["pad"], "The input with places added"),
                                  (f"ZeroPad{n}D", scope["zero"], "The input with zeros added")):
            init.__qualname__, init.__name__ = f"{name}.__init__", "__init__"
            doc = (f"{words} around: padding an int or [{sides}].\n\n"
                   "    >>> import minipaddle as paddle\n"
                   f"    >>> paddle.nn.{name}(1)(paddle.ones({shape})).shape\n"
                   f"    {[1, 1] + [4] * n}\n    ")
            globals()[name] = type(name, (_PadNd,), {"__init__": init, "_rank": n, "__doc__": doc,
                                                     "__module__": __name__})


_pad_layers()
