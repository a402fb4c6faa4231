"""`model.json` and its shards: what is written, where it is looked for, and strangers' files."""

import json
import os
import resource
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.io.weights import ModelFileError

REFERENCE = Path(__file__).parent / "reference"
MODELS = Path(__file__).parent / "models"


def small_model(**options):
    return vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], **options)])


def document_of(folder):
    return json.loads((Path(folder) / "model.json").read_text())


def rewrite(folder, change):
    document = document_of(folder)
    change(document)
    (Path(folder) / "model.json").write_text(json.dumps(document))


@pytest.fixture
def saved(tmp_path):
    small_model(name="d").save(tmp_path)
    return tmp_path


def test_the_file_has_the_fields_and_the_layout_of_tensorflow_js(tmp_path):
    model = small_model()
    info = model.save(tmp_path).model_artifacts_info
    document = document_of(tmp_path)
    # The keys of tf.io.getModelJSONForModelArtifacts.
    assert list(document) == ["modelTopology", "format", "generatedBy", "convertedBy", "weightsManifest"]
    assert document["format"] == "layers-model"
    assert document["generatedBy"] == f"VariGrad v{vg.__version__}"
    assert document["convertedBy"] is None
    assert document["weightsManifest"] == [
        {
            "paths": ["group1-shard1of1.bin"],
            "weights": [
                {"name": f"{model.layers[0].name}/kernel", "shape": [3, 2], "dtype": "float32"},
                {"name": f"{model.layers[0].name}/bias", "shape": [2], "dtype": "float32"},
            ],
        }
    ]
    assert info.weight_data_bytes == os.path.getsize(tmp_path / "group1-shard1of1.bin") == 8 * 4


@pytest.mark.parametrize("size", [1, 5, 16, 31, 32, 33])
def test_weights_are_cut_into_shards_and_read_back(tmp_path, size):
    model = small_model()
    model.save(tmp_path, weight_shard_size_bytes=size)
    (group,) = document_of(tmp_path)["weightsManifest"]
    count = -(-32 // size)
    assert group["paths"] == [f"group1-shard{i}of{count}.bin" for i in range(1, count + 1)]
    assert max(os.path.getsize(tmp_path / path) for path in group["paths"]) <= size
    loaded = vg.load_layers_model(tmp_path)
    for ours, theirs in zip(loaded.get_weights(), model.get_weights(), strict=True):
        assert ours.tolist() == theirs.tolist()


def test_a_shard_size_of_zero_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="weight_shard_size_bytes must be positive"):
        small_model().save(tmp_path, weight_shard_size_bytes=0)


@pytest.mark.parametrize("form", ["folder", "string", "url", "json", "json url", "relative"])
def test_a_path_is_a_folder_a_file_url_or_the_json_file(tmp_path, monkeypatch, form):
    folder = tmp_path / "some model é"
    path = {
        "folder": folder,
        "string": str(folder),
        "url": folder.as_uri(),
        "json": folder / "other.json",
        "json url": (folder / "other.json").as_uri(),
        "relative": "some model é",
    }[form]
    monkeypatch.chdir(tmp_path)
    model = small_model()
    model.save(path)
    assert (folder / ("other.json" if "json" in form else "model.json")).is_file()
    assert vg.load_layers_model(path).predict(np.ones([1, 3])).tolist() == model.predict(np.ones([1, 3])).tolist()


@pytest.mark.parametrize("path", ["model.json", "./model.json", ".", ""])
def test_a_model_is_found_from_its_own_folder(saved, monkeypatch, path):
    monkeypatch.chdir(saved)
    if path:
        assert vg.load_layers_model(path).count_params() == 8
    else:
        with pytest.raises(ValueError, match=r"'\.' is the current folder"):
            vg.load_layers_model(path)


def test_other_urls_are_refused():
    for url in ("indexeddb://model", "localstorage://model"):
        with pytest.raises(ValueError, match="in files or on web servers, not in"):
            vg.load_layers_model(url)
        with pytest.raises(ValueError, match="in files or on web servers, not in"):
            small_model().save(url)
    with pytest.raises(ValueError, match="written to files, not to web servers"):
        small_model().save("https://example.org/model.json")


def test_a_missing_model_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.json is missing"):
        vg.load_layers_model(tmp_path)


