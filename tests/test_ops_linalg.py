"""Linear algebra: values against real Paddle, gradients of what is composed, identities, errors."""
from __future__ import annotations

import itertools

import golden_tensor
import numpy as np
import pytest

import minipaddle as paddle
import minipaddle.linalg as la
from minipaddle.autograd import gradcheck


@pytest.mark.parametrize("line", golden_tensor.lines("linalg"))
def test_as_real_paddle(line):
    golden_tensor.check("linalg", line, paddle)


def r(*shape, seed=0):
    return golden_tensor.random(*shape, seed=seed)


def t(array):
    return paddle.to_tensor(array)


# ---- matmul
SHAPES = [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
          ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)), ((3,), (5, 3, 2)),
          ((5, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 0, 3), (3, 4)),
          ((0, 2, 3), (3, 4)), ((2, 3, 0), (0, 4)), ((1, 2, 3), (6, 3, 4))]


def swapped(x, flag):
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)) if flag and x.ndim > 1 else x


@pytest.mark.parametrize("tx, ty", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("a, b", SHAPES)
def test_matmul(a, b, tx, ty):
    x, y = r(*a), r(*b, seed=1)
    x_in, y_in = swapped(x, tx), swapped(y, ty)
    found = paddle.matmul(t(x_in), t(y_in), tx, ty)
    np.testing.assert_allclose(found.numpy(), np.matmul(x, y), atol=1e-12)
    if found.size and 0 not in a + b:
        assert gradcheck(lambda x, y: paddle.matmul(x, y, tx, ty), [x_in, y_in], order=2)
    leaves = [paddle.to_tensor(v, stop_gradient=False) for v in (x_in, y_in)]
    paddle.matmul(*leaves, tx, ty).sum().backward()
    assert [v.grad.shape for v in leaves] == [v.shape for v in leaves]


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_matmul_of_any_memory_order(layout):
    x, w = r(4, 5, 6), r(6, 3, seed=1)
    held = t(x) if layout == "C" else t(np.ascontiguousarray(x.transpose(2, 1, 0))).T \
        if layout == "F" else t(np.repeat(x, 2, 1))[:, ::2]
    np.testing.assert_allclose(paddle.matmul(held, t(w)).numpy(), x @ w, atol=1e-12)


def test_matmul_dtypes():
    ints = paddle.matmul(t([[1, 2]]), t([[3], [4]]))
    assert ints.dtype.name == "int64" and ints.tolist() == [[11]]
    half = paddle.matmul(t(np.ones((2, 300), "float16")), t(np.ones((300, 2), "float16")))
    assert half.dtype.name == "float16" and half.tolist() == [[300.0] * 2] * 2
    x = t(np.ones((2, 2), "float16"))
    x.stop_gradient = False
    (x @ x).sum().backward()
    assert x.grad.dtype.name == "float16" and x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    c = r(2, 2) + 1j * r(2, 2, seed=1)
    np.testing.assert_allclose(paddle.matmul(t(c), t(c)).numpy(), c @ c, atol=1e-12)


def test_operators_take_arrays():
    x, a = t(r(2, 3)), r(3, 2)
    np.testing.assert_allclose((x @ a).numpy(), r(2, 3) @ a)
    np.testing.assert_allclose((a @ x).numpy(), a @ r(2, 3))


# ---- einsum against NumPy's
EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)),
    ("ji,jk->ki", (3, 2), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bij,ji->bi", (2, 3, 4), (4, 3)), ("bhqd,bkhd->bhqk", (2, 2, 3, 4), (2, 5, 2, 4)),
    ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 2)), ("i,j,k->kij", (2,), (3,), (4,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)), ("...i,...i->...", (5, 2, 3), (2, 3)),
    ("i...->...i", (2, 3, 4)), ("...ii->...i", (2, 3, 3)), ("iij->j", (3, 3, 2)),
    ("iii->i", (2, 2, 2)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)), ("ijk,k->ij", (2, 3, 4), (4,)),
    ("a,ab,b->", (2,), (2, 3), (3,)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)), ("abcd,cd->ab", (2, 2, 3, 4), (3, 4)),
    ("ijkl,ijkl->kl", (2, 3, 2, 2), (2, 3, 2, 2)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("->", ()),
    ("ab,ac,ad->abcd", (2, 2), (2, 3), (2, 4)), ("ij,jk->ik", (2, 0), (0, 4)),
    ("A,Ab->b", (2,), (2, 3)),
    ("xy,yz,xz->", (2, 3), (3, 4), (2, 4)),
]


