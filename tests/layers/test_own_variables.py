"""Variables that a layer of one's own makes itself, without `add_weight`."""

import copy
import gc
import pickle

import numpy as np
import pytest

import varigrad as vg

pytestmark = pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")


class Scale(vg.layers.Layer):
    """One weight by `add_weight`, and variables as attributes, made at both times."""

    def __init__(self, **options):
        super().__init__(**options)
        self.shift = vg.variable([0.5, 0.5])
        self.count = vg.variable(7.0, trainable=False)

    def build(self, input_shape):
        self.w = vg.variable(np.full(input_shape[-1:], 2.0))
        self.kernel = self.add_weight("kernel", [input_shape[-1], 2], initializer="ones")
        self.gains = [vg.variable(1.0), vg.variable(1.0)]
        self.by_name = {"last": vg.variable(1.0)}

    def call(self, x):
        return (x * self.w) @ self.kernel * self.gains[0] * self.gains[1] * self.by_name["last"] + self.shift


NAMES = ["kernel", "shift", "w", "gains_0", "gains_1", "by_name_last", "count"]


def model_of(layer):
    return vg.sequential(layers=[layer, vg.layers.dense(units=1, kernel_initializer="ones")])


def test_they_are_weights_by_the_names_of_their_attributes():
    layer = Scale(name="mine", input_shape=[3])
    model = model_of(layer)
    assert [w.original_name for w in layer.weights] == [f"mine/{name}" for name in NAMES]
    assert [w.original_name for w in layer.non_trainable_weights] == ["mine/count"]
    assert model.weights[:6] == layer.trainable_weights[:6]
    assert layer.kernel is layer.weights[0]
    assert layer.w is layer.weights[2]
    assert layer.count_params() == 6 + 2 + 3 + 3 + 1
    lines = []
    model.summary(print_fn=lines.append)
    assert "Trainable params: 17" in lines
    assert "Non-trainable params: 1" in lines


@pytest.mark.parametrize("jit", [False, True])
def test_they_are_trained_as_those_of_add_weight_are(jit):
    class Same(vg.layers.Layer):
        def __init__(self, by_hand, **options):
            super().__init__(**options)
            self.by_hand = by_hand

        def build(self, input_shape):
            self.w = vg.variable(np.ones((3, 2))) if self.by_hand else self.add_weight("w", [3, 2], initializer="ones")

        def call(self, x):
            return x @ self.w

    x, y = np.arange(12.0).reshape(4, 3) / 12, np.arange(8.0).reshape(4, 2)
    trained = []
    for by_hand in (False, True):
        model = vg.sequential(layers=[Same(by_hand, input_shape=[3])])
        model.compile(optimizer="adam", loss="mean_squared_error", jit=jit)
        model.fit(x, y, epochs=3, verbose=0, shuffle=False)
        trained.append(model.layers[0].w.numpy())
    assert not np.array_equal(trained[0], np.ones((3, 2)))
    np.testing.assert_array_equal(*trained)


def test_freezing_the_layer_freezes_them_before_and_after_it_is_built():
    layer = Scale(input_shape=[3], trainable=False)
    model = model_of(layer)
    assert [w.trainable for w in layer.weights] == [False] * 7
    assert len(model.trainable_weights) == 2
    layer.trainable = True
    assert [w.trainable for w in layer.weights] == [True] * 6 + [False]


@pytest.mark.parametrize("name", ["folder", "model.keras", "model.h5"])
def test_files_keep_them(tmp_path, name):
    model = model_of(Scale(name="mine", input_shape=[3]))
    model.set_weights([np.full(w.shape, 1.5 + place) for place, w in enumerate(model.weights)])
    model.save(tmp_path / name)
    loaded = vg.load_layers_model(tmp_path / name, custom_objects={"Scale": Scale})
    assert [w.tolist() for w in loaded.weights] == [w.tolist() for w in model.weights]
    assert [w.original_name for w in loaded.weights] == [w.original_name for w in model.weights]
    x = np.arange(6.0).reshape(2, 3)
    assert loaded.predict(x).tolist() == model.predict(x).tolist()


