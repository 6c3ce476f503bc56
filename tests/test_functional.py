"""paddle.nn.functional: the losses and what is composed of several ops."""
from __future__ import annotations

import inspect
import itertools
import math

import golden_nn
import numpy as np
import pytest

import minipaddle as paddle

F = paddle.nn.functional
rng = np.random.default_rng(0)


@pytest.mark.parametrize("line", golden_nn.lines("loss"))
def test_as_real_paddle(line):
    golden_nn.check("loss", line, paddle)


def t(values, **kwargs):
    return paddle.to_tensor(values, **kwargs)


# ---- cross-entropy
def test_ignored_labels_do_not_count():
    x = t(rng.standard_normal((5, 3)), stop_gradient=False)
    label = np.array([0, -100, 2, -100, 1])
    loss = F.cross_entropy(x, t(label))
    loss.backward()
    kept = label >= 0
    p = np.exp(x.numpy()) / np.exp(x.numpy()).sum(1, keepdims=True)
    np.testing.assert_allclose(float(loss), -np.log(p[kept, label[kept]]).mean(), rtol=1e-12)
    right = (p - np.eye(3)[label % 3]) * kept[:, None] / 3
    np.testing.assert_allclose(x.grad.numpy(), right, atol=1e-12)


def test_all_labels_ignored():
    x = t(rng.standard_normal((2, 3)), stop_gradient=False)
    loss = F.cross_entropy(x, t([-100, -100]))
    loss.backward()
    assert float(loss) == 0.0 and float(x.grad.abs().sum()) == 0.0


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_along_any_axis(axis, weighted):
    x = rng.standard_normal((4, 3, 5))
    c = x.shape[axis]
    rest = [n for i, n in enumerate(x.shape) if i != axis % 3]
    label = rng.integers(0, c, rest)
    weight = t(rng.random(c) + 0.5) if weighted else None
    found = F.cross_entropy(t(x), t(label), weight, axis=axis)
    moved = np.moveaxis(x, axis, -1).reshape(-1, c)
    again = F.cross_entropy(t(moved), t(label.reshape(-1)), weight)
    np.testing.assert_allclose(float(found), float(again), rtol=1e-12)


def test_cross_entropy_of_huge_logits():
    x = t([[1e4, 0.0, -1e4]], stop_gradient=False)
    loss = F.cross_entropy(x, t([1]))
    loss.backward()
    assert float(loss) == 1e4 and x.grad.tolist() == [[1.0, -1.0, 0.0]]


def test_label_smoothing_is_a_soft_label():
    x, y = t(rng.standard_normal((4, 3))), t([0, 2, 1, 1])
    smooth = F.label_smooth(F.one_hot(y, 3).astype("float64"), epsilon=0.2)
    for reduction in ("mean", "sum", "none"):
        a = F.cross_entropy(x, y, label_smoothing=0.2, reduction=reduction)
        b = F.cross_entropy(x, smooth, soft_label=True, reduction=reduction)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_second_order_of_cross_entropy():
    x = t(rng.standard_normal((3, 4)), stop_gradient=False)
    assert paddle.autograd.gradcheck(lambda v: F.cross_entropy(v, t([0, 3, -100])), [x.numpy()],
                                     order=2)
    assert paddle.autograd.gradcheck(
        lambda v: F.cross_entropy(v, t([[1, 0, 1]]), reduction="sum", axis=1),
        [rng.standard_normal((1, 2, 3))], order=2)


@pytest.mark.parametrize("function,args", [
    (F.cross_entropy, ([[1.0, 2.0]], [0])), (F.mse_loss, ([1.0], [2.0])),
    (F.l1_loss, ([1.0], [2.0])), (F.kl_div, ([1.0], [2.0])), (F.nll_loss, ([[1.0, 2.0]], [0])),
    (F.binary_cross_entropy, ([0.5], [1.0])), (F.smooth_l1_loss, ([1.0], [2.0]))])
def test_unknown_reductions_raise(function, args):
    with pytest.raises(ValueError, match="reduction.*'average'"):
        function(*[t(a) for a in args], reduction="average")


