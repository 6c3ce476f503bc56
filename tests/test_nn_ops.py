"""Convolution, pooling, images, activations, normalisation: values, kernels, gradients, errors."""
from __future__ import annotations

import itertools

import golden_nn
import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import kernels_conv as kc
from minipaddle import kernels_nn as kn
from minipaddle import kernels_pool as kp
from minipaddle.core import ops

F = paddle.nn.functional
rng = np.random.default_rng(0)


def host(values):
    """On the CPU whatever the device: there numbers out of range are noticed."""
    return paddle.to_tensor(values, place="cpu")


def draw(*shape, dtype="float64"):
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("section,line", [(s, line) for s in (
    "conv", "pool", "image", "activation", "norm") for line in golden_nn.lines(s)])
def test_as_real_paddle(section, line):
    golden_nn.check(section, line, paddle)


# ---- convolution kernels against the sum they are defined by
def naive_conv(x, w, stride, pad, dilation, groups, size):
    out = np.zeros((len(x), len(w), *size))
    c, k = w.shape[1], len(w) // groups
    for o, tap, g in itertools.product(np.ndindex(*size), np.ndindex(*w.shape[2:]), range(groups)):
        at = [i * s + j * d - p for i, s, j, d, p in zip(o, stride, tap, dilation, pad)]
        if all(0 <= a < n for a, n in zip(at, x.shape[2:])):
            out[(slice(None), slice(g * k, g * k + k), *o)] += \
                x[(slice(None), slice(g * c, g * c + c), *at)] @ \
                w[(slice(g * k, g * k + k), slice(None), *tap)].T
    return out


