"""jit.save and jit.load: what comes back, and what damaged or hostile files can do: nothing."""
from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minipaddle as paddle
from minipaddle import nn
from minipaddle.nn import functional as F
from minipaddle.static import InputSpec as Spec
from minipaddle.static import StaticError


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.bn, self.fc = nn.BatchNorm1D(4), nn.Linear(4, 3)
        self.register_buffer("steps", paddle.zeros([1]))
        self.table = paddle.to_tensor([1.0, 2.0, 3.0])

    def forward(self, x, n):
        if self.training:
            self.steps = self.steps + 1
        h = self.fc(self.bn(x))
        parts = []
        for i in range(n):
            if h.mean() > 0:
                h = h * 0.5 + i
            parts.append(h[:, 0].sum())
            print(f"trip {i}: {h.mean().item():.3f}")
        assert n >= 0, "negative"
        return {"h": h * self.table, "n": int(n) + 1, "parts": (h.reshape([x.shape[0], -1]), n)}


SPEC = [Spec([None, 4], "float32", "x"), Spec([], "int64", "n")]


@pytest.fixture
def saved(tmp_path):
    net = Net()
    net.eval()
    path = str(tmp_path / "deep" / "net")
    paddle.jit.save(net, path, SPEC)
    return net, path


def same(a, b):
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, paddle.Tensor):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    else:
        assert a == b and type(a) is type(b)


def test_loaded_program_reacts_to_new_inputs(saved, capsys):
    net, path = saved
    loaded = paddle.jit.load(path)
    loaded.eval()
    for batch, n in ((2, 3), (5, 0), (1, 6)):
        x, n = paddle.randn([batch, 4]), paddle.to_tensor(n)
        want, printed = net(x, n), capsys.readouterr().out
        same(want, loaded(x, n))
        assert capsys.readouterr().out == printed
    same(net(x, n), loaded(n=n, x=x))
    with pytest.raises(AssertionError, match="negative"):
        loaded(x, paddle.to_tensor(-1))


def test_names_of_state_are_kept(saved):
    net, path = saved
    loaded = paddle.jit.load(path)
    state = loaded.state_dict()
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(state[name].numpy(), value.numpy())
    assert [s.name for s in loaded.input_specs] == ["x", "n"]


def test_new_process_without_the_classes(saved):
    net, path = saved
    x = paddle.ones([2, 4])
    code = ("import sys, minipaddle as paddle; net = paddle.jit.load(sys.argv[1]); net.eval();"
            "print(net(paddle.ones([2, 4]), paddle.to_tensor(0))['h'].tolist())")
    root = os.path.dirname(os.path.dirname(paddle.__file__))
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": root})
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    np.testing.assert_allclose(got, net(x, paddle.to_tensor(0))["h"].numpy(), rtol=1e-6)


def test_further_training(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1D(8), nn.ReLU(), nn.Linear(8, 2))
    path = str(tmp_path / "m")
    paddle.jit.save(net, path, [Spec([None, 4])])
    loaded, runs = paddle.jit.load(path), []
    assert net.training and not loaded.training
    loaded.train()
    for model in (net, loaded):
        opt = paddle.optimizer.Momentum(0.05, parameters=model.parameters())
        losses = []
        for k in range(5):
            x = paddle.to_tensor(np.random.default_rng(k).standard_normal((6, 4)), "float32")
            loss = (model(x) ** 2).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            losses.append(float(loss))
        runs.append(losses + [v.numpy() for v in model.state_dict().values()])
    for a, b in zip(*runs):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    loaded.eval()
    assert loaded(paddle.ones([1, 4])).stop_gradient