# ---- other losses at their edges
def test_bce_at_the_ends():
    x = t([0.0, 1.0], stop_gradient=False)
    loss = F.binary_cross_entropy(x, t([1.0, 0.0]), reduction="none")
    assert loss.tolist() == [100.0, 100.0]
    loss.sum().backward()
    assert np.isfinite(x.grad.numpy()).all() and x.grad.tolist()[0] < 0 < x.grad.tolist()[1]


def test_bce_with_huge_logits():
    x = t([1e3, -1e3, 1e3], stop_gradient=False)
    loss = F.binary_cross_entropy_with_logits(x, t([1.0, 0.0, 0.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [0.0, 0.0, 1000.0] and x.grad.tolist() == [0.0, 0.0, 1.0]
    weighted = F.binary_cross_entropy_with_logits(x, t([1.0, 0.0, 0.0]), pos_weight=t([3.0]),
                                                  reduction="none")
    assert weighted.tolist() == [0.0, 0.0, 1000.0]


def test_kl_div_where_the_label_is_zero():
    x = t(np.log([[0.5, 0.5]]), stop_gradient=False)
    F.kl_div(x, t(np.array([[0.0, 1.0]])), reduction="sum").backward()
    assert x.grad.tolist() == [[0.0, -1.0]]


def test_huber_is_smooth_at_delta():
    x = t(np.array([-3.0, -1.0, -0.5, 0.5, 1.0, 3.0]), stop_gradient=False)
    F.smooth_l1_loss(x, paddle.zeros_like(x), reduction="sum").backward()
    assert x.grad.tolist() == [-1.0, -1.0, -0.5, 0.5, 1.0, 1.0]


# ---- composed functions
def test_gumbel_softmax_draws_with_the_right_frequency():
    paddle.seed(1)
    x = paddle.log(t([[0.2, 0.3, 0.5]])).expand([4000, 3])
    y = F.gumbel_softmax(x, hard=True)
    assert (y.sum(-1).numpy() == 1).all()
    np.testing.assert_allclose(y.numpy().mean(0), [0.2, 0.3, 0.5], atol=0.04)
    z = t(np.zeros((2, 3)), stop_gradient=False)
    (F.gumbel_softmax(z, hard=True, axis=0) * t(np.arange(6.0).reshape(2, 3))).sum().backward()
    assert np.abs(z.grad.numpy()).sum() > 0


def test_normalize_of_nothing_is_nothing():
    x = t(np.zeros((1, 3)), stop_gradient=False)
    y = F.normalize(x)
    y.sum().backward()
    assert y.tolist() == [[0.0, 0.0, 0.0]] and np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_same_size_changes_nothing(mode):
    x = t(rng.standard_normal((1, 2, 3, 4)))
    np.testing.assert_allclose(F.interpolate(x, size=[3, 4], mode=mode).numpy(), x.numpy())


def test_sizes_may_be_tensors():
    x = paddle.ones([1, 1, 2, 2])
    assert F.interpolate(x, size=t([3, 5])).shape == [1, 1, 3, 5]
    assert F.interpolate(x, size=[t(3), 5]).shape == [1, 1, 3, 5]
    assert F.interpolate(x, scale_factor=t([2.0])).shape == [1, 1, 4, 4]
    assert F.pad(x, t([1, 0, 0, 0])).shape == [1, 1, 2, 3]


def test_negative_padding_cuts_and_its_gradient_pads():
    x = t(np.arange(9.0).reshape(1, 1, 3, 3), stop_gradient=False)
    y = F.pad(x, [-1, 1, 0, -1])
    assert y.tolist() == [[[[1, 2, 0], [4, 5, 0]]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[[0, 1, 1], [0, 1, 1], [0, 0, 0]]]]


def test_attention_masks():
    q, k, v = (t(rng.standard_normal((2, 3, 2, 4))) for _ in range(3))
    keep = np.tril(np.ones((3, 3), bool))
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True).numpy()
    for mask in (t(keep), t(np.where(keep, 0.0, -np.inf))):
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).numpy()
        np.testing.assert_allclose(found, causal, rtol=1e-9)


def test_gradients_of_composed_functions():
    x = rng.standard_normal((1, 2, 4, 4))
    grid = rng.uniform(-0.9, 0.9, (1, 2, 2, 2))
    check = paddle.autograd.gradcheck
    assert check(lambda a, b: F.grid_sample(a, b), [x, grid])
    assert check(lambda a: F.adaptive_max_pool2d(a, [3, 2]), [x])
    assert check(lambda a: F.local_response_norm(a, 3, 0.5), [x], order=2)
    assert check(lambda a, w, b: F.group_norm(a, 2, weight=w, bias=b),
                 [x, rng.standard_normal(2), rng.standard_normal(2)], order=2)
    assert check(lambda a: F.interpolate(a, [5, 3], mode="bicubic"), [x], order=2)
    assert check(lambda a: F.pixel_shuffle(F.pixel_unshuffle(a, 2), 2) * a, [x], order=2)
    assert check(lambda a: F.max_unpool2d(F.max_pool2d(a, 2), t([[[[0, 2], [8, 10]]] * 2])
                                          .reshape([1, 2, 2, 2]), 2), [x])


# ---- every public function
CHAPTERS = ["minipaddle." + m for m in ("functional", "losses", "ops_activation", "ops_nn",
                                     "ops_conv", "ops_pool")]
FUNCTIONS = sorted(n for n, f in vars(F).items() if inspect.isfunction(f) and n[0] != "_"
                   and f.__module__ in CHAPTERS and not n.endswith("_"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_documented(name):
    if name in ("ints", "last"):                    # helpers that functional.py imports
        return
    function = getattr(F, name)
    assert function.__doc__ and ">>>" in function.__doc__, f"{name} has no example"
    if name not in ("square_error_cost", "npair_loss"):     # Paddle's own take no name
        assert "name" in inspect.signature(function).parameters


def test_dropout_refuses_bad_arguments():
    x = paddle.ones([2, 2])
    for arguments, word in (((1.5,), "p"), ((0.5, 5), "axis"), ((0.5, None, True, "up"), "mode")):
        with pytest.raises(ValueError, match=word):
            F.dropout(x, *arguments)


def test_infinities_of_activations():
    x = t([-math.inf, math.inf])
    for function, wanted in ((F.relu, [0.0, math.inf]), (F.relu6, [0.0, 6.0]),
                             (F.elu, [-1.0, math.inf]), (F.softplus, [0.0, math.inf]),
                             (F.sigmoid, [0.0, 1.0]), (F.hardsigmoid, [0.0, 1.0]),
                             (F.log_sigmoid, [-math.inf, 0.0])):
        assert function(x).tolist() == wanted, function


# ---- CTC
def test_ctc_sums_over_all_alignments():
    x = rng.standard_normal((4, 1, 3))
    p = np.exp(x[:, 0]) / np.exp(x[:, 0]).sum(1, keepdims=True)
    for label in ([1], [2, 1], [1, 1], [1, 2, 1]):
        total = 0.0
        for path in itertools.product(range(3), repeat=4):
            merged = [c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c)]
            if merged == label:
                total += np.prod(p[np.arange(4), path])
        loss = F.ctc_loss(t(x), t([label]), t([4]), t([len(label)]), reduction="none")
        np.testing.assert_allclose(loss.numpy(), [-np.log(total)], rtol=1e-10)


def test_ctc_of_labels_that_do_not_fit():
    x = t(rng.standard_normal((2, 2, 3)), stop_gradient=False)
    loss = F.ctc_loss(x, t([[1, 1], [1, 2]]), t([2, 2]), t([2, 2]), reduction="none")
    loss.sum().backward()
    assert math.isinf(loss.tolist()[0]) and math.isfinite(loss.tolist()[1])
    assert np.isfinite(x.grad.numpy()).all() and (x.grad.numpy()[:, 0] == 0).all()


def test_ctc_norm_by_times_scales_the_gradient():
    values = rng.standard_normal((4, 1, 3))
    found = []
    for norm in (False, True):
        x = t(values, stop_gradient=False)
        F.ctc_loss(x, t([[1]]), t([4]), t([1]), norm_by_times=norm).backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1] * 4, rtol=1e-12)
