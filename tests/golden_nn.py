"""Expressions of paddle.nn whose values in real Paddle are stored in golden_nn.json.

Run with PaddlePaddle 3.3 installed, `python tests/golden_nn.py` makes the file anew. The tests
evaluate the same expressions with minipaddle and compare. In an expression `paddle` is the
package, `nn` and `F` its parts, `A(shape, seed)` a fixed float64 array, `P` one of shares,
`t` to_tensor; `g(f, *arrays)` gives f's result and the gradients of a weighted sum of it.
"""
from __future__ import annotations

import json
import os
import sys

import numpy as np

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_nn.json")


def conv() -> list:
    lines = []
    for padding in ("0", "1", "[1, 2]", "[1, 0, 2, 1]", "[[0, 0], [0, 0], [1, 2], [0, 1]]",
                    "'SAME'", "'VALID'"):
        for stride in ("1", "2", "[2, 1]"):
            lines.append(f"g(lambda x, w, b: F.conv2d(x, w, b, {stride}, {padding}), "
                         "A((2, 2, 6, 5), 1), A((3, 2, 3, 2), 2), A((3,), 3))")
    lines += [
        "g(lambda x, w: F.conv2d(x, w, None, 1, 2, 2), A((1, 2, 5, 6), 1), A((2, 2, 3, 3), 2))",
        "g(lambda x, w: F.conv2d(x, w, None, 2, 1, [1, 2], 2), A((1, 4, 5, 6), 1), "
        "A((4, 2, 3, 2), 2))",
        "g(lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 3), A((2, 3, 5, 6), 1), A((3, 1, 3, 3), 2))",
        "g(lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 3), A((2, 3, 5, 6), 1), A((6, 1, 3, 3), 2))",
        "g(lambda x, w, b: F.conv2d(x, w, b, 2, [1, 2], data_format='NHWC'), A((1, 5, 6, 2), 1), "
        "A((3, 2, 3, 3), 2), A((3,), 3))",
        "g(lambda x, w, b: F.conv1d(x, w, b, 2, 1), A((2, 2, 7), 1), A((3, 2, 3), 2), A((3,), 3))",
        "g(lambda x, w: F.conv1d(x, w, None, 1, 'SAME', 1, 2), A((1, 4, 6), 1), A((2, 2, 3), 2))",
        "g(lambda x, w: F.conv1d(x, w, None, 1, [2, 1], 2), A((1, 2, 6), 1), A((2, 2, 3), 2))",
        "g(lambda x, w: F.conv3d(x, w, None, 1, 1), A((1, 2, 3, 4, 3), 1), A((2, 2, 2, 3, 2), 2))",
        "g(lambda x, w: F.conv3d(x, w, None, [2, 1, 1], [1, 0, 1], [1, 2, 1], 2), "
        "A((1, 2, 4, 4, 3), 1), A((2, 1, 2, 2, 2), 2))",
    ]
    for options in ("2, 1", "2, 1, 1", "[2, 1], [1, 0], [1, 0]", "1, 0, 0, 2", "2, 0, 0, 1, 2",
                    "3, 1, 0, 1, 1, [9, 10]"):
        shape = "(4, 2, 3, 3)"
        lines.append(f"g(lambda x, w: F.conv2d_transpose(x, w, None, {options}), "
                     f"A((1, 4, 3, 4), 1), A({shape}, 2))")
    lines += [
        "g(lambda x, w, b: F.conv1d_transpose(x, w, b, 2, 1, 1), A((1, 2, 4), 1), "
        "A((2, 3, 3), 2), A((3,), 3))",
        "g(lambda x, w: F.conv3d_transpose(x, w, None, 2), A((1, 2, 2, 2, 3), 1), "
        "A((2, 1, 2, 2, 2), 2))",
    ]
    return lines


