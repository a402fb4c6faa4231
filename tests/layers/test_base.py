"""Layers of your own, and what every layer has."""

import copy
import gc
import weakref

import numpy as np
import pytest

import varigrad as vg


class Affine(vg.layers.Layer):
    """A dense layer as a user would write it."""

    def __init__(self, units, bias=True, **options):
        super().__init__(**options)
        self.units = units
        self.bias = bias

    def build(self, input_shape):
        self.w = self.add_weight("w", [input_shape[-1], self.units], initializer="ones", regularizer=None)
        if self.bias:
            self.b = self.add_weight("b", [self.units], initializer=vg.initializers.constant(value=0.5))

    def call(self, inputs, training=None):
        y = inputs @ self.w
        return y + self.b if self.bias else y

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {"units": self.units, "bias": self.bias, **super().get_config()}


def test_a_layer_of_your_own_works_alone_and_in_a_model_and_has_gradients():
    model = vg.sequential(layers=[Affine(3, input_shape=[2]), vg.layers.dense(units=1, kernel_initializer="ones")])
    assert model([[1, 2]]).tolist() == [[10.5]]
    assert [w.shape for w in model.weights] == [(2, 3), (3,), (3, 1), (1,)]
    _, grads = vg.variable_grads(lambda: model([[1, 2]]).sum())
    assert grads[model.layers[0].w.name].tolist() == [[1, 1, 1], [2, 2, 2]]
    layer = Affine(1)
    assert layer([[1, 2]]).tolist() == [[3.5]]
    assert layer.count_params() == 3


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_it_is_saved_and_loaded_registered_or_handed_in(tmp_path):
    model = vg.sequential(layers=[Affine(3, bias=False, input_shape=[2], name="mine")])
    model.save(tmp_path)
    with pytest.raises(ValueError, match=r"unknown layer class 'Affine'.*register_class, or pass it in custom_objects"):
        vg.load_layers_model(tmp_path)
    loaded = vg.load_layers_model(tmp_path, custom_objects={"Affine": Affine})
    assert loaded([[1, 2]]).tolist() == [[3, 3, 3]]
    assert loaded.layers[0].bias is False
    vg.serialization.register_class(Affine)
    try:
        assert vg.load_layers_model(tmp_path)([[1, 2]]).tolist() == [[3, 3, 3]]
    finally:
        del vg.serialization._classes["Affine"]


@pytest.mark.parametrize("form", ["position", "keyword", "options", "none"])
def test_call_may_take_training_in_any_way_or_not_at_all(form):
    class ByPosition(vg.layers.Layer):
        def call(self, inputs, training=None):
            return inputs * (2 if training else 1)

    class ByKeyword(vg.layers.Layer):
        def call(self, inputs, *, training=None):
            return inputs * (2 if training else 1)

    class ByOptions(vg.layers.Layer):
        def call(self, inputs, **options):
            return inputs * (2 if options["training"] else 1)

    class NotAtAll(vg.layers.Layer):
        def call(self, inputs):
            return inputs * 1

    cls = {"position": ByPosition, "keyword": ByKeyword, "options": ByOptions, "none": NotAtAll}[form]
    model = vg.sequential(layers=[cls(input_shape=[1])])
    doubled = 1 if form == "none" else 2
    assert model([[1.0]], training=True).tolist() == [[doubled]]
    assert model([[1.0]]).tolist() == model.predict([[1.0]]).tolist() == [[1]]
    assert cls()([[1.0]], training=True).tolist() == [[doubled]]


def test_a_subclass_of_a_layer_here_keeps_its_arguments():
    class Loud(vg.layers.Dense):
        def call(self, inputs, training=None):
            return super().call(inputs, training) * 10

    layer = Loud(units=1, kernel_initializer="ones")
    assert layer([[1, 2]]).tolist() == [[30]]
    assert layer.class_name == "Loud"
    assert Loud.from_config(layer.get_config()).units == 1


def test_weights_given_at_the_start_are_set_on_building():
    layer = vg.layers.dense(units=2, weights=[np.full([3, 2], 2.0), [1.0, -1.0]])
    assert layer([[1, 1, 1]]).tolist() == [[7, 5]]
    wrong = vg.layers.dense(units=2, weights=[np.zeros([2, 2]), [0, 0]], name="d")
    with pytest.raises(ValueError, match=r"weight 0 of d, d/kernel, has shape \[3, 2\], but \[2, 2\] was given"):
        wrong([[1, 1, 1]])


