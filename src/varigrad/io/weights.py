"""Weights as TensorFlow.js stores them: a list of specifications, and the values end to end in one run of bytes.

A specification is `{"name", "shape", "dtype"}`, with `"quantization"` where values are stored in fewer bits. Values are
little-endian and in row-major order; a string is its length, four bytes, and its UTF-8 bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.engine import make_tensor
from varigrad.errors import VariGradError
from varigrad.io.quantization import QUANTIZED_DTYPES, Grid, dequantize
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "STORED_DTYPES",
    "ModelFileError",
    "WeightSpec",
    "byte_view",
    "decode_specs",
    "decode_weights",
    "stored_size",
]

# What the format has, as little-endian NumPy dtypes.
STORED_DTYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("<f4"),
    "int32": np.dtype("<i4"),
    "bool": np.dtype(np.bool_),
    "complex64": np.dtype("<c8"),
}


class ModelFileError(VariGradError, ValueError):
    """A model file is damaged, contradicts itself, or is not one.

    >>> import varigrad as vg
    >>> vg.io.decode_weights(b"", [{"name": "w", "shape": [2], "dtype": "float32"}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    varigrad.io.weights.ModelFileError: the weights should take 8 bytes by their shapes and dtypes, ...
    """


class Reader(Protocol):
    """A run of bytes, read from front to back."""

    @property
    def total(self) -> int | None:
        """Its length, if that is known before it has been read."""
        ...

    def available(self, wanted: int) -> int:
        """How many bytes are left; where that is not known yet, it may stop counting at `wanted`."""
        ...

    def readinto(self, target: memoryview) -> None:
        """Fills the target with the next bytes, of which there are enough."""
        ...


class WeightSpec(NamedTuple):
    """One weight in a file, checked."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    group: str | None
    stored: np.dtype[Any] | None  # None for strings
    grid: Grid | None = None  # of weights quantized to uint8 or uint16

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @classmethod
    def parse(cls, entry: Any) -> WeightSpec:
        """A specification as the file has it, checked."""
        if not isinstance(entry, Mapping):
            raise ModelFileError(f"a weight's specification must be an object, got {entry!r:.100}")
        spec = cast("Mapping[str, Any]", entry)
        name, shape, dtype = spec.get("name"), spec.get("shape"), spec.get("dtype")
        if not isinstance(name, str):
            raise ModelFileError(f"a weight's specification needs a name, got {dict(spec)!r:.100}")
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in cast("list[Any]", shape)):
            raise ModelFileError(f"weight {name!r} needs a shape, a list of lengths, got {shape!r:.100}")
        lengths = tuple(cast("list[int]", shape))
        group = spec.get("group")
        checked = cls(name, lengths, str(dtype), group if isinstance(group, str) else None, None)
        if spec.get("quantization") is not None:
            return _parse_quantization(checked, spec["quantization"])
        if dtype == "string":
            return checked
        if not isinstance(dtype, str) or dtype not in STORED_DTYPES:
            known = ", ".join([*STORED_DTYPES, "string"])
            raise ModelFileError(f"weight {name!r} has dtype {dtype!r:.100}; the format has {known}")
        return checked._replace(stored=STORED_DTYPES[dtype])


def _parse_quantization(spec: WeightSpec, entry: Any) -> WeightSpec:
    quantization: Mapping[str, Any] = cast("Mapping[str, Any]", entry) if isinstance(entry, Mapping) else {}
    stored = quantization.get("dtype")
    if not isinstance(stored, str) or stored not in QUANTIZED_DTYPES:
        raise ModelFileError(
            f"weight {spec.name!r} is quantized as {stored!r:.100}; the format has {', '.join(QUANTIZED_DTYPES)}"
        )
    if spec.dtype not in (("float32",) if stored == "float16" else ("float32", "int32")):
        raise ModelFileError(f"weight {spec.name!r} of dtype {spec.dtype!r:.100} cannot be quantized as {stored}")
    if stored == "float16":
        return spec._replace(stored=QUANTIZED_DTYPES[stored])
    scale, minimum = _finite(quantization.get("scale")), _finite(quantization.get("min"))
    if scale is None or minimum is None:
        raise ModelFileError(f"weight {spec.name!r} is quantized as {stored} but has no finite scale and min")
    return spec._replace(stored=QUANTIZED_DTYPES[stored], grid=Grid(scale, minimum))


def _finite(value: Any) -> float | None:
    """The value as a float, if it is a finite number."""
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return None
    return number if math.isfinite(number) else None


def byte_view(array: Array) -> memoryview:
    """The memory of an array that lies in one piece, as bytes."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())


def stored_size(specs: Iterable[WeightSpec]) -> int | None:
    """How many bytes the weights take; None if there are strings, whose lengths only the bytes tell."""
    total = 0
    for spec in specs:
        if spec.stored is None:
            return None
        total += spec.size * spec.stored.itemsize
    return total


def decode_specs(specs: Sequence[WeightSpec], reader: Reader) -> dict[str, Array]:
    """The weights by name, each in memory of its own, which is taken only after the sizes have been checked.

    Raises:
        ModelFileError: The bytes are too few or too many, or a name comes twice.
    """
    wanted = stored_size(specs)
    if wanted is not None and reader.total is not None and wanted != reader.total:
        raise ModelFileError(
            f"the weights should take {wanted:,} bytes by their shapes and dtypes, but the files hold {reader.total:,}"
        )
    weights: dict[str, Array] = {}
    for spec in specs:
        if spec.name in weights:
            raise ModelFileError(f"weight {spec.name!r} is listed twice")
        weights[spec.name] = _read_strings(spec, reader) if spec.stored is None else _read_numbers(spec, reader)
    rest = reader.available(1)
    if rest:
        last = f" after the last weight, {specs[-1].name!r}" if specs else ""
        raise ModelFileError(f"{rest:,} bytes are left over{last}")
    return weights


def _read_numbers(spec: WeightSpec, reader: Reader) -> Array:
    assert spec.stored is not None
    _check_left(spec, reader, spec.size * spec.stored.itemsize)
    try:
        stored = np.empty(spec.shape, spec.stored)
    except ValueError:  # no elements, but lengths beyond what NumPy can count
        raise ModelFileError(f"weight {spec.name!r} has the impossible shape {format_shape(spec.shape)}") from None
    reader.readinto(byte_view(stored))
    if spec.stored is STORED_DTYPES.get(spec.dtype):
        if spec.dtype == "bool":
            np.not_equal(stored.view(np.uint8), 0, out=stored)
        return stored.astype(stored.dtype.newbyteorder("="), copy=False)
    try:
        return dequantize(stored, spec.dtype, spec.grid)
    except ValueError as error:
        raise ModelFileError(f"weight {spec.name!r} {error}") from None


def _read_strings(spec: WeightSpec, reader: Reader) -> Array:
    _check_left(spec, reader, 4 * spec.size)  # each has a length at least
    strings: list[str] = []
    for _ in range(spec.size):
        _check_left(spec, reader, 4)
        length = int.from_bytes(_take(reader, 4), "little")
        _check_left(spec, reader, length)
        try:
            strings.append(_take(reader, length).decode())
        except UnicodeDecodeError:
            raise ModelFileError(f"weight {spec.name!r} holds a string that is not UTF-8") from None
    values = np.empty(len(strings), object)
    values[:] = strings
    return values.reshape(spec.shape)


def _check_left(spec: WeightSpec, reader: Reader, wanted: int) -> None:
    left = reader.available(wanted)
    if wanted > left:
        raise ModelFileError(
            f"weight {spec.name!r} of shape {format_shape(spec.shape)} needs {wanted:,} bytes, but {left:,} are left"
        )


def _take(reader: Reader, count: int) -> bytes:
    taken = bytearray(count)
    reader.readinto(memoryview(taken))
    return bytes(taken)


class _BytesReader:
    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)
        self.total = len(data)

    def available(self, wanted: int) -> int:
        return self.total - self._stream.tell()

    def readinto(self, target: memoryview) -> None:
        self._stream.readinto(target)


def decode_weights(data: bytes, specs: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """The tensors that `encode_weights` made bytes of, by name. Mirrors `tf.io.decodeWeights`.

    Args:
        data: The bytes.
        specs: What is in them; weights quantized to uint8, uint16 or float16 are expanded.

    Raises:
        ModelFileError: The bytes and the specifications do not fit.

    >>> import varigrad as vg
    >>> spec = {"name": "w", "shape": [2], "dtype": "float32", "quantization": {"dtype": "uint8", "scale": 2, "min": 1}}
    >>> vg.io.decode_weights(bytes([0, 3]), [spec])["w"].tolist()
    [1.0, 7.0]
    """
    checked = [WeightSpec.parse(spec) for spec in specs]
    return {name: make_tensor(values) for name, values in decode_specs(checked, _BytesReader(data)).items()}
