"""Linear algebra: matmul and its relatives, einsum, factorisations, equations.

Imports ops_shape, samples and core. What is under `paddle.linalg` alone is listed in linalg.py.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from .core import Array, Tensor, inplace, op, ops, public, to_tensor
from .ops_shape import axes_of, axis_of, differ, equal_shapes


# ---- the matrix product


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
    if x.ndim == 2 == y.ndim:                       # the everyday case, kept short
        return xp.matmul(x.T if transpose_x else x, y.T if transpose_y else y)
    if transpose_x:
        x = x.swapaxes(-1, -2) if x.ndim > 1 else x
    if transpose_y:
        y = y.swapaxes(-1, -2) if y.ndim > 1 else y
    if y.ndim == 2 < x.ndim and x.size and x.flags.c_contiguous:
        # one product over all rows instead of a small one for each matrix
        return xp.matmul(x.reshape(-1, x.shape[-1]), y).reshape(x.shape[:-1] + y.shape[1:])
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
            rows = -1 if x_shape[-1] and g.shape[-1] else math.prod(x_shape[:-1])
            x, g = F.reshape(x, [rows, x_shape[-1]]), F.reshape(g, [rows, g.shape[-1]])
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


# ---- products of matrices and vectors
@public()
def bmm(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The product of each pair of matrices in two batches: [b, m, k] times [b, k, n].

    >>> import minipaddle as paddle
    >>> paddle.bmm(paddle.ones([2, 1, 3]), paddle.ones([2, 3, 1])).shape
    [2, 1, 1]
    """
    if x.ndim != 3 or y.ndim != 3:
        raise ValueError(f"bmm: x and y must be 3-d, got {x.shape} and {y.shape}; paddle.matmul "
                         "takes any")
    if differ(x.shape[:1], y.shape[:1]):
        raise ValueError(f"bmm: x {x.shape} and y {y.shape} must hold as many matrices")
    return matmul(x, y)


@public()
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """The matrix product, as `matmul`.

    >>> import minipaddle as paddle
    >>> paddle.mm(paddle.ones([1, 3]), paddle.ones([3, 1])).tolist()
    [[3.0]]
    """
    return matmul(input, mat2)


@public()
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """The product of a matrix [m, n] and a vector [n].

    >>> import minipaddle as paddle
    >>> paddle.mv(paddle.ones([2, 3]), paddle.ones([3])).tolist()
    [3.0, 3.0]
    """
    if x.ndim != 2 or vec.ndim != 1:
        raise ValueError(f"mv: x must be 2-d and vec 1-d, got {x.shape} and {vec.shape}")
    return matmul(x, vec)


