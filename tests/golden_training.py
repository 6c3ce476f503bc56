"""Optimizers, schedules, clipping, metrics and loaders as black-box cases on any Paddle.

Each case is `f(p)`: `p` is the package, used as `paddle`; the result is plain lists and numbers.
`golden_training.json` holds what PaddlePaddle 3.3.1 gave; where one is installed, write it anew:

    python tests/golden_training.py > tests/golden_training.json
"""
from __future__ import annotations

import itertools
import json
import os
import re
import sys

import numpy as np

SHAPES = ((3,), (2, 2), (1,))


def values(shape, seed: int) -> np.ndarray:
    """Fixed float32 numbers in about (-1, 1), one of them exactly zero."""
    n = int(np.prod(shape))
    found = np.sin(np.arange(1, n + 1) * 1.7 + seed * 0.9).astype("float32").round(3)
    if seed % 3 == 0:
        found[n // 2] = 0.0
    return found.reshape(shape)


_runs = itertools.count()


def parameters(p, attrs=(None, None, None)) -> list:
    """Three parameters of fixed values, named golden<run>_a, _b, _c: Paddle takes no name twice."""
    out, run = [], next(_runs)
    for i, (shape, attr) in enumerate(zip(SHAPES, attrs)):
        attr = {**(attr(p) if attr else {}), "name": f"golden{run}_{'abc'[i]}"}
        q = p.create_parameter(list(shape), "float32", attr=p.ParamAttr(**attr))
        q.set_value(values(shape, i))
        out.append(q)
    return out


def walk(p, optimizer, ps, steps: int = 5, skip=(), every=None) -> list:
    """The parameters after each step; `skip` holds (step, parameter) without a gradient."""
    trace = []
    for k in range(steps):
        terms = [(q * p.to_tensor(values(tuple(q.shape), 10 * (k + 1) + i))).sum()
                 for i, q in enumerate(ps) if (k, i) not in skip and not q.stop_gradient]
        sum(terms[1:], terms[0]).backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        trace.append([round(float(v), 9) for q in ps for v in q.numpy().ravel()])
        if every is not None:
            every(k)
    return trace


def plain_state(state: dict) -> dict:
    return {re.sub("golden[0-9]+", "golden", k): v if isinstance(v, dict) else
            np.asarray(v.numpy(), "float64").round(9).tolist() for k, v in sorted(state.items())}


def _make(label, build, attrs=(None, None, None), skip=()):
    def case(p):
        ps = parameters(p, attrs)
        optimizer = build(p, ps)
        trace = walk(p, optimizer, ps, skip=skip)
        return {"trace": trace, "state": plain_state(optimizer.state_dict())}
    return label, case


_decayed = {"weight_decay": 0.3}
OPTIMIZERS = dict([
    _make("sgd", lambda p, ps: p.optimizer.SGD(0.1, ps)),
    _make("sgd decay", lambda p, ps: p.optimizer.SGD(0.1, ps, weight_decay=0.3)),
    _make("sgd l1", lambda p, ps: p.optimizer.SGD(0.1, ps, p.regularizer.L1Decay(0.2))),
    _make("momentum", lambda p, ps: p.optimizer.Momentum(0.1, 0.8, ps, **_decayed)),
    _make("nesterov", lambda p, ps: p.optimizer.Momentum(0.1, 0.8, ps, True, weight_decay=0.3)),
    _make("adam", lambda p, ps: p.optimizer.Adam(0.1, parameters=ps)),
    _make("adam options", lambda p, ps: p.optimizer.Adam(0.1, 0.7, 0.8, 1e-2, ps, 0.3)),
    _make("adam missing gradients", lambda p, ps: p.optimizer.Adam(0.1, parameters=ps),
          skip={(0, 1), (2, 0), (2, 2), (3, 1)}),
    _make("adamw", lambda p, ps: p.optimizer.AdamW(0.1, parameters=ps)),
    _make("adamw functions", lambda p, ps: p.optimizer.AdamW(
        0.1, 0.7, 0.8, 1e-3, ps, 0.4, apply_decay_param_fun=lambda name: name.endswith("_a"))),
    _make("adamw regularized parameter", lambda p, ps: p.optimizer.AdamW(0.1, parameters=ps),
          (lambda p: {"regularizer": p.regularizer.L2Decay(0.5)}, None, None)),
    _make("adagrad", lambda p, ps: p.optimizer.Adagrad(
        0.1, parameters=ps, initial_accumulator_value=0.2, weight_decay=0.3)),
    _make("rmsprop", lambda p, ps: p.optimizer.RMSProp(0.1, parameters=ps)),
    _make("rmsprop centered", lambda p, ps: p.optimizer.RMSProp(0.1, 0.8, 1e-3, 0.7, True, ps,
                                                                weight_decay=0.3)),
    _make("adamax", lambda p, ps: p.optimizer.Adamax(0.1, 0.8, 0.9, 1e-4, ps, 0.3)),
    _make("adadelta", lambda p, ps: p.optimizer.Adadelta(0.5, 1e-3, 0.8, ps, 0.3)),
    _make("lamb", lambda p, ps: p.optimizer.Lamb(0.1, 0.2, 0.8, 0.9, 1e-4, ps)),
    _make("lamb exclude", lambda p, ps: p.optimizer.Lamb(
        0.1, 0.2, parameters=ps, exclude_from_weight_decay_fn=lambda q: q.name.endswith("_a"))),
    _make("lamb always", lambda p, ps: p.optimizer.Lamb(
        0.1, 0.2, parameters=ps, exclude_from_weight_decay_fn=lambda q: q.name.endswith("_a"),
        always_adapt=True)),
    _make("nadam", lambda p, ps: p.optimizer.NAdam(0.1, parameters=ps, weight_decay=0.3)),
    _make("radam", lambda p, ps: p.optimizer.RAdam(0.1, 0.8, 0.7, parameters=ps,
                                                   weight_decay=0.3)),
    _make("rprop", lambda p, ps: p.optimizer.Rprop(0.1, (0.01, 0.15), ps, (0.5, 1.2))),
    _make("asgd", lambda p, ps: p.optimizer.ASGD(0.1, 2, ps, weight_decay=0.3)),
    _make("attributes", lambda p, ps: p.optimizer.Momentum(0.1, 0.9, ps, weight_decay=0.3), (
        lambda p: {"learning_rate": 0.5}, lambda p: {"regularizer": p.regularizer.L1Decay(0.4)},
        lambda p: {"trainable": False})),
    _make("clip value", lambda p, ps: p.optimizer.SGD(
        0.5, ps, 0.3, p.nn.ClipGradByValue(0.4, -0.2))),
    _make("clip norm", lambda p, ps: p.optimizer.SGD(0.5, ps, 0.3, p.nn.ClipGradByNorm(0.6))),
    _make("clip global", lambda p, ps: p.optimizer.SGD(
        0.5, ps, 0.3, p.nn.ClipGradByGlobalNorm(0.6))),
    _make("clip some", lambda p, ps: p.optimizer.Momentum(
        0.5, 0.9, ps, grad_clip=p.nn.ClipGradByGlobalNorm(0.6)),
        (None, lambda p: {"need_clip": False}, None)),
    _make("groups", lambda p, ps: p.optimizer.Adam(0.1, parameters=[
        {"params": ps[:1], "weight_decay": 0.3},
        {"params": ps[1:], "learning_rate": 0.2, "beta1": 0.5,
         "grad_clip": p.nn.ClipGradByGlobalNorm(0.4)}])),
    _make("adamw groups", lambda p, ps: p.optimizer.AdamW(0.1, parameters=[
        {"params": ps[:1], "weight_decay": 0.5},
        {"params": ps[1:], "learning_rate": 0.2}], weight_decay=0.1)),
])


def _scheduled(p):
    """A run with a scheduler: the rate moves when scheduler.step() says so."""
    ps = parameters(p)
    rate = p.optimizer.lr.StepDecay(0.4, 2, 0.5)
    optimizer = p.optimizer.Momentum(rate, 0.9, ps)
    rates = []

    def every(k):
        rates.append(optimizer.get_lr())
        rate.step()
    trace = walk(p, optimizer, ps, every=every)
    return {"trace": trace, "rates": rates, "state": plain_state(optimizer.state_dict())}


def _zero_gradients(p):
    """clear_grad() leaves zeros, with which a momentum goes on."""
    ps = parameters(p)
    optimizer = p.optimizer.Momentum(0.1, 0.9, ps, weight_decay=0.1)
    (ps[0] * 2.0).sum().backward()
    trace = []
    for _ in range(3):
        optimizer.step()
        optimizer.clear_grad()
        trace.append([round(float(v), 9) for q in ps for v in q.numpy().ravel()])
    return {"trace": trace}


def _lbfgs(**options):
    """Rosenbrock's valley and a bowl, from fixed starts."""
    def case(p):
        x, y = p.create_parameter([2], "float64"), p.create_parameter([1], "float64")
        x.set_value(np.array([-1.2, 1.0]))
        y.set_value(np.array([3.0]))
        optimizer = p.optimizer.LBFGS(parameters=[x, y], **options)

        def closure():
            optimizer.clear_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + ((y - x[0]) ** 2).sum()
            loss.backward()
            return loss
        trace = []
        for _ in range(5):
            optimizer.step(closure)
            trace.append([float(v) for q in (x, y) for v in q.numpy()])
        return {"trace": trace}
    return case


OPTIMIZERS["lbfgs"] = _lbfgs(learning_rate=1e-3, max_iter=4)
OPTIMIZERS["lbfgs wolfe"] = _lbfgs(line_search_fn="strong_wolfe", max_iter=5)
OPTIMIZERS["lbfgs wolfe short"] = _lbfgs(line_search_fn="strong_wolfe", max_iter=6,
                                         history_size=2)
OPTIMIZERS["scheduled"] = _scheduled
OPTIMIZERS["zero gradients"] = _zero_gradients


# ---- schedules
def _rates(build, n: int = 12, jumps=(3, 9, 0)):
    def case(p):
        schedule, walked = build(p.optimizer.lr), []
        for _ in range(n):
            walked.append(float(schedule()))
            schedule.step()
        jumped = []
        for epoch in jumps:
            schedule.step(epoch)
            jumped.append(float(schedule()))
        return {"walked": walked, "jumped": jumped}
    return case


def _plateau(**options):
    def case(p):
        schedule, walked = p.optimizer.lr.ReduceOnPlateau(1.0, **options), []
        for metric in (5.0, 4.95, 4.95, 4.9, 4.9, 4.9, 4.0, 3.95, 3.95, 3.95, 3.95, 3.95, 6.0):
            schedule.step(metric)
            walked.append(float(schedule()))
        return {"walked": walked, "jumped": []}
    return case


SCHEDULES = {
    "StepDecay": _rates(lambda lr: lr.StepDecay(0.5, 3, 0.2)),
    "MultiStepDecay": _rates(lambda lr: lr.MultiStepDecay(0.5, [2, 5, 6], 0.3)),
    "PiecewiseDecay": _rates(lambda lr: lr.PiecewiseDecay([2, 5], [0.5, 0.2, 0.1])),
    "ExponentialDecay": _rates(lambda lr: lr.ExponentialDecay(0.5, 0.9)),
    "NaturalExpDecay": _rates(lambda lr: lr.NaturalExpDecay(0.5, 0.3)),
    "InverseTimeDecay": _rates(lambda lr: lr.InverseTimeDecay(0.5, 0.3)),
    "PolynomialDecay": _rates(lambda lr: lr.PolynomialDecay(0.5, 5, 0.1, 2.0)),
    "PolynomialDecay cycle": _rates(lambda lr: lr.PolynomialDecay(0.5, 4, 0.1, 1.5, True)),
    "CosineAnnealingDecay": _rates(lambda lr: lr.CosineAnnealingDecay(0.5, 4, 0.1), 15),
    "CosineAnnealingWarmRestarts": _rates(
        lambda lr: lr.CosineAnnealingWarmRestarts(0.5, 2, 2, 0.05), 15),
    "CosineAnnealingWarmRestarts same": _rates(
        lambda lr: lr.CosineAnnealingWarmRestarts(0.5, 3), 10),
    "LambdaDecay": _rates(lambda lr: lr.LambdaDecay(0.5, lambda e: 1 / (e + 1))),
    "MultiplicativeDecay": _rates(lambda lr: lr.MultiplicativeDecay(0.5, lambda e: 1 - e / 50)),
    "LinearWarmup": _rates(lambda lr: lr.LinearWarmup(0.8, 4, 0.1, 0.5)),
    "LinearWarmup Cosine": _rates(lambda lr: lr.LinearWarmup(
        lr.CosineAnnealingDecay(0.5, 5), 3, 0.0, 0.5)),
    "LinearWarmup last_epoch": _rates(lambda lr: lr.LinearWarmup(0.8, 4, 0.1, 0.5, 2)),
    "LinearLR": _rates(lambda lr: lr.LinearLR(0.5, 5, 0.25, 0.75), jumps=()),
    "NoamDecay": _rates(lambda lr: lr.NoamDecay(16, 4, 2.0)),
    "OneCycleLR": _rates(lambda lr: lr.OneCycleLR(0.5, 14, 10.0, 0.01, 0.4)),
    "OneCycleLR linear": _rates(lambda lr: lr.OneCycleLR(0.5, 14, anneal_strategy="linear",
                                                         three_phase=True)),
    "CyclicLR": _rates(lambda lr: lr.CyclicLR(0.1, 0.5, 2, 3)),
    "CyclicLR triangular2": _rates(lambda lr: lr.CyclicLR(0.1, 0.5, 2, 3, "triangular2")),
    "CyclicLR exp_range": _rates(lambda lr: lr.CyclicLR(0.1, 0.5, 2, 3, "exp_range", 0.9)),
    "CyclicLR scale_fn": _rates(lambda lr: lr.CyclicLR(
        0.1, 0.5, 2, 3, scale_fn=lambda x: 1 / x, scale_mode="cycle")),
    "ReduceOnPlateau": _plateau(factor=0.5, patience=1),
    "ReduceOnPlateau abs": _plateau(factor=0.5, patience=1, threshold=0.1, threshold_mode="abs",
                                    cooldown=1, min_lr=0.2),
    "ReduceOnPlateau max": _plateau(mode="max", factor=0.3, patience=2),
}


# ---- metrics
def _metric(build, *batches):
    def case(p):
        metric, seen = build(p.metric), []
        for preds, labels in batches:
            preds, labels = np.array(preds, "float32"), np.array(labels, "int64")
            if hasattr(metric, "topk"):
                found = metric.update(metric.compute(p.to_tensor(preds), p.to_tensor(labels)))
                seen.append(np.asarray(found, "float64").tolist())
            else:
                metric.update(preds, labels)
            seen.append(np.asarray(metric.accumulate(), "float64").tolist())
        name = metric.name()
        metric.reset()
        empty = np.asarray(metric.accumulate(), "float64").tolist()
        return {"seen": seen, "name": name, "empty": empty}
    return case


_scores = [[.1, .2, .7], [.6, .3, .1], [.2, .5, .3], [.3, .3, .4]]
_pairs = [[.9, .1], [.2, .8], [.5, .5], [.3, .7], [.6, .4], [.45, .55]]
METRICS = {
    "accuracy": _metric(lambda m: m.Accuracy(), (_scores, [2, 1, 1, 0]), (_scores[:2], [0, 0])),
    "accuracy column": _metric(lambda m: m.Accuracy(), (_scores, [[2], [1], [1], [0]])),
    "accuracy one-hot": _metric(lambda m: m.Accuracy(), (_scores, np.eye(3)[[2, 1, 1, 0]])),
    "accuracy topk": _metric(lambda m: m.Accuracy(topk=(1, 2), name="hits"),
                             (_scores, [2, 1, 1, 0])),
    "precision": _metric(lambda m: m.Precision(), ([.1, .5, .6, .7, .49], [0, 1, 0, 1, 1]),
                         ([[.9], [.2]], [[1], [1]])),
    "recall": _metric(lambda m: m.Recall(), ([.1, .5, .6, .7, .49], [0, 1, 0, 1, 1]),
                      ([[.9], [.2]], [[1], [1]])),
    "auc": _metric(lambda m: m.Auc(), (_pairs, [[0], [1], [0], [1], [1], [0]]),
                   (_pairs, [[1], [1], [0], [0], [1], [0]])),
    "auc few": _metric(lambda m: m.Auc(num_thresholds=4),
                       (_pairs, [[0], [1], [0], [1], [1], [0]])),
    "auc one class": _metric(lambda m: m.Auc(), (_pairs, [[1]] * 6)),
    "function": lambda p: {"seen": [np.asarray(p.metric.accuracy(
        p.to_tensor(np.array(_scores, "float32")), p.to_tensor(np.array([[2], [1], [1], [0]])),
        k).numpy(), "float64").tolist() for k in (1, 2)]},
}


# ---- loaders: how samples of every kind come out
def describe(value):
    """Kinds, dtypes and values, for comparison across packages."""
    if isinstance(value, dict):
        return {k: describe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (str, int)) for v in value):
        return [type(value).__name__, *map(describe, value)]
    if hasattr(value, "numpy"):
        return [str(value.dtype).replace("paddle.", ""), list(value.shape), value.tolist()]
    return [type(value).__name__, str(value)]