def pool() -> list:
    lines = []
    for options in ("2", "3, 2, 1", "[2, 3], [1, 2], [1, 1]", "2, 2, 0, False, True",
                    "3, 2, 'SAME'", "2, 1, 'VALID'"):
        lines.append(f"g(lambda x: F.max_pool2d(x, {options}), A((2, 2, 5, 7), 1))")
    for options in ("2", "3, 2, 1", "3, 2, 1, False, False", "[2, 3], [1, 2], [1, 1]",
                    "2, 2, 0, True", "3, 2, 1, False, False, 4", "3, 2, 'SAME'"):
        lines.append(f"g(lambda x: F.avg_pool2d(x, {options}), A((2, 2, 5, 7), 1))")
    lines += [
        "F.max_pool2d(t(A((1, 2, 5, 6), 1)), 3, 2, 1, return_mask=True)[1]",
        "F.max_pool1d(t(A((1, 2, 7), 1)), 3, 2, 1, return_mask=True)[1]",
        "g(lambda x: F.max_pool2d(x, 2, data_format='NHWC'), A((1, 4, 6, 2), 1))",
        "g(lambda x: F.avg_pool2d(x, 2, data_format='NHWC'), A((1, 4, 6, 2), 1))",
        "g(lambda x: F.max_pool1d(x, 3, 2, 1), A((1, 2, 7), 1))",
        "g(lambda x: F.avg_pool1d(x, 3, 2, 1), A((1, 2, 7), 1))",
        "g(lambda x: F.avg_pool1d(x, 3, 2, 1, False), A((1, 2, 7), 1))",
        "g(lambda x: F.max_pool3d(x, 2), A((1, 2, 4, 3, 2), 1))",
        "g(lambda x: F.avg_pool3d(x, 2, 1, 1), A((1, 1, 3, 3, 2), 1))",
        "g(lambda x: F.adaptive_avg_pool2d(x, [3, None]), A((1, 2, 7, 5), 1))",
        "g(lambda x: F.adaptive_avg_pool2d(x, 1), A((2, 2, 3, 5), 1))",
        "g(lambda x: F.adaptive_avg_pool1d(x, 3), A((1, 2, 7), 1))",
        "g(lambda x: F.adaptive_avg_pool3d(x, 2), A((1, 1, 3, 4, 5), 1))",
        "g(lambda x: F.adaptive_max_pool2d(x, [3, 2]), A((1, 2, 7, 5), 1))",
        "g(lambda x: F.adaptive_max_pool1d(x, 3), A((1, 2, 7), 1))",
        "F.adaptive_max_pool2d(t(A((1, 2, 7, 5), 1)), [3, 2], return_mask=True)[1]",
        "F.max_unpool2d(*F.max_pool2d(t(A((1, 2, 4, 6), 1)), 2, return_mask=True), 2)",
    ]
    return lines


def image() -> list:
    lines = []
    for mode in ("constant", "reflect", "replicate", "circular"):
        lines.append(f"g(lambda x: F.pad(x, [1, 2, 0, 1], '{mode}'), A((1, 2, 3, 3), 1))")
        lines.append(f"g(lambda x: F.pad(x, [1, 2], '{mode}', data_format='NCL'), "
                     "A((1, 2, 4), 1))")
    lines += [
        "F.pad(t(A((2, 3), 1)), [1, 0, 0, 2], value=1.5)",
        "F.pad(t(A((1, 1, 2, 2), 1)), [0, 0, 0, 1, 1, 0, 0, 2])",
        "F.pad(t(A((1, 2, 3, 2), 1)), [1, 0, 2, 1], data_format='NHWC')",
        "F.pad(t(A((1, 1, 2, 2, 2), 1)), [1, 0, 0, 1, 2, 0], data_format='NCDHW')",
        "g(lambda x: F.unfold(x, [2, 3], [1, 2], [1, 0], 1), A((1, 2, 4, 5), 1))",
        "F.unfold(t(A((1, 1, 3, 3), 1)), 2, 1, [1, 0, 0, 1])",
        "g(lambda x: F.fold(x, [4, 5], [2, 2], 1, [1, 0], [2, 1]), A((1, 4, 16), 1))",
        "F.pixel_shuffle(t(A((1, 8, 2, 3), 1)), 2)", "F.pixel_unshuffle(t(A((1, 2, 4, 6), 1)), 2)",
        "F.channel_shuffle(t(A((1, 6, 2, 2), 1)), 3)",
        "F.temporal_shift(t(A((6, 4, 2, 2), 1)), 3, 0.25)",
        "F.zeropad2d(t(A((1, 1, 2, 2), 1)), [1, 2, 0, 1])",
        "g(lambda x: F.affine_grid(x, [2, 3, 2, 3], align_corners=False), A((2, 2, 3), 1))",
        "F.affine_grid(t(A((1, 2, 3), 1)), [1, 3, 3, 2])",
    ]
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                points = "A((1, 3, 2, 2), 2, -1.4, 1.4)"
                inputs, grid = ("x, y", "y") if mode == "bilinear" else ("x", f"t({points})")
                lines.append(
                    f"g(lambda {inputs}: F.grid_sample(x, {grid}, '{mode}', '{padding}', "
                    f"{corners}), A((1, 2, 4, 5), 1){', ' + points if grid == 'y' else ''})")
    for mode, shape, sizes in (("nearest", (1, 2, 3, 4), ("size=[5, 2]", "scale_factor=2")),
                               ("bilinear", (1, 2, 3, 4), ("size=[5, 2]", "scale_factor=1.7")),
                               ("bicubic", (1, 2, 4, 4), ("size=[5, 2]", "scale_factor=1.5")),
                               ("area", (1, 2, 3, 4), ("size=[2, 3]",)),
                               ("linear", (1, 2, 5), ("size=[8]", "size=[3]")),
                               ("trilinear", (1, 1, 2, 3, 2), ("size=[3, 2, 4]",))):
        layout = {3: "NCL", 4: "NCHW", 5: "NCDHW"}[len(shape)]
        if mode == "linear":
            layout = "NCW"
        for size in sizes:
            for rest in ("", ", align_corners=True", ", align_mode=1"):
                if mode in ("nearest", "area") and rest:
                    continue
                lines.append(f"g(lambda x: F.interpolate(x, {size}, mode='{mode}', "
                             f"data_format='{layout}'{rest}), A({shape}, 1))")
    return lines