def problems():
    """Random geometries, strides, crops, dilations, groups and depthwise ones among them."""
    r = np.random.default_rng(1)
    for case in range(60):
        rank = (1, 2, 2, 3)[case % 4]
        groups, c, k = int(r.choice((1, 1, 2, 3))), int(r.integers(1, 3)), int(r.integers(1, 3))
        n = (2, 1, 0, 3)[case // 3 % 4]
        sizes = tuple(int(v) for v in r.integers(1, 7, rank))
        kernel, stride, dilation = (tuple(int(v) for v in r.integers(1, 4, rank))
                                    for _ in range(3))
        pad, out = (tuple(int(v) for v in r.integers(low, 5, rank)) for low in (-1, 1))
        yield case, (n, groups * c, *sizes), (groups * k, c, *kernel), stride, pad, dilation, \
            groups, out


@pytest.mark.parametrize("case,xs,ws,stride,pad,dilation,groups,size", problems())
def test_conv_kernels(case, xs, ws, stride, pad, dilation, groups, size):
    x, w = draw(*xs), draw(*ws)
    if case % 3 == 0:
        x, w = np.asfortranarray(x), np.asfortranarray(w)
    geometry = stride, pad, dilation, groups
    right = naive_conv(x, w, *geometry, size)
    g = draw(*right.shape)
    for forward, to_input, to_weight in (
            (kc.conv, kc.conv_input, kc.conv_weight),
            (kc._conv_columns, kc._input_columns, kc._weight_columns)):
        np.testing.assert_allclose(forward(np, x, w, *geometry, size), right, atol=1e-10)
        dx, dw = to_input(np, g, w, *geometry, xs[2:]), to_weight(np, x, g, *geometry, ws[2:])
        assert dx.shape == x.shape and dw.shape == w.shape
        # the form is trilinear: <conv(x, w), g> from all three sides
        np.testing.assert_allclose([(dx * x).sum(), (dw * w).sum()], (right * g).sum(), atol=1e-9)
        one = draw(*xs)
        np.testing.assert_allclose((dx * one).sum(),
                                   (naive_conv(one, w, *geometry, size) * g).sum(), atol=1e-9)


@pytest.mark.parametrize("many,shape,kernel,stride,dilation", [
    (1, (2, 3, 70, 66), (3, 3), (1, 1), (1, 1)), (2, (1, 3, 70, 66), (5, 3), (2, 2), (1, 1)),
    (1, (2, 3, 9, 9), (3, 3), (1, 1), (2, 2)), (1, (3, 40, 64, 64), (3, 3), (2, 1), (1, 2))])
def test_wide_depthwise(many, shape, kernel, stride, dilation):
    c = shape[1]
    x, w = draw(*shape), draw(c * many, 1, *kernel)
    size = tuple((n + 2 - (k - 1) * d - 1) // s + 1
                 for n, k, s, d in zip(shape[2:], kernel, stride, dilation))
    geometry = stride, (1, 1), dilation, c
    g = draw(len(x), c * many, *size)
    np.testing.assert_allclose(kc.conv(np, x, w, *geometry, size),
                               kc._conv_columns(np, x, w, *geometry, size), atol=1e-10)
    np.testing.assert_allclose(kc.conv_weight(np, x, g, *geometry, kernel),
                               kc._weight_columns(np, x, g, *geometry, kernel), atol=1e-9)
    np.testing.assert_allclose(kc.conv_input(np, g, w, *geometry, shape[2:]),
                               kc._input_columns(np, g, w, *geometry, shape[2:]), atol=1e-10)


@pytest.mark.parametrize("dtype,tolerance", [("float16", 2e-2), ("float32", 1e-5),
                                             ("float64", 1e-12)])
def test_conv_keeps_the_dtype(dtype, tolerance):
    x, w, b = draw(2, 3, 7, 6), draw(4, 3, 3, 3) * 0.3, draw(4)
    found = F.conv2d(*[paddle.to_tensor(v.astype(dtype)) for v in (x, w, b)], padding=1)
    right = naive_conv(x, w, (1, 1), (1, 1), (1, 1), 1, (7, 6)) + b[:, None, None]
    assert found.dtype.name == dtype
    np.testing.assert_allclose(found.numpy().astype(float), right, atol=10 * tolerance)


def test_conv_takes_any_memory_layout():
    x, w = draw(2, 6, 8, 7), draw(4, 3, 3, 3)
    views = x[:, ::2], np.asfortranarray(x)[:, :3], x.transpose(0, 1, 3, 2)[:, 3:]
    for view in views:
        t = paddle.to_tensor(np.zeros(1))
        t._data = paddle.to_tensor(view)._data if not t.place.is_cpu_place() else view
        found = F.conv2d(t, paddle.to_tensor(w), stride=2, padding=1)
        again = F.conv2d(paddle.to_tensor(view.copy()), paddle.to_tensor(w), stride=2, padding=1)
        np.testing.assert_allclose(found.numpy(), again.numpy(), atol=1e-12)


def test_empty_batches():
    x = paddle.zeros([0, 3, 8, 8])
    x.stop_gradient = False
    w = paddle.to_tensor(draw(4, 3, 3, 3, dtype="float32"), stop_gradient=False)
    y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2)
    y = F.avg_pool2d(y, 2)
    assert y.shape == [0, 4, 2, 2]
    y.sum().backward()
    assert x.grad.shape == [0, 3, 8, 8] and float(w.grad.abs().sum()) == 0.0


def test_formats_agree():
    x, w, b = draw(2, 5, 6, 4), draw(6, 2, 3, 3), draw(6)
    last = paddle.to_tensor(x, stop_gradient=False)
    first = paddle.to_tensor(x.transpose(0, 3, 1, 2), stop_gradient=False)
    weight, bias = paddle.to_tensor(w), paddle.to_tensor(b)
    for function in (
            lambda t, f: F.conv2d(t, weight, bias, 2, [1, 0, 2, 1], 1, 2, f),
            lambda t, f: F.conv2d_transpose(t, paddle.to_tensor(draw(4, 3, 2, 2) * 0 + 1), None, 2,
                                            data_format=f),
            lambda t, f: F.max_pool2d(t, 3, 2, 1, data_format=f),
            lambda t, f: F.avg_pool2d(t, 3, 2, 1, data_format=f),
            lambda t, f: F.interpolate(t, [7, 5], mode="bilinear", data_format=f),
            lambda t, f: F.group_norm(t, 2, data_format=f),
            lambda t, f: F.batch_norm(t, paddle.zeros([4]), paddle.ones([4]), training=True,
                                      data_format=f),
            lambda t, f: F.adaptive_avg_pool2d(t, 2, data_format=f)):
        a, c = function(last, "NHWC"), function(first, "NCHW")
        np.testing.assert_allclose(a.numpy().transpose(0, 3, 1, 2), c.numpy(), atol=1e-6)
        last.clear_grad()
        first.clear_grad()
        (a * a * a).sum().backward()
        (c * c * c).sum().backward()
        np.testing.assert_allclose(last.grad.numpy().transpose(0, 3, 1, 2), first.grad.numpy(),
                                   atol=1e-5)


