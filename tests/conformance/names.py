"""The one naming rule: `tf.fooBar` is `vg.foo_bar`, and back."""

from __future__ import annotations

import re

# A word ends before a capital; digits stay with the word before them (`conv2dTranspose`, `as1D`), and capitals in a
# row are one word (`basicLSTMCell`).
_WORD_END = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NEXT_WORD = re.compile(r"(?<=[a-zA-Z0-9])_([a-z0-9])")


def to_snake(name: str) -> str:
    """The Python name of a function, method, property or option; classes keep theirs."""
    if name[:1].isupper():
        return name
    return _WORD_END.sub("_", name.replace("NaN", "Nan")).lower()


def to_camel(name: str) -> str:
    """The JavaScript name of a field."""
    return _NEXT_WORD.sub(lambda match: match[1].upper(), name)
