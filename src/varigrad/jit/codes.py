"""What a function's code mentions: the names of globals and attributes that it may read."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

__all__ = ["Mentions", "is_library", "is_of_library", "mentions"]

_GLOBAL = frozenset(["LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"])
_ENCLOSING = frozenset(["LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"])
_ATTRIBUTE = frozenset(["LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"])
_CALLING = frozenset(["CALL", "PRECALL", "PUSH_NULL"])  # those of a call without arguments have none either
# What finds an attribute by a name that is given to it, and what does so by names that no code tells.
_ASKING = frozenset(["delattr", "getattr", "hasattr", "setattr"])
_BY_ANY_NAME = frozenset(["__dict__", "attrgetter", "dir", "eval", "exec", "vars"])
_LIBRARIES = frozenset(sys.stdlib_module_names) | {"varigrad", "numpy", "scipy", "pytest", "_pytest"}


class Mentions(NamedTuple):
    """Names in a piece of code, and in the functions defined in it.

    `chains` are the dotted names that start with a global or an enclosing function's variable, such as
    `("np", "random", "normal")`, and the globals and variables alone; `called_bare`, those called without arguments.
    `types` says whether the type of anything but `self` is asked for by `type`; `asks`, whether the code may find out
    that there is no such attribute; `by_any_name`, whether it looks attributes up by names that it does not tell.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    chains: frozenset[tuple[str, ...]]
    called_bare: frozenset[tuple[str, ...]]
    types: bool
    asks: bool
    by_any_name: bool


@lru_cache(maxsize=4096)
def mentions(code: CodeType) -> Mentions:
    """What a code object and those inside it mention."""
    global_names: set[str] = set()
    attributes: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    bare: set[tuple[str, ...]] = set()
    chain: tuple[str, ...] = ()
    types = False
    asks = by_any_name = False
    instructions = list(dis.get_instructions(code))
    for at, instruction in enumerate(instructions):
        name = instruction.opname
        types |= chain == ("type",) and name not in _CALLING and instruction.argval != "self"
        if name in _GLOBAL:
            chain = (instruction.argval,)
            global_names.add(instruction.argval)
            if instruction.argval in _ASKING:
                asked_for = _asked_for(instructions[at + 1 :])
                attributes |= {asked_for} if asked_for else set()
                by_any_name |= not asked_for
        elif name in _ENCLOSING:
            chain = (instruction.argval,)
        elif name in _ATTRIBUTE:
            attributes.add(instruction.argval)
            chain = (*chain, instruction.argval) if chain else ()
        elif name in _CALLING and not instruction.arg:
            if chain and name == "CALL":
                bare.add(chain)
        else:
            chain = ()
        if chain:
            chains.add(chain)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = mentions(constant)
            global_names |= inner.globals
            attributes |= inner.attributes
            chains |= inner.chains
            bare |= inner.called_bare
            types |= inner.types
            asks |= inner.asks
            by_any_name |= inner.by_any_name
    asks |= bool(global_names & {*_ASKING, "AttributeError"})
    by_any_name |= bool(global_names & _BY_ANY_NAME or attributes & _BY_ANY_NAME)
    return Mentions(
        *(frozenset(global_names), frozenset(attributes), frozenset(chains), frozenset(bare)),
        *(types, asks, by_any_name),
    )


def _asked_for(instructions: Sequence[dis.Instruction]) -> str | None:
    """The name that a call such as `getattr(self.layer, "rate", 0)` gives, where it is as simple as that."""
    following = [i for i in instructions[:16] if i.opname not in ("EXTENDED_ARG", "PUSH_NULL", "PRECALL")]
    if not following or following.pop(0).opname.count("LOAD") != 1:
        return None
    while following and following[0].opname in _ATTRIBUTE:
        following.pop(0)
    kinds = [i.opname.partition("_")[0] for i in following[:3]]
    if kinds[:2] != ["LOAD", "CALL"] and kinds != ["LOAD", "LOAD", "CALL"]:
        return None
    name = following[0]
    return name.argval if name.opname == "LOAD_CONST" and isinstance(name.argval, str) else None


def is_of_library(function: FunctionType) -> bool:
    """Whether a function's code is VariGrad's, NumPy's or Python's own.

    What wraps a function of the user's has the name of its module, but not its globals; what a doctest or `exec`
    defines may have globals with the name of a library's module, but not those of the module.
    """
    module = function.__globals__.get("__name__")
    return is_library(module) and getattr(sys.modules.get(str(module)), "__dict__", None) is function.__globals__


def is_library(module: Any) -> bool:
    """Whether a module is VariGrad's, NumPy's or Python's own, or none: nothing in it changes between two steps."""
    return not isinstance(module, str) or module.partition(".")[0] in _LIBRARIES
