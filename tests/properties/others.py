"""Images, signals, sparse and ragged tensors, strings, recurrent cells."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from .draw import Array, Draw
from .operation import Op, differs

# Images


def _image(d: Draw, batch: int | None = None, channels: int | None = None) -> Array:
    return d.floats([batch or d.integer(1, 2), d.integer(1, 5), d.integer(1, 5), channels or d.integer(1, 3)])


def _resized(d: Draw) -> tuple[Any, ...]:
    aligned = d.chance()
    return _image(d), [d.integer(1, 7), d.integer(1, 7)], aligned, not aligned and d.chance()


def _cropped(d: Draw) -> tuple[Any, ...]:
    image, boxes = _image(d), d.integer(1, 3)
    corners = d.floats([boxes, 4], -0.25, 1.25)
    inside = d.integers([boxes], 0, image.shape[0] - 1)
    return image, corners, inside, [d.integer(1, 4), d.integer(1, 4)], d.one_of("bilinear", "nearest"), d.number(-1, 1)


def _transformed(d: Draw) -> tuple[Any, ...]:
    image = _image(d, 1)
    matrix = np.array([[1, 0, 0, 0, 1, 0, 0, 0]], np.float32) + d.floats([1, 8], -0.5, 0.5) * [
        1,
        1,
        4,
        1,
        1,
        4,
        0.1,
        0.1,
    ]
    modes = ("constant", "reflect", "wrap", "nearest")
    size = [d.integer(1, 6), d.integer(1, 6)]
    return image, matrix.astype(np.float32), d.one_of("nearest", "bilinear"), d.one_of(*modes), d.number(-1, 1), size


def _boxes(*more: Callable[[Draw], Any]) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        count = d.length()
        # A coarse grid for overlaps; scores that differ, as TensorFlow.js orders equal ones in its own way.
        boxes = np.asarray(d.random.integers(0, 9, (count, 4)) / 8, np.float32)
        scores = np.asarray(d.random.permutation(count) / 16 + 0.0625, np.float32)
        return boxes, scores, d.integer(0, 6), d.number(0, 1), d.one_of(0.0, 0.125), *(each(d) for each in more)

    return draw


def _gray(image: Any) -> Any:
    gray = image.astype(np.float64) @ np.array([[0.2989], [0.5870], [0.1140]])
    return gray.astype(np.int32) if image.dtype.kind == "i" else gray


# Matrices


def _qr_shape(d: Draw) -> tuple[Any, ...]:
    return d.floats([*d.shape(0, 1, 1), d.integer(1, 4), d.integer(1, 4)]), d.chance()


def _qr(x: Any, full: bool) -> Any:
    """NumPy's, with the signs of TensorFlow.js: as a reflection gives them."""
    q, r = np.linalg.qr(x, "complete" if full else "reduced")
    return q, r


def _vectors(d: Draw) -> tuple[Any, ...]:
    columns = d.integer(1, 4)
    rows = d.integer(1, columns)
    return (d.floats([rows, columns], -1, 1) + 4 * np.eye(rows, columns, dtype=np.float32),)


def _gram_schmidt(x: Any) -> Any:
    rows: list[Any] = []
    for row in x:
        for other in rows:
            row = row - (row @ other) * other
        rows.append(row / np.linalg.norm(row))
    return np.array(rows)


# Signals