SAMPLES = {
    "arrays": lambda p, i: (np.full(2, i, "float32"), np.array(i)),
    "array": lambda p, i: np.full(2, i, "float32"),
    "float64": lambda p, i: np.full(2, i, "float64"),
    "float": lambda p, i: float(i),
    "int": lambda p, i: (i, float(i)),
    "numpy numbers": lambda p, i: (np.float32(i), np.float64(i), np.int32(i), np.int64(i)),
    "bool": lambda p, i: (i > 1, i),
    "tensors": lambda p, i: (p.to_tensor([float(i)]), p.to_tensor(i)),
    "dict": lambda p, i: {"x": np.full(2, i, "float32"), "y": i, "s": str(i)},
    "nested": lambda p, i: [{"a": i, "b": [float(i), (i, i)]}, (np.zeros(1, "float32"), "t")],
    "list": lambda p, i: [i, i + 1],
    "text": lambda p, i: ("a" * i, i),
}


def loader(make, single: bool):
    def case(p):
        class Samples(p.io.Dataset):
            def __getitem__(self, i):
                return make(p, i)

            def __len__(self):
                return 3
        found = {"batches": [describe(b) for b in p.io.DataLoader(Samples(), batch_size=2)]}
        if single:
            loaded = p.io.DataLoader(Samples(), batch_size=None)
            found["single"] = describe(next(iter(loaded)))
        return found
    return case


# Without a batch size the original loads arrays and Tensors alone; a number hangs it.
LOADERS = {label: loader(make, label in ("arrays", "array", "float64", "tensors"))
           for label, make in SAMPLES.items()}
CHAPTERS = {"optimizers": OPTIMIZERS, "schedules": SCHEDULES, "metrics": METRICS,
            "loaders": LOADERS}


def golden() -> dict:
    """The stored answers of real Paddle, by chapter and case."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_training.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main() -> None:
    import paddle
    found: dict = {}
    for chapter, cases in CHAPTERS.items():
        found[chapter] = {}
        for label, case in cases.items():
            print(chapter, label, file=sys.stderr, flush=True)
            try:
                found[chapter][label] = case(paddle)
            except Exception as error:              # the original cannot do it: say which, go on
                print(f"{chapter}: {label}: {type(error).__name__}: {error}", file=sys.stderr)
    json.dump(found, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
