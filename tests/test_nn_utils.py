"""paddle.nn.utils: weight and spectral normalisation, clipping by hand, parameters as a vector."""
from __future__ import annotations

import math

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import nn, nn_utils


def weights(shape, k):
    return np.sin(np.arange(1, math.prod(shape) + 1) * (1.3 + k)).reshape(shape).astype("float32")


def fixed(layer):
    layer.weight.set_value(weights(tuple(layer.weight.shape), 1))
    layer.bias.set_value(weights(tuple(layer.bias.shape), 2))
    return layer


# From PaddlePaddle 3.3.1: outputs, gradients of the lengths and of the directions (first four).
@pytest.mark.parametrize("make,dim,shape,out,g, v", [
    (lambda: nn.Linear(3, 4), 0, (2, 3), [-1.6748, 2.301, -1.5916, 0.1138],
     [10.339, 6.225, -3.689], [-0.736, -0.248, 2.215, -4.39]),
    (lambda: nn.Linear(3, 4), 1, (2, 3), [-1.6748, 2.301, -1.5916, 0.1138],
     [3.01, 5.692, 6.013, -0.146], [5.348, -6.08, 1.357, -1.839]),
    (lambda: nn.Conv2D(2, 3, 2), 1, (1, 2, 4, 4), [-0.0326, -0.3248, -0.149, -0.2948],
     [-0.755, 1.19], [-1.892, -0.259, -0.32, 2.431]),
])
def test_weight_norm_as_real_paddle(make, dim, shape, out, g, v):
    layer = fixed(make())
    assert nn_utils.weight_norm(layer, dim=dim) is layer
    assert list(layer.state_dict()) == ["bias", "weight_v", "weight_g"]
    layer.weight_g.set_value(layer.weight_g * 1.5)
    y = layer(paddle.to_tensor(weights(shape, 3)))
    (y * y).sum().backward()
    np.testing.assert_allclose(y.numpy().ravel()[:4], out, atol=6e-5)
    np.testing.assert_allclose(layer.weight_g.grad.numpy(), g, atol=6e-4)
    np.testing.assert_allclose(layer.weight_v.grad.numpy().ravel()[:4], v, atol=6e-4)
    nn_utils.remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(paddle.to_tensor(weights(shape, 3))).numpy(), y.numpy(),
                               rtol=1e-5)


@pytest.mark.parametrize("make,shape,u,v", [
    (lambda: nn.Linear(3, 4), (2, 3), 4, 3), (lambda: nn.Conv2D(2, 3, 2), (1, 2, 4, 4), 3, 8),
    (lambda: nn.Conv2DTranspose(2, 3, 2), (1, 2, 4, 4), 3, 8)])
def test_spectral_norm(make, shape, u, v):
    layer = nn_utils.spectral_norm(fixed(make()), n_power_iterations=80)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.weight_u.shape == [u] and layer.weight_v.shape == [v]
    y = layer(paddle.to_tensor(weights(shape, 3)))
    y.sum().backward()
    w = layer.weight.numpy()
    matrix = w if w.ndim == 2 else (
        w if isinstance(layer, nn.Conv2D) else w.transpose(1, 0, 2, 3)).reshape(u, v)
    assert abs(np.linalg.svd(matrix, compute_uv=False)[0] - 1) < 1e-4
    assert layer.weight_orig.grad is not None and layer.weight_u.grad is None
    layer.eval()
    before = layer.weight_u.numpy()
    layer(paddle.to_tensor(weights(shape, 3)))
    assert (layer.weight_u.numpy() == before).all()


def test_they_refuse_what_cannot_be():
    layer = nn_utils.weight_norm(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="already"):
        nn_utils.weight_norm(layer)
    with pytest.raises(ValueError, match="no weight_norm"):
        nn_utils.remove_weight_norm(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="kernel.*weight, bias"):
        nn_utils.spectral_norm(nn.Linear(2, 2), "kernel")


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_clipping_by_norm(p):
    tensors = [paddle.to_tensor(v, stop_gradient=False) for v in ([3.0, -4.0], [[12.0]])]
    sum((t * t * 0.5).sum() for t in tensors).backward()
    total = float(nn_utils.clip_grad_norm_(tensors, 2.0, p))
    flat = np.array([3.0, -4.0, 12.0])
    assert abs(total - np.linalg.norm(flat, p)) < 1e-4
    found = np.concatenate([t.grad.numpy().ravel() for t in tensors])
    np.testing.assert_allclose(found, flat * 2.0 / total, rtol=1e-5)
    nn_utils.clip_grad_norm_(tensors, 100.0, p)
    np.testing.assert_allclose(np.concatenate([t.grad.numpy().ravel() for t in tensors]), found)


def test_clipping_notices_infinities():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    (x * math.inf).sum().backward()
    with pytest.raises(RuntimeError, match="inf"):
        nn_utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
    assert float(nn_utils.clip_grad_norm_([], 1.0)) == 0.0


def test_vectors():
    a, b = nn.Linear(3, 2), nn.Linear(3, 2)
    vector = nn_utils.parameters_to_vector(a.parameters())
    nn_utils.vector_to_parameters(vector, b.parameters())
    assert (a.weight.numpy() == b.weight.numpy()).all()
    with pytest.raises(ValueError, match="7 numbers.*8"):
        nn_utils.vector_to_parameters(vector[:7], b.parameters())
