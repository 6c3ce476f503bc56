"""The demo, as a user runs it, and its parts."""
from __future__ import annotations

import importlib.util
import io
import os
import re
import sys

import numpy as np
import pytest
from processes import minipaddle

import minipaddle as paddle
from minipaddle import demo
from minipaddle.progress import Progress


on_host = pytest.mark.host_only("starts processes of its own")


# ---- the whole job
@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One run with the default seed and epochs, its output in a folder of its own."""
    folder = tmp_path_factory.mktemp("demo")
    return minipaddle("demo", "--out", str(folder / "out"), cwd=folder), folder / "out"


@on_host
def test_demo_learns_the_digits(whole):
    done, _ = whole
    assert done.returncode == 0, done.stderr
    accuracy = float(re.search(r"held-out accuracy ([0-9.]+) %", done.stdout)[1])
    assert accuracy >= 97.5
    seconds = float(re.search(r"after ([0-9.]+) s", done.stdout)[1])
    assert seconds < 300            # the promise is 60 on an idle machine; this catches a hang


@on_host
def test_demo_reloads_with_the_same_answers(whole):
    done, folder = whole
    assert float(re.search(r"largest difference (\S+)", done.stdout)[1]) <= 1e-5
    scores = np.load(folder / "answers.npy")
    assert scores.shape == (355, 10) and scores.dtype == np.float32


@on_host
def test_demo_prints_plain_lines_when_piped(whole):
    done, _ = whole
    assert "\r" not in done.stdout and "\x1b" not in done.stdout
    epochs = re.findall(r"^epoch +(\d+)/12  23/23  loss \d+\.\d{4}  accuracy", done.stdout, re.M)
    assert [int(number) for number in epochs] == list(range(1, 13))


@on_host
def test_demo_shows_digits_with_predictions(whole):
    done, _ = whole
    drawn = [line for line in done.stdout.splitlines() if "██" in line]
    assert len(drawn) >= 6 and len(re.findall(r"\d, (?:right|is a \d)", done.stdout)) == 4


@on_host
def test_demo_draws_a_curve_or_says_why_not(whole):
    done, folder = whole
    if importlib.util.find_spec("matplotlib"):
        assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    else:
        assert "matplotlib is not installed" in done.stdout


# ---- its parts
def test_a_wrong_reloaded_model_ends_with_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "infer_in_new_process",
                        lambda path, images, folder: np.zeros([len(images), 10], np.float32))
    monkeypatch.setattr(demo, "train", lambda epochs, seed: (demo.DigitNet(), [(1.0, 0.5)]))
    assert demo.main(epochs=1, folder=str(tmp_path)) == 1
    assert "does not give the trained network's answers" in capsys.readouterr().err


@on_host
def test_the_new_process_knows_only_the_saved_files(tmp_path):
    net = demo.DigitNet()
    net.eval()
    images = np.random.default_rng(0).uniform(-1, 1, [5, 1, 8, 8]).astype("float32")
    with paddle.no_grad():
        expected = net(paddle.to_tensor(images)).numpy()
    path = demo.convert(net, str(tmp_path))
    np.testing.assert_allclose(demo.infer_in_new_process(path, images, str(tmp_path)), expected,
                               atol=1e-5)


class FewDigits(demo.Digits):
    """Enough to take three steps with."""

    def __len__(self) -> int:
        return 40 if self.mode == "train" else 10


def test_the_same_seed_gives_the_same_network(monkeypatch):
    monkeypatch.setattr(demo, "Digits", FewDigits)
    monkeypatch.setattr(demo, "BATCH", 16)
    first, second = (demo.train(1, seed=3) for _ in range(2))
    assert first[1] == second[1]
    for one, other in zip(first[0].parameters(), second[0].parameters()):
        assert (one.numpy() == other.numpy()).all()
    assert demo.train(1, seed=4)[1] != first[1]


def test_picture_falls_back_to_ascii(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert demo.picture(np.array([[[0, 16]]]), ["x"]) == "  ##\nx"


def test_no_curve_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert demo.draw_curve([(1.0, 0.5)], str(tmp_path / "curve.png")) is False
    assert not os.listdir(tmp_path)


# ---- the progress bar
class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_moves_on_a_terminal_and_ends_with_a_full_line():
    out = Terminal()
    bar = Progress(4, "epoch 1/1", stream=out)
    for step in range(4):
        bar.update(loss=paddle.to_tensor(0.5 / (step + 1)))
    bar.close(loss=0.25, accuracy=0.75)
    lines = out.getvalue().split("\r")
    assert len(lines) >= 3 and out.getvalue().count("\n") == 1
    assert "░" in lines[1] and "1/4" in lines[1] and "loss 0.5000" in lines[1]
    assert "█" * 24 in lines[-1] and "4/4" in lines[-1] and "accuracy 0.7500" in lines[-1]


def test_progress_reads_figures_only_for_lines_it_draws():
    class Figure:
        def __float__(self):
            raise AssertionError("read")

    bar = Progress(3, stream=io.StringIO())
    for _ in range(3):
        bar.update(loss=Figure())


def test_progress_survives_a_terminal_without_blocks():
    class Ascii(Terminal):
        def write(self, text):
            return super().write(text.encode("ascii").decode())

    bar = Progress(1, "epoch", stream=Ascii())
    bar.update()
    bar.close()
    assert "#" * 24 in bar.stream.getvalue()