def activation() -> list:
    names = ("relu relu6 elu selu celu gelu silu swish mish hardswish hardsigmoid hardtanh "
             "softplus softsign tanhshrink softshrink hardshrink thresholded_relu log_sigmoid "
             "leaky_relu sigmoid tanh").split()
    lines = [f"g(F.{name}, A((9,), 7, -4, 4))" for name in names]
    lines += [f"F.{name}(t([-30., -8., -1e-3, 0., 1e-3, 8., 30.]))" for name in names]
    lines += [
        "g(lambda x: F.leaky_relu(x, 0.3), A((6,), 1))", "g(lambda x: F.elu(x, 0.7), A((6,), 1))",
        "g(lambda x: F.celu(x, 0.7), A((6,), 1))",
        "g(lambda x: F.gelu(x, True), A((6,), 1, -3, 3))",
        "g(lambda x: F.softplus(x, 2, 1), A((6,), 1))",
        "g(lambda x: F.hardtanh(x, -0.3, 0.4), A((6,), 1))",
        "g(lambda x: F.hardshrink(x, 0.3), A((6,), 1))",
        "g(lambda x, w: F.prelu(x, w), A((2, 3, 2), 1), A((3,), 2))",
        "g(lambda x, w: F.prelu(x, w), A((2, 3, 2), 1), A((1,), 2))",
        "g(lambda x: F.glu(x, 1), A((2, 4, 2), 1))",
        "g(lambda x: F.maxout(x, 2), A((1, 4, 2, 1), 1))",
        "g(lambda x: F.softmax(x, 1), A((2, 3, 2), 1, -3, 3))",
        "g(lambda x: F.softmax(x), A((2, 3), 1, -3, 3))",
        "F.softmax(t(A((2, 3), 1)), dtype='float32')", "F.softmax(t(3.0))",
        "F.softmax(t([[-float('inf'), 1., 2.]]))", "F.softmax(paddle.zeros([0, 3]))",
        "g(lambda x: F.log_softmax(x, 1), A((2, 3, 2), 1, -3, 3))",
        "F.rrelu(t(A((4,), 1)), 0.1, 0.3, training=False)",
        "F.relu(t([-float('inf'), float('inf')]))",
    ]
    return lines


