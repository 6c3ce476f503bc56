"""Data loading (`paddle.io`): datasets, samplers, DataLoader. Imports workers and core.

Samplers shuffle with NumPy's global generator, as Paddle's do: `np.random.seed` steers them.
"""
from __future__ import annotations

import bisect
import itertools
import math
import os

import numpy as np

from .core import Tensor, asarray, asnumpy, current_place, ops, to_tensor
from .workers import Pool, WorkerInfo, get_worker_info  # noqa: F401

__all__ = ["BatchSampler", "ChainDataset", "ComposeDataset", "ConcatDataset", "DataLoader",
           "Dataset", "DistributedBatchSampler", "IterableDataset", "RandomSampler", "Sampler",
           "SequenceSampler", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "default_collate_fn", "default_convert_fn", "get_worker_info",
           "random_split"]


# ---- datasets
class Dataset:
    """A map from index to sample: a subclass has `__getitem__(i)` and `__len__()`."""

    def __getitem__(self, idx):
        raise NotImplementedError(f"{type(self).__name__} needs __getitem__(self, idx)")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __len__(self)")


class IterableDataset(Dataset):
    """A stream of samples: a subclass has `__iter__()`."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __iter__(self)")

    def __getitem__(self, idx):
        raise RuntimeError("an IterableDataset has no items by index")

    def __len__(self):
        raise RuntimeError("an IterableDataset has no length")


class TensorDataset(Dataset):
    """Samples (t[i] for t in tensors); all tensors have one first dimension."""

    def __init__(self, tensors) -> None:
        sizes = {len(t) for t in tensors}
        if len(sizes) != 1:
            raise ValueError(f"TensorDataset: first dimensions differ: {sorted(sizes)}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class ComposeDataset(Dataset):
    """Samples of several datasets of one length, joined field by field."""

    def __init__(self, datasets) -> None:
        self.datasets = list(datasets)
        if not self.datasets or len({len(d) for d in self.datasets}) != 1:
            raise ValueError("ComposeDataset: give datasets of one length")

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx):
        parts = [d[idx] for d in self.datasets]
        return tuple(itertools.chain.from_iterable(
            p if isinstance(p, (list, tuple)) else (p,) for p in parts))


class ChainDataset(IterableDataset):
    """Streams one after another."""

    def __init__(self, datasets) -> None:
        self.datasets = list(datasets)

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: datasets is empty")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range for a dataset of {len(self)}")
        idx %= len(self)
        k = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[k][idx - (self.cumulative_sizes[k - 1] if k else 0)]


class Subset(Dataset):
    """The samples of a dataset that indices name."""

    def __init__(self, dataset, indices) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset, lengths, generator=None) -> list:
    """A dataset cut at random into subsets of given lengths, or fractions that add up to 1."""
    size = len(dataset)
    if all(isinstance(n, float) for n in lengths) and math.isclose(sum(lengths), 1):
        cuts = [int(size * n) for n in lengths]
        for i in range(size - sum(cuts)):
            cuts[i % len(cuts)] += 1
        lengths = cuts
    if sum(lengths) != size:
        raise ValueError(f"random_split: lengths {list(lengths)} must add up to {size}, the length "
                         "of the dataset")
    order = np.random.permutation(size).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - n:end]) for n, end in zip(lengths, ends)]


# ---- samplers
class Sampler:
    """An order of indices: a subclass has `__iter__()`."""

    def __init__(self, data_source=None) -> None:
        self.data_source = data_source

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __iter__(self)")

    def __len__(self) -> int:
        return len(self.data_source)


class SequenceSampler(Sampler):
    """0, 1, 2, ..."""

    def __iter__(self):
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """A new shuffle each time; with replacement=True independent draws, num_samples of them."""

    def __init__(self, data_source, replacement: bool = False, num_samples: int | None = None,
                 generator=None) -> None:
        super().__init__(data_source)
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        size = len(self.data_source)
        if self.replacement:
            return iter(np.random.randint(0, size, self.num_samples).tolist())
        return iter(np.random.permutation(size)[:self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """A new shuffle of given indices each time."""

    def __init__(self, indices) -> None:
        super().__init__(indices)
        self.indices = list(indices)

    def __iter__(self):
        return iter([self.indices[i] for i in np.random.permutation(len(self.indices))])


class WeightedRandomSampler(Sampler):
    """num_samples indices drawn with probabilities in proportion to the weights."""

    def __init__(self, weights, num_samples: int, replacement: bool = True) -> None:
        weights = weights.numpy() if isinstance(weights, Tensor) else np.asarray(weights, float)
        if (weights < 0).any() or not weights.sum() > 0:
            raise ValueError("WeightedRandomSampler: weights must not be negative, nor all zero")
        if not replacement and num_samples > len(weights):
            raise ValueError(f"WeightedRandomSampler: {num_samples} samples without replacement "
                             f"from {len(weights)}")
        self.weights, self.num_samples, self.replacement = weights, num_samples, replacement

    def __iter__(self):
        p = self.weights / self.weights.sum()
        return iter(np.random.choice(len(p), self.num_samples, self.replacement, p).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size indices from a sampler, or from a dataset's order or shuffle."""

    def __init__(self, dataset=None, sampler=None, shuffle: bool = False, batch_size: int = 1,
                 drop_last: bool = False) -> None:
        if (dataset is None) == (sampler is None):
            raise ValueError("BatchSampler: give either dataset or sampler")
        _positive("BatchSampler: batch_size", batch_size)
        self.sampler = sampler if sampler is not None else \
            RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self):
        batch = []
        for i in self.sampler:
            batch.append(i)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one process out of num_replicas: every num_replicas-th index, from rank on.

    num_replicas and rank are those of the environment (one process: 1 and 0) unless given. The
    indices are padded from their start, so that all processes have equally many. `set_epoch(n)`
    chooses the shuffle.

    >>> import minipaddle as paddle
    >>> s = paddle.io.DistributedBatchSampler(range(5), 2, num_replicas=2, rank=1)
    >>> list(s)
    [[1, 3], [0]]
    """

    def __init__(self, dataset, batch_size: int, num_replicas: int | None = None,
                 rank: int | None = None, shuffle: bool = False, drop_last: bool = False) -> None:
        _positive("DistributedBatchSampler: batch_size", batch_size)
        self.dataset, self.batch_size = dataset, batch_size
        self.nranks = int(os.environ.get("PADDLE_TRAINERS_NUM", 1)) if num_replicas is None else \
            num_replicas
        self.local_rank = int(os.environ.get("PADDLE_TRAINER_ID", 0)) if rank is None else rank
        _positive("DistributedBatchSampler: num_replicas", self.nranks)
        if not 0 <= self.local_rank < self.nranks:
            raise ValueError(f"DistributedBatchSampler: rank must be in [0, {self.nranks}), got "
                             f"{self.local_rank}")
        self.shuffle, self.drop_last, self.epoch = bool(shuffle), bool(drop_last), 0
        self.num_samples = -(-len(dataset) // self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(indices)
            self.epoch += 1
        while indices and len(indices) < self.total_size:
            indices += indices[:self.total_size - len(indices)]
        mine = indices[self.local_rank::self.nranks]
        for i in range(0, len(mine), self.batch_size):
            batch = mine[i:i + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = self.num_samples
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of the next pass."""
        self.epoch = epoch