@pytest.mark.parametrize("build,words", [
    (lambda: F.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 2, 3, 3])), ("channels", "2")),
    (lambda: F.conv2d(paddle.ones([1, 3, 2, 2]), paddle.ones([4, 3, 3, 3])), ("kernel", "padded")),
    (lambda: F.conv2d(paddle.ones([3, 8, 8]), paddle.ones([4, 3, 3, 3])), ("axes", "x")),
    (lambda: F.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 3, 3, 3]), padding="HALF"),
     ("padding", "HALF")),
    (lambda: F.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 3, 3, 3]), stride=[1, 2, 3]),
     ("stride", "3")),
    (lambda: F.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 3, 3, 3]), paddle.ones([3])),
     ("bias", "4")),
    (lambda: F.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 3, 3, 3]), data_format="NCW"),
     ("data_format", "NCW")),
    (lambda: F.conv2d_transpose(paddle.ones([1, 3, 4, 4]), paddle.ones([3, 2, 3, 3]), stride=2,
                                output_size=[30, 30]), ("output_size", "30")),
    (lambda: F.max_pool2d(paddle.ones([1, 1, 2, 2]), 3), ("window", "[2, 2]")),
    (lambda: F.linear(paddle.ones([2, 3]), paddle.ones([4, 3])), ("weight", "[2, 3]", "[4, 3]")),
    (lambda: F.layer_norm(paddle.ones([2, 3]), 4), ("normalized_shape", "[2, 3]")),
    (lambda: F.batch_norm(paddle.ones([2, 3]), paddle.zeros([2]), paddle.ones([2])),
     ("mean", "3 channels")),
    (lambda: F.pad(paddle.ones([1, 1, 2, 2]), [3, 0, 0, 0], mode="reflect"), ("reflect", "1")),
    (lambda: F.embedding(host([5]), host(np.ones((4, 2)))), ("5", "4")),
    (lambda: F.one_hot(host([-1]), 4), ("-1", "num_classes")),
    (lambda: F.cross_entropy(host([[1.0, 2.0]]), host([2])), ("label 2", "0 to 1")),
    (lambda: F.cross_entropy(host([[1.0, 2.0]]), host([0, 1])), ("label", "[1, 1]")),
    (lambda: F.cross_entropy(host([[1.0, 2.0]]), host([0.5])), ("integers", "soft_label")),
    (lambda: F.interpolate(paddle.ones([1, 1, 2, 2]), [3, 3], mode="trilinear"), ("trilinear",)),
])
def test_errors_say_what_is_wrong(build, words):
    with pytest.raises((ValueError, TypeError)) as error:
        build()
    for word in words:
        assert word in str(error.value), str(error.value)


# ---- pooling
@pytest.mark.parametrize("kernel,stride,pad", [((2, 2), (2, 2), (0, 0)), ((3, 2), (1, 2), (1, 0)),
                                               ((3, 3), (2, 1), (1, 1)), ((2, 3), (3, 3), (0, 1))])