def test_set_weights_is_all_or_nothing_and_names_what_is_wrong():
    layer = vg.layers.dense(units=2, name="d")
    layer([[1, 1, 1]])
    before = [w.tolist() for w in layer.get_weights()]
    with pytest.raises(ValueError, match=r"weight 1 of d, d/bias, has shape \[2\], but \[3\] was given"):
        layer.set_weights([np.zeros([3, 2]), np.zeros(3)])
    with pytest.raises(ValueError, match=r"d has 2 weights \(d/kernel \[3, 2\], d/bias \[2\]\), but 1 were given"):
        layer.set_weights([np.zeros([3, 2])])
    assert [w.tolist() for w in layer.get_weights()] == before
    layer.set_weights([np.zeros([3, 2]), vg.tensor([1, 2], dtype="int32")])
    assert [w.tolist() for w in layer.get_weights()] == [[[0, 0]] * 3, [1, 2]]


def test_the_weights_that_get_weights_gave_do_not_change_later():
    layer = vg.layers.dense(units=1, kernel_initializer="ones")
    layer([[1.0]])
    kept = layer.get_weights()
    vg.train.sgd(0.5).minimize(lambda: layer([[1.0]]).sum())
    assert kept[0].tolist() == [[1.0]]
    assert layer.get_weights()[0].tolist() == [[0.5]]
    layer.set_weights(kept)
    assert layer.get_weights()[0].tolist() == [[1.0]]


def test_freezing_marks_the_variables():
    layer = vg.layers.dense(units=1, trainable=False)
    layer([[1.0]])
    assert [w.trainable for w in layer.weights] == [False, False]
    assert layer.trainable_weights == []
    assert layer.non_trainable_weights == layer.weights
    assert layer.get_weights(trainable_only=True) == []
    with pytest.raises(vg.GradientError):
        vg.variable_grads(lambda: layer([[1.0]]).sum(), layer.weights)
    layer.trainable = True
    assert [w.trainable for w in layer.weights] == [True, True]
    layer.kernel.trainable = False
    assert layer.trainable_weights == [layer.bias]
    assert layer.non_trainable_weights == [layer.kernel]


def test_a_layer_that_is_dropped_gives_its_memory_and_names_back():
    layer = vg.layers.dense(units=1, name="dropped_layer")
    layer([[1.0]])
    model = vg.sequential(layers=[vg.layers.dense(units=1, name="dropped_model", input_shape=[1])])
    watched = [weakref.ref(w) for w in (*layer.weights, *model.weights)]
    gc.disable()
    try:
        del layer, model
        assert [ref() for ref in watched] == [None] * 4
    finally:
        gc.enable()


def test_dispose_gives_the_weights_memory_back():
    layer = vg.layers.dense(units=1)
    layer([[1.0]])
    before = vg.memory().num_tensors
    assert layer.dispose() == (0, 2)
    assert vg.memory().num_tensors == before - 2
    with pytest.raises(vg.DisposedError):
        layer([[1.0]])


def test_a_deep_copy_has_weights_of_its_own():
    model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="ones", input_shape=[1])])
    other = copy.deepcopy(model)
    other.set_weights([[[5.0]], [0.0]])
    assert model([[1.0]]).tolist() == [[1.0]]
    assert other([[1.0]]).tolist() == [[5.0]]


def test_counting_before_building_is_an_error():
    with pytest.raises(ValueError, match="count_params: d has no weights yet"):
        vg.layers.dense(units=1, name="d").count_params()


def test_an_initializer_that_makes_another_shape_is_an_error():
    class Wrong(vg.initializers.Initializer):
        def apply(self, shape, dtype="float32"):
            return vg.zeros([1], dtype)

    with pytest.raises(ValueError, match=r"d: the initializer of 'kernel' made float32 \[1\], not float32 \[2, 1\]"):
        vg.layers.dense(units=1, kernel_initializer=Wrong(), name="d")([[1, 2]])


def test_only_classes_of_layers_and_the_like_can_be_registered():
    with pytest.raises(TypeError, match="register_class: needs a layer"):
        vg.serialization.register_class(dict)


def test_strings_cannot_become_weights():
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2], name="first")])
    with pytest.raises(TypeError, match="set_weights: the value for first/bias is string, which cannot become float32"):
        model.set_weights([[[1.0], [2.0]], vg.tensor(["a"])])
    assert model.get_weights()[1].tolist() == [0.0]


