"""`varigrad inspect`: what it says is in a model file."""

import pytest

import varigrad as vg


def test_layers_sizes_and_compatibility_are_shown(run):
    layers = [
        vg.layers.dense(units=5, input_shape=[4], name="first", trainable=False),
        vg.layers.dense(units=2, name="second"),
    ]
    vg.sequential(layers=layers, name="looked_at").save("x")
    outcome = run("inspect", "x")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].strip() == "looked_at (Sequential)"
    (first,) = [line for line in lines if "first" in line and "Dense" in line]
    assert "[?, 5]" in first
    assert "25 (frozen)" in first
    assert "100 B" in first
    text = outcome.out
    assert "37 numbers in 4 weights (4 float32), 148 B in memory" in text
    assert "12 of them are trained, 25 are not" in text
    assert "148 B in 1 file of weights" in text
    assert "TensorFlow.js 4.22 opens it" in text


def test_models_inside_are_shown(run):
    x = vg.input(shape=[4])
    inner = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[4], name="deep")], name="inner")
    vg.model(inputs=x, outputs=vg.layers.dense(units=1, name="top")(inner(x))).save("x.keras")
    outcome = run("inspect", "x.keras")
    assert outcome.code == 0
    assert "  deep" in outcome.out
    assert "on disk" in outcome.out


def test_what_tensorflow_js_lacks_is_said(run):
    layers = [
        vg.layers.group_normalization(groups=2, input_shape=[4], name="norm"),
        vg.layers.dense(units=2, activation="hard_silu", name="dense"),
    ]
    vg.sequential(layers=layers).save("x.h5")
    outcome = run("inspect", "x.h5")
    assert "TensorFlow.js cannot open it: norm: it has no layer GroupNormalization" in outcome.out
    assert "TensorFlow.js cannot open it: dense: it has no activation hard_silu" in outcome.out


def test_a_compiled_model_says_how(run):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])])
    model.compile(optimizer="sgd", loss="mean_squared_error")
    model.save("x", include_optimizer=True)
    assert "compiled: loss mean_squared_error, optimizer SGD" in run("inspect", "x").out


@pytest.mark.parametrize(
    ("loss", "opens"), [("mse", True), ("huber", False), (["huber"], False), ({"p": "huber"}, False)]
)
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_loss_that_tensorflow_js_lacks_is_named(run, loss, opens):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2], name="p")])
    model.compile(optimizer="sgd", loss=loss)
    model.save("x", include_optimizer=True)
    reason = (
        "TensorFlow.js cannot open it: compiled with the loss huber, which it lacks; save without include_optimizer"
    )
    assert run("inspect", "x").out.splitlines()[-1] == ("TensorFlow.js 4.22 opens it" if opens else reason)
    model.save("y")
    assert run("inspect", "y").out.splitlines()[-1] == "TensorFlow.js 4.22 opens it"


def test_no_model_is_one_line(run):
    outcome = run("inspect", "nowhere")
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1
