"""Weights on their way to a file: what is to be written of each, made only when it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.quantization import Quantize, choose_dtypes, fit_grid, quantize
from varigrad.io.weights import STORED_DTYPES, byte_view
from varigrad.ops.arguments import convert
from varigrad.tensor import Tensor

__all__ = ["EncodedWeights", "StoredWeight", "encode_weights", "prepare_weights", "take_bytes"]

# What dtypes that the format lacks are written as.
_WRITTEN_AS = {"float64": "float32", "float16": "float32", "bfloat16": "float32", "int64": "int32"}


class StoredWeight(NamedTuple):
    """A weight to be written: its specification, how many bytes it takes, and what gives the bytes."""

    spec: dict[str, Any]
    size: int
    encode: Callable[[], memoryview]


class EncodedWeights(NamedTuple):
    """What `vg.io.encode_weights` returns: weights as bytes, and what is in them."""

    data: bytes
    specs: list[dict[str, Any]]


def encode_weights(
    tensors: Mapping[str, Tensor | Array] | Iterable[tuple[str, Tensor | Array]],
    group: str | None = None,
    quantize: Quantize | None = None,
) -> EncodedWeights:
    """Tensors as TensorFlow.js stores them: `data`, the bytes of all, and `specs`, what is in them.

    Mirrors `tf.io.encodeWeights`. float64, float16 and bfloat16 become float32, and int64 becomes int32, for the
    format has no others.

    Args:
        tensors: Tensors or arrays by name.
        group: Marks every weight as belonging to a group, such as `"optimizer"`.
        quantize: Stores float32 weights in fewer bits: `"uint8"`, `"uint16"` or `"float16"` for all of them, or
            patterns of names by dtype, `{"uint8": "conv*/kernel", "float16": True}`, where True is for the rest.

    Raises:
        ValueError: Numbers that are not finite, or too large, to be quantized.

    >>> import varigrad as vg
    >>> data, specs = vg.io.encode_weights({"w": vg.tensor([1, 2])})
    >>> len(data), specs
    (8, [{'name': 'w', 'shape': [2], 'dtype': 'float32'}])
    """
    items = cast("Mapping[str, Any]", tensors).items() if isinstance(tensors, Mapping) else tensors
    stored = prepare_weights("encode_weights", items, {}, group, quantize)
    return EncodedWeights(b"".join(weight.encode() for weight in stored), [weight.spec for weight in stored])


def prepare_weights(
    owner: str,
    items: Iterable[tuple[str, Tensor | Array]],
    errors: dict[str, float],
    group: str | None = None,
    wanted: Quantize | None = None,
) -> list[StoredWeight]:
    """What is to be written of each weight.

    Args:
        owner: What messages begin with.
        items: Names and values.
        errors: Gets the largest error that quantization made in each weight, once its bytes have been made.
        group: Marks every weight as belonging to a group.
        wanted: Which weights to quantize, and how.
    """
    arrays: dict[str, Array] = {}
    for name, value in items:
        if name in arrays:
            raise ValueError(f"{owner}: two weights are named {name!r}; give their layers other names")
        if not isinstance(value, np.ndarray) or value.dtype.name not in STORED_DTYPES:
            value = np.asarray(convert(value, owner, f"the tensor {name!r}"))
        arrays[name] = value
    dtypes = {} if wanted is None else choose_dtypes(list(arrays), wanted)
    return [_prepare(owner, name, array, group, dtypes.get(name), errors) for name, array in arrays.items()]


def _prepare(
    owner: str, name: str, array: Array, group: str | None, dtype: str | None, errors: dict[str, float]
) -> StoredWeight:
    given = str(array.dtype.name)
    written = "string" if array.dtype.kind == "O" else _WRITTEN_AS.get(given, given)
    spec: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": written}
    if group is not None:
        spec["group"] = group
    if written == "string":
        text = memoryview(b"".join(_length_prefixed(str(s)) for s in array.flat))
        return StoredWeight(spec, len(text), lambda: text)
    if dtype is None or written != "float32" or not array.size:
        stored = STORED_DTYPES[written]
        size = array.size * stored.itemsize
        return StoredWeight(spec, size, lambda: byte_view(np.ascontiguousarray(array, dtype=stored)))
    try:
        grid = None if dtype == "float16" else fit_grid(array.astype(np.float32, copy=False), dtype)
    except ValueError as error:
        raise ValueError(f"{owner}: {name!r} {error}, and cannot be quantized as {dtype}") from None
    numbers = {} if grid is None else {"min": grid.minimum, "scale": grid.scale}
    spec["quantization"] = {**numbers, "dtype": dtype, "original_dtype": written}

    def encode() -> memoryview:
        try:
            codes, errors[name] = quantize(array.astype(np.float32, copy=False), dtype, grid)
        except ValueError as error:
            raise ValueError(f"{owner}: {name!r} {error}; quantize it as uint16, or not at all") from None
        return byte_view(codes)

    return StoredWeight(spec, array.size * (1 if dtype == "uint8" else 2), encode)


def _length_prefixed(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4, "little") + encoded


def take_bytes(weights: Iterable[StoredWeight], shard_size: int) -> Iterator[Iterator[memoryview]]:
    """The bytes of all weights end to end, cut into shards; each is to be used up before the next is asked for."""
    pieces = (weight.encode() for weight in weights if weight.size)
    held: list[memoryview] = []  # the first piece of the next shard

    def shard() -> Iterator[memoryview]:
        room = shard_size
        while room and held:
            piece = held.pop()
            if len(piece) > room:
                held.append(piece[room:])
                piece = piece[:room]
            room -= len(piece)
            yield piece
            if not held:
                held.extend(_next(pieces))

    held.extend(_next(pieces))
    if not held:
        yield iter(())  # no weights at all, or empty ones, have one empty file
    while held:
        yield shard()


def _next(pieces: Iterator[memoryview]) -> list[memoryview]:
    piece = next(pieces, None)
    return [] if piece is None else [piece]
