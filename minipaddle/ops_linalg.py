"""Linear algebra: matmul and its relatives. Imports samples and core."""
from __future__ import annotations

from .core import Array, Tensor, op, public


def _matmul_sample(draw):
    m, k, n = (draw.integer(1, 3) for _ in range(3))
    batch = draw.shape(0, 2, 1, 3)
    other = draw.choice([batch, batch[1:], ()])
    tx, ty = draw.bool(), draw.bool()
    x = draw.array((*batch, k, m) if tx else (*batch, m, k))
    y = draw.array((*other, n, k) if ty else (*other, k, n))
    return (x, y, tx, ty), {}


@op(promote="same", amp="allow", method=("matmul", "__matmul__", "__rmatmul__"),
    legacy=("matmul_v2",), samples=_matmul_sample)
def matmul(xp, x: Array, y: Array, transpose_x: bool = False, transpose_y: bool = False) -> Array:
    """The matrix product over the last two dimensions, the others broadcast; 1-d is a vector.

    >>> import minipaddle as paddle
    >>> paddle.matmul(paddle.ones([2, 3]), paddle.ones([4, 3]), transpose_y=True).shape
    [2, 4]
    """
    if transpose_x:
        x = x.swapaxes(-1, -2) if x.ndim > 1 else x
    if transpose_y:
        y = y.swapaxes(-1, -2) if y.ndim > 1 else y
    return xp.matmul(x, y)


@matmul.explain
def _(x, y, transpose_x, transpose_y):
    a, b = x.shape, y.shape
    if not a or not b:
        return f"x is {a} and y is {b}; both need at least one dimension"
    k = a[-2] if transpose_x and len(a) > 1 else a[-1]
    m = b[0] if len(b) == 1 else b[-1] if transpose_y else b[-2]
    if k == m:
        return f"x is {a} and y is {b}; the dimensions before the last two do not broadcast"
    other = " Try transpose_y=True." if len(b) > 1 and k == b[-1] and not transpose_y else ""
    return (f"x is {a} and y is {b}; the dimension of x that is summed ({k}) must equal that of y "
            f"({m}).{other}")


@matmul.vjp
def _(F, g, x, y, transpose_x, transpose_y, need):
    gx = gy = None
    if x.ndim == 2 == y.ndim:           # the everyday case
        if need[0]:
            gx = F.matmul(y, g, transpose_y, True) if transpose_x else \
                F.matmul(g, y, False, not transpose_y)
        if need[1]:
            gy = F.matmul(g, x, True, transpose_x) if transpose_y else \
                F.matmul(x, g, not transpose_x, False)
        return gx, gy
    x_shape, y_shape = x.shape, y.shape
    if len(x_shape) == 1 or len(y_shape) == 1:
        return _vectors(F, g, x, y, x_shape, y_shape, transpose_x, transpose_y)
    if need[0]:
        gx = F.matmul(y, g, transpose_y, True) if transpose_x else \
            F.matmul(g, y, False, not transpose_y)
        if len(gx.shape) != len(x_shape) or tuple(gx.shape) != tuple(x_shape):
            gx = F.sum_to(gx, x_shape)
    if need[1]:
        if len(y_shape) == 2 and len(x_shape) > 2 and not transpose_x:
            # one product over all rows instead of a batch of them that would then be summed
            x, g = F.reshape(x, [-1, x_shape[-1]]), F.reshape(g, [-1, g.shape[-1]])
        gy = F.matmul(g, x, True, transpose_x) if transpose_y else \
            F.matmul(x, g, not transpose_x, False)
        if tuple(gy.shape) != tuple(y_shape):
            gy = F.sum_to(gy, y_shape)
    return gx, gy


def _vectors(F, g, x, y, x_shape, y_shape, transpose_x, transpose_y):
    """Gradients where an operand is a vector: as matrices with a dimension of one put in."""
    a = F.reshape(x, [1, -1]) if len(x_shape) == 1 else x
    b = F.reshape(y, [-1, 1]) if len(y_shape) == 1 else y
    ta, tb = transpose_x and len(x_shape) > 1, transpose_y and len(y_shape) > 1
    shape = list(g.shape)
    if len(y_shape) == 1:
        shape = shape + [1]
    if len(x_shape) == 1:
        shape = shape[:-1] + [1] + shape[-1:]
    g = F.reshape(g, shape)
    ga = F.matmul(b, g, tb, True) if ta else F.matmul(g, b, False, not tb)
    gb = F.matmul(g, a, True, ta) if tb else F.matmul(a, g, not ta, False)
    return (F.reshape(F.sum_to(ga, a.shape), x_shape),
            F.reshape(F.sum_to(gb, b.shape), y_shape))


@public(aliases=("mm",))
def bmm(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The product of matrices, or of each pair in two batches of them.

    >>> import minipaddle as paddle
    >>> paddle.bmm(paddle.ones([2, 1, 3]), paddle.ones([2, 3, 1])).shape
    [2, 1, 1]
    """
    return matmul(x, y)