def test_max_pool_kernels(kernel, stride, pad):
    x = rng.integers(0, 4, (2, 3, 7, 8)).astype("float64")          # many ties
    size = tuple((n + 2 * p - k) // s + 1
                 for n, k, s, p in zip(x.shape[2:], kernel, stride, pad))
    right = np.empty((2, 3, *size))
    index = np.empty((2, 3, *size), int)
    padded = np.pad(x, ((0, 0), (0, 0), *[(p, p) for p in pad]), constant_values=-np.inf)
    flat = np.pad(np.arange(56).reshape(7, 8), [(p, p) for p in pad])
    for n, c, i, j in np.ndindex(*right.shape):
        a, b = i * stride[0], j * stride[1]
        window = padded[n, c, a:a + kernel[0], b:b + kernel[1]]
        right[n, c, i, j] = window.max()
        index[n, c, i, j] = flat[a:a + kernel[0], b:b + kernel[1]].reshape(-1)[window.argmax()]
    out = kp.max_pool(np, x, kernel, stride, pad, size)
    assert (out == right).all()
    assert (kp.max_index(np, x, kernel, stride, pad, size) == index).all()
    g, expected = draw(*out.shape), np.zeros((2, 3, 56))
    for n, c, i, j in np.ndindex(*out.shape):
        expected[n, c, index[n, c, i, j]] += g[n, c, i, j]
    found = kp.max_scatter(np, g, x, out, kernel, stride, pad)
    np.testing.assert_allclose(found.reshape(2, 3, 56), expected, atol=1e-12)
    v = draw(*x.shape)
    picked = np.take_along_axis(v.reshape(2, 3, 56), index.reshape(2, 3, -1), 2)
    np.testing.assert_allclose(kp.max_gather(np, v, x, out, kernel, stride, pad).reshape(2, 3, -1),
                               picked, atol=1e-12)


def test_the_first_maximum_takes_the_gradient():
    x = paddle.to_tensor(np.zeros((1, 1, 4, 4)), stop_gradient=False)
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad.numpy()[0, 0].tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]] * 2


def test_pooling_of_integers_and_halves():
    x = paddle.to_tensor(np.arange(16).reshape(1, 1, 4, 4))
    assert F.max_pool2d(x, 2).tolist() == [[[[5, 7], [13, 15]]]]
    half = x.astype("float16")
    half.stop_gradient = False
    y = F.avg_pool2d(half, 2)
    y.sum().backward()
    assert y.dtype == paddle.float16 and y.tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert half.grad.dtype == paddle.float16 and float(half.grad.sum()) == 4.0


# ---- normalisation
@pytest.mark.parametrize("dtype,tolerance", [("float32", 3e-3), ("float64", 1e-9)])
def test_large_means_do_not_cancel(dtype, tolerance):
    x = (draw(8, 3, 50) + np.array([3e4, -2e3, 0.0])[:, None]).astype(dtype)
    wide = x.astype("float64")
    g = draw(*x.shape).astype(dtype)

    def right(axes):
        d = wide - wide.mean(axes, keepdims=True)
        rstd = 1 / np.sqrt((d * d).mean(axes, keepdims=True) + 1e-5)
        y = d * rstd
        dx = rstd * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
        return y, dx
    y, mean, variance, rstd = kn.batch_norm(np, x, None, None, 1e-5)
    dx, _, _ = kn.batch_norm_grad(np, g, x, None, mean, rstd)
    np.testing.assert_allclose(y, right((0, 2))[0], atol=tolerance)
    np.testing.assert_allclose(dx, right((0, 2))[1], atol=tolerance)
    rows = x.reshape(24, 50)
    y, rstd = kn.layer_norm(np, rows, 1e-5)
    np.testing.assert_allclose(y.reshape(x.shape), right(2)[0], atol=tolerance)
    dx = kn.layer_norm_grad(np, g.reshape(24, 50), y, rstd)
    np.testing.assert_allclose(dx.reshape(x.shape), right(2)[1], atol=tolerance)


def test_a_constant_channel_has_no_negative_variance():
    x = np.full((4, 2, 9), 1234.567, "float32")
    y, _, variance, _ = kn.batch_norm(np, x, None, None, 1e-5)
    assert (variance >= 0).all() and np.abs(y).max() < 0.1


