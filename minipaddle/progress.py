"""A progress bar: one line that moves on a terminal, plain lines anywhere else.

May import the standard library only.
"""
from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Shows how far a loop of `total` steps has come.

    On a terminal `update` redraws one line, at most ten times a second; piped into a file only
    `close` prints, so that a log holds one line a loop. Figures may be Tensors: they are read,
    which waits for a GPU, only when a line is drawn. Times are in seconds.

    >>> import io, re
    >>> out = io.StringIO()                         # not a terminal
    >>> bar = Progress(2, "epoch 1/3", stream=out)
    >>> bar.update(loss=0.5); bar.update(loss=0.25); bar.close(loss=0.25, accuracy=0.9)
    >>> re.sub(r"[0-9.]+s", "-", out.getvalue())
    'epoch 1/3  2/2  loss 0.2500  accuracy 0.9000  -\\n'
    """

    def __init__(self, total: int, label: str = "", stream: TextIO | None = None) -> None:
        self.total, self.label, self.done = total, label, 0
        self.stream = sys.stdout if stream is None else stream
        self.live = self.stream.isatty()
        self.began = time.perf_counter()
        self._drawn = 0.0

    def update(self, **figures) -> None:
        """One step is done; `figures` are shown beside the bar."""
        self.done += 1
        now = time.perf_counter()
        if self.live and (now - self._drawn >= 0.1 or self.done == self.total):
            self._drawn = now
            self._write("\r" + self._line(figures, bar=True))

    def close(self, **figures) -> None:
        """The loop is over: leave its last line standing."""
        text = self._line(figures, bar=self.live)
        self._write(f"\r{text}\n" if self.live else f"{text}\n")

    def _line(self, figures: dict, bar: bool) -> str:
        words = [self.label] if self.label else []
        if bar:
            filled = 24 * self.done // max(self.total, 1)
            words.append("█" * filled + "░" * (24 - filled))
        words.append(f"{self.done:>{len(str(self.total))}}/{self.total}")
        words += [f"{name} {float(value):.4f}" for name, value in figures.items()]
        words.append(f"{time.perf_counter() - self.began:.1f}s")
        text = "  ".join(words)
        if bar:                                     # fill the line: the last one may be longer
            width = shutil.get_terminal_size().columns - 1
            text = text[:width].ljust(width)
        return text

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
        except UnicodeEncodeError:                  # a terminal of another encoding
            self.stream.write(text.replace("█", "#").replace("░", "-"))
        self.stream.flush()