def norm() -> list:
    return [
        "g(lambda x, w, b: F.layer_norm(x, [3, 2], w, b), A((2, 3, 2), 1), A((6,), 2), A((6,), 3))",
        "g(lambda x: F.layer_norm(x, 4), A((3, 4), 1))",
        "F.layer_norm(t(A((2, 3), 1)), 3, epsilon=0.001)",
        "g(lambda x, w, b: F.batch_norm(x, t(np.zeros(3)), t(np.ones(3)), w, b, True), "
        "A((2, 3, 4), 1), A((3,), 2), A((3,), 3))",
        "g(lambda x, w, b: F.batch_norm(x, t(np.zeros(3)), t(np.ones(3)), w, b, True), "
        "A((4, 3), 1), A((3,), 2), A((3,), 3))",
        "g(lambda x, w, b: F.batch_norm(x, t(np.full(3, .1)), t(np.full(3, 2.)), w, b), "
        "A((2, 3, 2, 2), 1), A((3,), 2), A((3,), 3))",
        "g(lambda x, w, b: F.batch_norm(x, t(np.zeros(2)), t(np.ones(2)), w, b, True, "
        "data_format='NHWC'), A((2, 3, 3, 2), 1), A((2,), 2), A((2,), 3))",
        "running(nn.BatchNorm1D(3), 2, A((4, 3, 2), 1))",
        "running(nn.BatchNorm2D(2, momentum=0.5, epsilon=0.1), 3, A((2, 2, 3, 2), 1))",
        "running(nn.BatchNorm3D(2), 1, A((2, 2, 2, 1, 2), 1))",
        "running(nn.BatchNorm2D(2, use_global_stats=True), 1, A((2, 2, 3, 2), 1))",
        "running(nn.BatchNorm(2, act='relu'), 2, A((2, 2, 3, 2), 1))",
        "running(nn.BatchNorm1D(3), 1, A((1, 3), 1))",
        "g(lambda x, w, b: F.group_norm(x, 2, 1e-5, w, b), A((2, 4, 3), 1), A((4,), 2), "
        "A((4,), 3))",
        "g(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), A((2, 3, 2, 2), 1), A((3,), 2), "
        "A((3,), 3))",
        "g(lambda x: F.local_response_norm(x, 3, 0.1), A((1, 4, 2, 2), 1))",
        "F.local_response_norm(t(A((1, 5, 2), 1)), 4, 0.1, data_format='NCL')",
        "g(lambda x: F.normalize(x), A((3, 4), 1))", "F.normalize(t(A((3, 4), 1)), 1, 0)",
        "F.normalize(t([[0., 0.]]))",
        "g(lambda x, y: F.cosine_similarity(x, y), A((3, 4), 1), A((3, 4), 2))",
        "g(lambda x, y: F.cosine_similarity(x, y, 2), A((3, 4, 2), 1), A((3, 4, 2), 2))",
        "g(lambda x, y: F.pairwise_distance(x, y), A((3, 4), 1), A((3, 4), 2))",
        "F.pairwise_distance(t(A((3, 4), 1)), t(A((3, 4), 2)), 1, keepdim=True)",
        "g(lambda x, y, w, b: F.bilinear(x, y, w, b), A((3, 2), 1), A((3, 4), 2), "
        "A((5, 2, 4), 3), A((1, 5), 4))",
        "g(lambda x, w, b: F.linear(x, w, b), A((2, 3, 4), 1), A((4, 5), 2), A((5,), 3))",
        "g(lambda w: F.embedding(t([[0, 2], [1, 2]]), w, 2), A((4, 3), 1))",
        "g(lambda w: F.embedding(t([[0, 3], [1, 2]]), w, -1), A((4, 3), 1))",
        "F.one_hot(t([[1, 0], [3, 2]]), 4)", "F.label_smooth(t(A((2, 4), 1, 0, 1)))",
        "F.label_smooth(t(A((2, 4), 1, 0, 1)), t(A((1, 4), 2, 0, 1)), 0.3)",
        "F.sequence_mask(t([1, 3, 0]), 4)", "F.sequence_mask(t([1, 3, 0]), dtype='float32')",
        "g(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), "
        "A((1, 3, 2, 4), 1), A((1, 3, 2, 4), 2), A((1, 3, 2, 4), 3))",
        "F.dropout(t(A((3,), 1)), 0.3, training=False)",
        "F.dropout(t(A((3, 2), 1)), 0.3, training=False, mode='downscale_in_infer')",
        "F.dropout(t(A((3,), 1)), 1.0)", "F.dropout(t(A((3,), 1)), 0.0)",
    ]


