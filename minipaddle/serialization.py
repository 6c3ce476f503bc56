"""`paddle.save` and `paddle.load`: state dicts and other nested values, without pickle.

A new file is a zip: `content.json`, the nesting, and one `.npy` for each array. Files that real
Paddle wrote (pickles of arrays) are read through an unpickler that admits nothing else. Writing
goes to a temporary name first, so an error leaves the old file. Imports core.
"""
from __future__ import annotations

import contextlib
import json
import os
import pickle
import tempfile
import zipfile

import numpy as np

from .core import Tensor, asnumpy, to_tensor

FORMAT, VERSION = "minipaddle values", 1
_PLAIN = (type(None), bool, int, float, str)


@contextlib.contextmanager
def atomic_write(path: str):
    """A binary file that takes the place of `path` once everything was written."""
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)         # mkstemp's 0600 would keep others out
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


# ---- writing
def save(obj, path, protocol: int = 4, paddle_format: bool = False, **configs) -> None:
    """Write a Tensor, a state dict, or any nesting of dicts, lists, tuples, numbers and text.

    path: a file name, or a binary file object. TypeError for values that cannot be kept, named
    by where they stand. paddle_format=True writes what real Paddle reads, a pickle of that
    protocol (2 to 4) of plain values and arrays; else protocol has no meaning.

    >>> import os, tempfile, minipaddle as paddle
    >>> path = os.path.join(tempfile.mkdtemp(), "w.pdparams")
    >>> paddle.save({"w": paddle.ones([2])}, path); paddle.load(path)["w"].tolist()
    [1.0, 1.0]
    """
    arrays: dict = {}
    try:
        content = {"format": FORMAT, "version": VERSION, "value": _encode(obj, arrays, "obj")}
    except RecursionError:
        raise ValueError("save: obj is nested too deeply, or holds itself") from None
    if paddle_format and protocol not in (2, 3, 4):
        raise ValueError(f"save: protocol must be 2, 3 or 4, got {protocol!r}")

    def write(file):
        if paddle_format:
            pickle.dump(_for_paddle(obj, True), file, protocol)
        else:
            _write(file, content, arrays)
    if hasattr(path, "write"):
        write(path)
        return
    if os.path.isdir(path) or not os.path.basename(os.fspath(path)):
        raise ValueError(f"save: path must be a file name, got {os.fspath(path)!r}")
    with atomic_write(path) as file:
        write(file)