def test_batch_norm_gives_its_statistics_gradients():
    x = paddle.to_tensor(draw(3, 2, 4), stop_gradient=False)
    y, mean, variance = ops.batch_norm_train(x, None, None, 1e-5, False)
    (mean * mean + variance * 3.0).sum().backward()
    found = x.grad.numpy()
    x2 = paddle.to_tensor(x.numpy(), stop_gradient=False)
    m = x2.mean(axis=[0, 2], keepdim=True)
    (m * m).sum().backward(retain_graph=True)
    (((x2 - m) * (x2 - m)).mean(axis=[0, 2]) * 3.0).sum().backward()
    np.testing.assert_allclose(found, x2.grad.numpy(), atol=1e-12)


def test_half_precision_statistics_are_kept_in_float32():
    layer = paddle.nn.BatchNorm2D(2)
    x = paddle.to_tensor((draw(4, 2, 3, 3) * 0.1 + 300).astype("float16"))
    y = layer(x)
    assert y.dtype == paddle.float16 and layer._mean.dtype == paddle.float32
    np.testing.assert_allclose(layer._mean.numpy(), x.numpy().astype("f").mean((0, 2, 3)) * 0.1,
                               rtol=1e-4)


# ---- softmax, cross-entropy
def test_softmax_of_masked_and_huge_numbers():
    x = np.array([[-np.inf, 1.0, 2.0], [3e38, 1.0, -3e38], [5.0, 5.0, 5.0]], "float32")
    found = F.softmax(paddle.to_tensor(x)).numpy()
    np.testing.assert_allclose(found[0], [0, 0.26894143, 0.7310586], rtol=1e-6)
    np.testing.assert_allclose(found[1:], [[1, 0, 0], [1 / 3] * 3], rtol=1e-6)
    assert np.isnan(F.softmax(paddle.to_tensor(np.full((1, 2), -np.inf))).numpy()).all()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_softmax_axes(axis):
    x = draw(3, 4, 5)
    e = np.exp(x - x.max(axis, keepdims=True))
    right = e / e.sum(axis, keepdims=True)
    np.testing.assert_allclose(F.softmax(paddle.to_tensor(x), axis).numpy(), right, rtol=1e-12)
    np.testing.assert_allclose(F.log_softmax(paddle.to_tensor(x), axis).numpy(), np.log(right),
                               rtol=1e-9)


# ---- fused backward against the composite, whatever the attributes
@pytest.mark.parametrize("name,args,kwargs", [
    ("softmax_cross_entropy", (draw(4, 3), np.array([0, 2, -100, 1])), dict(reduction="mean")),
    ("softmax_cross_entropy", (draw(2, 3, 4), rng.integers(0, 3, (2, 4))),
     dict(axis=1, ignore_index=1, reduction="none")),
    ("softmax_cross_entropy", (draw(2, 3, 4), rng.integers(0, 3, (2, 1, 4))),
     dict(axis=-2, reduction="sum")),
    ("layer_norm", (draw(3, 4, 2), [4, 2], draw(8), draw(8)), {}),
    ("layer_norm", (draw(3, 4), 4, None, draw(4)), {}),
    ("batch_norm_train", (draw(3, 4, 2), draw(2), None), dict(channel_last=True)),
    ("batch_norm_train", (draw(5, 2) + 100, draw(2), draw(2)), {}),
    ("gelu", (draw(7) * 3,), {}), ("gelu", (draw(7) * 3,), dict(approximate=True)),
    ("linear", (draw(2, 3, 4), draw(4, 5), draw(5)), {}), ("linear", (draw(4), draw(4, 5)), {}),
    ("softmax", (draw(2, 3, 4),), dict(axis=1)), ("log_softmax", (draw(2, 3, 4),), dict(axis=0)),
])
def test_fused_backward_is_the_composites(name, args, kwargs):
    def run(create_graph):
        tensors = [paddle.to_tensor(a, stop_gradient=a.dtype.kind != "f")
                   if isinstance(a, np.ndarray) else a for a in args]
        out = getattr(ops, name)(*tensors, **kwargs)
        out = out[0] if isinstance(out, tuple) else out
        weight = paddle.to_tensor(np.sin(np.arange(out.size, dtype=float)).reshape(out.shape))
        wanted = [t for t in tensors if isinstance(t, paddle.Tensor) and not t.stop_gradient]
        return [g.numpy() for g in paddle.grad((out * weight).sum(), wanted,
                                               create_graph=create_graph)]
    for fused, composite in zip(run(False), run(True)):
        np.testing.assert_allclose(fused, composite, rtol=1e-7, atol=1e-10)