# Models that TensorFlow.js 4.22 wrote, by tests/client/make_models.js.
@pytest.mark.parametrize("name", sorted(os.listdir(REFERENCE)))
def test_models_of_tensorflow_js_load_and_predict_the_same(name, tmp_path):
    expected = json.loads((REFERENCE / name / "expected.json").read_text())
    model = vg.load_layers_model(REFERENCE / name)
    np.testing.assert_allclose(model.predict(expected["x"]).numpy(), expected["prediction"], rtol=1e-5, atol=1e-6)
    assert model.name == name
    assert [w.original_name for w in model.trainable_weights] == expected["trainable"]
    assert sorted(w.original_name for w in model.weights) == sorted(expected["weights"])
    assert list(model.outputs[0].shape) == expected["outputShape"]
    # And they are written back as they were.
    model.save(tmp_path)
    theirs, ours = document_of(REFERENCE / name), document_of(tmp_path)
    assert ours["modelTopology"] == theirs["modelTopology"]
    assert ours.get("userDefinedMetadata") == theirs.get("userDefinedMetadata")
    specs = {spec["name"]: spec for spec in theirs["weightsManifest"][0]["weights"]}
    assert {spec["name"]: spec for spec in ours["weightsManifest"][0]["weights"]} == specs


@pytest.mark.parametrize("name", ["abalone", "embedding-gru"])
def test_published_models_predict_as_in_tensorflow_js(name, tmp_path):
    expected = json.loads((MODELS / name / "expected.json").read_text())
    model = vg.load_layers_model(MODELS / name)
    np.testing.assert_allclose(model.predict(expected["x"]).numpy(), expected["prediction"], rtol=1e-5, atol=1e-6)
    model.save(tmp_path)
    again = vg.load_layers_model(tmp_path)
    assert again.predict(expected["x"]).tolist() == model.predict(expected["x"]).tolist()


def test_a_published_model_predicts_what_its_weights_say():
    model = vg.load_layers_model(MODELS / "abalone")
    assert [layer.name for layer in model.layers] == ["dense_Dense1", "dense_Dense2", "dense_Dense3"]
    raw = np.fromfile(MODELS / "abalone" / "weights.bin", "<f4")
    x = np.full([2, 8], 0.5, np.float32)
    # By hand: two sigmoid layers of 50 units and a linear one.
    cuts = np.split(raw, np.cumsum([400, 50, 2500, 50, 50]))
    h = 1 / (1 + np.exp(-(x @ cuts[0].reshape(8, 50) + cuts[1])))
    h = 1 / (1 + np.exp(-(h @ cuts[2].reshape(50, 50) + cuts[3])))
    np.testing.assert_allclose(model.predict(x).numpy(), h @ cuts[4].reshape(50, 1) + cuts[5], rtol=1e-5)


def test_a_graph_model_is_told_apart():
    with pytest.raises(ModelFileError, match="graph model"):
        vg.load_layers_model(MODELS / "graph-model")


# Strangers' files


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"7", b"\xff\xfe{}", b'"x"', b"[" * 100_000, b"9" * 10_000])
def test_what_is_not_a_json_object_is_an_error(tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.json is not a"):
        vg.load_layers_model(tmp_path)


def test_a_byte_order_mark_is_no_hindrance(saved):
    path = saved / "model.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert vg.load_layers_model(saved).count_params() == 8


@pytest.mark.parametrize(
    "path", ["../secret.bin", "a/../../secret.bin", "/etc/hostname", "..%2Fsecret.bin", "C:\\secret", "\\\\host\\share"]
)
def test_weights_outside_of_the_folder_are_refused(saved, path):
    (saved.parent / "secret.bin").write_bytes(bytes(32))
    rewrite(saved, lambda document: document["weightsManifest"][0].update(paths=[path]))
    with pytest.raises(ModelFileError, match=r"leaves the model's folder"):
        vg.load_layers_model(saved)


def test_a_link_out_of_the_folder_is_refused(saved):
    (saved.parent / "secret.bin").write_bytes(bytes(32))
    (saved / "group1-shard1of1.bin").unlink()
    (saved / "group1-shard1of1.bin").symlink_to(saved.parent / "secret.bin")
    with pytest.raises(ModelFileError, match="leaves the model's folder"):
        vg.load_layers_model(saved)


@pytest.mark.parametrize(
    "path", ["nothing.bin", "", ".", 3, None, "a\0b", "x" * 5000, "https://example.org/w.bin", "%", "%41"]
)
def test_weights_that_are_no_file_are_an_error(saved, path):
    rewrite(saved, lambda document: document["weightsManifest"][0].update(paths=[path]))
    with pytest.raises(ModelFileError, match=r"missing|no file name|elsewhere"):
        vg.load_layers_model(saved)


def test_a_path_that_a_browser_escaped_is_found(saved):
    (saved / "group1-shard1of1.bin").rename(saved / "my weights.bin")
    rewrite(saved, lambda document: document["weightsManifest"][0].update(paths=["my%20weights.bin"]))
    assert vg.load_layers_model(saved).count_params() == 8


def test_shards_are_read_in_the_order_of_the_manifest(tmp_path):
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[30])])
    model.save(tmp_path, weight_shard_size_bytes=16)
    paths = document_of(tmp_path)["weightsManifest"][0]["paths"]
    assert len(paths) > 10
    loaded = vg.load_layers_model(tmp_path)
    assert loaded.get_weights()[0].tolist() == model.get_weights()[0].tolist()


