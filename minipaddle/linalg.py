"""`paddle.linalg`: the linear algebra of ops_linalg.py under Paddle's names.

Imports ops_linalg, ops_shape, ops_reduce and core.
"""
from __future__ import annotations

from .core import Tensor, ops
from .ops_linalg import (cdist, cholesky, cholesky_inverse, cholesky_solve, cond,  # noqa: F401
                         corrcoef, cov, cross, det, diagonal, eig, eigh, eigvals, eigvalsh,
                         householder_product, inv, lstsq, lu, lu_solve, lu_unpack, matmul,
                         matrix_exp, matrix_power, matrix_rank, multi_dot, ormqr, pca_lowrank,
                         pinv, qr, slogdet, solve, svd, svd_lowrank, svdvals, triangular_solve,
                         vecdot)
from .ops_reduce import norm  # noqa: F401
from .ops_shape import matrix_transpose  # noqa: F401


def matrix_norm(x: Tensor, p="fro", axis=[-2, -1], keepdim: bool = False,
                name: str | None = None) -> Tensor:
    """The norm of matrices in two axes: p 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> import minipaddle as paddle
    >>> float(paddle.linalg.matrix_norm(paddle.to_tensor([[3., 0.], [0., 4.]])))
    5.0
    """
    if len(axis) != 2:
        raise ValueError(f"matrix_norm: axis must name two axes, got {axis}")
    return norm(x, p, list(axis), keepdim)


def vector_norm(x: Tensor, p: float = 2.0, axis=None, keepdim: bool = False,
                name: str | None = None, *, dtype=None, out=None) -> Tensor:
    """The p-norm of vectors: of all elements, or along one or several axes.

    >>> import minipaddle as paddle
    >>> float(paddle.linalg.vector_norm(paddle.to_tensor([3., 4.])))
    5.0
    """
    x = x if dtype is None else ops.cast(x, dtype)
    return ops.p_norm(x, float(p), axis, keepdim)
