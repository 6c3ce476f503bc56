"""The main job, end to end: train on real digits, convert with one line, save, reload, infer.

An ordinary Paddle 2.x program, and a good first one to read: `python -m minipaddle demo` runs it.
With `import paddle` for its first import it would run on PaddlePaddle, but for `Digits`, the data
set that comes with this package. May import anything.
"""
from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

import minipaddle as paddle
from minipaddle import nn
from minipaddle.io import DataLoader
from minipaddle.static import InputSpec
from minipaddle.vision.datasets import Digits
from minipaddle.vision.transforms import Normalize

from .progress import Progress

BATCH, PEAK_RATE, WARMUP_STEPS = 64, 0.005, 40
ALLOWED = 1e-5                          # between the trained network and its reloaded copy
SCALE = Normalize(mean=[8.0], std=[8.0])            # 0..16 to -1..1, and [8, 8] to [1, 8, 8]


class DigitNet(nn.Layer):
    """Two convolutions and two linear layers: images [N, 1, 8, 8] to ten scores [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 32, 3, padding=1), nn.BatchNorm2D(32), nn.ReLU(),
            nn.Conv2D(32, 64, 3, padding=1), nn.BatchNorm2D(64), nn.ReLU(),
            nn.MaxPool2D(2, 2))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 4 * 4, 64), nn.ReLU(),
            nn.Dropout(0.3), nn.Linear(64, 10))

    def forward(self, image):
        return self.classifier(self.features(image))


# ---- training
def train_step(net, criterion, optimizer, scaler, image, label):
    """One step in mixed precision; gives the loss, still on its device."""
    with paddle.amp.auto_cast():
        loss = criterion(net(image), label)
    scaler.scale(loss).backward()       # scaled, so that small float16 gradients do not vanish
    scaler.step(optimizer)              # divides them again, and skips the step if one overflowed
    scaler.update()
    optimizer.clear_grad()
    return loss.detach()


def evaluate(net, loader) -> float:
    """The share of images that the network names rightly."""
    net.eval()
    metric = paddle.metric.Accuracy()
    with paddle.no_grad():
        for image, label in loader:
            metric.update(metric.compute(net(image), label))
    return float(metric.accumulate())


def train(epochs: int, seed: int):
    """Train a `DigitNet`; gives it with one (loss, held-out accuracy) an epoch."""
    paddle.seed(seed)
    np.random.seed(seed)                # the loader shuffles with NumPy's generator, as Paddle's
    train_loader = DataLoader(Digits("train", transform=SCALE), batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(Digits("test", transform=SCALE), batch_size=BATCH)

    net = DigitNet()
    criterion = nn.CrossEntropyLoss()
    steps = epochs * len(train_loader)
    warmup = min(WARMUP_STEPS, steps // 2)
    cosine = paddle.optimizer.lr.CosineAnnealingDecay(PEAK_RATE, T_max=steps - warmup)
    rate = paddle.optimizer.lr.LinearWarmup(cosine, warmup, start_lr=0.0, end_lr=PEAK_RATE)
    optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters(), weight_decay=0.01)
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024)

    history = []
    for epoch in range(epochs):
        net.train()
        total = 0.0
        bar = Progress(len(train_loader), f"epoch {epoch + 1:>2}/{epochs}")
        for image, label in train_loader:
            loss = train_step(net, criterion, optimizer, scaler, image, label)
            rate.step()
            total = total + loss
            bar.update(loss=loss)
        loss, accuracy = float(total) / len(train_loader), evaluate(net, test_loader)
        bar.close(loss=loss, accuracy=accuracy)
        history.append((loss, accuracy))
    return net, history


# ---- conversion, and the proof that it kept the answers
RELOAD = """\
import sys
import numpy as np
import minipaddle as paddle
device, model, images, answers = sys.argv[1:]
paddle.set_device(device)
net = paddle.jit.load(model)
net.eval()
np.save(answers, net(paddle.to_tensor(np.load(images))).numpy())
"""


def convert(net, folder: str) -> str:
    """Convert the network to a static program, save it, give the path to load it from."""
    path = os.path.join(folder, "digits")
    net.eval()
    static = paddle.jit.to_static(net, input_spec=[InputSpec([None, 1, 8, 8], "float32", "image")])
    paddle.jit.save(static, path)
    return path


def infer_in_new_process(path: str, images: np.ndarray, folder: str) -> np.ndarray:
    """The saved model's scores [N, 10], computed by a Python that knows only the saved files."""
    asked, answers = os.path.join(folder, "images.npy"), os.path.join(folder, "answers.npy")
    np.save(asked, images)
    subprocess.run([sys.executable, "-c", RELOAD, paddle.get_device(), path, asked, answers],
                   check=True)
    return np.load(answers)


