"""What a function sees around it: closures, globals, attributes, list elements, dict values.

`look_around` follows everything that a function can reach by the names that its code mentions, and notes each place
where a value stands. From these notes a compiled function knows later whether anything has changed, and whether the
function itself changes anything but tensors. A class with an attribute `compiled_for` tells by it which of its
attributes count, and one with `moved_on` which do not: these answer for the rest themselves, by `engine.host_tensors`
or `randomness.NextSeed`, unless the function's own code mentions it.
"""

from __future__ import annotations

import functools
import operator
import random
import sys
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.changes import Counted
from varigrad.jit.codes import is_library, is_of_library, mentions
from varigrad.jit.contents import attributes_that_hold, contents_of, is_whole, value_in
from varigrad.jit.errors import JitError
from varigrad.jit.outside import asked_outside, check_no_clock
from varigrad.jit.paths import Path, spelled
from varigrad.jit.signature import PLAIN
from varigrad.tensor import Tensor

__all__ = ["Place", "Surroundings", "look_around"]


class Place(NamedTuple):
    """Where a value stands: `get(container, key)` looks it up; `path` is how a person would write it.

    `vouched` says that its owner knows of compiled steps, and that what a step does to it is all right; `counted`, that
    `varigrad.changes` counts its changes.
    """

    get: Callable[[Any, Any], Any]
    container: Any
    key: Any
    value: Any
    path: Path | str
    vouched: bool = False
    counted: bool = False

    @property
    def identity(self) -> tuple[int, Any]:
        """Equal for the same place, whatever stands in it."""
        return id(self.container), self.key


class _Mentioned(NamedTuple):
    """Names of attributes: all that code mentions, and those that the code of others than VariGrad does; and whether
    this may find out that there is no attribute, or looks attributes up by names that it does not tell."""

    names: frozenset[str] = frozenset()
    own_names: frozenset[str] = frozenset()
    asks: bool = False
    everything: bool = False


class Surroundings(NamedTuple):
    """All places found; the containers whose length counts, and mutable contents that are compared as a whole.

    `streams` are generators of random numbers: their path, a function that gives their state, and their state. `seen`
    are the identities of all that was looked into, places found there or not; `hosts` those of objects that vouch for
    themselves. `mentioned` is what the code that was looked into mentions; `asks_types`, whether it calls `type`.
    """

    places: list[Place]
    containers: list[tuple[Any, int, Path, bool]]  # the last says whether changes are counted
    contents: list[tuple[Any, Any, Path]]  # an object, its contents now, and its path
    streams: list[tuple[Path, Callable[[], Any], Any]]
    seen: set[int]
    hosts: set[int]
    mentioned: _Mentioned
    asked: list[str]
    asks_types: bool

    def with_vouched_of(self, earlier: Surroundings) -> Surroundings:
        """These, but vouched places as they were earlier: what a call found there decides what it did."""
        found = {place.identity: place for place in earlier.places if place.vouched}
        return self._replace(places=[found.get(place.identity, place) for place in self.places])


# Values that nothing inside can change, beyond those of `PLAIN`.
_LEAVES = (*PLAIN, float, Tensor, np.dtype, np.ufunc, np.generic, BuiltinFunctionType, CodeType, range)
_SEQUENCES = (list, tuple, deque)
_REPLACEABLE = (FunctionType, property, staticmethod)  # what a class gives as it was put into it
_CODE = (FunctionType, MethodType, type, ModuleType, functools.partial)
_EXPLORED = 4  # objects of a class that are looked into for names, before all are for what stands in them
_LONG = 64  # items from which on numbers and texts are compared as a whole
_NUMBERS = frozenset([int, float, bool, str, type(None)])
# What code in a class finds of the class: `super()` looks into it, and annotations, from Python 3.14 on.
_OF_CLASSES = frozenset(["__class__", "__classdict__"])
# Methods that only making an object calls, and those that no step calls.
_MAKING = frozenset(["__init__", "__new__", "__post_init__"])
_UNCALLED = frozenset(
    [
        *("__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__delattr__", "__dir__", "__getstate__"),
        *("__init_subclass__", "__reduce__", "__reduce_ex__", "__replace__", "__repr__", "__setattr__", "__setstate__"),
        *("__annotate__", "__annotate_func__", "__str__", "__subclasshook__"),
    ]
)


