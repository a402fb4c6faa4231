"""Models in files: what saving and loading promise beyond the format."""

import json
import warnings

import numpy as np
import pytest

import varigrad as vg

X = np.random.default_rng(0).normal(size=[4, 3]).astype(np.float32)


def make():
    return vg.sequential(
        layers=[vg.layers.dense(units=4, activation="relu", input_shape=[3]), vg.layers.dense(units=1)]
    )


def weights_of(model):
    return [w.tolist() for w in model.get_weights()]


def names_in(folder):
    document = json.loads((folder / "model.json").read_text())
    return [spec["name"] for group in document["weightsManifest"] for spec in group["weights"]]


# Report R51: loading the same file twice in one session.
def test_a_file_loaded_twice_gives_two_models_that_keep_its_names(tmp_path):
    original = make()
    original.save(tmp_path / "a")
    names = names_in(tmp_path / "a")
    first, second = vg.load_layers_model(tmp_path / "a"), vg.load_layers_model(tmp_path / "a")
    assert not {w.name for w in first.weights} & {w.name for w in second.weights}
    before = weights_of(second)
    optimizer = vg.train.adam(0.1)
    for _ in range(3):
        optimizer.minimize(lambda: first.predict(X).square().mean())
    assert weights_of(first) != before
    assert weights_of(second) == weights_of(original) == before
    first.save(tmp_path / "b")
    assert names_in(tmp_path / "b") == names == [w.original_name for w in original.weights]
    again = vg.load_layers_model(tmp_path / "b")
    assert weights_of(again) == weights_of(first)
    assert weights_of(second) == before


def test_loading_leaves_no_tensor_over_and_weights_own_their_memory(tmp_path):
    make().save(tmp_path)
    before = vg.memory().num_tensors
    model = vg.load_layers_model(tmp_path)
    assert vg.memory().num_tensors == before + 4
    for weight in model.weights:
        assert weight.storage.flags.owndata
        assert weight.storage.flags.writeable
        assert weight.storage.flags.c_contiguous


def test_a_loaded_model_trains_on(tmp_path):
    model = make()
    model.save(tmp_path)
    loaded = vg.load_layers_model(tmp_path)

    def losses(model):
        optimizer = vg.train.sgd(0.1)
        return [optimizer.minimize(lambda: model.predict(X).square().mean(), return_cost=True).item() for _ in range(5)]

    assert losses(model) == losses(loaded)


def test_frozen_layers_stay_frozen(tmp_path):
    model = make()
    model.layers[0].trainable = False
    model.save(tmp_path)
    assert [layer.trainable for layer in vg.load_layers_model(tmp_path).layers] == [False, True]


@pytest.mark.parametrize("suffix", ["", ".keras", ".h5"])
def test_frozen_models_inside_stay_frozen(tmp_path, suffix):
    x = vg.input(shape=[3])
    graph = vg.model(inputs=x, outputs=vg.layers.dense(units=3)(vg.layers.dense(units=4)(x)))
    stack = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[3])])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=2)(stack(graph(vg.layers.dense(units=3)(x)))))
    graph.trainable = stack.trainable = False
    expected, trained = model.predict(X).tolist(), [w.original_name for w in model.trainable_weights]
    model.save(tmp_path / f"m{suffix}")
    loaded = vg.load_layers_model(tmp_path / f"m{suffix}")
    assert [w.original_name for w in loaded.trainable_weights] == trained
    assert loaded.predict(X).tolist() == expected


