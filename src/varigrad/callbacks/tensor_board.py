"""TensorBoard: a writer for loops of one's own, and the callback for `fit`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from varigrad.callbacks.base import Callback, Logs
from varigrad.callbacks.event_file import EventFile, histogram_value, image_value, scalar_value
from varigrad.callbacks.options import count, frequency, path
from varigrad.dtypes import Array, to_array
from varigrad.keywords import takes_options
from varigrad.tensor import format_shape

__all__ = ["SummaryFileWriter", "TensorBoard"]


class SummaryFileWriter:
    """Writes numbers, distributions and pictures for TensorBoard. Mirrors `tf.node.summaryFileWriter`.

    Neither TensorFlow nor TensorBoard is needed to write. It is a context manager, which closes the file at its end.

    Args:
        logdir: The folder, made if it is missing; `tensorboard --logdir FOLDER` shows it.

    >>> import tempfile
    >>> import varigrad as vg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with vg.callbacks.SummaryFileWriter(folder) as writer:
    ...         for step in range(3):
    ...             writer.scalar("loss", 1 / (1 + step), step)
    """

    @takes_options
    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self._events = EventFile(logdir)

    def scalar(self, name: str, value: Any, step: int) -> None:
        """Writes a number, or a tensor of one element."""
        self._events.add(scalar_value(name, float(value)), step)

    def histogram(self, name: str, data: Any, step: int, buckets: int = 30) -> None:
        """Writes how the numbers in a tensor or array are distributed over so many buckets of equal width."""
        values = to_array(data, "float64", "SummaryFileWriter.histogram", "data")
        self._events.add(histogram_value(name, values.reshape(-1), buckets), step)

    def image(self, name: str, data: Any, step: int) -> None:
        """Writes a picture.

        Args:
            name: What to call it.
            data: `[height, width]` or `[height, width, channels]` with 1 to 4 channels: uint8, or floats from 0 to 1,
                or integers from 0 to 255.
            step: The step it belongs to.

        Raises:
            ValueError: Another shape.
        """
        self._events.add(image_value(name, _pixels(data)), step)

    def flush(self) -> None:
        """Has what was written reach the disk, for a TensorBoard that looks on."""
        self._events.flush()

    def close(self) -> None:
        """Ends the file."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _pixels(data: Any) -> Array:
    values = to_array(data, None, "SummaryFileWriter.image", "data")
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or not 1 <= values.shape[2] <= 4 or not values.size or values.dtype.kind not in "fiu":
        raise ValueError(
            f"SummaryFileWriter.image: data must be numbers [height, width] or [height, width, channels] with 1 to 4 "
            f"channels, got {values.dtype} {format_shape(values.shape)}"
        )
    scaled = np.nan_to_num(values) * 255 if values.dtype.kind == "f" else values
    return np.rint(np.clip(scaled, 0, 255)).astype(np.uint8)


class TensorBoard(Callback):
    """Writes losses, metrics, the learning rate and the weights for TensorBoard. Mirrors `tf.node.tensorBoard`.

    Under `log_dir/train`: `batch_loss`, `epoch_loss` and the like, `epoch_learning_rate`, and a histogram of each
    weight; under `log_dir/val`: `epoch_loss` and the like of the validation. Neither TensorFlow nor TensorBoard is
    needed; `tensorboard --logdir LOG_DIR` shows it while training runs.

    Args:
        log_dir: The folder, made if it is missing.
        update_freq: `"batch"` to write after each batch and each epoch, `"epoch"` for epochs only, or a number of
            batches.
        histogram_freq: After how many epochs to write the histograms of the weights; 0 for never.
        images: A function of the model and the epoch that returns pictures by name, as `SummaryFileWriter.image` takes
            them, written after each epoch.

    >>> import tempfile
    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = model.fit([1.0], [2.0], callbacks=vg.callbacks.tensor_board(folder), verbose=0)
    """

    @takes_options
    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        update_freq: str | int = "batch",
        histogram_freq: int = 1,
        images: Callable[[Any, int], Mapping[str, Any]] | None = None,
    ) -> None:
        owner = type(self).__name__
        self.log_dir = Path(path(owner, "log_dir", log_dir))
        self.update_freq = frequency(owner, "update_freq", update_freq, ("batch", "epoch"))
        self.histogram_freq = count(owner, "histogram_freq", histogram_freq)
        if images is not None and not callable(images):
            raise TypeError(f"{owner}: images must be a function of the model and the epoch, got {images!r:.100}")
        self.images = images
        self._batches = 0
        self._writers: dict[str, SummaryFileWriter] = {}

    def _writer(self, part: str) -> SummaryFileWriter:
        if part not in self._writers:
            self._writers[part] = SummaryFileWriter(self.log_dir / part)
        return self._writers[part]

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        self._batches += 1
        every = {"batch": 1, "epoch": 0}.get(str(self.update_freq), self.update_freq)
        if every and self._batches % int(every) == 0:
            for name, value in logs.items():
                if name not in ("batch", "size"):
                    self._writer("train").scalar(f"batch_{name}", value, self._batches - 1)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        rate: Any = self.model.optimizer.learning_rate
        if callable(rate):
            rate = rate(self.model.optimizer.iterations)
        for name, value in {**logs, "learning_rate": rate}.items():
            held_out = name.startswith("val_")
            self._writer("val" if held_out else "train").scalar(f"epoch_{name.removeprefix('val_')}", value, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            for weight in self.model.weights:
                self._writer("train").histogram(weight.original_name, weight, epoch)
        if self.images is not None:
            for name, picture in self.images(self.model, epoch).items():
                self._writer("train").image(name, picture, epoch)
        for writer in self._writers.values():
            writer.flush()

    def on_train_end(self, logs: Logs) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
