"""Stacks of layers."""

import pickle

import numpy as np
import pytest

import varigrad as vg
from varigrad.layers import naming


def regression_model():
    return vg.sequential(
        layers=[vg.layers.dense(units=10, activation="relu", input_shape=[5]), vg.layers.dense(units=1)]
    )


X = np.random.default_rng(0).normal(size=[70, 5]).astype(np.float32)


def by_hand(model, x):
    for kernel, bias in zip(*[iter(model.get_weights())] * 2):
        y = x @ kernel.numpy() + bias.numpy()
        x = np.maximum(y, 0)
    return y


def test_a_model_computes_what_its_layers_do():
    model = regression_model()
    expected = by_hand(model, X)
    for y in (model(X), model.predict(X), model.predict(X, batch_size=1000), model.predict_on_batch(X)):
        assert isinstance(y, vg.Tensor)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert model.predict(X[:0]).shape == (0, 1)
    assert model.predict(X, batch_size=7).shape == (70, 1)


def test_predict_computes_in_batches():
    sizes = []

    class Spy(vg.layers.Layer):
        def call(self, inputs):
            sizes.append(inputs.shape[0])
            return inputs * 1

    model = vg.sequential(layers=[Spy(input_shape=[5])])
    sizes.clear()  # of the trial that tells the shape
    assert model.predict(X).tolist() == X.tolist()
    assert sizes == [32, 32, 6]
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        model.predict(X, batch_size=0)
    sizes.clear()
    vg.grad(lambda x: model.predict(x))(X)
    assert sizes == [70]


def test_predict_is_differentiable_in_weights_and_inputs():
    model = regression_model()
    value, grads = vg.variable_grads(lambda: model.predict(X).square().mean())
    assert grads.keys() == {w.name for w in model.weights}
    assert value.item() == pytest.approx((by_hand(model, X) ** 2).mean(), rel=1e-5)
    np.testing.assert_allclose(grads[model.weights[-1].name].numpy(), [2 * by_hand(model, X).mean()], rtol=1e-5)
    assert vg.grad(lambda x: model.predict(x).sum())(X).shape == (70, 5)


def test_a_model_trains_by_hand():
    vg.set_random_seed(5)
    model = regression_model()
    y = X.sum(1, keepdims=True)
    optimizer = vg.train.adam(0.05)
    losses = [
        optimizer.minimize(lambda: (model.predict(X) - y).square().mean(), return_cost=True).item() for _ in range(100)
    ]
    assert losses[-1] < losses[0] / 50


def test_training_reaches_the_layers_and_predict_is_not_training():
    model = vg.sequential(layers=[vg.layers.dropout(rate=0.5, seed=1, input_shape=[100])])
    ones = vg.ones([1, 100])
    assert set(model(ones, training=True).tolist()[0]) == {0, 2}
    assert model(ones).tolist() == model.predict(ones).tolist() == ones.tolist()


def test_the_result_is_a_tensor_of_its_own():
    model = vg.sequential(layers=[vg.layers.dropout(rate=0.5, input_shape=[2])])
    x = vg.ones([1, 2])
    model.predict(x).dispose()
    assert x.tolist() == [[1, 1]]


def test_shapes_are_known_once_a_layer_is_added():
    model = vg.sequential()
    assert model.layers == []
    model.add(vg.layers.conv2d(filters=3, kernel_size=3, input_shape=[8, 8, 1]))
    assert model.outputs[0].shape == (None, 6, 6, 3)
    model.add(vg.layers.max_pooling2d())
    model.add(vg.layers.flatten())
    model.add(vg.layers.dense(units=2))
    assert model.inputs[0].shape == (None, 8, 8, 1)
    assert model.outputs[0].shape == model.output_shape == (None, 2)
    assert [layer.output_shape for layer in model.layers] == [(None, 6, 6, 3), (None, 3, 3, 3), (None, 27), (None, 2)]
    assert model.count_params() == 30 + 56
    model.pop()
    assert model.output_shape == (None, 27)
    assert model.predict(vg.zeros([2, 8, 8, 1])).shape == (2, 27)


