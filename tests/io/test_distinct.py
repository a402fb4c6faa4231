"""Models inside a model whose layers have the same names, in every format."""

import json

import numpy as np
import pytest

import varigrad as vg

X = np.random.default_rng(0).normal(size=[4, 3]).astype(np.float32)
NUMBERS = iter(range(1, 10**6))


def tower(name, layer="dense"):
    x = vg.input(shape=[3])
    hidden = vg.layers.dense(units=3, activation="tanh", name=layer)(x)
    y = vg.layers.batch_normalization(name="norm")(vg.layers.add(name="skip")([x, hidden]))
    return vg.model(inputs=x, outputs=y, name=name)


def two_towers():
    """A dense layer outside, and layers of the same names in two towers, one of them a level deeper."""
    x = vg.input(shape=[3], name="x")
    deeper = vg.sequential(name="q", layers=[tower("inner"), vg.layers.dense(units=3, name="dense")])
    merged = vg.layers.concatenate(name="both")([tower("p")(x), deeper(x)])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=2, name="dense")(merged), name="outer")
    random = np.random.default_rng(next(NUMBERS))
    model.set_weights([random.uniform(0.2, 1, w.shape) for w in model.weights])
    return model


def trained():
    model = two_towers()
    model.compile(optimizer=vg.train.adam(0.01), loss="mean_squared_error")
    model.fit(X, np.ones([4, 2]), epochs=2, verbose=0)
    return model


@pytest.mark.parametrize("name", ["model.json", "m.keras", "m.h5"])
def test_a_model_is_saved_and_trains_on_as_it_was(tmp_path, name):
    model = trained()
    model.save(tmp_path / name, include_optimizer=True)
    copy = vg.load_layers_model(tmp_path / name)
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    for each in (model, copy):
        each.fit(X, np.zeros([4, 2]), epochs=2, shuffle=False, verbose=0)
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    assert copy.predict(X).tolist() != two_towers().predict(X).tolist()


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_the_names_stay_where_the_format_knows_the_models_by_their_places(tmp_path, name):
    model = two_towers()
    model.save(tmp_path / name)
    copy = vg.load_layers_model(tmp_path / name)
    assert [w.original_name for w in copy.weights] == [w.original_name for w in model.weights]


@pytest.mark.parametrize("name", ["w.npz", "w.safetensors", "w.json", "w.weights.h5", "w.h5"])
def test_weights_alone_find_their_way_back(tmp_path, name):
    model, other = two_towers(), two_towers()
    model.save_weights(tmp_path / name)
    other.load_weights(tmp_path / name)
    assert other.predict(X).tolist() == model.predict(X).tolist()


def test_tensorflow_js_gets_names_of_which_each_is_there_once(tmp_path):
    two_towers().save(tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    names = [spec["name"] for group in document["weightsManifest"] for spec in group["weights"]]
    assert sorted(name for name in names if name.endswith("kernel")) == [
        "dense/kernel", "p_dense/kernel", "q_dense/kernel", "q_inner_dense/kernel"
    ]  # fmt: skip
    assert len(set(names)) == len(names) == 4 * 2 + 2 * 4
    text = json.dumps(document["modelTopology"]["config"]["layers"])
    for name in ("p_dense", "p_norm", "q_inner_dense", "q_inner_norm"):  # the layer and the calls of those after it
        assert f'"name": "{name}"' in text
        assert f'["{name}", 0, 0, {{}}]' in text or name.endswith("norm")


def test_a_name_that_is_taken_gets_a_number(tmp_path):
    x = vg.input(shape=[3])
    layers = [vg.layers.dense(units=3, name=name) for name in ("d", "p_d")]
    y = layers[1](layers[0](vg.sequential(name="p", layers=[vg.layers.dense(units=3, name="d", input_shape=[3])])(x)))
    model = vg.model(inputs=x, outputs=y)
    model.save(tmp_path)
    copy = vg.load_layers_model(tmp_path)
    assert [w.original_name for w in copy.weights[::2]] == ["p_d_1/kernel", "d/kernel", "p_d/kernel"]
    assert copy.predict(X).tolist() == model.predict(X).tolist()


def test_names_that_are_not_those_of_the_layers_are_refused(tmp_path):
    model = two_towers()
    first, second = (model.get_layer(name).weights[0] for name in ("p", "q"))
    first.original_name = second.original_name = "shared"
    with pytest.raises(ValueError, match=r"two weights of outer are named 'shared', one of them in layer dense of p"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model.save(tmp_path / "m.keras")
    assert vg.load_layers_model(tmp_path / "m.keras").predict(X).tolist() == model.predict(X).tolist()