def loss() -> list:
    x, y, c = "A((4, 3), 1, -2, 2)", "t([0, 2, 1, 1])", "[1., 2., 3.]"
    soft = "t(P((4, 3), 9))"
    lines = []
    for reduction in ("mean", "sum", "none"):
        r = f"reduction='{reduction}'"
        lines += [
            f"g(lambda x: F.cross_entropy(x, {y}, {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {y}.unsqueeze(1), {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {y}, t(np.array({c})), {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {y}, ignore_index=1, {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {y}, t(np.array({c})), 1, {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {soft}, soft_label=True, {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, {soft}, t(np.array({c})), soft_label=True, {r}), {x})",
            f"g(lambda x: F.cross_entropy(F.softmax(x), {y}, use_softmax=False, {r}), {x})",
            f"g(lambda x: F.cross_entropy(x, t([[0, 1], [2, 1]]), axis=1, {r}), "
            "A((2, 3, 2), 1, -2, 2))",
            f"g(lambda x: F.cross_entropy(x, {soft}, soft_label=True, label_smoothing=0.1, {r}), "
            f"{x})",
            f"g(lambda x: F.nll_loss(F.log_softmax(x), {y}, {r}), {x})",
            f"g(lambda x: F.nll_loss(F.log_softmax(x), {y}, t(np.array({c})), {r}), {x})",
            f"g(lambda x: F.nll_loss(F.log_softmax(x, 1), t([[0, 1], [2, 1]]), {r}), "
            "A((2, 3, 2), 1))",
            f"g(lambda x: F.mse_loss(x, {soft}, {r}), {x})",
            f"g(lambda x: F.l1_loss(x, {soft}, {r}), {x})",
            f"g(lambda x: F.smooth_l1_loss(x, {soft}, {r}), {x})",
            f"g(lambda x: F.smooth_l1_loss(x, {soft}, {r}, delta=0.5), {x})",
            f"g(lambda x: F.kl_div(x, {soft}, {r}), {x})",
            f"g(lambda x: F.binary_cross_entropy(x, {soft}, {r}), A((4, 3), 2, 0.1, 0.9))",
            f"g(lambda x: F.binary_cross_entropy(x, {soft}, t(A((4, 3), 3)), {r}), "
            "A((4, 3), 2, 0.1, 0.9))",
            f"g(lambda x: F.binary_cross_entropy_with_logits(x, {soft}, {r}), {x})",
            f"g(lambda x: F.binary_cross_entropy_with_logits(x, {soft}, t(A((4, 3), 3)), {r}, "
            f"pos_weight=t(np.array({c}))), {x})",
            f"g(lambda x, y: F.margin_ranking_loss(x, y, t(A((4, 3), 3)).sign(), 0.2, {r}), {x}, "
            "A((4, 3), 2))",
            f"g(lambda x: F.hinge_embedding_loss(x, t(A((4, 3), 3)).sign(), {r}), {x})",
            f"g(lambda x, y: F.cosine_embedding_loss(x, y, t([1, -1, 1, -1]), 0.1, {r}), {x}, "
            "A((4, 3), 2))",
            f"g(lambda x: F.soft_margin_loss(x, t(A((4, 3), 3)).sign(), {r}), {x})",
            f"g(lambda x: F.multi_label_soft_margin_loss(x, {soft}, {r}), {x})",
            f"g(lambda x: F.multi_margin_loss(x, {y}, {r}), {x})",
            f"g(lambda x: F.multi_margin_loss(x, {y}, 2, 0.5, t(np.array({c})), {r}), {x})",
            f"g(lambda x, y, z: F.triplet_margin_loss(x, y, z, {r}), {x}, A((4, 3), 2), "
            "A((4, 3), 3))",
            f"g(lambda x, y, z: F.triplet_margin_loss(x, y, z, 2.0, 3, swap=True, {r}), {x}, "
            "A((4, 3), 2), A((4, 3), 3))",
            f"g(lambda x: F.poisson_nll_loss(x, t(A((4, 3), 3, 0, 5)), {r}), {x})",
            f"g(lambda x: F.poisson_nll_loss(x, t(A((4, 3), 3, 0, 5)), False, True, {r}), "
            "A((4, 3), 2, 0.5, 2))",
            f"g(lambda x: F.gaussian_nll_loss(x, {soft}, t(A((4, 3), 2, 0.5, 2)), True, {r}), "
            f"{x})",
            f"g(lambda x: F.sigmoid_focal_loss(x, {soft}.round(), {r}), {x})",
        ]
    sequence = "t([[1, 1, 2], [3, 2, 1], [2, 0, 0]], dtype='int32'), t([6, 5, 3]), t([3, 2, 1])"
    for options in ("reduction='none'", "reduction='mean'", "reduction='sum', blank=0"):
        lines.append(f"g(lambda x: F.ctc_loss(x, {sequence}, {options}), "
                     "A((6, 3, 4), 1, -2, 2))")
    return lines + [
        f"g(lambda x: F.softmax_with_cross_entropy(x, {y}.unsqueeze(1)), {x})",
        f"F.softmax_with_cross_entropy(t({x}), {y}.unsqueeze(1), return_softmax=True)[1]",
        f"g(lambda x: F.softmax_with_cross_entropy(x, {soft}, soft_label=True), {x})",
        f"g(lambda x: F.square_error_cost(x, {soft}), {x})",
        "F.log_loss(t(A((4, 1), 2, 0.1, 0.9).astype('float32')), "
        "t(A((4, 1), 3, 0, 1).astype('float32')))",
        f"g(lambda x: F.kl_div(x, {soft}, 'batchmean'), {x})",
        "g(lambda x: F.dice_loss(x, t([[[0], [2]], [[1], [1]]])), A((2, 2, 3), 1, 0, 1))",
        "F.npair_loss(t(A((4, 3), 1).astype('float32')), t(A((4, 3), 2).astype('float32')), "
        "t([0., 1., 0., 2.]))",
    ]


