"""paddle.vision.transforms: what is done to one image before it reaches a network.

Images are arrays [H, W] or [H, W, C] (a PIL image counts as one), or Tensors [C, H, W]. The
functions come first, then the classes that wrap them. Imports tensor level and below. Random
transforms draw from Python's `random` (areas from `numpy.random`), as Paddle's do.
"""
from __future__ import annotations

import math
import numbers
import random
from collections.abc import Callable, Sequence

import numpy as np

from .core import Tensor
from .core import to_tensor as _tensor

__all__ = [
    "BaseTransform", "CenterCrop", "Compose", "Grayscale", "Normalize", "Pad", "RandomCrop",
    "RandomHorizontalFlip", "RandomResizedCrop", "RandomVerticalFlip", "Resize", "ToTensor",
    "Transpose", "center_crop", "crop", "hflip", "normalize", "pad", "resize", "to_grayscale",
    "to_tensor", "vflip",
]


def _image(function: str, img):
    """An array or Tensor of 2 or 3 dimensions; a PIL image becomes its array."""
    if not isinstance(img, (np.ndarray, Tensor)):
        img = np.asarray(img) if hasattr(img, "__array_interface__") else img
    if not isinstance(img, (np.ndarray, Tensor)) or img.ndim not in (2, 3):
        what = f"shape {list(img.shape)}" if hasattr(img, "shape") else type(img).__name__
        raise TypeError(f"{function}: an image is an array [H, W] or [H, W, C], a PIL image or a "
                        f"Tensor [C, H, W], got {what}")
    return img


def _size(img) -> tuple[int, int]:
    """Height and width."""
    return tuple(img.shape[-2:]) if isinstance(img, Tensor) else tuple(img.shape[:2])


def _pair(name: str, value) -> tuple[int, int]:
    if isinstance(value, numbers.Integral):
        return int(value), int(value)
    if isinstance(value, numbers.Number) and value == int(value):
        return int(value), int(value)
    if isinstance(value, Sequence) and len(value) == 2:
        return int(value[0]), int(value[1])
    raise TypeError(f"{name} must be one number or (height, width), got {value!r}")


# ---- functions
def to_tensor(pic, data_format: str = "CHW") -> Tensor:
    """A Tensor [C, H, W] (or [H, W, C]) from an image; uint8 becomes float32 divided by 255.

    Other dtypes keep their values. A grey image [H, W] gets one channel.

    >>> import numpy as np, minipaddle as paddle
    >>> t = paddle.vision.transforms.to_tensor(np.full([2, 3], 51, 'uint8'))
    >>> t.shape, round(float(t[0, 0, 0]), 6)
    ([1, 2, 3], 0.2)
    """
    if data_format not in ("CHW", "HWC"):
        raise ValueError(f"to_tensor: data_format must be 'CHW' or 'HWC', got {data_format!r}")
    pic = _image("to_tensor", pic)
    if isinstance(pic, Tensor):
        return pic
    if pic.ndim == 2:
        pic = pic[:, :, None]
    if data_format == "CHW":
        pic = pic.transpose(2, 0, 1)
    if pic.dtype == np.uint8:
        pic = pic.astype(np.float32) / np.float32(255)
    return _tensor(np.ascontiguousarray(pic))


