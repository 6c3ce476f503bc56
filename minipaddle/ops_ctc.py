"""Connectionist temporal classification (Graves et al., 2006): sums over all alignments.

Imports core. The forward and backward variables of all sequences and states advance together,
one time step a pass, in the log domain.
"""
from __future__ import annotations

import numpy as np

from .core import Array, op
from .kernels_nn import log_softmax

LOW = -1e30             # the logarithm of no probability; not -inf, whose differences are nan


def _states(xp, labels, label_lengths, blank):
    """Labels with blanks between (B, 2 L + 1); where two steps may be taken; the last state."""
    b, n = labels.shape
    states = xp.full((b, 2 * n + 1), blank, np.int64)
    states[:, 1::2] = labels
    skip = xp.zeros(states.shape, bool)
    skip[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, skip, 2 * label_lengths.astype(np.int64)


def _shift(xp, x, by):
    """States moved to the right (or, by < 0, to the left), nothing coming in."""
    out = xp.full(x.shape, LOW, x.dtype)
    if abs(by) < x.shape[1]:
        if by > 0:
            out[:, by:] = x[:, :-by]
        else:
            out[:, :by] = x[:, -by:]
    return out


def _sum3(xp, a, b, c):
    return xp.logaddexp(xp.logaddexp(a, b), c)


def _ends(xp, length, count):
    """(B, S) marks of the states a sequence may end in: the last label and the blank after it."""
    at = xp.arange(count)
    return (at == length[:, None]) | (at == length[:, None] - 1)


def _sample_ctc(draw):
    t, b, c, n = draw.integer(3, 4), 2, 3, draw.integer(1, 2)
    labels = draw.integers((b, n), 1, c - 1)
    return (draw.array((t, b, c)), labels, np.array([t, t - 1 if n == 1 else t]),
            np.array([n, draw.integer(0, n)])), {}


@op(namespace=None, amp="block", casts=("logits",), promote="float", samples=_sample_ctc,
    residuals=("probabilities", "occupied"), legacy=("warpctc",))
def ctc(xp, logits: Array, labels: Array, input_lengths: Array, label_lengths: Array,
        blank: int = 0, norm_by_times: bool = False) -> Array:
    """-log of the probability of each sequence's labels (B, L) under logits (T, B, C): (B,)."""
    if logits.ndim != 3 or labels.ndim != 2 or labels.shape[0] != logits.shape[1]:
        raise ValueError("logits must be (time, batch, classes) and labels (batch, length)")
    steps, b, classes = logits.shape
    if not 0 <= blank < classes:
        raise ValueError(f"blank {blank} must be a class, 0 to {classes - 1}")
    states, skip, length = _states(xp, labels, label_lengths, blank)
    count = states.shape[1]
    log_p = log_softmax(xp, logits, 2)
    at = log_p[:, xp.arange(b)[:, None], xp.clip(states, 0, classes - 1)]
    low = logits.dtype.type(LOW)

    alpha = xp.full((steps, b, count), LOW, logits.dtype)
    beta = xp.full((steps, b, count), LOW, logits.dtype)
    if steps:
        alpha[0, :, :2] = at[0, :, :2]
    for t in range(1, steps):
        before = alpha[t - 1]
        alpha[t] = at[t] + _sum3(xp, before, _shift(xp, before, 1),
                                 xp.where(skip, _shift(xp, before, 2), low))
    ends = _ends(xp, length, count)
    skip_next = xp.zeros(skip.shape, bool)
    skip_next[:, :-2] = skip[:, 2:]
    last = input_lengths.astype(np.int64) - 1
    after = xp.full((b, count), LOW, logits.dtype)
    for t in range(steps - 1, -1, -1):
        moved = _sum3(xp, after, _shift(xp, after, -1),
                      xp.where(skip_next, _shift(xp, after, -2), low))
        start = xp.where(ends, logits.dtype.type(0), low)
        after = at[t] + xp.where((last == t)[:, None], start, moved)
        after = xp.where((t > last)[:, None], low, after)
        beta[t] = xp.maximum(after, low)
    final = alpha[xp.maximum(last, 0), xp.arange(b)]
    final = xp.where(ends, final, low)
    top = final.max(axis=1)
    total = top + xp.log(xp.exp(final - top[:, None]).sum(axis=1))

    possible = total > 0.5 * LOW
    occupied = xp.exp(xp.minimum(alpha + beta - at - total[:, None], logits.dtype.type(0)))
    inside = (xp.arange(steps)[:, None] <= last) & possible
    occupied = occupied * inside[:, :, None]
    hot = (states[:, :, None] == xp.arange(classes)).astype(logits.dtype)
    occupied = xp.swapaxes(xp.matmul(xp.swapaxes(occupied, 0, 1), hot), 0, 1)
    probabilities = xp.exp(log_p) * inside[:, :, None]
    return xp.where(possible, -total, logits.dtype.type("inf")), probabilities, occupied


@ctc.kernel_vjp
def _(xp, g, input_lengths, probabilities, occupied, norm_by_times):
    if norm_by_times:
        g = g / xp.maximum(input_lengths, 1).astype(g.dtype)
    return (probabilities - occupied) * g[:, None], None, None, None


@ctc.composite
def _(F, logits, labels, input_lengths, label_lengths, blank, norm_by_times):
    steps, b, classes = logits.shape
    count = 2 * labels.shape[1] + 1
    log_p = F.log_softmax_plain(logits, 2)
    empty = F.full_like(labels, blank)
    states = F.concat([F.reshape(F.stack([empty, labels], axis=2), [b, count - 1]),
                       F.full_like(labels[:, :1], blank)], axis=1)
    ahead = F.logical_and(states[:, 2:] != blank, states[:, 2:] != states[:, :-2])
    skip = F.pad_axes(F.cast(ahead, "float32"), ((0, 0), (2, 0))) > 0.5
    at = F.take_along_axis(log_p, F.expand(F.unsqueeze(states, 0), [steps, b, count]), 2)
    place = F.unsqueeze(F.arange(count), 0)
    low = F.full_like(at[0], LOW)
    alpha = [F.where(place < 2, at[0], low)]
    for t in range(1, steps):
        before = alpha[-1]
        one = F.pad_axes(before, ((0, 0), (1, -1)), "constant", LOW)
        two = F.where(skip, F.pad_axes(before, ((0, 0), (2, -2)), "constant", LOW), low)
        alpha.append(at[t] + F.logsumexp(F.stack([before, one, two]), axis=0))
    length = F.unsqueeze(F.cast(label_lengths, "int64") * 2, 1)
    ends = F.logical_or(place == length, place == length - 1)
    last = F.unsqueeze(F.cast(input_lengths, "int64") - 1, 1)
    final = low
    for t, a in enumerate(alpha):
        final = F.where(F.logical_and(ends, last == t), a, final)
    loss = -F.logsumexp(final, axis=1)
    if norm_by_times:                               # changes the gradient alone
        scaled = loss / F.cast(input_lengths, logits.dtype)
        loss = scaled + (loss - scaled).detach()
    return loss
