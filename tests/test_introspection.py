"""What Python's own tools ask of any object: consoles, debuggers and test runners ask public objects the same."""

import copy
import inspect
import pickle

import pytest

import varigrad as vg


def dense_model():
    return vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3])])


def compiled_model():
    model = dense_model()
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
    return model


def functional_model():
    x = vg.input(shape=[3])
    return vg.model(inputs=x, outputs=vg.layers.dense(units=2).apply(x))


def called_twice():
    layer = vg.layers.dense(units=3)
    layer.result = layer.apply(layer.apply(vg.input(shape=[3])))  # calls are known as long as their results are
    return layer


def compiled_function():
    double = vg.jit(vg.square)
    double(vg.tensor([1, 2]))
    return double


OBJECTS = {
    "a scalar": lambda: vg.scalar(1.0),
    "a tensor": lambda: vg.tensor([1, 2]),
    "an empty tensor": lambda: vg.zeros([0]),
    "a tensor of texts": lambda: vg.tensor(["a", "b"]),
    "a variable": lambda: vg.variable([1.0, 2.0]),
    "a buffer": lambda: vg.buffer([2]),
    "a symbolic tensor": lambda: vg.input(shape=[3]),
    "a layer": lambda: vg.layers.dense(units=2),
    "a layer called twice": called_twice,
    "a recurrent layer": lambda: vg.layers.bidirectional(layer=vg.layers.lstm(units=2)),
    "a model without layers": vg.sequential,
    "a model": dense_model,
    "a functional model": functional_model,
    "a compiled model": compiled_model,
    "a compiled function": compiled_function,
    "an optimizer": lambda: vg.train.adam(0.1),
    "a schedule": lambda: vg.train.exponential_decay(0.1, 10, 0.9),
    "an accumulator": lambda: vg.train.accumulate(vg.train.sgd(0.1), every=2),
    "an average": lambda: vg.train.exponential_moving_average([vg.variable([1.0])], 0.9),
    "an initializer": lambda: vg.initializers.he_normal(seed=1),
    "a regularizer": vg.regularizers.l1l2,
    "a constraint": lambda: vg.constraints.max_norm(max_value=2),
    "a callback": lambda: vg.callbacks.early_stopping(),
    "counts of memory": vg.memory,
    "a profile": lambda: vg.profile(lambda: vg.ones([1]) + 1),
}


@pytest.fixture(params=OBJECTS)
def item(request):
    return OBJECTS[request.param]()


def test_every_name_that_there_is_can_be_asked_for(item):
    names = dir(item)
    missing = [name for name in names if not hasattr(item, name)]
    assert {name for name, _ in inspect.getmembers(item)} >= set(names).difference(missing)
    assert getattr(item, "no_such_name", None) is None


def test_texts(item):
    for text in (repr(item), str(item), f"{item}", inspect.getdoc(item)):
        assert text


def test_copies(item):
    for copied in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item))):
        assert type(copied) is type(item)


def test_comparison_with_strangers(item):
    stranger = object()
    assert not isinstance(item == stranger, vg.Tensor)
    assert item != stranger
    assert item in [item]


@pytest.mark.parametrize("name", [name for name in OBJECTS if "tensor" not in name and name != "a variable"])
def test_truth(name):
    item = OBJECTS[name]()
    assert bool(item) is (len(item) > 0 if hasattr(item, "__len__") and name != "a scalar" else True)


def test_what_a_model_has_not_yet_is_not_there_until_it_is():
    model = dense_model()
    assert not hasattr(model, "optimizer")
    assert not hasattr(model, "metrics_names")
    assert getattr(model, "optimizer", None) is None
    with pytest.raises(ValueError, match="must be compiled first"):
        model.evaluate(vg.ones([2, 3]), vg.ones([2, 2]))
    with pytest.raises(AttributeError, match="must be compiled first"):
        _ = model.optimizer
    model.compile(optimizer="sgd", loss="mean_squared_error")
    assert hasattr(model, "optimizer")
    assert model.metrics_names == ["loss"]


def test_what_a_layer_has_not_yet_is_not_there_until_it_is():
    layer = vg.layers.dense(units=2)
    assert not hasattr(layer, "input")
    assert not hasattr(layer, "output")
    with pytest.raises(ValueError, match="has no output 0; it was called 0 times"):
        _ = layer.output
    result = layer.apply(vg.input(shape=[3]))
    assert layer.output.shape == result.shape
