"""paddle.vision: the digits that come with the package, MNIST's own files, transforms."""
from __future__ import annotations

import gzip
import importlib.util
import random
import shutil
import sys

import numpy as np
import pytest

import minipaddle as paddle
import minipaddle.vision.transforms as T
from minipaddle.vision.datasets import MNIST, Digits, FashionMNIST


# ---- Digits
def test_digits_are_all_there_and_split_once():
    train, test = Digits(), Digits(mode="test")
    assert (len(train), len(test)) == (1442, 355)
    counts = np.bincount(np.concatenate([train.labels, test.labels])[:, 0])
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(test.labels[:, 0]).min() >= 34               # every digit keeps its share
    together = {image.tobytes() for image in train.images} & {i.tobytes() for i in test.images}
    assert not together                                             # nothing held out is trained on


def test_digits_give_images_and_labels_as_mnist_does():
    image, label = Digits("test")[0]
    assert image.dtype == np.uint8 and image.shape == (8, 8) and image.max() <= 16
    assert label.dtype == np.int64 and label.shape == (1,)
    image, _ = Digits("train", transform=T.Normalize([8.0], [8.0]))[0]
    assert image.dtype == np.float32 and image.shape == (1, 8, 8)
    assert image.min() >= -1 and image.max() <= 1


def test_digits_carry_their_source_and_licence():
    digits = Digits()
    assert "10.24432/C50P49" in digits.source
    assert "CC BY 4.0" in digits.licence and "Alpaydin" in digits.licence


def test_digits_split_is_fixed():
    test = Digits("test")
    weights = np.arange(1, 1 + test.images.size).reshape(test.images.shape)
    assert int((test.images.astype(np.int64) * weights).sum()) == 1257698257
    assert test.labels[:12, 0].tolist() == [5, 0, 9, 8, 7, 1, 2, 6, 3, 4, 0, 2]


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mode must be 'train' or 'test', got 'valid'"):
        Digits("valid")


def test_digits_in_a_loader():
    loader = paddle.io.DataLoader(Digits("test", transform=T.ToTensor()), batch_size=100)
    image, label = next(iter(loader))
    assert image.shape == [100, 1, 8, 8] and image.dtype == paddle.float32
    assert label.shape == [100, 1] and label.dtype == paddle.int64


# ---- MNIST: files in the original format, made here
def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return (0x0800 + array.ndim).to_bytes(4, "big") + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def files(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (7, 28, 28))
    labels = np.array([3, 1, 4, 1, 5, 9, 2])
    (tmp_path / "images.gz").write_bytes(gzip.compress(idx(images)))
    (tmp_path / "labels").write_bytes(idx(labels))
    return str(tmp_path / "images.gz"), str(tmp_path / "labels"), images, labels


def test_mnist_reads_gzipped_and_raw_files(files):
    image_path, label_path, images, labels = files
    data = MNIST(image_path, label_path)
    assert len(data) == 7
    image, label = data[5]
    assert image.dtype == np.uint8 and (image == images[5]).all()
    assert label.tolist() == [9] and label.dtype == np.int64
    scaled, _ = MNIST(image_path, label_path, transform=T.ToTensor())[5]
    assert scaled.shape == [1, 28, 28]
    np.testing.assert_allclose(scaled.numpy()[0], images[5] / 255, rtol=1e-6)


def test_mnist_cv2_backend_gives_floats_that_totensor_does_not_divide(files):
    image_path, label_path, images, _ = files
    image, _ = MNIST(image_path, label_path, backend="cv2")[0]
    assert image.dtype == np.float32 and image.max() > 1
    tensor, _ = MNIST(image_path, label_path, "test", T.ToTensor(), backend="cv2")[0]
    np.testing.assert_array_equal(tensor.numpy()[0], images[0])


def test_mnist_pil_backend(files, monkeypatch):
    image_path, label_path, images, _ = files
    data = MNIST(image_path, label_path, backend="pil")
    if importlib.util.find_spec("PIL"):
        assert data[0][0].size == (28, 28)
        assert (np.asarray(data[0][0]) == images[0]).all()
        tensor, _ = MNIST(image_path, label_path, transform=T.ToTensor(), backend="pil")[0]
        np.testing.assert_allclose(tensor.numpy()[0], images[0] / 255, rtol=1e-6)
    monkeypatch.setitem(sys.modules, "PIL", None)     # as where it is not installed
    with pytest.raises(ImportError, match="needs Pillow"):
        data[0]


