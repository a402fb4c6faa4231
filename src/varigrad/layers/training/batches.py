"""Where batches come from: arrays in the order of their rows or shuffled, or any iterable of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from varigrad.callers import warn_caller
from varigrad.dtypes import Array
from varigrad.layers.training.samples import Batch, Samples, read_samples, with_class_weights
from varigrad.tensor import Tensor
from varigrad.util import create_shuffled_indices

if TYPE_CHECKING:
    from varigrad.layers.training.trainable import Trainable

__all__ = ["ArrayBatches", "Batches", "IterableBatches", "open_dataset"]


class Batches(Protocol):
    """What training walks through, an epoch at a time."""

    steps: int | None  # batches in an epoch, where known
    samples: int | None
    batch_size: int | None
    exhausted: bool  # whether there is nothing for a further epoch

    def epoch(self) -> Iterator[Batch]:
        """The batches of one more epoch."""
        ...


class ArrayBatches:
    """Batches of arrays.

    Args:
        samples: The arrays.
        batch_size: Rows in a batch; the last may have fewer.
        shuffle: Whether the rows come in another order each epoch; `"batch"` to shuffle the batches only.
        steps: How many batches make an epoch; by default as many as there are. Otherwise the next epoch goes on where
            this one ends, and the rows come round again after the last.
        epochs: How many epochs there will be, as far as is known.
    """

    exhausted: bool = False

    def __init__(
        self,
        samples: Samples,
        batch_size: int,
        shuffle: bool | str = False,
        steps: int | None = None,
        epochs: int = 1,
    ) -> None:
        self._samples = samples
        self._shuffle = shuffle
        self._steps = steps
        self._rest: Iterator[Batch] = iter(())
        self._size = batch_size
        self.samples: int | None = samples.rows
        self.batch_size: int | None = batch_size
        whole, rest = divmod(samples.rows, batch_size)
        in_all = whole + bool(rest)
        self.steps: int | None = in_all if steps is None else steps
        rounds = -(-epochs * self.steps // in_all)
        self._to_come = {batch_size: rounds * whole, rest: rounds}

    def epoch(self) -> Iterator[Batch]:
        """The batches of one more epoch."""
        if self._steps is None:
            yield from self._once()
            return
        for _ in range(self._steps):
            batch = next(self._rest, None)
            if batch is None:
                self._rest = self._once()
                batch = next(self._rest)
            yield batch

    def _once(self) -> Iterator[Batch]:
        rows, size = self._samples.rows, self._size
        starts: Iterable[int] = range(0, rows, size)
        if self._shuffle and self._shuffle != "batch":
            order = create_shuffled_indices(rows)
            for start in starts:
                yield self._batch(order[start : start + size], min(size, rows - start))
            return
        if self._shuffle == "batch":
            starts = (create_shuffled_indices(len(range(0, rows, size))) * size).tolist()
        for start in starts:
            yield self._batch(slice(start, start + size), min(size, rows - start))

    def _batch(self, rows: slice | Array, size: int) -> Batch:
        self._to_come[size] = more = max(0, self._to_come[size] - 1)
        return self._samples.batch(rows, more)


class IterableBatches:
    """Batches from an iterable.

    Args:
        model: A compiled model.
        op: What to call it in errors.
        dataset: See `open_dataset`.
        steps: How many batches make an epoch; the next one goes on from there. By default all of them, from the start.
        epochs: For how many epochs they must do, for the warning where they run out.
        class_weight: See `with_class_weights`.
    """

    samples: int | None = None
    batch_size: int | None = None

    def __init__(
        self,
        model: Trainable,
        op: str,
        dataset: Any,
        steps: int | None,
        epochs: int = 1,
        class_weight: Any = None,
    ) -> None:
        self._model = model
        self._op = op
        self._open = open_dataset(op, dataset)
        self._limit = steps
        self._epochs = epochs
        self._class_weight = class_weight
        if isinstance(dataset, (list, tuple)):  # the first batch tells what is wrong before anything has been trained
            self._batch(next(self._open(), None))
        self._current: Iterator[Any] | None = None
        self._taken = 0
        self.exhausted = False
        self.steps = steps if steps is not None else _length(dataset)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one more epoch."""
        if self._current is None or self._limit is None:
            self._current = self._open()
        in_epoch = 0
        while self._limit is None or in_epoch < self._limit:
            try:
                item = next(self._current)
            except StopIteration:
                if self._limit is not None:
                    self._warn(in_epoch, self._limit)
                break
            in_epoch += 1
            self._taken += 1
            yield self._batch(item)
        if not in_epoch and not self.exhausted:
            raise ValueError(f"{self._op}: the dataset gave no batch")

    def _warn(self, in_epoch: int, limit: int) -> None:
        self.exhausted = True
        warn_caller(
            f"{self._op}: the dataset ran out after {self._taken} batches, {in_epoch} of the {limit} that an epoch "
            f"should have; {limit * self._epochs} are needed in all. Training ends here: ask for fewer batches an "
            "epoch, or repeat the dataset",
        )

    def _batch(self, item: Any) -> Batch:
        x, y, weights = batch_parts(self._op, item)
        samples = read_samples(self._model, self._op, x, y, weights)
        samples = with_class_weights(self._op, self._model.output_names, samples, self._class_weight)
        return samples.batch(slice(None))


