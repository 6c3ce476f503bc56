"""What the framework costs over plain NumPy: an op with its tape, and a small chain both ways.

    python benchmarks/overhead.py [--rounds N]

Every figure is a median over interleaved rounds of one run on one BLAS thread; ratios are what to
quote, the microseconds belong to the machine. PyTorch is measured the same way when installed.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import minipaddle as paddle  # noqa: E402

STEPS, CALLS = 10, 1000


def timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(functions: dict, rounds: int) -> dict:
    """Median seconds of each function; one round runs each of them once, in turn."""
    seen = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            seen[name].append(timed(function))
    return {name: statistics.median(times) for name, times in seen.items()}


def op_functions(torch=None) -> dict:
    """x * y, x * 0.5, tanh(x) and x @ y on small arrays: raw, and recorded for gradients."""
    a, b = np.ones((16, 16), "float32"), np.full((16, 16), 0.5, "float32")
    half = np.asarray(0.5, "float32")

    def pair(x, y, tanh):
        return {"multiply": lambda: x * y, "scale": lambda: x * 0.5, "tanh": lambda: tanh(x),
                "matmul": lambda: x @ y}

    raw = {"multiply": lambda: np.multiply(a, b), "scale": lambda: np.multiply(a, half),
           "tanh": lambda: np.tanh(a), "matmul": lambda: np.matmul(a, b)}
    worlds = {"numpy": raw}
    x, y = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(b, stop_gradient=False)
    worlds["minipaddle"] = pair(x, y, paddle.tanh)
    if torch is not None:
        x, y = (torch.tensor(v, requires_grad=True) for v in (a, b))
        worlds["torch"] = pair(x, y, torch.tanh)

    def loop(f):
        def run():
            for _ in range(CALLS):
                f()
        return run
    return {(op, world): loop(f) for world, fs in worlds.items() for op, f in fs.items()}


def chain_functions(torch=None) -> dict:
    """Ten times h = (h @ w) * a + b on 32x32, summed: forward and backward."""
    draw = np.random.default_rng(0)
    w, a, b, h0 = (draw.standard_normal((32, 32)).astype("float32") * s for s in (.1, 1, 1, 1))

    def raw():
        h, kept = h0, []
        for _ in range(STEPS):
            m = h @ w
            kept.append((h, m))
            h = m * a + b
        h.sum()
        g = np.broadcast_to(np.float32(1), h.shape)
        gw = ga = gb = np.float32(0)
        for h, m in reversed(kept):
            gb = gb + g
            ga = ga + g * m
            gm = g * a
            gw = gw + h.T @ gm
            g = gm @ w.T
        return gw, ga, gb

    def framework(params, start):
        def run():
            h = start
            for _ in range(STEPS):
                h = (h @ params[0]) * params[1] + params[2]
            h.sum().backward()
            for p in params:
                p.grad = None
        return run

    found = {"numpy": raw, "minipaddle": framework(
        [paddle.to_tensor(v, stop_gradient=False) for v in (w, a, b)], paddle.to_tensor(h0))}
    if torch is not None:
        found["torch"] = framework([torch.tensor(v, requires_grad=True) for v in (w, a, b)],
                                   torch.tensor(h0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    try:
        import torch
        torch.set_num_threads(1)
    except ImportError:
        torch = None
    worlds = ["minipaddle"] + (["torch"] if torch else [])
    print("forward and tape over the raw NumPy call, microseconds an op")
    times = interleaved(op_functions(torch), rounds)
    for op in ("multiply", "scale", "tanh", "matmul"):
        base = times[op, "numpy"] / CALLS * 1e6
        print(f"  {op:10} numpy {base:5.2f}  " + "  ".join(
            f"{w} +{times[op, w] / CALLS * 1e6 - base:.2f}" for w in worlds))
    times = interleaved(chain_functions(torch), rounds * 10)
    print("forward and backward of ten times h = (h @ w) * a + b, 32x32, over raw NumPy")
    print(f"  numpy {times['numpy'] * 1e6:.0f} us  " + "  ".join(
        f"{w} {times[w] / times['numpy']:.2f}x" for w in worlds))
    x = paddle.ones([1])
    x.stop_gradient = False
    y = x
    for _ in range(50_000):
        y = y + 1.0
    print(f"backward of a chain of 50,000 ops: {timed(y.backward):.2f} s, "
          f"gradient {float(x.grad):.0f}")


if __name__ == "__main__":
    main()