def test_popping_all_layers_empties_the_model():
    model = regression_model()
    model.pop()
    model.pop()
    assert model.layers == model.inputs == model.outputs == []
    with pytest.raises(ValueError, match="has no layers"):
        model.pop()
    with pytest.raises(ValueError, match="has no layers yet"):
        model.predict(X)
    with pytest.raises(ValueError, match="has no layers yet"):
        model.summary()
    model.add(vg.layers.dense(units=2, input_shape=[3]))
    assert model.predict(vg.zeros([1, 3])).shape == (1, 2)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([2, 4], "m: takes inputs of shape [?, 5], got [2, 4]"),
        ([5], "m: takes inputs of shape [?, 5], got [5]"),
        ([2, 5, 1], "m: takes inputs of shape [?, 5], got [2, 5, 1]"),
        ([], "m: takes inputs of shape [?, 5], got []"),
    ],
)
@pytest.mark.parametrize("call", ["predict", "__call__", "predict_on_batch"])
def test_input_of_another_shape_is_an_error_that_names_both(shape, message, call):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[5])], name="m")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        getattr(model, call)(np.zeros(shape))
    assert str(caught.value) == message


def test_an_error_inside_names_the_layer():
    class Failing(vg.layers.Layer):
        def call(self, inputs):
            raise RuntimeError("on purpose")

    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1]), Failing(name="bad")], name="m")
    with pytest.raises(RuntimeError, match="on purpose") as caught:
        model.predict([[1.0]])
    assert caught.value.__notes__ == ["in layer bad of m"]
    layers = [vg.layers.reshape(target_shape=[-1, 3], input_shape=[None]), vg.layers.dense(units=1, name="d")]
    unknown = vg.sequential(layers=layers)
    assert unknown.predict(np.zeros([2, 6])).shape == (2, 2, 1)

    class Halving(vg.layers.Layer):
        def call(self, inputs):
            return inputs[:, : inputs.shape[1] // 2]

        def compute_output_shape(self, input_shape):
            return (input_shape[0], 4)

    wrong = vg.sequential(layers=[Halving(input_shape=[None]), vg.layers.dense(units=1, name="d")])
    assert wrong.predict(np.zeros([2, 8])).shape == (2, 1)
    with pytest.raises(ValueError, match=r"d: was made for inputs with 4 on axis -1, got shape \[2, 3\]"):
        wrong.predict(np.zeros([2, 6]))


def test_models_are_pickled_and_symbolic_tensors_shown():
    model = regression_model()
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X).numpy(), model.predict(X).numpy())
    assert [w.original_name for w in other.weights] == [w.original_name for w in model.weights]
    name = f"{model.layers[0].name}_input"
    assert repr(model.inputs[0]) == f"SymbolicTensor({name!r}, shape=[?, 5], dtype=float32)"


def test_a_fixed_batch_is_checked():
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[5], batch_size=3)], name="m")
    assert model.predict(vg.zeros([3, 5])).shape == (3, 1)
    with pytest.raises(ValueError, match=r"m: takes inputs of shape \[3, 5\], got \[2, 5\]"):
        model.predict(vg.zeros([2, 5]))


def test_a_first_layer_without_a_shape_is_an_error():
    with pytest.raises(
        ValueError, match="add: d, the first layer of m, must be given input_shape or batch_input_shape"
    ):
        vg.sequential(layers=[vg.layers.dense(units=1, name="d")], name="m")


