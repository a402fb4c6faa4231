"""The stored form of models in the dialects that files have."""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.topology import normalize_topology
from varigrad.io.weights import ModelFileError

# What Keras 2.15's model.to_json() gives for Sequential([Dense(2, activation="relu", input_shape=(3,))]).
KERAS_2 = {
    "class_name": "Sequential",
    "config": {
        "name": "sequential",
        "layers": [
            {
                "module": "keras.layers",
                "class_name": "InputLayer",
                "config": {
                    "batch_input_shape": [None, 3],
                    "dtype": "float32",
                    "sparse": False,
                    "ragged": False,
                    "name": "dense_input",
                },
                "registered_name": None,
            },
            {
                "module": "keras.layers",
                "class_name": "Dense",
                "config": {
                    "name": "dense",
                    "trainable": True,
                    "dtype": "float32",
                    "batch_input_shape": [None, 3],
                    "units": 2,
                    "activation": "relu",
                    "use_bias": True,
                    "kernel_initializer": {
                        "module": "keras.initializers",
                        "class_name": "GlorotUniform",
                        "config": {"seed": None},
                        "registered_name": None,
                    },
                    "bias_initializer": {
                        "module": "keras.initializers",
                        "class_name": "Zeros",
                        "config": {},
                        "registered_name": None,
                    },
                    "kernel_regularizer": None,
                    "bias_regularizer": None,
                    "activity_regularizer": None,
                    "kernel_constraint": None,
                    "bias_constraint": None,
                },
                "registered_name": None,
                "build_config": {"input_shape": [None, 3]},
            },
        ],
    },
    "keras_version": "2.15.0",
    "backend": "tensorflow",
}

# The same from Keras 3: batch_shape, and dtypes that are policies.
POLICY = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}


def keras_3():
    topology = json.loads(json.dumps(KERAS_2))
    topology["config"].update(trainable=True, dtype=POLICY, build_input_shape=[None, 3])
    inputs, dense = (layer["config"] for layer in topology["config"]["layers"])
    inputs["batch_shape"] = inputs.pop("batch_input_shape")
    inputs["optional"] = False
    del dense["batch_input_shape"]
    dense["dtype"] = POLICY
    dense["quantization_config"] = None
    return topology


def write(folder, topology, names, **document):
    Path(folder).mkdir(exist_ok=True)
    data = np.arange(8, dtype="<f4")
    specs = [
        {"name": name, "shape": shape, "dtype": "float32"} for name, shape in zip(names, ([3, 2], [2]), strict=True)
    ]
    (folder / "weights.bin").write_bytes(data.tobytes())
    manifest = [{"paths": ["weights.bin"], "weights": specs}]
    (folder / "model.json").write_text(
        json.dumps({"modelTopology": topology, "weightsManifest": manifest, "format": "layers-model", **document})
    )


# x @ kernel + bias for x = [1, 1, 1]: columns of [[0, 1], [2, 3], [4, 5]] summed, plus [6, 7].
EXPECTED = [[12.0, 16.0]]


@pytest.mark.parametrize(
    ("topology", "names"),
    [
        (KERAS_2, ["dense/kernel", "dense/bias"]),
        ({"model_config": KERAS_2, "keras_version": "2.15.0"}, ["dense/kernel", "dense/bias"]),
        ({**KERAS_2, "config": KERAS_2["config"]["layers"]}, ["dense/kernel", "dense/bias"]),  # Keras 1
        (KERAS_2, ["dense_1/kernel", "dense_1/bias"]),
        (keras_3(), ["dense/kernel", "dense/bias"]),
        (keras_3(), ["sequential/dense/kernel", "sequential/dense/bias"]),
    ],
    ids=["keras 2", "whole file of keras 2", "keras 1", "counters", "keras 3", "model's name in front"],
)
def test_files_of_keras_load_and_are_written_as_tensorflow_js_wants_them(tmp_path, topology, names):
    write(tmp_path / "theirs", topology, names)
    model = vg.load_layers_model(tmp_path / "theirs")
    assert model.predict([[1, 1, 1]]).tolist() == EXPECTED
    model.save(tmp_path / "ours")
    document = json.loads((tmp_path / "ours" / "model.json").read_text())
    inputs, dense = document["modelTopology"]["config"]["layers"]
    assert inputs["config"]["batch_input_shape"] == [None, 3]
    assert dense["config"]["dtype"] == "float32"
    assert "registered_name" not in json.dumps(document)
    assert [spec["name"] for spec in document["weightsManifest"][0]["weights"]] == ["dense/kernel", "dense/bias"]
    assert vg.load_layers_model(tmp_path / "ours").predict([[1, 1, 1]]).tolist() == EXPECTED


