"""Data loading (`paddle.io`): datasets, samplers, DataLoader. Imports core.

Samplers shuffle with NumPy's global generator, as Paddle's do: `np.random.seed` steers them.
"""
from __future__ import annotations

import bisect
import itertools
import math

import numpy as np

from .core import Tensor, ops, to_tensor

__all__ = ["BatchSampler", "ChainDataset", "ComposeDataset", "ConcatDataset", "DataLoader",
           "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequenceSampler", "Subset",
           "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate_fn",
           "get_worker_info", "random_split"]


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
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"BatchSampler: batch_size must be a positive int, got {batch_size!r}")
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


# ---- the loader
def default_collate_fn(batch: list):
    """Samples put together: arrays and numbers stacked, dicts and sequences field by field."""
    first = batch[0]
    if isinstance(first, np.ndarray):
        return np.stack(batch)
    if isinstance(first, Tensor):
        return ops.stack(batch)
    if isinstance(first, (bool, int, float, np.number)):
        return np.asarray(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return {k: default_collate_fn([sample[k] for sample in batch]) for k in first}
    if isinstance(first, (list, tuple)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("default_collate_fn: the samples have different numbers of fields")
        return [default_collate_fn(list(field)) for field in zip(*batch)]
    raise TypeError("default_collate_fn: a sample must hold arrays, Tensors, numbers, text, dicts, "
                    f"lists or tuples, got {type(first).__name__}")


def _to_tensors(value):
    if isinstance(value, np.ndarray):
        if value.dtype == np.float64 and value.ndim == 1:
            value = value.astype("float32")         # Python floats of the samples
        return to_tensor(value)
    if isinstance(value, dict):
        return {k: _to_tensors(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not (value and isinstance(value[0], (str, bytes))):
        return type(value)(_to_tensors(v) for v in value)
    return value


def get_worker_info():
    """What worker this is; None in the main process, the only one there is."""
    return None


class DataLoader:
    """Batches of a dataset as Tensors: a list for tuple samples, a dict for dict samples.

    batch_size=None gives the samples as they are. Loading happens in the calling process;
    num_workers is accepted and ignored (worker processes are not there yet).
    """

    def __init__(self, dataset, feed_list=None, places=None, return_list: bool = True,
                 batch_sampler=None, batch_size: int | None = 1, shuffle: bool = False,
                 drop_last: bool = False, collate_fn=None, num_workers: int = 0,
                 use_buffer_reader: bool = True, prefetch_factor: int = 2,
                 use_shared_memory: bool = True, timeout: int = 0, worker_init_fn=None,
                 persistent_workers: bool = False) -> None:
        if num_workers < 0:
            raise ValueError(f"DataLoader: num_workers must not be negative, got {num_workers}")
        self.dataset, self.num_workers, self.batch_size = dataset, num_workers, batch_size
        self.return_list, self.drop_last = return_list, drop_last
        self._stream = isinstance(dataset, IterableDataset)
        if self._stream and (shuffle or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset takes neither shuffle nor "
                             "batch_sampler")
        self.collate_fn = collate_fn or (default_collate_fn if batch_size is not None or
                                         batch_sampler is not None else lambda sample: sample)
        self.batch_sampler = batch_sampler
        if batch_sampler is None and batch_size is not None and not self._stream:
            self.batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)

    def __iter__(self):
        for batch in self._batches():
            yield _to_tensors(self.collate_fn(batch))

    def _batches(self):
        if self._stream:
            samples = iter(self.dataset)
            if self.batch_size is None:
                yield from samples
                return
            while batch := list(itertools.islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield batch
        elif self.batch_sampler is None:
            for i in range(len(self.dataset)):
                yield self.dataset[i]
        else:
            for indices in self.batch_sampler:
                yield [self.dataset[i] for i in indices]

    def __call__(self):
        return iter(self)

    def __len__(self) -> int:
        if self._stream:
            raise RuntimeError("a DataLoader over an IterableDataset has no length")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)