def cell_contents(cell: CellType, _: Any) -> Any:
    """What a closure's cell holds."""
    return cell.cell_contents


def _state_of(generator: Any) -> Any:
    return generator.getstate() if isinstance(generator, random.Random) else repr(generator.bit_generator.state)


def _state_of_numpy() -> Any:
    name, key, *rest = cast("Any", np.random.get_state())
    return name, key.tobytes(), rest


def look_around(
    function: Callable[..., Any], objects: Sequence[Any] = (), earlier: Surroundings | None = None
) -> Surroundings:
    """The surroundings of a function that is called with these objects among its arguments.

    Args:
        function: The function.
        objects: The objects.
        earlier: What it saw before a call: it mentions the same names, mostly, and is done sooner if they are known.

    Raises:
        JitError: The function's code mentions something whose next value nobody can foresee.
    """
    walk = _Walk()
    if earlier is not None:
        walk.mentioned = earlier.mentioned
    # Code reached through an attribute may mention names that matter for objects looked at before. Most of them are
    # found among few objects of each class, so that all are looked at once or twice only.
    for most in (_EXPLORED, None) if earlier is None else (None,):
        known = None
        while known != walk.mentioned:
            known = walk.mentioned
            walk.start(most)
            walk.follow(function, Path("the function"))
            for item in objects:
                walk.follow(item, Path(f"the {type(item).__name__} passed as an argument"))
            walk.finish()
    # Python's and NumPy's own generators may be drawn from by anybody.
    streams = [*walk.streams, (Path("Python's random numbers"), random.getstate, random.getstate())]
    if "numpy.random" in sys.modules:
        streams.append((Path("NumPy's random numbers"), _state_of_numpy, _state_of_numpy()))
    places = list(walk.places.values())
    asked = list(walk.asked)
    return Surroundings(
        *(places, walk.containers, walk.contents, streams, walk.looked_into, walk.hosts, walk.mentioned, asked),
        walk.asks_types,
    )