@pytest.mark.parametrize("suffix", ["", ".keras", ".h5"])
def test_a_layer_that_got_another_name_is_saved_under_it(tmp_path, suffix):
    inner = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[3], name="twin")], name="twin")
    model = make()
    first = model.layers[0]
    first.name = "renamed/layer"
    assert [w.original_name for w in first.weights] == ["renamed/layer/kernel", "renamed/layer/bias"]
    inner.name = "other"  # a model's name is not in the names of its weights
    assert [w.original_name for w in inner.weights] == ["twin/kernel", "twin/bias"]
    model.save(tmp_path / f"m{suffix}")
    loaded = vg.load_layers_model(tmp_path / f"m{suffix}")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert "renamed/layer" in [layer.name for layer in loaded.layers]


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_layers_that_keras_would_compute_otherwise_are_not_written_for_it(tmp_path, suffix):
    for make_layer, options in (
        (vg.layers.up_sampling2d, {"interpolation": "bilinear"}),
        (vg.layers.resizing, {"height": 3, "width": 3}),
    ):
        model = vg.sequential(layers=[make_layer(input_shape=[2, 2, 1], **options)])
        with pytest.raises(ValueError, match="would give other results in Keras; make it with half_pixel_centers=True"):
            model.save(tmp_path / f"m{suffix}")
        same = vg.sequential(layers=[make_layer(input_shape=[2, 2, 1], half_pixel_centers=True, **options)])
        same.save(tmp_path / f"m{suffix}")
        x = np.arange(4.0).reshape([1, 2, 2, 1])
        assert vg.load_layers_model(tmp_path / f"m{suffix}").predict(x).tolist() == same.predict(x).tolist()
        (tmp_path / f"m{suffix}").unlink()


def test_only_trainable_weights_can_be_saved(tmp_path):
    model = make()
    model.layers[0].trainable = False
    model.save(tmp_path, trainable_only=True)
    assert names_in(tmp_path) == [w.original_name for w in model.layers[1].weights]
    with pytest.warns(UserWarning, match="lacks 2 weights"):
        loaded = vg.load_layers_model(tmp_path, strict=False)
    assert loaded.layers[1].get_weights()[0].tolist() == model.layers[1].get_weights()[0].tolist()


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_floating_weights_are_stored_as_float32(tmp_path, dtype):
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], dtype=dtype)])
    model.save(tmp_path)
    loaded = vg.load_layers_model(tmp_path)
    assert [w.dtype for w in loaded.weights] == [dtype, dtype]
    np.testing.assert_allclose(loaded.predict(X).numpy(), model.predict(X).numpy(), rtol=2e-3)


def test_a_batch_normalization_has_its_averages_after_loading(tmp_path):
    model = vg.sequential(layers=[vg.layers.batch_normalization(input_shape=[3])])
    for _ in range(5):
        model(X, training=True)
    model.save(tmp_path)
    loaded = vg.load_layers_model(tmp_path)
    assert weights_of(loaded) == weights_of(model)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_metadata_is_kept(tmp_path):
    model = make()
    assert model.get_user_defined_metadata() is None
    model.set_user_defined_metadata({"classes": ["a", "b"], "n": 1.5})
    model.save(tmp_path)
    assert vg.load_layers_model(tmp_path).get_user_defined_metadata() == {"classes": ["a", "b"], "n": 1.5}
    with pytest.raises(TypeError, match="must be JSON values"):
        model.set_user_defined_metadata({"x": object()})


