"""`model.json` and the files of weights beside it: the layout that TensorFlow.js models have.

What the topology in it means is the business of `topology` and of `varigrad.layers`; this file reads and writes the
layout.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from varigrad.callers import warn_caller
from varigrad.dtypes import Array
from varigrad.io.compatibility import warn_of_problems
from varigrad.io.distinct import with_distinct_layers
from varigrad.io.encoding import prepare_weights, take_bytes
from varigrad.io.for_tensorflow_js import complete_from_weights, for_tensorflow_js
from varigrad.io.formats import ModelArtifacts, StoredWeights, WriteOptions, Written
from varigrad.io.locations import Folder, Location, ShardReader, UrlConverter, locate
from varigrad.io.matching import stored_names
from varigrad.io.replacing import replace_model
from varigrad.io.topology import check_kind, stored_model
from varigrad.io.training_json import (
    STATE_MANIFEST,
    losses_unknown_to_tensorflow_js,
    manifest_of_state,
    training_for_tensorflow_js,
    training_from_tensorflow_js,
)
from varigrad.io.weights import ModelFileError, WeightSpec, decode_specs, stored_size

__all__ = ["read_document", "read_manifest", "read_model", "read_weights", "write_model", "write_weights"]

_OWN_SHARD = re.compile(r"group\d+-shard\d+of\d+\.bin")
_NUMBERED_SHARD = re.compile(r"(.*?)(\d+)(?:of\d+)?(\.\w+)?")
_LONGEST_NAME = 255
_BY_PLACE = re.compile(r"(.*/)?vars/\d+")

# The manifest that TensorFlow.js reads.
_WEIGHTS = "weightsManifest"


# Writing


def write_model(path: Path, artifacts: ModelArtifacts, model: Any, options: WriteOptions) -> Written:
    """Writes the JSON file, with the manifest of the weights, and the weights in files beside it.

    The weights are written from where they are, a piece at a time: no second copy of the model is made.
    """
    shard_size = options.weight_shard_size_bytes
    if shard_size < 1:
        raise ValueError(f"save: weight_shard_size_bytes must be positive, got {shard_size}")
    if artifacts.topology:
        readable = artifacts._replace(topology=for_tensorflow_js(artifacts.topology, model))
        artifacts = with_distinct_layers(readable, model)
        compiled = artifacts.training_config
        warn_of_problems(
            readable.topology, model, [] if compiled is None else losses_unknown_to_tensorflow_js(compiled)
        )
    errors: dict[str, float] = {}
    weights = cast("Mapping[str, Array]", artifacts.weights or {})
    groups = {_WEIGHTS: prepare_weights("save", weights.items(), errors, wanted=options.quantize)}
    if artifacts.optimizer_weights is not None:
        state = prepare_weights("save", artifacts.optimizer_weights.items(), errors, group="optimizer")
        groups.setdefault(manifest_of_state(artifacts.training_config), []).extend(state)
    document = _document(artifacts, model)
    specs = {key: [weight.spec for weight in stored] for key, stored in groups.items()}
    sizes = {key: sum(weight.size for weight in stored) for key, stored in groups.items()}
    counts = {key: max(1, -(-size // shard_size)) for key, size in sizes.items()}
    names = [
        f"{_prefix(path)}group{group}-shard{i}of{count}.bin"
        for group, count in enumerate(counts.values(), 1)
        for i in range(1, count + 1)
    ]

    def render(names: Sequence[str]) -> bytes:
        following = iter(names)
        manifests = {key: [{"paths": list(islice(following, counts[key])), "weights": specs[key]}] for key in specs}
        return json.dumps({**document, **manifests}, allow_nan=False, separators=(",", ":")).encode()

    path.parent.mkdir(parents=True, exist_ok=True)
    contents = chain.from_iterable(take_bytes(stored, shard_size) for stored in groups.values())
    replace_model(path, names, contents, render, outdated=_own_shards(path))
    specs_size = sum(len(json.dumps(each)) for each in specs.values())
    return Written(len(json.dumps(artifacts.topology)), specs_size, sum(sizes.values()), errors)


def _document(artifacts: ModelArtifacts, model: Any) -> dict[str, Any]:
    """The JSON file without its manifest, with keys in TensorFlow.js's order."""
    from varigrad import __version__  # known once the package is imported

    document: dict[str, Any] = {"modelTopology": artifacts.topology} if artifacts.topology else {}
    document |= {"format": "layers-model", "generatedBy": f"VariGrad v{__version__}", "convertedBy": None}
    if artifacts.training_config is not None:
        document["trainingConfig"] = training_for_tensorflow_js(artifacts.training_config, model)
    if artifacts.metadata is not None:
        document["userDefinedMetadata"] = artifacts.metadata
    return document


def _own_shards(json_path: Path) -> list[str]:
    """The files of weights that a model written before has, as far as their names are those given here."""
    try:
        document = read_document(Folder(json_path))
        groups = [group for key in (_WEIGHTS, STATE_MANIFEST) for group in document.get(key, [])]
        paths = [path for group in groups for path in group["paths"]]
    except (OSError, ModelFileError, LookupError, TypeError):
        return []
    prefix = _prefix(json_path)
    texts = [path for path in paths if isinstance(path, str) and path.startswith(prefix)]
    return [path for path in texts if _OWN_SHARD.fullmatch(path.removeprefix(prefix))]


def _prefix(json_path: Path) -> str:
    """What the names of weight files begin with, so that models of other names beside this one keep theirs."""
    return "" if json_path.stem == "model" else f"{json_path.stem}."


# Reading


