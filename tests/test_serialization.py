"""save and load: round trips, real Paddle's files, damage, hostile pickles, atomic writes."""
from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle import serialization

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "golden_paddle_files.json"), encoding="utf-8") as _file:
    PADDLE = json.load(_file)["files"]


def original(label: str, **options):
    return paddle.load(io.BytesIO(base64.b64decode(PADDLE[label]["file"])), **options)


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "folder" / "values.pdparams")


# ---- our own files
def test_state_dict_round_trip(path):
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.BatchNorm1D(4))
    paddle.save(net.state_dict(), path)
    state = paddle.load(path)
    assert list(state) == list(net.state_dict())
    for key, value in net.state_dict().items():
        assert isinstance(state[key], paddle.Tensor) and state[key].stop_gradient
        assert state[key].dtype == value.dtype and state[key].name == value.name
        assert (state[key].numpy() == value.numpy()).all()
    other = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.BatchNorm1D(4))
    assert other.set_state_dict(state) in (([], []), None)
    assert (other[0].weight.numpy() == net[0].weight.numpy()).all()


def test_nested_values_come_back_alike(path):
    value = {"a": [1, 2.5, None, True, "text", float("inf")], 3: (1, (2,)), ("k", 1): {},
             "big": 10 ** 30, "c": 1 + 2j, "np": np.arange(6, dtype="int16").reshape(2, 3)[:, ::-1],
             "scalar": np.float32(1.5), "empty": np.zeros((0, 2)), "0-d": np.array(3)}
    paddle.save(value, path)
    found = paddle.load(path)
    for key in ("np", "empty", "0-d"):
        wanted, got = value.pop(key), found.pop(key)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape and (got == wanted).all()
    assert found == value


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "int64", "uint8",
                                  "bool", "complex64"])
def test_every_dtype_and_numpy_on_request(path, kind):
    t = paddle.to_tensor(np.array([[1, 0], [1, 1]], kind))
    paddle.save(t, path)
    assert paddle.load(path).dtype == t.dtype
    array = paddle.load(path, return_numpy=True)
    assert type(array) is np.ndarray and array.dtype == kind
    assert (array == t.numpy()).all()


def test_a_shared_tensor_is_written_once(path):
    w = paddle.rand([1000])
    paddle.save({"a": w, "b": [w, w]}, path)
    assert os.path.getsize(path) < 6000
    state = paddle.load(path)
    assert (state["a"].numpy() == state["b"][1].numpy()).all()


