"""`layer.build(shape)` called by hand, as in Keras and TensorFlow.js: the layer is built then."""

import numpy as np
import pytest

import varigrad as vg

SHAPES = {
    "dense": (lambda: vg.layers.dense(units=2), [None, 3]),
    "conv2d": (lambda: vg.layers.conv2d(filters=2, kernel_size=2), [None, 4, 4, 3]),
    "batch_normalization": (vg.layers.batch_normalization, [None, 3]),
    "embedding": (lambda: vg.layers.embedding(input_dim=5, output_dim=2), [None, 3]),
    "lstm": (lambda: vg.layers.lstm(units=2), [None, 4, 3]),
    "bidirectional": (lambda: vg.layers.bidirectional(layer=vg.layers.gru(units=2)), [None, 4, 3]),
    "time_distributed": (lambda: vg.layers.time_distributed(layer=vg.layers.dense(units=2)), [None, 4, 3]),
}


@pytest.mark.parametrize("as_shape", [list, tuple])
@pytest.mark.parametrize("name", SHAPES)
def test_a_layer_built_by_hand_keeps_its_weights(name, as_shape):
    make, shape = SHAPES[name]
    x = vg.random_uniform_int([2, *shape[1:]], 0, 5, seed=1).cast("float32")
    called = make()
    expected = called(x)
    layer = make()
    layer.build(as_shape(shape))
    assert layer.built
    layer.set_weights(called.get_weights())
    weights = list(layer.weights)
    assert layer(x).tolist() == expected.tolist()
    assert len(weights) == len(layer.weights) > 0
    assert all(kept is weight for kept, weight in zip(layer.weights, weights, strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_of_results_is_asked_for_by_a_list_too(name):
    make, shape = SHAPES[name]
    assert tuple(make().compute_output_shape(shape)) == tuple(make().compute_output_shape(tuple(shape)))


class Doubled(vg.layers.Dense):
    """Builds the base's weights and a layer inside."""

    def build(self, input_shape):
        super().build(input_shape)
        self.scale = self.add_weight("scale", [1], initializer="ones")
        self.inner = vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones")
        self.inner.build([None, self.units])

    def call(self, inputs, training=None):
        return self.inner(super().call(inputs)) * self.scale


def test_a_layer_may_build_its_base_and_layers_inside_it():
    layer = Doubled(units=2, kernel_initializer="ones")
    assert layer(vg.ones([1, 3])).tolist() == [[6.0]]
    assert [weight.shape for weight in layer.weights] == [(3, 2), (2,), (1,), (2, 1)]


def test_a_custom_layer_built_by_hand_takes_its_variables_and_layers():
    layer = Doubled(units=2, kernel_initializer="ones")
    layer.build([None, 3])
    assert [weight.shape for weight in layer.weights] == [(3, 2), (2,), (1,), (2, 1)]
    assert layer(vg.ones([1, 3])).tolist() == [[6.0]]


def test_a_layer_built_by_hand_starts_with_the_weights_that_it_was_given():
    layer = vg.layers.dense(units=1, weights=[[[2.0], [3.0]], [5.0]])
    layer.build([None, 2])
    assert [weight.tolist() for weight in layer.weights] == [[[2.0], [3.0]], [5.0]]


def test_a_second_build_changes_nothing():
    layer = vg.layers.dense(units=1)
    layer.build([None, 2])
    kernel = layer.kernel.numpy().copy()
    layer.build([None, 2])
    np.testing.assert_array_equal(layer.kernel.numpy(), kernel)


def test_a_failed_build_leaves_the_layer_to_be_built():
    layer = vg.layers.dense(units=1)
    with pytest.raises(ValueError, match="dense"):
        layer.build([None, None])
    layer.build([None, 2])
    assert layer(vg.ones([1, 2])).shape == (1, 1)


def test_a_layer_of_several_inputs_says_that_one_shape_is_too_few():
    with pytest.raises(ValueError, match="takes a list of two inputs or more"):
        vg.layers.add().build([None, 3])


def test_a_layer_built_by_hand_goes_into_a_model_and_can_be_disposed_of():
    layer = vg.layers.dense(units=1)
    layer.build([None, 2])
    model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3]), layer])
    assert model.predict(vg.ones([1, 3])).shape == (1, 1)
    assert model.dispose().num_disposed_variables == 2  # the other layer's: this one has another user
    assert layer.dispose().num_disposed_variables == 2
