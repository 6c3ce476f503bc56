"""Worker processes for the DataLoader. Imports device for seeds, and the standard library.

Each worker has a pipe of its own and nothing else in common with the others: no queue, no lock, no
thread. So one that dies, at any moment, is noticed and cannot hold up anybody. The main process
hands out tasks round robin and takes the results in that order.
"""
from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from multiprocessing import connection

import numpy as np

from . import device

# Bytes of tasks that may wait in a pipe. More is sent only to a worker that is idle, and thus
# reading: writing to one that is itself blocked on writing would never end.
_UNREAD = 16384


class WorkerInfo:
    """Who a worker is: `id` of `num_workers`, its `seed`, and its copy of the `dataset`."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset) -> None:
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a DataLoader's worker who it is, so that a stream can give its part; else None.

    >>> import minipaddle as paddle
    >>> paddle.io.get_worker_info() is None
    True
    """
    return _info


# ---- messages: a pickle, and its arrays behind it without a copy
def _send(pipe, value) -> None:
    buffers: list = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    raws = [b.raw() for b in buffers]
    pipe.send_bytes(pickle.dumps((head, [r.nbytes for r in raws])))
    for raw in raws:
        if raw.nbytes:
            pipe.send_bytes(raw)


def _receive(pipe):
    head, sizes = pickle.loads(pipe.recv_bytes())
    buffers = []
    for size in sizes:
        buffer = bytearray(size)
        if size:
            pipe.recv_bytes_into(buffer)
        buffers.append(buffer)
    return pickle.loads(head, buffers=buffers)


# ---- in the worker
def _work(produce, number, count, dataset, init, pipe, others) -> None:
    """A worker's life: passes over the data, one after the other, until the pipe closes."""
    global _info
    for other in others:                            # inherited ends would keep pipes open
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # Ctrl-C is the main process's to handle
    device.set_device("cpu")                        # a GPU does not survive a fork
    parent = multiprocessing.parent_process().sentinel
    try:
        while (seed := _next(pipe, parent)) is not None:
            seed = (seed + number) % 2 ** 31
            random.seed(seed)
            np.random.seed(seed)
            device.seed(seed)
            fresh = _info is None
            _info = WorkerInfo(number, count, seed, dataset)
            _one_pass(produce, pipe, parent, init if fresh else None, number)
    except (EOFError, BrokenPipeError, ConnectionError):
        pass                                        # the main process has gone or given up
    finally:
        pipe.close()


def _next(pipe, parent):
    if parent in connection.wait([pipe, parent]) and not pipe.poll():
        return None
    return pipe.recv()


def _one_pass(produce, pipe, parent, init, number) -> None:
    """Results for the tasks until the main process says that there are no more."""
    open_pass = True

    def tasks():
        nonlocal open_pass
        while (message := _next(pipe, parent)) is not None:
            if message == "end":
                break
            yield message[0]
        open_pass = False
    asked = tasks()
    try:
        if init is not None:
            init(number)
        for result in produce(asked):
            _send(pipe, ("result", result))
        if open_pass:                               # a stream ran dry
            _send(pipe, ("dry", None))
    except (EOFError, BrokenPipeError, ConnectionError):
        raise
    except BaseException as error:                  # carried to the main process
        _send(pipe, ("error", _described(error, number)))
    for _ in asked if open_pass else ():            # what was still asked for is not wanted
        pass
    _send(pipe, ("ended", None))