def test_mnist_looks_in_its_own_folder(files, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".cache" / "paddle" / "dataset" / "mnist"
    folder.mkdir(parents=True)
    shutil.copy(files[0], folder / "t10k-images-idx3-ubyte.gz")
    shutil.copy(files[1], folder / "t10k-labels-idx1-ubyte")
    assert len(MNIST(mode="test")) == 7
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte\.gz is not in .*mnist"):
        MNIST()


@pytest.mark.parametrize("kind, place", [(MNIST, "cvdf-datasets/mnist"),
                                         (FashionMNIST, "zalandoresearch/fashion-mnist")])
def test_absent_files_are_asked_for_and_never_downloaded(kind, place, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError) as error:
        kind()
    assert place in str(error.value) and "never downloads" in str(error.value)
    with pytest.raises(FileNotFoundError, match="image_path 'here.gz' is not there"):
        kind("here.gz")


def damaged(whole: bytes) -> dict[str, bytes]:
    return {
        "empty": b"", "cut": whole[:-5], "longer": whole + b"x", "header only": whole[:9],
        "another magic": b"\x00\x00\x09\x03" + whole[4:], "text": b"<html>404</html>",
        "cut gzip": gzip.compress(whole)[:-40], "gzip with a wrong byte":
            gzip.compress(whole)[:200] + b"\x00\x00\x00\x00" + gzip.compress(whole)[204:],
        "huge sizes": whole[:4] + b"\xff" * 12 + whole[16:],
    }


@pytest.mark.parametrize("fault", sorted(damaged(b"")))
def test_damaged_files_are_named(files, tmp_path, fault):
    path = tmp_path / "bad-images"
    path.write_bytes(damaged(idx(files[2]))[fault])
    with pytest.raises(ValueError, match="bad-images"):
        MNIST(str(path), files[1])


def test_files_of_different_sets_are_refused(files, tmp_path):
    path = tmp_path / "others"
    path.write_bytes(idx(np.arange(6)))
    with pytest.raises(ValueError, match="7 images and .*others' 6 labels"):
        MNIST(files[0], str(path))


def test_labels_given_for_images_are_refused(files):
    with pytest.raises(ValueError, match="is not an IDX file of images"):
        MNIST(files[1], files[1])


def test_backends_are_checked():
    with pytest.raises(ValueError, match="backend must be one of 'array', 'pil', 'cv2'"):
        paddle.vision.set_image_backend("magick")
    assert paddle.vision.get_image_backend() == "array"


# ---- transforms
GREY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
COLOUR = np.stack([GREY, GREY[::-1], 255 - GREY], axis=2)


def test_to_tensor_divides_uint8_only():
    t = T.ToTensor()(COLOUR)
    assert t.shape == [3, 3, 4] and t.dtype == paddle.float32
    np.testing.assert_allclose(t.numpy(), COLOUR.transpose(2, 0, 1) / 255, rtol=1e-6)
    kept = T.ToTensor()(COLOUR.astype(np.float32))
    np.testing.assert_array_equal(kept.numpy(), COLOUR.transpose(2, 0, 1))
    assert T.ToTensor(data_format="HWC")(COLOUR).shape == [3, 4, 3]
    assert T.to_tensor(GREY).shape == [1, 3, 4]


def test_normalize_expects_chw_and_does_not_divide():
    chw = COLOUR.transpose(2, 0, 1)
    out = T.Normalize([1.0, 2.0, 3.0], [2.0, 4.0, 8.0])(chw)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out[2], (chw[2] - 3.0) / 8.0, rtol=1e-6)
    hwc = T.Normalize([1.0, 2.0, 3.0], [2.0, 4.0, 8.0], data_format="HWC")(COLOUR)
    np.testing.assert_allclose(hwc, out.transpose(1, 2, 0), rtol=1e-6)
    assert T.Normalize(127.5, 127.5)(chw).shape == (3, 3, 4)        # one number is three
    on_tensor = T.Normalize([0.5], [0.5])(T.to_tensor(GREY))
    np.testing.assert_allclose(on_tensor.numpy(), (GREY[None] / 255 - 0.5) / 0.5, rtol=1e-5)
    with pytest.raises(ValueError, match="3 means .* 4 channels"):
        T.Normalize(0.5, 0.5)(np.zeros([4, 2, 2]))


def test_resize_agrees_with_opencv():
    image = np.arange(64, dtype=np.uint8).reshape(8, 8)
    assert T.Resize((3, 5))(image).tolist() == [                    # cv2.resize, INTER_LINEAR
        [7, 9, 10, 12, 13], [28, 30, 32, 33, 35], [50, 51, 53, 54, 56]]
    assert T.Resize((2, 3), "nearest")(image).tolist() == [[0, 2, 5], [32, 34, 37]]
    assert T.Resize(4)(np.zeros([8, 16, 3])).shape == (4, 8, 3)
    assert T.Resize(4)(np.zeros([16, 8])).shape == (8, 4)
    same = T.Resize(8)(image)
    assert same is image
    with pytest.raises(ValueError, match="interpolation must be"):
        T.Resize(4, "lanczos")(image)
    with pytest.raises(TypeError, match="before ToTensor"):
        T.Resize(4)(T.to_tensor(image))