class Several(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    @paddle.jit.to_static(input_spec=[Spec([None, 2])])
    def forward(self, x):
        return self.fc(x)

    @paddle.jit.to_static(input_spec=[Spec([2])])
    def encode(self, x):
        return self.fc(x.reshape([1, 2])).reshape([2]) if x.sum() > 0 else x


def test_several_methods(tmp_path):
    net = Several()
    paddle.jit.save(net, str(tmp_path / "m"))
    loaded = paddle.jit.load(str(tmp_path / "m"))
    x = paddle.ones([2])
    same(net.encode(x), loaded.encode(x))
    assert len(loaded.parameters()) == 2


def test_functions_and_random_operators(tmp_path):
    f = paddle.jit.to_static(lambda x: F.dropout(x, 0.5, training=True),
                             input_spec=[Spec([64])])
    paddle.jit.save(f, str(tmp_path / "f"))
    loaded = paddle.jit.load(str(tmp_path / "f"))
    x = paddle.ones([64])
    assert (loaded(x).numpy() != loaded(x).numpy()).any()


def test_what_cannot_be_saved_is_refused_and_leaves_no_file(tmp_path):
    class Twice(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    for f in (lambda x: Twice.apply(x), lambda x: (x, object())):
        with pytest.raises(StaticError, match="jit.save"):
            paddle.jit.save(f, str(tmp_path / "m"), [Spec([2])])
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="input_spec"):
        paddle.jit.save(nn.Linear(2, 2), str(tmp_path / "m"))
    with pytest.raises(FileNotFoundError, match="nothing.json"):
        paddle.jit.load(str(tmp_path / "nothing"))


def test_saving_again_replaces_whole_files(saved):
    net, path = saved
    net.fc.weight.set_value(np.zeros([4, 3], "float32"))
    paddle.jit.save(net, path, SPEC)
    assert not paddle.jit.load(path).state_dict()["fc.weight"].numpy().any()
    assert sorted(os.listdir(os.path.dirname(path))) == ["net.json", "net.npz"]


# ---- damaged and hostile files
def refused(path):
    with pytest.raises(ValueError, match="jit.load") as error:
        paddle.jit.load(path)
    return str(error.value)


def change(path, edit):
    with open(path + ".json") as f:
        data = json.load(f)
    edit(data)
    with open(path + ".json", "w") as f:
        json.dump(data, f)


def operators(data):
    """Every operator row, nested ones too."""
    def walk(block):
        for row in block["ops"]:
            yield row
            for b in row[4]:
                yield from walk(b)
    return list(walk(data["methods"]["forward"]["block"]))


EDITS = {
    "newer": (lambda d: d.update(version=99), "update minipaddle"),
    "other": (lambda d: d.update(format="pickle"), "format"),
    "unknown op": (lambda d: operators(d)[0].__setitem__(0, "os.system"), "no such operator"),
    "private op": (lambda d: operators(d)[0].__setitem__(0, "__import__"), "no such operator"),
    "python call": (lambda d: operators(d)[0].__setitem__(0, "py_layer"), "no such operator"),
    "op that copies to a device": (lambda d: operators(d)[0].__setitem__(0, "to_place"),
                                   "cannot be in a file"),
    "value before it is there": (lambda d: operators(d)[0][1].__setitem__(0, 9999), "not defined"),
    "negative value": (lambda d: operators(d)[0][1].__setitem__(0, -1), "not defined"),
    "true as a value": (lambda d: operators(d)[0][1].__setitem__(0, True), "not defined"),
    "more inputs": (lambda d: operators(d)[0][1].append(0), "inputs"),
    "other attributes": (lambda d: operators(d)[0][2].update(x=1), "attributes"),
    "no attributes": (lambda d: next(o for o in operators(d) if o[2])[2].clear(), "attributes"),
    "text as a block": (lambda d: operators(d)[0].__setitem__(4, ["import os"]), "operator"),
    "a path as state": (lambda d: d["state"].update({"../../x": list(d["state"].values())[0]}),
                        "no name"),
    "missing state": (lambda d: d["state"].update(fresh=["buffer", [1], "float32", True]),
                      "no values"),
    "other shape": (lambda d: d["state"]["fc.weight"].__setitem__(1, [2, 2]), "the program says"),
    "huge": (lambda d: d["state"]["fc.weight"].__setitem__(1, [10 ** 12, 10 ** 12]), "says"),
    "no method": (lambda d: d["methods"].clear(), "forward"),
    "method name": (lambda d: d["methods"].update({"a.b": d["methods"]["forward"]}), "method"),
    "outputs": (lambda d: d["methods"]["forward"]["block"]["outputs"].append(0), "outputs"),
    "results": (lambda d: d["methods"]["forward"].update(results={"value": 77}), "results"),
    "an error that is a call": (lambda d: operators(d).append(0) or next(
        o for o in operators(d) if o[0] == "assert").__setitem__(0, "raise"), "raise"),
    "deep": (lambda d: nest(d), "deep"),
}


def nest(data):
    row = next(o for o in operators(data) if o[4])
    inner = row[4][0]
    for _ in range(80):
        again = copy.deepcopy(row)
        again[4] = [copy.deepcopy(inner), {"inputs": [], "ops": [], "outputs": []}]
        inner = {"inputs": inner["inputs"], "ops": [[
            "cond", [0], {}, [], [inner, {"inputs": [], "ops": [], "outputs": []}], None, [],
            True, False]], "outputs": []}
    row[4][0] = inner


@pytest.mark.parametrize("name", EDITS)
def test_edited_programs_are_refused_by_name(saved, name):
    edit, says = EDITS[name]
    change(saved[1], edit)
    assert says in refused(saved[1])


def test_truncated_files(saved):
    path = saved[1]
    for end in (".json", ".npz"):
        with open(path + end, "rb") as f:
            data = f.read()
        for n in range(0, len(data), max(1, len(data) // 12)):
            with open(path + end, "wb") as f:
                f.write(data[:n])
            refused(path)
        with open(path + end, "wb") as f:
            f.write(data)
    paddle.jit.load(path)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def test_pickles_and_bombs_in_the_values(saved, tmp_path, monkeypatch):
    path = saved[1]
    monkeypatch.chdir(tmp_path)
    values = dict(np.load(path + ".npz"))
    np.savez(path + ".npz", **{**values, "state.fc.weight": np.array([Evil()], dtype=object)})
    refused(path)
    with open(path + ".npz", "wb") as f:
        pickle.dump(Evil(), f)
    refused(path)
    with zipfile.ZipFile(path + ".npz", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("state.fc.weight.npy", bytes(50_000_000))
    assert "larger than the file" in refused(path)
    assert not os.path.exists("evil")


def places(node, path=()):
    """The path of every value in a JSON tree."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(
        node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


JUNK = st.one_of(st.none(), st.booleans(), st.integers(-5, 2 ** 70), st.floats(), st.text(),
                 st.sampled_from([[], {}, "__class__", "matmul", "cond", "while", {"ref": 0},
                                  {"value": 3}, {"tuple": [1]}, [[0]], {"error": ["OSError", []]}]))


@settings(max_examples=250)
@given(data=st.data())
def test_mutated_programs_load_or_are_refused(tmp_path_factory, data):
    """Whatever one entry is replaced by: an error of jit.load, or a program that runs or fails
    as programs do. Never anything else."""
    global _source
    if _source is None:
        folder = tmp_path_factory.mktemp("source")
        net = Net()
        net.eval()
        paddle.jit.save(net, str(folder / "net"), SPEC)
        with open(folder / "net.json") as f:
            _source = str(folder / "net"), json.load(f)
    path, tree = _source
    tree = copy.deepcopy(tree)
    spots = [p for p in places(tree) if p[0] != "origins"]
    for _ in range(data.draw(st.integers(1, 2))):
        spot = data.draw(st.sampled_from(spots))
        node = tree
        try:
            for key in spot[:-1]:
                node = node[key]
            if data.draw(st.booleans()) and isinstance(node, list):
                del node[spot[-1]]
            else:
                node[spot[-1]] = data.draw(JUNK)
        except (KeyError, IndexError, TypeError):
            pass                                    # the first change took the place away
    with open(path + ".json", "w") as f:
        json.dump(tree, f)
    try:
        loaded = paddle.jit.load(path)
    except ValueError as error:
        assert "jit.load" in str(error)
        return
    try:
        loaded(paddle.ones([2, 4]), paddle.to_tensor(2))
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, ZeroDivisionError,
            UnboundLocalError, RuntimeError, AssertionError, MemoryError, OverflowError):
        pass                                        # a valid program may still be a wrong one


_source = None