def open_dataset(op: str, dataset: Any) -> Callable[[], Iterator[Any]]:
    """A function that starts to walk through a dataset.

    Args:
        op: What to call it in errors.
        dataset: A function that returns an iterable of batches, called for each walk; or an iterable, such as a
            list. A generator or other iterator can be walked through once.

    Raises:
        TypeError: It is neither.
    """
    if callable(dataset) and not hasattr(dataset, "__iter__"):
        return lambda: _walk(op, "what the dataset's function returns", dataset())
    _check_iterable(op, "the dataset", dataset)
    iterable = cast("Iterable[Any]", dataset)
    if iter(iterable) is not iterable:
        return lambda: iter(iterable)
    walked = False

    def once() -> Iterator[Any]:
        nonlocal walked
        if walked:
            raise ValueError(
                f"{op}: the dataset is an iterator ({type(dataset).__name__}), which can be walked through only once; "
                "pass a function that makes it anew, or a list"
            )
        walked = True
        return iter(iterable)

    return once


def _check_iterable(op: str, what: str, value: Any) -> None:
    if isinstance(value, (str, bytes, Mapping, np.ndarray, Tensor, type)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{op}: {what} must be an iterable of batches, or a function that returns one, got {value!r:.100}"
        )


def _walk(op: str, what: str, value: Any) -> Iterator[Any]:
    _check_iterable(op, what, value)
    return iter(cast("Iterable[Any]", value))


def batch_parts(op: str, item: Any) -> tuple[Any, Any, Any]:
    """Inputs, targets and sample weights of a batch: `(xs, ys)`, `(xs, ys, weights)`, or a dict with these keys."""
    if item is None:
        raise ValueError(f"{op}: the dataset gave no batch")
    found = type(item).__name__
    if isinstance(item, Mapping):
        by_name = cast("Mapping[str, Any]", item)
        if "xs" in by_name and "ys" in by_name:
            return by_name["xs"], by_name["ys"], by_name.get("weights")
        found = f"a dict with {', '.join(map(str, by_name)) or 'nothing'}"
    elif isinstance(item, (tuple, list)):
        parts = cast("Sequence[Any]", item)
        if len(parts) in (2, 3):
            return parts[0], parts[1], parts[2] if len(parts) == 3 else None
        found += f" of {len(parts)}"
    raise ValueError(f"{op}: a batch must be (xs, ys), (xs, ys, weights) or {{'xs': …, 'ys': …}}, got {found}")


def holds_arrays(data: Any) -> bool:
    """Whether validation data is one tuple of arrays, rather than a dataset of batches."""
    if not isinstance(data, (tuple, list)) or len(cast("Sequence[Any]", data)) not in (2, 3):
        return False
    return isinstance(data, tuple) or not all(isinstance(item, (tuple, Mapping)) for item in cast("list[Any]", data))


def _length(dataset: Any) -> int | None:
    """How many batches a dataset has, if it tells."""
    size = getattr(dataset, "size", None)
    if isinstance(size, (int, float)) and np.isfinite(size):
        return int(size)
    return len(dataset) if hasattr(dataset, "__len__") else None
