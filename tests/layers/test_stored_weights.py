"""Weights of a model, alone, in files and dicts: which value each weight gets."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

SUFFIXES = ["npz", "safetensors", "json"]


def make(units=2):
    layers = [vg.layers.dense(units=units, input_shape=[3], name="a"), vg.layers.batch_normalization(name="n")]
    return vg.sequential(name="m", layers=layers)


def values(model):
    return [w.tolist() for w in model.get_weights()]


def changed(model):
    model.set_weights([w + 1.5 for w in model.get_weights()])
    return model


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_weights_come_back_in_every_format(tmp_path, suffix):
    model, other = changed(make()), make()
    path = tmp_path / "folder" / f"w.{suffix}"
    model.save_weights(path)
    assert values(other) != values(model)
    other.load_weights(path)
    assert values(other) == values(model)
    other.load_weights(path.as_uri())
    assert values(other) == values(model)


def test_loading_changes_the_variables_that_are_there():
    model = make()
    kernel = model.weights[0]
    model.load_weights({name.original_name: np.zeros(name.shape) for name in model.weights})
    assert model.weights[0] is kernel
    assert kernel.tolist() == np.zeros([3, 2]).tolist()


def test_a_model_json_gives_its_weights_to_another_model(tmp_path):
    model, other = changed(make()), make()
    model.save(tmp_path)
    other.load_weights(tmp_path / "model.json")
    assert values(other) == values(model)


def test_weights_saved_beside_a_model_leave_it_as_it_is(tmp_path):
    model = make()
    model.save(tmp_path)
    changed(make()).save_weights(tmp_path / "other.json")
    assert values(vg.load_layers_model(tmp_path)) == values(model)


@pytest.mark.parametrize("path", ["w", "w.txt", "w.bin", "npz"])
def test_other_suffixes_are_an_error_that_lists_those_there_are(tmp_path, path):
    for act in (make().save_weights, make().load_weights):
        with pytest.raises(ValueError, match=r"must end in one of .*\.npz, \.safetensors"):
            act(tmp_path / path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_and_unexpected_weights_are_one_error_in_every_format(tmp_path, suffix):
    layers = [vg.layers.dense(units=2, input_shape=[3], name="b"), vg.layers.batch_normalization(name="n")]
    vg.sequential(layers=layers).save_weights(tmp_path / f"w.{suffix}")
    model = make()
    before = values(model)
    with pytest.raises(ModelFileError, match=r"lacks 2 weights of m: 'a/kernel'.*no place for: 'b/bias', 'b/kernel'"):
        model.load_weights(tmp_path / f"w.{suffix}")
    assert values(model) == before
    with pytest.warns(UserWarning, match="lacks 2 weights"):
        model.load_weights(tmp_path / f"w.{suffix}", strict=False)
    assert values(model)[:2] == before[:2]


def test_a_wrong_shape_changes_nothing(tmp_path):
    make(units=4).save_weights(tmp_path / "w.npz")
    model = make()
    before = values(model)
    with pytest.raises(ModelFileError, match=r"'a/kernel' has shape \[3, 4\] in the file, but m needs \[3, 2\]"):
        model.load_weights(tmp_path / "w.npz")
    assert values(model) == before


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_other_dtypes_keep_their_values(tmp_path, suffix, dtype):
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], dtype=dtype, name="a")])
    other = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], dtype=dtype, name="a")])
    model.save_weights(tmp_path / f"w.{suffix}")
    other.load_weights(tmp_path / f"w.{suffix}")
    assert values(other) == values(model)
    assert [w.dtype for w in other.weights] == [dtype, dtype]


# Report R49.
@pytest.mark.parametrize(
    "rename",
    [
        lambda name: name.replace("a/", "a_1/").replace("n/", "n_12/"),
        lambda name: f"m/{name}",
        lambda name: f"m_3/{name}".replace("m_3/", "m/").replace("a/", "a_2/"),
        lambda name: f"{name}_1",
    ],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_names_with_counters_and_prefixes_are_understood(rename, frozen):
    model = make()
    model.layers[0].trainable = not frozen
    model.load_weights({rename(w.original_name): np.full(w.shape, 7.0) for w in model.weights})
    assert all(np.all(w.numpy() == 7) for w in model.get_weights())


def nested(name, layer):
    return vg.sequential(name=name, layers=[vg.layers.dense(units=2, input_shape=[2], name=layer)])


def test_models_inside_may_be_in_the_names():
    model = vg.sequential(name="outer", layers=[nested("inner", "d"), vg.layers.dense(units=1, name="e")])
    for prefix in ("", "inner/", "outer/inner/"):
        found = {f"{prefix}d/{w}": np.full(s, float(len(prefix))) for w, s in (("kernel", [2, 2]), ("bias", [2]))}
        model.load_weights({**found, "e/kernel": np.zeros([2, 1]), "e/bias": np.zeros([1])})
        assert model.get_weights()[0].tolist() == [[len(prefix)] * 2] * 2


def test_layers_of_one_name_in_two_models_are_told_apart_by_the_models():
    model = vg.sequential(name="outer", layers=[nested("p", "d"), nested("q", "d")])
    shapes = {"kernel": [2, 2], "bias": [2]}
    model.load_weights({f"{m}/d/{w}": np.full(s, float(ord(m))) for m in "pq" for w, s in shapes.items()})
    assert [w.tolist()[0] for w in model.get_weights()[1::2]] == [ord("p"), ord("q")]
    with pytest.raises(ModelFileError, match="lacks 4 weights"):
        model.load_weights({f"d/{w}": np.zeros(s) for w, s in shapes.items()})


def test_of_many_differences_some_are_named_and_the_others_counted():
    layers = [vg.layers.dense(units=1, input_shape=[1], name=f"d{i}") for i in range(30)]
    model = vg.sequential(name="m", layers=layers)
    with pytest.raises(ModelFileError) as caught:
        model.load_weights({f"x/{w.original_name}/y": np.zeros(w.shape) for w in model.weights})
    message = str(caught.value)
    assert "lacks 60 weights of m" in message
    assert "has 60 that it has no place for" in message
    assert message.count(" and 40 more") == 2