def test_third_order_through_a_convolution():
    x = paddle.to_tensor(draw(1, 2, 4, 4), stop_gradient=False)
    w = paddle.to_tensor(draw(2, 2, 2, 2), stop_gradient=False)
    y = F.conv2d(x, w, padding=1, stride=2)
    (gx,) = paddle.grad((y * y * y).sum(), x, create_graph=True)
    (gw,) = paddle.grad((gx * gx).sum(), w, create_graph=True)
    gw.sum().backward()
    assert x.grad.shape == [1, 2, 4, 4] and float(w.grad.abs().sum()) > 0


# ---- mixed precision: what runs in which dtype
def test_auto_cast():
    amp = paddle.amp.auto_cast
    x = paddle.to_tensor(draw(4, 3, 8, 8, dtype="float32"), stop_gradient=False)
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4),
                               paddle.nn.ReLU(), paddle.nn.MaxPool2D(2), paddle.nn.Flatten(),
                               paddle.nn.Linear(36, 5))
    with amp():
        seen = [x]
        for layer in net:
            seen.append(layer(seen[-1]))
        probability = F.softmax(seen[-1])
        loss = F.cross_entropy(seen[-1], paddle.to_tensor([0, 1, 2, 3]))
        normal = F.layer_norm(seen[-1], 5, paddle.ones([5]))
    assert [t.dtype.name for t in seen[1:]] == ["float16"] * 6
    assert [t.dtype.name for t in (probability, loss, normal)] == ["float32"] * 3
    loss.backward()
    assert x.grad.dtype == paddle.float32
    assert all(p.grad.dtype == paddle.float32 for p in net.parameters() if not p.stop_gradient)


# ---- dropout
@pytest.mark.parametrize("p", [0.005, 0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean(p):
    paddle.seed(3)
    y = F.dropout(paddle.ones([400, 500]), p).numpy()
    kept = (y != 0).mean()
    assert abs(kept - (1 - p)) < 5 * (p * (1 - p) / y.size) ** 0.5 + 1e-5
    np.testing.assert_allclose(y[y != 0], 1 / (1 - p), rtol=1e-6)


def test_dropout_shares_the_draw_along_other_axes():
    x = paddle.ones([30, 40, 5])
    y = F.dropout(x, 0.5, axis=1).numpy()
    assert (y == y[:1, :, :1]).all() and 0 < (y[0, :, 0] == 0).sum() < 40
    z = F.dropout2d(paddle.ones([20, 10, 3, 3]), 0.5).numpy()
    assert (z == z[:, :, :1, :1]).all() and len(np.unique(z)) == 2


def test_dropout_gradient_of_any_order_uses_one_draw():
    x = paddle.to_tensor(draw(50), stop_gradient=False)
    y = F.dropout(x, 0.5)
    kept = y.numpy() != 0
    (g,) = paddle.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()
    np.testing.assert_allclose(g.numpy(), 8 * x.numpy() * kept, rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), 8.0 * kept)


# ---- embedding
def test_embedding_adds_up_repeated_rows():
    w = paddle.to_tensor(draw(6, 3), stop_gradient=False)
    ids = np.array([[1, 1, 2], [1, 5, 2]])
    g = draw(2, 3, 3)
    (F.embedding(paddle.to_tensor(ids), w, padding_idx=-1) * paddle.to_tensor(g)).sum().backward()
    right = np.zeros((6, 3))
    np.add.at(right, ids, g)
    right[5] = 0
    np.testing.assert_allclose(w.grad.numpy(), right, atol=1e-12)
