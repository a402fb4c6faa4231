"""What is public: namespaces, their names, and the members of classes, found by walking a package.

A module's public names are its `__all__`; without one, what type checkers take for public: names it defines, stars, and
imports of the form `import x as x` and `from m import x as y`, save those with a leading underscore. A public name that
is a module of the package is a namespace of its own.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar


@dataclass
class Member:
    """A method or property of a public class; `op` is the function that it is, where it is one from elsewhere."""

    name: str
    value: Any
    doc: str
    op: Any = None

    @property
    def function(self) -> Any:
        """The plain function in it."""
        value = self.value
        if isinstance(value, (classmethod, staticmethod)):
            return value.__func__
        if isinstance(value, functools.cached_property):
            return value.func
        return value.fget if isinstance(value, property) else value

    @property
    def is_property(self) -> bool:
        """Whether it is read without a call."""
        return isinstance(self.value, (property, functools.cached_property))


@dataclass
class Entry:
    """A public name, with the other names that the same thing has in its namespace."""

    namespace: str
    names: list[str]
    value: Any
    doc: str
    members: list[Member] = field(default_factory=list[Member])

    @property
    def name(self) -> str:
        """The name that it is described under."""
        return self.names[0]

    @property
    def path(self) -> str:
        """The name as users write it, `vg.train.adam`."""
        return f"{self.namespace}.{self.name}"

    @property
    def is_class(self) -> bool:
        """Whether it is a class, or a function that only makes objects of one."""
        return inspect.isclass(self.value)

    @property
    def is_callable(self) -> bool:
        """Whether it is a function or a class, as opposed to a constant or the name of a type."""
        return inspect.isroutine(self.value) or self.is_class

    @property
    def module(self) -> str:
        """The module that defines it, if it says so."""
        return getattr(self.value, "__module__", None) or ""


@dataclass
class Namespace:
    """A module whose names are public. `elsewhere` holds names that a more specific namespace describes."""

    name: str
    module: ModuleType
    entries: list[Entry] = field(default_factory=list[Entry])
    elsewhere: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def paths(self) -> Iterator[tuple[str, Entry]]:
        """Every name in it as users write it, with what it names."""
        for entry in self.entries:
            yield from ((f"{self.name}.{name}", entry) for name in entry.names)
        yield from ((f"{self.name}.{name}", entry) for name, entry in self.elsewhere.items())


def walk(package: ModuleType, name: str) -> list[Namespace]:
    """The package, called `name`, and the namespaces in it, each with its entries in alphabetical order."""
    namespaces = list(_namespaces(package, name, package.__name__, set()))
    found: dict[Hashable, list[tuple[Namespace, list[str], Any]]] = {}
    for namespace in namespaces:
        for key, (names, value) in _things(namespace.module).items():
            found.setdefault(key, []).append((namespace, names, value))
    for places in found.values():
        home, names, value = max(places, key=lambda place: place[0].name.count("."))
        entry = _entry(home.name, names, value, found, package.__name__)
        home.entries.append(entry)
        for namespace, others, _ in places:
            if namespace is not home:
                namespace.elsewhere.update(dict.fromkeys(others, entry))
    for namespace in namespaces:
        namespace.entries.sort(key=lambda entry: (entry.name.lower(), entry.name))
    return [namespace for namespace in namespaces if namespace.entries or namespace.elsewhere]


def public_names(module: ModuleType) -> list[str]:
    """The public names of a module."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    return [name for name in dict.fromkeys(_names_in(tree.body)) if not name.startswith("_")]


def _names_in(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ast.ImportFrom(module="__future__"):
                pass
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")]):
                yield from public_names(import_module(module))
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname for alias in names if alias.asname)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield statement.name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If():
                yield from _names_in([*statement.body, *statement.orelse])
            case _:
                pass