@pytest.mark.parametrize("equation, shapes", [(e[0], e[1:]) for e in EQUATIONS])
def test_einsum(equation, shapes):
    arrays = [r(*s, seed=k) for k, s in enumerate(shapes)]
    found = paddle.einsum(equation, *[t(a) for a in arrays])
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), atol=1e-12)
    if all(0 not in s for s in shapes):
        assert gradcheck(lambda *x: paddle.einsum(equation, *x), arrays, order=2)


def test_einsum_is_one_matrix_product():
    from minipaddle import modes
    seen = []
    old = modes.set_observers([lambda op, inputs, result: seen.append(op.name)])
    paddle.einsum("bqhd,bkhd->bhqk", t(r(2, 3, 2, 4)), t(r(2, 5, 2, 4)))
    modes.set_observers(old)
    assert seen.count("matmul") == 1 and "multiply" not in seen


@pytest.mark.parametrize("equation, words", [
    ("ij,jk", ["2 operands", "1"]), ("ijk->i", ["names 3 dimensions", "has 2"]),
    ("ij->k", ["'k'"]), ("ij->ii", ["each once"]), ("i->i", ["names 1 dimensions"]),
    ("i1->i", ["letters"]), ("ii->i", ["'i'", "2", "3"])])
def test_einsum_errors(equation, words):
    with pytest.raises(ValueError, match="einsum") as caught:
        paddle.einsum(equation, t(r(2, 3)))
    for word in words:
        assert word in str(caught.value), caught.value


# ---- what is composed of several ops: gradients to second order
def spd(x):
    return paddle.matmul(x, x, transpose_y=True) + paddle.eye(x.shape[0], dtype="float64")