def layer() -> list:
    """Text, names and shapes of layers."""
    made = ("Linear(3, 4)|Linear(3, 4, bias_attr=False)|Conv2D(3, 6, 3, 2, 1, 2, 3)|"
            "Conv2D(3, 6, 3, padding=1, padding_mode='reflect')|Conv1D(3, 6, 3)|Conv3D(2, 2, 1)|"
            "Conv2DTranspose(3, 6, 3, 2, 1, 1)|BatchNorm2D(3)|BatchNorm1D(3)|LayerNorm([2, 3])|"
            "GroupNorm(2, 4)|InstanceNorm2D(3)|Flatten()|MaxPool2D(2, 2)|AvgPool2D(3, 2, 1)|"
            "AdaptiveAvgPool2D(1)|AdaptiveMaxPool2D((2, 3))|Pad2D(1)|ReLU()|GELU()|LeakyReLU()|"
            "Softmax()|PReLU(3)|Hardtanh()|CrossEntropyLoss()|MSELoss()|BatchNorm(3)|"
            "PixelShuffle(2)|CosineSimilarity()|Maxout(2)|Bilinear(2, 3, 4)|AlphaDropout()|"
            "Sequential(('a', nn.ReLU()), ('b', nn.Sequential(nn.Linear(2, 2))))|"
            "LayerList([nn.Linear(2, 2)])|LayerDict({'a': nn.ReLU()})|Dropout2D(0.2)|"
            "BatchNorm2D(2, weight_attr=False, bias_attr=False)|Embedding(4, 2, 1)").split("|")
    # what 3.x prints otherwise is left out of the text
    quiet = ("Embedding",)
    return [f"described(nn.{text}, {not text.startswith(quiet)})" for text in made] + [
        "trained(nn.Sequential(nn.Conv2D(1, 2, 3, padding=1), nn.BatchNorm2D(2), nn.ReLU(), "
        "nn.MaxPool2D(2), nn.Flatten(), nn.Linear(8, 3)), A((2, 1, 4, 4), 1))",
        "trained(nn.Conv2D(2, 3, 3, padding=1, padding_mode='circular'), A((1, 2, 4, 4), 1))",
        "trained(nn.Conv2DTranspose(2, 3, 3, stride=2), A((1, 2, 3, 3), 1))",
        "trained(nn.GroupNorm(2, 4), A((2, 4, 3), 1))",
        "trained(nn.InstanceNorm1D(2), A((2, 2, 3), 1))", "trained(nn.PReLU(2), A((2, 2, 3), 1))",
    ]


SECTIONS = {f.__name__: f for f in (conv, pool, image, activation, norm, loss, layer)}


# ---- evaluation
def array(shape, seed=1, low=-1.0, high=1.0):
    """Fixed numbers that look random, the same with every NumPy."""
    n = int(np.prod(shape))
    values = np.sin(np.arange(1, n + 1) * (12.9898 + 0.37 * seed) + seed) * 43758.5453
    return ((values - np.floor(values)) * (high - low) + low).reshape(shape)