# Report R59.
def test_shards_out_of_their_order_are_obeyed_with_a_warning(tmp_path):
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[30])])
    model.save(tmp_path, weight_shard_size_bytes=16)
    paths = document_of(tmp_path)["weightsManifest"][0]["paths"]
    in_order = {path: (tmp_path / path).read_bytes() for path in paths}
    # As a listing sorts them: 1, 10, 11, …, 2. The content is moved along, so that the manifest is right.
    for path, moved in zip(paths, sorted(paths)):
        (tmp_path / moved).write_bytes(in_order[path])
    rewrite(tmp_path, lambda document: document["weightsManifest"][0].update(paths=sorted(paths)))
    with pytest.warns(UserWarning, match="out of their numbers' order .*shard10of16.bin, group1-shard11of16"):
        loaded = vg.load_layers_model(tmp_path)
    assert loaded.get_weights()[0].tolist() == model.get_weights()[0].tolist()


def test_names_without_numbers_or_of_several_kinds_are_in_no_order(saved):
    data = (saved / "group1-shard1of1.bin").read_bytes()
    for names in (["b.bin", "a.bin"], ["w2.bin", "v1.bin"], ["w2.bin", "other"]):
        for name, part in zip(names, (data[:9], data[9:])):
            (saved / name).write_bytes(part)
        rewrite(saved, lambda document, names=names: document["weightsManifest"][0].update(paths=names))
        assert vg.load_layers_model(saved).count_params() == 8


def test_a_model_of_another_name_beside_this_one_keeps_its_weights(tmp_path):
    first, second = small_model(), small_model()
    first.save(tmp_path / "a.json")
    second.save(tmp_path / "b.json")
    assert (tmp_path / "b.group1-shard1of1.bin").is_file()
    for name, model in (("a", first), ("b", second)):
        loaded = vg.load_layers_model(tmp_path / f"{name}.json")
        assert loaded.get_weights()[0].tolist() == model.get_weights()[0].tolist()
    second.save(tmp_path / "a.json", weight_shard_size_bytes=16)
    assert sorted(path.name for path in tmp_path.glob("a.*")) == [
        "a.group1-shard1of2.bin",
        "a.group1-shard2of2.bin",
        "a.json",
    ]