COMPOSED = {
    "cholesky": (lambda x: la.cholesky(spd(x)), (3, 3)),
    "cholesky upper": (lambda x: la.cholesky(spd(x), True), (3, 3)),
    "cholesky_solve": (lambda x: la.cholesky_solve(x[:, :1], la.cholesky(spd(x))), (3, 3)),
    "cholesky_inverse": (lambda x: la.cholesky_inverse(la.cholesky(spd(x))), (3, 3)),
    "eigh": (lambda x: la.eigh(spd(x))[0], (3, 3)),
    "eigvalsh": (lambda x: la.eigvalsh(spd(x)), (3, 3)),
    "eigh vectors": (lambda x: la.eigh(spd(x))[1] ** 2, (3, 3)),
    "triangular_solve": (
        lambda x: la.triangular_solve(x + 3 * paddle.eye(3, dtype="float64"), x), (3, 3)),
    "triangular_solve T": (lambda x: la.triangular_solve(x, x, False, True, True), (3, 3)),
    "solve vector": (lambda x: la.solve(spd(x), x[0]), (3, 3)),
    "solve right": (lambda x: la.solve(spd(x), x, left=False), (3, 3)),
    "svdvals": (la.svdvals, (3, 2)), "matrix_power": (lambda x: la.matrix_power(x, -3), (2, 2)),
    "multi_dot": (lambda x: la.multi_dot([x, x.t(), x, x.t()]), (2, 3)),
    "matrix_exp": (la.matrix_exp, (3, 3)), "cond": (lambda x: la.cond(x), (3, 3)),
    "cond fro": (lambda x: la.cond(x, "fro"), (3, 3)), "cov": (la.cov, (3, 4)),
    "corrcoef": (la.corrcoef, (3, 4)), "pinv": (la.pinv, (3, 2)), "pinv wide": (la.pinv, (2, 3)),
    "lstsq": (lambda x: la.lstsq(x, x[:, :1] * x[:, 1:])[0], (4, 2)),
    "householder": (lambda x: la.householder_product(x, x[0]), (3, 2)),
    "ormqr": (lambda x: la.ormqr(x, x[0], x), (3, 2)), "det": (la.det, (3, 3)),
    "slogdet": (lambda x: la.slogdet(x)[1], (3, 3)), "qr": (lambda x: la.qr(x), (3, 2)),
    "qr r": (lambda x: la.qr(x, "r"), (2, 3)), "kron": (lambda x: paddle.kron(x, x.t()), (2, 2)),
    "cross": (lambda x: paddle.cross(x, x * x), (2, 3)),
    "outer": (lambda x: paddle.outer(x, x), (3,)), "inner": (lambda x: paddle.inner(x, x), (2, 3)),
    "vecdot": (lambda x: la.vecdot(x, x * x), (2, 3)),
    "tensordot": (lambda x: paddle.tensordot(x, x, [[0, 1], [0, 1]]), (2, 3)),
    "addmm": (lambda x: paddle.addmm(x, x, x, 2.0, 3.0), (2, 2)),
    "trace": (lambda x: paddle.trace(x, 1), (3, 3)),
    "cdist": (lambda x: paddle.cdist(x, x * x), (3, 2)),
    "pdist": (paddle.pdist, (4, 2)), "vander": (lambda x: paddle.vander(x), (3,)),
    "mv": (lambda x: paddle.mv(x, x[0]), (3, 3)), "dot": (lambda x: paddle.dot(x, x), (3,)),
    "matrix_norm nuc": (lambda x: la.matrix_norm(x, "nuc"), (3, 2)),
    "vector_norm": (lambda x: la.vector_norm(x, 3.0, 1), (3, 2)),
    "svd_lowrank": (lambda x: la.svd_lowrank(x, 1)[1], (3, 2)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_gradients(name):
    function, shape = COMPOSED[name]
    assert gradcheck(function, [r(*shape) * 0.7], order=2, rtol=1e-5, atol=1e-6)


def test_one_triangle_is_read_and_the_gradient_is_symmetric():
    a = r(3, 3)
    a = a @ a.T + np.eye(3)
    for upper, part in ((False, np.tril(a)), (True, np.triu(a))):
        x = paddle.to_tensor(part, stop_gradient=False)
        factor = la.cholesky(x, upper)
        whole = factor.numpy().T @ factor.numpy() if upper else factor.numpy() @ factor.numpy().T
        np.testing.assert_allclose(whole, a, atol=1e-12)
        factor.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), x.grad.numpy().T)
        np.testing.assert_allclose(la.eigvalsh(t(part), "U" if upper else "L").numpy(),
                                   np.linalg.eigvalsh(a), atol=1e-12)


# ---- identities, over batches and odd shapes
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (2, 1, 2, 2), (0, 2, 2), (1, 1)])
def test_factors_multiply_back(shape):
    x = r(*shape) + 3 * np.eye(shape[-1])
    q, upper = la.qr(t(x))
    np.testing.assert_allclose((q @ upper).numpy(), x, atol=1e-10)
    u, s, vh = la.svd(t(x))
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ vh).numpy(), x, atol=1e-10)
    p, low, up = la.lu_unpack(*la.lu(t(x)))
    np.testing.assert_allclose((p @ low @ up).numpy(), x, atol=1e-10)
    eye = np.broadcast_to(np.eye(shape[-1]), shape)
    np.testing.assert_allclose((paddle.inverse(t(x)) @ t(x)).numpy(), eye, atol=1e-10)
    np.testing.assert_allclose((la.pinv(t(x)) @ t(x)).numpy(), eye, atol=1e-10)
    np.testing.assert_allclose(la.det(t(x)).numpy(), np.linalg.det(x), atol=1e-10)


