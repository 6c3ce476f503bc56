"""How tensors print: Paddle's text, from a copy on the host. Imports core alone."""
from __future__ import annotations

import numpy as np

from .core import Parameter, Tensor
from .device import asnumpy, is_array

_options = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision: int | None = None, threshold: int | None = None,
                     edgeitems: int | None = None, sci_mode: bool | None = None,
                     linewidth: int | None = None) -> None:
    """Set how tensors print: digits, when to shorten, how many entries at the edges, width.

    >>> import minipaddle as paddle
    >>> paddle.set_printoptions(precision=2)
    >>> paddle.to_tensor([1.23456])
    Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=True,
           [1.23])
    >>> paddle.set_printoptions(precision=8)
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "sci_mode": sci_mode, "linewidth": linewidth}
    _options.update({k: v for k, v in given.items() if v is not None})


def tensor_text(t: Tensor) -> str:
    """The repr of a tensor: shape, dtype, place, stop_gradient, and its values."""
    head = (f"Tensor(shape={t.shape}, dtype={t.dtype.name}, place={t.place!r}, "
            f"stop_gradient={t.stop_gradient},\n       ")
    if not is_array(t._data):
        return head + "<symbolic>)"
    values = np.array2string(asnumpy(t._data), separator=", ", prefix=" " * 7, suffix=")",
                             precision=_options["precision"], threshold=_options["threshold"],
                             edgeitems=_options["edgeitems"], max_line_width=_options["linewidth"],
                             suppress_small=None if _options["sci_mode"] is None
                             else not _options["sci_mode"])
    text = head + values + ")"
    return "Parameter containing:\n" + text if isinstance(t, Parameter) else text
