"""`varigrad convert`: between all formats, with the same results."""

import numpy as np
import pytest

import varigrad as vg

X = np.random.default_rng(0).normal(size=[3, 4]).astype(np.float32)


def model(**options):
    return vg.sequential(
        layers=[
            vg.layers.dense(units=5, activation="relu", input_shape=[4], name="first", **options),
            vg.layers.batch_normalization(name="norm"),
            vg.layers.dense(units=2, name="second"),
        ],
        name="converted",
    )


FORMATS = ["folder", "other/x.json", "x.keras", "x.h5"]


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_models_keep_their_results_between_all_formats(run, source, target):
    original = model()
    original.save(f"in/{source}")
    outcome = run("convert", f"in/{source}", f"out/{target}")
    assert (outcome.code, outcome.err) == (0, "")
    assert "8 weights, 57 numbers" in outcome.out
    converted = vg.load_layers_model(f"out/{target}")
    assert converted.predict(X).tolist() == original.predict(X).tolist()
    assert [layer.name for layer in converted.layers if layer.weights] == ["first", "norm", "second"]


@pytest.mark.parametrize("target", ["x.npz", "x.safetensors", "x.weights.h5"])
def test_weights_alone_come_out_of_a_model(run, target):
    original = model()
    original.save("x.keras")
    assert run("convert", "x.keras", target).code == 0
    other = model()
    other.load_weights(target)
    assert other.predict(X).tolist() == original.predict(X).tolist()


def test_weights_alone_go_from_one_format_to_the_other(run):
    original = model()
    original.save_weights("x.npz")
    assert run("convert", "x.npz", "y.safetensors").code == 0
    assert run("convert", "y.safetensors", "z.npz").code == 0
    assert {name: v.tolist() for name, v in np.load("z.npz").items()} == {
        name: v.tolist() for name, v in np.load("x.npz").items()
    }
    outcome = run("convert", "x.npz", "y.keras")
    assert outcome.code == 2
    assert "x.npz holds weights but no model" in outcome.err


def test_weights_are_quantized_by_name(run):
    original = model()
    original.save("x.keras")
    outcome = run("convert", "x.keras", "out", "--quantize", "uint8=*/kernel", "--quantize", "float16")
    assert outcome.code == 0
    assert "largest error of quantization" in outcome.out
    shown = run("inspect", "out").out
    assert "2 weights are quantized to uint8" in shown
    assert "6 weights are quantized to float16" in shown
    difference = np.abs(vg.load_layers_model("out").predict(X).numpy() - original.predict(X).numpy()).max()
    assert 0 < difference < 0.05


@pytest.mark.parametrize(("size", "count"), [("100", 3), ("1k", 1), ("200B", 2)])
def test_weights_are_cut_into_files_of_the_size_asked_for(run, tmp_path, size, count):
    model().save("x.keras")
    assert run("convert", "x.keras", "out", "--shard-size", size).code == 0
    assert len(list((tmp_path / "out").glob("*.bin"))) == count


def test_a_compiled_model_keeps_its_optimizer(run):
    original = model()
    original.compile(optimizer="adam", loss="mean_squared_error")
    original.fit(X, np.ones([3, 2], np.float32), epochs=2, verbose=0)
    original.save("a", include_optimizer=True)
    for source, target in (("a", "b.keras"), ("b.keras", "c.h5"), ("c.h5", "d")):
        assert run("convert", source, target).err == ""
        converted = vg.load_layers_model(target)
        assert converted.bare_optimizer.iterations == 2
    for mine, theirs in zip(original.bare_optimizer.get_weights(), converted.bare_optimizer.get_weights(), strict=True):
        np.testing.assert_array_equal(mine.tensor.numpy(), theirs.tensor.numpy())


def test_what_tensorflow_js_cannot_open_is_told(run):
    layer = vg.layers.gru(units=2, reset_after=True, recurrent_activation="sigmoid", input_shape=[3, 4], name="g")
    vg.sequential(layers=[layer]).save("x.keras")
    outcome = run("convert", "x.keras", "out")
    assert outcome.code == 0
    assert outcome.err.strip() == "TensorFlow.js cannot open it: g: its GRU has no reset_after"
    assert run("convert", "x.keras", "y.h5").err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.keras", "out"], "there is no model at 'no.keras'"),
        (["no", "out"], "there is no model at no"),
        (["x.keras", "y.onnx"], "there is no format .onnx"),
        (["x.keras", "y.h5", "--quantize", "uint8"], "only TensorFlow.js's format"),
        (["x.keras", "out", "--quantize", "int4"], "takes uint8, uint16, float16"),
        (["x.keras", "out", "--shard-size", "0"], "takes a number of bytes"),
        (["x.keras", "out", "--shard-size", "4 apples"], "takes a number of bytes"),
        (["bad.keras", "out"], "no Keras archive"),
        (["bad.h5", "out"], "not an HDF5 file"),
    ],
)
def test_errors_are_one_line(run, tmp_path, words, message):
    model().save("x.keras")
    (tmp_path / "bad.keras").write_bytes(b"nonsense")
    (tmp_path / "bad.h5").write_bytes(b"nonsense")
    outcome = run("convert", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