def _positive(label: str, value) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{label} must be a positive int, got {value!r}")


# ---- the loader
def default_collate_fn(batch: list):
    """Samples put together: arrays and numbers stacked, dicts and sequences field by field.

    Python floats become float64, as in Paddle; text is left in lists. TypeError for other kinds,
    ValueError for arrays of different shapes.

    >>> import minipaddle as paddle
    >>> paddle.io.default_collate_fn([(1, {"x": 2}), (3, {"x": 4})])
    [array([1, 3]), {'x': array([2, 4])}]
    """
    first = batch[0]
    if isinstance(first, np.ndarray):
        try:
            return np.stack(batch)
        except ValueError:
            raise ValueError("default_collate_fn: the samples of a batch must have one shape, "
                             f"got {sorted({a.shape for a in batch})}; pad them, or give the "
                             "DataLoader a collate_fn") from None
    if isinstance(first, Tensor):
        return ops.stack(batch)
    if isinstance(first, (bool, int, float, np.number, np.bool_)):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, dict):
        return {k: default_collate_fn([sample[k] for sample in batch]) for k in first}
    if isinstance(first, (list, tuple)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("default_collate_fn: the samples of a batch have different numbers "
                               f"of fields, {sorted({len(s) for s in batch})}")
        return [default_collate_fn(list(field)) for field in zip(*batch)]
    raise TypeError("default_collate_fn: a sample must hold arrays, Tensors, numbers, text, dicts, "
                    f"lists or tuples, got {type(first).__name__}")


def default_convert_fn(sample):
    """One sample as it is: what batch_size=None uses instead of a collate function."""
    return sample


def _to_tensors(value, fresh: bool):
    """Arrays as Tensors, at any depth; those that nobody else holds (`fresh`) are not copied."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            return value
        return Tensor(asarray(value, current_place())) if fresh else to_tensor(value)
    if isinstance(value, np.generic):
        return to_tensor(np.asarray(value))
    if isinstance(value, dict):
        return {k: _to_tensors(v, fresh) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_to_tensors(v, fresh) for v in value]
        return items if type(value) in (list, tuple) else \
            type(value)(*items) if hasattr(value, "_fields") else value
    return value


def _to_arrays(value):
    """Tensors as arrays, at any depth: what a worker sends."""
    if isinstance(value, Tensor):
        return asnumpy(value._data)
    if isinstance(value, dict):
        return {k: _to_arrays(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return [_to_arrays(v) for v in value]
    return value


class DataLoader:
    """Batches of a dataset as Tensors: a list for tuple samples, a dict for dict samples.

    dataset: a Dataset, or an IterableDataset (without shuffle and batch_sampler).
    batch_size=None gives the samples as they are. collate_fn(samples) makes a batch.
    num_workers: processes that load ahead, prefetch_factor batches each; batches come in order all
    the same. Each worker has seeds of its own for random, NumPy and Paddle, and is told who it is
    by `get_worker_info()` and worker_init_fn(id). An exception in a worker is raised here, with its
    traceback. timeout: seconds to wait for a batch (0: as long as it takes). persistent_workers
    keeps the processes from one pass to the next. feed_list with return_list=False gives dicts from
    those names to Tensors. places, use_buffer_reader and use_shared_memory are accepted: Tensors
    come to the current device.

    >>> import numpy as np, minipaddle as paddle
    >>> class Squares(paddle.io.Dataset):
    ...     def __getitem__(self, i):
    ...         return np.float32(i), i * i
    ...     def __len__(self):
    ...         return 5
    >>> for x, y in paddle.io.DataLoader(Squares(), batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0.0, 1.0] [0, 1]
    [2.0, 3.0] [4, 9]
    [4.0] [16]
    """

    def __init__(self, dataset, feed_list=None, places=None, return_list: bool = True,
                 batch_sampler=None, batch_size: int | None = 1, shuffle: bool = False,
                 drop_last: bool = False, collate_fn=None, num_workers: int = 0,
                 use_buffer_reader: bool = True, prefetch_factor: int = 2,
                 use_shared_memory: bool = True, timeout: int = 0, worker_init_fn=None,
                 persistent_workers: bool = False) -> None:
        if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
            raise ValueError("DataLoader: num_workers must be an int of 0 or more, got "
                             f"{num_workers!r}")
        _positive("DataLoader: prefetch_factor", prefetch_factor)
        if timeout < 0:
            raise ValueError(f"DataLoader: timeout must not be negative, got {timeout}")
        if batch_size is not None and batch_sampler is None:
            _positive("DataLoader: batch_size", batch_size)
        self._stream = isinstance(dataset, IterableDataset)
        if self._stream and (shuffle or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset takes neither shuffle nor "
                             "batch_sampler")
        if batch_sampler is not None and (batch_size not in (None, 1) or shuffle or drop_last):
            raise ValueError("DataLoader: batch_size, shuffle and drop_last belong to the "
                             "batch_sampler when one is given")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.return_list, self.feed_list = return_list, feed_list
        self.num_workers, self.prefetch_factor, self.timeout = num_workers, prefetch_factor, timeout
        self.worker_init_fn, self.persistent_workers = worker_init_fn, persistent_workers
        self.batch_sampler = batch_sampler
        if batch_sampler is None and batch_size is not None and not self._stream:
            self.batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate_fn if batched else default_convert_fn)
        self._pool = None

    def __iter__(self):
        # what the default collate makes, or comes from a worker, is nobody else's
        fresh = self.num_workers > 0 or self.collate_fn is default_collate_fn
        for batch in self._from_workers() if self.num_workers else self._load(self._indices()):
            batch = _to_tensors(batch, fresh)
            if not self.return_list and self.feed_list:
                names = [getattr(v, "name", v) for v in self.feed_list]
                batch = [dict(zip(names, batch if isinstance(batch, list) else [batch]))]
            yield batch

    def __call__(self):
        return iter(self)

    def __len__(self) -> int:
        if self._stream:
            raise RuntimeError("a DataLoader over an IterableDataset has no length")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def _indices(self):
        """What to load, a batch at a time; for a stream there is nothing to say."""
        if self._stream:
            return itertools.repeat(None)
        return range(len(self.dataset)) if self.batch_sampler is None else self.batch_sampler

    def _load(self, order):
        """The batches for an order of indices, collated."""
        dataset, collate = self.dataset, self.collate_fn
        if not self._stream:
            if self.batch_sampler is None:
                for i in order:
                    yield collate(dataset[i])
            else:
                for indices in order:
                    yield collate([dataset[i] for i in indices])
            return
        samples = iter(dataset)
        for _ in order:
            if self.batch_size is None:
                batch = next(samples, _END)
                if batch is _END:
                    return
            else:
                batch = list(itertools.islice(samples, self.batch_size))
                if not batch or (self.drop_last and len(batch) < self.batch_size):
                    return
            yield collate(batch)

    # -- with workers
    def _produce(self, tasks):
        """In a worker: a batch, as arrays, for each task."""
        for batch in self._load(tasks):
            yield _to_arrays(batch)

    def _from_workers(self):
        pool = self._pool
        if pool is None or not pool.usable:
            pool = Pool(self._produce, self.num_workers, self.prefetch_factor, self.dataset,
                        self.worker_init_fn)
            self._pool = pool if self.persistent_workers else None
        try:
            yield from pool.run(self._indices(), int(np.random.randint(0, 2 ** 31)), self.timeout)
        finally:
            if not self.persistent_workers:
                pool.close()

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_pool": None}

    def __del__(self) -> None:
        pool = self.__dict__.get("_pool")
        if pool is not None:
            pool.close()

    @staticmethod
    def from_generator(feed_list=None, capacity: int | None = None,
                       use_double_buffer: bool = True, iterable: bool = True,
                       return_list: bool = False, use_multiprocess: bool = False,
                       drop_last: bool = True) -> "GeneratorLoader":
        """A loader of 2.0 to 2.5 that is given a generator of samples or of batches afterwards."""
        return GeneratorLoader(feed_list, return_list, drop_last)


_END = object()


class GeneratorLoader:
    """Batches from a Python generator: see `DataLoader.from_generator`.

    >>> import numpy as np, minipaddle as paddle
    >>> loader = paddle.io.DataLoader.from_generator(return_list=True)
    >>> def samples():
    ...     for i in range(4):
    ...         yield np.float32(i), i
    >>> loader = loader.set_sample_generator(samples, batch_size=2)
    >>> [x.tolist() for x, y in loader]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    def __init__(self, feed_list, return_list: bool, drop_last: bool) -> None:
        self.feed_list, self.return_list, self.drop_last = feed_list, return_list, drop_last
        self._batches = None

    def set_sample_generator(self, reader, batch_size: int, drop_last: bool = True,
                             places=None) -> "GeneratorLoader":
        """reader() gives samples, which are put together in batches."""
        def batches():
            samples = iter(reader())
            while batch := list(itertools.islice(samples, batch_size)):
                if len(batch) == batch_size or not drop_last:
                    yield default_collate_fn(batch)
        self._batches = batches
        return self

    def set_sample_list_generator(self, reader, places=None) -> "GeneratorLoader":
        """reader() gives lists of samples."""
        self._batches = lambda: (default_collate_fn(list(batch)) for batch in reader())
        return self

    def set_batch_generator(self, reader, places=None) -> "GeneratorLoader":
        """reader() gives batches, as arrays or Tensors."""
        self._batches = reader
        return self

    def __iter__(self):
        if self._batches is None:
            raise RuntimeError("DataLoader.from_generator: set a generator first, for instance by "
                               "set_batch_generator")
        for batch in self._batches():
            batch = _to_tensors(batch, False)
            batch = list(batch) if isinstance(batch, (list, tuple)) else [batch]
            if self.return_list or not self.feed_list:
                yield batch
            else:
                yield [dict(zip([getattr(v, "name", v) for v in self.feed_list], batch))]

    __call__ = __iter__