# ---- what a person sees
def picture(images: np.ndarray, captions: list[str]) -> str:
    """Grey images [N, 8, 8], values 0 to 16, side by side as block characters.

    >>> import numpy as np
    >>> print(picture(np.array([[[0, 4], [12, 16]]]), ["two by two"]))
      ░░
    ▓▓██
    two by two
    """
    shades = " ░▒▓█"
    try:
        shades.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        shades = " .:*#"
    width = 2 * images.shape[2]
    lines = ["   ".join("".join(2 * shades[round(value / 4)] for value in image[row])
                        for image in images).rstrip() for row in range(images.shape[1])]
    return "\n".join([*lines, "   ".join(text.ljust(width) for text in captions).rstrip()])


def draw_curve(history: list[tuple[float, float]], path: str) -> bool:
    """Write loss and accuracy over the epochs as a PNG; False when matplotlib is not there."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    epochs = range(1, len(history) + 1)
    axes.plot(epochs, [loss for loss, _ in history], color="tab:red", marker="o")
    axes.set_xlabel("epoch")
    axes.set_ylabel("training loss", color="tab:red")
    right = axes.twinx()
    right.plot(epochs, [100 * accuracy for _, accuracy in history], color="tab:blue", marker="s")
    right.set_ylabel("held-out accuracy, %", color="tab:blue")
    figure.savefig(path, dpi=120)
    return True


def main(epochs: int = 12, seed: int = 0, folder: str = "demo_output") -> int:
    """Do the whole job and say how it went; gives 0, or 1 when the reloaded model differs."""
    os.makedirs(folder, exist_ok=True)
    began = time.perf_counter()
    test = Digits("test")
    print(f"training on {len(Digits('train'))} handwritten digits, {len(test)} held out, "
          f"device {paddle.get_device()}, mixed precision")
    net, history = train(epochs, seed)
    accuracy = history[-1][1]
    print(f"held-out accuracy {100 * accuracy:.2f} % ({round(accuracy * len(test))} of "
          f"{len(test)}) after {time.perf_counter() - began:.1f} s")

    images = np.stack([image for image, _ in Digits("test", transform=SCALE)])
    net.eval()
    with paddle.no_grad():
        scores = net(paddle.to_tensor(images)).numpy()
    path = convert(net, folder)         # afterwards the network itself runs the program, too
    answers = infer_in_new_process(path, images, folder)
    difference = float(np.abs(answers - scores).max())
    print(f"converted to a static program, saved as {path}, reloaded in a new process: "
          f"largest difference {difference:.1e} (allowed {ALLOWED:.0e})")

    named, true = answers.argmax(axis=1), test.labels[:, 0]
    wrong = np.flatnonzero(named != true)
    shown = [*np.flatnonzero(named == true)[:4 - min(1, len(wrong))], *wrong[:1]]
    print(picture(test.images[shown], [
        f"{named[k]}, right" if named[k] == true[k] else f"{named[k]}, is a {true[k]}"
        for k in shown]))
    curve = os.path.join(folder, "learning_curve.png")
    print(f"learning curve: {curve}" if draw_curve(history, curve) else
          "learning curve: not drawn, matplotlib is not installed (pip install matplotlib)")
    if not difference <= ALLOWED:                   # also when it is nan
        print("the reloaded model does not give the trained network's answers", file=sys.stderr)
        return 1
    return 0
