"""`.weights.h5`, the weights alone, and the same inside `.keras` archives: a tree of groups with `vars/0`, `vars/1`…"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from varigrad.dtypes import Array
from varigrad.io.formats import StoredWeights
from varigrad.io.keras.h5 import layered_weights
from varigrad.io.keras.hdf5 import Dataset, File, Group
from varigrad.io.keras.layout import places
from varigrad.io.keras.values import hdf5_bytes, read_values, writable
from varigrad.io.matching import stored_names
from varigrad.io.replacing import write_atomically
from varigrad.io.weights import ModelFileError

__all__ = ["read_tree", "read_weights", "tree_bytes", "write_weights"]

# Members that hold no weights of the model: random seeds, the optimizer's state and what metrics have counted.
_OTHERS = ("seed_generator", "optimizer", "metrics", "_compile_metrics", "_compile_loss")


def read_weights(path: Path) -> StoredWeights:
    """The weights in a file, as a function of the model that wants them.

    Raises:
        ModelFileError: The file is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there are no weights at {str(path)!r}")
    root = File(path.read_bytes()).root
    if "layer_names" in root.attributes or "model_weights" in root:
        return layered_weights(root)  # the older layout under the newer name
    return lambda model: read_tree(root, model)


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Writes the weights of a model, which Keras loads into an equal one with `model.load_weights`."""
    write_atomically(path, [tree_bytes(model, weights)])


def read_tree(root: Group, model: Any, config: Mapping[str, Any] | None = None) -> dict[str, Array]:
    """The weights by the names that they have in the model; what has no place there, by its own place.

    Args:
        root: The outermost group.
        model: The model, built.
        config: Its stored form in the file, which says in which order its layers are counted.
    """
    found: dict[str, Array] = {}
    used: set[str] = set()
    known = places(model, config)
    names = stored_names(model)
    for place in known:
        group = _variables(root, place.path)
        for number, weight in enumerate(place.weights):
            if group is not None and str(number) in group:
                found[names[id(weight)]] = read_values(group.dataset(str(number)))
                used.add(f"{place.path}/{number}")
    for path, dataset in _all_variables(root, ""):
        if path not in used:
            found[path.lstrip("/")] = read_values(dataset)
    return found


def _variables(root: Group, path: str) -> Group | None:
    group = root
    for part in [*filter(None, path.split("/")), "vars"]:
        if part not in group:
            return None
        group = group.group(part)
    return group


def _all_variables(group: Group, path: str, depth: int = 0) -> Iterator[tuple[str, Dataset]]:
    """Every variable of the model in the tree, with its place."""
    if depth > 100:
        raise ModelFileError("the file of weights is nested too deeply")
    for name in group:
        if name in _OTHERS:
            continue
        if name == "vars":
            variables = group.group(name)
            for number in variables:
                yield f"{path}/{number}", variables.dataset(number)
        elif not group.is_dataset(name):
            yield from _all_variables(group.group(name), f"{path}/{name}".lstrip("/"), depth + 1)


# Writing


def tree_bytes(model: Any, weights: Mapping[str, Array], more: Callable[[Any], None] | None = None) -> bytes:
    """The file of a model's weights.

    Args:
        model: The model.
        weights: The values by the names that they have in the model; those that are missing are left out.
        more: Writes more into the open file.
    """

    names = stored_names(model)

    def fill(file: Any) -> None:
        for place in places(model):
            group = file.require_group(f"{place.path}/vars".lstrip("/"))
            group.attrs["name"] = place.layer.name
            for number, weight in enumerate(place.weights):
                name = names[id(weight)]
                if name in weights:
                    group.create_dataset(str(number), data=writable(weights[name]))
        if more is not None:
            more(file)

    return hdf5_bytes(fill)
