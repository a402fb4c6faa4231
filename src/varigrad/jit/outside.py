"""What a function asks of the world outside the program: the clock, files, the environment, the system's randomness.

A compiled function asks once, and never again. It is found in the function's code, by the names that it mentions.
"""

from __future__ import annotations

import builtins
import datetime
import dis
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from varigrad.jit.codes import Mentions
from varigrad.jit.errors import JitError

__all__ = ["asked_outside", "check_no_clock"]

# What gives something else whenever the world has changed, by the module in which it is found.
_ASKED: Mapping[str, tuple[str, ...]] = {
    "builtins": ("input", "open"),
    "glob": ("glob", "iglob"),
    "numpy": ("fromfile", "genfromtxt", "load", "loadtxt"),
    "os": ("environ", "environb", "getcwd", "getenv", "listdir", "scandir", "urandom"),
    "os.path": ("exists", "getmtime", "getsize", "isdir", "isfile"),
    "random": ("SystemRandom",),
    "secrets": ("choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe"),
    "uuid": ("uuid1", "uuid4"),
}
# What does so if it is called without arguments: generators of random numbers that no seed decides.
_UNSEEDED: Mapping[str, tuple[str, ...]] = {
    "numpy.random": ("MT19937", "PCG64", "Philox", "RandomState", "SFC64", "default_rng"),
    "random": ("Random",),
}
_OF_PATHS = frozenset(["read_bytes", "read_text"])  # methods of `pathlib.Path`


def asked_outside(mentioned: Mentions, function: FunctionType) -> Iterator[str]:
    """What a function, whose code mentions these names, asks of the world, with the line where it does."""
    imported = tuple([module for module in (*_ASKED, *_UNSEEDED) if module in sys.modules])
    for chain in mentioned.chains:
        value = _value_of(chain, function)
        unseeded = chain in mentioned.called_bare and id(value) in _known(imported, True)
        if unseeded or id(value) in _known(imported, False):
            yield f"{'.'.join(chain)}{'()' * unseeded} at {_site(function.__code__, chain[-1])}"
    for name in mentioned.attributes & _OF_PATHS:
        yield f"{name}() at {_site(function.__code__, name)}"


@lru_cache(maxsize=8)
def _known(imported: tuple[str, ...], unseeded: bool) -> frozenset[int]:
    """The identities of what is in the tables, of modules that are imported: no code refers to others."""
    table = _UNSEEDED if unseeded else _ASKED
    found = [
        getattr(sys.modules[module], name, None) for module in table if module in imported for name in table[module]
    ]
    return frozenset([id(item) for item in found if item is not None])


def check_no_clock(chain: tuple[str, ...], function: FunctionType) -> None:
    """Raises an error if a dotted name in a function's code is one that gives the time."""
    value = _value_of(chain, function)
    if not isinstance(value, BuiltinFunctionType):
        return
    owner: Any = value.__self__
    of_dates = (owner is datetime.date or owner is datetime.datetime) and value.__name__ in ("now", "today", "utcnow")
    if of_dates or value.__module__ == "time":
        raise JitError(
            f"jit: {'.'.join(chain)} in {function.__qualname__} ({_site(function.__code__, chain[-1])}) gives the "
            "time, and a compiled function would ask only once; measure outside, or pass the value as an argument"
        )


def _value_of(chain: tuple[str, ...], function: FunctionType) -> Any:
    """What a dotted name stands for, as far as finding that out runs no code of others; else None."""
    first, *rest = chain
    if first in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(first)]
        try:
            value = cell.cell_contents
        except ValueError:  # nothing stands there yet
            return None
    else:
        value = function.__globals__.get(first, getattr(builtins, first, None))
    for name in rest:
        if isinstance(value, (ModuleType, type)):
            value = getattr(value, name, None)
        else:
            value = getattr(value, "__dict__", {}).get(name)
    return value


def _site(code: CodeType, name: str) -> str:
    """The line where code, or that of functions defined in it, first mentions a name."""
    for instruction in dis.get_instructions(code):
        if instruction.argval == name and instruction.positions is not None:
            return f"{code.co_filename}:{instruction.positions.lineno}"
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    sites = [_site(each, name) for each in inner if name in (*each.co_names, *each.co_freevars)]
    return sites[0] if sites else f"{code.co_filename}:{code.co_firstlineno}"