def normalize(img, mean, std, data_format: str = "CHW", to_rgb: bool = False):
    """`(img - mean) / std` for each channel; nothing is divided by 255.

    `mean`, `std`: a number for each channel, which stands first in 'CHW' and last in 'HWC'. An
    [H, W] image comes out with the channel axis: [1, H, W]. `to_rgb` reverses the last axis.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.normalize(np.full([2, 2], 9, 'uint8'), [8.0], [2.0]).tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    if data_format not in ("CHW", "HWC"):
        raise ValueError(f"normalize: data_format must be 'CHW' or 'HWC', got {data_format!r}")
    img = _image("normalize", img)
    shape = (-1, 1, 1) if data_format == "CHW" else (1, 1, -1)
    mean = np.asarray(mean, np.float32).reshape(shape)
    std = np.asarray(std, np.float32).reshape(shape)
    if to_rgb:
        img = img[..., ::-1]
    if isinstance(img, Tensor):
        mean, std = _tensor(mean, place=img.place), _tensor(std, place=img.place)
    channels, at = mean.shape[0 if data_format == "CHW" else 2], 0 if data_format == "CHW" else -1
    if img.ndim == 3 and channels not in (1, img.shape[at]):
        raise ValueError(f"normalize: {channels} means for an image of shape {list(img.shape)}, "
                         f"whose {data_format} has {img.shape[at]} channels; give one number a "
                         f"channel, or the other data_format")
    return (img - mean) / std


def resize(img, size, interpolation: str = "bilinear"):
    """The image scaled to `size`: (height, width), or a number for the shorter side.

    'nearest' and 'bilinear' with half-pixel centres and no smoothing, as OpenCV does it; uint8
    is rounded. Takes arrays and PIL images, not Tensors: resize before ToTensor.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.resize(np.array([[0., 4.]]), (1, 4)).tolist()
    [[0.0, 1.0, 3.0, 4.0]]
    """
    img = _image("resize", img)
    if isinstance(img, Tensor):
        raise TypeError("resize: takes an array or a PIL image; put Resize before ToTensor, or "
                        "use paddle.nn.functional.interpolate on a Tensor")
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"resize: interpolation must be 'nearest' or 'bilinear', "
                         f"got {interpolation!r}")
    h, w = _size(img)
    if isinstance(size, numbers.Integral):
        if min(h, w) == size:
            return img
        oh, ow = (int(size * h / w), size) if w < h else (size, int(size * w / h))
    else:
        oh, ow = _pair("resize: size", size)
    if min(oh, ow, h, w) < 1:
        raise ValueError(f"resize: cannot make [{oh}, {ow}] of an image [{h}, {w}]")
    if interpolation == "nearest":
        rows = np.minimum(np.arange(oh) * h // oh, h - 1)
        columns = np.minimum(np.arange(ow) * w // ow, w - 1)
        return img[rows[:, None], columns]
    kind = img.dtype if img.dtype.kind == "f" else np.dtype(np.float32)
    top, bottom, down = _between(h, oh, kind)
    left, right, along = _between(w, ow, kind)
    down = down.reshape((-1, 1) + (1,) * (img.ndim - 2))
    along = along.reshape((1, -1) + (1,) * (img.ndim - 2))
    rows = img[top] * (1 - down) + img[bottom] * down
    out = rows[:, left] * (1 - along) + rows[:, right] * along
    if img.dtype.kind in "iu":
        limits = np.iinfo(img.dtype)
        out = np.clip(np.rint(out), limits.min, limits.max)
    return out.astype(img.dtype)


def _between(old: int, new: int, kind: np.dtype):
    """For each new pixel: the two old ones its centre lies between, and the second's share."""
    centre = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0, old - 1)
    first = np.floor(centre).astype(np.int64)
    return first, np.minimum(first + 1, old - 1), (centre - first).astype(kind)


def crop(img, top: int, left: int, height: int, width: int):
    """The part [height, width] of the image whose corner is at (top, left).

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.crop(np.arange(9).reshape(3, 3), 1, 1, 2, 2).tolist()
    [[4, 5], [7, 8]]
    """
    img = _image("crop", img)
    rows, columns = slice(top, top + height), slice(left, left + width)
    return img[..., rows, columns] if isinstance(img, Tensor) else img[rows, columns]


def center_crop(img, output_size):
    """The middle part of the image; `output_size` is (height, width) or one number for both.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.center_crop(np.arange(9).reshape(3, 3), 1).tolist()
    [[4]]
    """
    img = _image("center_crop", img)
    th, tw = _pair("center_crop: output_size", output_size)
    h, w = _size(img)
    if th > h or tw > w:
        raise ValueError(f"center_crop: [{th}, {tw}] is larger than the image [{h}, {w}]")
    return crop(img, round((h - th) / 2), round((w - tw) / 2), th, tw)


