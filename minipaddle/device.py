"""Devices: places, which array module an array belongs to, random generators.

Imports dtypes' level alone. CuPy is imported only when a GPU is first asked for; any installed
CuPy serves. There are just two ways over the bridge: `asnumpy` (device to host) and `asarray`.
"""
from __future__ import annotations

import sys

import numpy as np


class Place:
    """Where a tensor lives; `CPUPlace()` or `CUDAPlace(0)`."""

    kind, index = "cpu", 0

    def __repr__(self) -> str:
        return f"Place({self})"

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def is_cpu_place(self) -> bool:
        return self.kind == "cpu"

    def is_gpu_place(self) -> bool:
        return self.kind == "gpu"


class CPUPlace(Place):
    """The host's memory, computed by NumPy."""


class CUDAPlace(Place):
    """The memory of GPU number `id`, computed by CuPy."""

    kind = "gpu"

    def __init__(self, id: int = 0) -> None:
        self.index = int(id)


class CUDAPinnedPlace(CPUPlace):
    """Accepted where Paddle has it; the host's ordinary memory here."""


CPU = CPUPlace()
_place: Place = CPU
_seed = None
_generators: dict = {}


def _cupy():
    """CuPy, imported on first need, with a clear error where there is none."""
    try:
        import cupy
    except ImportError:
        raise RuntimeError(
            "device 'gpu' needs CuPy, which is not installed: pip install 'minipaddle[cuda]' "
            "(CUDA 12) or 'minipaddle[cuda13]'; or use paddle.set_device('cpu')") from None
    return cupy


def parse(device) -> Place:
    """A `Place` from 'cpu', 'gpu', 'gpu:1' or a place; ValueError for anything else."""
    if isinstance(device, Place):
        return device
    name, _, index = str(device).partition(":")
    if name == "cpu" and not index:
        return CPU
    if name in ("gpu", "cuda") and (index or "0").isdigit():
        return CUDAPlace(int(index or 0))
    raise ValueError(f"device must be 'cpu', 'gpu' or 'gpu:<number>', got {device!r}")


def set_device(device: str) -> Place:
    """Choose where new tensors live: 'cpu', 'gpu' or 'gpu:0'. Returns the place.

    RuntimeError when a GPU is asked for and CuPy or a card is missing.

    >>> import minipaddle as paddle
    >>> paddle.set_device('cpu')
    Place(cpu)
    """
    global _place
    place = parse(device)
    if place.kind == "gpu":
        count = device_count()
        if place.index >= count:
            raise RuntimeError(f"set_device({device!r}): CuPy finds {count} GPUs; "
                               "paddle.set_device('cpu') runs on the processor")
        _cupy().cuda.Device(place.index).use()
    _place = place
    return place


def get_device() -> str:
    """The current device as text, 'cpu' or 'gpu:0'.

    >>> import minipaddle as paddle
    >>> paddle.get_device()
    'cpu'
    """
    return str(_place)


def current_place() -> Place:
    """The place of new tensors."""
    return _place


def device_count() -> int:
    """How many GPUs CuPy sees."""
    try:
        return int(_cupy().cuda.runtime.getDeviceCount())
    except RuntimeError as error:
        if "not installed" in str(error):
            raise
        return 0                                    # the driver is missing or too old


def is_compiled_with_cuda() -> bool:
    """Whether a GPU can be used: CuPy is installed and finds a card.

    >>> import minipaddle as paddle
    >>> isinstance(paddle.is_compiled_with_cuda(), bool)
    True
    """
    try:
        return device_count() > 0
    except RuntimeError:
        return False


def xp_of(array):
    """The array module an array belongs to: numpy, or cupy."""
    return np if isinstance(array, (np.ndarray, np.generic)) else sys.modules["cupy"]


def is_array(value) -> bool:
    """Whether a value is an array of one of the devices."""
    if isinstance(value, np.ndarray):
        return True
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, cupy.ndarray)


def module_of(place: Place):
    """The array module that computes at a place."""
    return np if place.kind == "cpu" else _cupy()


def current_xp():
    """The array module of the current device: what creation operations draw on."""
    return module_of(_place)


def place_of(array) -> Place:
    """The place an array lives at."""
    if isinstance(array, (np.ndarray, np.generic)):
        return CPU
    return CUDAPlace(array.device.id)


def asnumpy(array) -> np.ndarray:
    """The one way from a device to the host; an array of the host comes back as it is."""
    return np.asarray(array) if isinstance(array, (np.ndarray, np.generic)) else array.get()


def asarray(array, place: Place):
    """The array at a place: itself if it is there already, else a copy."""
    xp = module_of(place)
    if xp is np:
        return asnumpy(array)
    return array if isinstance(array, xp.ndarray) else xp.asarray(array)


# ---- random numbers: one generator a device
def generator(xp):
    """The random generator of a device, made on first use."""
    found = _generators.get(xp)
    if found is None:
        found = _generators[xp] = _new_generator(xp, _seed)
    return found


def _new_generator(xp, seed):
    # SFC64 is NumPy's fastest; CuPy's own default is a counter-based one.
    return np.random.Generator(np.random.SFC64(seed)) if xp is np else xp.random.default_rng(seed)


class Generator:
    """The random state of a device as `paddle.seed` returns it."""

    def __init__(self, xp) -> None:
        self._xp = xp

    def manual_seed(self, seed: int) -> "Generator":
        _generators[self._xp] = _new_generator(self._xp, int(seed))
        return self

    def get_state(self):
        gen = generator(self._xp)
        if self._xp is not np:
            raise NotImplementedError("get_rng_state: CuPy does not give out a generator's state; "
                                      "use paddle.seed")
        return gen.bit_generator.state

    def set_state(self, state) -> None:
        if self._xp is not np:
            raise NotImplementedError("set_rng_state: CuPy does not take a generator's state; "
                                      "use paddle.seed")
        generator(np).bit_generator.state = state


def seed(seed: int) -> Generator:
    """Restart the generators of all devices from one number; the same seed, the same draws.

    >>> import minipaddle as paddle
    >>> _ = paddle.seed(7); a = paddle.rand([3])
    >>> _ = paddle.seed(7); b = paddle.rand([3])
    >>> bool((a == b).all())
    True
    """
    global _seed
    _seed = int(seed)
    _generators.clear()
    return Generator(current_xp())


def get_rng_state() -> list:
    """The state of the current device's generator, for `set_rng_state`."""
    return [Generator(current_xp()).get_state()]


def set_rng_state(state_list) -> None:
    """Restore what `get_rng_state` gave."""
    Generator(current_xp()).set_state(state_list[0])
