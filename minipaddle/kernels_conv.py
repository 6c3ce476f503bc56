"""Convolution of arrays: forward, gradient to the input, gradient to the weight; any rank.

Imports numpy alone. The three functions are one trilinear form seen from three sides:

    out[n, k, o] = sum over c, i of w[k, c, i] * x[n, c, o * stride + i * dilation - pad]

Channels stand first. `pad` is what lies BEFORE each axis, and may be negative (a crop); what lies
behind follows from the size that is asked for. On NumPy, float32 and float64 take the fast way:

* dense: row im2col. Only the column shifts of the kernel are copied, into a buffer that stays in
  the second-level cache; a row shift is then a constant offset in the flattened rows, so each
  kernel row is a view and one GEMM.
* depthwise: the kernel as a banded matrix, one GEMM a channel over whole padded rows.
* the gradient to the input is itself a convolution, with the flipped kernel; with a stride, one
  small convolution for each output phase instead of one over a gradient widened by zeros.

Everything else (CuPy, other dtypes) is im2col by strides and one GEMM.
"""
from __future__ import annotations

import functools
import math

import numpy as np

CACHE = 400 * 1024      # bytes of column buffer aimed at: it should stay in the L2 cache
WIDE_BAND = 192         # a banded matrix with more rows than this loses to multiply-adds;
                        # with half as many in the gradient to the weight
as_strided = np.lib.stride_tricks.as_strided


def conv(xp, x, w, stride, pad, dilation, groups, size):
    """(N, C, *S) with (K, C / groups, *kernel) to (N, K, *size)."""
    if not _fast(xp, x, w):
        return _conv_columns(xp, x, w, stride, pad, dilation, groups, size)
    if len(size) == 1:
        return _conv2(x[:, :, None], w[:, :, None], (1, *stride), (0, *pad), (1, *dilation),
                      groups, (1, *size))[:, :, 0]
    if len(size) == 2:
        return _conv2(x, w, stride, pad, dilation, groups, size)
    out = np.zeros((size[0], len(x), w.shape[0], *size[1:]), x.dtype)
    x = _depth_first(x)
    for i, to, at in _taps(w.shape[2], len(x), stride[0], pad[0], dilation[0], size[0]):
        y = _conv2(_fold(x, at), w[:, :, i], stride[1:], pad[1:], dilation[1:], groups, size[1:])
        part = out[to]
        part += y.reshape(part.shape)
    return _depth_back(out)


def conv_input(xp, g, w, stride, pad, dilation, groups, size):
    """The gradient (N, C, *size) to the input, from that of the output, (N, K, *O).

    As a function in its own right this is the transposed convolution.
    """
    if not _fast(xp, g, w):
        return _input_columns(xp, g, w, stride, pad, dilation, groups, size)
    if len(size) == 1:
        return _conv2_input(g[:, :, None], w[:, :, None], (1, *stride), (0, *pad),
                            (1, *dilation), groups, (1, *size))[:, :, 0]
    if len(size) == 2:
        return _conv2_input(g, w, stride, pad, dilation, groups, size)
    out_size = g.shape[2]
    g = _depth_first(g)
    out = np.zeros((size[0], g.shape[1], w.shape[1] * groups, *size[1:]), g.dtype)
    for i, to, at in _taps(w.shape[2], size[0], stride[0], pad[0], dilation[0], out_size):
        y = _conv2_input(_fold(g, to), w[:, :, i], stride[1:], pad[1:], dilation[1:], groups,
                         size[1:])
        part = out[at]
        part += y.reshape(part.shape)
    return _depth_back(out)