def _for_paddle(value, outermost: bool = False):
    """Arrays in place of Tensors, with their names as real Paddle keeps them.

    A state dict has a table of names beside the arrays; elsewhere a Tensor is (name, array).
    """
    if isinstance(value, Tensor):
        return value.name, value.numpy()
    if isinstance(value, dict):
        if outermost and any(isinstance(v, Tensor) for v in value.values()):
            names = {k: v.name for k, v in value.items() if isinstance(v, Tensor)}
            return {**{k: v.numpy() if k in names else _for_paddle(v) for k, v in value.items()},
                    _NAMES: names}
        return {k: _for_paddle(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_for_paddle(v) for v in value)
    return value


def _write(file, content, arrays) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("content.json", json.dumps(content))
        for k, array in arrays.values():
            array = asnumpy(array)
            with archive.open(f"{k}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape),
                                          allow_pickle=False)


def _numbers(array):
    if array.dtype.kind not in "biufc":
        raise _Refused(f"holds an array of {array.dtype}, not of numbers")
    return array


def _kept(array, arrays) -> int:
    """The number of an array in the file; one that occurs twice is written once."""
    return arrays.setdefault(id(array), (len(arrays), array))[0]


def _encode(value, arrays, where):
    if isinstance(value, Tensor):
        return {"t": _kept(value._data, arrays), "name": value.name}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"save: {where} is an array of {value.dtype}, which is not kept")
        return {"a": _kept(value, arrays)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, _PLAIN):
        return {"v": value}
    if isinstance(value, dict):
        return {"d": [[_encode(k, arrays, f"a key of {where}"),
                       _encode(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "l" if isinstance(value, list) else "u"
        return {kind: [_encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]}
    raise TypeError(f"save: {where} is a {type(value).__name__}; Tensors, arrays, numbers, text, "
                    "None, and dicts, lists and tuples of them are kept. Save layer.state_dict(), "
                    "not the layer")


# ---- reading
def load(path, return_numpy: bool = False, keep_name_table: bool = False, **configs):
    """Read what `save`, or real Paddle's save, wrote; arrays come as Tensors (or NumPy arrays).

    path: a file name, or a binary file object that can seek. Nothing in the file is ever executed.
    ValueError naming the path for a missing, damaged or truncated file, and for one that holds
    anything but plain values and arrays. keep_name_table: keep Paddle's table of global names,
    the entry `StructuredToParameterName@@` of a state dict.

    >>> import os, tempfile, minipaddle as paddle
    >>> path = os.path.join(tempfile.mkdtemp(), "values")
    >>> paddle.save({"epoch": 3, "w": paddle.ones([2])}, path)
    >>> paddle.load(path, return_numpy=True)
    {'epoch': 3, 'w': array([1., 1.], dtype=float32)}
    """
    if hasattr(path, "read"):
        return _read(path, "the file object", return_numpy, keep_name_table)
    path = os.fspath(path)
    if os.path.isdir(path):
        raise ValueError(f"load: {path!r} is a folder, not a file")
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise ValueError(f"load: there is no file {path!r}") from None
    except OSError as error:
        raise ValueError(f"load: {path!r} cannot be opened ({error.strerror})") from error
    with file:
        return _read(file, repr(path), return_numpy, keep_name_table)


def _read(file, path: str, return_numpy: bool, keep_name_table: bool):
    start = file.read(2)
    file.seek(-len(start), os.SEEK_CUR)
    try:
        if start == b"PK":
            return _read_zip(file, return_numpy)
        if start[:1] == b"\x80":
            return _from_paddle(_Unpickler(file).load(), return_numpy, keep_name_table)
    except _Refused as error:
        raise ValueError(f"load: {path} {error}") from None
    except Exception as error:          # whatever a damaged file does to zipfile, json or pickle
        raise ValueError(f"load: {path} is damaged or truncated ({type(error).__name__}: "
                         f"{error})") from error
    if not start:
        raise ValueError(f"load: {path} is empty")
    raise ValueError(f"load: {path} is neither a file of paddle.save nor a Paddle pickle")


class _Refused(Exception):
    """What a file holds is not admitted; the text goes on after the path."""


def _read_zip(file, return_numpy: bool):
    with zipfile.ZipFile(file) as archive:
        if "content.json" not in archive.namelist():
            raise _Refused("is a zip, but no file of paddle.save")
        content = json.loads(archive.read("content.json"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise _Refused("is a zip, but no file of paddle.save")
        if content.get("version") != VERSION:
            raise _Refused(f"has version {content.get('version')!r} of the format; this "
                           f"minipaddle reads version {VERSION}")

        def array(k):
            info = archive.getinfo(f"{int(k)}.npy")
            if info.compress_type != zipfile.ZIP_STORED:
                raise _Refused("holds compressed arrays, which paddle.save never writes")
            with archive.open(info) as member:
                found = np.lib.format.read_array(member, allow_pickle=False)
                if member.read(1):                  # reading to the end checks the sum
                    raise _Refused(f"has more in {info.filename} than its array")
            return _numbers(found)
        return _decode(content["value"], array, return_numpy)


def _decode(node, array, return_numpy):
    (tag, value), *_ = node.items()
    if tag == "t":
        data = array(value)
        return data if return_numpy else _tensor(data, node)
    if tag == "a":
        return array(value)
    if tag == "d":
        return {_decode(k, array, return_numpy): _decode(v, array, return_numpy)
                for k, v in value}
    if tag == "l":
        return [_decode(v, array, return_numpy) for v in value]
    if tag == "u":
        return tuple(_decode(v, array, return_numpy) for v in value)
    if tag == "c":
        return complex(*value)
    if tag == "v" and isinstance(value, _PLAIN):
        return value
    raise _Refused(f"holds a value of the unknown kind {tag!r}")


def _tensor(data, node) -> Tensor:
    t = to_tensor(data)
    t.name = str(node["name"])
    return t


# ---- real Paddle's files: pickles of containers, numbers, text and arrays
class _Dtype:
    """Stands for `numpy.dtype(...)` in a pickle: admits plain numbers only."""

    def __init__(self, name, *options) -> None:
        self.np = np.dtype(str(name))
        if self.np.kind not in "biufc":
            raise _Refused(f"holds an array of {name!r}, not of numbers")

    def __setstate__(self, state) -> None:
        self.np = self.np.newbyteorder(">" if state[1] == ">" else "<")


class _Array:
    """Stands for an array in a pickle: built here from its bytes, not by NumPy's unpickling."""

    array = None

    def __init__(self, *ignored) -> None:
        pass

    def __setstate__(self, state) -> None:
        _, shape, dtype, fortran, data = state
        self.array = _array(data, dtype, shape, "F" if fortran else "C")


def _array(data, dtype, shape, order) -> np.ndarray:
    if not isinstance(dtype, _Dtype) or not isinstance(data, (bytes, bytearray)):
        raise _Refused("holds an array of objects, not of numbers")
    array = np.frombuffer(data, dtype.np).reshape(shape, order=order)
    return array.astype(dtype.np.newbyteorder("="))


def _from_buffer(data, dtype, shape, order, *options) -> _Array:
    found = _Array()
    found.array = _array(bytes(data), dtype, shape, order)
    return found


def _scalar(dtype, data) -> _Array:
    found = _Array()
    found.array = _array(data, dtype, (), "C")[()]
    return found


def _codec(text, encoding: str = "latin1") -> bytes:
    """`_codecs.encode`, as protocol 2 uses it for bytes: nothing but latin1."""
    if encoding != "latin1":
        raise _Refused(f"asks for the codec {encoding!r}")
    return text.encode("latin1")


def _named(text, scope):
    """Paddle writes some tensors as eval('data', {'data': array}); no other text is looked at."""
    if text != "data" or not isinstance(scope, dict) or "data" not in scope:
        raise _Refused(f"asks to evaluate {text!r:.60}; nothing was executed")
    return scope["data"]


class _Maker:
    """A function that a pickle may call, and do nothing else with."""

    __slots__ = ("_make",)

    def __init__(self, make) -> None:
        self._make = make

    def __call__(self, *args):
        return self._make(*args)

    def __setstate__(self, state) -> None:
        raise _Refused("sets attributes of a function; nothing was executed")


_ADMITTED = {("numpy", "ndarray"): _Maker(_Array), ("numpy", "dtype"): _Maker(_Dtype),
             ("_codecs", "encode"): _Maker(_codec), ("collections", "OrderedDict"): dict}
for _package in ("builtins", "__builtin__"):
    _ADMITTED.update({(_package, "tuple"): tuple, (_package, "eval"): _Maker(_named),
                      (_package, "bytes"): _Maker(lambda: b"")})    # of an empty array
for _package in ("numpy.core", "numpy._core"):
    _ADMITTED.update({(_package + ".multiarray", "_reconstruct"): _Maker(_Array),
                      (_package + ".multiarray", "scalar"): _Maker(_scalar),
                      (_package + ".numeric", "_frombuffer"): _Maker(_from_buffer)})


class _Unpickler(pickle.Unpickler):
    """Reads pickles of plain values and numeric arrays; anything else is refused by name."""

    def find_class(self, module, name):
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise _Refused(f"asks for {module}.{name}, which a file of parameters does not need; "
                           "nothing was executed") from None

    def persistent_load(self, pid):
        raise _Refused("refers to something outside the file")


_NAMES, _SLICES = "StructuredToParameterName@@", "UnpackBigParamInfor@@"


def _from_paddle(value, return_numpy: bool, keep_name_table: bool):
    """Stand-ins become arrays or Tensors; Paddle's conventions for names are undone."""
    def convert(v):
        if isinstance(v, _Array):
            if v.array is None:
                raise _Refused("holds an array without its data")
            return v.array if return_numpy or isinstance(v.array, np.generic) else \
                to_tensor(v.array)
        if isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) and \
                isinstance(v[1], _Array):           # a lone tensor is written as (name, array)
            found = convert(v[1])
            if isinstance(found, Tensor):
                found.name = v[0]
            return found
        if isinstance(v, dict):
            names = v.get(_NAMES)
            out = {k: convert(x) for k, x in _joined(v).items() if k != _NAMES}
            if isinstance(names, dict):
                for k, name in names.items():
                    if isinstance(out.get(k), Tensor):
                        out[k].name = str(name)
                if keep_name_table:
                    out[_NAMES] = names
            return out
        if isinstance(v, (list, tuple)):
            return type(v)(convert(x) for x in v)
        if isinstance(v, (*_PLAIN, complex, bytes, set)):
            return v
        raise _Refused(f"holds a {type(v).__name__}")
    return convert(value)


def _joined(state: dict) -> dict:
    """Big arrays, which old protocols wrote in slices, put together."""
    table = state.get(_SLICES)
    if not isinstance(table, dict):
        return state
    state = {k: v for k, v in state.items() if k != _SLICES}
    for key, entry in table.items():
        whole = _Array()
        parts = [state.pop(name).array.ravel() for name in entry["slices"]]
        whole.array = np.concatenate(parts).reshape(entry["OriginShape"])
        state[key] = whole
    return state