@pytest.mark.parametrize("weights", [None, 3, (w for w in [[[1.0]], [0.0]])])
def test_set_weights_takes_a_list(weights):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    with pytest.raises(TypeError, match=r"set_weights: takes the values of sequential_.* as a list, got"):
        model.set_weights(weights)


def test_a_build_that_failed_can_be_tried_again():
    class Fussy(vg.layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight("scale", [input_shape[-1]], regularizer=vg.regularizers.l2())
            if input_shape[-1] != 2:
                raise ValueError("only pairs")

        def call(self, inputs):
            return inputs * self.scale

    layer = Fussy()
    with pytest.raises(ValueError, match="only pairs"):
        layer([[1.0, 2.0, 3.0]])
    assert layer([[1.0, 2.0]]).tolist() == [[0, 0]]
    assert [w.shape for w in layer.weights] == [(2,)]
    assert len(layer.calculate_losses()) == 1


def test_a_weight_with_an_axis_of_unknown_length_is_named():
    class Wide(vg.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight("w", input_shape)

    with pytest.raises(
        ValueError, match=r"wide: the weight 'w' needs known lengths, got \[\?, 3\]; input_shape\[1:\] is"
    ):
        Wide(name="wide", input_shape=[3])(vg.input(shape=[3]))


@pytest.mark.parametrize("inputs", [vg.tensor([[1.0]]), vg.input(shape=[1])])
def test_a_layer_with_forward_in_place_of_call_is_told_so(inputs):
    class Double(vg.layers.Layer):
        def forward(self, inputs):
            return inputs * 2

    class Called(Double):
        def call(self, inputs):
            return self.forward(inputs)

    with pytest.raises(TypeError, match="double: what a layer computes is its call; Double has forward only"):
        Double(name="double")(inputs)
    assert Called()(vg.tensor([[1.0]])).tolist() == [[2]]


def test_a_layer_that_forgot_to_return_its_result_is_named():
    class Silent(vg.layers.Layer):
        def call(self, inputs):
            inputs * 2

    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1]), Silent(name="silent")])
    model.compile(optimizer="sgd", loss="mse")
    for run in (model.fit, model.evaluate):
        with pytest.raises(TypeError, match="silent: its call must return a tensor, got None"):
            run([1.0], [1.0], verbose=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.dense(3), r"dense: takes keyword arguments only, got 3; write units=…$"),
        (lambda: vg.layers.max_pooling2d((2, 2)), r"got \(2, 2\); write pool_size=…$"),
        (lambda: vg.layers.dense({"units": 3}), r"dense: takes keyword arguments only, got \{'units': 3\}$"),
        (
            lambda: vg.LayersModel(inputs=[], outputs=[]),
            r"a model of a graph is made by vg\.model\(inputs=…, outputs=…\)",
        ),
    ],
)
def test_what_another_library_would_take_is_answered_with_what_is_taken_here(make, message):
    with pytest.raises(TypeError, match=message):
        make()


# The shape of what a layer of one's own gives, without compute_output_shape


@pytest.mark.parametrize(
    ("call", "shape", "expected"),
    [
        (lambda x: x[:, :2], [None, 5], (None, 2)),
        (lambda x: x + 1, [None, 5], (None, 5)),
        (lambda x: vg.concat([x, x], 1), [None, None, 3], (None, None, 3)),
        (lambda x: x.sum(1), [None, None, 3], (None, 3)),
        (lambda x: x.reshape([-1, 6]), [None, 2, 3], (None, 6)),
        (lambda x: x.mean(), [None, 4], ()),
        (lambda x: vg.max_pool(x, 8, 8, "valid"), [None, None, None, 3], (None, None, None, 3)),
        (lambda x: x[0], [4, 3], (3,)),
        (lambda x: [x, x.sum(1)], [None, 3], [(None, 3), (None,)]),
        (lambda x: [x[:, :1]], [None, 3], (None, 1)),
    ],
)
def test_the_shape_of_a_result_is_found_by_running_call(call, shape, expected):
    class Own(vg.layers.Layer):
        def call(self, inputs):
            return call(inputs)

    result = Own()(vg.input(batch_shape=shape))
    assert ([x.shape for x in result] if isinstance(result, list) else result.shape) == expected


