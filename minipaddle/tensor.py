"""The tensor: an array with a device, a place in the graph, a gradient, and the memory it shares.

Imports dtypes, device, modes and worlds; the graph's own work is engine.py's. Most methods are
not here: they arrive from the ops' definitions.
"""
from __future__ import annotations

import copy
import itertools
import sys
from weakref import ref

import numpy as np

from .device import CPU, Place, asarray, asnumpy, current_place, is_array, parse, place_of, xp_of
from .dtypes import F16, F32, F64, DType, convert_dtype, default_complex, default_float
from .kernels_half import narrow, widen
from .modes import local, lock
from .worlds import ops

ndarray = np.ndarray
SCALARS = (bool, int, float, complex, np.generic)
next_serial = itertools.count(1).__next__    # numbers nodes and in-place writes alike


class Tensor:
    """An array with a device, a place in the graph, and a gradient.

    Tensor(array) wraps an array without copying; users call `paddle.to_tensor`.
    Class-level defaults keep the making of a result cheap: only what differs is set.
    """

    stop_gradient = True
    persistable = False
    serial = 0              # of a node it is its number; 0 says that an edge ends at a leaf
    _node = None            # what made it; None for a leaf
    _grad = None
    _hooks = None           # of a leaf; a result's are on its node
    _storage = None         # shared with views, once there are any or it was written in place
    _name = None
    __array_priority__ = 100

    def __init__(self, data, dtype=None) -> None:
        if not is_array(data) and not hasattr(data, "_abstract"):
            data = to_tensor(data, dtype)._data
        self._data = data

    # -- what it is
    @property
    def shape(self) -> list:
        return list(self._data.shape)

    @property
    def dtype(self) -> DType:
        return convert_dtype(self._data.dtype)

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return int(self._data.size)

    @property
    def place(self) -> Place:
        return place_of(self._data)

    @property
    def name(self) -> str:
        if self._name is None:
            self._name = unique_name("generated_tensor")
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def is_leaf(self) -> bool:
        return self.stop_gradient or self._node is None

    # -- to the host
    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array: writing to it changes nothing here."""
        a = asnumpy(self._data)
        return a.copy() if a is self._data else a

    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        # ndarray + tensor is a Tensor, as tensor + ndarray is; other ufuncs get plain arrays.
        operator = _UFUNCS.get(ufunc.__name__)
        if operator and method == "__call__" and not kwargs and len(inputs) == 2:
            if isinstance(inputs[0], ndarray):
                return getattr(to_tensor(inputs[0]), operator)(inputs[1])
            if isinstance(inputs[0], np.generic):   # a scalar: it must not widen the tensor
                mirrored = _MIRRORED.get(operator) or "__r" + operator[2:]
                return getattr(inputs[1], mirrored)(inputs[0])
        arrays = [t.numpy() if isinstance(t, Tensor) else t for t in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    def item(self, *args):
        """The value of a one-element tensor, or of the element at a flat index or indices."""
        a = asnumpy(self._data)
        if args:
            return a.item(*args)
        if a.size != 1:
            raise ValueError(f"item: only a tensor of one element is a Python number, this one has "
                             f"shape {self.shape}; item(i) takes a flat index")
        return a.item()

    def tolist(self):
        return asnumpy(self._data).tolist()

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ValueError(f"bool: the truth value of a tensor of {self._data.size} elements is "
                             "ambiguous; use .any() or .all()")
        return bool(asnumpy(self._data).reshape(()))

    def _number(self, kind):
        if self._data.size != 1:
            raise TypeError(f"{kind.__name__}: only a tensor of one element can be converted, this "
                            f"one has shape {self.shape}")
        return kind(asnumpy(self._data).reshape(()).item())

    def __int__(self) -> int:
        return self._number(int)

    def __float__(self) -> float:
        return self._number(float)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub":
            raise TypeError(f"a {self._data.dtype} tensor cannot be used as an index")
        return self._number(int)

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __iter__(self):
        if not self._data.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self._data.shape[0]))

    def __format__(self, spec: str) -> str:
        return format(self.item() if spec and self._data.size == 1 else str(self), spec)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from .printing import tensor_text
        return tensor_text(self)

    # -- gradients
    @property
    def grad(self):
        """The accumulated gradient, a Tensor, or None."""
        if self._grad is ZERO:
            self._grad = Tensor(xp_of(self._data).zeros(self._data.shape, self._data.dtype))
        return self._grad

    @grad.setter
    def grad(self, value) -> None:
        if value is not None:
            value = value if isinstance(value, Tensor) else to_tensor(value)
            if value._data.shape != self._data.shape:
                raise ValueError(f"grad: a gradient of shape {value.shape} cannot belong to a "
                                 f"tensor of shape {self.shape}")
        self._grad = value

    def gradient(self):
        """The gradient as a NumPy array, or None."""
        return None if self.grad is None else self.grad.numpy()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradient, or drop it with set_to_zero=False."""
        self._grad = ZERO if set_to_zero and self._grad is not None else None

    clear_gradient = clear_grad

    def backward(self, grad_tensor=None, retain_graph: bool = False) -> None:
        """Accumulate d self / d leaf into each leaf's `.grad`; starts from ones or grad_tensor.

        RuntimeError when the graph was freed by an earlier backward without retain_graph.
        """
        from .engine import backward
        backward([self], None if grad_tensor is None else [grad_tensor], retain_graph)

    def register_hook(self, hook):
        """Call `hook(grad)` when this tensor's gradient is complete; what it returns replaces it.

        Returns an object whose `remove()` takes the hook away.
        """
        if self.stop_gradient:
            raise RuntimeError("register_hook: this tensor has stop_gradient=True and gets none")
        owner = self if self._node is None else self._node
        where = "_hooks" if owner is self else "hooks"
        if getattr(owner, where) is None:
            setattr(owner, where, {})
        return HookRemover(getattr(owner, where), hook)

    def retain_grads(self) -> None:
        """Keep `.grad` of a result too."""
        if self._node is None or self.stop_gradient:
            return
        me = ref(self)

        def keep(g):
            t = me()
            if t is not None:
                old = t.grad
                t._grad = Tensor(g._data.copy() if old is None else old._data + g._data)
        self.register_hook(keep)

    def detach(self) -> "Tensor":
        """The same memory outside the graph."""
        t = Tensor(self._data)
        share(self, t)
        return t

    def detach_(self) -> "Tensor":
        self._node, self.stop_gradient = None, True
        return self

    def _alias(self) -> "Tensor":
        """The same value and history as another object; does not share in-place bookkeeping."""
        t = Tensor(self._data)
        t.stop_gradient, t._node = self.stop_gradient, self._node
        return t

    # -- values
    def set_value(self, value) -> None:
        """Overwrite the values: an array, Tensor or number of the same shape; the dtype stays."""
        if local.tracer is not None:
            result = local.tracer.set_value(self, value)
            if result is not NotImplemented:
                return
        source = value._data if isinstance(value, Tensor) else value
        if not is_array(source):
            source = np.asarray(source)
        if tuple(source.shape) != self._data.shape:
            raise ValueError(f"set_value: {self._name or 'the tensor'} has shape {self.shape}, the "
                             f"value has {list(source.shape)}")
        source = asarray(source, self.place).astype(self._data.dtype)
        if self._storage is not None and self._storage.shared:
            self._data[...] = source
        else:
            self._data = source if source is not getattr(value, "_data", value) else source.copy()
        written(self)

    def copy_(self, other, blocking: bool = True) -> "Tensor":
        self.set_value(other)
        return self

    @property
    def data(self) -> "Tensor":
        return self

    @data.setter
    def data(self, value) -> None:
        self.set_value(value)

    def cpu(self) -> "Tensor":
        """This tensor in host memory (itself when it is there)."""
        return self if self.place == CPU else ops.to_place(self, CPU)

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> "Tensor":
        """This tensor on a GPU (itself when it is there)."""
        place = parse(f"gpu:{device_id or 0}")
        return self if self.place == place else ops.to_place(self, place)

    def pin_memory(self) -> "Tensor":
        return self.cpu()

    def __copy__(self):
        return self.detach()

    def __deepcopy__(self, memo):
        if self._node is not None:
            raise RuntimeError("deepcopy: only leaf tensors can be copied; use clone() or detach()")
        t = type(self).__new__(type(self))
        memo[id(self)] = t
        for key, value in self.__dict__.items():
            if key == "_data":
                t._data = value.copy()
            elif key not in ("_storage", "_hooks", "_name"):
                setattr(t, key, copy.deepcopy(value, memo) if value is not ZERO else ZERO)
        if self._name is not None:
            t._name = unique_name(self._name + "_deepcopy")
        return t

    def __reduce__(self):
        return _rebuild, (type(self), asnumpy(self._data), self.stop_gradient, self._name)