def _described(error, number):
    """An exception as it can travel: itself, if it can be pickled, and its traceback as text."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        kept = pickle.dumps(error)
        pickle.loads(kept)
    except Exception:                               # of a kind that is not at home in a pickle
        kept = None
    return number, kept, f"{type(error).__name__}: {error}", text


# ---- in the main process
class _Worker:
    """A process, its pipe, and what it was asked and has not answered."""

    def __init__(self, context, pool_args, number, others) -> None:
        self.pipe, theirs = context.Pipe()
        produce, count, dataset, init = pool_args
        self.process = context.Process(
            target=_work, daemon=True, name=f"DataLoader-worker-{number}",
            args=(produce, number, count, dataset, init, theirs, [*others, self.pipe]))
        with warnings.catch_warnings():
            # Python warns of forking beside threads; a worker uses none of the parent's
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self.number, self.asked, self.unread, self.dry = number, 0, deque(), False
        self.waiting: deque = deque()               # results that came before their turn

    def can_take(self, size: int) -> bool:
        return not self.asked or sum(self.unread) + size <= _UNREAD

    def ask(self, message: bytes) -> None:
        self.asked += 1
        self.unread.append(len(message))
        self.pipe.send_bytes(message)


class Pool:
    """Workers that run `produce(tasks)` on passes over the data."""

    def __init__(self, produce, count: int, ahead: int, dataset, init) -> None:
        methods = multiprocessing.get_all_start_methods()
        # fork starts in milliseconds and takes any dataset, also one that cannot be pickled
        context = multiprocessing.get_context("fork" if "fork" in methods else None)
        self._forked = context.get_start_method() == "fork"
        self._ahead, self.usable, self.workers, self._pid = ahead, True, [], os.getpid()
        try:
            for number in range(count):
                others = [w.pipe for w in self.workers] if self._forked else []
                self.workers.append(_Worker(context, (produce, count, dataset, init), number,
                                            others))
        except BaseException:
            self.close()
            raise

    def run(self, tasks, seed: int, timeout: float = 0):
        """The results for the tasks, in their order; for a stream until all workers ran dry."""
        complete = False
        try:
            self._begin(seed)
            yield from self._results(iter(tasks), timeout)
            self._finish()
            complete = True
        finally:
            if not complete:                        # left early, or an error: nothing is reusable
                self.close()

    def _begin(self, seed) -> None:
        if not self.usable:
            raise RuntimeError("DataLoader: this pass over persistent workers was overtaken by "
                               "another one that ended early")
        self.usable = False
        for worker in self.workers:
            worker.asked, worker.dry = 0, False
            worker.unread.clear()
            worker.waiting.clear()
            self._tell(worker, seed)

    def _results(self, tasks, timeout):
        """Hands out tasks round robin, and gives the results in the same order."""
        turns: deque = deque()                      # whose result comes next
        next_worker = itertools.cycle(self.workers).__next__
        task, exhausted = None, False
        worker = next_worker()
        while True:
            while not exhausted and len(turns) < self._ahead * len(self.workers):
                if all(w.dry for w in self.workers):
                    exhausted = True
                    break
                if worker.dry:
                    worker = next_worker()
                    continue
                if task is None:
                    try:
                        task = pickle.dumps((next(tasks),))
                    except StopIteration:
                        exhausted = True
                        break
                if not worker.can_take(len(task)):
                    break
                self._send_to(worker, task)
                turns.append(worker)
                worker, task = next_worker(), None
            if not turns:
                return
            turn = turns.popleft()
            if turn.dry and not turn.waiting:
                continue
            kind, value = self._take(turn, timeout)
            if kind == "result":
                yield value
            elif kind == "dry":
                turn.dry = True
            else:
                self._raise(value)

    def _send_to(self, worker, message: bytes) -> None:
        try:
            worker.ask(message)
        except (BrokenPipeError, ConnectionError):
            self._died(worker)

    def _tell(self, worker, message) -> None:
        try:
            worker.pipe.send(message)
        except (BrokenPipeError, ConnectionError):
            self._died(worker)

    def _take(self, wanted, timeout):
        """The next message of a worker; those of the others are taken in meanwhile."""
        deadline = time.monotonic() + timeout if timeout else None
        while not wanted.waiting:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            pipes = {w.pipe: w for w in self.workers}
            ready = connection.wait([*pipes, wanted.process.sentinel], left)
            if not ready:
                raise RuntimeError(f"DataLoader: worker {wanted.number} gave no batch within "
                                   f"{timeout} seconds (timeout)")
            took = False
            for pipe in ready:
                worker = pipes.get(pipe)
                if worker is None:
                    continue
                try:
                    worker.waiting.append(_receive(pipe))
                except (EOFError, ConnectionError):
                    self._died(worker)
                worker.asked -= 1
                if worker.unread:
                    worker.unread.popleft()
                took = True
            if not took and not wanted.pipe.poll():
                self._died(wanted)
        return wanted.waiting.popleft()

    def _finish(self) -> None:
        """End the pass: every worker says so, and is ready for the next."""
        for worker in self.workers:
            self._tell(worker, "end")
        for worker in self.workers:
            while True:
                kind, value = self._take(worker, 0)
                if kind == "ended":
                    break
                if kind == "error":
                    self._raise(value)
        self.usable = True

    def _died(self, worker):
        worker.process.join(5)
        code = worker.process.exitcode
        reason = f"was killed by signal {signal.Signals(-code).name}" if code and code < 0 else \
            f"ended with exit code {code}"
        raise RuntimeError(f"DataLoader: worker {worker.number} (pid {worker.process.pid}) "
                           f"{reason} before its work was done") from None

    @staticmethod
    def _raise(value):
        number, kept, short, text = value
        note = f"in DataLoader worker {number}:\n\n{text}"
        error = pickle.loads(kept) if kept is not None else \
            RuntimeError(f"{short}\n{note}")
        if kept is not None:
            # the text of the worker's traceback as the cause: printed above the error's own
            raise error from _InWorker(note)
        raise error

    def close(self) -> None:
        """Let the workers go: at once if they wait, after a second whatever they do."""
        self.usable = False
        if os.getpid() != self._pid:                # a fork's copy of the pool owns nothing
            return
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.pipe.close()
        deadline = time.monotonic() + 1.0
        for worker in workers:
            if sys.is_finalizing():
                worker.process.terminate()
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.terminate()
                worker.process.join(1.0)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.process.close()


class _InWorker(Exception):
    """Shows a worker's traceback as the cause of the error it brought."""