def test_several_inputs_are_tried_together():
    class Own(vg.layers.Layer):
        def call(self, inputs):
            return vg.concat(inputs, 1)[:, :4]

    a, b = vg.input(shape=[2]), vg.input(shape=[3])
    model = vg.model(inputs=[a, b], outputs=vg.layers.dense(units=1)(Own()([a, b])))
    assert model.predict([np.ones([2, 2]), np.ones([2, 3])]).shape == (2, 1)


def test_trying_a_layer_leaves_its_weights_and_their_number_as_they_are():
    class Counting(vg.layers.Layer):
        def build(self, input_shape):
            self.count = self.add_weight("count", [1], trainable=False)

        def call(self, inputs):
            self.count.assign(self.count + 1)
            return inputs[:, :1]

    before = vg.memory().num_tensors
    layer = Counting()
    assert layer(vg.input(shape=[3])).shape == (None, 1)
    assert layer.count.tolist() == [0.0]
    assert vg.memory().num_tensors == before + 1


def test_a_layer_that_cannot_be_tried_has_the_shape_of_its_inputs():
    class Looks(vg.layers.Layer):
        def call(self, inputs):
            if inputs.sum().item() == 0:
                raise ValueError("needs other numbers")
            return inputs[:, :2]

    assert Looks()(vg.input(shape=[4])).shape == (None, 4)


def test_indices_that_a_layer_takes_may_be_zeros():
    class Own(vg.layers.Layer):
        def build(self, input_shape):
            self.table = self.add_weight("table", [5, 2])

        def call(self, inputs):
            return vg.gather(self.table, inputs.cast("int32"))

    assert Own()(vg.input(shape=[None])).shape == (None, None, 2)


# Models as Keras's users write them


def keras_style(base):
    class Mine(base):
        def __init__(self, units=4, **options):
            super().__init__(**options)
            self.units = units
            self.hidden = vg.layers.dense(units=units, activation="relu", name="hidden")
            self.out = vg.layers.dense(units=1, name="out")

        def call(self, x, training=None):
            return self.out(self.hidden(x))

        def get_config(self):
            return {"units": self.units, **super().get_config()}

    return Mine


def test_a_model_with_a_call_of_its_own_is_told_the_way():
    with pytest.raises(
        TypeError, match=r"^Mine: a model is a graph .* vg.layers.Layer in place of LayersModel, .*Mine\("
    ):
        keras_style(vg.LayersModel)


def test_the_way_that_is_told_trains_and_keeps_its_weights(tmp_path):
    make = keras_style(vg.layers.Layer)
    x, y = np.linspace(-1, 1, 12).reshape(4, 3), np.ones([4, 1])
    model = vg.sequential(layers=[make(input_shape=[3])])
    assert [w.original_name for w in model.trainable_weights] == [
        "hidden/kernel", "hidden/bias", "out/kernel", "out/bias"
    ]  # fmt: skip
    assert model.output_shape == (None, 1)
    assert model.count_params() == 21
    lines = []
    model.summary(print_fn=lines.append)
    assert "Total params: 21" in [line.strip() for line in lines]
    model.compile(optimizer="adam", loss="mean_squared_error")
    losses = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save_weights(tmp_path / "w.npz")
    other = vg.sequential(layers=[make(input_shape=[3])])
    other.load_weights(tmp_path / "w.npz")
    assert other.predict(x).tolist() == model.predict(x).tolist()
    model.save(tmp_path / "m.keras")
    again = vg.load_layers_model(tmp_path / "m.keras", custom_objects={"Mine": make})
    assert again.predict(x).tolist() == model.predict(x).tolist()


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("parameters", "trainable_weights"),
        ("trainable_variables", "trainable_weights"),
        ("state_dict", r"get_weights\(\)"),
        ("train", "training=True"),
        ("getWeights", "'get_weights'"),
    ],
)
def test_an_attribute_of_another_library_is_answered_with_what_stands_for_it(name, here):
    with pytest.raises(AttributeError, match=f"^'Sequential' object has no attribute '{name}'; .*{here}"):
        getattr(vg.sequential(), name)


def test_a_property_without_a_value_yet_says_so_itself():
    with pytest.raises(vg.errors.NotYetError, match="has no input 0; it was called 0 times"):
        vg.layers.dense(units=1).input  # noqa: B018
    assert not hasattr(vg.layers.dense(units=1), "colour")
