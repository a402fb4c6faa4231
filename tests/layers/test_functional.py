"""Models of any graph of layers."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import varigrad as vg

RNG = np.random.default_rng(7)
X = RNG.normal(size=[6, 4]).astype(np.float32)
Z = RNG.normal(size=[6, 3]).astype(np.float32)


class Join(vg.layers.Layer):
    """Concatenates its inputs; a layer of several inputs written with plain ops."""

    def call(self, inputs):
        return vg.concat(inputs, -1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[0][:-1], sum(shape[-1] for shape in input_shape))


class Halves(vg.layers.Layer):
    """Two outputs, and an argument of `call` besides inputs."""

    def call(self, inputs, factor=1.0):
        return [part * factor for part in vg.split(inputs, 2, -1)]

    def compute_output_shape(self, input_shape):
        return [(*input_shape[:-1], input_shape[-1] // 2)] * 2


CUSTOM = {"Join": Join, "Halves": Halves}


def rebuilt(model):
    """The model again, made from its config, with the same weights."""
    with vg.serialization.custom_object_scope(CUSTOM):
        copied = vg.models.model_from_json(model.to_json())
    copied.set_weights(model.get_weights())
    return copied


def dense(x, layer):
    kernel, bias = (weight.numpy() for weight in layer.get_weights())
    return x @ kernel + bias


def test_two_inputs_two_outputs_and_a_skip_connection():
    a, b = vg.input(shape=[4], name="a"), vg.input(shape=[3], name="b")
    first, second = vg.layers.dense(units=3), vg.layers.dense(units=2, activation="tanh")
    joined = Join()([first(a), b])
    model = vg.model(inputs=[a, b], outputs=[second(joined), joined])
    hidden = np.concatenate([dense(X, first), Z], -1)
    for given in ([X, Z], (vg.tensor(X), vg.tensor(Z)), {"b": Z, "a": X}):
        y, skipped = model.predict(given)
        np.testing.assert_allclose(skipped.numpy(), hidden, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(y.numpy(), np.tanh(dense(hidden, second)), rtol=1e-5, atol=1e-6)
    assert model.input_names == ["a", "b"]
    assert model.output_names == [second.name, joined.source_layer.name]
    assert (model.input_shape, model.output_shape) == ([(None, 4), (None, 3)], [(None, 2), (None, 6)])
    assert [y.shape for y in model.predict([X, Z], batch_size=4)] == [(6, 2), (6, 6)]
    _value, grads = vg.variable_grads(lambda: [y.square().mean() for y in model([X, Z], training=True)])
    assert grads.keys() == {w.name for w in model.trainable_weights}
    for y, again in zip(model.predict([X, Z]), rebuilt(model).predict([X, Z])):
        assert y.tolist() == again.tolist()


def test_a_shared_layer_has_one_set_of_weights_and_a_call_for_each_use():
    shared = vg.layers.dense(units=4)
    x = vg.input(shape=[4])
    once = shared(x)
    twice = shared(once)
    model = vg.model(inputs=x, outputs=[twice, once])
    assert len(model.weights) == 2
    assert len(model.layers) == 2
    assert (once.node_index, twice.node_index) == (0, 1)
    assert shared.get_output_at(1) == twice
    assert shared.get_input_at(1) == once
    with pytest.raises(ValueError, match="was called 2 times, so it has no one output; get_output_at says which"):
        _ = shared.output
    with pytest.raises(ValueError, match="has no input 2"):
        shared.get_input_at(2)
    y = model.predict(X)
    np.testing.assert_allclose(y[0].numpy(), dense(dense(X, shared), shared), rtol=1e-5, atol=1e-6)
    for each, again in zip(y, rebuilt(model).predict(X)):
        assert each.tolist() == again.tolist()


def test_models_are_layers_of_models():
    inner = vg.sequential(
        layers=[vg.layers.dense(units=4, activation="tanh", input_shape=[4]), vg.layers.dense(units=4)]
    )
    u = vg.input(shape=[4])
    middle = vg.model(inputs=u, outputs=inner(inner(u)))
    x = vg.input(shape=[4])
    outer = vg.model(inputs=x, outputs=[middle(x), inner(x)])
    whole = vg.sequential(layers=[outer.get_layer(middle.name), vg.layers.dense(units=1)])
    y = inner.predict(inner.predict(X))
    np.testing.assert_allclose(outer.predict(X)[0].numpy(), y.numpy(), rtol=1e-6)
    np.testing.assert_allclose(whole.predict(X).numpy(), dense(y.numpy(), whole.layers[1]), rtol=1e-5, atol=1e-6)
    assert len(outer.weights) == 4
    assert outer.count_params() == 40
    stored = middle.get_config()["layers"][1]["inbound_nodes"]
    assert [call[0][1] for call in stored] == [0, 1]  # the calls of a model in a model count from 1, as in Keras
    assert middle.get_config()["output_layers"] == [[inner.name, 2, 0]]
    for model in (middle, whole):
        again = rebuilt(model).predict(X)
        assert again.tolist() == model.predict(X).tolist()


def test_calls_of_a_nested_model_may_count_from_0_in_files():
    inner = vg.sequential(layers=[vg.layers.dense(units=4, input_shape=[4])], name="inner_from_0")
    x = vg.input(shape=[4], name="x_from_0")
    config = vg.model(inputs=x, outputs=inner(x)).get_config()
    config["output_layers"][0][1] = 0
    copied = type(vg.model(inputs=x, outputs=inner(x))).from_config(config)
    copied.set_weights(inner.get_weights())
    assert copied.predict(X).tolist() == inner.predict(X).tolist()


@pytest.mark.parametrize("kind", ["graph", "stack"])
@pytest.mark.parametrize("suffix", ["", ".keras", ".h5"])
def test_several_calls_of_a_nested_model_are_told_apart_in_files(kind, suffix, tmp_path):
    if kind == "stack":
        inner = vg.sequential(layers=[vg.layers.dense(units=4, activation="tanh", input_shape=[4])])
    else:
        entry = vg.input(shape=[4])
        inner = vg.model(inputs=entry, outputs=vg.layers.dense(units=4, activation="tanh")(entry))
    x = vg.input(shape=[4])
    first = inner(x)
    second = inner(first)
    graphs = [second, [first, second], [second, vg.layers.dense(units=1)(first)]]
    graphs += [[first, second, vg.layers.dense(units=1)(second)], [inner(second), second]]
    other = inner(vg.layers.dense(units=4)(x))
    graphs += [[first, other, vg.layers.dense(units=1)(other)]]
    for number, outputs in enumerate(graphs):
        model = vg.model(inputs=x, outputs=outputs)
        model.save(tmp_path / f"{number}{suffix}")
        loaded = vg.load_layers_model(tmp_path / f"{number}{suffix}")
        for got, expected in zip(results(loaded), results(model), strict=True):
            np.testing.assert_array_equal(got, expected)


def results(model):
    found = model.predict(X)
    return [result.numpy() for result in (found if isinstance(found, list) else [found])]


def test_an_input_that_no_output_needs_is_an_input_of_the_model_in_files_too(tmp_path):
    a, b = vg.input(shape=[4]), vg.input(shape=[3], name="needless")
    model = vg.model(inputs=[a, b], outputs=vg.layers.dense(units=2)(a))
    assert [layer.name for layer in model.layers][-1] == "needless"
    for suffix in ("", ".keras", ".h5"):
        model.save(tmp_path / f"m{suffix}")
        loaded = vg.load_layers_model(tmp_path / f"m{suffix}")
        assert loaded.input_names == model.input_names
        np.testing.assert_array_equal(loaded.predict([X, Z]).numpy(), model.predict([X, Z]).numpy())
    model.summary(print_fn=lambda line: None)


def test_an_output_listed_twice_is_two_tensors():
    x = vg.input(shape=[4])
    y = vg.layers.dense(units=2)(x)
    for model in (vg.model(inputs=x, outputs=[y, y]), vg.model(inputs=x, outputs=[x, y, x])):
        first, *others = model(X)
        before = others[-1].numpy()
        first.dispose()
        np.testing.assert_array_equal(others[-1].numpy(), before)


def test_parts_of_a_model_are_models_too():
    stack = vg.sequential(
        layers=[vg.layers.dense(units=4, activation="relu", input_shape=[4]), vg.layers.dense(units=2)]
    )
    features = vg.model(inputs=stack.inputs, outputs=stack.layers[0].output)
    np.testing.assert_allclose(
        features.predict(X).numpy(), np.maximum(dense(X, stack.layers[0]), 0), rtol=1e-5, atol=1e-6
    )
    longer = vg.model(inputs=stack.input, outputs=vg.layers.dense(units=1)(stack.output))
    assert longer.output_shape == (None, 1)
    assert longer.weights[:4] == stack.weights


def test_results_that_are_lists_and_arguments_of_calls():
    x = vg.input(shape=[4])
    low, high = Halves()(x, factor=3.0)
    assert (low.tensor_index, high.tensor_index, high.shape) == (0, 1, (None, 2))
    model = vg.model(inputs=x, outputs=[high, low])
    for each in (model, rebuilt(model)):
        y = each.predict(X)
        np.testing.assert_allclose(y[0].numpy(), 3 * X[:, 2:], rtol=1e-6)
        np.testing.assert_allclose(y[1].numpy(), 3 * X[:, :2], rtol=1e-6)
    with pytest.raises(TypeError, match="call takes no argument 'fator'; did you mean 'factor'"):
        Halves()(X, fator=2)


def test_an_argument_of_a_call_may_be_a_symbolic_tensor():
    class Gate(vg.layers.Layer):
        def call(self, inputs, gates=None):
            return inputs * gates[0]

    x, gate = vg.input(shape=[4]), vg.input(shape=[1])
    model = vg.model(inputs=[x, gate], outputs=Gate()(x, gates=[gate]))
    scale = np.arange(6, dtype=np.float32)[:, None]
    with vg.serialization.custom_object_scope({"Gate": Gate}):
        copied = vg.models.model_from_json(model.to_json())
    for each in (model, copied):
        np.testing.assert_allclose(each.predict([X, scale]).numpy(), X * scale)


def test_layers_that_a_custom_layer_holds_are_its_own():
    @vg.serialization.register_class
    class ResidualBlockExample(vg.layers.Layer):
        def __init__(self, *, units, **options):
            super().__init__(**options)
            self.units = units
            self.stages = [vg.layers.dense(units=units, kernel_regularizer="l2"), vg.layers.dense(units=4)]

        def get_config(self):
            return {**super().get_config(), "units": self.units}

        def call(self, inputs):
            x = inputs
            for stage in self.stages:
                x = stage(x)
            return x + inputs

    x = vg.input(shape=[4])
    block = ResidualBlockExample(units=5)
    model = vg.model(inputs=x, outputs=block(x))
    assert [w.shape for w in model.weights] == [(4, 5), (5,), (5, 4), (4,)]
    assert len(model.calculate_losses()) == 1
    np.testing.assert_allclose(
        model.predict(X).numpy(), dense(dense(X, block.stages[0]), block.stages[1]) + X, rtol=1e-4, atol=1e-5
    )
    assert rebuilt(model).predict(X).tolist() == model.predict(X).tolist()
    block.trainable = False
    assert model.trainable_weights == []
    assert len(model.non_trainable_weights) == 4
    assert not any(w.trainable for w in block.stages[1].weights)
    block.trainable = True
    assert len(model.trainable_weights) == 4


class Pair(vg.layers.Layer):
    """Two layers inside, with names by default, and two inputs and outputs."""

    def __init__(self, **options):
        super().__init__(**options)
        self.first, self.others = vg.layers.dense(units=4), [vg.layers.dense(units=4)]

    def call(self, inputs):
        return [self.first(inputs[0]), self.others[0](inputs[1])]


@pytest.mark.parametrize("suffix", ["", ".keras", ".h5"])
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_layers_inside_a_custom_layer_are_loaded_though_they_are_numbered_anew(suffix, tmp_path):
    x = vg.input(shape=[4])
    model = vg.model(inputs=x, outputs=Pair()([x, vg.layers.dense(units=4)(x)]))
    model.save(tmp_path / f"m{suffix}")
    loaded = vg.load_layers_model(tmp_path / f"m{suffix}", custom_objects={"Pair": Pair})
    for got, expected in zip(loaded.predict(X), model.predict(X), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"call": lambda self, inputs: None}, "d: what it is called on must be tensors, .* in m returned None"),
        ({"call": lambda self, inputs: inputs.numpy()}, "d: what it is called on must be tensors, .* returned array"),
        ({"compute_output_shape": lambda self, shape: None}, "compute_output_shape must return a shape, .* got None"),
        ({"__init__": lambda self, **options: None}, r"Wrong: __init__ must call super\(\).__init__\(\)"),
    ],
)
def test_mistakes_in_custom_layers_are_named(members, message):
    def run():
        x = vg.input(shape=[4])
        wrong = type("Wrong", (vg.layers.Layer,), members)()
        vg.model(inputs=x, outputs=vg.layers.dense(units=1, name="d")(wrong(x)), name="m").predict(X)

    with pytest.raises(TypeError, match=message):
        run()


def test_freezing_a_part_of_a_model():
    base = vg.sequential(layers=[vg.layers.dense(units=4, input_shape=[4])])
    x = vg.input(shape=[4])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=1)(base(x)))
    base.trainable = False
    assert model.trainable_weights == model.layers[-1].weights
    before = [w.tolist() for w in base.get_weights()]
    vg.train.sgd(0.1).minimize(lambda: model(X).square().mean(), var_list=model.trainable_weights)
    assert [w.tolist() for w in base.get_weights()] == before
    assert [w.shape for w in model.get_weights()] == [(4, 4), (4,), (4, 1), (1,)]


def test_the_order_of_layers_is_that_of_tensorflow_js():
    """Layers far from the outputs come first; the numbers are what tf.model of the same graph gives."""
    a, b = vg.input(shape=[2], name="in_a"), vg.input(shape=[2], name="in_b")
    names = {}
    for name in ("p", "q", "r"):
        names[name] = vg.layers.dense(units=2, name=f"order_{name}")
    deep = names["q"](names["p"](a))
    join = Join(name="order_join")([names["r"](b), deep])
    model = vg.model(inputs=[b, a], outputs=join)
    assert [layer.name for layer in model.layers] == ["in_a", "in_b", "order_p", "order_r", "order_q", "order_join"]


def test_the_summary_says_what_feeds_what():
    """The lines are those that TensorFlow.js prints for the same model."""
    a, b = vg.input(shape=[4], name="in_1"), vg.input(shape=[3], name="in_2")
    first, shared = vg.layers.dense(units=3, name="first"), vg.layers.dense(units=3, name="shared")
    join = vg.layers.concatenate(name="join")([shared(first(a)), shared(b)])
    lines = []
    vg.model(inputs=[a, b], outputs=join).summary(print_fn=lines.append)
    expected = """
