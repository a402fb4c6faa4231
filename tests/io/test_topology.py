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
        ({"model_config": json.dumps(KERAS_2)}, ["dense/kernel", "dense/bias"]),
        ({**KERAS_2, "config": KERAS_2["config"]["layers"]}, ["dense/kernel", "dense/bias"]),  # Keras 1
        (KERAS_2, ["dense_1/kernel", "dense_1/bias"]),
        (keras_3(), ["dense/kernel", "dense/bias"]),
        (keras_3(), ["sequential/dense/kernel", "sequential/dense/bias"]),
    ],
    ids=["keras 2", "whole file of keras 2", "as text", "keras 1", "counters", "keras 3", "model's name in front"],
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


def one_layer(class_name, shape, **config):
    """A sequential model of one layer, as files have it."""
    layer = {"class_name": class_name, "config": {"name": "l", "batch_input_shape": [None, *shape], **config}}
    return {"class_name": "Sequential", "config": {"name": "s", "layers": [layer]}}


# Report R55.
@pytest.mark.parametrize(
    ("class_name", "shape", "config", "extras"),
    [
        (
            "DepthwiseConv2D",
            [4, 4, 2],
            {"kernel_size": 2},
            {"groups": 1, "filters": None, "kernel_initializer": "zeros"},
        ),
        ("Conv2DTranspose", [4, 4, 2], {"filters": 1, "kernel_size": 2}, {"groups": 1}),
        ("SeparableConv2D", [4, 4, 2], {"filters": 1, "kernel_size": 2}, {"groups": 1, "kernel_regularizer": None}),
        ("Conv2D", [4, 4, 2], {"filters": 1, "kernel_size": 2}, {"groups": 1, "lora_rank": None}),
        ("LSTM", [4, 2], {"units": 1}, {"time_major": False, "zero_output_for_mask": False}),
        ("GRU", [4, 2], {"units": 1}, {"time_major": False, "use_cudnn": "auto"}),
        ("Dense", [2], {"units": 1}, {"quantization_config": None, "lora_rank": None, "dynamic": False}),
        ("BatchNormalization", [2], {}, {"renorm": False, "fused": None, "virtual_batch_size": None}),
        ("MaxPooling2D", [4, 4, 1], {}, {"autocast": True}),
        ("GlobalAveragePooling2D", [4, 4, 1], {}, {"keepdims": False}),
        ("InputLayer", [2], {}, {"ragged": False, "type_spec": None, "optional": False}),
        ("Dense", [2], {"units": 1}, {"dtype": {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}}),
        ("Dense", [2], {"units": 1}, {"dtype": {"class_name": "Policy", "config": {"name": "float32"}}}),
        ("Dense", [2], {"units": 1}, {"dtype": "mixed_bfloat16"}),
    ],
)
def test_harmless_arguments_of_other_versions_are_ignored(class_name, shape, config, extras):
    model = vg.models.model_from_json(one_layer(class_name, shape, **config, **extras))
    plain = vg.models.model_from_json(one_layer(class_name, shape, **config))
    assert model.to_json() == plain.to_json()
    assert model.outputs[0].shape == plain.outputs[0].shape


def test_an_argument_that_changes_the_layer_is_not_ignored():
    topology = one_layer("DepthwiseConv2D", [4, 4, 2], kernel_size=2, groups=2)
    with pytest.raises(ModelFileError, match=r"layer 'l' of class DepthwiseConv2D cannot be made: .*'groups'"):
        vg.models.model_from_json(topology)


@pytest.mark.parametrize(("class_name", "space"), [("Conv1D", [4]), ("Conv2D", [4, 4]), ("Conv3D", [4, 4, 4])])
def test_groups_of_convolutions_are_heeded(class_name, space):
    topology = one_layer(class_name, [*space, 6], filters=4, kernel_size=2, groups=2)
    model = vg.models.model_from_json(topology)
    assert model.layers[0].kernel.shape == (*[2 for _ in space], 3, 4)
    assert vg.models.model_from_json(model.to_json()).layers[0].groups == 2


