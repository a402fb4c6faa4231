"""Which weight in a file belongs to which weight of a model, by their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

__all__ = ["match_names", "stored_names"]

# A default name, such as `dense_Dense12`, and the number in it.
_DEFAULT = re.compile(r"(_[A-Z][A-Za-z0-9]*?)(\d+)(?=/)")
_COUNTER = re.compile(r"_\d+(?=/|$)")

# Weights that Keras 3 calls otherwise.
_KERAS_3 = {"depthwise_kernel": "kernel"}


def stored_names(model: Any) -> dict[int, str]:
    """The name that files have for each weight of a model, by the `id` of the weight.

    It is the weight's own, `original_name`; where two have one, as layers of one name in two models inside have, the
    names of the models that they are in stand in front.
    """
    found = {id(weight): (weight.original_name, models) for weight, models in _weights_in(model, ())}
    counts = Counter(name for name, _ in found.values())
    return {key: "/".join([*models, name]) if counts[name] > 1 else name for key, (name, models) in found.items()}


def _weights_in(layer: Any, models: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Each weight with the names of the models that it is in, without the outermost."""
    inner = layer._sublayers()
    theirs = {id(weight) for part in inner for weight in part.weights}
    for weight in layer.weights:
        if id(weight) not in theirs:
            yield weight, models
    for part in inner:
        yield from _weights_in(part, (*models, part.name) if hasattr(part, "layers") else models)


def match_names(
    wanted: Sequence[str], found: Iterable[str], prefixes: Sequence[str] = (), own: Collection[str] = ()
) -> dict[str, str]:
    """Maps names of a model's weights to the names in a file that mean them, as far as there are any.

    Equal names match first. For what is left, files have names in several dialects, tried in this order: with the name
    of a recurrent cell before the last part (TensorFlow 2.2 and later), with the names of models in front (Keras 3),
    and with a counter behind the layer's or the weight's name (`conv2d_10_1/kernel` for `conv2d_10/kernel`). A dialect
    is used only where it leaves no doubt.

    Args:
        wanted: The names of the model's weights.
        found: The names in the file.
        prefixes: Names of models that may stand in front: the model's own, and those of models inside it.
        own: Wanted names in which the number of a default name may be another in the file, as those of layers inside a
            layer of the user's own, which are numbered anew when it is made again.

    >>> match_names(["a/kernel", "b/bias"], ["a/kernel", "model/b/bias", "c/kernel"], ["model"])
    {'a/kernel': 'a/kernel', 'b/bias': 'model/b/bias'}
    """
    found = list(found)
    names = set(found)
    matched = {name: name for name in wanted if name in names}
    dialects: list[Callable[[str], str]] = [
        _without_cell,
        lambda name: _without_prefix(name, prefixes[:1]),
        lambda name: _without_cell(_without_prefix(name, prefixes[:1])),
        lambda name: _without_prefix(name, prefixes),
        lambda name: _without_cell(_without_prefix(name, prefixes)),
    ]
    for read_wanted in (_as_it_is, _in_keras_3):
        for dialect in dialects:
            _match(wanted, found, matched, dialect, read_wanted)
    for strip in (_without_layer_counter, _without_counters):
        _match(wanted, found, matched, lambda name, strip=strip: strip(_without_prefix(name, prefixes)), lambda n: n)
        _match(wanted, found, matched, lambda name, strip=strip: strip(_without_prefix(name, prefixes)), strip)
    _match_in_turn([name for name in wanted if name in own], found, matched)
    return matched


def _match(
    wanted: Sequence[str],
    found: Sequence[str],
    matched: dict[str, str],
    read_found: Callable[[str], str],
    read_wanted: Callable[[str], str],
) -> None:
    """Adds pairs that are alike once read, where each side has just one such name."""
    used = set(matched.values())
    candidates: dict[str, list[str]] = {}
    for name in found:
        if name not in used:
            candidates.setdefault(read_found(name), []).append(name)
    seekers: dict[str, list[str]] = {}
    for name in wanted:
        if name not in matched:
            seekers.setdefault(read_wanted(name), []).append(name)
    for read, names in seekers.items():
        if len(names) == len(candidates.get(read, ())) == 1:
            matched[names[0]] = candidates[read][0]


def _match_in_turn(wanted: Sequence[str], found: Sequence[str], matched: dict[str, str]) -> None:
    """Adds pairs of names that differ in the numbers of default names alone, lowest first, if all have a partner."""
    used = set(matched.values())
    groups: tuple[dict[str, list[str]], dict[str, list[str]]] = {}, {}
    for group, names in zip(groups, ((n for n in wanted if n not in matched), (n for n in found if n not in used))):
        for name in names:
            if _DEFAULT.search(name):
                group.setdefault(_DEFAULT.sub(r"\1", name), []).append(name)
    seekers, candidates = groups
    if {key: len(names) for key, names in seekers.items()} == {key: len(names) for key, names in candidates.items()}:
        for key, names in seekers.items():
            matched.update(zip(sorted(names, key=_numbers), sorted(candidates[key], key=_numbers)))


def _numbers(name: str) -> list[int]:
    return [int(number) for _, number in _DEFAULT.findall(name)]


def _as_it_is(name: str) -> str:
    return name


def _in_keras_3(name: str) -> str:
    layer, slash, weight = name.rpartition("/")
    return layer + slash + _KERAS_3.get(weight, weight)


def _without_cell(name: str) -> str:
    parts = name.split("/")
    return "/".join([*parts[:-2], parts[-1]]) if len(parts) > 2 else name


def _without_prefix(name: str, prefixes: Sequence[str]) -> str:
    """The name without names of models in front, however many."""
    parts = name.split("/")
    while len(parts) > 2 and parts[0] in prefixes:
        parts = parts[1:]
    return "/".join(parts)


def _without_layer_counter(name: str) -> str:
    """The name without the counter of its first part."""
    return _COUNTER.sub("", name, count=1) if _COUNTER.search(name.split("/")[0]) else name


def _without_counters(name: str) -> str:
    return _COUNTER.sub("", name)
