"""Each optimizer against TensorFlow.js, and what all of them have in common."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())

# The optimizers of reference.js under the same names.
CASES = {
    "sgd": lambda: vg.train.sgd(0.02),
    "momentum": lambda: vg.train.momentum(0.01, 0.8),
    "nesterov": lambda: vg.train.momentum(0.01, 0.8, True),
    "adagrad": lambda: vg.train.adagrad(0.1),
    "adagrad_accumulator": lambda: vg.train.adagrad(0.2, 0.5),
    "adadelta": lambda: vg.train.adadelta(0.01),
    "adadelta_options": lambda: vg.train.adadelta(0.05, 0.9, 1e-4),
    "adam": lambda: vg.train.adam(0.01),
    "adam_defaults": lambda: vg.train.adam(),
    "adam_options": lambda: vg.train.adam(0.02, 0.8, 0.95, 1e-3),
    "adamax": lambda: vg.train.adamax(0.01),
    "adamax_options": lambda: vg.train.adamax(0.05, 0.8, 0.9, 1e-3, 0.1),
    "rmsprop": lambda: vg.train.rmsprop(0.005),
    "rmsprop_options": lambda: vg.train.rmsprop(0.005, 0.8, 0.5, 1e-3),
    "rmsprop_centered": lambda: vg.train.rmsprop(0.002, 0.9, 0.1, 1e-10, True),
}

EACH = pytest.mark.parametrize("name", CASES)


def reference_problem(name):
    """The variables and the loss of reference.js."""
    a = vg.variable([3, -1, 2], name=f"{name}/a")
    b = vg.variable([[1.5, -0.5], [0.25, 2]], name=f"{name}/b")
    first_two = vg.tensor([[1, 0, 0], [0, 1, 0]])
    c, t = vg.tensor([1, 3, 0.2]), vg.tensor([0.5, 1.5, -1])

    def loss():
        product = b.mat_mul(first_two.mat_mul(a.reshape([3, 1])))
        return (c * (a - t).square()).sum() + b.square().square().sum() * 0.1 + product.square().sum() * 0.05

    return a, b, loss


def close(actual, expected):
    # The variables move by about 1, of which Adam's float32 powers of beta make 6e-6 in TensorFlow.js.
    np.testing.assert_allclose(np.ravel(actual), np.ravel(expected), rtol=1e-5, atol=6e-6)


@EACH
def test_weights_equal_those_of_tensorflow_js_after_1_5_and_100_steps(name):
    a, b, loss = reference_problem(name)
    optimizer = CASES[name]()
    for step in range(1, 101):
        optimizer.minimize(loss, var_list=[a, b])
        if str(step) in REFERENCE[name]["steps"]:
            expected = REFERENCE[name]["steps"][str(step)]
            close(a.numpy(), expected["a"])
            close(b.numpy(), expected["b"])
    assert optimizer.iterations == 100


@EACH
def test_state_has_the_names_order_and_values_of_tensorflow_js(name):
    if "weights" not in REFERENCE[name]:
        assert REFERENCE[name]["className"] == "Adamax"  # TensorFlow.js cannot save it
        return
    a, b, loss = reference_problem(name)
    optimizer = CASES[name]()
    for _ in range(100):
        optimizer.minimize(loss, var_list=[a, b])
    weights = optimizer.get_weights()
    assert [w.name for w in weights] == list(REFERENCE[name]["weights"])
    for weight in weights:
        expected = REFERENCE[name]["weights"][weight.name]
        np.testing.assert_allclose(weight.tensor.data_sync(), expected, rtol=2e-4, atol=1e-6)
    assert weights[0].tensor.dtype == "int32"


@EACH
def test_config_is_that_of_tensorflow_js_and_makes_the_same_optimizer(name):
    optimizer = CASES[name]()
    camel_case = REFERENCE[name]["config"]
    assert optimizer.get_class_name() == type(optimizer).class_name == REFERENCE[name]["className"]
    again = type(optimizer).from_config(camel_case)
    assert again.get_config() == optimizer.get_config()
    assert list(optimizer.get_config().values()) == list(camel_case.values())
    assert type(optimizer).from_config(optimizer.get_config()).get_config() == optimizer.get_config()


@EACH
def test_float64_variables_get_float64_slots_and_updates(name):
    narrow, wide = vg.variable([1.0, 2.0], name="narrow"), vg.variable([1.0, 2.0], name="wide", dtype="float64")
    optimizer = CASES[name]()
    for _ in range(10):
        optimizer.minimize(lambda: (narrow.cast("float64") * wide).sum() + wide.square().sum(), var_list=[narrow, wide])
    assert narrow.dtype == "float32"
    assert wide.dtype == "float64"
    assert {w.tensor.dtype for w in optimizer.get_weights() if w.name.startswith("wide")} <= {"float64"}
    assert {w.tensor.dtype for w in optimizer.get_weights() if w.name.startswith("narrow")} <= {"float32"}


@EACH
def test_many_small_variables_a_large_one_and_a_rank_0_one_are_updated_alike(name):
    # Side by side, in blocks, or alone: the numbers are the same.
    random = np.random.default_rng(0)
    shapes = {"small": (3, 4), "scalar": (), "empty": (0, 2), "large": (300, 257), "vector": (7,)}
    values = {n: random.normal(size=s).astype("float32") for n, s in shapes.items()}
    together = {n: vg.variable(v, name=n) for n, v in values.items()}
    optimizer = CASES[name]()
    alone = {n: (vg.variable(v, name=f"{n}_alone"), CASES[name]()) for n, v in values.items()}
    for _ in range(3):
        grads = {n: random.normal(size=s).astype("float32") for n, s in shapes.items()}
        optimizer.apply_gradients({n: vg.tensor(g) for n, g in grads.items()})
        for n, (variable, own) in alone.items():
            own.apply_gradients([{"name": variable.name, "tensor": vg.tensor(grads[n])}])
    for n, (variable, _) in alone.items():
        np.testing.assert_array_equal(together[n].numpy(), variable.numpy())


@EACH
def test_state_does_not_grow_and_survives_tidy(name):
    a, b, loss = reference_problem(name)
    optimizer = CASES[name]()
    for _ in range(2):
        with vg.tidy():
            optimizer.minimize(loss, var_list=[a, b])
    before = vg.memory()
    for _ in range(50):
        with vg.tidy():
            optimizer.minimize(loss, var_list=[a, b])
    assert vg.memory() == before


def test_a_disposed_optimizer_takes_no_state():
    w = vg.variable([1.0], name="w")
    optimizer = vg.train.adam(0.1)
    optimizer.apply_gradients({"w": vg.tensor([1.0])})
    state = optimizer.get_weights()
    optimizer.dispose()
    tensors = vg.memory().num_tensors
    with pytest.raises(vg.DisposedError, match=r"Adam\.set_weights: .*disposed of at .*test_optimizers\.py"):
        optimizer.set_weights(state)
    assert vg.memory().num_tensors == tensors
    assert w.tolist() != [1.0]


def test_slots_count_as_tensors_until_the_optimizer_is_disposed():
    w = vg.variable(np.ones(1000), name="w")
    before = vg.memory()
    optimizer = vg.train.adam()
    optimizer.apply_gradients({"w": vg.ones([1000])})
    after = vg.memory()
    assert after.num_tensors - before.num_tensors == 2
    assert after.num_bytes - before.num_bytes == 8000
    optimizer.dispose()
    assert vg.memory() == before
    with pytest.raises(vg.DisposedError, match=r"Adam.*disposed of at .*test_optimizers\.py"):
        optimizer.apply_gradients({"w": vg.ones([1000])})
    assert w.tolist()[0] == pytest.approx(0.999, abs=1e-6)


def test_an_optimizer_keeps_no_variable_alive():
    optimizer = vg.train.adam()
    w = vg.variable([1.0], name="w")
    optimizer.apply_gradients({"w": vg.ones([1])})
    del w
    w = vg.variable([2.0], name="w")  # the name is free again
    optimizer.apply_gradients({"w": vg.ones([1])})
    assert len(optimizer.get_weights()) == 3
    assert w.item() < 2.0


@EACH
def test_a_new_variable_under_an_old_name_starts_afresh(name):
    optimizer, fresh = CASES[name](), CASES[name]()
    w = vg.variable([1.0, 2.0], name="w")
    optimizer.apply_gradients({"w": vg.tensor([5.0, 5.0])})
    w.dispose()
    w = vg.variable([1.0, 2.0], name="w")
    optimizer.apply_gradients({"w": vg.tensor([1.0, 2.0])})
    other = vg.variable([1.0, 2.0], name="other")
    fresh.apply_gradients({})  # so that both are at their second update
    fresh.apply_gradients({"other": vg.tensor([1.0, 2.0])})
    np.testing.assert_array_equal(w.numpy(), other.numpy())


@EACH
def test_the_slots_of_variables_that_are_gone_are_given_back_and_those_beside_them_kept(name):
    a, b, c = (vg.variable(np.ones(10), name=n) for n in "abc")
    alone = vg.variable(np.ones(10), name="alone")
    optimizer, own = CASES[name](), CASES[name]()
    optimizer.apply_gradients({n: vg.ones([10]) for n in "abc"})
    own.apply_gradients({"alone": vg.ones([10])})
    slots = len([w for w in optimizer.get_weights() if w.name.startswith("a/")])
    before = vg.memory().num_bytes
    b.dispose()
    del c
    for _ in range(2):
        optimizer.apply_gradients({"a": vg.ones([10])})
        own.apply_gradients({"alone": vg.ones([10])})
    assert before - vg.memory().num_bytes == 2 * 40 * (1 + slots)
    assert len(optimizer.get_weights()) == 1 + slots
    np.testing.assert_array_equal(a.numpy(), alone.numpy())


@EACH
def test_variables_come_go_and_are_skipped_without_touching_the_state_of_others(name):
    random = np.random.default_rng(1)
    names = ["a", "b", "c"]
    shared = {n: vg.variable([1.0, 2.0], name=n) for n in names}
    own = {n: (vg.variable([1.0, 2.0], name=f"own_{n}"), CASES[name]()) for n in names}
    optimizer = CASES[name]()
    steps = [["a", "b"], ["b", "a"], ["a"], ["c", "a"], ["b", "c"], [], ["c", "b", "a"]]
    for present in steps:
        grads = {n: vg.tensor(random.normal(size=2)) for n in present}
        absent = {n: None for n in names if n not in present}
        optimizer.apply_gradients({**grads, **absent})
        for n, (variable, alone) in own.items():
            alone.apply_gradients({variable.name: grads.get(n)})
    for n in names:
        np.testing.assert_array_equal(shared[n].numpy(), own[n][0].numpy())


@EACH
def test_a_frozen_variable_and_its_state_stay_as_they_are(name):
    _a, b = vg.variable([1.0], name="a"), vg.variable([1.0], name="b")
    optimizer = CASES[name]()
    optimizer.apply_gradients({"a": vg.ones([1]), "b": vg.ones([1])})
    b.trainable = False
    before = {w.name: w.tensor.numpy() for w in optimizer.get_weights() if w.name.startswith("b/")}
    held = b.numpy()
    optimizer.apply_gradients({"a": vg.ones([1]), "b": vg.ones([1])})
    np.testing.assert_array_equal(b.numpy(), held)
    for weight in optimizer.get_weights():
        if weight.name in before:
            np.testing.assert_array_equal(weight.tensor.numpy(), before[weight.name])


def test_gradients_may_be_named_tensors_pairs_arrays_or_numbers():
    w = vg.variable([0.0, 0.0], name="w")
    sgd = vg.train.sgd(1.0)
    for gradients in (
        {"w": [1.0, 2.0]},
        {"w": np.array([1.0, 2.0])},
        [vg.train.NamedTensor("w", vg.tensor([1.0, 2.0]))],
        [("w", vg.tensor([1.0, 2.0]))],
        [{"name": "w", "tensor": vg.tensor([1.0, 2.0])}],
        vg.variable_grads(lambda: (w * [1.0, 2.0]).sum(), [w]).grads,
    ):
        sgd.apply_gradients(gradients)
    assert w.tolist() == [-6.0, -12.0]


def test_tensors_made_from_a_variable_before_a_step_keep_their_values():
    w = vg.variable([1.0, 2.0], name="w")
    view = w.reshape([2, 1])
    vg.train.sgd(1.0).apply_gradients({"w": vg.ones([2])})
    assert view.tolist() == [[1.0], [2.0]]
    assert w.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("gradients", "error", "message"),
    [
        ([("w", [1.0, 1.0]), ("w", [1.0, 1.0])], ValueError, "'w' is given twice"),
        ([vg.tensor([1.0, 1.0])], TypeError, "item 0 is neither"),
        (vg.tensor([1.0]), TypeError, "takes a dict by name or a list of named tensors, got Tensor"),
        ({"w": [1.0], "nosuch": None}, ValueError, r"'w' has shape \[1\] but the variable has \[2\]"),
        ({"nosuch": None}, ValueError, "no variable named 'nosuch'; trainable variables not given: 'w'"),
        ({"count": [1.0]}, ValueError, r"'count' is float32 and the variable int32 \(both of shape \[1\]\)"),
        ({"w": vg.tensor([1, 2], dtype="complex64")}, ValueError, "complex64"),
    ],
)
def test_bad_gradients_are_one_clear_error(gradients, error, message):
    w = vg.variable([0.0, 0.0], name="w")
    count = vg.variable([0], name="count", dtype="int32", trainable=True)
    optimizer = vg.train.adam()
    with pytest.raises(error, match=message):
        optimizer.apply_gradients(gradients)
    assert optimizer.iterations == 0
    assert w.tolist() == [0.0, 0.0]
    assert count.tolist() == [0]


def test_the_result_of_variable_grads_itself_is_refused():
    w = vg.variable([1.0], name="w")
    with pytest.raises(TypeError, match=r"pass its \.grads"):
        vg.train.sgd(0.1).apply_gradients(vg.variable_grads(lambda: w.sum()))


def test_minimize_returns_the_cost_only_on_demand_and_leaves_other_variables_alone():
    a, b = vg.variable([2.0], name="a"), vg.variable([3.0], name="b")
    sgd = vg.train.sgd(0.25)
    assert sgd.minimize(lambda: a.square().sum(), var_list=[a, b]) is None
    assert sgd.minimize(lambda: (a * b).sum(), True, [a]).item() == 3.0
    assert a.tolist() == [0.25]
    assert b.tolist() == [3.0]


def raises(x):
    raise ValueError("no such place")


@pytest.mark.parametrize("constraint", [raises, lambda x: x.sum(), lambda x: "x"], ids=["raises", "shape", "text"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("clip", [{}, {"global_clip_norm": 1.0}])
def test_a_constraint_that_fails_leaves_everything_as_it_was(constraint, dtype, clip):
    a = vg.variable([1.0, 2.0], name="a", dtype=dtype)
    b = vg.variable([[3.0]], name="b", dtype=dtype)
    optimizer = vg.train.adam(0.5, **clip)
    gradients = {"a": vg.tensor([1.0, -1.0], dtype=dtype), "b": vg.tensor([[2.0]], dtype=dtype)}
    optimizer.apply_gradients(gradients)
    before = [v.tolist() for v in (a, b)]
    state = {name: tensor.tolist() for name, tensor in optimizer.get_weights()}
    b.constraint = constraint
    for given in (gradients, list(gradients.items())):
        with pytest.raises((ValueError, TypeError)):
            optimizer.apply_gradients(given)
        assert [v.tolist() for v in (a, b)] == before
        assert {name: tensor.tolist() for name, tensor in optimizer.get_weights()} == state
    b.constraint = None
    optimizer.apply_gradients(gradients)
    assert optimizer.iterations == 2


def test_a_constraint_holds_after_every_update():
    w = vg.variable([1.0, -1.0], name="w")
    w.constraint = lambda x: x.relu()
    vg.train.sgd(0.5).apply_gradients({"w": vg.tensor([4.0, -1.0])})
    assert w.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["momentum", "adam", "rmsprop"])
def test_every_hyperparameter_is_read_at_each_step(name):
    w = vg.variable(0.0, name="w")
    optimizer = CASES[name]()
    changed = type(optimizer)(**{**optimizer.get_config(), **CHANGED[name]})
    other = vg.variable(0.0, name="other")
    optimizer.apply_gradients({"w": vg.scalar(1.0)})
    changed.set_weights([(n.replace("w/", "other/"), t) for n, t in optimizer.get_weights()])
    other.assign(w)
    for hyperparameter, value in CHANGED[name].items():
        setattr(optimizer, hyperparameter, value)
    optimizer.apply_gradients({"w": vg.scalar(2.0)})
    changed.apply_gradients({"other": vg.scalar(2.0)})
    assert w.item() == other.item()


CHANGED = {
    "momentum": {"learning_rate": 0.5, "momentum": 0.1, "use_nesterov": True},
    "adam": {"learning_rate": 0.5, "beta1": 0.2, "beta2": 0.3, "epsilon": 0.1},
    "rmsprop": {"learning_rate": 0.5, "decay": 0.2, "momentum": 0.3, "epsilon": 0.1},
}


def test_centered_rmsprop_adds_epsilon_and_survives_a_constant_gradient():
    # Graves, arXiv:1308.0850, equations 38 to 41; TensorFlow.js subtracts epsilon: NaN from the first step on.
    w = vg.variable([0.0], name="w")
    optimizer = vg.train.rmsprop(0.1, 0.5, 0.0, 0.01, True)
    optimizer.apply_gradients({"w": vg.tensor([0.1])})
    square, mean = 0.5 * 0.01, 0.5 * 0.1
    expected = -0.1 * 0.1 / np.sqrt(square - mean**2 + 0.01)
    assert w.item() == pytest.approx(expected, rel=1e-6)
    constant = vg.train.rmsprop(1e-9, centered=True)
    for _ in range(300):
        constant.apply_gradients({"w": vg.tensor([1000.0])})
    assert np.isfinite(w.item())


def test_bad_options_are_refused():
    with pytest.raises(TypeError, match="RMSProp: learning_rate must be a number or a schedule, got None"):
        vg.train.rmsprop(None)
    with pytest.raises(ValueError, match="beta1 must be at least 0 and less than 1"):
        vg.train.adam(0.1, beta1=1.0)
    with pytest.raises(ValueError, match="clip_norm and clip_value cannot be combined"):
        vg.train.sgd(0.1, clip_norm=1.0, clip_value=1.0)
    with pytest.raises(ValueError, match="global_clip_norm must be a positive number, got 0"):
        vg.train.sgd(0.1, global_clip_norm=0)


@pytest.mark.parametrize(("rate", "error"), [("0.1", TypeError), (b"1", TypeError), (float("nan"), ValueError)])
def test_a_rate_that_is_no_number_is_refused_whenever_it_comes(rate, error):
    optimizer = vg.train.sgd(-1.0)
    with pytest.raises(error, match="SGD: learning_rate must be a number or a schedule, got "):
        vg.train.sgd(rate)
    with pytest.raises(error, match="SGD: learning_rate must be a number or a schedule, got "):
        optimizer.learning_rate = rate
    with pytest.raises(error, match="SGD: learning_rate must be a number or a schedule, got "):
        optimizer.set_learning_rate(rate)
    assert optimizer.learning_rate == -1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lr", "; it is 'learning_rate' here"),
        ("learningRate", "; it is 'learning_rate' here"),
        ("beta_1", "; did you mean 'beta1'?"),
        ("clipnorm", "; did you mean 'clip_norm'?"),
    ],
)
def test_a_name_of_another_library_is_answered_as_argument_and_attribute(name, hint):
    with pytest.raises(TypeError) as as_argument:
        vg.train.adam(**{name: 0.1})
    assert str(as_argument.value) == f"Adam: has no argument {name!r}{hint}"
    optimizer = vg.train.adam()
    with pytest.raises(AttributeError) as as_attribute:
        setattr(optimizer, name, 0.1)
    assert str(as_attribute.value) == f"Adam: has no attribute {name!r}{hint}"
    assert not hasattr(optimizer, name)


def test_gradient_descent_with_momentum_is_named():
    with pytest.raises(TypeError, match=r"SGD: has no argument 'momentum'; vg\.train\.momentum .* have it"):
        vg.train.sgd(0.1, momentum=0.9)


def test_an_optimizer_of_ones_own_may_have_any_attribute():
    class Mine(vg.train.SGDOptimizer):
        def __init__(self, lr):
            super().__init__(lr)
            self.lr = lr

    optimizer = Mine(0.5)
    optimizer.lr = 0.25
    assert (optimizer.lr, optimizer.learning_rate) == (0.25, 0.5)


def test_two_threads_may_share_an_optimizer():
    variables = [vg.variable(np.zeros(50), name=f"thread_{i}") for i in range(4)]
    optimizer = vg.train.sgd(1.0)

    def work(variable):
        for _ in range(100):
            optimizer.apply_gradients({variable.name: vg.ones([50])})

    threads = [threading.Thread(target=work, args=(v,)) for v in variables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert optimizer.iterations == 400
    for variable in variables:
        np.testing.assert_array_equal(variable.numpy(), np.full(50, -100, "float32"))


def test_values_that_overflow_give_infinities_and_no_warning():
    w = vg.variable([0.0], name="w")
    vg.train.adam(0.1).apply_gradients({"w": vg.tensor([1e30])})
    vg.train.sgd(1e30).apply_gradients({"w": vg.tensor([1e30])})
    assert w.tolist() == [-np.inf]


def test_gradients_may_be_paired_with_their_variables_in_either_order():
    expected = {}
    for way in ("by name", "zip", "pairs", "turned", "generator"):
        a, b = vg.variable([1.0, 2.0]), vg.variable(3.0)
        gradients = [vg.tensor([0.5, 1.0]), vg.scalar(2.0)]
        given = {
            "by name": {a.name: gradients[0], b.name: gradients[1]},
            "zip": zip(gradients, [a, b], strict=True),
            "pairs": [(gradients[0], a), (gradients[1], b)],
            "turned": [(a, gradients[0]), [b, gradients[1]]],
            "generator": ((gradient, variable) for variable, gradient in ((a, gradients[0]), (b, gradients[1]))),
        }[way]
        vg.train.adam(0.1).apply_gradients(given)
        expected[way] = (a.tolist(), b.item())
    assert expected["by name"] != ([1.0, 2.0], 3.0)
    assert all(result == expected["by name"] for result in expected.values())


def test_gradients_without_their_variables_are_told_how_to_name_them():
    with pytest.raises(TypeError, match=r"item 0 is neither .*; zip\(gradients, variables\) says whose they are"):
        vg.train.sgd(0.1).apply_gradients([vg.scalar(1.0)])
