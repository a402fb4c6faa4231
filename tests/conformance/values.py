"""Values on the wire between JavaScript and Python.

The wire carries JSON. What JSON has no word for is an object with the key `"$"`, which says what it is:

    number      NaN, the infinities and -0, by name
    undefined   an argument left out
    object      a plain object: `[[key, value], …]`
    tuple       the same for a named tuple, from Python only
    array       a typed array: its dtype and its bytes
    function    a function on the other side, by number
    promise     a promise, which only JavaScript can await
    tensor      a tensor or variable, by number, with its shape and dtype
    remote      any other Python object, by number, with the names of its classes
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import varigrad as vg
from varigrad.errors import DisposedError

from .handles import Handles
from .names import to_camel, to_snake

# TensorFlow.js keeps bools as bytes, and complex numbers as pairs of floats.
_TYPED_ARRAYS = {"float32": "float32", "int32": "int32", "uint8": "uint8", "bool": "uint8", "float64": "float64"}


class Undefined:
    """Stands for an argument that JavaScript left out."""


UNDEFINED = Undefined()


class JavaScriptPromise:
    """A promise that a JavaScript function returned. Python cannot wait for it without stopping JavaScript."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __await__(self) -> Any:
        raise TypeError("a JavaScript promise cannot be awaited in Python")


def _named_tuples() -> dict[frozenset[str], type]:
    """VariGrad's public named tuples by their fields: what an object with these keys stands for."""
    found: dict[frozenset[str], type] = {}
    for namespace in (vg, vg.train):
        for value in vars(namespace).values():
            if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
                found[frozenset(value._fields)] = value
    return found


_NAMED_TUPLES = _named_tuples()


class Codec:
    """Turns wire values into Python's and back."""

    def __init__(self, handles: Handles, call_back: Callable[..., Any]) -> None:
        self._handles = handles
        self._call_back = call_back

    def decode(self, value: Any) -> Any:
        """The Python value behind a wire value."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        match value["$"]:
            case "number":
                return float(value["name"])
            case "undefined":
                return UNDEFINED
            case "object":
                return {key: self.decode(item) for key, item in value["items"]}
            case "array":
                return np.frombuffer(base64.b64decode(value["bytes"]), value["dtype"]).copy()
            case "function":
                return self._function(value["id"])
            case "promise":
                return JavaScriptPromise(value["id"])
            case "tensor" | "remote":
                return self._handles[value["id"]]
            case kind:
                raise AssertionError(f"no such kind of wire value: {kind}")

    def decode_result(self, value: Any) -> Any:
        """What a callback returned; an object with the fields of one of VariGrad's named tuples is that tuple."""
        decoded = self.decode(value)
        if isinstance(decoded, dict):
            fields = {to_snake(key): item for key, item in decoded.items()}
            kind = _NAMED_TUPLES.get(frozenset(fields))
            if kind is not None:
                return kind(**fields)
        return None if decoded is UNDEFINED else decoded

    def _function(self, number: int) -> Callable[..., Any]:
        def javascript_function(*args: Any) -> Any:
            return self._call_back(number, args)

        return javascript_function

    def encode(self, value: Any) -> Any:
        """The wire value for a Python value."""
        if value is None or isinstance(value, (bool, str, int)):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) and (value or np.copysign(1, value) > 0) else _named_number(value)
        if isinstance(value, complex):
            return [self.encode(value.real), self.encode(value.imag)]
        if isinstance(value, bytes):
            return self._array(np.frombuffer(value, np.uint8))
        if isinstance(value, np.generic):
            return self.encode(value.item())
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, vg.Tensor):
            return self._tensor(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            properties = [name for name, member in vars(type(value)).items() if isinstance(member, property)]
            names = [*value._fields, *properties]
            return {"$": "tuple", "items": [[to_camel(name), self.encode(getattr(value, name))] for name in names]}
        if isinstance(value, Mapping):
            return self._object(value)
        if isinstance(value, (list, tuple)):
            return [self.encode(item) for item in value]
        if isinstance(value, JavaScriptPromise):
            return {"$": "promise", "id": value.number}
        if inspect.isroutine(value) or inspect.isfunction(value):
            return {"$": "function", "id": self._handles.number(value)}
        classes = [c.__name__ for c in type(value).__mro__ if c is not object]
        return {"$": "remote", "id": self._handles.number(value), "classes": classes}

    def _object(self, mapping: Mapping[Any, Any]) -> dict[str, Any]:
        return {"$": "object", "items": [[str(key), self.encode(item)] for key, item in mapping.items()]}

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind == "c":
            array = np.ascontiguousarray(array).view(np.float32)
        name = _TYPED_ARRAYS.get(array.dtype.name)
        if array.dtype.kind == "O":
            return [item.decode() if isinstance(item, bytes) else item for item in array.tolist()]
        if name is None:
            return self.encode(array.tolist())
        return {"$": "array", "dtype": name, "bytes": base64.b64encode(array.tobytes()).decode()}

    def _tensor(self, tensor: vg.Tensor) -> dict[str, Any]:
        try:
            shape, dtype = list(tensor.shape), tensor.dtype
        except DisposedError:
            shape, dtype = None, None
        encoded = {"$": "tensor", "id": self._handles.number(tensor), "shape": shape, "dtype": dtype}
        if isinstance(tensor, vg.Variable):
            encoded["variable"] = True
        return encoded


def _named_number(value: float) -> dict[str, str]:
    name = "NaN" if np.isnan(value) else "-0" if value == 0 else "Infinity" if value > 0 else "-Infinity"
    return {"$": "number", "name": name}


def as_stored(value: Any) -> Any:
    """Nested values as TensorFlow.js reads them out of a tensor: bools as 0 and 1, complex numbers flattened into their
    row."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        flat: list[Any] = []
        for item in value:
            if isinstance(item, complex):
                flat += [item.real, item.imag]
            else:
                flat.append(as_stored(item))
        return flat
    return value
