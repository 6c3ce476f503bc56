"""`paddle.save` and `paddle.load`: state dicts and other nested values, without pickle.

A new file is a zip: `content.json`, the nesting, and one `.npy` for each array. Files that real
Paddle wrote (pickles of arrays) are read through an unpickler that admits nothing else. Writing
goes to a temporary name first, so an error leaves the old file. Imports core.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import tempfile
import zipfile

import numpy as np

from .core import Parameter, Tensor, asnumpy, to_tensor
from .dtypes import convert_dtype

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
def save(obj, path, protocol: int = 4, **configs) -> None:
    """Write a Tensor, a state dict, or any nesting of dicts, lists, tuples, numbers and text.

    path: a file name, or a binary file object. TypeError for values that cannot be kept, named
    by where they stand. protocol is accepted for Paddle's sake.

    >>> import os, tempfile, minipaddle as paddle
    >>> path = os.path.join(tempfile.mkdtemp(), "w.pdparams")
    >>> paddle.save({"w": paddle.ones([2])}, path); paddle.load(path)["w"].tolist()
    [1.0, 1.0]
    """
    arrays: list = []
    content = {"format": FORMAT, "version": VERSION, "value": _encode(obj, arrays, "obj")}
    if hasattr(path, "write"):
        _write(path, content, arrays)
        return
    if os.path.isdir(path) or not os.path.basename(os.fspath(path)):
        raise ValueError(f"save: path must be a file name, got {os.fspath(path)!r}")
    with atomic_write(path) as file:
        _write(file, content, arrays)


def _write(file, content, arrays) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("content.json", json.dumps(content))
        for k, array in enumerate(arrays):
            with archive.open(f"{k}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape),
                                          allow_pickle=False)


def _encode(value, arrays, where):
    if isinstance(value, Tensor):
        arrays.append(asnumpy(value._data))
        return {"t": len(arrays) - 1, "param": isinstance(value, Parameter), "name": value.name,
                "stop_gradient": bool(value.stop_gradient)}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"save: {where} is an array of {value.dtype}, which is not kept")
        arrays.append(value)
        return {"a": len(arrays) - 1}
    if isinstance(value, np.generic):
        value = value.item()
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

    Nothing in the file is ever executed. ValueError naming the path for a missing, damaged or
    truncated file, or one that holds anything but plain values and arrays.
    """
    if hasattr(path, "read"):
        return _read(path.read(), "the file object", return_numpy, keep_name_table)
    path = os.fspath(path)
    if not os.path.exists(path):
        raise ValueError(f"load: there is no file {path!r}")
    if os.path.isdir(path):
        raise ValueError(f"load: {path!r} is a folder")
    with open(path, "rb") as file:
        return _read(file.read(), repr(path), return_numpy, keep_name_table)


def _read(data: bytes, path: str, return_numpy: bool, keep_name_table: bool):
    try:
        if data[:2] == b"PK":
            return _read_zip(data, return_numpy)
        if data[:1] == b"\x80":
            value = _Unpickler(io.BytesIO(data)).load()
            if isinstance(value, dict) and not keep_name_table:
                value.pop("StructuredToParameterName@@", None)
            return _from_paddle(value, return_numpy)
    except _Refused as error:
        raise ValueError(f"load: {path} {error}") from None
    except Exception as error:
        raise ValueError(f"load: {path} is damaged or truncated ({type(error).__name__}: {error})") \
            from error
    raise ValueError(f"load: {path} is neither a file of paddle.save nor a Paddle pickle")


class _Refused(Exception):
    pass


def _read_zip(data: bytes, return_numpy: bool):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read("content.json"))
        if content.get("format") != FORMAT:
            raise _Refused("is a zip, but no file of paddle.save")
        if content.get("version") != VERSION:
            raise _Refused(f"has version {content.get('version')!r} of the format; this "
                           f"minipaddle reads version {VERSION}")
        cache: dict = {}

        def array(k):
            if k not in cache:
                info = archive.getinfo(f"{int(k)}.npy")
                if info.compress_type != zipfile.ZIP_STORED:
                    raise _Refused("holds compressed arrays, which paddle.save never writes")
                with archive.open(info) as member:
                    cache[k] = np.lib.format.read_array(member, allow_pickle=False)
            return cache[k]
        return _decode(content["value"], array, return_numpy)


def _decode(node, array, return_numpy):
    if "t" in node:
        data = array(node["t"])
        if return_numpy:
            return data
        t = to_tensor(data)
        if node["param"]:
            t = Parameter(t._data, name=str(node["name"]))
        t.stop_gradient, t.name = bool(node["stop_gradient"]), str(node["name"])
        return t
    if "a" in node:
        return array(node["a"])
    if "d" in node:
        return {_decode(k, array, return_numpy): _decode(v, array, return_numpy)
                for k, v in node["d"]}
    if "l" in node:
        return [_decode(v, array, return_numpy) for v in node["l"]]
    if "u" in node:
        return tuple(_decode(v, array, return_numpy) for v in node["u"])
    return node["v"]


def _codec(text: str, encoding: str = "latin1") -> bytes:
    """What `_codecs.encode` does in a pickle of bytes: nothing but latin1."""
    if encoding != "latin1":
        raise _Refused(f"asks for the codec {encoding!r}")
    return text.encode("latin1")


def _dtype(name, *args):
    return convert_dtype(np.dtype(str(name))).np


def _ndarray(*args):
    return np.ndarray((0,), "b")


_RECONSTRUCT = np.core.multiarray._reconstruct if np.__version__ < "2" else \
    np._core.multiarray._reconstruct
_SCALAR = np.core.multiarray.scalar if np.__version__ < "2" else np._core.multiarray.scalar
_ADMITTED = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype,
             ("_codecs", "encode"): _codec, ("collections", "OrderedDict"): dict}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ADMITTED[_module, "_reconstruct"] = _RECONSTRUCT
    _ADMITTED[_module, "scalar"] = _SCALAR


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


def _from_paddle(value, return_numpy):
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            raise _Refused(f"holds an array of {value.dtype}")
        return value if return_numpy else to_tensor(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and \
            isinstance(value[1], np.ndarray):       # Paddle writes a lone tensor as (name, array)
        if return_numpy:
            return value[1]
        t = to_tensor(value[1])
        t.name = value[0]
        return t
    if isinstance(value, dict):
        return {k: _from_paddle(v, return_numpy) if k != "StructuredToParameterName@@" else v
                for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_from_paddle(v, return_numpy) for v in value)
    return value