def read_model(
    path: str | os.PathLike[str], weight_url_converter: UrlConverter | None = None, timeout: float = 60.0
) -> ModelArtifacts:
    """What is in a layers-model file.

    Args:
        path: A folder, the path of the JSON file, or a URL.
        weight_url_converter: Tells where each file of weights is.
        timeout: How many seconds a web server may stay silent.

    Raises:
        FileNotFoundError: There is none.
        ModelFileError: It is damaged, or contradicts itself.
    """
    location = locate(path, weight_url_converter, timeout)
    document = read_document(location)
    check_kind(document)
    metadata = document.get("userDefinedMetadata")
    artifacts = ModelArtifacts(
        topology=document,
        training_config=training_from_tensorflow_js(document.get("trainingConfig")),
        metadata=cast("Mapping[str, Any]", metadata) if isinstance(metadata, Mapping) else None,
    )
    manifest = document.get(_WEIGHTS)
    if manifest is None:
        return artifacts
    specs, found = read_manifest(manifest, location)
    state = {spec.name: found.pop(spec.name) for spec in specs if spec.group == "optimizer"}
    if STATE_MANIFEST in document:
        state |= read_manifest(document[STATE_MANIFEST], location)[1]
    topology = complete_from_weights(document, {name: values.shape for name, values in found.items()})
    weights: StoredWeights = found
    if any(_BY_PLACE.fullmatch(name) for name in found if len(name) <= _LONGEST_NAME):
        weights = partial(_weights_by_place, found, document)
    return artifacts._replace(topology=topology, weights=weights, optimizer_weights=state or None)


def _weights_by_place(found: Mapping[str, Array], document: Mapping[str, Any], model: Any) -> dict[str, Array]:
    """The weights by their own names, from a file that has them by their places in Keras's archive.

    TensorFlow.js's converter writes such files of `.keras` files.
    """
    from varigrad.io.keras.layout import places  # hardly any file needs it

    config: Any = stored_model(document)["config"]
    inner: Mapping[str, Any] = cast("Mapping[str, Any]", config) if isinstance(config, Mapping) else {}
    stored = stored_names(model)
    names = {
        f"{place.path}/vars/{number}".lstrip("/"): stored[id(weight)]
        for place in places(model, inner)
        for number, weight in enumerate(place.weights)
    }
    # Generators of random numbers have a state there, and none here.
    given = {name: values for name, values in found.items() if "seed_generator/" not in name}
    return {names.get(name.replace("_layer_checkpoint_dependencies/", "layers/"), name): v for name, v in given.items()}


def read_document(location: Location) -> dict[str, Any]:
    """The JSON file's content.

    Raises:
        FileNotFoundError: There is none.
        ModelFileError: It is not JSON, or not an object.
    """
    try:
        document = json.loads(location.read_document().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{location.name} is not a JSON file: {error}") from None
    if not isinstance(document, dict):
        raise ModelFileError(f"{location.name} is not a model: it holds a {type(document).__name__}, not an object")
    return cast("dict[str, Any]", document)


def read_manifest(manifest: Any, location: Location) -> tuple[list[WeightSpec], dict[str, Array]]:
    """The weights that a manifest lists, from the files that it names, in its order.

    Raises:
        ModelFileError: A file is missing or outside of the folder, or sizes and specifications do not fit.
    """
    if not isinstance(manifest, list):
        raise ModelFileError(f"weightsManifest must be a list, got {manifest!r:.100}")
    all_specs: list[WeightSpec] = []
    weights: dict[str, Array] = {}
    for group in cast("list[Any]", manifest):
        paths, specs = _parse_group(group)
        with ShardReader(location.shards(paths, stored_size(specs))) as reader:
            read = decode_specs(specs, reader)
        twice = weights.keys() & read.keys()
        if twice:
            raise ModelFileError(f"weight {min(twice)!r} is listed twice")
        all_specs += specs
        weights.update(read)
    return all_specs, weights


def _parse_group(group: Any) -> tuple[list[str], list[WeightSpec]]:
    """The files and the weights of one group of a manifest."""
    fields = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
    paths, entries = fields.get("paths"), fields.get("weights")
    if not isinstance(paths, list) or not isinstance(entries, list):
        raise ModelFileError(f"a group of weightsManifest needs paths and weights, both lists, got {group!r:.100}")
    for path in cast("list[Any]", paths):
        if not isinstance(path, str):
            raise ModelFileError(f"weightsManifest has the path {path!r:.100}, which is no file name")
    names = cast("list[str]", paths)
    _warn_of_disorder(names)
    return names, [WeightSpec.parse(entry) for entry in cast("list[Any]", entries)]


def _warn_of_disorder(names: Sequence[str]) -> None:
    """Warns where files that are numbered come in another order than that of their numbers."""
    if len(names) < 2 or max(map(len, names)) > _LONGEST_NAME:
        return
    matches = [_NUMBERED_SHARD.fullmatch(name) for name in names]
    if None in matches:
        return
    numbers = [int(match[2]) for match in matches if match]
    if len({match[1] for match in matches if match}) == 1 and numbers != sorted(numbers):
        listed = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
        warn_caller(
            f"the manifest names its files of weights out of their numbers' order ({listed}), and is obeyed; if the "
            "model predicts nonsense, whoever wrote the manifest sorted them wrongly",
        )


# Weights alone


def read_weights(path: str | os.PathLike[str]) -> StoredWeights:
    """The weights in a layers-model file, whatever its topology."""
    weights = read_model(path).weights
    if weights is None:
        raise ModelFileError(f"{os.fspath(path)} has no weightsManifest")
    return weights


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Writes a JSON file with a manifest and no topology, and the weights beside it."""
    write_model(path, ModelArtifacts({}, weights), model, WriteOptions())
