"""What the reference refuses: names without a docstring, an example or a first sentence, and links to nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference.names import Entry, Namespace

# A sentence starts with a capital, a digit or a name in backquotes, and ends in a full stop on its line.
_SENTENCE = re.compile(r"""["'(]?[A-Z0-9`\W].*[.:]$""")
_REFERENCE = re.compile(r"`(\w+(?:\.\w+)+)")
# A class that users never make themselves is shown by the example of the function that makes it.
_MADE_BY = re.compile(r"(?:Made by|What) `([\w.]+)`")


def gaps(namespaces: list[Namespace]) -> list[str]:
    """What is missing, a line each: where, which name, what."""
    root = namespaces[0]
    shown = {path for namespace in namespaces for path, entry in namespace.paths() if ">>>" in entry.doc}
    return [
        f"{_place(value, root)}: {path} {problem}"
        for namespace in namespaces
        for entry in namespace.entries
        for path, value, problem in _problems(entry, root, shown)
    ]


def _place(value: Any, root: Namespace) -> str:
    """`file:line` of a definition, from the package's folder."""
    try:
        file = Path(str(inspect.getsourcefile(inspect.unwrap(value))))
        return (
            f"{file.relative_to(Path(str(root.module.__file__)).parent).as_posix()}:{inspect.getsourcelines(value)[1]}"
        )
    except (TypeError, OSError, ValueError):
        return "?"


def _problems(entry: Entry, root: Namespace, shown: set[str]) -> Iterator[tuple[str, Any, str]]:
    if entry.is_callable:
        for problem in _text_problems(entry.doc, root):
            yield entry.path, entry.value, problem
        made_by = _MADE_BY.findall(entry.doc) if entry.is_class else []
        if entry.doc and not shown.intersection((entry.path, *made_by)):
            yield entry.path, entry.value, "has no example (>>>)"
    for member in entry.members:
        if member.op is None:
            for problem in _text_problems(member.doc, root):
                yield f"{entry.path}.{member.name}", member.function, problem


def _text_problems(doc: str, root: Namespace) -> Iterator[str]:
    if not doc:
        yield "has no docstring"
        return
    first = doc.splitlines()[0]
    if not _SENTENCE.match(first):
        yield f"does not begin with a sentence on one line: {first!r}"
    for reference in dict.fromkeys(_REFERENCE.findall(doc)):
        if reference.split(".")[0] == root.name and not _exists(root, reference):
            yield f"refers to {reference}, which does not exist"


def _exists(root: Namespace, reference: str) -> bool:
    value: Any = root.module
    for part in reference.split(".")[1:]:
        annotated = inspect.isclass(value) and any(part in inspect.get_annotations(base) for base in value.__mro__)
        if annotated:
            return True
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True
