"""Clipping of gradients in dicts, and as options of optimizers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

GRADIENTS = {"a": vg.tensor([3.0, 4.0]), "b": vg.tensor([[12.0]]), "c": None}


def values(gradients):
    return {name: None if g is None else g.numpy() for name, g in gradients.items()}


@given(
    st.lists(st.lists(st.floats(-1e3, 1e3, width=32), max_size=5), min_size=1, max_size=4),
    st.floats(0.125, 1e3, width=32),
)
@settings(max_examples=50)
def test_clipping_agrees_with_its_definition_in_numpy(numbers, limit):
    arrays = {f"g{i}": np.array(row, "float32") for i, row in enumerate(numbers)}
    tensors = {name: vg.tensor(array, dtype="float32") for name, array in arrays.items()}
    total = np.sqrt(sum(np.sum(np.square(g.astype("float64"))) for g in arrays.values()))
    assert vg.train.global_norm(tensors).item() == pytest.approx(total, rel=1e-5, abs=1e-20)
    for name, clipped in values(vg.train.clip_by_global_norm(tensors, limit)).items():
        np.testing.assert_allclose(clipped, arrays[name] * min(1, limit / max(total, 1e-30)), rtol=1e-5, atol=1e-37)
    for name, clipped in values(vg.train.clip_by_norm(tensors, limit)).items():
        norm = np.linalg.norm(arrays[name].astype("float64"))
        np.testing.assert_allclose(clipped, arrays[name] * min(1, limit / max(norm, 1e-30)), rtol=1e-5, atol=1e-37)
    for name, clipped in values(vg.train.clip_by_value(tensors, -limit, limit)).items():
        np.testing.assert_array_equal(clipped, np.clip(arrays[name], -limit, limit))


def test_gradients_of_zeros_stay_zeros():
    zeros = {"a": vg.zeros([3]), "b": vg.zeros([])}
    for clipped in (vg.train.clip_by_norm(zeros, 1.0), vg.train.clip_by_global_norm(zeros, 1.0)):
        assert clipped["a"].tolist() == [0.0, 0.0, 0.0]
        assert clipped["b"].item() == 0.0


def test_dicts_without_gradients_are_left_alone():
    for empty in ({}, {"a": None}):
        assert vg.train.clip_by_global_norm(empty, 1.0) == empty
        assert vg.train.clip_by_norm(empty, 1.0) == empty
        assert vg.train.clip_by_value(empty, -1, 1) == empty
        assert vg.train.global_norm(empty).item() == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_makes_all_gradients_nan_under_the_global_norm(bad):
    clipped = vg.train.clip_by_global_norm({"a": vg.tensor([1.0]), "b": vg.tensor([bad, 2.0])}, 1.0)
    assert np.isnan(clipped["a"].numpy()).all()
    assert np.isnan(clipped["b"].numpy()).all()
    each = vg.train.clip_by_norm({"a": vg.tensor([1.0]), "b": vg.tensor([bad, 2.0])}, 1.0)
    assert each["a"].tolist() == [1.0]
    assert np.isnan(each["b"].numpy()).all()


def test_squares_that_overflow_do_not_spoil_the_norm():
    gradients = {"a": vg.tensor([3e30, 4e30])}
    assert vg.train.global_norm(gradients).item() == pytest.approx(5e30)
    np.testing.assert_allclose(vg.train.clip_by_global_norm(gradients, 1.0)["a"].numpy(), [0.6, 0.8], rtol=1e-6)


def test_each_gradient_keeps_its_dtype():
    mixed = {"half": vg.ones([4], "float16"), "single": vg.ones([4]), "double": vg.ones([8], "float64")}
    assert vg.train.global_norm(mixed).item() == 4.0
    clipped = vg.train.clip_by_global_norm(mixed, 2.0)
    assert {name: g.dtype for name, g in clipped.items()} == {
        "half": "float16",
        "single": "float32",
        "double": "float64",
    }
    assert clipped["half"].tolist() == [0.5] * 4


def test_clipping_can_be_differentiated():
    # The norm is 5, so x goes to x / 5 and the derivative of its first number is (1 - 0.36) / 5, -0.48 / 5.
    gradient = vg.grad(lambda x: vg.train.clip_by_global_norm({"x": x}, 1.0)["x"][0])(vg.tensor([3.0, 4.0]))
    np.testing.assert_allclose(gradient.numpy(), [0.128, -0.096], rtol=1e-5)


@pytest.mark.parametrize("option", ["clip_norm", "global_clip_norm", "clip_value"])
def test_the_option_does_what_the_function_does(option):
    functions = {
        "clip_norm": lambda g: vg.train.clip_by_norm(g, 2.0),
        "global_clip_norm": lambda g: vg.train.clip_by_global_norm(g, 2.0),
        "clip_value": lambda g: vg.train.clip_by_value(g, -2.0, 2.0),
    }
    variables = {"a": vg.variable([0.0, 0.0], name="a"), "b": vg.variable([[0.0]], name="b")}
    variables["c"] = vg.variable([1.0], name="c")
    optimizer = vg.train.sgd(1.0, **{option: 2.0})
    optimizer.apply_gradients(GRADIENTS)
    for name, clipped in values(functions[option](GRADIENTS)).items():
        expected = [1.0] if clipped is None else -clipped
        np.testing.assert_allclose(variables[name].numpy(), expected, rtol=1e-6)
    assert optimizer.get_config() == {"learning_rate": 1.0, option: 2.0}
    assert getattr(vg.train.SGDOptimizer.from_config(optimizer.get_config()), option) == 2.0


def test_the_global_norm_of_an_optimizer_leaves_frozen_variables_out():
    a, b = vg.variable([0.0], name="a"), vg.variable([0.0], name="b")
    b.trainable = False
    vg.train.sgd(1.0, global_clip_norm=1.0).apply_gradients({"a": vg.tensor([0.5]), "b": vg.tensor([100.0])})
    assert a.tolist() == [-0.5]
    assert b.tolist() == [0.0]


def test_bad_arguments_are_one_clear_error():
    with pytest.raises(ValueError, match=r"train\.clip_by_value: low 1 exceeds high -1"):
        vg.train.clip_by_value(GRADIENTS, 1, -1)
    for clip in (vg.train.clip_by_norm, vg.train.clip_by_global_norm):
        with pytest.raises(ValueError, match="clip_norm must be positive, got 0"):
            clip(GRADIENTS, 0)
        with pytest.raises(TypeError, match="takes a dict of gradients by name, got Tensor"):
            clip(vg.ones([2]), 1.0)
        with pytest.raises(TypeError, match="the gradient 'a' is int32"):
            clip({"a": vg.ones([2], "int32")}, 1.0)