def _namespaces(module: ModuleType, name: str, package: str, seen: set[str]) -> Iterator[Namespace]:
    seen.add(module.__name__)
    yield Namespace(name, module)
    for child in sorted(public_names(module)):
        value = getattr(module, child)
        if inspect.ismodule(value) and value.__name__.startswith(package + ".") and value.__name__ not in seen:
            yield from _namespaces(value, f"{name}.{child}", package, seen)


def _things(module: ModuleType) -> dict[Hashable, tuple[list[str], Any]]:
    """What a module makes public, each thing once with all its names there."""
    things: dict[Hashable, tuple[list[str], Any]] = {}
    for name in public_names(module):
        value = getattr(module, name)
        if not inspect.ismodule(value) and not isinstance(value, (TypeVar, ParamSpec)):
            thing = _made_by(value)
            key = id(thing) if inspect.isroutine(thing) or inspect.isclass(thing) else (module.__name__, name)
            things.setdefault(key, ([], thing))[0].append(name)
    return things


def _made_by(value: Any) -> Any:
    """The class behind a factory that wraps it, or the value itself."""
    made = inspect.unwrap(value) if inspect.isfunction(value) else value
    return made if inspect.isclass(made) else value


def _entry(namespace: str, names: list[str], value: Any, public: Collection[Hashable], package: str) -> Entry:
    doc = own_doc(value) if inspect.isroutine(value) or inspect.isclass(value) else ""
    mirrored = [snake_case(name.split(".")[-1]) for name in mirrored_names(doc)]
    own = getattr(value, "__name__", "")
    ordered = sorted(names, key=lambda name: (name not in mirrored, name != own, name.lower()))
    members = _members(value, public, package) if inspect.isclass(value) else []
    return Entry(namespace, ordered, value, doc, members)


def _members(cls: type, public: Collection[Hashable], package: str) -> list[Member]:
    """The methods and properties that a class has by itself, or from bases that are not public."""
    kinds = (FunctionType, classmethod, staticmethod, property, functools.cached_property)
    members: dict[str, Member] = {}
    elsewhere = {above for base in cls.__mro__[1:] if id(base) in public for above in base.__mro__}
    for base in cls.__mro__:
        if base in elsewhere or not _within(base.__module__, package):
            continue
        for name, value in vars(base).items():
            if name in members or not isinstance(value, kinds):
                continue
            op = value if isinstance(value, FunctionType) and "." not in value.__qualname__ else None
            doc = next(filter(None, (_doc_in(above, name, package) for above in cls.__mro__)), "")
            inherited = not _doc_in(base, name, package) and doc
            if (not name.startswith("_") and not inherited) or (op and name.startswith("__")):
                members[name] = Member(name, value, doc, op)
    return sorted(members.values(), key=lambda member: member.name)


def _doc_in(cls: type, name: str, package: str) -> str:
    member = vars(cls).get(name) if _within(cls.__module__, package) else None
    return inspect.cleandoc(member.__doc__) if member is not None and member.__doc__ else ""


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def own_doc(value: Any) -> str:
    """The docstring that somebody wrote for a function or class; not one inherited, nor one made by `dataclass`."""
    doc = (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""
    made = inspect.isclass(value) and doc.startswith(f"{value.__name__}(")
    return "" if made else inspect.cleandoc(doc)


def mirrored_names(doc: str, owner: str = "") -> list[str]:
    """The TensorFlow.js names in "Mirrors `tf.add`." and the like; `owner` is what a method's class mirrors."""
    names: list[str] = []
    for clause in re.findall(r"Mirrors\s((?:[^`.,;:(]|`[^`]*`|,(?=\s`tf\.))*)", doc):
        clause = re.sub(r"`(\w+)`\s+of\s+`(tf\.[\w.]+)`", r"`\2.\1`", clause)
        names += re.findall(r"`(tf\.[\w.]+)`", clause)
        if owner and not names:
            names += [f"{owner}.{name}" for name in re.findall(r"`(\w+)`", clause)]
    return names


def snake_case(name: str) -> str:
    """`fooBar` as `foo_bar`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