def test_camel_case_is_read():
    stored = normalize_topology(
        {
            "class_name": "Sequential",
            "config": {
                "layers": [
                    {
                        "className": "Dense",
                        "config": {
                            "batchInputShape": [None, 3],
                            "kernelInitializer": {"className": "VarianceScaling", "config": {"mode": "fanAvg"}},
                        },
                    }
                ]
            },
        }
    )
    (layer,) = stored["config"]["layers"]
    assert layer == {
        "class_name": "Dense",
        "config": {
            "batch_input_shape": [None, 3],
            "kernel_initializer": {"class_name": "VarianceScaling", "config": {"mode": "fanAvg"}},
        },
    }


def test_numpy_scalars_of_tf_keras_are_read():
    stored = normalize_topology(
        {"class_name": "X", "config": {"momentum": {"type": "ndarray", "value": 0.9}, "name": "N"}}
    )
    assert stored["config"] == {"momentum": 0.9, "name": "N"}


def test_arguments_without_meaning_are_left_out_and_those_with_one_refused():
    assert normalize_topology({"class_name": "Conv2D", "config": {"groups": 1, "ragged": False}})["config"] == {}
    with pytest.raises(ModelFileError, match="Conv2D 'c' has groups=2, which is not supported"):
        normalize_topology({"class_name": "Conv2D", "config": {"groups": 2, "name": "c"}})


@pytest.mark.parametrize("topology", [None, 7, [], {}, {"class_name": "Sequential"}, {"config": {}}, "x"])
def test_a_file_without_a_model_is_an_error(topology):
    with pytest.raises(ModelFileError, match="no model in this file"):
        normalize_topology({"modelTopology": topology, "format": "layers-model"})


def test_missing_and_unexpected_weights_are_one_error_with_the_nearest_names(tmp_path):
    write(tmp_path, KERAS_2, ["dense/kernal", "other/bias"])
    with pytest.raises(ModelFileError) as caught:
        vg.load_layers_model(tmp_path)
    message = str(caught.value)
    assert "lacks 2 weights of sequential: 'dense/kernel'; did you mean 'dense/kernal'?" in message
    assert "'dense/bias'" in message
    assert "has 2 that it has no place for: 'dense/kernal', 'other/bias'" in message
    assert "strict=False" in message


def test_with_strict_off_the_rest_is_loaded_and_a_warning_says_what_not(tmp_path):
    write(tmp_path, KERAS_2, ["dense/kernel", "other/bias"])
    with pytest.warns(UserWarning, match=r"lacks 1 weights of sequential: 'dense/bias'.*no place for: 'other/bias'"):
        model = vg.load_layers_model(tmp_path, strict=False)
    kernel, bias = model.get_weights()
    assert kernel.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert bias.tolist() == [0, 0]


def test_a_weight_of_another_shape_or_kind_is_an_error(tmp_path):
    topology = json.loads(json.dumps(KERAS_2))
    topology["config"]["layers"][1]["config"]["units"] = 3
    write(tmp_path, topology, ["dense/kernel", "dense/bias"])
    with pytest.raises(
        ModelFileError, match=r"'dense/kernel' has shape \[3, 2\] in the file, but sequential needs \[3, 3\]"
    ):
        vg.load_layers_model(tmp_path)
    write(tmp_path, KERAS_2, ["dense/kernel", "dense/bias"])
    document = json.loads((tmp_path / "model.json").read_text())
    document["weightsManifest"][0]["weights"][1]["dtype"] = "int32"
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="'dense/bias' is int32 in the file"):
        vg.load_layers_model(tmp_path)


def test_state_of_an_optimizer_in_the_file_is_left_out(tmp_path):
    write(tmp_path, KERAS_2, ["dense/kernel", "dense/bias"])
    document = json.loads((tmp_path / "model.json").read_text())
    (group,) = document["weightsManifest"]
    group["weights"].append({"name": "Adam/m", "shape": [1], "dtype": "float32", "group": "optimizer"})
    with open(tmp_path / "weights.bin", "ab") as file:
        file.write(bytes(4))
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert vg.load_layers_model(tmp_path).predict([[1, 1, 1]]).tolist() == EXPECTED


def test_a_file_without_weights_gives_a_new_model(tmp_path):
    (tmp_path / "model.json").write_text(json.dumps({"modelTopology": KERAS_2}))
    kernel = vg.load_layers_model(tmp_path).get_weights()[0].numpy()
    assert np.count_nonzero(kernel) == 6