def hflip(img):
    """The image mirrored, left and right exchanged.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.hflip(np.array([[1, 2, 3]])).tolist()
    [[3, 2, 1]]
    """
    img = _image("hflip", img)
    return img[..., ::-1] if isinstance(img, Tensor) else np.ascontiguousarray(img[:, ::-1])


def vflip(img):
    """The image upside down.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.vflip(np.array([[1], [2]])).tolist()
    [[2], [1]]
    """
    img = _image("vflip", img)
    return img[..., ::-1, :] if isinstance(img, Tensor) else np.ascontiguousarray(img[::-1])


def pad(img, padding, fill=0, padding_mode: str = "constant"):
    """The image with a border; `padding` is one number, (left and right, top and bottom) or
    (left, top, right, bottom).

    `padding_mode`: 'constant' (the value `fill`), 'edge', 'reflect' or 'symmetric'. Takes arrays
    and PIL images.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.pad(np.array([[7]]), (1, 0)).tolist()
    [[0, 7, 0]]
    """
    img = _image("pad", img)
    if isinstance(img, Tensor):
        raise TypeError("pad: takes an array or a PIL image; put Pad before ToTensor, or use "
                        "paddle.nn.functional.pad on a Tensor")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"pad: padding_mode must be 'constant', 'edge', 'reflect' or "
                         f"'symmetric', got {padding_mode!r}")
    sides = [padding] if isinstance(padding, numbers.Number) else list(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"pad: padding must be 1, 2 or 4 numbers, got {padding!r}")
    left, top, right, bottom = (int(side) for side in sides * (4 // len(sides)))
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (img.ndim - 2)
    if padding_mode != "constant":
        return np.pad(img, widths, padding_mode)
    if isinstance(fill, numbers.Number):
        return np.pad(img, widths, constant_values=fill)
    if img.ndim != 3 or len(fill) != img.shape[2]:
        raise ValueError(f"pad: {len(fill)} fill values for an image {list(img.shape)}")
    out = np.empty((img.shape[0] + top + bottom, img.shape[1] + left + right, img.shape[2]),
                   img.dtype)
    out[...] = np.asarray(fill, img.dtype)
    out[top:top + img.shape[0], left:left + img.shape[1]] = img
    return out


def to_grayscale(img, num_output_channels: int = 1):
    """A colour image [H, W, 3] in grey: 0.299 R + 0.587 G + 0.114 B, as ITU-R 601 weighs them.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.to_grayscale(np.full([1, 1, 3], 80, 'uint8')).tolist()
    [[[80]]]
    """
    img = _image("to_grayscale", img)
    if num_output_channels not in (1, 3):
        raise ValueError(f"to_grayscale: num_output_channels must be 1 or 3, "
                         f"got {num_output_channels!r}")
    if isinstance(img, Tensor) or img.ndim != 3 or img.shape[2] != 3:
        raise ValueError(f"to_grayscale: takes an array [H, W, 3], got {list(img.shape)}")
    grey = img @ np.array([0.299, 0.587, 0.114], np.float32)
    if img.dtype.kind in "iu":
        grey = np.rint(grey)
    return np.repeat(grey.astype(img.dtype)[:, :, None], num_output_channels, axis=2)


# ---- classes
class Compose:
    """Several transforms, one after the other.

    >>> import numpy as np, minipaddle as paddle
    >>> import minipaddle.vision.transforms as T
    >>> T.Compose([T.Resize(4), T.ToTensor()])(np.zeros([8, 8], 'uint8')).shape
    [1, 4, 4]
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        self.transforms = transforms

    def __call__(self, data):
        for transform in self.transforms:
            data = transform(data)
        return data

    def __repr__(self) -> str:
        lines = "".join(f"\n    {transform!r}" for transform in self.transforms)
        return f"{type(self).__name__}({lines}\n)"


class BaseTransform:
    """What a transform is derived from: define `_apply_image` (and, for keys of your own,
    `_apply_<key>`).

    Called with one image, it gives one image. Called with a tuple, each entry goes to the method
    of its key in `keys` and the rest passes through; `_get_params(inputs)` is asked once a call
    and its answer stands in `self.params`. Raises ValueError for keys that are no sequence, and
    NotImplementedError for a key without its method.

    >>> import numpy as np, minipaddle as paddle
    >>> class Invert(paddle.vision.transforms.BaseTransform):
    ...     def _apply_image(self, image):
    ...         return 255 - image
    >>> image, label = Invert()((np.zeros([1, 1], 'uint8'), 7))
    >>> int(image[0, 0]), label
    (255, 7)
    """

    def __init__(self, keys: Sequence[str] | None = None) -> None:
        keys = ("image",) if keys is None else keys
        if not isinstance(keys, Sequence):
            raise ValueError(f"keys must be a sequence of names, got {keys!r}")
        for key in keys:
            if self._get_apply(key) is None:
                raise NotImplementedError(f"{type(self).__name__} has no _apply_{key}")
        self.keys, self.params = keys, None

    def __call__(self, inputs):
        entries = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(entries)
        outputs = [self._get_apply(key)(entry) for key, entry in zip(self.keys, entries)]
        outputs += entries[len(outputs):]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _get_params(self, inputs):
        return None

    def _get_apply(self, key: str):
        return getattr(self, f"_apply_{key}", None)


class ToTensor(BaseTransform):
    """An image as a Tensor [C, H, W]; uint8 becomes float32 divided by 255. See `to_tensor`.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.ToTensor()(np.zeros([4, 5, 3], 'uint8')).shape
    [3, 4, 5]
    """

    def __init__(self, data_format: str = "CHW", keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, image):
        return to_tensor(image, self.data_format)


class Normalize(BaseTransform):
    """`(image - mean) / std` for each channel, 'CHW' unless told. See `normalize`.

    A single number stands for three channels, as in Paddle; for grey images give a list of one.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.Normalize([8.0], [8.0])(np.zeros([2, 2], 'uint8')).tolist()
    [[[-1.0, -1.0], [-1.0, -1.0]]]
    """

    def __init__(self, mean=0.0, std=1.0, data_format: str = "CHW", to_rgb: bool = False,
                 keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Number) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Number) else std
        self.data_format, self.to_rgb = data_format, to_rgb

    def _apply_image(self, image):
        return normalize(image, self.mean, self.std, self.data_format, self.to_rgb)


class Resize(BaseTransform):
    """The image scaled to `size`: (height, width), or a number for the shorter side.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.Resize(6)(np.zeros([12, 24])).shape
    (6, 12)
    """

    def __init__(self, size, interpolation: str = "bilinear",
                 keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.size, self.interpolation = size, interpolation

    def _apply_image(self, image):
        return resize(image, self.size, self.interpolation)


class CenterCrop(BaseTransform):
    """The middle part of the image, of `size` (height, width) or one number for both.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.CenterCrop(2)(np.arange(16).reshape(4, 4)).tolist()
    [[5, 6], [9, 10]]
    """

    def __init__(self, size, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.size = _pair("CenterCrop: size", size)

    def _apply_image(self, image):
        return center_crop(image, self.size)


class RandomCrop(BaseTransform):
    """A part of `size` (height, width) at a random place, after padding the image if asked.

    `padding`, `fill`, `padding_mode`: see `pad`; `pad_if_needed` pads an image that is too small,
    on both sides. ValueError when the image is smaller than `size`.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.RandomCrop(8, padding=1)(np.zeros([8, 8])).shape
    (8, 8)
    """

    def __init__(self, size, padding=None, pad_if_needed: bool = False, fill=0,
                 padding_mode: str = "constant", keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.size = _pair("RandomCrop: size", size)
        self.padding, self.pad_if_needed = padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def _apply_image(self, image):
        image = _image("RandomCrop", image)
        th, tw = self.size
        if self.padding is not None:
            image = pad(image, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed and _size(image)[1] < tw:
            image = pad(image, (tw - _size(image)[1], 0), self.fill, self.padding_mode)
        if self.pad_if_needed and _size(image)[0] < th:
            image = pad(image, (0, th - _size(image)[0]), self.fill, self.padding_mode)
        h, w = _size(image)
        if h < th or w < tw:
            raise ValueError(f"RandomCrop: the image [{h}, {w}] is smaller than {[th, tw]}; "
                             f"pass pad_if_needed=True or a padding")
        return crop(image, random.randint(0, h - th), random.randint(0, w - tw), th, tw)


class RandomResizedCrop(BaseTransform):
    """A random part of the image, scaled to `size`.

    The part's share of the area is drawn from `scale`, its width over its height from `ratio`,
    evenly in the logarithm; after ten misses the middle is taken.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.RandomResizedCrop(4)(np.zeros([9, 8])).shape
    (4, 4)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3),
                 interpolation: str = "bilinear", keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            raise ValueError(f"RandomResizedCrop: scale and ratio are (least, most), got "
                             f"{scale} and {ratio}")
        self.size = _pair("RandomResizedCrop: size", size)
        self.scale, self.ratio, self.interpolation = scale, ratio, interpolation

    def _part(self, h: int, w: int) -> tuple[int, int, int, int]:
        for _ in range(10):
            area = np.random.uniform(*self.scale) * h * w
            ratio = math.exp(np.random.uniform(*(math.log(r) for r in self.ratio)))
            tw, th = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < tw <= w and 0 < th <= h:
                return random.randint(0, h - th), random.randint(0, w - tw), th, tw
        th, tw = h, w
        if w / h < self.ratio[0]:
            th = round(w / self.ratio[0])
        elif w / h > self.ratio[1]:
            tw = round(h * self.ratio[1])
        return (h - th) // 2, (w - tw) // 2, th, tw

    def _apply_image(self, image):
        image = _image("RandomResizedCrop", image)
        return resize(crop(image, *self._part(*_size(image))), self.size, self.interpolation)


class _RandomFlip(BaseTransform):
    def __init__(self, prob: float = 0.5, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        if not 0 <= prob <= 1:
            raise ValueError(f"{type(self).__name__}: prob must be from 0 to 1, got {prob!r}")
        self.prob = prob

    def _apply_image(self, image):
        return self._flip(image) if random.random() < self.prob else image


class RandomHorizontalFlip(_RandomFlip):
    """The image mirrored with probability `prob`.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.RandomHorizontalFlip(1.0)(np.array([[1, 2]])).tolist()
    [[2, 1]]
    """

    _flip = staticmethod(hflip)


class RandomVerticalFlip(_RandomFlip):
    """The image turned upside down with probability `prob`.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.RandomVerticalFlip(1.0)(np.array([[1], [2]])).tolist()
    [[2], [1]]
    """

    _flip = staticmethod(vflip)


class Transpose(BaseTransform):
    """The image's axes in another order; (2, 0, 1) makes [C, H, W] of [H, W, C].

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.Transpose()(np.zeros([4, 5])).shape
    (1, 4, 5)
    """

    def __init__(self, order: Sequence[int] = (2, 0, 1),
                 keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.order = order

    def _apply_image(self, image):
        image = _image("Transpose", image)
        if isinstance(image, np.ndarray) and image.ndim == 2:
            image = image[..., None]
        return image.transpose(self.order)


class Pad(BaseTransform):
    """The image with a border. See `pad`.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.Pad([1, 2])(np.zeros([4, 4])).shape
    (8, 6)
    """

    def __init__(self, padding, fill=0, padding_mode: str = "constant",
                 keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def _apply_image(self, image):
        return pad(image, self.padding, self.fill, self.padding_mode)


class Grayscale(BaseTransform):
    """A colour image in grey, with one channel or three equal ones.

    >>> import numpy as np, minipaddle as paddle
    >>> paddle.vision.transforms.Grayscale()(np.zeros([4, 4, 3])).shape
    (4, 4, 1)
    """

    def __init__(self, num_output_channels: int = 1, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, image):
        return to_grayscale(image, self.num_output_channels)