def conv_weight(xp, x, g, stride, pad, dilation, groups, kernel):
    """The gradient (K, C / groups, *kernel) to the weight, from x and the output's gradient."""
    if not _fast(xp, x, g):
        return _weight_columns(xp, x, g, stride, pad, dilation, groups, kernel)
    if len(kernel) == 1:
        return _conv2_weight(x[:, :, None], g[:, :, None], (1, *stride), (0, *pad),
                             (1, *dilation), groups, (1, *kernel))[:, :, 0]
    if len(kernel) == 2:
        return _conv2_weight(x, g, stride, pad, dilation, groups, kernel)
    depth, out_size = x.shape[2], g.shape[2]
    x, g = _depth_first(x), _depth_first(g)
    out = np.zeros((g.shape[2], x.shape[2] // groups, *kernel), x.dtype)
    for i, to, at in _taps(kernel[0], depth, stride[0], pad[0], dilation[0], out_size):
        out[:, :, i] = _conv2_weight(_fold(x, at), _fold(g, to), stride[1:], pad[1:],
                                     dilation[1:], groups, kernel[1:])
    return out


def _fast(xp, a, b) -> bool:
    return xp is np and a.dtype.char in "fd" and a.dtype == b.dtype


def span(shift, stride, pad, n, out):
    """Where out[q] meets x[shift + stride * q - pad]: slices of out and of x, or None."""
    lo = max(0, -((shift - pad) // stride))
    hi = min(out, (n - 1 + pad - shift) // stride + 1)
    if hi <= lo:
        return None
    start = shift + stride * lo - pad
    return slice(lo, hi), slice(start, start + stride * (hi - lo - 1) + 1, stride)


# ---- two axes, dense: row im2col
def _conv2(x, w, stride, pad, dilation, groups, size):
    if groups > 1 and w.shape[1] == 1 and _banded(w.shape[2], dilation[0], size, stride):
        return _depthwise(x, w, stride, pad, dilation, groups, size)
    out = np.empty((x.shape[0], w.shape[0], *size), x.dtype)
    if not out.size:
        return out
    if groups == 1:
        _dense(x, w, stride, pad, dilation, size, out)
        return out
    if w.shape[1] == 1:
        return _multiply_add(x, w, stride, pad, dilation, groups, size, out)
    c, k = w.shape[1], w.shape[0] // groups
    for i in range(groups):
        _dense(x[:, i * c:i * c + c], w[i * k:i * k + k], stride, pad, dilation, size,
               out[:, i * k:i * k + k])
    return out


def _dense(x, w, stride, pad, dilation, size, out):
    """Fill out (N, K, *size), a view of whole planes."""
    k, c, kh, kw = w.shape
    n, length = x.shape[0], size[0] * size[1]
    planes = out.reshape(n, k, length)
    if kh == kw == 1 and stride == (1, 1) and pad == (0, 0) and size == x.shape[2:]:
        np.matmul(w.reshape(k, c), x.reshape(n, c, length), out=planes)
        return
    rows, block = _row_maker(x, kh, kw, stride, pad, dilation, size)
    weights = np.ascontiguousarray(w.transpose(2, 0, 3, 1)).reshape(kh, k, kw * c)
    more = np.empty((block, k, length), x.dtype) if kh > 1 else None
    for lo in range(0, n, block):
        views = rows(lo, min(n, lo + block))
        part = planes[lo:lo + block]
        np.matmul(weights[0], views[0], out=part)
        for i in range(1, kh):
            part += np.matmul(weights[i], views[i], out=more[:len(part)])


def _row_maker(x, kh, kw, stride, pad, dilation, size):
    """A function (lo, hi) -> one (hi - lo, kw * C, OH * OW) view a kernel row; the block size."""
    n, c = x.shape[:2]
    phases, height, fills, offsets = _plan(x.shape[2:], kh, kw, stride, pad, dilation, size)
    each = phases * kw * c * height * size[1]
    block = max(1, min(n, CACHE // (each * x.itemsize)))
    buffer = np.zeros((block, phases, kw, c, height, size[1]), x.dtype)
    length = size[0] * size[1]

    def rows(lo, hi):
        part, source = buffer[:hi - lo], x[lo:hi]
        for phase, j, to_rows, at_rows, to_columns, at_columns in fills:
            part[:, phase, j, :, to_rows, to_columns] = source[:, :, at_rows, at_columns]
        flat = part.reshape(hi - lo, phases, kw * c, height * size[1])
        return [flat[:, phase, :, start:start + length] for phase, start in offsets]
    return rows, block


@functools.lru_cache(maxsize=512)
def _plan(shape, kh, kw, stride, pad, dilation, size):
    """What of the plane goes where in the row buffer, and where each kernel row starts in it.

    With a stride s the rows are stored by phase (row index modulo s), so that the rows one
    kernel row meets lie side by side.
    """
    s, d = stride[0], dilation[0]
    phases = sorted({i * d % s for i in range(kh)})
    height = size[0] + (kh - 1) * d // s
    fills = []
    for index, phase in enumerate(phases):
        vertical = span(phase, s, pad[0], shape[0], height)
        for j in range(kw):
            across = span(j * dilation[1], stride[1], pad[1], shape[1], size[1])
            if vertical and across:
                fills.append((index, j, *vertical, *across))
    offsets = [(phases.index(i * d % s), i * d // s * size[1]) for i in range(kh)]
    return len(phases), height, tuple(fills), tuple(offsets)


def _conv2_weight(x, g, stride, pad, dilation, groups, kernel):
    k, c = g.shape[1] // groups, x.shape[1] // groups
    if groups > 1 and c == 1 and _banded(2 * kernel[0], dilation[0], g.shape[2:], stride):
        return _depthwise_weight(x, g, stride, pad, dilation, groups, kernel)
    out = np.zeros((g.shape[1], c, *kernel), x.dtype)
    if not g.size:
        return out
    if groups > 1 and c == 1:
        return _multiply_add_weight(x, g, stride, pad, dilation, groups, kernel, out)
    for i in range(groups):
        out[i * k:i * k + k] = _dense_weight(x[:, i * c:i * c + c], g[:, i * k:i * k + k], stride,
                                             pad, dilation, kernel)
    return out


def _dense_weight(x, g, stride, pad, dilation, kernel):
    kh, kw = kernel
    n, k, *size = g.shape
    c, size = x.shape[1], tuple(size)
    g = g.reshape(n, k, size[0] * size[1])
    if kh == kw == 1 and stride == (1, 1) and pad == (0, 0) and size == x.shape[2:]:
        planes = x.reshape(n, c, -1).transpose(0, 2, 1)
        return np.matmul(g, planes).sum(0).reshape(k, c, 1, 1)
    total = np.zeros((kh, k, kw * c), x.dtype)
    rows, block = _row_maker(x, kh, kw, stride, pad, dilation, size)
    for lo in range(0, n, block):
        for i, view in enumerate(rows(lo, min(n, lo + block))):
            products = np.matmul(g[lo:lo + block], view.transpose(0, 2, 1))
            total[i] += products.sum(0) if len(products) > 1 else products[0]
    return total.reshape(kh, k, kw, c).transpose(1, 3, 0, 2)


def _conv2_input(g, w, stride, pad, dilation, groups, size):
    k, c, kh, kw = w.shape
    turned = w.reshape(groups, k // groups, c, kh, kw).swapaxes(1, 2).reshape(
        groups * c, k // groups, kh, kw)
    tasks = [_phases(n, kernel, s, p, d)
             for n, kernel, s, p, d in zip(size, (kh, kw), stride, pad, dilation)]
    out = None if stride == (1, 1) else np.zeros((g.shape[0], groups * c, *size), g.dtype)
    for taps_v, to_v, count_v, pad_v, dilation_v in tasks[0]:
        for taps_h, to_h, count_h, pad_h, dilation_h in tasks[1]:
            part = _conv2(g, turned[:, :, taps_v, taps_h][:, :, ::-1, ::-1], (1, 1),
                          (pad_v, pad_h), (dilation_v, dilation_h), groups, (count_v, count_h))
            if out is None:
                return part
            out[:, :, to_v, to_h] = part
    return np.zeros((g.shape[0], groups * c, *size), g.dtype) if out is None else out


@functools.lru_cache(maxsize=512)
def _phases(n, kernel, stride, pad, dilation):
    """One axis of the gradient to the input, cut into convolutions of stride 1.

    Row h = stride * u + a - pad meets the kernel rows i with (i * dilation) % stride == a. Each
    entry: those rows, the rows h, how many they are, and the padding and dilation to use.
    """
    common, found = math.gcd(stride, dilation), []
    for a in range(stride):
        first = next((i for i in range(kernel) if i * dilation % stride == a), None)
        start, end = -((a - pad) // stride), (n - 1 + pad - a) // stride
        if first is None or end < start:
            continue
        taps = slice(first, kernel, stride // common)
        reach = (len(range(*taps.indices(kernel))) - 1) * (dilation // common)
        before = (first * dilation - a) // stride + reach - start
        found.append((taps, slice(stride * start + a - pad, n, stride), end - start + 1, before,
                      dilation // common))
    return tuple(found)


# ---- two axes, depthwise: whole rows times a banded matrix
def _banded(kh, dilation, size, stride) -> bool:
    return dilation == 1 and kh * (size[1] * stride[1] + 4) <= WIDE_BAND


def _padded_rows(x, kh, kw, stride, pad, dilation, size):
    """(C, N * OH, kh * W'): for each output row the kh padded input rows it needs, end to end."""
    n, c, h, w = x.shape
    height = (size[0] - 1) * stride[0] + kh
    width = (size[1] - 1) * stride[1] + (kw - 1) * dilation[1] + 1
    padded = np.zeros((c, n, height, width), x.dtype)
    rows, columns = span(0, 1, pad[0], h, height), span(0, 1, pad[1], w, width)
    if rows and columns:
        padded[:, :, rows[0], columns[0]] = x.transpose(1, 0, 2, 3)[:, :, rows[1], columns[1]]
    a, b, d, e = padded.strides
    view = as_strided(padded, (c, n, size[0], kh * width), (a, b, stride[0] * d, e))
    return view.reshape(c, n * size[0], kh * width), width


def _depthwise(x, w, stride, pad, dilation, groups, size):
    k, _, kh, kw = w.shape
    many, n = k // groups, x.shape[0]
    if not (n and k and size[0] and size[1]):
        return np.zeros((n, k, *size), x.dtype)
    rows, width = _padded_rows(x, kh, kw, stride, pad, dilation, size)
    band = np.zeros((groups, kh, width, many, size[1]), x.dtype)
    for j in range(kw):
        _diagonal(band, j * dilation[1], stride[1])[...] = \
            w[:, 0, :, j].reshape(groups, many, kh).transpose(0, 2, 1)[..., None]
    out = np.matmul(rows, band.reshape(groups, kh * width, many * size[1]))
    out = out.reshape(groups, n, size[0], many, size[1]).transpose(1, 0, 3, 2, 4)
    return np.ascontiguousarray(out).reshape(n, k, *size)


def _diagonal(band, start, step):
    """The entries band[c, i, start + step * t, m, t] as a writable view (c, i, m, t)."""
    c, kh, _, many, length = band.shape
    a, b, d, e, f = band.strides
    return as_strided(band[:, :, start:], (c, kh, many, length), (a, b, e, step * d + f))


def _depthwise_weight(x, g, stride, pad, dilation, groups, kernel):
    kh, kw = kernel
    n, k, *size = g.shape
    many = k // groups
    out = np.zeros((k, 1, kh, kw), x.dtype)
    if not g.size:
        return out
    rows, width = _padded_rows(x, kh, kw, stride, pad, dilation, size)
    g = g.reshape(n, groups, many, *size).transpose(1, 0, 3, 2, 4).reshape(
        groups, n * size[0], many * size[1])
    band = np.matmul(rows.transpose(0, 2, 1), g).reshape(groups, kh, width, many, size[1])
    for j in range(kw):
        sums = _diagonal(band, j * dilation[1], stride[1]).sum(-1)
        out[:, 0, :, j] = sums.transpose(0, 2, 1).reshape(k, kh)
    return out


# ---- two axes, depthwise, wide or dilated rows: a multiply-add a tap on flat padded planes
FLAT = 512 * 1024       # bytes of padded planes worked on at a time


def _flat_planes(x, kernel, stride, pad, dilation, size):
    """Blocks of x as padded planes, flattened, on which each tap is a constant offset.

    With strides the planes are stored by phase, as in `_plan`. Gives the length of a flat output
    (its rows are `width` long, the last one cut off at the size), the width, the taps
    (i, j, phase, offset), and the blocks (images, channels, planes by phase (P, n, c, L)).
    """
    n, c = x.shape[:2]
    phases, rows, width, fills, taps = _flat_plan(x.shape[2:], kernel, stride, pad, dilation, size)
    each = rows * width * x.itemsize * phases
    channels, images = max(1, min(c, FLAT // each)), max(1, min(n, FLAT // (each * c)))
    planes = np.zeros((phases, images, channels, rows, width), x.dtype)

    def blocks():
        for c0 in range(0, c, channels):
            for n0 in range(0, n, images):
                ns, cs = slice(n0, min(n, n0 + images)), slice(c0, min(c, c0 + channels))
                part = planes[:, :ns.stop - n0, :cs.stop - c0]
                for phase, to_v, to_h, at_v, at_h in fills:
                    part[phase][:, :, to_v, to_h] = x[ns, cs, at_v, at_h]
                yield ns, cs, part.reshape(phases, ns.stop - n0, cs.stop - c0, rows * width)
    return size[0] * width - (width - size[1]), width, taps, blocks()


@functools.lru_cache(maxsize=512)
def _flat_plan(shape, kernel, stride, pad, dilation, size):
    (kh, kw), (sv, sh), (dv, dh) = kernel, stride, dilation
    rows, width = size[0] + (kh - 1) * dv // sv, size[1] + (kw - 1) * dh // sh
    down, across = (sorted({i * d % s for i in range(k)})
                    for k, s, d in zip(kernel, stride, dilation))
    fills, taps = [], []
    for a, u in enumerate(down):
        for b, v in enumerate(across):
            vertical, horizontal = span(u, sv, pad[0], shape[0], rows), \
                span(v, sh, pad[1], shape[1], width)
            if vertical and horizontal:
                fills.append((a * len(across) + b, vertical[0], horizontal[0], vertical[1],
                              horizontal[1]))
    for i in range(kh):
        for j in range(kw):
            phase = down.index(i * dv % sv) * len(across) + across.index(j * dh % sh)
            taps.append((i, j, phase, i * dv // sv * width + j * dh // sh))
    return len(down) * len(across), rows, width, tuple(fills), tuple(taps)


def _multiply_add(x, w, stride, pad, dilation, groups, size, out):
    many = w.shape[0] // groups
    length, width, taps, blocks = _flat_planes(x, w.shape[2:], stride, pad, dilation, size)
    target = out.reshape(len(x), groups, many, *size)
    for ns, cs, planes in blocks:
        n, c = planes.shape[1:3]
        total = np.empty((n, c, size[0] * width), x.dtype)
        product = np.empty((n, c, length), x.dtype)
        flat = total[:, :, :length]
        for m in range(many):
            kernel = w[m::many, 0][cs]
            for q, (i, j, phase, offset) in enumerate(taps):
                source = planes[phase, :, :, offset:offset + length]
                factor = np.ascontiguousarray(kernel[:, i, j, None])
                if q:
                    flat += np.multiply(source, factor, out=product)
                else:
                    np.multiply(source, factor, out=flat)
            target[ns, cs, m] = total.reshape(n, c, size[0], width)[..., :size[1]]
    return out


def _multiply_add_weight(x, g, stride, pad, dilation, groups, kernel, out):
    size, many = g.shape[2:], g.shape[1] // groups
    length, width, taps, blocks = _flat_planes(x, kernel, stride, pad, dilation, size)
    g = g.reshape(len(g), groups, many, *size)
    for ns, cs, planes in blocks:
        n, c = planes.shape[1:3]
        padded = np.zeros((n, c, size[0], width), x.dtype)      # zeros where rows were prolonged
        flat = padded.reshape(n, c, -1)[:, :, :length]
        for m in range(many):
            padded[..., :size[1]] = g[ns, cs, m]
            sums = out[m::many, 0][cs]
            for i, j, phase, offset in taps:
                source = planes[phase, :, :, offset:offset + length]
                sums[:, i, j] += np.einsum("ncl,ncl->c", source, flat)
    return out


def _taps(kernel, n, stride, pad, dilation, out):
    """(i, where in out, where in x) for each kernel tap of one axis that meets the input."""
    for i in range(kernel):
        found = span(i * dilation, stride, pad, n, out)
        if found:
            yield i, *found


def _taps2(kh, kw, shape, stride, pad, dilation, size):
    for i, to_v, at_v in _taps(kh, shape[0], stride[0], pad[0], dilation[0], size[0]):
        for j, to_h, at_h in _taps(kw, shape[1], stride[1], pad[1], dilation[1], size[1]):
            yield i, j, (to_v, to_h), (at_v, at_h)


# ---- three axes: a sum of two-axis convolutions over the depth of the kernel
def _depth_first(x):
    return np.ascontiguousarray(x.transpose(2, 0, 1, 3, 4))


def _depth_back(x):
    return np.ascontiguousarray(x.transpose(1, 2, 0, 3, 4))


def _fold(x, at):
    """Planes at some depths, all in the batch."""
    part = x[at]
    return part.reshape(part.shape[0] * part.shape[1], *part.shape[2:])


# ---- any array module, dtype and rank: im2col and one GEMM
def _columns(xp, x, kernel, stride, pad, dilation, size):
    """(C, *kernel, N, *size), a view of the padded input."""
    n, c = x.shape[:2]
    need = [(o - 1) * s + (k - 1) * d + 1
            for o, s, k, d in zip(size, stride, kernel, dilation)]
    cut = [span(0, 1, p, m, length) for p, m, length in zip(pad, x.shape[2:], need)]
    if all(found == (slice(0, m), slice(0, m, 1)) and m == length
           for found, m, length in zip(cut, x.shape[2:], need)):
        padded = xp.ascontiguousarray(x)
    else:
        padded = xp.zeros((n, c, *need), x.dtype)
        if all(cut):
            every = (slice(None), slice(None))
            padded[every + tuple(to for to, _ in cut)] = x[every + tuple(at for _, at in cut)]
    a, b, *rest = padded.strides
    return xp.lib.stride_tricks.as_strided(
        padded, (c, *kernel, n, *size),
        (b, *(r * d for r, d in zip(rest, dilation)), a, *(r * s for r, s in zip(rest, stride))))


def _gemm(xp, a, b):
    """Batched by groups; one group is a plain 2-D product, which GPUs run fastest."""
    return xp.matmul(a[0], b[0])[None] if len(a) == 1 else xp.matmul(a, b)


def _conv_columns(xp, x, w, stride, pad, dilation, groups, size):
    n, k = x.shape[0], w.shape[0]
    if not (n and k and all(size)):
        return xp.zeros((n, k, *size), x.dtype)
    columns = _columns(xp, x, w.shape[2:], stride, pad, dilation, size)
    columns = columns.reshape(groups, math.prod(w.shape[1:]), n * math.prod(size))
    out = _gemm(xp, w.reshape(groups, k // groups, math.prod(w.shape[1:])), columns)
    return xp.ascontiguousarray(xp.swapaxes(out.reshape(k, n, *size), 0, 1))


def _input_columns(xp, g, w, stride, pad, dilation, groups, size):
    n, k, *out_size = g.shape
    c, kernel = w.shape[1] * groups, w.shape[2:]
    out = xp.zeros((c, n, *size), g.dtype)
    if not g.size or not out.size:
        return xp.swapaxes(out, 0, 1).reshape(n, c, *size)
    columns = _gemm(xp, xp.swapaxes(w.reshape(groups, k // groups, math.prod(w.shape[1:])), 1, 2),
                    xp.swapaxes(g, 0, 1).reshape(groups, k // groups, n * math.prod(out_size)))
    columns = columns.reshape(c, *kernel, n, *out_size)
    for tap in np.ndindex(*kernel):
        places = [span(i * d, s, p, m, o) for i, d, s, p, m, o in
                  zip(tap, dilation, stride, pad, size, out_size)]
        if all(places):
            part = columns[(slice(None), *tap)]
            out[(slice(None), slice(None), *(at for _, at in places))] += \
                part[(slice(None), slice(None), *(to for to, _ in places))]
    return xp.ascontiguousarray(xp.swapaxes(out, 0, 1))


def _weight_columns(xp, x, g, stride, pad, dilation, groups, kernel):
    n, k, *size = g.shape
    c = x.shape[1] // groups
    if not (g.size and x.size):
        return xp.zeros((k, c, *kernel), x.dtype)
    columns = _columns(xp, x, kernel, stride, pad, dilation, size)
    columns = columns.reshape(groups, c * math.prod(kernel), n * math.prod(size))
    g = xp.swapaxes(g, 0, 1).reshape(groups, k // groups, n * math.prod(size))
    return _gemm(xp, g, xp.swapaxes(columns, 1, 2)).reshape(k, c, *kernel)