@pytest.mark.parametrize("trans", ["N", "T"])
def test_lu_solve(trans):
    x, b = r(2, 3, 3) + np.eye(3), r(2, 3, 2, seed=1)
    found = la.lu_solve(t(b), *la.lu(t(x)), trans)
    held = x if trans == "N" else x.swapaxes(-1, -2)
    np.testing.assert_allclose(held @ found.numpy(), b, atol=1e-10)


@pytest.mark.host_only("CuPy has eig since version 14 only")
def test_eig():
    x = r(3, 3)
    w, v = la.eig(t(x))
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * w.numpy(), atol=1e-10)
    assert w.dtype.name == "complex128"
    assert la.eigvals(t(x.astype("float32"))).dtype.name == "complex64"


def test_householder_and_ormqr():
    x, tau, y = r(4, 3), r(3), r(4, 4, seed=2)
    q = la.householder_product(t(np.hstack([x, np.zeros((4, 1))])), t(tau)).numpy()
    for left, transpose in itertools.product([True, False], repeat=2):
        held = q.T if transpose else q
        found = la.ormqr(t(x), t(tau), t(y), left, transpose).numpy()
        np.testing.assert_allclose(found, held @ y if left else y @ held, atol=1e-10)


def test_least_squares_extras():
    x, y = r(5, 2), r(5, 1, seed=1)
    solution, residuals, rank, values = la.lstsq(t(x), t(y), driver="gelsd")
    expected = np.linalg.lstsq(x, y, rcond=None)
    for ours, theirs in zip((solution, residuals, rank, values), expected):
        np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-10)


def test_float32_and_ints():
    x = t(r(3, 3).astype("float32"))
    for function in (paddle.inverse, la.det, la.cholesky_inverse, la.svdvals, la.matrix_exp,
                     la.pinv):
        assert function(x).dtype.name == "float32"
    assert la.det(t([[2, 0], [0, 3]])).dtype.name == "float32"
    assert la.matrix_power(t([[1, 1], [0, 1]]), 3).tolist() == [[1, 3], [0, 1]]


@pytest.mark.parametrize("call, words", [
    (lambda: paddle.matmul(t(r(2, 3)), t(r(2, 3))), ["[2, 3]", "(3)", "(2)", "transpose_y"]),
    (lambda: paddle.matmul(t(r(2, 2, 3)), t(r(3, 3, 2))), ["[2, 2, 3]", "[3, 3, 2]", "broadcast"]),
    (lambda: paddle.matmul(t(1.0), t([1.0])), ["at least one dimension"]),
    (lambda: paddle.matmul(t([1.0]), t(r(1))), ["float32", "float64", "astype"]),
    (lambda: paddle.bmm(t(r(2, 3)), t(r(3, 2))), ["bmm", "3-d", "[2, 3]"]),
    (lambda: paddle.inverse(t(r(2, 3))), ["inverse", "square", "[2, 3]"]),
    (lambda: paddle.inverse(t(np.zeros((2, 2)))), ["inverse", "ingular"]),
    (lambda: la.cholesky(t(-np.eye(2))), ["cholesky", "not positive definite"]),
    (lambda: paddle.dot(t(r(2)), t(r(3))), ["dot", "[2]", "[3]"]),
    (lambda: paddle.cross(t(r(2)), t(r(2))), ["cross", "size 3"]),
    (lambda: la.multi_dot([t(r(2, 2))]), ["multi_dot", "two"]),
    (lambda: paddle.tensordot(t(r(2, 3)), t(r(2, 3)), 1), ["tensordot", "[2, 3]", "one size"]),
    (lambda: la.solve(t(r(2, 2)), t(r(3, 1))), ["solve", "[3, 1]", "2"]),
    (lambda: la.qr(t(r(2, 2)), "full"), ["qr", "'full'"]),
])
def test_errors(call, words):
    if paddle.get_device() != "cpu" and ("ingular" in words or "not positive definite" in words):
        return                                      # CuPy gives nan or inf instead
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    for word in words:
        assert word in str(caught.value), caught.value
