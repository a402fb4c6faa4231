"""Names of layers and weights, as TensorFlow.js gives them."""

import copy
import pickle

import pytest

import varigrad as vg
from varigrad.layers import naming


@pytest.fixture(autouse=True)
def fresh_counters(monkeypatch):
    monkeypatch.setattr(naming, "_counts", {})


# new C({}).name in tfjs 4.22, for a layer class of that name.
@pytest.mark.parametrize(
    ("class_name", "layer_name"),
    [
        ("Dense", "dense_Dense1"),
        ("Conv2D", "conv2d_Conv2D1"),
        ("MaxPooling2D", "max_pooling2d_MaxPooling2D1"),
        ("BatchNormalization", "batch_normalization_BatchNormalization1"),
        ("ConvLSTM2D", "conv_lst_m2d_ConvLSTM2D1"),
        ("GRUCell", "gru_cell_GRUCell1"),
        ("SimpleRNN", "simple_rnn_SimpleRNN1"),
        ("StackedRNNCells", "stacked_rnn_cells_StackedRNNCells1"),
        ("ThresholdedReLU", "thresholded_re_lu_ThresholdedReLU1"),
        ("PReLU", "p_re_lu_PReLU1"),
        ("SeparableConv2D", "separable_conv2d_SeparableConv2D1"),
        ("LSTM", "lstm_LSTM1"),
        ("MyLayer2D", "my_layer2d_MyLayer2D1"),
        ("_Foo", "private__foo__Foo1"),
    ],
)
def test_a_layer_is_named_after_its_class(class_name, layer_name):
    assert type(class_name, (vg.layers.Layer,), {})().name == layer_name


def test_names_count_up_per_class_and_weights_are_named_after_their_layer():
    # m.weights.map(w => w.name) in tfjs 4.22
    model = vg.sequential(
        layers=[
            vg.layers.conv2d(filters=2, kernel_size=3, input_shape=[4, 4, 1]),
            vg.layers.flatten(),
            vg.layers.dense(units=2),
            vg.layers.dense(units=1, use_bias=False),
        ]
    )
    assert model.name == "sequential_1"
    assert vg.sequential().name == "sequential_2"
    assert vg.layers.input_layer(input_shape=[1]).name == "input1"
    assert [w.name for w in model.weights] == [
        "conv2d_Conv2D1/kernel",
        "conv2d_Conv2D1/bias",
        "dense_Dense1/kernel",
        "dense_Dense1/bias",
        "dense_Dense2/kernel",
    ]
    assert model.inputs[0].name == "conv2d_Conv2D1_input"
    assert model.outputs[0].name == "dense_Dense2/dense_Dense2"


def test_a_given_name_does_not_count():
    assert vg.layers.dense(units=1, name="mine").name == "mine"
    assert vg.layers.dense(units=1).name == "dense_Dense1"


def test_a_second_layer_of_a_name_has_variables_of_other_names_and_the_same_original_ones():
    first, second, third = [vg.layers.dense(units=1, name="same") for _ in range(3)]
    for layer in (first, second, third):
        layer([[1.0]])
    assert [w.name for layer in (first, second, third) for w in layer.weights] == [
        "same/kernel",
        "same/bias",
        "same/kernel_1",
        "same/bias_1",
        "same/kernel_2",
        "same/bias_2",
    ]
    assert {w.original_name for w in third.weights} == {"same/kernel", "same/bias"}
    vg.dispose(first.weights)
    fourth = vg.layers.dense(units=1, name="same")
    fourth([[1.0]])
    assert fourth.weights[0].name == "same/kernel"


def test_copies_keep_the_original_names():
    layer = vg.layers.dense(units=1, name="copied")
    layer([[1.0]])
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert [w.original_name for w in other.weights] == ["copied/kernel", "copied/bias"]
        assert other.kernel is other.weights[0]
        assert {w.name for w in other.weights}.isdisjoint(w.name for w in layer.weights)


def test_weights_made_in_a_scope_have_its_name_in_front():
    class Outer(vg.layers.Layer):
        def build(self, input_shape):
            self.cell = vg.layers.dense(units=2, name="cell")
            self.cell.build(input_shape)
            with naming.name_scope("inner"):
                self.other = vg.layers.dense(units=2, name="other")
                self.other.build(input_shape)

    layer = Outer(name="outer")
    layer([[1.0]])
    assert [w.original_name for w in layer.cell.weights] == ["outer/kernel", "outer/bias"]
    assert [w.original_name for w in layer.other.weights] == ["outer/inner/kernel", "outer/inner/bias"]


def test_two_weights_of_one_name_are_an_error():
    class Twice(vg.layers.Layer):
        def build(self, input_shape):
            self.add_weight("w", [1])
            self.add_weight("w", [1])

    with pytest.raises(ValueError, match="twice: has a weight named 'w' already"):
        Twice(name="twice")([1.0])