def test_they_start_as_they_were_made_where_a_config_alone_is_loaded():
    with vg.serialization.custom_object_scope({"Scale": Scale}):
        model = vg.models.model_from_json(model_of(Scale(input_shape=[3])).to_json())
    assert model.layers[0].w.tolist() == [2, 2, 2]


def test_a_weight_of_another_layer_is_that_ones_alone():
    class Tied(vg.layers.Layer):
        def __init__(self, dense, **options):
            super().__init__(**options)
            self.kernel = dense.kernel
            self.own = vg.variable([0.0, 0.0, 0.0])

        def call(self, x):
            return x @ self.kernel.transpose() + self.own

    dense = vg.layers.dense(units=2, input_shape=[3], use_bias=False)
    dense([[1, 2, 3]])
    tied = Tied(dense)
    model = vg.sequential(layers=[dense, tied])
    assert model.weights == [dense.kernel, tied.own]
    tied.trainable = False
    assert dense.kernel.trainable
    assert not tied.own.trainable


def test_a_weight_of_a_layer_that_is_gone_is_taken_over():
    class Reuse(vg.layers.Layer):
        def __init__(self, kernel):
            super().__init__()
            self.kernel = kernel

        def call(self, x):
            return x @ self.kernel

    dense = vg.layers.dense(units=2, input_shape=[3])
    dense([[1, 2, 3]])
    kernel = dense.kernel
    del dense
    gc.collect()
    layer = Reuse(kernel)
    layer([[1, 2, 3]])
    assert layer.weights == [kernel]


def test_two_layers_of_the_users_own_share_what_the_first_took():
    shared = vg.variable([1.0, 1.0])

    class Times(vg.layers.Layer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def call(self, x):
            return x * self.factor

    first, second = Times(shared), Times(shared)
    second(first([[1, 2]]))
    assert first.weights == [shared]
    assert second.weights == []


def test_those_of_layers_inside_layers_and_of_cells_are_found():
    class Around(vg.layers.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.inner = Scale(name="inner")

        def call(self, x):
            return self.inner(x)

    class Cell(vg.layers.RNNCell):
        state_size = 2

        def build(self, input_shape):
            self.w = vg.variable(np.ones((3, 2)))

        def call(self, inputs, training=None):
            x, state = inputs
            y = x @ self.w + state
            return [y, y]

    layers = [
        Around(input_shape=[3]),
        vg.layers.rnn(cell=Cell(), input_shape=[4, 3]),
        vg.layers.time_distributed(layer=Scale(), input_shape=[4, 3]),
    ]
    assert [len(vg.sequential(layers=[layer]).weights) for layer in layers] == [7, 1, 7]


def test_the_states_of_a_recurrence_are_none():
    model = vg.sequential(layers=[vg.layers.lstm(units=2, stateful=True, batch_input_shape=[1, 4, 3])])
    model.predict(np.ones((1, 4, 3)))
    assert len(model.weights) == 3


def test_a_new_variable_in_call_is_an_error_that_says_where_it_belongs():
    class Late(vg.layers.Layer):
        def call(self, x):
            self.w = vg.variable([1.0, 1.0])
            return x * self.w

    with pytest.raises(ValueError, match=r"late: w gets a new variable .* make it in build \(or __init__\)"):
        Late(name="late")(vg.tensor([[1.0, 2.0]]))


def test_copies_have_their_own_and_can_set_them_again():
    layer = Scale(name="mine")
    layer([[1, 2, 3]])
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert [w.original_name for w in twin.weights] == [w.original_name for w in layer.weights]
        assert twin.w is twin.weights[2]
        assert twin.w is not layer.w
        twin.w = twin.w
    layer.set_weights([w * 0 for w in layer.get_weights()])
    assert twin([[1, 2, 3]]).tolist() == [[12.5, 12.5]]


def test_a_name_that_add_weight_gave_gets_a_number():
    class Twice(vg.layers.Layer):
        def build(self, input_shape):
            self.first = self.add_weight("w", [2])
            self.w = vg.variable([1.0, 1.0])

        def call(self, x):
            return x * self.w + self.first

    layer = Twice(name="mine")
    layer([[1, 2]])
    assert [w.original_name for w in layer.weights] == ["mine/w", "mine/w_1"]
