"""Layers that merge. Numbers of all options are in tests/layers/reference and tests/layers/keras_reference."""

import numpy as np
import pytest

import varigrad as vg

A, B = vg.tensor([[1.0, 5.0]]), vg.tensor([[4.0, 2.0]])
SHORT = {
    "add": [5, 7],
    "subtract": [-3, 3],
    "multiply": [4, 10],
    "average": [2.5, 3.5],
    "maximum": [4, 5],
    "minimum": [1, 2],
    "concatenate": [1, 5, 4, 2],
}


@pytest.mark.parametrize("name", SHORT)
def test_a_list_of_tensors_is_merged_at_once(name):
    factory = getattr(vg.layers, name)
    assert factory([A, B]).tolist() == [SHORT[name]]
    assert factory()([A, B]).tolist() == [SHORT[name]]
    x, y = vg.input(shape=[2]), vg.input(shape=[2])
    model = vg.model(inputs=[x, y], outputs=factory([x, y]))
    assert model.predict([A, B]).tolist() == [SHORT[name]]


def test_arrays_are_merged_too():
    assert vg.layers.add([np.ones([1, 2]), np.ones([1, 2])]).tolist() == [[2, 2]]


def test_unknown_lengths():
    x, y = vg.input(shape=[None, 3]), vg.input(shape=[None, 4])
    assert vg.layers.concatenate([x, y]).shape == (None, None, 7)
    assert vg.layers.concatenate(axis=1)([x, x]).shape == (None, None, 3)
    assert vg.layers.dot(axes=1)([x, y]).shape == (None, 3, 4)
    z = vg.input(shape=[1, 3])
    assert vg.layers.add([x, z]).shape == (None, None, 3)
    assert vg.layers.add([vg.input(shape=[5, 3]), x]).shape == (None, 5, 3)


def test_a_negative_axis_counts_from_the_back():
    y = vg.layers.concatenate(axis=-2)([vg.zeros([2, 3, 4]), vg.zeros([2, 1, 4])])
    assert y.shape == (2, 4, 4)


def test_masks_are_concatenated_along_the_time_and_what_has_none_counts():
    layer = vg.layers.concatenate(axis=1)
    inputs = [vg.zeros([1, 2, 3]), vg.zeros([1, 3, 3])]
    mask = layer.compute_mask(inputs, [vg.tensor([[True, False]]), None])
    assert mask.tolist() == [[True, False, True, True, True]]
    assert layer.compute_mask(inputs, [None, None]) is None


def test_a_cosine_of_nothing_is_zero_with_a_finite_gradient():
    layer = vg.layers.dot(axes=1, normalize=True)
    x, y = vg.variable([[0.0, 0.0]]), vg.variable([[3.0, 4.0]])
    value, grads = vg.variable_grads(lambda: layer([x, y]).sum())
    assert value.item() == 0
    assert np.isfinite([grads[x.name].numpy(), grads[y.name].numpy()]).all()


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_of_all_is_stored_and_loaded(tmp_path):
    x, y = vg.input(shape=[3, 4]), vg.input(shape=[3, 4])
    merged = [getattr(vg.layers, name)([x, y]) for name in SHORT]
    dots = [vg.layers.dot(axes=2)([x, y]), vg.layers.dot(axes=[1, 1], normalize=True)([x, y])]
    model = vg.model(inputs=[x, y], outputs=[*merged, *dots])
    values = [np.sin(np.arange(24)).reshape(2, 3, 4), np.cos(np.arange(24)).reshape(2, 3, 4)]
    model.save(tmp_path)
    for one, other in zip(vg.load_layers_model(tmp_path).predict(values), model.predict(values), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


ERRORS = {
    "one": (lambda: vg.layers.add()(A), r"takes a list of two inputs or more \(add\(\[x, y\]\)\)"),
    "three": (lambda: vg.layers.subtract([A, A, A]), "takes 2 inputs, got 3"),
    "batches": (
        lambda: vg.layers.add([A, vg.zeros([2, 2])]),
        r"batches of different sizes \(inputs: \[1, 2\], \[2, 2\]",
    ),
    "broadcast": (
        lambda: vg.layers.add([A, vg.zeros([1, 3])]),
        r"do not broadcast together \(inputs: \[1, 2\], \[1, 3\]",
    ),
    "concatenate": (
        lambda: vg.layers.concatenate()([vg.zeros([1, 2, 3]), vg.zeros([1, 3, 3])]),
        "must have one shape but for axis -1",
    ),
    "axis": (lambda: vg.layers.concatenate(axis=2)([A, A]), "there is no axis 2 in inputs of rank 2"),
    "dot": (
        lambda: vg.layers.dot(axes=1)([A, vg.zeros([1, 3])]),
        "axis 1 of the first input must be as long as axis 1",
    ),
    "dot rank": (lambda: vg.layers.dot(axes=1)([A, vg.zeros([1, 2, 3, 4])]), "two inputs of rank 2 or 3"),
    "dot batch": (lambda: vg.layers.dot(axes=0)([A, A]), "axes must not be 0, the batch"),
    "dot axes": (lambda: vg.layers.dot(axes=[1, 2, 3]), "axes must be an integer or two"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    run, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        run()