class _Walk:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.own_names: set[str] = set()  # those that the code of others than VariGrad mentions
        self.asks = False  # whether the code may find out that there is no attribute
        self.everything = False  # whether attributes are looked up by names that the code does not tell
        self.start(None)

    @property
    def mentioned(self) -> _Mentioned:
        """What the code met so far mentions."""
        return _Mentioned(frozenset(self.names), frozenset(self.own_names), self.asks, self.everything)

    @mentioned.setter
    def mentioned(self, known: _Mentioned) -> None:
        self.names, self.own_names = set(known.names), set(known.own_names)
        self.asks, self.everything = known.asks, known.everything

    def start(self, most: int | None) -> None:
        """Begins anew, with the names known so far; `most` is how many objects of a class are looked into."""
        self._most = most
        self._met: defaultdict[type, int] = defaultdict(int)
        self.places: dict[tuple[int, Any], Place] = {}
        self.containers: list[tuple[Any, int, Path, bool]] = []
        self.contents: list[tuple[Any, Any, Path]] = []
        self.streams: list[tuple[Path, Callable[[], Any], Any]] = []
        self.looked_into: set[int] = set()
        self.hosts: set[int] = set()
        self.asked: dict[str, None] = {}
        self.asks_types = False
        self._seen: dict[int, Any] = {}
        self._classes: set[tuple[type, bool]] = set()
        self._of_classes: dict[type, tuple[list[str], list[str]]] = {}
        self._pending: deque[tuple[Any, Path, bool]] = deque()

    def finish(self) -> None:
        while self._pending:
            # In the order in which they are met, so that paths are short.
            value, path, counted = self._pending.popleft()
            if self._most is not None and hasattr(value, "__dict__") and not isinstance(value, _CODE):
                self._met[type(value)] += 1
                if self._met[type(value)] > self._most:
                    continue
            self._look_into(value, path, counted)

    def follow(self, value: Any, path: Path, counted: bool = False) -> None:
        """Looks into a value, later and once; `counted` says that VariGrad counts the changes inside."""
        if isinstance(value, _LEAVES) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        self._pending.append((value, path, counted))

    def note(
        self,
        get: Callable[[Any, Any], Any],
        container: Any,
        key: Any,
        path: Path,
        vouched: bool = False,
        counted: bool = False,
        inside: bool = False,
    ) -> None:
        """Notes a place, and follows what stands in it."""
        try:
            value = get(container, key)
        except (AttributeError, KeyError, IndexError, ValueError):  # ValueError: an empty cell
            return
        if isinstance(value, ModuleType):
            self.follow(value, path)
            return
        place = Place(get, container, key, value, path, vouched, counted)
        if place.identity not in self.places:
            self.places[place.identity] = place
            self.follow(value, path, inside)

    def _look_into(self, value: Any, path: Path, counted: bool) -> None:
        if isinstance(value, FunctionType):
            self._function(value, path)
        elif isinstance(value, MethodType):
            self.follow(value.__func__, path)
            self.follow(value.__self__, path.owner)
        elif isinstance(value, functools.partial):
            partial = cast("functools.partial[Any]", value)
            for part in (partial.func, partial.args, partial.keywords):
                self.follow(part, path)
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, ModuleType):
            if not is_library(value.__name__):
                for name in sorted(self.names & vars(value).keys()):
                    self.note(getattr, value, name, path.attribute(name))
        elif isinstance(value, (np.random.Generator, random.Random)):
            self.streams.append((path, functools.partial(_state_of, value), _state_of(value)))
        elif isinstance(value, _SEQUENCES):
            self._elements(value, range(len(cast("Sequence[Any]", value))), path, counted)
        elif isinstance(value, (dict, MappingProxyType)):
            self._elements(value, list(cast("dict[Any, Any]", value)), path, counted)
        elif isinstance(value, (property, staticmethod, classmethod, functools.cached_property)):
            for part in ("fget", "__func__", "func"):
                self.follow(getattr(cast("Any", value), part, None), path)
        elif isinstance(value, (ContextVar, weakref.ref)):
            self.note(value_in, value, None, path)
        elif is_whole(value):
            self.contents.append((value, contents_of(value), path))
        else:
            self._object(value, path, counted)

    def _elements(self, container: Any, keys: Any, path: Path, counted: bool) -> None:
        if len(container) > _LONG and not isinstance(container, tuple):
            values: list[Any] = list(_items(container))
            if set(map(type, values)) <= _NUMBERS:
                self.contents.append((container, contents_of(container), path))
                return
        if not isinstance(container, tuple):
            self.containers.append((container, len(container), path, counted))
        for key in keys:
            if isinstance(container, tuple):
                self.follow(container[key], path.item(key), counted)
            else:
                self.note(operator.getitem, container, key, path.item(key), counted=counted, inside=counted)

    def _function(self, function: FunctionType, path: Path) -> None:
        own = is_of_library(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name not in _OF_CLASSES:
                self.note(cell_contents, cell, None, Path(name), counted=own)  # of a library's: it stays
        # The layers' code decides which of their attributes count; VariGrad's other code looks at tensors only.
        if own and not function.__globals__["__name__"].startswith("varigrad.layers"):
            return
        mentioned = mentions(function.__code__)
        self.names |= mentioned.attributes
        if own:
            return
        self.note(getattr, function, "__code__", path.attribute("__code__"))
        if function.__defaults__:
            self.note(getattr, function, "__defaults__", path.attribute("__defaults__"))
        for default in (function.__kwdefaults__ or {}).values():
            self.follow(default, path)
        self.own_names |= mentioned.attributes
        self.asks |= mentioned.asks
        self.everything |= mentioned.by_any_name
        self.looked_into.add(id(function.__globals__))
        for chain in mentioned.chains:
            check_no_clock(chain, function)
        self.asked |= dict.fromkeys(asked_outside(mentioned, function))
        self.asks_types |= mentioned.types
        for name in sorted(mentioned.globals & function.__globals__.keys()):
            self.note(operator.getitem, function.__globals__, name, Path(name))

    def _class(self, cls: type, path: Path, made: bool = False) -> None:
        """Looks into a class; into what makes objects of it only where it is not known to have been `made`."""
        if (cls, made) in self._classes:
            return
        self._classes.add((cls, made))
        if type(cls) is not type:
            self._class(type(cls), path, made=True)
        for base in cls.__mro__:
            module = base.__module__
            if is_library(module) and not str(module).startswith("varigrad.layers"):
                continue
            for name, member in list(vars(base).items()):
                special = name.startswith("__") and name.endswith("__")
                if special and (name in _UNCALLED or (made and name in _MAKING)):
                    continue
                if callable(member) or hasattr(member, "__get__"):
                    if special or name in self.names:
                        self.follow(member, path.attribute(name))
                    if (name in self.names or name == "__call__") and not is_library(module):
                        self._note_method(cls, base, name, member, path.attribute(name))
                elif name in self.names and not special and not is_library(module):
                    self.note(getattr, cls, name, path.attribute(name))

    def _note_method(self, cls: type, base: type, name: str, member: Any, path: Path) -> None:
        """Notes the places where another method may come: that where it is, and that where objects find it."""
        if isinstance(member, classmethod):
            self.note(operator.getitem, vars(base), name, path)
        elif isinstance(member, _REPLACEABLE):
            self.note(getattr, cls, name, path)
            self.note(getattr, base, name, path)

    def _object(self, value: Any, path: Path, counted: bool) -> None:
        cls = cast("Any", type(value))
        _check_no_stream(value, path)
        named = cast("Any", getattr(cls, "compiled_for", None))
        if named is not None:
            self.hosts.add(id(value))
            for name in named:
                self.note(getattr, value, name, path.attribute(name), vouched=True)
            for name in sorted(self.own_names.difference(named)):
                data = getattr(value, "__dict__", {}).get(name) if not hasattr(cls, name) else getattr(cls, name)
                if hasattr(value, name) and (not callable(data) or isinstance(data, property)):
                    self.note(getattr, value, name, path.attribute(name))
            return
        own = str(cls.__module__).startswith("varigrad.")
        inside = own and bool(counted or issubclass(cls, Counted))
        counted = bool(inside or issubclass(cls, Counted))
        everything = self.everything and not own
        attributes: Any = getattr(value, "__dict__", None)
        self.looked_into |= {id(value), id(attributes)}
        fixed = _fixed(cls)
        for name in attributes_that_hold(cls):
            self.note(getattr, value, name, path.attribute(name))
        if isinstance(attributes, dict):
            held = cast("dict[str, Any]", attributes)
            self.follow(held.get("__wrapped__"), path)  # of functools.lru_cache and its like
            if (self.asks or everything) and not own:
                self.containers.append((held, len(held), path.attribute("__dict__"), False))
            names: set[str] = set(held) if everything else self.names & held.keys()
            for name in sorted(names.difference(getattr(cls, "moved_on", ()))):
                if name in fixed:
                    self.follow(attributes[name], path.attribute(name), inside)
                    continue
                place = path.attribute(spelled(name, cls))
                self.note(operator.getitem, attributes, name, place, counted=counted, inside=inside)
        slots, plain = self._of_class(cls)
        for name in slots:
            if name in fixed and hasattr(value, name):
                self.follow(getattr(value, name), path.attribute(name), inside)
                continue
            self.note(getattr, value, name, path.attribute(name), counted=counted, inside=inside)
        for name in plain:
            if not (isinstance(attributes, dict) and name in attributes):
                self.note(getattr, value, name, path.attribute(name), counted=counted)
        self._class(cls, path, made=True)

    def _of_class(self, cls: Any) -> tuple[list[str], list[str]]:
        """The slots of a class's objects, and what these have of their class until they get one of their own."""
        found = self._of_classes.get(cls)
        if found is None:
            slots = [name for name in _slots(cls) if name in self.names or self.everything]
            bases: tuple[type, ...] = cls.__mro__
            members = [member for base in bases for member in vars(base).items()]
            kinds = (*PLAIN, float, list, dict)
            plain = [
                name
                for name, member in members
                if name in self.names and isinstance(member, kinds) and not name.startswith("__")
            ]
            found = self._of_classes[cls] = slots, plain
        return found


def _items(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container  # pyright: ignore[reportUnknownVariableType]


def _fixed(cls: Any) -> Collection[str]:
    """The attributes of its objects that stay what they are: the fields of a frozen dataclass."""
    parameters = getattr(cls, "__dataclass_params__", None)
    return cls.__dataclass_fields__ if parameters is not None and parameters.frozen else ()


def _slots(cls: Any) -> Iterator[str]:
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def _check_no_stream(value: Any, path: Path) -> None:
    """A stream is used up by being read, which no compiled function would do."""
    if hasattr(cast("Any", type(value)), "__next__") and not hasattr(value, "__dict__"):
        raise JitError(
            f"jit: {path} is a {type(value).__name__}, and a compiled function would take an item from it only once; "
            "take the item outside and pass it as an argument"
        )