_UFUNCS = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__",
           "divide": "__truediv__", "true_divide": "__truediv__", "floor_divide": "__floordiv__",
           "remainder": "__mod__", "power": "__pow__", "matmul": "__matmul__",
           "equal": "__eq__", "not_equal": "__ne__", "less": "__lt__", "less_equal": "__le__",
           "greater": "__gt__", "greater_equal": "__ge__", "bitwise_and": "__and__",
           "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
_MIRRORED = {"__eq__": "__eq__", "__ne__": "__ne__", "__lt__": "__gt__", "__le__": "__ge__",
             "__gt__": "__lt__", "__ge__": "__le__"}
new_tensor = Tensor.__new__
ZERO = object()            # a cleared gradient: zeros once somebody looks


class Parameter(Tensor):
    """A tensor that training changes: gradients wanted, named, listed by its Layer."""

    stop_gradient = False
    persistable = True
    is_distributed = False
    need_clip = True
    regularizer = None
    do_model_average = None

    def __init__(self, data, dtype=None, name: str | None = None, trainable: bool = True) -> None:
        super().__init__(data, dtype)
        self.stop_gradient = not trainable
        self._name = name or unique_name("_eager_param_base")
        self.optimize_attr = {"learning_rate": 1.0}

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not value


def _rebuild(kind, array, stop_gradient, name):
    t = kind.__new__(kind)
    t._data, t.stop_gradient, t._name = asarray(array, current_place()), stop_gradient, name
    if kind is Parameter:
        t.optimize_attr = {"learning_rate": 1.0}
    return t