def test_the_optimizer_and_the_scaler_round_trip(path):
    net = paddle.nn.Linear(2, 1)
    rate = paddle.optimizer.lr.StepDecay(0.1, 2)
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters())
    net(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    scaler = paddle.amp.GradScaler(init_loss_scaling=64)
    paddle.save({"opt": optimizer.state_dict(), "scaler": scaler.state_dict()}, path)
    state = paddle.load(path)
    optimizer.set_state_dict(state["opt"])
    scaler.load_state_dict(state["scaler"])
    assert state["opt"]["LR_Scheduler"] == rate.state_dict()
    assert scaler.state_dict()["scale"].tolist() == [64.0]


def test_file_objects(path):
    buffer = io.BytesIO()
    paddle.save({"x": paddle.ones([2])}, buffer)
    buffer.seek(0)
    assert paddle.load(buffer)["x"].tolist() == [1.0, 1.0]


def test_the_file_holds_no_pickle(path):
    paddle.save({"x": paddle.ones([2])}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["content.json", "0.npy"]
        assert archive.read("0.npy").startswith(b"\x93NUMPY")


# ---- writing can fail
@pytest.mark.parametrize("value, text", [
    (paddle.nn.ReLU, "obj is a type"), ({"a": [1, {2}]}, r"obj\['a'\]\[1\] is a set"),
    ({"m": paddle.nn.ReLU()}, r"obj\['m'\] is a ReLU.*state_dict"),
    (np.array(["a"]), "array of <U1"), (np.array([None]), "array of object")])
def test_what_cannot_be_kept_is_named_and_the_old_file_stays(path, value, text):
    paddle.save(1, path)
    with pytest.raises(TypeError, match=text):
        paddle.save(value, path)
    assert paddle.load(path) == 1


def test_a_value_that_holds_itself(path):
    value: list = []
    value.append(value)
    with pytest.raises(ValueError, match="holds itself"):
        paddle.save(value, path)


def test_a_full_disk_leaves_the_old_file_and_no_rubbish(path, monkeypatch):
    paddle.save({"x": paddle.ones([2])}, path)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(serialization.np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space"):
        paddle.save({"x": paddle.zeros([2])}, path)
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    assert paddle.load(path)["x"].tolist() == [1.0, 1.0]


def test_a_folder_is_no_file_name(tmp_path):
    for bad in (str(tmp_path), str(tmp_path) + "/"):
        with pytest.raises(ValueError, match="path"):
            paddle.save(1, bad)


# ---- reading can fail
def test_missing_and_strange_files_are_named(tmp_path):
    with pytest.raises(ValueError, match="no file .*nowhere"):
        paddle.load(str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="folder"):
        paddle.load(str(tmp_path))
    for name, data, text in [("text", b"hello", "neither"), ("empty", b"", "is empty"),
                             ("pk", b"PK\3\4rubbish", "damaged"),
                             ("half", pickle.dumps([1, 2], 4)[:-3], "damaged")]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=f"{name}.*{text}"):
            paddle.load(str(tmp_path / name))


def test_any_cut_and_any_turned_bit_of_an_array_is_noticed(path):
    paddle.save({"x": paddle.arange(64)}, path)
    with open(path, "rb") as file:
        data = file.read()
    for n in range(0, len(data), 13):
        with pytest.raises(ValueError, match="load"):
            paddle.load(io.BytesIO(data[:n]))
    start = data.index(b"\x93NUMPY")
    for n in range(start, start + 128 + 64 * 8, 7):
        with pytest.raises(ValueError, match="damaged|refused|more in"):
            paddle.load(io.BytesIO(data[:n] + bytes([data[n] ^ 16]) + data[n + 1:]))


def zipped(content, **members) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("content.json", json.dumps(content))
        for name, array in members.items():
            with archive.open(name + ".npy", "w") as member:
                np.lib.format.write_array(member, array)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("content, text", [
    ({"format": "other"}, "no file of paddle.save"),
    ({"format": serialization.FORMAT, "version": 99, "value": {}}, "version 99"),
    ({"format": serialization.FORMAT, "version": 1, "value": {"z": 1}}, "unknown kind 'z'"),
    ({"format": serialization.FORMAT, "version": 1, "value": {"v": {"x": 1}}}, "unknown kind 'v'"),
    ({"format": serialization.FORMAT, "version": 1, "value": {"a": "../../etc/passwd"}},
     "damaged"), ([], "no file of paddle.save")])
def test_a_zip_of_someone_else(content, text):
    with pytest.raises(ValueError, match=text):
        paddle.load(zipped(content))


def test_a_zip_with_an_array_of_objects():
    content = {"format": serialization.FORMAT, "version": 1, "value": {"a": 0}}
    with pytest.raises(ValueError, match="damaged.*Object arrays"):
        paddle.load(zipped(content, **{"0": np.array([print, 1], dtype=object)}))


# ---- real Paddle's files
@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_paddles_state_dict(protocol):
    label = f"pdparams protocol {protocol}"
    state, wanted = original(label), PADDLE[label]
    assert list(state) == list(wanted["values"])
    for key, value in wanted["values"].items():
        np.testing.assert_array_equal(state[key].numpy(), np.array(value, "float32"))
        assert state[key].name == wanted["names"][key]
    table = original(label, keep_name_table=True)["StructuredToParameterName@@"]
    assert table == wanted["names"]


def test_paddles_state_dict_goes_into_a_layer_and_its_optimizer_state_into_ours():
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc, self.bn = paddle.nn.Linear(3, 2), paddle.nn.BatchNorm1D(2)
    net = Net()
    net.set_state_dict(original("pdparams protocol 4"))
    state, wanted = original("pdopt"), PADDLE["pdopt"]["values"]
    assert set(state) == set(wanted) and state["LR_Scheduler"] == wanted["LR_Scheduler"]
    names = PADDLE["pdparams protocol 4"]["names"]
    for key, p in net.named_parameters():
        p.name = names[key]
    optimizer = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2),
                                      parameters=net.parameters())
    optimizer.set_state_dict(state)
    net.fc.weight.grad = paddle.zeros([3, 2])
    optimizer.step()
    got = optimizer.state_dict()[names["fc.weight"] + "_moment1_0"]
    wanted = np.array(wanted[names["fc.weight"] + "_moment1_0"], "float32") * np.float32(0.9)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


def test_paddles_other_values():
    lone = original("tensor")
    assert lone.tolist() == PADDLE["tensor"]["values"] and lone.name == "lone"
    n = original("nested")
    assert n["epoch"] == 3 and n["big"] == 10 ** 30 and n["t"][1] == "x"
    assert n["t"][0].item() == 2.5 and n["list"][0].dtype == paddle.int64
    assert n["list"][1] == {"f": 1.5, "s": "text", "n": None, "b": True}
    assert n["h"].dtype == paddle.float16 and list(n["model"]) == ["weight", "bias"]
    assert original("empty") == {}
    assert original("bfloat16", return_numpy=True)["w"].dtype == "uint16"


