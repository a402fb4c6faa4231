"""`.keras`, the archives of Keras 3: `config.json`, `metadata.json` and `model.weights.h5` in a zip file."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from varigrad.dtypes import Array
from varigrad.io.formats import ModelArtifacts, StoredWeights, WriteOptions, Written
from varigrad.io.keras.compiling import from_compile_config, to_compile_config
from varigrad.io.keras.config_3 import KERAS_VERSION, to_keras_3
from varigrad.io.keras.hdf5 import File
from varigrad.io.keras.meanings import as_meant_by_keras
from varigrad.io.keras.weights import read_tree, tree_bytes
from varigrad.io.keras.words import fields
from varigrad.io.replacing import write_atomically
from varigrad.io.weights import ModelFileError

__all__ = ["read_model", "read_weights", "write_model", "write_weights"]

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
# Keras writes members as they are; packed again by another program, weights hardly shrink and JSON does not to 1/100.
_MOST_EXPANSION, _ALWAYS_ALLOWED = 100, 1 << 20
# Where what `set_user_defined_metadata` stored is, in metadata.json; Keras leaves it aside.
_USER = "user_defined_metadata"


def read_model(path: Path) -> ModelArtifacts:
    """The model in an archive.

    Raises:
        ModelFileError: It is damaged, or made to fill memory.
    """
    members = _read_members(path)
    config = _json(members, _CONFIG)
    metadata = _json(members, _METADATA) if _METADATA in members else {}
    root = File(members[_WEIGHTS]).root
    inner = fields(config.get("config"))
    training, state = from_compile_config(config.get("compile_config"), root)
    version = metadata.get("keras_version")
    user = metadata.get(_USER)

    def stored_weights(wanted: Any) -> Mapping[str, Array]:
        return read_tree(root, wanted, inner)

    return ModelArtifacts(
        topology=as_meant_by_keras(config, version if isinstance(version, str) else "3"),
        weights=stored_weights,
        training_config=training,
        optimizer_weights=state,
        metadata=cast("Mapping[str, Any]", user) if isinstance(user, dict) else None,
    )


def read_weights(path: Path) -> StoredWeights:
    """The weights in an archive, as a function of the model that wants them."""
    return cast("StoredWeights", read_model(path).weights)


def _read_members(path: Path) -> dict[str, bytes]:
    """The members of an archive by name, whose sizes are checked before memory is taken."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no model at {str(path)!r}")
    members: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in (_CONFIG, _METADATA, _WEIGHTS):
                if name in archive.namelist():
                    members[name] = _read_member(archive, archive.getinfo(name), path.stat().st_size)
                elif name != _METADATA:
                    raise ModelFileError(f"{path} is no Keras archive: it has no {name}")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, IndexError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is no Keras archive, or damaged: {error}") from None
    except Exception as error:
        if type(error).__module__ not in ("zlib", "struct", "lzma"):
            raise
        raise ModelFileError(f"{path} is damaged: {error}") from None
    return members


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, size: int) -> bytes:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        raise ModelFileError(f"{member.filename} is compressed or encrypted in a way that Keras never does")
    if member.compress_size > size or member.file_size > max(_ALWAYS_ALLOWED, _MOST_EXPANSION * member.compress_size):
        raise ModelFileError(
            f"{member.filename} claims {member.file_size:,} bytes but holds {member.compress_size:,}; refused"
        )
    with archive.open(member) as stream:
        data = stream.read(member.file_size)
    if len(data) != member.file_size:
        raise ModelFileError(f"{member.filename} is shorter than it claims")
    return data


def _json(members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        value = json.loads(members[name].decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{name} holds a {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value)


# Writing


def write_model(path: Path, artifacts: ModelArtifacts, model: Any, options: WriteOptions) -> Written:
    """Writes the model as an archive that Keras 3 opens."""
    from datetime import datetime  # not needed to read

    config = to_keras_3(artifacts.topology, model)
    compiled, fill_optimizer = to_compile_config(artifacts, model)
    if compiled is not None:
        config["compile_config"] = compiled
    weights = cast("Mapping[str, Array]", artifacts.weights or {})
    metadata: dict[str, Any] = {
        "keras_version": KERAS_VERSION,
        "date_saved": datetime.now().strftime("%Y-%m-%d@%H:%M:%S"),
    }
    if artifacts.metadata is not None:
        metadata[_USER] = artifacts.metadata
    rendered = json.dumps(config, allow_nan=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(_METADATA, json.dumps(metadata, allow_nan=False))
        archive.writestr(_CONFIG, rendered)
        archive.writestr(_WEIGHTS, tree_bytes(model, weights, fill_optimizer))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [buffer.getbuffer()])
    return Written(len(rendered), 0, sum(values.nbytes for values in weights.values()))


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Refuses: an archive holds a whole model.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"save_weights: {path.name} is an archive of a whole model; use model.save, or .weights.h5")