def test_crops_and_flips():
    assert T.CenterCrop(2)(GREY).tolist() == GREY[0:2, 1:3].tolist()
    assert T.crop(COLOUR, 1, 1, 2, 2).tolist() == COLOUR[1:3, 1:3].tolist()
    tensor = T.to_tensor(COLOUR)
    for function, flipped in ((T.hflip, COLOUR[:, ::-1]), (T.vflip, COLOUR[::-1])):
        np.testing.assert_array_equal(function(COLOUR), flipped)
        np.testing.assert_array_equal(function(tensor).numpy(),
                                      T.to_tensor(np.ascontiguousarray(flipped)).numpy())
    np.testing.assert_array_equal(T.crop(tensor, 1, 1, 2, 2).numpy(), tensor.numpy()[:, 1:, 1:3])
    with pytest.raises(ValueError, match="larger than the image"):
        T.CenterCrop(9)(GREY)


def test_random_transforms_follow_pythons_generator():
    crop = T.RandomCrop((2, 3))
    random.seed(5)
    first = [crop(GREY).tolist() for _ in range(60)]
    random.seed(5)
    assert first == [crop(GREY).tolist() for _ in range(60)]
    places = {(top, left) for top in range(2) for left in range(2)
              if GREY[top:top + 2, left:left + 3].tolist() in first}
    assert len(places) == 4                                         # every place is met
    flip = T.RandomHorizontalFlip(0.25)
    share = np.mean([flip(GREY)[0, 0] != GREY[0, 0] for _ in range(2000)])
    assert 0.2 < share < 0.3
    assert T.RandomCrop(8, pad_if_needed=True)(GREY).shape == (8, 8)
    assert T.RandomCrop((3, 4), padding=(1, 2))(GREY).shape == (3, 4)
    with pytest.raises(ValueError, match="pad_if_needed"):
        T.RandomCrop(8)(GREY)
    part = T.RandomResizedCrop(2)
    assert all(part(COLOUR).shape == (2, 2, 3) for _ in range(50))


def test_pad_modes():
    assert T.Pad(1, fill=9)(GREY[:1, :1]).tolist() == [[9, 9, 9], [9, 0, 9], [9, 9, 9]]
    row = np.array([[1, 2, 3]])
    assert T.pad(row, (2, 0, 1, 0), padding_mode="reflect").tolist() == [[3, 2, 1, 2, 3, 2]]
    assert T.pad(row, (2, 0), padding_mode="symmetric").tolist() == [[2, 1, 1, 2, 3, 3, 2]]
    assert T.pad(row, (1, 0), padding_mode="edge").tolist() == [[1, 1, 2, 3, 3]]
    assert T.pad(COLOUR, 1, fill=(1, 2, 3))[0, 0].tolist() == [1, 2, 3]


def test_compose_transpose_grayscale():
    pipeline = T.Compose([T.Grayscale(3), T.Transpose()])
    out = pipeline(COLOUR)
    assert out.shape == (3, 3, 4) and (out[0] == out[2]).all()
    weights = np.array([0.299, 0.587, 0.114])
    np.testing.assert_array_equal(out[0], np.rint(COLOUR @ weights))
    assert "Grayscale" in repr(pipeline) and repr(pipeline).count("\n") == 3


def test_keys_send_each_entry_to_its_method():
    class Shift(T.BaseTransform):
        def _get_params(self, inputs):
            return len(inputs)

        def _apply_image(self, image):
            return image + self.params

        def _apply_mask(self, mask):
            return mask * 2

    image, mask, label = Shift(keys=("image", "mask"))((np.zeros([2, 2]), np.ones([2, 2]), 7))
    assert image[0, 0] == 3 and mask[0, 0] == 2 and label == 7
    with pytest.raises(NotImplementedError, match="_apply_boxes"):
        Shift(keys=("boxes",))
    with pytest.raises(ValueError, match="sequence"):
        Shift(keys=5)


@pytest.mark.parametrize("wrong", ["text", np.zeros(3), np.zeros([1, 2, 3, 4]), None])
def test_what_is_no_image_is_refused(wrong):
    for transform in (T.ToTensor(), T.Normalize([0.5], [0.5]), T.Resize(4), T.CenterCrop(1)):
        with pytest.raises(TypeError, match="an image is"):
            transform(wrong)