def test_numpys_other_spellings():
    n = original("numpy protocol 5", return_numpy=True)
    assert n["w"].tolist() == [[1, 0], [3, 2]] and n["f"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert n["s"] == np.float32(2.5) and n["be"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("protocol", range(2, 6))
def test_arrays_pickled_by_this_numpy(protocol):
    value = {"a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array(True),
             "c": np.array([], "int32"), "d": np.float64(2.5)}
    data = io.BytesIO(pickle.dumps(value, protocol))
    found = paddle.load(data, return_numpy=True)
    for key, array in value.items():
        assert found[key].dtype == array.dtype and np.array_equal(found[key], array)
        assert np.shape(found[key]) == np.shape(array)


def test_big_arrays_in_slices():
    state = {"w@@.0": np.arange(4.0), "w@@.1": np.arange(4.0, 6.0), "b": np.ones(1),
             "UnpackBigParamInfor@@": {"w": {"OriginShape": (2, 3),
                                             "slices": ["w@@.0", "w@@.1"]}}}
    found = paddle.load(io.BytesIO(pickle.dumps(state, 2)))
    assert sorted(found) == ["b", "w"] and found["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


# ---- files for real Paddle
@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_file_in_paddles_format(path, protocol):
    net = paddle.nn.Linear(2, 3)
    paddle.save(net.state_dict(), path, protocol, paddle_format=True)
    with open(path, "rb") as file:
        plain = pickle.load(file)                   # our own file: safe here
    assert plain.pop("StructuredToParameterName@@") == {"weight": net.weight.name,
                                                        "bias": net.bias.name}
    assert list(plain) == ["weight", "bias"] and type(plain["weight"]) is np.ndarray
    state = paddle.load(path)
    assert (state["weight"].numpy() == net.weight.numpy()).all()
    assert state["bias"].name == net.bias.name
    nested = {"model": [net.weight], "epoch": 3}
    paddle.save(nested, path, protocol, paddle_format=True)
    found = paddle.load(path)
    assert found["epoch"] == 3 and found["model"][0].name == net.weight.name
    with pytest.raises(TypeError, match="ReLU"):
        paddle.save({"m": paddle.nn.ReLU()}, path, paddle_format=True)
    with pytest.raises(ValueError, match="protocol"):
        paddle.save(1, path, 5, paddle_format=True)


# ---- hostile pickles
class Calls:
    """Pickles as a call of anything."""

    def __init__(self, function, *args) -> None:
        self.call = function, args

    def __reduce__(self):
        return self.call


def attack(value) -> io.BytesIO:
    return io.BytesIO(pickle.dumps({"w": value}, 4))


@pytest.mark.parametrize("value, text", [
    (Calls(os.system, "touch pwned"), "system"), (Calls(eval, "1 + 1"), "too few|positional|dama"),
    (Calls(eval, "__import__('os').getcwd()", {}), "evaluate.*nothing was executed"),
    (Calls(eval, "dat", {"data": 1}), "evaluate"), (Calls(exec, "1"), "builtins.exec"),
    (Calls(getattr, "", "x"), "builtins.getattr"), (Calls(open, "x"), "open"),
    (Calls(np.load, "x"), "load"), (np.array([print], dtype=object), "'O8?'|array of"),
    (paddle.nn.ReLU, "ReLU"), (Calls(bytes.decode, b"x"), "getattr|decode")])
def test_a_pickle_that_wants_more_is_refused_by_name(value, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=text):
        paddle.load(attack(value))
    assert os.listdir(tmp_path) == []


def test_raw_opcodes_get_nothing_more():
    for data, text in [
            (b"\x80\x02c_codecs\nencode\n}b.", "sets attributes"),       # BUILD on a function
            (b"\x80\x02cnumpy\nndarray\n(K\x0aK\x0atR.", "without its data"),
            (b"\x80\x02c_codecs\nencode\nX\x02\x00\x00\x00hiX\x03\x00\x00\x00hex\x86R.", "codec"),
            (b"\x80\x04\x8c\x05numpy\x8c\x0bndarray.fly\x93.", "numpy.ndarray.fly"),
            (b"\x80\x02X\x01\x00\x00\x00aQ.", "outside the file"),
            (b"\x80\x02c_codecs\nencode\n.", "holds a _Maker")]:
        with pytest.raises(ValueError, match=text):
            paddle.load(io.BytesIO(data))
