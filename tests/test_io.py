"""Datasets, samplers, collation, and the DataLoader with and without worker processes."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import golden_training
import numpy as np
import processes
import pytest

import minipaddle as paddle
from minipaddle import io

GOLDEN = golden_training.golden()["loaders"]


class Squares(io.Dataset):
    def __init__(self, n: int = 11) -> None:
        self.n = n

    def __getitem__(self, i):
        return np.array([i, i * i], "float32"), i % 3

    def __len__(self):
        return self.n


class Stream(io.IterableDataset):
    """0 to n - 1; with workers each gives its part."""

    def __init__(self, n: int = 10) -> None:
        self.n = n

    def __iter__(self):
        info = io.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.n, step):
            yield np.float32(i)


def indices(loader) -> list:
    """The first field's first column, batch by batch."""
    return [x.numpy()[:, 0].astype(int).tolist() for x, _ in loader]


@pytest.fixture(autouse=True)
def no_process_is_left():
    import multiprocessing
    yield
    deadline = time.monotonic() + 3
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


# ---- what comes out
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("label", golden_training.LOADERS)
def test_kinds_and_dtypes_are_paddles(label, workers, monkeypatch):
    if workers:
        plain = io.DataLoader.__init__
        monkeypatch.setattr(io.DataLoader, "__init__", lambda self, *args, **kwargs: plain(
            self, *args, num_workers=workers, **kwargs))
    assert golden_training.LOADERS[label](paddle) == GOLDEN[label]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_order_and_sizes(workers):
    loader = io.DataLoader(Squares(), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    for _ in range(2):
        assert indices(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    assert indices(io.DataLoader(Squares(), batch_size=4, num_workers=workers,
                                 drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert indices(io.DataLoader(Squares(0), batch_size=4, num_workers=workers)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffle_follows_numpys_seed_and_changes_each_pass(workers):
    def passes():
        np.random.seed(3)
        loader = io.DataLoader(Squares(20), batch_size=7, shuffle=True, num_workers=workers)
        return [indices(loader), indices(loader)]
    first, second = passes()
    assert sorted(sum(first, [])) == list(range(20)) and first != second
    assert passes() == [first, second]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_collate_function_of_ones_own(workers):
    loader = io.DataLoader(Squares(5), batch_size=2, num_workers=workers,
                           collate_fn=lambda samples: {"sum": sum(x for x, _ in samples), "n": 2})
    assert [b["sum"].tolist() for b in loader] == [[1, 1], [5, 13], [4, 16]]


def test_what_the_loader_gives_is_not_the_datasets_memory():
    data = np.zeros((4, 2), "float32")

    class Own(io.Dataset):
        def __getitem__(self, i):
            return data[i]

        def __len__(self):
            return 4
    for options in ({"batch_size": 2}, {"batch_size": None},
                    {"batch_size": 1, "collate_fn": lambda samples: samples[0]}):
        for x in io.DataLoader(Own(), **options):
            x += 1
    assert (data == 0).all()


def test_feed_list_gives_dicts():
    loader = io.DataLoader(Squares(2), feed_list=["x", "y"], return_list=False, batch_size=2)
    (feed,), = loader
    assert list(feed) == ["x", "y"] and feed["y"].tolist() == [0, 1]


def test_from_generator():
    loader = io.DataLoader.from_generator(capacity=2, return_list=True)
    with pytest.raises(RuntimeError, match="set_batch_generator"):
        next(iter(loader))
    loader.set_batch_generator(lambda: iter([(np.ones(2), np.zeros(1))]))
    assert [len(batch) for batch in loader()] == [2]
    loader.set_sample_list_generator(lambda: iter([[(1.0,), (2.0,)]]))
    assert [x.tolist() for x, in loader] == [[1.0, 2.0]]


def test_collate_says_what_does_not_fit():
    with pytest.raises(ValueError, match=r"one shape.*\(2,\).*\(3,\)"):
        io.default_collate_fn([np.zeros(2), np.zeros(3)])
    with pytest.raises(RuntimeError, match=r"numbers of fields, \[1, 2\]"):
        io.default_collate_fn([(1,), (1, 2)])
    with pytest.raises(TypeError, match="object"):
        io.default_collate_fn([object()])


# ---- datasets
def test_datasets_put_together():
    a, b = Squares(3), Squares(2)
    both = io.ConcatDataset([a, b])
    assert len(both) == 5 and [int(both[i][0][0]) for i in (0, 2, 3, -1)] == [0, 2, 0, 1]
    with pytest.raises(IndexError, match="5"):
        both[5]
    assert len(io.ComposeDataset([a, a])[1]) == 4
    with pytest.raises(ValueError, match="length"):
        io.ComposeDataset([a, b])
    assert [float(v) for v in io.ChainDataset([Stream(2), Stream(1)])] == [0, 1, 0]
    assert int(io.Subset(a, [2, 1])[0][0][0]) == 2
    t = io.TensorDataset([paddle.arange(4), paddle.ones([4, 2])])
    assert len(t) == 4 and t[2][0].item() == 2 and t[2][1].shape == [2]
    with pytest.raises(ValueError, match="first dimensions"):
        io.TensorDataset([paddle.ones([2]), paddle.ones([3])])


def test_random_split():
    np.random.seed(0)
    parts = io.random_split(Squares(10), [7, 3])
    assert [len(p) for p in parts] == [7, 3]
    assert sorted(int(p[i][0][0]) for p in parts for i in range(len(p))) == list(range(10))
    assert [len(p) for p in io.random_split(Squares(10), [0.55, 0.45])] == [6, 4]
    with pytest.raises(ValueError, match=r"\[7, 4\].*10"):
        io.random_split(Squares(10), [7, 4])


@pytest.mark.parametrize("call, error", [
    (lambda: io.Dataset()[0], NotImplementedError),
    (lambda: len(io.Dataset()), NotImplementedError),
    (lambda: iter(io.IterableDataset()), NotImplementedError),
    (lambda: iter(io.Sampler()), NotImplementedError),
    (lambda: len(io.DataLoader(Stream())), RuntimeError),
    (lambda: io.DataLoader(Stream(), shuffle=True), ValueError),
    (lambda: io.DataLoader(Squares(), batch_size=0), ValueError),
    (lambda: io.DataLoader(Squares(), num_workers=-1), ValueError),
    (lambda: io.DataLoader(Squares(), prefetch_factor=0), ValueError),
    (lambda: io.DataLoader(Squares(), timeout=-1), ValueError),
    (lambda: io.DataLoader(Squares(), batch_sampler=io.BatchSampler(Squares()), batch_size=4),
     ValueError),
    (lambda: io.BatchSampler(), ValueError), (lambda: io.BatchSampler(Squares(), batch_size=1.5),
                                              ValueError),
    (lambda: io.DistributedBatchSampler(Squares(), 1, 2, 2), ValueError),
    (lambda: io.WeightedRandomSampler([-1, 2], 1), ValueError),
    (lambda: io.WeightedRandomSampler([1, 2], 3, replacement=False), ValueError)])
def test_mistakes_raise(call, error):
    with pytest.raises(error):
        call()


# ---- samplers
def test_samplers():
    np.random.seed(0)
    data = Squares(6)
    assert list(io.SequenceSampler(data)) == list(range(6))
    assert sorted(io.RandomSampler(data)) == list(range(6))
    drawn = list(io.RandomSampler(data, replacement=True, num_samples=50))
    assert len(drawn) == 50 and set(drawn) <= set(range(6))
    assert sorted(io.SubsetRandomSampler([1, 4, 5])) == [1, 4, 5]
    weighted = io.WeightedRandomSampler([0, 1, 3], 400)
    share = list(weighted).count(2) / len(weighted)
    assert 0.65 < share < 0.85
    assert sorted(io.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    batches = io.BatchSampler(sampler=io.SequenceSampler(data), batch_size=4)
    assert list(batches) == [[0, 1, 2, 3], [4, 5]] and len(batches) == 2


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_batches_cover_everything_equally(drop_last):
    parts = [io.DistributedBatchSampler(Squares(10), 2, num_replicas=4, rank=r, shuffle=True,
                                        drop_last=drop_last) for r in range(4)]
    seen = [list(p) for p in parts]
    assert {len(s) for s in seen} == {len(parts[0])}
    if not drop_last:
        assert set(sum(sum(seen, []), [])) == set(range(10))
    for p in parts:
        p.set_epoch(0)
    assert [list(p) for p in parts] == seen         # the epoch chooses the shuffle
    assert [list(p) for p in parts] != seen
    alone = io.DistributedBatchSampler(Squares(5), 2)
    assert list(alone) == [[0, 1], [2, 3], [4]] and len(alone) == 3


# ---- streams
def test_streams():
    got = [x.tolist() for x in io.DataLoader(Stream(5), batch_size=2)]
    assert got == [[0, 1], [2, 3], [4]]
    got = [x.tolist() for x in io.DataLoader(Stream(5), batch_size=2, drop_last=True)]
    assert got == [[0, 1], [2, 3]]
    assert [x.item() for x in io.DataLoader(Stream(3), batch_size=None)] == [0, 1, 2]


@pytest.mark.parametrize("n, workers", [(0, 2), (1, 3), (10, 2), (23, 3)])
def test_streams_with_workers_give_everything_once(n, workers):
    loader = io.DataLoader(Stream(n), batch_size=2, num_workers=workers, persistent_workers=True)
    for _ in range(2):
        got = [v for x in loader for v in x.tolist()]
        assert sorted(got) == list(range(n))
    if n == 10:
        assert got == [0, 2, 1, 3, 4, 6, 5, 7, 8, 9]    # round robin
    del loader


# ---- workers
class WhoAmI(io.Dataset):
    def __getitem__(self, i):
        info = io.get_worker_info()
        return np.array([os.getpid(), info.id, info.num_workers, len(info.dataset),
                         np.random.randint(1 << 30), paddle.randint(0, 1 << 30, [1]).item(),
                         __import__("random").randrange(1 << 30)])

    def __len__(self):
        return 8


def test_workers_are_processes_that_know_who_they_are_and_differ():
    assert io.get_worker_info() is None
    loader = io.DataLoader(WhoAmI(), batch_size=1, num_workers=2)
    rows = np.concatenate([x.numpy() for x in loader])
    assert len(set(rows[:, 0])) == 2 and os.getpid() not in rows[:, 0]
    assert rows[:, 1].tolist() == [0, 1] * 4 and set(rows[:, 2]) == {2} and set(rows[:, 3]) == {8}
    for column in (4, 5, 6):
        assert len(set(rows[:, column])) == 8
    again = np.concatenate([x.numpy() for x in loader])
    assert not set(again[:, 4]) & set(rows[:, 4])   # another pass, other numbers


def test_numpys_seed_decides_the_workers_seeds():
    def drawn():
        np.random.seed(5)
        loader = io.DataLoader(WhoAmI(), batch_size=1, num_workers=2)
        return np.concatenate([x.numpy() for x in loader])[:, 4:].tolist()
    assert drawn() == drawn()


def test_worker_init_fn_and_persistent_workers():
    class Told(io.Dataset):
        def __getitem__(self, i):
            return np.array([os.getpid(), told[0]])

        def __len__(self):
            return 4
    told = [None]

    def init(worker):
        told[0] = 100 + worker
    loader = io.DataLoader(Told(), num_workers=2, worker_init_fn=init, persistent_workers=True)
    first = np.concatenate([x.numpy() for x in loader])
    second = np.concatenate([x.numpy() for x in loader])
    assert (first == second).all() and first[:, 1].tolist() == [100, 101, 100, 101]
    assert told == [None]
    next(iter(loader))                              # left early: the next pass is whole again
    third = np.concatenate([x.numpy() for x in loader])
    assert third[:, 1].tolist() == [100, 101, 100, 101]
    del loader


class Faulty(io.Dataset):
    def __init__(self, act) -> None:
        self.act = act

    def __getitem__(self, i):
        if i == 5:
            self.act()
        return np.float32(i)

    def __len__(self):
        return 40


class OddError(Exception):
    """Cannot be made again from its arguments, so no pickle carries it."""

    def __init__(self, a, b) -> None:
        super().__init__(f"{a} and {b}")


def fail():
    raise KeyError("bad sample five")


def fail_oddly():
    raise OddError("bad", "sample")


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("act, error, text", [
    (fail, KeyError, "bad sample five"), (fail_oddly, RuntimeError, "OddError: bad and sample")])
def test_an_exception_comes_back_with_its_traceback(act, error, text, persistent):
    import traceback
    loader = io.DataLoader(Faulty(act), batch_size=2, num_workers=2,
                           persistent_workers=persistent)
    got = []
    with pytest.raises(error) as caught:
        for x in loader:
            got.append(x.tolist())
    assert got == [[0, 1], [2, 3]]                  # what came before it was given
    whole = "".join(traceback.format_exception(None, caught.value, caught.value.__traceback__))
    assert text in whole and "in DataLoader worker 0" in whole and "in __getitem__" in whole
    assert f"in {act.__name__}" in whole
    with pytest.raises(error):                      # and again: nothing is stuck
        list(loader)


def test_an_exception_in_worker_init_fn():
    loader = io.DataLoader(Squares(), num_workers=2, worker_init_fn=lambda i: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        list(loader)


def test_a_result_that_cannot_travel():
    loader = io.DataLoader(Squares(), num_workers=1, collate_fn=lambda samples: lambda: 0)
    with pytest.raises((AttributeError, RuntimeError, TypeError), match="(?i)pickle|local object"):
        list(loader)


@pytest.mark.parametrize("act, text", [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), r"worker 0 .pid \d+. was killed by .*SIGKILL"),
    (lambda: os._exit(3), "worker 0 .* exit code 3")])
def test_a_dead_worker_is_reported(act, text):
    loader = io.DataLoader(Faulty(act), batch_size=2, num_workers=2)
    with pytest.raises(RuntimeError, match=text):
        list(loader)


def test_a_worker_killed_from_outside_in_the_middle_of_a_message():
    class Big(io.Dataset):
        def __getitem__(self, i):
            return np.array([os.getpid()] * 500_000)

        def __len__(self):
            return 50
    with pytest.raises(RuntimeError, match="SIGKILL"):
        for x in io.DataLoader(Big(), num_workers=1):
            time.sleep(0.05)                        # the worker now waits for room in its pipe
            os.kill(int(x[0, 0]), signal.SIGKILL)


def test_timeout():
    loader = io.DataLoader(Faulty(lambda: time.sleep(30)), num_workers=1, timeout=1)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="worker 0 .*1 seconds"):
        list(loader)
    assert time.monotonic() - start < 10


def test_long_lists_of_indices_and_big_batches_do_not_lock_up():
    class Wide(io.Dataset):
        def __getitem__(self, i):
            return np.full(100, i, "float32")

        def __len__(self):
            return 60_000
    loader = io.DataLoader(Wide(), batch_size=20_000, num_workers=2, prefetch_factor=3)
    assert [x[0, 0].item() for x in loader] == [0, 20_000, 40_000]


def test_arrays_of_every_shape_travel():
    def collate(samples):
        return [np.zeros((0, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
                np.arange(10)[::3], np.float64(2.5), {"b": np.array(True), "t": "text"}]
    (empty, fortran, strided, number, rest), = io.DataLoader(
        Squares(1), num_workers=1, collate_fn=collate)
    assert empty.shape == [0, 3] and fortran.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert strided.tolist() == [0, 3, 6, 9] and number.item() == 2.5
    assert rest["b"].item() is True and rest["t"] == "text"
    fortran += 1                                    # the memory is its own, and writable


def test_leaving_early_and_two_passes_at_once():
    loader = io.DataLoader(Squares(40), batch_size=2, num_workers=2)
    for _ in range(3):
        for x, _ in loader:
            break
    for a, b in zip(indices(loader), indices(loader), strict=True):
        assert a == b
    both = zip(iter(loader), iter(loader), strict=True)
    assert all((x.numpy() == y.numpy()).all() for (x, _), (y, _) in both)


SCRIPT = """
import os, sys, time, numpy as np, minipaddle as paddle
class Slow(paddle.io.Dataset):
    def __getitem__(self, i):
        time.sleep({pause})
        return np.array([os.getpid(), i])
    def __len__(self):
        return 10 ** 6
for x in paddle.io.DataLoader(Slow(), num_workers=2):
    print(int(x[0, 0]), flush=True)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("pause", [0, 0.2])
def test_workers_do_not_outlive_the_main_process(sign, pause):
    env = {**os.environ, "PYTHONPATH": processes.ROOT}
    child = subprocess.Popen([sys.executable, "-c", SCRIPT.format(pause=pause)], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pids = {int(child.stdout.readline()) for _ in range(4)}
    child.send_signal(sign)
    _, errors = child.communicate(timeout=20)
    assert len(pids) == 2
    if sign == signal.SIGINT:
        assert errors.count("Traceback") <= 2 and "KeyboardInterrupt" in errors
        assert "worker" not in errors.split("KeyboardInterrupt")[-1]
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))
