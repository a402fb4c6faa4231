"""Every op called with one argument wrong: what may come of it, and what is put in its place.

A call must give a valid result, or raise `ValueError`, `TypeError` or `VariGradError` with a message that names the op.
It must not raise anything else, warn, take long, or change what it was given.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

import varigrad as vg

from .operation import Case

_PATIENCE = 20.0  # seconds, for a call that takes less than a thousandth of one: what hangs, on a machine however busy


class Hostile:
    """An object that is nothing that an op could want."""

    def __repr__(self) -> str:
        return "Hostile()"


def _disposed() -> vg.Tensor:
    x = vg.tensor([1.0, 2.0])
    x.dispose()
    return x


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else 1.0


def _in_itself() -> list[Any]:
    items: list[Any] = [1.0]
    items.append(items)
    return items


# Functions, as some of the values cannot be used twice. No size is among them that a machine might have memory for.
WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "3": lambda: 3,
    "1.5": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "1j": lambda: 1j,
    "10**30": lambda: 10**30,
    "-(10**30)": lambda: -(10**30),
    "10**400": lambda: 10**400,
    "2**62": lambda: 2**62,
    "a text": lambda: "x",
    "an empty text": lambda: "",
    "bytes": lambda: b"x",
    "a dtype": lambda: "float32",
    "a date": lambda: date(2024, 2, 29),
    "a Decimal": lambda: Decimal("1.5"),
    "a Fraction": lambda: Fraction(1, 3),
    "an object": Hostile,
    "a class": lambda: Hostile,
    "a function": lambda: lambda *_: None,
    "a generator": lambda: (n for n in (1, 2)),
    "an ellipsis": lambda: ...,
    "a slice": lambda: slice(None),
    "a range": lambda: range(2),
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "an empty list": list,
    "a ragged list": lambda: [[1], [1, 2]],
    "a list of None": lambda: [None, None],
    "a list of texts": lambda: ["a", "b"],
    "a list of texts and numbers": lambda: ["a", 1],
    "a list of objects": lambda: [Hostile()],
    "a list of floats": lambda: [1.5, -2.5],
    "a list of NaN": lambda: [float("nan")] * 2,
    "a negative list": lambda: [-1, -1],
    "a list of zeros": lambda: [0, 0],
    "a list of 2**62": lambda: [2**62, 2**62],
    "a list of 10**30": lambda: [10**30, 1],
    "a shape of rank 70": lambda: [1] * 70,
    "a list 70 deep": lambda: _nested(70),
    "a list in itself": _in_itself,
    "a tensor and a number": lambda: [vg.tensor([1.0, 2.0]), 3],
    "a disposed tensor": _disposed,
    "a list of disposed tensors": lambda: [_disposed(), _disposed()],
    "a scalar tensor": lambda: vg.scalar(2.5),
    "an int32 scalar": lambda: vg.scalar(2, "int32"),
    "an empty tensor": lambda: vg.zeros([0]),
    "a string tensor": lambda: vg.tensor(["a", "b"]),
    "a bool tensor": lambda: vg.tensor([True, False]),
    "a complex tensor": lambda: vg.complex([1.0, 2.0], [0.0, 1.0]),
    "an int64 tensor": lambda: vg.tensor([2**40, -1], dtype="int64"),
    "a tensor of NaN": lambda: vg.fill([2, 2], float("nan")),
    "a tensor of rank 7": lambda: vg.ones([1] * 7),
    "a tensor of rank 40": lambda: vg.make_tensor(np.ones((1,) * 40, np.float32)),
    "a long vector": lambda: vg.ones([11]),
    "a variable": lambda: vg.variable([1.0, 2.0]),
    "a scalar of NumPy": lambda: np.float64(1.5),
    "an array of dates": lambda: np.array(["2024-02-29"], "datetime64[D]"),
    "a structured array": lambda: np.zeros(2, [("a", np.int32), ("b", np.float64)]),
    "an array of objects": lambda: np.array([Hostile(), None], object),
    "an array of uint64": lambda: np.array([2**64 - 1], np.uint64),
    "an array of complex128": lambda: np.array([[1 + 1j]]),
    "an array of float16": lambda: np.ones((2, 2), np.float16),
    "an array of texts": lambda: np.array(["a"]),
    "an array of rank 40": lambda: np.ones((1,) * 40, np.float32),
    "an empty array": lambda: np.ones((0, 3), np.int32),
    "a masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
}

# Where a place lies in the arguments of a call: the parameter, and the item if that is a list.
Place = tuple[str, ...]


class Fault(AssertionError):
    """A wrong argument had consequences that it must not have."""


class Call:
    """A good call of an op."""

    def __init__(self, name: str, case: Case) -> None:
        self.name = name
        self.function: Callable[..., Any] = reduce(getattr, name.split("."), vg)
        op = name.split(".")[-1]
        # A coroutine is its op under another name.
        self._names = (op, op.removesuffix("_async"), *ALSO_NAMED.get(name, ()))
        self._signature = inspect.signature(self.function)
        self._case = case

    def _arguments(self) -> inspect.BoundArguments:
        given = self._case.with_tensors()
        arguments = self._signature.bind(*given.args, **given.options)
        arguments.apply_defaults()
        return arguments

    @property
    def is_empty(self) -> bool:
        """Whether a tensor of it has no values."""
        return not all(array.size for array in self._case.arrays())

    def places(self) -> list[Place]:
        """The arguments that can be wrong: each of them, and the first item of each list."""
        places: list[Place] = []
        for name, value in self._arguments().arguments.items():
            if self._signature.parameters[name].kind is not inspect.Parameter.VAR_POSITIONAL:
                places.append((name,))
            if isinstance(value, (list, tuple)) and value:
                places.append((name, "[0]"))
        return places

    def run(self) -> None:
        """Makes the good call."""
        arguments = self._arguments()
        _check(_result(self.function(*arguments.args, **arguments.kwargs)))

    def wrong(self, place: Place, value: str) -> None:
        """Makes the call with one of the values of `WRONG` at a place.

        Raises:
            Fault: Something came of it that must not.
        """
        arguments = self._arguments()
        parameter, *item = place
        given = WRONG[value]()
        if item:
            before = arguments.arguments[parameter]
            arguments.arguments[parameter] = type(before)([given, *before[1:]])
        else:
            arguments.arguments[parameter] = given
        call = f"{self.name}({parameter}{''.join(item)}={value}) of {self.name}({self._case})"
        before = [_snapshot(argument) for argument in arguments.arguments.values()]
        started = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"varigrad\.")
                result = _result(self.function(*arguments.args, **arguments.kwargs))
        except vg.DisposedError:
            pass  # names the tensor
        except (ValueError, TypeError, vg.VariGradError) as error:
            message = f"{type(error).__name__}: {error}"
            if not any(_speaks_of(name, message) for name in self._names):
                raise Fault(f"{call}\n  the message does not name the op: {message}") from error
        except Exception as error:
            raise Fault(f"{call}\n  raises {type(error).__name__}: {error}") from error
        else:
            try:
                _check(result)
            except (AssertionError, vg.DisposedError) as error:
                raise Fault(f"{call}\n  {error}") from error
        if time.monotonic() - started > _PATIENCE:
            raise Fault(f"{call}\n  takes {time.monotonic() - started:.1f} s")
        if before != [_snapshot(argument) for argument in arguments.arguments.values()]:
            raise Fault(f"{call}\n  changes what it was given")


# What errors may name in place of the op.
_GIVEN_FUNCTION = ("Hostile",)  # the class was called as the function that it was given for
ALSO_NAMED: dict[str, tuple[str, ...]] = {
    "multi_rnn_cell": _GIVEN_FUNCTION,
    "signal.stft": _GIVEN_FUNCTION,
    "rand": _GIVEN_FUNCTION,
}


def _speaks_of(name: str, message: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None


def _result(value: Any) -> Any:
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _check(result: Any) -> None:
    """Whether a result is one that ops may give."""
    if isinstance(result, vg.Tensor):
        assert result.dtype, f"the result has dtype {result.storage.dtype}"
        assert result.numpy().shape == result.shape, f"the result has shape {result.shape}"
    elif isinstance(result, (list, tuple)):
        for item in result:
            _check(item)
    elif isinstance(result, dict):
        _check(list(result.values()))
    else:
        assert result is None or isinstance(result, (int, vg.TensorBuffer)), f"the result is {result!r}"


def _snapshot(value: Any) -> Any:
    """What can be compared with itself later on; values that hold no numbers stand for themselves."""
    if isinstance(value, vg.Tensor):
        return (id(value), value.is_disposed) if value.is_disposed else (id(value), _snapshot(value.storage))
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes() if value.dtype != object else [id(v) for v in value.flat])
    if isinstance(value, (list, tuple)):
        return [_snapshot(item) if item is not value else "itself" for item in value]
    return copy.copy(value) if isinstance(value, (dict, set)) else id(value)


def faults(call: Call, chosen: Callable[[Place], list[str]]) -> Iterator[Fault]:
    """The faults of a call with each of its arguments replaced by each of the values chosen for it."""
    for place in call.places():
        for value in chosen(place):
            try:
                call.wrong(place, value)
            except Fault as fault:
                yield fault
            finally:
                vg.dispose_variables()