Layer (type)               Input Shape                 Output shape             Param #     Receives inputs
in_1 (InputLayer)          [[null,4]]                  [null,4]                 0
first (Dense)              [[null,4]]                  [null,3]                 15          in_1[0][0]
in_2 (InputLayer)          [[null,3]]                  [null,3]                 0
shared (Dense)             [[null,3]],[[null,3]]       [null,3]                 12          first[0][0]
                                                                                            in_2[0][0]
join (Concatenate)         [[null,3],[null,3]]         [null,6]                 0           shared[0][0]
                                                                                            shared[1][0]
Total params: 27
Trainable params: 27
Non-trainable params: 0
"""
    rows = [line.rstrip() for line in lines if set(line) not in ({"_"}, {"="})]
    assert rows == expected.strip("\n").split("\n")
    assert {len(line) for line in lines if line[0] in "_="} == {115}


def test_a_thousand_layers_are_no_recursion():
    x = y = vg.input(shape=[2])
    for _ in range(1000):
        y = vg.layers.activation(activation="relu")(y)
    model = vg.model(inputs=x, outputs=y)
    assert model.predict([[1, -1]]).tolist() == [[1, 0]]
    assert len(model.layers) == 1001


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda x, y: vg.model(inputs=[x, x], outputs=y), ValueError, "an input is listed twice"),
        (
            lambda x, y: vg.model(inputs=y, outputs=y),
            ValueError,
            "is the result of a layer; inputs must come from vg.input",
        ),
        (lambda x, y: vg.model(inputs=[], outputs=y), ValueError, "needs at least one input and one output"),
        (lambda x, y: vg.model(inputs=X, outputs=y), TypeError, "inputs must be symbolic tensors"),
        (lambda x, y: vg.model(inputs=vg.input(shape=[1]), outputs=y), ValueError, "the graph is disconnected"),
        (lambda x, y: x + y, TypeError, "has no values: call layers on it"),
        (lambda x, y: vg.add(x, 1), TypeError, "has no values: call layers on it"),
        (lambda x, y: vg.relu(x), TypeError, "has no values: call layers on it"),
        (lambda x, y: 2 * x, TypeError, "has no values"),
        (lambda x, y: Join()([x, X]), TypeError, "its inputs must be all symbolic tensors or all values"),
        (lambda x, y: vg.layers.dense(units=1)([x, y]), ValueError, "takes one input, got 2"),
        (lambda x, y: vg.layers.dense(units=1)(X, training="yes"), TypeError, "training must be True, False or None"),
        (lambda x, y: vg.model(inputs=x, outputs=y)(X, training=1), TypeError, "training must be True, False or None"),
        (lambda x, y: vg.model(inputs=x, outputs=y).predict([X, X]), ValueError, "takes inputs of shape"),
        (lambda x, y: vg.model(inputs=x, outputs=y).predict({"z": X}), ValueError, "'symbolic_x' is missing"),
        (
            lambda x, y: vg.model(inputs=x, outputs=y).get_layer(index="a"),
            TypeError,
            "index must be an integer, got 'a'",
        ),
        (
            lambda x, y: vg.model(inputs=x, outputs=y).predict(X, batch_size="a"),
            ValueError,
            "batch_size must be a posi",
        ),
        (lambda x, y: x.source_layer(X), TypeError, "is the entry of a model"),
        (lambda x, y: vg.input(shape=[1], batch_shape=[None, 1]), ValueError, "takes either shape or batch_shape"),
        (lambda x, y: vg.sequential(layers=[Halves(input_shape=[2])]), ValueError, "has several outputs"),
    ],
)
def test_graph_errors_say_what_is_wrong(wrong, error, message):
    x = vg.input(shape=[4], name="symbolic_x")
    with pytest.raises(error, match=message):
        wrong(x, vg.layers.dense(units=1)(x))


def test_two_layers_of_one_name_are_an_error():
    x = vg.input(shape=[2])
    y = vg.layers.dense(units=1, name="twin")(vg.layers.dense(units=2, name="twin")(x))
    with pytest.raises(ValueError, match="two layers are named 'twin'"):
        vg.model(inputs=x, outputs=y)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda c: c.pop("layers"), "needs a list of layers"),
        (lambda c: c["layers"].append(c["layers"][0]), "two layers named"),
        (
            lambda c: c["layers"][1]["inbound_nodes"][0][0].__setitem__(0, "gone"),
            "needs .'gone', 0, 0., which no layer gives",
        ),
        (lambda c: c["layers"][1]["inbound_nodes"][0][0].__setitem__(1, -1), "which no layer gives"),
        (lambda c: c["layers"][1]["inbound_nodes"][0][0].__setitem__(2, 7), "which no layer gives"),
        (lambda c: c["layers"][1].__setitem__("inbound_nodes", [[["broken_dense", 0, 0, {}]]]), "broken or a cycle"),
        (lambda c: c["layers"][1].__setitem__("inbound_nodes", [7]), "no list of references"),
        (lambda c: c["layers"][1].__setitem__("inbound_nodes", 7), "a list of inbound_nodes"),
        (lambda c: c.__setitem__("output_layers", [["broken_dense", 5, 0]]), "output_layers holds"),
        (lambda c: c.__setitem__("input_layers", None), "needs input_layers"),
    ],
)
def test_broken_configs_are_one_clear_error(break_it, message):
    x = vg.input(shape=[4], name="broken_x")
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=1, name="broken_dense")(x))
    config = copy.deepcopy(model.get_config())
    break_it(config)
    with pytest.raises(ValueError, match=message):
        type(model).from_config(config)


def test_a_dropped_model_gives_its_memory_back_at_once():
    x = vg.input(shape=[4])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=1)(vg.layers.dense(units=3)(x)))
    watched = [weakref.ref(w) for w in model.weights]
    gc.disable()
    try:
        del model, x
        assert [ref() for ref in watched] == [None] * 4
    finally:
        gc.enable()


def test_dispose_counts_who_uses_a_layer():
    shared = vg.layers.dense(units=4)
    x = vg.input(shape=[4])
    first = vg.model(inputs=x, outputs=shared(x))
    second = vg.model(inputs=x, outputs=vg.layers.dense(units=1)(shared(x)))
    assert first.dispose() == (0, 0)
    assert second.dispose() == (0, 4)
    with pytest.raises(ValueError, match="is disposed of already"):
        second.dispose()


def test_models_can_be_pickled_and_copied():
    shared = vg.layers.dense(units=4)
    x = vg.input(shape=[4])
    model = vg.model(inputs=x, outputs=[shared(shared(x)), x])
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert [y.tolist() for y in copied.predict(X)] == [y.tolist() for y in model.predict(X)]
        assert copied.get_config()["layers"][1]["inbound_nodes"] == model.get_config()["layers"][1]["inbound_nodes"]
        copied.set_weights([w * 0 for w in model.get_weights()])
    assert model.predict(X)[0].numpy().any()


def test_integers_become_floats_where_the_model_takes_floats():
    x = vg.input(shape=[2])
    model = vg.model(inputs=x, outputs=vg.layers.activation(activation="sigmoid")(x))
    assert model.predict(vg.tensor([[0, 0]], dtype="int32")).tolist() == [[0.5, 0.5]]
    assert model(vg.tensor([[True, False]])).dtype == "float32"


class Marked(vg.layers.Layer):
    """Makes a mask of the steps that are not 0."""

    def call(self, inputs):
        return inputs * 1

    def compute_mask(self, inputs, mask=None):
        return vg.not_equal(inputs, 0).any(-1)


class MaskedSum(vg.layers.Layer):
    def call(self, inputs, mask=None):
        return inputs.sum(1) if mask is None else (inputs * mask.cast("float32").expand_dims(-1)).sum(1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])


class Plus(vg.layers.Layer):
    supports_masking = True

    def call(self, inputs):
        return inputs + 1


def test_masks_reach_the_layers_that_heed_them():
    data = np.array([[[1.0], [0.0], [2.0]]], np.float32)
    stack = vg.sequential(layers=[Marked(input_shape=[3, 1]), Plus(), MaskedSum()])
    x = vg.input(shape=[3, 1])
    graph = vg.model(inputs=x, outputs=MaskedSum()(Plus()(Marked()(x))))
    nested = vg.model(inputs=x, outputs=stack(x))
    for model in (stack, graph, nested):
        assert model.predict(data).tolist() == [[5.0]]
    dropped = vg.sequential(layers=[Marked(input_shape=[3, 1]), vg.layers.reshape(target_shape=[3, 1]), MaskedSum()])
    assert dropped.predict(data).tolist() == [[3.0]]  # a layer that does not hand masks on
    plain = vg.sequential(layers=[Plus(input_shape=[3, 1]), MaskedSum()])
    assert plain(data, mask=vg.tensor([[True, False, False]])).tolist() == [[2.0]]
    assert vg.sequential(layers=[Marked(input_shape=[3, 1]), Plus()]).compute_mask(vg.tensor(data)).tolist() == [
        [True, False, True]
    ]
    assert MaskedSum()(data, mask=vg.tensor([[True, False, False]])).tolist() == [[1.0]]