def shares(shape, seed=1):
    """Positive numbers whose last axis adds up to 1."""
    a = array(shape, seed, 0.1, 1.0)
    return a / a.sum(-1, keepdims=True)


def scope(paddle) -> dict:
    nn = paddle.nn

    def weighted(out, seed=50):
        return (out * paddle.to_tensor(array(tuple(out.shape), seed).astype(
            out.numpy().dtype))).sum()

    def g(function, *arrays):
        inputs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
        out = function(*inputs)
        weighted(out).backward()
        return [out, *[x.grad for x in inputs]]

    def fixed(layer):
        for i, p in enumerate(layer.parameters()):
            if not p.stop_gradient:
                p.set_value(array(tuple(p.shape), 20 + i).astype("float32"))
        return layer

    def running(layer, steps, x):
        fixed(layer)
        for i in range(steps):
            out = layer(paddle.to_tensor((x + i).astype("float32")))
        layer.eval()
        return [out, layer._mean, layer._variance, layer(paddle.to_tensor(x.astype("float32")))]

    def trained(layer, x):
        fixed(layer)
        x = paddle.to_tensor(x.astype("float32"), stop_gradient=False)
        out = layer(x)
        weighted(out).backward()
        return [out, x.grad, *[p.grad for p in layer.parameters() if p.grad is not None]]

    def described(layer, text):
        first = min([int(p.name.split("_")[-2].split(".")[0]) for p in layer.parameters()] or [0])
        names = [[k, p.name.replace(f"_{first}.", "_N."), list(p.shape), bool(p.stop_gradient)]
                 for k, p in layer.named_parameters()]
        return [repr(layer) if text else "", names, list(layer.state_dict())]
    return {"paddle": paddle, "nn": nn, "F": nn.functional, "t": paddle.to_tensor, "np": np,
            "A": array, "P": shares, "g": g, "running": running, "trained": trained,
            "described": described}


def plain(value):
    """What JSON can hold: dtype, shape and numbers of tensors."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "numpy"):
        a = value.numpy()
        digits = 8 if a.dtype == np.float32 else 10
        return {"dtype": str(a.dtype), "shape": list(a.shape),
                "values": [float(f"{v:.{digits}g}") if isinstance(v, float) else v
                           for v in a.reshape(-1).tolist()]}
    return value


def lines(section: str) -> list:
    """The expressions of a section whose values are stored."""
    return list(_stored()[section])


def _stored() -> dict:
    global _cache
    try:
        return _cache
    except NameError:
        with open(FILE, encoding="utf-8") as f:
            _cache = json.load(f)
        return _cache


def check(section: str, line: str, paddle) -> None:
    """Evaluate an expression with a package and compare with what is stored."""
    compare(plain(eval(line, scope(paddle))), _stored()[section][line], line)


def compare(found, wanted, line) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), (line, found, wanted)
        for f, w in zip(found, wanted):
            compare(f, w, line)
    elif isinstance(wanted, dict):
        assert found["dtype"] == wanted["dtype"], (line, found["dtype"], wanted["dtype"])
        assert found["shape"] == wanted["shape"], (line, found["shape"], wanted["shape"])
        f, w = (np.array(v["values"], dtype=float) for v in (found, wanted))
        # Paddle scales in float32 in many kernels for float64 too
        exact = found["dtype"] == "float64"
        np.testing.assert_allclose(f, w, 2e-6 if exact else 2e-5, 1e-6 if exact else 3e-6, line)
    else:
        assert found == wanted, (line, found, wanted)


def main() -> None:
    import warnings

    import paddle
    warnings.filterwarnings("ignore")
    result, failed = {}, 0
    for name, make in SECTIONS.items():
        result[name] = {}
        for line in make():
            try:
                result[name][line] = plain(eval(line, scope(paddle)))
            except Exception as error:
                failed += 1
                print("skipped:", line, "|", str(error).strip().splitlines()[-1][:150],
                      file=sys.stderr)
    with open(FILE, "w", encoding="utf-8") as f:
        json.dump(result, f, separators=(",", ":"))
        f.write("\n")
    print({k: len(v) for k, v in result.items()}, failed, "skipped")


if __name__ == "__main__":
    main()
