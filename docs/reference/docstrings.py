"""Docstrings in parts: text, lists of arguments, results and errors, and examples."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes):$")
_ITEM = re.compile(r"(\*{0,2}\w[\w.]*(?:, \*{0,2}\w[\w.]*)*): +(.*)")


@dataclass
class Text:
    """Paragraphs, lists and formulas, in Markdown."""

    markdown: str


@dataclass
class Section:
    """`Args:`, `Returns:` or `Raises:`, with names and what is said of each; a text alone has no name."""

    title: str
    items: list[tuple[str, str]]


@dataclass
class Example:
    """A doctest."""

    code: str


Part = Text | Section | Example


def parts(doc: str) -> list[Part]:
    """The parts of a docstring, in order."""
    found: list[Part] = []
    lines = doc.splitlines()
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        if not line.strip():
            at += 1
        elif section := _SECTION.match(line):
            at += 1
            while at < len(lines) and (not lines[at].strip() or lines[at].startswith(" ")):
                at += 1
            found.append(Section(section[1], _items(lines[start + 1 : at])))
        elif line.lstrip().startswith(">>>"):
            while at < len(lines) and lines[at].strip():
                at += 1
            found.append(_example(lines[start:at], found))
        else:
            while at < len(lines) and not _SECTION.match(lines[at]) and not lines[at].lstrip().startswith(">>>"):
                at += 1
            found.append(Text("\n".join(lines[start:at]).strip("\n")))
    return found


def first_sentence(doc: str) -> str:
    """What summarises a docstring: its first sentence, without what it mirrors."""
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return re.split(r"(?<=[^A-Z.]\.)\s(?=[A-Z`])", paragraph)[0].rstrip(":")


def _example(lines: list[str], found: list[Part]) -> Example:
    """An example; one that follows another directly continues it."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    code = "\n".join(line[indent:] for line in lines)
    if found and isinstance(found[-1], Example):
        code = f"{found.pop().code}\n\n{code}"  # pyright: ignore[reportAttributeAccessIssue]
    return Example(code)


def _items(lines: list[str]) -> list[tuple[str, str]]:
    """`name: text`, each with its lines below that are indented more."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    items: list[tuple[str, list[str]]] = []
    for line in (line[indent:] for line in lines):
        item = _ITEM.match(line)
        if item:
            items.append((item[1], [item[2]]))
        elif line.strip() and not line.startswith(" ") and not items:
            items.append(("", [line]))
        elif items:
            items[-1][1].append(line.strip())
    return [(name, "\n".join(text).strip()) for name, text in items]