def test_many_shards_do_not_run_out_of_open_files(tmp_path):
    model = vg.sequential(layers=[vg.layers.dense(units=100, input_shape=[30])])
    model.save(tmp_path, weight_shard_size_bytes=50)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
    try:
        loaded = vg.load_layers_model(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(list(tmp_path.glob("*.bin"))) == 248
    assert loaded.get_weights()[0].tolist() == model.get_weights()[0].tolist()


def test_weights_in_several_groups_are_read(saved):
    def split(document):
        (group,) = document["weightsManifest"]
        kernel, bias = group["weights"]
        document["weightsManifest"] = [
            {"paths": ["k.bin"], "weights": [kernel]},
            {"paths": ["b.bin"], "weights": [bias]},
        ]

    data = (saved / "group1-shard1of1.bin").read_bytes()
    (saved / "k.bin").write_bytes(data[:24])
    (saved / "b.bin").write_bytes(data[24:])
    before = vg.load_layers_model(saved).get_weights()
    rewrite(saved, split)
    after = vg.load_layers_model(saved).get_weights()
    assert [w.tolist() for w in after] == [w.tolist() for w in before]
    rewrite(saved, lambda document: document["weightsManifest"].append(document["weightsManifest"][0]))
    with pytest.raises(ModelFileError, match="listed twice"):
        vg.load_layers_model(saved)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_shard_of_another_size_is_an_error(saved, size):
    (saved / "group1-shard1of1.bin").write_bytes(bytes(size))
    with pytest.raises(ModelFileError, match="should take 32 bytes"):
        vg.load_layers_model(saved)


@pytest.mark.parametrize("manifest", [7, [7], [{}], [{"paths": "x", "weights": []}], [{"paths": []}], "abc", {}])
def test_a_manifest_of_another_form_is_an_error(saved, manifest):
    rewrite(saved, lambda document: document.update(weightsManifest=manifest))
    with pytest.raises(ModelFileError, match="weightsManifest"):
        vg.load_layers_model(saved)


def test_a_huge_layer_takes_no_memory_before_the_file_shows_that_it_has_the_weights(saved):
    for units in (10**9, 10**15, 10**30):
        rewrite(saved, lambda d, units=units: d["modelTopology"]["config"]["layers"][0]["config"].update(units=units))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(ModelFileError, match=r"has shape|too large"):
            vg.load_layers_model(saved)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_a_lambda_layer_is_refused_by_name(saved):
    def change(document):
        document["modelTopology"]["config"]["layers"].append(
            {"class_name": "Lambda", "config": {"name": "evil", "function": ["4wEAAAA=", None, None]}}
        )

    rewrite(saved, change)
    with pytest.raises(
        ModelFileError, match="layer 'evil' is a Lambda layer, whose function the file holds as code, which is not run"
    ):
        vg.load_layers_model(saved)


# A find of fuzzing.
@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_numbers_that_are_none_in_the_metadata_are_an_error(saved, number):
    text = (saved / "model.json").read_text()
    (saved / "model.json").write_text(text[:-1] + f', "userDefinedMetadata": {{"x": {number}}}}}')
    with pytest.raises(ModelFileError, match="metadata cannot be kept"):
        vg.load_layers_model(saved)


@pytest.mark.parametrize("deep", ["layers", "metadata", "regularizer"])
def test_deep_nesting_ends_in_an_error_or_loads(saved, deep):
    document = document_of(saved)
    layer = document["modelTopology"]["config"]["layers"][0]
    nested = "0"
    for _ in range(500):
        nested = f"[{nested}]"
    if deep == "layers":
        layer["config"]["units"] = "DEEP"
    elif deep == "metadata":
        document["userDefinedMetadata"] = {"x": "DEEP"}
    else:
        layer["config"]["kernel_regularizer"] = {"class_name": "L1L2", "config": {"l1": "DEEP"}}
    (saved / "model.json").write_text(json.dumps(document).replace('"DEEP"', nested))
    with suppress(ModelFileError):
        assert vg.load_layers_model(saved).layers


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_file_ends_in_a_model_or_in_one_clear_error(tmp_path, data):
    shutil.rmtree(tmp_path)
    shutil.copytree(REFERENCE / "options", tmp_path)
    path = tmp_path / data.draw(st.sampled_from(["model.json", "model.json", "weights.bin"]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["byte", "cut", "insert", "digits"]))
        if kind == "byte":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del content[at : at + data.draw(st.integers(1, 20))]
        elif kind == "insert":
            content[at:at] = data.draw(st.sampled_from([b"null", b"[]", b"{}", b"-1", b"1e400", b'"', b",", b"true"]))
        else:
            content[at:at] = b"9" * data.draw(st.integers(1, 30))
        if not content:
            break
    path.write_bytes(content)
    with suppress(ModelFileError):
        assert vg.load_layers_model(tmp_path).layers


@pytest.mark.parametrize(
    ("path", "error"), [("", ValueError), (None, TypeError), (b"model", TypeError), (3, TypeError)]
)
def test_what_is_no_path_is_an_error_and_nothing_is_written(path, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match="the path of a model"):
        small_model().save(path)
    with pytest.raises(error, match="the path of a model"):
        vg.load_layers_model(path)
    assert list(tmp_path.iterdir()) == []