@public()
def dot(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The inner product of two vectors; of two matrices that of each pair of rows.

    >>> import minipaddle as paddle
    >>> float(paddle.dot(paddle.to_tensor([1., 2.]), paddle.to_tensor([3., 4.])))
    11.0
    """
    if x.ndim not in (1, 2) or differ(x.shape, y.shape):
        raise ValueError(f"dot: x and y must be 1-d or 2-d and of one shape, got {x.shape} and "
                         f"{y.shape}")
    return ops.sum(x * y, axis=-1)


@public()
def vecdot(x: Tensor, y: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """The inner product of x and y along an axis; the others broadcast.

    >>> import minipaddle as paddle
    >>> paddle.vecdot(paddle.ones([2, 3]), paddle.ones([2, 3])).tolist()
    [3.0, 3.0]
    """
    return ops.sum((ops.conj(x) if x.dtype.is_complex else x) * y, axis=axis)


@public()
def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The inner products along the last axes: out[..., ...] = sum of x[..., k] y[..., k].

    >>> import minipaddle as paddle
    >>> paddle.inner(paddle.ones([2, 3]), paddle.ones([4, 3])).shape
    [2, 4]
    """
    if not x.ndim or not y.ndim:
        return x * y
    if differ(x.shape[-1:], y.shape[-1:]):
        raise ValueError(f"inner: the last dimensions of x {x.shape} and y {y.shape} must be equal")
    n = x.shape[-1]
    a = ops.reshape(x, [math.prod(x.shape[:-1]), n])
    b = ops.reshape(y, [math.prod(y.shape[:-1]), n])
    return ops.reshape(matmul(a, b, False, True), x.shape[:-1] + y.shape[:-1])


@public()
def outer(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The products of every element of x with every one of y, [x.size, y.size].

    >>> import minipaddle as paddle
    >>> paddle.outer(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return ops.reshape(x, [-1, 1]) * ops.reshape(y, [1, -1])


@public(inplace=True)
def addmm(input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0,
          name: str | None = None) -> Tensor:
    """beta * input + alpha * (x @ y) for matrices; input broadcasts.

    >>> import minipaddle as paddle
    >>> paddle.addmm(paddle.ones([1, 1]), paddle.ones([1, 3]), paddle.ones([3, 1]), 2.0).tolist()
    [[5.0]]
    """
    return _add_product("addmm", 2, input, x, y, beta, alpha)


@public(inplace=True)
def baddbmm(input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0,
            name: str | None = None) -> Tensor:
    """beta * input + alpha * (x @ y) for batches of matrices; input broadcasts.

    >>> import minipaddle as paddle
    >>> paddle.baddbmm(paddle.ones([1]), paddle.ones([2, 1, 3]), paddle.ones([2, 3, 1])).shape
    [2, 1, 1]
    """
    return _add_product("baddbmm", 3, input, x, y, beta, alpha)


def _add_product(name, ndim, input, x, y, beta, alpha):
    if x.ndim != ndim or y.ndim != ndim:
        raise ValueError(f"{name}: x and y must be {ndim}-d, got {x.shape} and {y.shape}")
    product = matmul(x, y)
    return (input if beta == 1 else input * beta) + (product if alpha == 1 else product * alpha)


@public()
def kron(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The Kronecker product: each element of x times all of y, in blocks.

    >>> import minipaddle as paddle
    >>> paddle.kron(paddle.to_tensor([1, 10]), paddle.to_tensor([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    n = max(x.ndim, y.ndim)
    a, b = [1] * (n - x.ndim) + x.shape, [1] * (n - y.ndim) + y.shape
    product = ops.reshape(x, [k for m in a for k in (m, 1)]) * \
        ops.reshape(y, [k for m in b for k in (1, m)])
    return ops.reshape(product, [m * k for m, k in zip(a, b)])


@public()
def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """The cross product of vectors of length 3 along an axis; 9: the first of that length.

    >>> import minipaddle as paddle
    >>> paddle.cross(paddle.to_tensor([1., 0., 0.]), paddle.to_tensor([0., 1., 0.])).tolist()
    [0.0, 0.0, 1.0]
    """
    if not equal_shapes(x.shape, y.shape):
        x, y = ops.broadcast_tensors([x, y])
    if axis == 9:
        axis = next((i for i, n in enumerate(x.shape) if type(n) is int and n == 3), None)
        if axis is None:
            raise ValueError(f"cross: x {x.shape} has no dimension of size 3")
    axis = axis_of(axis, x.ndim)
    if differ([x.shape[axis]], [3]):
        raise ValueError(f"cross: dimension {axis} of x {x.shape} must be of size 3")
    return ops.roll(x, -1, axis) * ops.roll(y, 1, axis) - \
        ops.roll(x, 1, axis) * ops.roll(y, -1, axis)


# ---- contractions by labels
def _sum_over(t, labels, gone):
    """t summed over the labels in `gone`, and the labels left."""
    axes = [i for i, c in enumerate(labels) if c in gone]
    if not axes:
        return t, labels
    return ops.sum(t, axis=axes), [c for c in labels if c not in gone]


def _arranged(t, labels, order):
    """t with its dimensions in the order of labels given."""
    perm = [labels.index(c) for c in order]
    return t if perm == list(range(len(perm))) else ops.transpose(t, perm)


def _contract(x, a, y, b, keep):
    """The product of x and y, labelled a and b, summed over the labels not in keep."""
    x, a = _sum_over(x, a, [c for c in a if c not in b and c not in keep])
    y, b = _sum_over(y, b, [c for c in b if c not in a and c not in keep])
    both = [c for c in a if c in b]
    batch, summed = [c for c in both if c in keep], [c for c in both if c not in keep]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    size = dict(zip(b, y.shape))
    size |= {c: n for c, n in zip(a, x.shape) if c not in size or type(n) is int}
    out = batch + left + right

    def sizes(group):
        return [size[c] for c in group]
    if not summed or (batch and not left and not right):
        x, y = _arranged(x, a, batch + left + summed), _arranged(y, b, batch + right + summed)
        if right:
            x = ops.reshape(x, sizes(batch + left) + [1] * len(right))
        if left and batch:
            y = ops.reshape(y, sizes(batch) + [1] * len(left) + sizes(right))
        product = x * y
        if summed:
            product = ops.sum(product, axis=list(range(len(batch), product.ndim)))
        return product, out
    many = [math.prod(sizes(group)) for group in (batch, left, right, summed)]
    b_n, m, n, k = many

    def matrix(t, labels, group, rows):
        """t as (matrices, whether they are transposed): [batch, rows, summed] or the reverse."""
        swap = labels == batch + summed + group
        t = t if swap else _arranged(t, labels, batch + group + summed)
        shape = ([b_n] if batch else []) + ([k, rows] if swap else [rows, k])
        return t if equal_shapes(t.shape, shape) else ops.reshape(t, shape), swap
    x, swap_x = matrix(x, a, left, m)
    y, swap_y = matrix(y, b, right, n)
    product, shape = matmul(x, y, swap_x, not swap_y), sizes(out)
    return product if equal_shapes(product.shape, shape) else ops.reshape(product, shape), out


@functools.lru_cache(1024)
def _labels(equation, ranks):
    """The labels of each operand and of the output; those under an ellipsis are numbers."""
    text, arrow, out = equation.replace(" ", "").partition("->")
    terms = text.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum: the equation {equation!r} is for {len(terms)} operands, got "
                         f"{len(ranks)}")
    wide, labels = 0, []
    for i, (term, rank) in enumerate(zip(terms, ranks)):
        head, dots, tail = term.partition("...")
        names = list(head + tail)
        if not all(c.isalpha() for c in names):
            raise ValueError(f"einsum: {term!r} in {equation!r} must hold letters and at most one "
                             "'...'")
        extra = rank - len(names)
        if extra < 0 or (extra and not dots):
            raise ValueError(f"einsum: {term!r} in {equation!r} names {len(names)} dimensions, "
                             f"operand {i} has {rank}")
        hidden = list(range(-extra, 0)) if dots else []
        wide = max(wide, len(hidden))
        labels.append(list(head) + hidden + list(tail))
    hidden = list(range(-wide, 0))
    if not arrow:
        every = [c for term in labels for c in term if isinstance(c, str)]
        return labels, hidden + sorted(c for c in set(every) if every.count(c) == 1)
    head, dots, tail = out.partition("...")
    result = list(head) + (hidden if dots else []) + list(tail)
    known = {c for term in labels for c in term}
    for c in result:
        if c not in known or result.count(c) > 1:
            raise ValueError(f"einsum: the output {out!r} of {equation!r} must name labels of the "
                             f"operands, each once; {c!r} is not such")
    return labels, result


@public(method=False)
def einsum(equation: str, *operands) -> Tensor:
    """Einstein's sum: multiply operands along named dimensions and sum over those not kept.

    'ij,jk->ik' is a matrix product, 'ii->i' a diagonal, 'bij->bji' a transpose, '...' stands for
    any further dimensions. Without '->' the labels that occur once are kept, sorted. Operands are
    contracted in pairs, the smallest result first, each as one matrix product.

    ValueError for labels that do not fit the shapes.

    >>> import minipaddle as paddle
    >>> x, y = paddle.ones([2, 3]), paddle.ones([3, 4])
    >>> paddle.einsum('ij,jk->ik', x, y).shape
    [2, 4]
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    labels, out = _labels(equation, tuple([t.ndim for t in operands]))
    sizes, unknown = {}, set()
    for i, (term, t) in enumerate(zip(labels, operands)):
        for c, n in zip(term, t.shape):
            if type(n) is not int:                  # in a static program
                unknown.add(c)
            elif sizes.setdefault(c, n) != n:
                if n != 1 and sizes[c] != 1:
                    raise ValueError(f"einsum: {c!r} in {equation!r} is {sizes[c]} before and {n} "
                                     f"in operand {i} of shape {t.shape}")
                sizes[c] = max(sizes[c], n) if 0 not in (sizes[c], n) else 0
    terms = []
    for term, t in zip(labels, operands):
        for c in [c for c in dict.fromkeys(term) if term.count(c) > 1]:
            while term.count(c) > 1:                # a label named twice: the diagonal
                i = term.index(c)
                j = term.index(c, i + 1)
                t = diagonal(t, 0, i, j)
                term = term[:i] + term[i + 1:j] + term[j + 1:] + [c]
        ones = [i for i, (c, n) in enumerate(zip(term, t.shape))
                if type(n) is int and n == 1 and (sizes[c] != 1 or c in unknown)]
        if ones:                                    # it broadcasts: no dimension of its own
            t = ops.squeeze(t, ones)
            term = [c for i, c in enumerate(term) if i not in ones]
        terms.append((t, term))
    while len(terms) > 1:
        i, j = _cheapest(terms, out, sizes) if len(terms) > 2 else (0, 1)
        (x, a), (y, b) = terms[i], terms[j]
        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
        keep = set(out).union(*[term for _, term in rest]) if rest else set(out)
        terms = rest + [_contract(x, a, y, b, keep)]
    t, term = _sum_over(*terms[0], [c for c in terms[0][1] if c not in out])
    return _arranged(t, term, out)


def _cheapest(terms, out, sizes):
    """The pair of operands whose product is smallest against what it replaces."""
    def size(labels):
        return math.prod([sizes.get(c, 64) for c in labels])
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            a, b = terms[i][1], terms[j][1]
            keep = set(out).union(*[t[1] for k, t in enumerate(terms) if k not in (i, j)])
            union = set(a) | set(b)
            cost = (size(union & keep) - size(a) - size(b), size(union))
            if best is None or cost < best[0]:
                best = (cost, (i, j))
    return best[1]


@public()
def tensordot(x: Tensor, y: Tensor, axes=2, name: str | None = None) -> Tensor:
    """The product of x and y summed over axes: the last n of x with the first n of y.

    axes: the number n; one list of axes for both; or a list for x and one for y (the shorter one
    is continued by the longer).

    >>> import minipaddle as paddle
    >>> paddle.tensordot(paddle.ones([2, 3, 4]), paddle.ones([3, 4, 5])).shape
    [2, 5]
    """
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(f"tensordot: axes {axes} must be at most the number of dimensions of "
                             f"x {x.shape} and y {y.shape}")
        first, second = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        axes = [a.tolist() if isinstance(a, Tensor) else a for a in axes]
        if all(isinstance(a, int) for a in axes):
            first = second = axes
        else:
            first = list(axes[0]) if not isinstance(axes[0], int) else [axes[0]]
            second = first if len(axes) < 2 else \
                list(axes[1]) if not isinstance(axes[1], int) else [axes[1]]
        first, second = (first + second[len(first):], second + first[len(second):])
        first, second = list(axes_of(first, x.ndim)), list(axes_of(second, y.ndim))
    for i, j in zip(first, second):
        if differ([x.shape[i]], [y.shape[j]]):
            raise ValueError(f"tensordot: axis {i} of x {x.shape} and axis {j} of y {y.shape} must "
                             "be of one size")
    a = list(range(x.ndim))
    b = [a[first[second.index(j)]] if j in second else x.ndim + j for j in range(y.ndim)]
    keep = [c for c in a if c not in b] + [c for c in b if c not in a]
    out, labels = _contract(x, a, y, b, set(keep))
    return _arranged(out, labels, keep)


# ---- diagonals
def _diagonal_view(xp, x, offset, axis1, axis2):
    found = xp.diagonal(x, offset, axis1, axis2)
    if xp is np and x.flags.writeable:
        found.flags.writeable = True                # NumPy gives a view, but a read-only one
    return found


def _diagonal_sample(draw):
    return (draw.array((3, 4, 2)), draw.integer(-2, 2), *draw.choice([(0, 1), (1, -1), (2, 0)])), {}


@op(half="native", amp="keep", view=True, samples=_diagonal_sample)
def diagonal(xp, x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the planes of two axes, as the last dimension; a view of x.

    offset: how far above (positive) or below the main diagonal.

    >>> import minipaddle as paddle
    >>> paddle.diagonal(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    axes_of([axis1, axis2], x.ndim)
    return _diagonal_view(xp, x, offset, axis1, axis2)


@diagonal.vjp
def _(F, g, x_shape, offset, axis1, axis2):
    return F.diagonal_place(g, x_shape, offset, axis1, axis2)


@op(namespace=None, half="native", amp="keep",
    samples=lambda draw: ((draw.array((2, 3)), (3, 4, 2), 1, 0, 1), {}))
def diagonal_place(xp, x: Array, shape: tuple, offset: int, axis1: int, axis2: int) -> Array:
    """Zeros of a shape with x on a diagonal: what `diagonal` is transposed to."""
    out = xp.zeros(shape, x.dtype)
    row = xp.arange(x.shape[-1])
    planes = xp.moveaxis(out, (axis1, axis2), (-2, -1))
    planes[..., row + max(-offset, 0), row + max(offset, 0)] = x
    return out


@diagonal_place.vjp
def _(F, g, offset, axis1, axis2):
    return F.diagonal(g, offset, axis1, axis2)


@public()
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1,
          name: str | None = None) -> Tensor:
    """The sums along the diagonals of the planes of two axes.

    >>> import minipaddle as paddle
    >>> paddle.trace(paddle.to_tensor([[1, 2], [3, 4]])).item()
    5
    """
    return ops.sum(diagonal(x, offset, axis1, axis2), axis=-1)


# ---- factors, inverses, equations
def _t(F, x):
    """x with its last two dimensions swapped."""
    n = len(x.shape)
    return F.transpose(x, [*range(n - 2), n - 1, n - 2])


def _mm(F, *factors):
    """The product of several matrices from left to right."""
    out = factors[0]
    for f in factors[1:]:
        out = F.matmul(out, f)
    return out


def _square(draw, batch=(0, 1)):
    """Matrices that are far from singular."""
    n = draw.integer(1, 3)
    shape = (*draw.shape(*batch, 1, 2), n, n)
    return draw.array(shape) + np.eye(n) * 5 * (1 if draw.bool() else -1)


def _symmetric(draw):
    """Positive definite matrices with distinct eigenvalues."""
    n = draw.integer(1, 3)
    x = draw.array((*draw.shape(0, 1, 1, 2), n, n), -0.3, 0.3)
    return x + x.swapaxes(-1, -2) + np.diag(np.arange(2.0, n + 2))


def _check_square(name, x):
    if x.ndim < 2 or differ(x.shape[-1:], x.shape[-2:-1]):
        raise ValueError(f"{name}: x must be a square matrix or a batch of them, got {x.shape}")


def _of_square(draw):
    return (_square(draw),), {}


@op("inverse", namespace=None, promote="float", amp="block", samples=_of_square)
def inverse_matrix(xp, x: Array) -> Array:
    """The inverse of each square matrix."""
    return xp.linalg.inv(x)


@inverse_matrix.vjp
def _(F, g, out):
    turned = _t(F, out)
    return -_mm(F, turned, g, turned)


@public()
def inverse(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse of a square matrix, or of each of a batch; ValueError for a singular one.

    >>> import minipaddle as paddle
    >>> paddle.inverse(paddle.to_tensor([[2., 0.], [0., 4.]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    _check_square("inverse", x)
    return inverse_matrix(x)


inv = inverse


@op("determinant", namespace=None, promote="float", amp="block", samples=_of_square)
def det_matrix(xp, x: Array) -> Array:
    """The determinant of each square matrix."""
    return xp.asarray(xp.linalg.det(x))


@det_matrix.vjp
def _(F, g, x, out):
    scale = g * out
    return F.reshape(scale, [*scale.shape, 1, 1]) * _t(F, F.inverse(x))


@public(namespace=None, method=True)
def det(x: Tensor, name: str | None = None) -> Tensor:
    """The determinant of a square matrix, or of each of a batch. Its gradient needs the inverse.

    >>> import minipaddle as paddle
    >>> float(paddle.linalg.det(paddle.to_tensor([[2., 0.], [0., 4.]])))
    8.0
    """
    _check_square("det", x)
    return det_matrix(x)


@op("slogdeterminant", namespace=None, promote="float", amp="block", samples=_of_square)
def sign_and_logdet(xp, x: Array) -> tuple[Array, Array]:
    """(sign, natural logarithm of the size) of each determinant."""
    sign, size = xp.linalg.slogdet(x)
    return xp.asarray(sign), xp.asarray(size)


@sign_and_logdet.vjp
def _(F, g, x):
    g = g[1]
    return F.reshape(g, [*g.shape, 1, 1]) * _t(F, F.inverse(x))


@public(namespace=None, method=True)
def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """The sign and the natural logarithm of the size of the determinant, stacked: [2, ...].

    >>> import minipaddle as paddle
    >>> paddle.linalg.slogdet(paddle.to_tensor([[-1., 0.], [0., 1.]])).tolist()
    [-1.0, 0.0]
    """
    _check_square("slogdet", x)
    return ops.stack(list(sign_and_logdet(x)))


def _solve_sample(draw):
    x = _square(draw)
    n = x.shape[-1]
    return (x, draw.array((*draw.choice([x.shape[:-2], ()]), n, draw.integer(1, 2)))), {}


@op("solve", namespace=None, promote="float", amp="block", samples=_solve_sample)
def solve_matrix(xp, x: Array, y: Array) -> Array:
    """z with x z = y, for matrices whose batches broadcast."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return xp.linalg.solve(xp.broadcast_to(x, batch + x.shape[-2:]),
                           xp.broadcast_to(y, batch + y.shape[-2:]))


@solve_matrix.vjp
def _(F, g, x, out, x_shape, y_shape):
    gy = F.solve(_t(F, x), g)
    return F.sum_to(-F.matmul(gy, out, False, True), x_shape), F.sum_to(gy, y_shape)


@public(namespace=None, method=True)
def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None) -> Tensor:
    """z with x z = y (or z x = y with left=False); x [..., n, n], y [..., n, k] or [..., n].

    ValueError for a singular x.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[2., 0.], [0., 4.]]), paddle.to_tensor([2., 2.])
    >>> paddle.linalg.solve(x, y).tolist()
    [1.0, 0.5]
    """
    _check_square("solve", x)
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and not differ(y.shape, x.shape[:-1]))
    if not left:
        x, y = ops.matrix_transpose(x), y if vector else ops.matrix_transpose(y)
    y = ops.unsqueeze(y, -1) if vector else y
    if differ([y.shape[-2]], [x.shape[-1]]):
        raise ValueError(f"solve: x {x.shape} and y {y.shape} do not fit: y needs {x.shape[-1]} "
                         "rows")
    out = solve_matrix(x, y)
    if vector:
        return ops.squeeze(out, -1)
    return out if left else ops.matrix_transpose(out)


@public(namespace=None, method=True)
def triangular_solve(x: Tensor, y: Tensor, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False, name: str | None = None) -> Tensor:
    """z with x z = y for a triangular x, of which only that triangle is read.

    transpose solves with x transposed; unitriangular takes ones for the diagonal.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[2., 1.], [0., 4.]]), paddle.to_tensor([[3.], [4.]])
    >>> paddle.linalg.triangular_solve(x, y).tolist()
    [[1.0], [1.0]]
    """
    _check_square("triangular_solve", x)
    triangle = ops.triu if upper else ops.tril
    if unitriangular:
        x = triangle(x, 1 if upper else -1)
        eye = np.eye(x.shape[-1], dtype=x._data.dtype)
        x = x + to_tensor(eye, place=x.place)
    else:
        x = triangle(x)
    return solve_matrix(ops.matrix_transpose(x) if transpose else x, y)


@op(namespace=None, promote="float", amp="block", samples=lambda draw: ((_symmetric(draw),), {}))
def cholesky_lower(xp, x: Array) -> Array:
    """The lower Cholesky factor of each matrix's symmetric part."""
    return xp.linalg.cholesky((x + x.swapaxes(-1, -2)) * x.dtype.type(0.5))


@cholesky_lower.vjp
def _(F, g, out):
    # Murray, Differentiation of the Cholesky decomposition, 2016, section 4.1
    inner = F.matmul(out, g, True, False)
    half = (F.tril(inner) + F.tril(inner, -1)) * 0.5
    turned = F.inverse(out)
    found = _mm(F, _t(F, turned), half, turned)
    return (found + _t(F, found)) * 0.5


def _mirrored(x, upper=False):
    """The symmetric matrix whose triangle is x's; its gradient is spread over both triangles."""
    part = x.detach()
    strict = ops.triu(part, 1) if upper else ops.tril(part, -1)
    whole = (ops.triu(part) if upper else ops.tril(part)) + ops.matrix_transpose(strict)
    if x.stop_gradient:
        return whole
    middle = (x + ops.matrix_transpose(x)) * 0.5
    return middle + (whole - middle.detach())


@public()
def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The triangular L with x = L L^T (upper: U with x = U^T U) of positive definite matrices.

    One triangle of x is read; the gradient is symmetric. ValueError if x is not positive definite.

    >>> import minipaddle as paddle
    >>> paddle.cholesky(paddle.to_tensor([[4., 0.], [0., 9.]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    _check_square("cholesky", x)
    factor = cholesky_lower(_mirrored(x, upper))
    return ops.matrix_transpose(factor) if upper else factor


@public(namespace=None, method=True)
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """z with A z = x, where y is the Cholesky factor of A.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[4.]]), paddle.to_tensor([[2.]])
    >>> paddle.linalg.cholesky_solve(x, y).tolist()
    [[1.0]]
    """
    first = triangular_solve(y, x, upper, transpose=upper)
    return triangular_solve(y, first, upper, transpose=not upper)


@public(namespace=None, method=True)
def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The inverse of A, whose Cholesky factor x is.

    >>> import minipaddle as paddle
    >>> paddle.linalg.cholesky_inverse(paddle.to_tensor([[2.]])).tolist()
    [[0.25]]
    """
    _check_square("cholesky_inverse", x)
    turned = inverse(ops.triu(x) if upper else ops.tril(x))
    return matmul(turned, turned, not upper, upper)


def _qr_sample(draw):
    n = draw.integer(1, 3)
    m = draw.integer(max(n - 1, 1), 3)
    return (draw.array((m, n)) + 3 * np.eye(m, n), "reduced"), {}


@op("qr", namespace=None, promote="float", amp="block", samples=_qr_sample)
def qr_factors(xp, x: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """(Q, R) of each matrix."""
    q, r = xp.linalg.qr(x, mode)
    return q, r


@qr_factors.vjp
def _(F, g, out, x, mode):
    (q, r), (gq, gr) = out, g
    m, n = x.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("qr: mode 'complete' of a matrix with more rows than columns has no "
                           "gradient; use 'reduced'")
    if m >= n:
        return _qr_back(F, q, r, gq, gr)
    # A wide matrix [X Y] = Q [U V]: X = Q U as above, Y = Q V.
    axis = len(x.shape) - 1
    y = F.sections(x, [m, n - m], axis)[1]
    u = F.sections(r, [m, n - m], axis)[0]
    gu, gv = F.sections(gr, [m, n - m], axis)
    gx = _qr_back(F, q, u, gq + F.matmul(y, gv, False, True), gu)
    return F.concat([gx, F.matmul(q, gv)], axis)


def _qr_back(F, q, r, gq, gr):
    inner = F.matmul(r, gr, False, True) - F.matmul(gq, q, True, False)
    whole = F.tril(inner) + _t(F, F.tril(inner, -1))
    return _t(F, F.solve(r, _t(F, gq + F.matmul(q, whole))))


@public(namespace=None, method=True)
def qr(x: Tensor, mode: str = "reduced", name: str | None = None):
    """(Q, R) with x = Q R, Q orthonormal, R upper triangular; mode 'reduced', 'complete' or 'r'.

    'r' gives R alone. Shapes of x [m, n], k = min(m, n): Q [m, k], R [k, n] ('complete' [m, m],
    [m, n]).

    >>> import minipaddle as paddle
    >>> q, r = paddle.linalg.qr(paddle.ones([3, 2]))
    >>> q.shape, r.shape
    ([3, 2], [2, 2])
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    q, r = qr_factors(x, "reduced" if mode == "r" else mode)
    return r if mode == "r" else (q, r)


def _apart(F, w, power=1):
    """1 / (w_j - w_i) for all pairs (of squares for power 2), 0 where they are equal."""
    w = w * w if power == 2 else w
    n = len(w.shape)
    gap = F.unsqueeze(w, n - 1) - F.unsqueeze(w, n)
    same = F.where(F.equal(gap, 0.0), 1.0, gap * 0.0)
    return 1.0 / (gap + same) - same


@op(namespace=None, promote="float", amp="block", samples=lambda draw: ((_symmetric(draw),), {}))
def eigh_factors(xp, x: Array) -> tuple[Array, Array]:
    """(eigenvalues, eigenvectors) of each matrix's symmetric part."""
    w, v = xp.linalg.eigh((x + x.swapaxes(-1, -2).conj()) * x.dtype.type(0.5))
    return w, v


@eigh_factors.vjp
def _(F, g, out):
    (w, v), (gw, gv) = out, g
    inner = _apart(F, w) * F.matmul(v, gv, True, False)
    n = len(w.shape)
    found = F.matmul(v * F.unsqueeze(gw, n - 1) + F.matmul(v, inner), v, False, True)
    return (found + _t(F, found)) * 0.5


@public(namespace=None, method=True)
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None):
    """(eigenvalues ascending, eigenvectors as columns) of symmetric matrices; one triangle is read.

    The gradient of the vectors is that where eigenvalues differ.

    >>> import minipaddle as paddle
    >>> paddle.linalg.eigh(paddle.to_tensor([[2., 0.], [0., 1.]]))[0].tolist()
    [1.0, 2.0]
    """
    _check_square("eigh", x)
    if UPLO not in ("L", "U"):
        raise ValueError(f"eigh: UPLO must be 'L' or 'U', got {UPLO!r}")
    return tuple(eigh_factors(x if x.dtype.is_complex else _mirrored(x, UPLO == "U")))


@public(namespace=None, method=True)
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    >>> import minipaddle as paddle
    >>> paddle.linalg.eigvalsh(paddle.to_tensor([[2., 0.], [0., 1.]])).tolist()
    [1.0, 2.0]
    """
    return eigh(x, UPLO)[0]


@op("eig", namespace=None, method=True, promote="float", amp="block")
def eig(xp, x: Array) -> tuple[Array, Array]:
    """(eigenvalues, eigenvectors as columns) of square matrices, complex. No gradient.

    >>> import minipaddle as paddle
    >>> paddle.linalg.eig(paddle.to_tensor([[3.]]))[0].tolist()
    [(3+0j)]
    """
    w, v = xp.linalg.eig(x)
    kind = xp.promote_types(x.dtype, "complex64")
    return w.astype(kind), v.astype(kind)


@op("eigvals", namespace=None, method=True, promote="float", amp="block")
def eigvals(xp, x: Array) -> Array:
    """The eigenvalues of square matrices, complex. No gradient.

    >>> import minipaddle as paddle
    >>> paddle.linalg.eigvals(paddle.to_tensor([[3.]])).tolist()
    [(3+0j)]
    """
    return xp.linalg.eigvals(x).astype(xp.promote_types(x.dtype, "complex64"))


def _svd_sample(draw):
    m, n = draw.integer(1, 3), draw.integer(1, 3)
    return (draw.array((m, n), -0.3, 0.3) + np.diag([2.0, 3.5, 5.0])[:m, :n],), {}


@op("svd", namespace=None, promote="float", amp="block", samples=_svd_sample)
def svd_factors(xp, x: Array, full: bool = False) -> tuple[Array, Array, Array]:
    """(U, S, V transposed) of each matrix."""
    u, s, vh = xp.linalg.svd(x, full_matrices=full)
    return u, s, vh


@svd_factors.vjp
def _(F, g, out, x, full):
    # Townsend, Differentiating the singular value decomposition, 2016
    (u, s, vh), (gu, gs, gvh) = out, g
    if full and x.shape[-1] != x.shape[-2]:
        raise RuntimeError("svd: full_matrices=True of a matrix that is not square has no gradient;"
                           " use full_matrices=False")
    n = len(s.shape)
    row, column = F.unsqueeze(s, n - 1), F.unsqueeze(s, n)
    apart = _apart(F, s, 2)
    a, b = F.matmul(u, gu, True, False), F.matmul(vh, gvh, False, True)
    middle = apart * (a - _t(F, a)) * row + column * (apart * (b - _t(F, b)))
    found = _mm(F, u * F.unsqueeze(gs, n - 1) + F.matmul(u, middle), vh)
    if x.shape[-2] > x.shape[-1]:                   # what of gu lies outside the columns of u
        found = found + F.matmul((gu - F.matmul(u, a)) / row, vh)
    if x.shape[-1] > x.shape[-2]:
        found = found + F.matmul(u, (gvh - F.matmul(b, vh, True, False)) / column)
    return found


@public(namespace=None, method=True)
def svd(x: Tensor, full_matrices: bool = False, name: str | None = None):
    """(U, S, VH) with x = U diag(S) VH, S descending; VH is V transposed.

    Shapes of x [m, n], k = min(m, n): U [m, k], S [k], VH [k, n]; with full_matrices U [m, m],
    VH [n, n]. The gradients of U and VH are those where the singular values differ.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.linalg.svd(paddle.ones([3, 2]))]
    [[3, 2], [2], [2, 2]]
    """
    return tuple(svd_factors(x, full_matrices))


@public(namespace=None, method=True)
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """The singular values of matrices, descending.

    >>> import minipaddle as paddle
    >>> paddle.linalg.svdvals(paddle.to_tensor([[3., 0.], [0., 4.]])).tolist()
    [4.0, 3.0]
    """
    return svd_factors(x)[1]


@op("pinv", namespace=None, promote="float", amp="block", samples=_svd_sample)
def pinv_matrix(xp, x: Array, rcond: float = 1e-15) -> Array:
    """The pseudo-inverse of each matrix."""
    return xp.linalg.pinv(x, rcond)


@pinv_matrix.vjp
def _(F, g, x, out):
    # Golub and Pereyra, 1973: the differential of the pseudo-inverse of constant rank
    turned = _t(F, out)
    found = -_mm(F, turned, g, turned)
    left = _mm(F, out, turned, g - _mm(F, g, x, out))
    right = _mm(F, g - _mm(F, out, x, g), turned, out)
    return found + _t(F, left + right)


@public(namespace=None, method=True)
def pinv(x: Tensor, rcond: float = 1e-15, hermitian: bool = False,
         name: str | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse; singular values up to rcond times the largest count as 0.

    hermitian: x is taken as symmetric, and its lower triangle is read.

    >>> import minipaddle as paddle
    >>> paddle.linalg.pinv(paddle.to_tensor([[2.], [0.]])).tolist()
    [[0.5, 0.0]]
    """
    if isinstance(rcond, Tensor):
        rcond = rcond.item()
    return pinv_matrix(_mirrored(x) if hermitian else x, float(rcond))


@op("matrix_rank", namespace=None, promote="float", amp="block")
def _matrix_rank(xp, x: Array, tol: Array | None = None) -> Array:
    """How many singular values of each matrix exceed tol."""
    s = xp.linalg.svd(x, compute_uv=False)
    if tol is None:
        tol = s.max(axis=-1, keepdims=True) * (max(x.shape[-2:]) * xp.finfo(x.dtype).eps)
    elif getattr(tol, "ndim", 0):
        tol = tol[..., None]
    return xp.asarray((s > tol).sum(axis=-1)).astype("int64")


@public(namespace=None, method=True)
def matrix_rank(x: Tensor, tol=None, hermitian: bool = False, name: str | None = None) -> Tensor:
    """The rank of matrices: how many singular values exceed tol; int64.

    tol: a number or tensor; None: the largest singular value times max(m, n) times eps.

    >>> import minipaddle as paddle
    >>> paddle.linalg.matrix_rank(paddle.ones([2, 2])).item()
    1
    """
    return _matrix_rank(_mirrored(x) if hermitian else x, tol)


@public(namespace=None, method=True)
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices to an integer power; negative powers of the inverse.

    >>> import minipaddle as paddle
    >>> paddle.linalg.matrix_power(paddle.to_tensor([[2., 0.], [0., 3.]]), 2).tolist()
    [[4.0, 0.0], [0.0, 9.0]]
    """
    _check_square("matrix_power", x)
    if n < 0:
        x, n = inverse(x), -n
    if n == 0:
        eye = np.eye(x.shape[-1], dtype=x._data.dtype)
        return ops.expand(to_tensor(eye, place=x.place), x.shape)
    out = None
    while n:
        if n & 1:
            out = x if out is None else matmul(out, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    return out


@public(namespace=None, method=True)
def multi_dot(x, name: str | None = None) -> Tensor:
    """The product of a list of matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors.

    >>> import minipaddle as paddle
    >>> paddle.linalg.multi_dot([paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([4])]).shape
    [2]
    """
    x = list(x)
    if len(x) < 2:
        raise ValueError(f"multi_dot: at least two matrices are needed, got {len(x)}")
    for i, t in enumerate(x):
        if t.ndim != 2 and not (t.ndim == 1 and i in (0, len(x) - 1)):
            raise ValueError(f"multi_dot: x[{i}] must be a matrix, got {t.shape}")
    size = [1 if x[0].ndim == 1 else x[0].shape[0]] + [t.shape[0] for t in x[1:]] + \
        [1 if x[-1].ndim == 1 else x[-1].shape[1]]
    n = len(x)
    # cost[i][j]: the fewest multiplications for x[i] ... x[j], and where to cut for it
    cost = [[(0, i)] * n for i in range(n)]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i][j] = min((cost[i][k][0] + cost[k + 1][j][0]
                              + size[i] * size[k + 1] * size[j + 1], k) for k in range(i, j))

    def product(i, j):
        if i == j:
            return x[i]
        k = cost[i][j][1]
        return matmul(product(i, k), product(k + 1, j))
    return product(0, n - 1)


@public(namespace=None, method=True)
def cond(x: Tensor, p=None, name: str | None = None) -> Tensor:
    """The condition number of matrices by a norm: None, 2, -2, 'fro', 'nuc', 1, -1, inf, -inf.

    >>> import minipaddle as paddle
    >>> float(paddle.linalg.cond(paddle.to_tensor([[2., 0.], [0., 8.]])))
    4.0
    """
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = s[..., 0], s[..., -1]
        return last / first if p == -2 else first / last
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise ValueError("cond: p must be None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got "
                         f"{p!r}")
    _check_square("cond", x)
    return ops.norm(x, p, axis=[-2, -1]) * ops.norm(inverse(x), p, axis=[-2, -1])


@public(namespace=None, method=True)
def lstsq(x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None,
          name: str | None = None):
    """(solution, residuals, rank, singular values) of the least squares problem |x z - y|.

    x [..., m, n], y [..., m, k], solution [..., n, k]. residuals are given for m > n and full rank
    with the drivers 'gels', 'gelsd', 'gelss', singular values with 'gelsd' and 'gelss'; else they
    are empty. driver: 'gels', 'gelsy' (None), 'gelsd' or 'gelss'. The solution has a gradient.

    >>> import minipaddle as paddle
    >>> x, y = paddle.to_tensor([[1.], [1.]]), paddle.to_tensor([[1.], [3.]])
    >>> round(float(paddle.linalg.lstsq(x, y)[0]), 5)
    2.0
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError("lstsq: driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', got "
                         f"{driver!r}")
    m, n = x.shape[-2:]
    cut = float(np.finfo(x._data.dtype).eps * max(m, n)) if rcond is None else float(rcond)
    solution = matmul(pinv_matrix(x, cut), y)
    s = svdvals(x.detach())
    rank = ops.sum(ops.cast(s > ops.max(s, axis=-1, keepdim=True) * cut, "int32"), axis=-1)
    rank = ops.cast(rank, "int32")
    empty = ops.zeros([0], x.dtype)
    residuals = empty
    if m > n and driver in ("gels", "gelsd", "gelss") and bool(ops.all(rank == n)):
        residuals = ops.sum(ops.square(matmul(x, solution) - y), axis=-2)
    return solution, residuals, rank, s if driver in ("gelsd", "gelss") else empty


# ---- LU
@op("lu", namespace=None, promote="float", amp="block")
def _lu(xp, x: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """(L below and U on and above the diagonal, pivots from 1, 0 or the first zero pivot)."""
    a = x.copy()
    m, n = a.shape[-2:]
    batch = a.shape[:-2]
    pivots, info = [], xp.zeros(batch, "int32")
    for k in range(min(m, n)):
        if pivot:
            p = xp.argmax(xp.abs(a[..., k:, k]), axis=-1) + k
            other = xp.take_along_axis(a, xp.broadcast_to(p[..., None, None], (*batch, 1, n)), -2)
            row = a[..., k:k + 1, :].copy()
            xp.put_along_axis(a, xp.broadcast_to(p[..., None, None], (*batch, 1, n)), row, -2)
            a[..., k:k + 1, :] = other
        else:
            p = xp.full(batch, k)
        pivots.append(p + 1)
        d = a[..., k, k]
        info = xp.where((d == 0) & (info == 0), k + 1, info).astype("int32")
        safe = xp.where(d == 0, d.dtype.type(1), d)
        a[..., k + 1:, k] /= safe[..., None]
        a[..., k + 1:, k + 1:] -= a[..., k + 1:, k:k + 1] * a[..., k:k + 1, k + 1:]
    pivots = xp.stack(pivots, axis=-1) if pivots else xp.zeros((*batch, 0))
    return a, pivots.astype("int32"), info


@public(namespace=None, method=True)
def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None):
    """(LU, pivots) of matrices: L (unit diagonal left out) and U in one, row swaps from 1.

    get_infos adds an int32 tensor that is 0, or the place of the first zero pivot. No gradient.

    >>> import minipaddle as paddle
    >>> lu, pivots = paddle.linalg.lu(paddle.to_tensor([[0., 2.], [1., 3.]]))
    >>> lu.tolist(), pivots.tolist()
    ([[1.0, 3.0], [0.0, 2.0]], [2, 2])
    """
    factors, pivots, info = _lu(x, pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


@op(namespace=None, half="native", amp="keep")
def pivot_order(xp, pivots: Array, size: int) -> Array:
    """The order of rows that a list of row swaps leads to."""
    order = xp.broadcast_to(xp.arange(size), (*pivots.shape[:-1], size)).copy()
    for k in range(pivots.shape[-1]):
        p = pivots[..., k:k + 1].astype("int64") - 1
        other, mine = xp.take_along_axis(order, p, -1), order[..., k:k + 1].copy()
        xp.put_along_axis(order, p, mine, -1)
        order[..., k:k + 1] = other
    return order


@public(namespace=None, method=True)
def lu_unpack(x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True,
              name: str | None = None):
    """(P, L, U) of what `lu` gives, with P L U the matrix; None for what is not asked for.

    >>> import minipaddle as paddle
    >>> p, l, u = paddle.linalg.lu_unpack(*paddle.linalg.lu(paddle.to_tensor([[0., 2.], [1., 3.]])))
    >>> (p @ l @ u).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
    m, n = x.shape[-2:]
    k = min(m, n)
    p = low = up = None
    if unpack_pivots:
        order = pivot_order(y, m)
        p = ops.cast(ops.equal(ops.unsqueeze(order, -2), ops.unsqueeze(
            to_tensor(np.arange(m), place=x.place), -1)), x.dtype)
    if unpack_ludata:
        eye = to_tensor(np.eye(m, k, dtype=x._data.dtype), place=x.place)
        low, up = ops.tril(x[..., :k], -1) + eye, ops.triu(x[..., :k, :])
    return p, low, up


@public(namespace=None, method=("lu_solve",))
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N",
             name: str | None = None) -> Tensor:
    """z with A z = b from the `lu` of A; trans 'T' (or 'H') solves with A transposed.

    >>> import minipaddle as paddle
    >>> a, b = paddle.to_tensor([[0., 2.], [1., 3.]]), paddle.to_tensor([[2.], [4.]])
    >>> paddle.linalg.lu_solve(b, *paddle.linalg.lu(a)).tolist()
    [[1.0], [1.0]]
    """
    if trans not in ("N", "T", "H"):
        raise ValueError(f"lu_solve: trans must be 'N', 'T' or 'H', got {trans!r}")
    p = lu_unpack(lu, pivots, unpack_ludata=False)[0]
    if trans == "N":
        inner = triangular_solve(lu, matmul(p, b, True), False, unitriangular=True)
        return triangular_solve(lu, inner, True)
    inner = triangular_solve(lu, b, True, transpose=True)
    return matmul(p, triangular_solve(lu, inner, False, transpose=True, unitriangular=True))


# ---- products of reflections, exponentials, low rank
def _reflectors(x, tau):
    """The vectors (and numbers) of Householder reflections as `householder_product` takes them."""
    m = x.shape[-2]
    below = ops.tril(x, -1) + to_tensor(np.eye(*x.shape[-2:], dtype=x._data.dtype), place=x.place)
    for i in range(tau.shape[-1]):
        yield (ops.reshape(below[..., i], [*x.shape[:-2], m, 1]),
               ops.reshape(tau[..., i], [*tau.shape[:-1], 1, 1]))


@public(namespace=None, method=True)
def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """The first n columns of H1 H2 ... Hk, with Hi = 1 - tau[i] v v^T and v below x's diagonal.

    x [..., m, n] with m >= n, tau [..., k] with k <= n; v has a 1 on the diagonal.

    >>> import minipaddle as paddle
    >>> paddle.linalg.householder_product(paddle.zeros([2, 1]), paddle.to_tensor([2.])).tolist()
    [[-1.0], [0.0]]
    """
    m, n = x.shape[-2:]
    if m < n or tau.shape[-1] > n:
        raise ValueError(f"householder_product: x {x.shape} must not be wider than high, and tau "
                         f"{tau.shape} not longer than its width")
    eye = to_tensor(np.eye(m, n, dtype=x._data.dtype), place=x.place)
    q = ops.expand(eye, [*x.shape[:-2], m, n])
    for v, s in reversed(list(_reflectors(x, tau))):
        q = q - s * matmul(v, matmul(v, q, True))
    return q


@public(namespace=None, method=True)
def ormqr(x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False,
          name: str | None = None) -> Tensor:
    """Q y, or y Q with left=False, for the Q of Householder reflections; transpose takes Q^T.

    >>> import minipaddle as paddle
    >>> x, tau = paddle.zeros([2, 1]), paddle.to_tensor([2.])
    >>> paddle.linalg.ormqr(x, tau, paddle.ones([2, 1])).tolist()
    [[-1.0], [1.0]]
    """
    parts = list(_reflectors(x, tau))
    for v, s in parts if left == transpose else reversed(parts):
        y = y - s * matmul(v, matmul(v, y, True)) if left else \
            y - s * matmul(matmul(y, v), v, False, True)
    return y


@public(namespace=None, method=True)
def matrix_exp(x: Tensor, name: str | None = None) -> Tensor:
    """The exponential of square matrices: the sum of x^k / k!, by scaling and squaring.

    >>> import minipaddle as paddle
    >>> paddle.linalg.matrix_exp(paddle.zeros([2, 2])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _check_square("matrix_exp", x)
    if not x.size:
        return ops.clone(x)
    largest = float(ops.max(ops.sum(ops.abs(x.detach()), axis=-2)))
    halvings = max(0, math.ceil(math.log2(largest))) + 2 if largest > 0 else 0
    x = x * 0.5 ** halvings
    eye = to_tensor(np.eye(x.shape[-1], dtype=x._data.dtype), place=x.place)
    # The Pade approximation of order 6 in Horner's form (Higham, 2005)
    even, odd = eye, eye * 0.5
    square, power, c = matmul(x, x), None, 0.5
    for k in range(2, 7):
        c *= (7 - k) / (k * (13 - k))
        if k % 2 == 0:
            power = square if power is None else matmul(power, square)
            even = even + power * c
        else:
            odd = odd + power * c
    odd = matmul(x, odd)
    out = solve_matrix(even - odd, even + odd)
    for _ in range(halvings):
        out = matmul(out, out)
    return out


@public(namespace=None, method=True)
def svd_lowrank(x: Tensor, q: int | None = None, niter: int = 2, M: Tensor | None = None,
                name: str | None = None):
    """(U, S, V) of the q (6 when None) largest singular values of x - M; V is not transposed.

    Computed from the full decomposition, so that niter changes nothing.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.linalg.svd_lowrank(paddle.ones([5, 4]), q=2)]
    [[5, 2], [2], [4, 2]]
    """
    q = min(6, *x.shape[-2:]) if q is None else q
    if not 0 <= q <= min(x.shape[-2:]) or niter < 0:
        raise ValueError(f"svd_lowrank: q must be at most {min(x.shape[-2:])} and niter not "
                         f"negative, got {q} and {niter}")
    u, s, vh = svd_factors(x if M is None else x - M)
    return u[..., :q], s[..., :q], ops.matrix_transpose(vh[..., :q, :])


@public(namespace=None, method=True)
def pca_lowrank(x: Tensor, q: int | None = None, center: bool = True, niter: int = 2,
                name: str | None = None):
    """(U, S, V) of the q (6 when None) first principal components of the rows of x.

    >>> import minipaddle as paddle
    >>> [t.shape for t in paddle.linalg.pca_lowrank(paddle.ones([5, 4]), q=2)]
    [[5, 2], [2], [4, 2]]
    """
    if center:
        x = x - ops.mean(x, axis=-2, keepdim=True)
    return svd_lowrank(x, q, niter)


# ---- statistics and distances
@public(namespace=None, method=True)
def cov(x: Tensor, rowvar: bool = True, ddof: bool = True, fweights: Tensor | None = None,
        aweights: Tensor | None = None, name: str | None = None) -> Tensor:
    """The covariance matrix of variables in rows (columns with rowvar=False).

    ddof: divide by n - 1 instead of n; fweights: how often each observation counts, aweights: its
    importance.

    >>> import minipaddle as paddle
    >>> paddle.linalg.cov(paddle.to_tensor([[1., 3.], [2., 2.]])).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    if x.ndim > 2 or x.ndim < 1:
        raise ValueError(f"cov: x must be 1-d or 2-d, got {x.shape}")
    flat = x.ndim == 1
    x = ops.reshape(x, [1, -1]) if flat else x if rowvar else ops.transpose(x, [1, 0])
    n = x.shape[1]
    weights = None
    for label, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.ndim != 1 or w.shape[0] != n:
            raise ValueError(f"cov: {label} must be 1-d with {n} entries, got {w.shape}")
        w = ops.cast(w, x.dtype)
        weights = w if weights is None else weights * w
    if weights is None:
        mean, norm = ops.mean(x, axis=1, keepdim=True), max(n - bool(ddof), 0)
        centred = x - mean
        out = matmul(centred, centred, False, True) / float(norm)
    else:
        total = ops.sum(weights)
        centred = x - ops.sum(x * weights, axis=1, keepdim=True) / total
        norm = total
        if ddof:
            importance = weights if aweights is None else weights * ops.cast(aweights, x.dtype)
            norm = total - (1.0 if aweights is None else ops.sum(importance) / total)
        out = matmul(centred * weights, centred, False, True) / norm
    return ops.reshape(out, []) if flat else out


@public(namespace=None, method=True)
def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """The correlation coefficients of variables in rows (columns with rowvar=False).

    >>> import minipaddle as paddle
    >>> paddle.linalg.corrcoef(paddle.to_tensor([[1., 2.], [2., 1.]])).numpy().round(4).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    c = cov(x, rowvar)
    if not c.ndim:
        return c / c
    size = ops.sqrt(diagonal(c))
    return ops.clip(c / ops.unsqueeze(size, 0) / ops.unsqueeze(size, 1), -1.0, 1.0)


@public()
def cdist(x: Tensor, y: Tensor, p: float = 2.0,
          compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
          name: str | None = None) -> Tensor:
    """The p-norm distances between the rows of x [..., m, k] and those of y [..., n, k].

    The gradient is 0 where two rows are equal. compute_mode is accepted for Paddle's sake.

    >>> import minipaddle as paddle
    >>> paddle.cdist(paddle.to_tensor([[0., 0.]]), paddle.to_tensor([[3., 4.]])).tolist()
    [[5.0]]
    """
    if x.ndim < 2 or y.ndim < 2 or differ(x.shape[-1:], y.shape[-1:]):
        raise ValueError(f"cdist: x {x.shape} and y {y.shape} must have rows of one length")
    return ops.p_norm(ops.unsqueeze(x, -2) - ops.unsqueeze(y, -3), float(p), -1)


@public()
def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """The p-norm distances of all pairs of rows of x [n, k], [n (n - 1) / 2].

    >>> import minipaddle as paddle
    >>> paddle.pdist(paddle.to_tensor([[0., 0.], [3., 4.], [0., 0.]])).tolist()
    [5.0, 0.0, 5.0]
    """
    if x.ndim != 2:
        raise ValueError(f"pdist: x must be 2-d, got {x.shape}")
    first, second = (to_tensor(i, place=x.place) for i in np.triu_indices(x.shape[0], 1))
    return ops.p_norm(ops.gather(x, first) - ops.gather(x, second), float(p), -1)


@public()
def vander(x: Tensor, n: int | None = None, increasing: bool = False,
           name: str | None = None) -> Tensor:
    """The Vandermonde matrix: the powers n-1 ... 0 (or 0 ... n-1) of the entries of a vector.

    >>> import minipaddle as paddle
    >>> paddle.vander(paddle.to_tensor([2, 3])).tolist()
    [[2, 1], [3, 1]]
    """
    if x.ndim != 1:
        raise ValueError(f"vander: x must be 1-d, got {x.shape}")
    n = x.shape[0] if n is None else n
    if n < 0:
        raise ValueError(f"vander: n must not be negative, got {n}")
    if n == 0:
        return ops.zeros([x.shape[0], 0], x.dtype)
    columns = [ops.ones_like(x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return ops.stack(columns if increasing else columns[::-1], 1)


# ---- writing diagonals
@public(namespace=None, method=True, inplace=True)
def fill_diagonal_tensor(x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1,
                         name: str | None = None) -> Tensor:
    """x with y on the diagonal of the planes of two axes.

    >>> import minipaddle as paddle
    >>> paddle.zeros([2, 2]).fill_diagonal_tensor(paddle.to_tensor([1., 2.])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return ops.diagonal_scatter(x, y, offset, dim1, dim2)


def _filled_diagonal(x, value, offset=0, wrap=False):
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ValueError("fill_diagonal_: x must be 2-d, or have all dimensions of one size, got "
                         f"{x.shape}")
    n = x.shape[1]
    step = sum(math.prod(x.shape[i + 1:]) for i in range(x.ndim))
    if x.ndim > 2:
        flat = np.arange(n) * step
    else:
        start = offset if offset >= 0 else -offset * n
        flat = np.arange(start, x.size, n + 1)
        if not (wrap and x.shape[0] > n):
            column, row = (flat % n), (flat // n)
            flat = flat[column - row == offset]
    index = to_tensor(flat, place=x.place)
    return ops.reshape(ops.setitem(ops.reshape(x, [-1]), value, [index], ("$0",)), x.shape)


@public(namespace=None, name="fill_diagonal_", method=True)
def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False,
                   name: str | None = None) -> Tensor:
    """Write a number on the diagonal of x; wrap goes on below a block of a high matrix.

    >>> import minipaddle as paddle
    >>> paddle.ones([2, 2]).fill_diagonal_(0.0).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return inplace(_filled_diagonal, x, value, offset, wrap)
