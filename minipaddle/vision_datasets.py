"""paddle.vision.datasets: the digits that come with the package, and MNIST from its own files.

Imports io (Dataset) and below. Nothing here ever downloads: what is absent is asked for by name.
"""
from __future__ import annotations

import gzip
import importlib.resources
import io as streams
import os
import zlib
from collections.abc import Callable

import numpy as np

from .dtypes import get_default_dtype
from .io import Dataset

_BACKENDS = ("array", "pil", "cv2")
_backend = "array"


def set_image_backend(backend: str) -> None:
    """Choose what image datasets give: 'array' (uint8 arrays), 'pil' (PIL images) or 'cv2'.

    'cv2' gives float arrays, not divided by 255, as Paddle's datasets do under that name. The
    default differs from Paddle's ('pil'), since Pillow need not be installed; transforms give
    the same numbers from 'array' as from 'pil'.

    >>> import minipaddle as paddle
    >>> paddle.vision.set_image_backend('cv2'); paddle.vision.get_image_backend()
    'cv2'
    >>> paddle.vision.set_image_backend('array')
    """
    global _backend
    _backend = _known_backend(backend)


def get_image_backend() -> str:
    """The image backend in force; see `set_image_backend`.

    >>> import minipaddle as paddle
    >>> paddle.vision.get_image_backend()
    'array'
    """
    return _backend


def _known_backend(backend: str) -> str:
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, _BACKENDS))}, "
                         f"got {backend!r}")
    return backend


def _known_mode(mode: str) -> str:
    if not isinstance(mode, str) or mode.lower() not in ("train", "test"):
        raise ValueError(f"mode must be 'train' or 'test', got {mode!r}")
    return mode.lower()