def test_what_cannot_be_stacked_is_an_error():
    model = regression_model()
    with pytest.raises(TypeError, match="add: needs a layer, got str"):
        model.add("dense")
    with pytest.raises(ValueError, match="a stack cannot use a layer twice"):
        model.add(model.layers[1])
    with pytest.raises(
        ValueError, match=r"d was made for inputs of shape \[\?, 3\], but dense_Dense\d+, the layer below"
    ):
        model.add(vg.layers.dense(units=1, input_shape=[3], name="d"))
    with pytest.raises(ValueError, match="has a layer named 'same' already; choose another name"):
        vg.sequential(
            layers=[vg.layers.dense(units=1, name="same", input_shape=[1]), vg.layers.dense(units=1, name="same")]
        )
    with pytest.raises(ValueError, match=r"f: takes inputs of rank 4, got shape \[\?, 1\]"):
        model.add(vg.layers.max_pooling2d(name="f"))
    with pytest.raises(ValueError, match=r"add: \w+ cannot be a layer of itself"):
        model.add(model)
    around = vg.sequential(layers=[model])
    with pytest.raises(ValueError, match=r"add: \w+ cannot be a layer of itself"):
        model.add(around)
    with pytest.raises(ValueError, match=r"add: \w+ cannot be a layer of itself"):
        model.add(vg.model(inputs=model.inputs, outputs=around(model.inputs[0])))


def test_a_counted_name_that_a_loaded_layer_has_is_passed_over(monkeypatch):
    monkeypatch.setattr(naming, "_counts", {})
    model = vg.sequential(layers=[vg.layers.dense(units=1, name="dense_Dense1", input_shape=[1])])
    model.add(vg.layers.dense(units=1))
    assert [layer.name for layer in model.layers] == ["dense_Dense1", "dense_Dense2"]


def test_layers_are_found_by_name_and_index():
    model = vg.sequential(layers=[vg.layers.dense(units=1, name="first", input_shape=[1])], name="m")
    assert model.get_layer("first") is model.get_layer(index=0) is model.layers[0]
    with pytest.raises(ValueError, match=r"get_layer: m has no layer 'frist'; did you mean 'first'\?"):
        model.get_layer("frist")
    with pytest.raises(ValueError, match="m has 1 layers, none at index 1"):
        model.get_layer(index=1)


def test_a_model_is_a_layer_of_another():
    inner = regression_model()
    model = vg.sequential(layers=[inner, vg.layers.dense(units=2)])
    y = model.predict(X)
    assert y.shape == (70, 2)
    assert [w.name for w in model.weights[:4]] == [w.name for w in inner.weights]
    _, grads = vg.variable_grads(lambda: model(X).sum())
    assert len(grads) == 6
    assert model.inputs[0].shape == (None, 5)


def test_freezing_a_model_freezes_its_layers_and_thawing_leaves_frozen_layers_frozen():
    model = regression_model()
    first, second = model.layers
    first.trainable = False
    assert model.trainable_weights == second.weights
    model.trainable = False
    assert model.trainable_weights == []
    assert [w.trainable for w in model.weights] == [False] * 4
    model.trainable = True
    assert [w.trainable for w in model.weights] == [False, False, True, True]
    assert model.non_trainable_weights == first.weights


def test_weights_come_in_the_order_of_tensorflow_js():
    # s.getWeights() of dense-batchNormalization-dense in tfjs 4.22: the averages come last.
    model = vg.sequential(
        layers=[
            vg.layers.dense(units=2, input_shape=[3]),
            vg.layers.batch_normalization(),
            vg.layers.dense(units=1),
        ]
    )
    parts = ["kernel", "bias", "gamma", "beta", "kernel", "bias", "moving_mean", "moving_variance"]
    assert [w.original_name.split("/")[1] for w in model.weights] == parts


# Report R37: copying weights between equal networks, one of which has frozen layers.
@pytest.mark.parametrize("frozen", [[0], [1], [2], [0, 1, 2], "model"])
def test_weights_are_copied_between_equal_models_whichever_layers_are_frozen(frozen, tmp_path):
    def make():
        model = vg.sequential(
            layers=[
                vg.layers.dense(units=3, input_shape=[3], name="one"),
                vg.layers.batch_normalization(name="two"),
                vg.layers.dense(units=3, name="three"),
            ]
        )
        model.set_weights([vg.random_uniform(w.shape, 0.5, 1.5) for w in model.weights])
        return model

    def layer_by_layer(model):
        return {layer.name: [w.tolist() for w in layer.get_weights()] for layer in model.layers}

    a, b = make(), make()
    if frozen == "model":
        b.trainable = False
    else:
        for index in frozen:
            b.layers[index].trainable = False
    names = [w.original_name for w in a.weights]
    assert [w.original_name for w in b.weights] == names
    b.set_weights(a.get_weights())
    assert layer_by_layer(b) == layer_by_layer(a)
    a, fresh = make(), make()
    a.set_weights(b.get_weights())
    assert layer_by_layer(a) == layer_by_layer(b)
    b.save(tmp_path)
    assert layer_by_layer(vg.load_layers_model(tmp_path)) == layer_by_layer(b) != layer_by_layer(fresh)