class HookRemover:
    """What register_hook returns: `remove()` takes the hook away."""

    def __init__(self, hooks: dict, hook) -> None:
        self._hooks, self._key = hooks, object()
        hooks[self._key] = hook

    def remove(self) -> bool:
        return self._hooks.pop(self._key, None) is not None


OPERANDS = {Tensor, Parameter, float, int}
_counters: dict[str, int] = {}


def unique_name(kind: str) -> str:
    """`kind_0`, `kind_1`, ...: a counter for each kind."""
    with lock:
        n = _counters.get(kind, 0)
        _counters[kind] = n + 1
    return f"{kind}_{n}"


def to_tensor(data, dtype=None, place=None, stop_gradient: bool = True) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested list, NumPy array or Tensor.

    Python floats become the default dtype (float32), ints int64, bools bool; NumPy arrays keep
    their dtype. place: 'cpu', 'gpu', a place; the current device when None.
    ValueError for ragged lists, TypeError for what holds no numbers.

    >>> import minipaddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]]).dtype
    paddle.int64
    >>> paddle.to_tensor([1.5, 2]).dtype
    paddle.float32
    """
    wanted = None if dtype is None else convert_dtype(dtype).np
    if local.tracer is not None:
        built = local.tracer.to_tensor(data, wanted)
        if built is not NotImplemented:
            return built
    place = current_place() if place is None else parse(place)
    if isinstance(data, Tensor):
        if not is_array(data._data):
            return data if wanted is None else ops.cast(data, wanted)
        source, weak = data._data, False
    elif is_array(data):
        source, weak = data, False
    else:
        try:
            source, weak = np.asarray(_plain_data(data)), True
        except ValueError as error:
            raise ValueError("to_tensor: data is no rectangular list of numbers "
                             f"({error})") from None
    if source.dtype.kind not in "biufc":
        raise TypeError(f"to_tensor: data must hold numbers or bools, got {kind_of(data)}")
    if wanted is None:
        wanted = source.dtype
        if weak and wanted.kind == "f" and source.dtype is F64:
            wanted = default_float()
        elif weak and wanted.kind == "c":
            wanted = default_complex()
        elif weak and wanted.kind == "f":
            wanted = default_float()
    array = asarray(source, place)
    array = array.astype(wanted) if array.dtype != wanted else \
        array.copy() if array is source else array
    t = Tensor(np.ascontiguousarray(array).reshape(array.shape) if xp_of(array) is np else array)
    t.stop_gradient = stop_gradient
    return t


def _plain_data(data):
    """Nested lists with the tensors in them read out."""
    if isinstance(data, (list, tuple)):
        return [_plain_data(v) for v in data]
    if isinstance(data, Tensor):
        return asnumpy(data._data)
    return data




# ---- small helpers of the layers above
class Constant:
    """A number as an input: a constant with a 0-d array, which NumPy takes fastest."""

    stop_gradient, _storage, _node = True, None, None

    def __init__(self, data) -> None:
        self._data = data


def flat(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from v
        else:
            yield v


def recast(value, old, new):
    """The same structure with arrays of dtype `old` turned to `new`."""
    if isinstance(value, (list, tuple)):
        return type(value)(recast(v, old, new) for v in value)
    return astype(value, new) if getattr(value, "dtype", None) == old else value


def astype(array, dtype):
    """A copy with another NumPy dtype; NumPy's slow casts of half precision are avoided."""
    if type(array) is ndarray:
        if array.dtype is F16 and dtype is F32:
            return widen(array)
        if array.dtype is F32 and dtype is F16:
            return narrow(array)
    return array.astype(dtype)


