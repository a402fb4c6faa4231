"""Keras files as files: written whole or not at all, damaged ones, and what is not the model."""

import io
import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

REFERENCE = Path(__file__).parent / "reference"
SUFFIXES = [".keras", ".h5"]
X = np.ones([2, 3], np.float32)


def dense(**options):
    return vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], name="d", **options)])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_save_that_fails_leaves_the_old_model_whole(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    old = dense()
    old.save(path)
    with pytest.raises(ValueError, match="gelu_new, which Keras has not"):
        dense(activation="gelu_new").save(path)
    assert vg.load_layers_model(path).predict(X).tolist() == old.predict(X).tolist()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_folders_are_made_and_missing_files_are_named(tmp_path, suffix):
    model = dense()
    result = model.save(tmp_path / "a" / "b" / f"x{suffix}")
    assert result.model_artifacts_info.weight_data_bytes == 8 * 4
    with pytest.raises(FileNotFoundError, match="nothing"):
        vg.load_layers_model(tmp_path / f"nothing{suffix}")


def test_metadata_is_kept_in_archives(tmp_path):
    model = dense()
    model.set_user_defined_metadata({"classes": ["a", "b"]})
    model.save(tmp_path / "x.keras")
    assert vg.load_layers_model(tmp_path / "x.keras").get_user_defined_metadata() == {"classes": ["a", "b"]}


def test_an_archive_holds_both_layers_of_a_bidirectional_one(tmp_path):
    rnn = vg.layers.lstm(units=2, name="rnn")
    model = vg.sequential(layers=[vg.layers.bidirectional(layer=rnn, input_shape=[3, 1], merge_mode="sum")])
    model.save(tmp_path / "x.keras")
    with zipfile.ZipFile(tmp_path / "x.keras") as saved:
        stored = json.loads(saved.read("config.json"))["config"]["layers"][-1]["config"]
    first, second = (stored[name]["config"] for name in ("layer", "backward_layer"))
    assert (first["name"], second["name"]) == ("rnn", "backward_rnn")
    assert (first["go_backwards"], second["go_backwards"]) == (False, True)
    assert "backward_layer" not in vg.load_layers_model(tmp_path / "x.keras").layers[-1].get_config()


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_floating_dtypes_keep_their_values(tmp_path, suffix, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    model = dense(dtype=dtype)
    model.save(tmp_path / f"x{suffix}")
    loaded = vg.load_layers_model(tmp_path / f"x{suffix}")
    assert [w.dtype for w in loaded.weights] == [dtype] * 2
    assert [w.tolist() for w in loaded.get_weights()] == [w.tolist() for w in model.get_weights()]


def test_lists_of_names_longer_than_an_attribute_are_cut(tmp_path):
    names = [f"layer_{'x' * 700}_{number}" for number in range(100)]
    layers = [vg.layers.dense(units=1, input_shape=[1], name=name) for name in names]
    model = vg.sequential(layers=layers)
    model.save(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as file:
        assert "layer_names1" in file["model_weights"].attrs
    loaded = vg.load_layers_model(tmp_path / "x.h5")
    assert [w.tolist() for w in loaded.get_weights()] == [w.tolist() for w in model.get_weights()]


# Damaged files


@pytest.mark.parametrize("file", ["lenet.keras", "text_classifier.h5"])
def test_a_file_that_was_cut_off_is_one_clear_error(tmp_path, file):
    data = (REFERENCE / file).read_bytes()
    path = tmp_path / file
    for part in range(40):
        path.write_bytes(data[: len(data) * part // 40])
        with pytest.raises(ModelFileError):
            vg.load_layers_model(path)


def archive(path, **members):
    with zipfile.ZipFile(REFERENCE / "lenet.keras") as old:
        known = {name: old.read(name) for name in old.namelist()}
    known |= {name.replace("_", "."): content for name, content in members.items()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in known.items():
            if content is not None:
                new.writestr(name, content)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"config_json": None}, "it has no config.json"),
        ({"config_json": b"{"}, "config.json is no JSON"),
        ({"config_json": b"[]"}, "config.json holds a list"),
        ({"config_json": b"[" * 100_000}, "is no JSON|nested"),
        ({"config_json": b'{"a":' * 3000 + b"1" + b"}" * 3000}, "is no JSON|nested too deeply|no model"),
        ({"metadata_json": b"\xff"}, "metadata.json is no JSON"),
        ({"config_json": b'{"class_name": "Sequential", "config": {"layers": 3}}'}, "needs a list of layers"),
    ],
)
def test_archives_without_what_they_need_are_errors(tmp_path, members, message):
    archive(tmp_path / "x.keras", **members)
    with pytest.raises(ModelFileError, match=message):
        vg.load_layers_model(tmp_path / "x.keras")


def test_an_archive_without_weights_is_an_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.keras", "w") as new:
        new.writestr("config.json", "{}")
    with pytest.raises(ModelFileError, match=r"it has no model.weights.h5"):
        vg.load_layers_model(tmp_path / "x.keras")


def test_a_missing_weight_and_one_too_many_are_named(tmp_path):
    with zipfile.ZipFile(REFERENCE / "lenet.keras") as old:
        weights = io.BytesIO(old.read("model.weights.h5"))
    with h5py.File(weights, "r+") as file:
        del file["layers/conv2d/vars/1"]
        file["layers/stranger/vars/0"] = np.zeros(3, np.float32)
    with zipfile.ZipFile(tmp_path / "x.keras", "w") as new, zipfile.ZipFile(REFERENCE / "lenet.keras") as old:
        for name in old.namelist():
            new.writestr(name, weights.getvalue() if name == "model.weights.h5" else old.read(name))
    with pytest.raises(ModelFileError, match=r"lacks 1 weights.*/bias.*layers/stranger/0"):
        vg.load_layers_model(tmp_path / "x.keras")
    with pytest.warns(UserWarning, match="lacks 1 weights"):
        vg.load_layers_model(tmp_path / "x.keras", strict=False)


def test_a_file_of_weights_alone_says_what_to_do(tmp_path):
    model = dense()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["layer_names"] = [b"d"]
        group = file.create_group("d")
        group.attrs["weight_names"] = [b"d/kernel:0", b"d/bias:0"]
        group["d/kernel:0"] = np.ones([3, 2], np.float32)
        group["d/bias:0"] = np.zeros(2, np.float32)
    with pytest.raises(ModelFileError, match=r"give it to model\.load_weights"):
        vg.load_layers_model(tmp_path / "x.h5")
    model.load_weights(tmp_path / "x.h5")
    assert model.predict(X).tolist() == [[3.0, 3.0]] * 2


def test_another_number_of_weights_in_a_layer_is_an_error(tmp_path):
    source = io.BytesIO((REFERENCE / "keras_2_frozen.h5").read_bytes())
    with h5py.File(source, "r+") as file:
        groups = file["model_weights"]
        name = next(name for name in groups if len(groups[name].attrs.get("weight_names", ())) == 2)
        groups[name].attrs["weight_names"] = groups[name].attrs["weight_names"][:1]
    (tmp_path / "x.h5").write_bytes(source.getvalue())
    with pytest.raises(ModelFileError, match="has 1 weights in the file, but 2 here"):
        vg.load_layers_model(tmp_path / "x.h5")


def test_a_model_that_claims_huge_weights_takes_no_memory(tmp_path):
    with zipfile.ZipFile(REFERENCE / "lenet.keras") as old:
        config = json.loads(old.read("config.json"))
    config["config"]["layers"][-1]["config"]["units"] = 10**9
    archive(tmp_path / "x.keras", config_json=json.dumps(config).encode())
    with pytest.raises(ModelFileError):
        vg.load_layers_model(tmp_path / "x.keras")
