"""JavaScript's regular expressions, which TensorFlow.js replaces text by, with Python's.

The two agree but for a few spellings, which are rewritten here.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["expand", "to_python"]

# The parts of a pattern that may mean something else in Python; classes are taken whole.
_PARTS = re.compile(r"\\k<\w+>|\\[\s\S]|\(\?<(?![=!])|\[(?:\\[\s\S]|[^\]\\])*\]|\$|\.")
_CLASS_PARTS = re.compile(r"\\[\s\S]|[\[&|~]")
_REFERENCE = re.compile(r"\$(?:[$&`']|\d\d?|<[^>]*>)")

_SPACES = r"\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"  # beyond ASCII too
_SPELLINGS = {
    "$": r"\Z",  # not before a last line break
    ".": r"[^\n\r\u2028\u2029]",
    "(?<": "(?P<",
    "[]": "(?!)",
    "[^]": r"[\s\S]",
    r"\s": f"[{_SPACES}]",
    r"\S": f"[^{_SPACES}]",
}


@lru_cache(maxsize=256)
def to_python(pattern: str) -> re.Pattern[str]:
    """The compiled Python expression for a JavaScript one; `\\d`, `\\w` and `\\b` know ASCII only, as there.

    Raises:
        ValueError: It is no regular expression.
    """
    try:
        return re.compile(_PARTS.sub(_respell, pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def _respell(part: re.Match[str]) -> str:
    text = part[0]
    if text in _SPELLINGS:
        return _SPELLINGS[text]
    if text.startswith(r"\k<"):
        return f"(?P={text[3:-1]})"
    if text.startswith("["):
        head = 2 if text.startswith("[^") else 1
        return text[:head] + _CLASS_PARTS.sub(_respell_in_class, text[head:-1]) + "]"
    return text


def _respell_in_class(part: re.Match[str]) -> str:
    text = part[0]
    if text == r"\s":
        return _SPACES
    return text if text.startswith("\\") else "\\" + text


def expand(rewrite: str, match: re.Match[str]) -> str:
    """What a match is replaced by: in `rewrite`, `$1` to `$99` and `$<name>` stand for groups, `$&` for the match,
    `` $` `` and `$'` for what is before and after it, and `$$` for a dollar."""
    if "$" not in rewrite:
        return rewrite
    return _REFERENCE.sub(lambda reference: _referred(reference[0], match), rewrite)


def _referred(reference: str, match: re.Match[str]) -> str:
    kind = reference[1:]
    fixed = {"$": "$", "&": match[0], "`": match.string[: match.start()], "'": match.string[match.end() :]}
    if kind in fixed:
        return fixed[kind]
    if kind.startswith("<"):
        if not match.re.groupindex:
            return reference
        return (match[kind[1:-1]] or "") if kind[1:-1] in match.re.groupindex else ""
    for digits in (kind, kind[:1]):
        if 1 <= int(digits) <= match.re.groups:
            return (match[int(digits)] or "") + kind[len(digits) :]
    return reference