class _Images(Dataset):
    """Images [N, H, W] uint8 with labels [N]; an item is (image, int64 label of shape [1])."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, transform: Callable | None,
                 backend: str | None) -> None:
        self.backend = _known_backend(_backend if backend is None else backend)
        self.images, self.transform = images, transform
        self.labels = labels.astype("int64")[:, None]
        self.dtype = get_default_dtype()

    def __getitem__(self, idx: int):
        image = self.images[idx]
        if self.backend == "pil":
            image = _as_pil(image)
        elif self.backend == "cv2":
            image = image.astype("float32")
        if self.transform is not None:
            image = self.transform(image)
        if self.backend == "cv2":
            image = image.astype(self.dtype)
        return image, self.labels[idx]

    def __len__(self) -> int:
        return len(self.labels)


def _as_pil(image: np.ndarray):
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("backend='pil' needs Pillow, which is not installed: pip install "
                          "pillow; or use backend='array'") from None
    return Image.fromarray(image)


class Digits(_Images):
    """Handwritten digits that come with the package: 1,797 grey images of 8 x 8, values 0 to 16.

    An item is `(image, label)`: the image a uint8 array [8, 8], or what `transform` makes of it;
    the label an int64 array of shape [1], as MNIST gives. `mode='test'` holds every fifth image
    of each digit in the file's order (355), `mode='train'` the others (1,442): the same split
    for everyone, and every digit's share is kept. Raises ValueError for another mode.

    Source: E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine
    Learning Repository, 1998, https://doi.org/10.24432/C50P49, licence CC BY 4.0; the 1,797
    images of its testing file. See docs/data.md.

    >>> import minipaddle as paddle
    >>> digits = paddle.vision.datasets.Digits(mode='test')
    >>> image, label = digits[0]
    >>> len(digits), image.shape, image.dtype.name, int(label[0])
    (355, (8, 8), 'uint8', 5)
    """

    def __init__(self, mode: str = "train", transform: Callable | None = None,
                 backend: str | None = None) -> None:
        self.mode = _known_mode(mode)
        packed = importlib.resources.files(__package__).joinpath("data", "digits.npz").read_bytes()
        with np.load(streams.BytesIO(packed), allow_pickle=False) as file:
            images, labels = file["images"], file["labels"]
            self.source, self.licence = str(file["source"]), str(file["licence"])
        held_out = np.zeros(len(labels), bool)
        for digit in range(10):
            held_out[np.flatnonzero(labels == digit)[4::5]] = True
        chosen = held_out if self.mode == "test" else ~held_out
        super().__init__(images[chosen], labels[chosen], transform, backend)


class MNIST(_Images):
    """The MNIST handwritten digits, read from the original IDX files (raw or gzipped).

    `image_path`, `label_path`: the two files of the chosen `mode`; without them they are looked
    for in `~/.cache/paddle/dataset/mnist` under their original names. An item is
    `(image, label)`: a uint8 array [28, 28], or what `transform` makes of it, and an int64 array
    of shape [1]. With `backend='pil'` the image is a PIL image, with 'cv2' a float array of the
    default dtype. `download` is accepted and nothing is ever downloaded: FileNotFoundError says
    where to get the files. A damaged file raises ValueError naming it.

    Source: Y. LeCun, C. Cortes, C. Burges, *The MNIST database of handwritten digits*; the
    format is described at http://yann.lecun.com/exdb/mnist/.

    >>> import minipaddle as paddle
    >>> paddle.vision.datasets.MNIST('nowhere.gz', 'nowhere-either.gz')
    Traceback (most recent call last):
        ...
    FileNotFoundError: MNIST: image_path 'nowhere.gz' is not there. ...
    """

    NAME = "mnist"
    HOME = "https://storage.googleapis.com/cvdf-datasets/mnist/"

    def __init__(self, image_path: str | None = None, label_path: str | None = None,
                 mode: str = "train", transform: Callable | None = None, download: bool = True,
                 backend: str | None = None) -> None:
        self.mode = _known_mode(mode)
        self.image_path = self._find("image_path", image_path, "images-idx3-ubyte")
        self.label_path = self._find("label_path", label_path, "labels-idx1-ubyte")
        images = _read_idx(self.image_path, dims=3)
        labels = _read_idx(self.label_path, dims=1)
        if len(images) != len(labels):
            raise ValueError(f"{type(self).__name__}: {self.image_path!r} holds {len(images)} "
                             f"images and {self.label_path!r} {len(labels)} labels; the two "
                             f"belong to different sets")
        super().__init__(images, labels, transform, backend)

    def _find(self, argument: str, path: str | None, ending: str) -> str:
        name = ("train-" if self.mode == "train" else "t10k-") + ending
        folder = os.path.join(os.path.expanduser("~"), ".cache", "paddle", "dataset", self.NAME)
        if path is not None:
            if os.path.isfile(path):
                return os.fspath(path)
            missing = f"{argument} {os.fspath(path)!r} is not there"
        else:
            for found in (os.path.join(folder, name + ".gz"), os.path.join(folder, name)):
                if os.path.isfile(found):
                    return found
            missing = f"{name}.gz is not in {folder}"
        raise FileNotFoundError(
            f"{type(self).__name__}: {missing}. minipaddle never downloads: get {name}.gz from "
            f"{self.HOME}, then put it there or give its path as {argument}=. "
            f"(paddle.vision.datasets.Digits comes with the package.)")


class FashionMNIST(MNIST):
    """Fashion-MNIST, 28 x 28 grey images of ten kinds of clothes; used as `MNIST` is.

    Its default folder is `~/.cache/paddle/dataset/fashion-mnist`. Source: H. Xiao, K. Rasul,
    R. Vollgraf, *Fashion-MNIST*, 2017, https://github.com/zalandoresearch/fashion-mnist (MIT).

    >>> import minipaddle as paddle
    >>> paddle.vision.datasets.FashionMNIST('nowhere.gz')
    Traceback (most recent call last):
        ...
    FileNotFoundError: FashionMNIST: image_path 'nowhere.gz' is not there. ...
    """

    NAME = "fashion-mnist"
    HOME = "https://github.com/zalandoresearch/fashion-mnist (its data/fashion folder)"


def _read_idx(path: str, dims: int) -> np.ndarray:
    """An IDX file of bytes with `dims` dimensions: big-endian magic 0x0800 + dims, sizes, data."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path!r} is damaged or cut short: {error}; fetch it again") from error
    kind = "images" if dims == 3 else "labels"
    head = 4 + 4 * dims
    magic = int.from_bytes(data[:4], "big")
    if len(data) < head or magic != 0x0800 + dims:
        raise ValueError(f"{path!r} is not an IDX file of {kind}: it begins with "
                         f"{data[:4].hex() or 'nothing'}, not {0x0800 + dims:08x}")
    shape = tuple(int(n) for n in np.frombuffer(data, ">u4", dims, offset=4))
    size = int(np.prod(shape, dtype=object))
    if len(data) != head + size:
        raise ValueError(f"{path!r} is damaged or cut short: its header promises {list(shape)} "
                         f"{kind}, {size} bytes, and {len(data) - head} are there; fetch it again")
    return np.frombuffer(data, np.uint8, size, offset=head).reshape(shape)