@pytest.mark.parametrize("class_name", ["Model", "Functional"])
def test_graphs_have_two_class_names(class_name):
    layers = [
        {"class_name": "InputLayer", "name": "i", "config": {"batch_input_shape": [None, 2], "name": "i"}},
        {"class_name": "Dense", "name": "d", "config": {"units": 1, "name": "d"}, "inbound_nodes": [[["i", 0, 0, {}]]]},
    ]
    layers[0]["inbound_nodes"] = []
    config = {"name": "m", "layers": layers, "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}
    model = vg.models.model_from_json({"class_name": class_name, "config": config})
    assert model.predict([[1.0, 2.0]]).shape == (1, 1)
    assert model.to_json(return_string=False)["class_name"] == "Model"


@pytest.mark.parametrize("order", [1, -1, 7])
def test_a_graph_may_list_its_layers_in_any_order(order):
    def layer(i):
        reference = [[[f"l{i - 1}", 0, 0, {}]]]
        return {"class_name": "ReLU", "name": f"l{i}", "config": {"name": f"l{i}"}, "inbound_nodes": reference}

    first = {"class_name": "InputLayer", "name": "l0", "config": {"batch_input_shape": [None, 2], "name": "l0"}}
    layers = [{**first, "inbound_nodes": []}, *map(layer, range(1, 200))]
    shuffled = [layers[i * order % 200] for i in range(200)]
    config = {"name": "m", "layers": shuffled, "input_layers": [["l0", 0, 0]], "output_layers": [["l199", 0, 0]]}
    model = vg.models.model_from_json({"class_name": "Model", "config": config})
    assert model.predict([[-1.0, 2.0]]).tolist() == [[0.0, 2.0]]
    assert [layer.name for layer in model.layers] == [f"l{i}" for i in range(200)]


def test_keras_1_is_read():
    layers = [
        {
            "class_name": "Convolution2D",
            "config": {
                "name": "c",
                "batch_input_shape": [None, 5, 5, 1],
                "nb_filter": 2,
                "nb_row": 3,
                "nb_col": 2,
                "init": "glorot_uniform",
                "border_mode": "same",
                "subsample": [1, 1],
                "dim_ordering": "tf",
                "W_regularizer": None,
                "bias": True,
            },
        },
        {"class_name": "Flatten", "config": {"name": "f"}},
        {"class_name": "Dropout", "config": {"name": "p", "p": 0.25}},
        {"class_name": "Dense", "config": {"name": "d", "output_dim": 3, "init": "uniform", "activation": "softmax"}},
    ]
    model = vg.models.model_from_json({"class_name": "Sequential", "config": layers, "keras_version": "1.2.2"})
    assert [layer.class_name for layer in model.layers] == ["Conv2D", "Flatten", "Dropout", "Dense"]
    assert [w.shape for w in model.weights] == [(3, 2, 1, 2), (2,), (50, 3), (3,)]
    assert model.layers[2].rate == 0.25


def graph(operation, nodes, size=3):
    """A graph of an input, a dense layer, and an operation on them."""
    call = {"class_name": "Dense", "name": "d", "config": {"units": size, "name": "d", "kernel_initializer": "ones"}}
    layers = [
        {"class_name": "InputLayer", "name": "i", "config": {"batch_input_shape": [None, size], "name": "i"}},
        {**call, "inbound_nodes": [[["i", 0, 0, {}]]]},
        {"name": "op", **operation, "inbound_nodes": nodes},
    ]
    layers[0]["inbound_nodes"] = []
    config = {"name": "m", "layers": layers, "input_layers": [["i", 0, 0]], "output_layers": [["op", 0, 0]]}
    return {"class_name": "Functional", "config": config}


def op_lambda(function):
    return {"class_name": "TFOpLambda", "config": {"name": "op", "function": function}}


def op_layer(op, constants):
    node = {"name": "op", "op": op, "input": ["i", "c"], "attr": {"T": {"type": "DT_FLOAT"}}}
    return {"class_name": "TensorFlowOpLayer", "config": {"name": "op", "node_def": node, "constants": constants}}


X = np.float32([[1, -2, 4]])
D = np.full([1, 3], 3.0, np.float32)  # what the dense layer makes of it


# The forms are those that Keras 2.4 to 2.15 and TensorFlow 2.0 to 2.3 write; the values follow from the operations.
@pytest.mark.parametrize(
    ("operation", "nodes", "expected"),
    [
        (op_lambda("math.multiply"), [["i", 0, 0, {"y": 2.0, "name": None}]], X * 2),
        (op_lambda("math.multiply"), [[["i", 0, 0, {"y": 2.0}]]], X * 2),
        (op_lambda("math.multiply"), [["i", 0, 0, {"y": ["d", 0, 0], "name": None}]], X * D),
        (op_lambda("math.multiply"), [["_CONSTANT_VALUE", -1, 3.0, {"y": ["i", 0, 0]}]], X * 3),
        (op_lambda("__operators__.add"), [["i", 0, 0, {"y": ["d", 0, 0], "name": None}]], X + D),
        (op_lambda("__operators__.add"), [["i", 0, 0, {"y": 3, "name": None}]], X + 3),
        (op_lambda("math.subtract"), [["i", 0, 0, {"y": 3}]], X - 3),
        (op_lambda("math.subtract"), [["_CONSTANT_VALUE", -1, 1.0, {"y": ["i", 0, 0]}]], 1 - X),
        (op_lambda("math.truediv"), [["i", 0, 0, {"y": 4.0}]], X / 4),
        (op_lambda("nn.relu"), [["i", 0, 0, {"name": None}]], np.maximum(X, 0)),
        (op_lambda("nn.relu6"), [["d", 0, 0, {"name": None}]], D),
        (op_lambda("math.sigmoid"), [["i", 0, 0, {}]], 1 / (1 + np.exp(-X))),
        (op_lambda("concat"), [[["i", 0, 0, {"axis": -1}], ["d", 0, 0, {"axis": -1}]]], np.concatenate([X, D], -1)),
        (op_lambda("reshape"), [["i", 0, 0, {"shape": [-1, 3, 1]}]], X.reshape(1, 3, 1)),
        (op_lambda("cast"), [["i", 0, 0, {"dtype": "float32"}]], X),
        (op_layer("Mul", {"1": 2.0}), [[["i", 0, 0, {}]]], X * 2),
        (op_layer("Sub", {"0": 1.0}), [[["i", 0, 0, {}]]], 1 - X),
        (op_layer("AddV2", {}), [[["i", 0, 0, {}], ["d", 0, 0, {}]]], X + D),
        (op_layer("RealDiv", {"1": 4.0}), [[["i", 0, 0, {}]]], X / 4),
        (op_layer("ConcatV2", {"2": 1}), [[["i", 0, 0, {}], ["d", 0, 0, {}]]], np.concatenate([X, D], -1)),
        (op_layer("Tanh", {}), [[["i", 0, 0, {}]]], np.tanh(X)),
    ],
)
def test_operations_that_layers_do_become_layers(operation, nodes, expected):
    model = vg.models.model_from_json(graph(operation, nodes))
    np.testing.assert_allclose(model.predict(X).numpy(), expected, rtol=1e-6)
    assert "TFOpLambda" not in model.to_json()
    assert "TensorFlowOpLayer" not in model.to_json()


@pytest.mark.parametrize(
    ("operation", "nodes", "message"),
    [
        (op_lambda("strided_slice"), [["i", 0, 0, {"begin": [0]}]], "'op' is the operation strided_slice, called with"),
        (op_lambda("math.multiply"), [["i", 0, 0, {"y": [1.0, 2.0, 3.0]}]], r"multiply, called with .*\[1\.0, 2\.0"),
        (op_lambda("cast"), [["i", 0, 0, {"dtype": "int32"}]], "the operation cast"),
        (op_lambda("math.truediv"), [["i", 0, 0, {"y": 0.0}]], "the operation truediv"),
        (op_lambda("math.multiply"), [], "is called on nothing"),
        (op_lambda("math.multiply"), [["i", 0, 0, {"y": 2.0}], ["i", 0, 0, {"y": 3.0}]], "the operation multiply"),
        (op_lambda("math.multiply"), [["i", 0]], "no list of references"),
        (op_lambda("math.multiply"), 7, "needs a list of inbound_nodes"),
        (op_lambda("math.multiply"), [["i", "0", 0, {}]], "is no reference"),
        ({"class_name": "SlicingOpLambda", "config": {"name": "op"}}, [["i", 0, 0, {}]], "custom_objects, as 'op'"),
    ],
)
def test_other_operations_are_named_in_an_error(operation, nodes, message):
    with pytest.raises(ModelFileError, match=message):
        vg.models.model_from_json(graph(operation, nodes))


def test_a_function_of_ones_own_stands_for_an_operation_or_a_lambda_layer():
    sliced = graph(op_lambda("strided_slice"), [["i", 0, 0, {"begin": [0]}]])
    model = vg.models.model_from_json(sliced, {"op": lambda x: x[:, :2]})
    assert model.predict(X).tolist() == [[1, -2]]
    assert model.outputs[0].shape == (None, 2)
    code = {"class_name": "Lambda", "config": {"name": "op", "function": ["4wEAAAA=", None, None]}}
    two = graph(code, [[["i", 0, 0, {}], ["d", 0, 0, {}]]])
    with pytest.raises(ModelFileError, match=r"layer 'op' is a Lambda layer, .* not run; .* custom_objects, as 'op'"):
        vg.models.model_from_json(two)
    model = vg.models.model_from_json(two, {"op": lambda inputs: inputs[0] - inputs[1]})
    assert model.predict(X).tolist() == (X - D).tolist()
    # It is stored by name alone, and asks for the function again.
    again = vg.models.model_from_json(model.to_json(), {"op": lambda inputs: inputs[0]})
    assert again.predict(X).tolist() == X.tolist()


def test_a_layer_of_ones_own_stands_for_a_lambda_layer():
    code = {"class_name": "Lambda", "config": {"name": "op"}}

    class Halved(vg.layers.Layer):
        def call(self, inputs):
            return inputs / 2

    for stand_in in (Halved, vg.layers.re_lu):
        model = vg.models.model_from_json(graph(code, [[["i", 0, 0, {}]]]), {"op": stand_in})
        assert model.get_layer("op").name == "op"
        assert isinstance(model.get_layer("op"), (Halved, vg.layers.ReLU))


def test_text_that_is_no_model_is_an_error():
    with pytest.raises(ModelFileError, match="model_config is text, but no JSON"):
        normalize_topology({"modelTopology": {"model_config": "{"}})


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