def test_what_cannot_be_saved_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="has no layers yet"):
        vg.sequential().save(tmp_path / "x")

    class Odd(vg.layers.Layer):
        def get_config(self):
            return {"x": object(), **super().get_config()}

    with pytest.raises(ValueError, match="not made of JSON values"):
        vg.sequential(layers=[Odd(input_shape=[1])]).save(tmp_path / "x")
    twins = make()
    twins.layers[0].name = twins.layers[1].name
    for suffix in ("", ".keras", ".h5"):
        with pytest.raises(ValueError, match=r"save: two layers of .* are named 'd\w+'; give one of them another name"):
            twins.save(tmp_path / f"x{suffix}")
    for name in (".", "a/./b", "/a"):
        odd = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], name=name)])
        with pytest.raises(ValueError, match=r"save: HDF5 files have no place for a layer named '.*'; give it another"):
            odd.save(tmp_path / "x.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "x.safetensors",
            {},
            r"'.*x\.safetensors' is for weights alone; use model\.save_weights, or save the model in",
        ),
        ("x.NPZ", {}, "is for weights alone; use model.save_weights"),
        (
            "x.pt",
            {},
            r"save: there is no format \.pt here; a model is saved in a folder, or as .h5, .hdf5, .json, .keras",
        ),
        ("x.onnx", {}, r"save: there is no format \.onnx here"),
        ("x.keras", {"quantize": "uint8"}, "save: only TensorFlow.js's format has quantized weights"),
        ("x.h5", {"quantize": {"uint8": "*"}}, "save: only TensorFlow.js's format has quantized weights"),
    ],
)
def test_a_suffix_that_is_not_for_models_gets_no_folder_of_that_name(tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        make().save(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["runs.v1.2", "x.npz/model.json"])
def test_folders_may_have_dots_in_their_names(tmp_path, name):
    make().save(tmp_path / name)
    assert vg.load_layers_model(tmp_path / name).built


@pytest.mark.parametrize("name", ["x.safetensors", "x.npz"])
def test_a_file_of_weights_is_not_looked_into_for_a_model(tmp_path, name):
    make().save_weights(tmp_path / name)
    with pytest.raises(vg.io.ModelFileError, match=r"holds weights alone; make the model, then model\.load_weights"):
        vg.load_layers_model(tmp_path / name)


def test_an_unwritable_place_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        make().save(tmp_path / "file" / "model")


def test_a_layer_in_a_model_and_in_one_around_it_cannot_be_saved(tmp_path):
    inner = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[3], name="shared_inside")], name="inside")
    x = vg.input(shape=[3])
    model = vg.model(inputs=x, outputs=inner.layers[0](inner(x)), name="outside")
    with pytest.raises(ValueError, match=r"shared_inside is a layer of (in|out)side and of (in|out)side, which are"):
        model.save(tmp_path)


def problems_of(model, path, **options):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.save(path, **options)
    assert {(warning.category, warning.filename) for warning in told} <= {(vg.CompatibilityWarning, __file__)}
    return [str(warning.message) for warning in told]


def test_what_tensorflow_js_cannot_open_is_told_in_one_sentence_and_saved_all_the_same(tmp_path):
    layers = [
        vg.layers.conv1d(filters=2, kernel_size=2, padding="causal", input_shape=[6, 1], name="c"),
        vg.layers.depthwise_conv1d(kernel_size=2, name="d"),
        vg.layers.conv1d(filters=2, kernel_size=2, groups=2, name="h"),
        vg.layers.gru(units=2, reset_after=True, name="g"),
    ]
    model = vg.sequential(layers=layers)
    assert problems_of(model, tmp_path) == [
        "save: TensorFlow.js cannot open this model (c: it has no causal padding; d: it has no layer DepthwiseConv1D; "
        "h: its convolutions have no groups; g: its GRU has no reset_after)"
    ]
    assert len(vg.load_layers_model(tmp_path).layers) == 4
    assert problems_of(model, tmp_path / "x.keras") == problems_of(model, tmp_path / "x.h5") == []


def test_what_tensorflow_js_computes_otherwise_is_told_too(tmp_path):
    layer = vg.layers.re_lu(negative_slope=0.5, input_shape=[2], name="r")
    assert problems_of(vg.sequential(layers=[layer]), tmp_path) == [
        "save: TensorFlow.js opens this model, but it gives other results there (r: its ReLU layer has no "
        "negative_slope)"
    ]


def test_of_many_problems_the_first_are_named_and_what_stops_it_first(tmp_path):
    leaky = [vg.layers.re_lu(negative_slope=0.5, name=f"r{i}") for i in range(7)]
    stopping = vg.layers.unit_normalization(name="u")
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[2]), *leaky, stopping])
    (told,) = problems_of(model, tmp_path)
    assert told.startswith("save: TensorFlow.js cannot open this model (u: it has no layer UnitNormalization; r0: ")
    assert told.endswith("; and 3 more)")


def test_a_loss_that_tensorflow_js_lacks_is_told_where_it_is_written(tmp_path):
    model = make()
    model.compile(optimizer="sgd", loss="huber")
    assert problems_of(model, tmp_path) == []
    assert problems_of(model, tmp_path, include_optimizer=True) == [
        "save: TensorFlow.js cannot open this model (its loss is huber, which it lacks; save without include_optimizer)"
    ]


def test_a_model_that_tensorflow_js_opens_is_saved_without_a_word(tmp_path):
    assert problems_of(make(), tmp_path) == []