def kind_of(value) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r:.60}"


# ---- shared memory
class Storage:
    """What tensors that share memory share: who they are, when and where it was last written."""

    stamp = 0               # the serial of the last write
    shared = False          # are there views, or another owner?
    where = ""              # the line of the last write
    sharers: list | tuple = ()


def same_memory(a, b) -> bool:
    if type(a) is not ndarray:
        return a is b or bool(xp_of(a).may_share_memory(a, b))
    base, other = a.base, b.base
    return a is b or base is b or other is a or (base is not None and base is other)


def share(x, view=None) -> None:
    """Note that x's memory is shared (with `view`, where given): writes must then go into it."""
    storage = x._storage
    if storage is None:
        storage = x._storage = Storage()
    storage.shared = True
    if view is not None:
        sharers = storage.sharers
        if not sharers:
            sharers = storage.sharers = [ref(x)]
        if len(sharers) > 64 and len(sharers) & (len(sharers) - 1) == 0:
            sharers[:] = [r for r in sharers if r() is not None]
        sharers.append(ref(view))
        view._storage = storage


def written(x, recorded: bool = False, serial: int | None = None) -> None:
    """Stamp x's memory as written in place just now: older nodes that kept it must refuse.

    A recorded write makes the history of all who share the memory stale: they lack that write.
    """
    s = x._storage
    if s is None:
        s = x._storage = Storage()
    s.stamp = serial or next_serial()
    s.where = _user_line()
    if recorded:
        from .engine import Stale
        for other in s.sharers:
            t = other()
            if t is not None and t is not x:
                t._node, t.stop_gradient = Stale(s.where), False


def refuse_leaf(x, name) -> None:
    """An in-place write must not lose the value of a leaf that gradients are wanted for."""
    for t in [x] if x._storage is None else [x] + [r() for r in x._storage.sharers]:
        if t is not None and not t.stop_gradient and t._node is None:
            whose = "x is a leaf" if t is x else "x shares memory with a leaf"
            raise RuntimeError(f"{name}: {whose} that needs gradients; it cannot be changed in "
                               "place. Do it under paddle.no_grad(), or work on x.clone()")


def _user_line() -> str:
    """' at file:line' of the nearest frame outside the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"