# model.summary() in tfjs 4.22, of the model below.
SUMMARY = """\
__________________________________________________________________________________________
Layer (type)                Input Shape               Output shape              Param #
==========================================================================================
conv2d_Conv2D1 (Conv2D)     [[null,8,8,1]]            [null,8,8,4]              40
__________________________________________________________________________________________
max_pooling2d_MaxPooling2D1 [[null,8,8,4]]            [null,4,4,4]              0
__________________________________________________________________________________________
average_pooling2d_AveragePo [[null,4,4,4]]            [null,4,4,4]              0
__________________________________________________________________________________________
batch_normalization_BatchNo [[null,4,4,4]]            [null,4,4,4]              16
__________________________________________________________________________________________
flatten_Flatten1 (Flatten)  [[null,4,4,4]]            [null,64]                 0
__________________________________________________________________________________________
dropout_Dropout1 (Dropout)  [[null,64]]               [null,64]                 0
__________________________________________________________________________________________
activation_Activation1 (Act [[null,64]]               [null,64]                 0
__________________________________________________________________________________________
dense_Dense1 (Dense)        [[null,64]]               [null,3]                  195
==========================================================================================
Total params: 251
Trainable params: 48
Non-trainable params: 203
__________________________________________________________________________________________"""


def test_the_summary_is_that_of_tensorflow_js(monkeypatch, capsys):
    monkeypatch.setattr(naming, "_counts", {})
    model = vg.sequential(
        layers=[
            vg.layers.conv2d(filters=4, kernel_size=3, padding="same", input_shape=[8, 8, 1]),
            vg.layers.max_pooling2d(),
            vg.layers.average_pooling2d(strides=1, padding="same"),
            vg.layers.batch_normalization(),
            vg.layers.flatten(),
            vg.layers.dropout(rate=0.25),
            vg.layers.activation(activation="softmax"),
            vg.layers.dense(units=3, trainable=False),
        ]
    )
    model.summary()
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == SUMMARY.splitlines()
    lines = []
    model.summary(60, [20, 40, 52, 60], lines.append)
    assert {len(line) for line in lines if not line.startswith(("Total", "Trainable", "Non"))} == {60}


def test_a_model_is_made_again_from_its_config():
    model = regression_model()
    again = vg.Sequential.from_config(model.get_config())
    assert again.get_config() == model.get_config()
    assert [w.original_name for w in again.weights] == [w.original_name for w in model.weights]
    for text in (model.to_json(), model.to_json(return_string=False)):
        assert vg.models.model_from_json(text).get_config() == model.get_config()
    with pytest.raises(TypeError, match="needs a JSON object"):
        vg.models.model_from_json(3)
    with pytest.raises(ValueError, match="no model in this file"):
        vg.models.model_from_json("{}")


def test_pandas_and_nested_lists_are_taken():
    pandas = pytest.importorskip("pandas")
    model = regression_model()
    expected = model.predict(X).numpy()
    np.testing.assert_allclose(model.predict(pandas.DataFrame(X)).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X.tolist()).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X.astype(np.float64)).numpy(), expected, rtol=1e-6)


def test_steps_inside_tidy_leave_nothing_behind():
    model = regression_model()
    optimizer = vg.train.sgd(0.01)

    def step():
        optimizer.minimize(lambda: model.predict(X).square().mean())

    vg.tidy(step)
    before = vg.memory()
    for _ in range(20):
        vg.tidy(step)
    after = vg.memory()
    assert (after.num_tensors, after.num_bytes) == (before.num_tensors, before.num_bytes)
