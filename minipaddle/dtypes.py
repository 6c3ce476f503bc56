"""Data types: the dtype objects users see, promotion between them, the default float dtype.

Imports numpy alone. The rules are Paddle's: two floating tensors promote, an integer meeting a
float takes the float's dtype, a Python scalar never widens a tensor.
"""
from __future__ import annotations

import numpy as np


class DType:
    """A data type such as ``paddle.float32``: equal to itself alone, never to a string.

    ``name`` is the plain name, ``np`` the NumPy dtype that stores it.
    """

    __slots__ = ("name", "np", "itemsize")

    def __init__(self, name: str, storage: type) -> None:
        self.name, self.np = name, np.dtype(storage)
        self.itemsize = self.np.itemsize

    def __repr__(self) -> str:
        return f"paddle.{self.name}"

    def __reduce__(self):
        return convert_dtype, (self.name,)

    @property
    def is_floating(self) -> bool:
        return self.np.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.np.kind == "c"

    @property
    def is_integer(self) -> bool:
        return self.np.kind in "iu"


_NAMES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
          "uint16", "uint32", "uint64", "complex64", "complex128")
ALL = {name: DType(name, getattr(np, name)) for name in _NAMES}
ALL["bool"] = DType("bool", np.bool_)
# By NumPy's dtype, by scalar type and by name: one look-up serves every spelling users have.
_KNOWN: dict = {}
for _d in ALL.values():
    _KNOWN.update({_d: _d, _d.np: _d, _d.np.type: _d, _d.name: _d, "paddle." + _d.name: _d})
_KNOWN.update({bool: ALL["bool"], int: ALL["int64"], float: ALL["float32"],
               complex: ALL["complex64"], "float": ALL["float32"], "int": ALL["int64"],
               "double": ALL["float64"], "half": ALL["float16"], "long": ALL["int64"]})

F16, F32, F64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
I64, BOOL = np.dtype("int64"), np.dtype("bool")
_default = ALL["float32"]


def convert_dtype(dtype) -> DType:
    """The `DType` of a name, a NumPy dtype or type, or a `DType`; TypeError for anything else."""
    try:
        return _KNOWN[dtype]
    except (KeyError, TypeError):
        pass
    if dtype in ("bfloat16", "paddle.bfloat16"):
        raise TypeError("dtype bfloat16 is not available yet; use 'float16' or 'float32'")
    try:
        return _KNOWN[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"dtype {dtype!r} is unknown; use one of {', '.join(ALL)}") from None


def np_dtype(dtype, default=None) -> np.dtype:
    """NumPy's dtype for any spelling; `default` (or the default float dtype) for None."""
    if dtype is None:
        return _default.np if default is None else default
    return convert_dtype(dtype).np


def set_default_dtype(d) -> None:
    """Set the dtype of floating results that have no other: 'float16', 'float32' or 'float64'.

    >>> import minipaddle as paddle
    >>> paddle.set_default_dtype('float64')
    >>> paddle.to_tensor(1.5).dtype
    paddle.float64
    >>> paddle.set_default_dtype('float32')
    """
    global _default
    dtype = convert_dtype(d)
    if not dtype.is_floating:
        raise TypeError(f"set_default_dtype: d must be a floating dtype, got {dtype.name}")
    _default = dtype


def get_default_dtype() -> str:
    """The name of the default floating dtype, 'float32' unless it was set.

    >>> import minipaddle as paddle
    >>> paddle.get_default_dtype()
    'float32'
    """
    return _default.name


def default_float() -> np.dtype:
    """NumPy's dtype of the default floating dtype."""
    return _default.np


def default_complex() -> np.dtype:
    """NumPy's complex dtype that belongs to the default floating dtype."""
    return np.dtype("complex128" if _default.np is F64 else "complex64")


def promote(dtypes) -> np.dtype:
    """The common dtype of several tensors' NumPy dtypes, by Paddle's rules."""
    wide = [d for d in dtypes if d.kind in "fc"] or list(dtypes)
    common = wide[0]
    for d in wide[1:]:
        if d is not common:
            common = np.promote_types(common, d)
    # NumPy answers float64 for int64 with uint64; an integer must stay one.
    return I64 if common.kind == "f" and wide[0].kind not in "fc" else common


def with_scalar(dtype: np.dtype, value) -> np.dtype:
    """The dtype of `tensor op scalar`: a scalar changes the kind of a dtype, never its width."""
    if isinstance(value, (bool, np.bool_)):
        return dtype
    if isinstance(value, (int, np.integer)):
        return I64 if dtype.kind == "b" else dtype
    if isinstance(value, (float, np.floating)):
        return dtype if dtype.kind in "fc" else default_float()
    if dtype.kind == "c":
        return dtype
    return np.promote_types(dtype if dtype.kind == "f" else default_float(), np.complex64)


class finfo:
    """Limits of a floating dtype: ``eps``, ``min``, ``max``, ``tiny``, ``bits``.

    >>> import minipaddle as paddle
    >>> paddle.finfo(paddle.float32).bits
    32
    """

    def __init__(self, dtype) -> None:
        info = np.finfo(convert_dtype(dtype).np)
        self.dtype = convert_dtype(dtype).name
        self.eps, self.min, self.max = float(info.eps), float(info.min), float(info.max)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution, self.bits = float(info.resolution), int(info.bits)


class iinfo:
    """Limits of an integer dtype: ``min``, ``max``, ``bits``.

    >>> import minipaddle as paddle
    >>> paddle.iinfo(paddle.int8).max
    127
    """

    def __init__(self, dtype) -> None:
        info = np.iinfo(convert_dtype(dtype).np)
        self.dtype = convert_dtype(dtype).name
        self.min, self.max, self.bits = int(info.min), int(info.max), int(info.bits)