def _frames(signal: Any, length: int, step: int, pad_end: bool, value: float) -> Any:
    samples = signal.shape[-1]
    if pad_end:
        count = -(-samples // step)
        signal = np.pad(signal, [*[(0, 0)] * (signal.ndim - 1), (0, length)], constant_values=value)
    else:
        count = max(0, (samples - length) // step + 1)
    frames = [signal[..., i * step : i * step + length] for i in range(count)]
    return np.stack(frames, -2) if frames else np.zeros((*signal.shape[:-1], 0, length))


def _framed(d: Draw) -> tuple[Any, ...]:
    return d.floats([d.integer(1, 12)]), d.integer(1, 5), d.integer(1, 4)


def _window(a: float, b: float) -> Callable[[int], Any]:
    def window(length: int) -> Any:
        if length == 1:
            return np.array([a + b])
        return a - b * np.cos(2 * np.pi * np.arange(length) / (length - length % 2))

    return window


def _stft(signal: Any, length: int, step: int) -> Any:
    frames = _frames(signal, length, step, False, 0) * _window(0.5, 0.5)(length)
    return np.fft.rfft(frames, 1 << (length - 1).bit_length())


def _spectrum_size(x: Any, *_: Any) -> Any:
    return np.abs(x).sum() + 1


_SINGLE = differs("the window of one sample is a + b; TensorFlow.js has NaN", lambda case: case.args[0] == 1)


# Sparse and ragged tensors


def _sparse(d: Draw) -> tuple[Array, tuple[int, ...]]:
    """Different index tuples in row-major order, and the shape."""
    shape = d.shape(1, 3, 1)
    count = int(np.prod(shape))
    flat = np.sort(d.random.permutation(count)[: d.integer(1, 5)])
    return np.stack(np.unravel_index(flat, shape), -1).astype(np.int32), shape


def _sparse_values(d: Draw) -> tuple[Any, ...]:
    indices, shape = _sparse(d)
    kind = d.one_of("f", "i")
    return indices, d.array([len(indices)], kind), list(shape), d.array([], kind)


def _dense(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    result = np.full(shape, default, np.asarray(values).dtype)
    result[tuple(indices.T)] = values
    return result


def _empty_rows(d: Draw) -> tuple[Any, ...]:
    indices, shape = _sparse(d)
    return indices, d.floats([len(indices)]), np.array(shape, np.int32), d.floats([])


def _fill_rows(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    missing = sorted(set(range(int(shape[0]))) - set(indices[:, 0].tolist()))
    rows = [[row, *[0] * (indices.shape[1] - 1)] for row in missing]
    together = np.concatenate([indices, np.array(rows, np.int32).reshape(-1, indices.shape[1])])
    order = np.argsort(together[:, 0], kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    all_values = np.concatenate([values, np.full(len(rows), default)])
    return together[order], all_values[order], np.isin(np.arange(shape[0]), missing), place[: len(indices)]


def _sparse_reshaped(d: Draw) -> tuple[Any, ...]:
    indices, shape = _sparse(d)
    new = [int(np.prod(shape))] if d.chance() else [*shape[::-1]]
    if d.chance(0.3):
        new[0] = -1
    return indices, np.array(shape, np.int32), np.array(new, np.int32)


def _reshape_sparse(indices: Any, shape: Any, new: Any) -> Any:
    size, known = int(np.prod(shape)), int(np.prod(new[new != -1]))
    target = tuple(int(n) if n != -1 else size // known for n in new)
    flat = np.ravel_multi_index(tuple(indices.T), tuple(shape))
    return np.stack(np.unravel_index(flat, target), -1).astype(np.int32), np.array(target, np.int32)


def _segments(d: Draw) -> tuple[Any, ...]:
    data = d.floats(d.shape(1, 3, 1))
    count = d.integer(1, 5)
    return data, d.integers([count], 0, len(data) - 1), np.sort(d.integers([count], 0, 3))


def _segment(mean: bool) -> Callable[..., Any]:
    def reduce(data: Any, indices: Any, ids: Any) -> Any:
        groups = [data[indices[ids == number]] for number in range(int(ids[-1]) + 1)]
        sums = [group.sum(0) / (max(len(group), 1) if mean else 1) for group in groups]
        return np.array(sums)

    return reduce


def _splits(d: Draw, rows: int) -> Array:
    return np.concatenate([[0], np.cumsum(d.integers([rows], 0, 3))]).astype(np.int32)


def _ragged(d: Draw) -> tuple[Any, ...]:
    splits = _splits(d, d.integer(1, 4))
    values = d.floats([int(splits[-1]), *d.shape(0, 1, 1)])
    return [splits], values, d.integers([d.integer(1, 4)], 0, len(splits) - 2), 1


def _ragged_gather(splits: Any, values: Any, indices: Any, _: int) -> Any:
    rows = [values[splits[0][i] : splits[0][i + 1]] for i in indices]
    return np.cumsum([0, *map(len, rows)]).astype(np.int32), np.concatenate(rows)


def _ragged_range(starts: Any, limits: Any, deltas: Any) -> Any:
    rows = [np.arange(*row) for row in zip(starts, limits, deltas)]
    return np.cumsum([0, *map(len, rows)]).astype(np.int32), np.concatenate(rows).astype(starts.dtype)


def _ragged_tensor(d: Draw) -> tuple[Any, ...]:
    splits = _splits(d, d.integer(1, 4))
    longest = max(np.diff(splits).max(), 1)
    shape = [len(splits) - 1, d.one_of(-1, d.integer(1, int(longest) + 1))]
    if shape[1] == -1 and not splits[-1]:
        shape[1] = 1
    return np.array(shape, np.int32), d.floats([int(splits[-1])]), d.floats([]), [splits], ["ROW_SPLITS"]


def _ragged_to_dense(shape: Any, values: Any, default: Any, partitions: Any, _: Any) -> Any:
    splits = partitions[0]
    rows, columns = int(shape[0]), int(shape[1] if shape[1] != -1 else np.diff(splits).max())
    result = np.full((rows, columns), default)
    for row in range(rows):
        part = values[splits[row] : splits[row + 1]][:columns]
        result[row, : len(part)] = part
    return result


# Strings and cells


def _n_grams(d: Draw) -> tuple[Any, ...]:
    splits = _splits(d, d.integer(1, 3))
    words = d.strings([int(splits[-1])], "abc", 2)
    widths = sorted({d.integer(1, 3) for _ in range(2)})
    return words, splits, "|", widths, d.one_of("", "<"), d.one_of("", ">"), d.integer(-1, 2), d.chance()


def _lstm(d: Draw) -> tuple[Any, ...]:
    batch, inputs, units = d.integer(1, 3), d.integer(1, 3), d.integer(1, 3)
    return (
        d.floats([]), d.floats([inputs + units, 4 * units]), d.floats([4 * units]), d.floats([batch, inputs]),
        d.floats([batch, units]), d.floats([batch, units]),
    )  # fmt: skip


def _lstm_cell(forget: Any, kernel: Any, bias: Any, data: Any, c: Any, h: Any) -> Any:
    i, j, f, o = np.split(np.concatenate([data, h], 1) @ kernel + bias, 4, 1)
    new_c = c * special.expit(f + forget) + special.expit(i) * np.tanh(j)
    return new_c, np.tanh(new_c) * special.expit(o)


def _average(d: Draw) -> tuple[Any, ...]:
    shape = d.shape()
    return d.floats(shape), d.floats(shape), d.number(0, 0.9), d.integer(1, 5), d.chance()


def _moving_average(v: Any, x: Any, decay: float, step: int, debias: bool) -> Any:
    return v + (1 - decay) * (x - v) / (1 - decay**step if debias else 1)


def _of(kind: str, low: int, high: int) -> Callable[[Draw], tuple[Any, ...]]:
    return lambda d: (d.array(d.shape(low, high, 1), kind),)


def _fft(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(x, axis=-1)


def _irfft(x: Any) -> Any:
    return np.fft.irfft(x, max(1, 2 * (x.shape[-1] - 1)))


_ALIGNED = differs(
    "TensorFlow.js forgets in the gradient how pixels were placed, and takes height for width",
    lambda case: case.args[2] or case.args[3] or case.args[0].shape[1] != case.args[0].shape[2],
)
_WIDE = differs(
    "TensorFlow.js fails at batches, at zeros on the diagonal, and at square factors of wide matrices",
    lambda case: (
        case.args[0].ndim > 2
        or not case.args[0].all()
        or (case.args[1] and case.args[0].shape[-1] > case.args[0].shape[-2])
    ),
)
_FEW_BOXES = differs(
    "TensorFlow.js gives no more indices than there are boxes",
    lambda case: case.args[5] and case.args[2] > len(case.args[0]),
)
_ONE_SPECTRUM = differs("of a vector TensorFlow.js makes a matrix of one row", lambda case: case.args[0].ndim == 1)
_FFT = {"ulps": 16, "size": _spectrum_size}

TABLE = [
    Op(
        "image.resize_bilinear",
        _resized,
        ulps=32,
        size=lambda x, *_: np.abs(x).max(),
        gradients=(0,),
        gradient_differs=_ALIGNED,
    ),
    Op("image.resize_nearest_neighbor", _resized),
    Op("image.crop_and_resize", _cropped, ulps=64, size=lambda x, *_: np.abs(x).max() + 1),
    Op("image.transform", _transformed, ulps=64, size=lambda x, *_: np.abs(x).max() + 1),
    Op("image.rotate_with_offset", lambda d: (_image(d), d.number(-4, 4), d.number(-1, 1), d.number(0, 1))),
    Op("image.flip_left_right", lambda d: (_image(d),), lambda x: x[:, :, ::-1]),
    Op("image.grayscale_to_rgb", lambda d: (d.array([*d.shape(1, 3, 1), 1], "fi"),), lambda x: np.repeat(x, 3, -1)),
    Op(
        "image.rgb_to_grayscale",
        lambda d: (d.array([*d.shape(1, 3, 1), 3], "f"),),
        _gray,
        ulps=8,
        size=lambda x: np.abs(x) @ np.ones((3, 1)),
    ),
    Op(
        "image.threshold",
        lambda d: (
            d.integers([*d.shape(2, 2, 1), d.one_of(1, 3)], 0, 255).astype(np.float32),
            d.one_of("binary", "otsu"),
            d.chance(),
            d.number(0, 1),
        ),
    ),
    *[
        Op(f"image.{name}{asynchronous}", _boxes(*more), differs=differences)
        for name, more, differences in (
            ("non_max_suppression", (), ()),
            ("non_max_suppression_padded", (Draw.chance,), _FEW_BOXES),
            ("non_max_suppression_with_score", (lambda d: d.number(0, 1),), ()),
        )
        for asynchronous in ("", "_async")
    ],
    Op("linalg.qr", _qr_shape, ulps=256, size=lambda x, full: np.abs(x).max() * 4 + 1, differs=_WIDE),
    Op("linalg.gram_schmidt", _vectors, _gram_schmidt, ulps=256, size=lambda x: 1.0),
    Op("signal.frame", lambda d: (*_framed(d), d.chance(), d.integer(-1, 1)), _frames),
    Op("signal.hann_window", lambda d: (d.integer(1, 9),), _window(0.5, 0.5), size=lambda n: 1.0, differs=_SINGLE),
    Op("signal.hamming_window", lambda d: (d.integer(1, 9),), _window(0.54, 0.46), size=lambda n: 1.0, differs=_SINGLE),
    Op(
        "signal.cosine_window",
        lambda d: (d.integer(1, 9), d.number(-1, 1), d.number(-1, 1)),
        lambda n, a, b: _window(a, b)(n),
        size=lambda n, a, b: abs(a) + abs(b),
        javascript="not exported",
    ),
    Op(
        "signal.stft",
        _framed,
        _stft,
        **_FFT,
        differs=differs("the window of one sample is NaN in TensorFlow.js", lambda case: case.args[1] == 1),
    ),
    *[
        Op(f"spectral.{name}", _of(kind, 1, 3), f, **_FFT)
        for name, kind, f in (("fft", "c", np.fft.fft), ("ifft", "c", np.fft.ifft), ("rfft", "f", np.fft.rfft))
    ],
    Op("spectral.irfft", _of("c", 1, 3), _irfft, **_FFT, differs=_ONE_SPECTRUM),
    Op("sparse_to_dense", _sparse_values, _dense),
    Op("sparse.sparse_fill_empty_rows", _empty_rows, _fill_rows),
    Op("sparse.sparse_reshape", _sparse_reshaped, _reshape_sparse),
    Op("sparse.sparse_segment_sum", _segments, _segment(False), ulps=16, size=lambda x, *_: np.abs(x).sum()),
    Op("sparse.sparse_segment_mean", _segments, _segment(True), ulps=16, size=lambda x, *_: np.abs(x).sum()),
    Op("ragged_gather", _ragged, _ragged_gather),
    Op(
        "ragged_range", lambda d: (d.integers([2], -4, 4), d.integers([2], -4, 4), d.integers([2], 1, 3)), _ragged_range
    ),
    Op("ragged_tensor_to_tensor", _ragged_tensor, _ragged_to_dense),
    Op("string.string_n_grams", _n_grams),
    Op(
        "string.string_split",
        lambda d: (d.strings([d.length()], "ab ,"), np.array(d.one_of(" ", ",", " ,"), object), d.chance()),
    ),
    Op(
        "string.string_to_hash_bucket_fast",
        lambda d: (d.strings(d.shape(0, 2), "abcdefgh é漢", 40), d.integer(1, 1000)),
    ),
    Op(
        "string.static_regex_replace",
        lambda d: (
            d.strings(d.shape(0, 2), "ab ,"),
            d.one_of("a", "b+", "(a)(b)", "[ab]"),
            d.one_of("x", "", "$1"),
            d.chance(),
        ),
    ),
    Op("basic_lstm_cell", _lstm, _lstm_cell, ulps=128, size=lambda *args: 1 + np.abs(args[4]).max()),
    Op("moving_average", _average, _moving_average, ulps=32, size=lambda v, x, *_: (np.abs(v) + np.abs(x)) * 10),
]
