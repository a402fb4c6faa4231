"""The state of optimizers: saved on its own, restored by name, in this process and in a new one."""

import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import varigrad as vg

ALL = {
    "sgd": "vg.train.sgd(0.1)",
    "momentum": "vg.train.momentum(0.1, 0.9)",
    "nesterov": "vg.train.momentum(0.1, 0.9, use_nesterov=True)",
    "adagrad": "vg.train.adagrad(0.1)",
    "adadelta": "vg.train.adadelta(0.1)",
    "adam": "vg.train.adam(vg.train.exponential_decay(0.1, 4, 0.9))",
    "adamax": "vg.train.adamax(0.1, decay=0.1)",
    "rmsprop": "vg.train.rmsprop(0.1, momentum=0.5)",
    "centered": "vg.train.rmsprop(0.1, centered=True)",
}
EACH = pytest.mark.parametrize("name", ALL)


def make(name):
    return eval(ALL[name], {"vg": vg})


# Each line is run in this process and, after restoring, in another.
PROBLEM = textwrap.dedent(
    """
    import numpy as np
    import varigrad as vg
    a = vg.variable(np.linspace(1, 3, 5), name="dense/a")
    b = vg.variable(np.full([2, 3], 0.5), name="b", dtype="float64")
    c = vg.variable(np.full([200, 100], 0.25), name="c")

    def loss():
        return (a * a).sum() + (b * b * b).sum().cast("float32") * a.sum() + (c * c).sum()
    """
)


@EACH
def test_a_run_resumed_in_a_new_process_is_equal_bit_for_bit(name, tmp_path):
    scope = {}
    exec(PROBLEM, scope)
    optimizer = make(name)
    variables = [scope["a"], scope["b"], scope["c"]]
    for step in range(10):
        if step == 5:
            np.savez(tmp_path / "state.npz", **{w.name: w.tensor.numpy() for w in optimizer.get_weights()})
            np.savez(tmp_path / "weights.npz", **{v.name: v.numpy() for v in variables})
        optimizer.minimize(scope["loss"], var_list=variables)
    resumed = PROBLEM + textwrap.dedent(
        f"""
        weights = np.load("weights.npz")
        for v in [a, b, c]:
            v.assign(vg.tensor(weights[v.name], dtype=v.dtype))
        optimizer = {ALL[name]}
        optimizer.set_weights(dict(np.load("state.npz")))
        assert optimizer.iterations == 5
        for _ in range(5):
            optimizer.minimize(loss, var_list=[c, a, b])
        assert optimizer.iterations == 10
        np.savez("resumed.npz", **{{v.name: v.numpy() for v in [a, b, c]}})
        """
    )
    subprocess.run([sys.executable, "-c", resumed], cwd=tmp_path, check=True)
    with np.load(tmp_path / "resumed.npz") as found:
        for variable in variables:
            np.testing.assert_array_equal(found[variable.name], variable.numpy())


@EACH
def test_restoring_into_a_used_optimizer_takes_it_back(name):
    w, v = vg.variable([1.0, 2.0], name="w"), vg.variable([3.0], name="v")
    optimizer = make(name)
    gradients = {"w": vg.tensor([0.5, -0.25])}
    optimizer.apply_gradients(gradients)
    state, held = optimizer.get_weights(), w.numpy()
    optimizer.apply_gradients({**gradients, "v": vg.ones([1])})
    after, v_after = w.numpy(), v.numpy()
    w.assign(held)
    v.assign([3.0])
    optimizer.set_weights(state)
    optimizer.apply_gradients({**gradients, "v": vg.ones([1])})
    np.testing.assert_array_equal(w.numpy(), after)
    np.testing.assert_array_equal(v.numpy(), v_after)  # its slots, unknown to the state, started afresh


@EACH
def test_state_goes_round_unchanged_before_any_step(name):
    w = vg.variable([1.0, 2.0], name="w")
    first, second = make(name), make(name)
    for _ in range(3):
        first.apply_gradients({"w": vg.tensor([0.5, -0.25])})
    second.set_weights(first.get_weights())
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.tensor.numpy(), other.tensor.numpy())
    assert w.shape == (2,)


@EACH
def test_slots_of_another_shape_are_refused_by_name(name):
    w, optimizer = vg.variable([1.0, 2.0], name="w"), make(name)
    optimizer.apply_gradients({"w": vg.ones([2])})
    state = {s.name: s.tensor.numpy() for s in optimizer.get_weights()}
    for slot in [s for s in state if s != "iter"]:
        with pytest.raises(ValueError, match=rf"slot '{slot}' has shape \[3\] but the variable has \[2\]"):
            make(name).set_weights({**state, slot: np.ones(3)})
    assert w.shape == (2,)


def test_the_state_handed_out_is_a_copy():
    vg.variable([1.0], name="w_gone")
    w = vg.variable([1.0], name="w")
    adam = vg.train.adam()
    adam.apply_gradients({"w": vg.ones([1])})
    state = {s.name: s.tensor for s in adam.get_weights()}
    held = state["w/m"].numpy()
    adam.apply_gradients({"w": vg.ones([1])})
    np.testing.assert_array_equal(state["w/m"].numpy(), held)
    assert w.item() < 1.0


ADAM_STATE = {"iter": 3, "w/m": np.ones(2), "w/v": np.ones(2)}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({k: v for k, v in ADAM_STATE.items() if k != "iter"}, "has no 'iter'.*got 'w/m', 'w/v'"),
        ({**ADAM_STATE, "gone/m": np.ones(2), "gone/v": np.ones(2)}, "none named 'gone'; trainable.*'other'"),
        ({**ADAM_STATE, "w/v": np.ones(3)}, r"slot 'w/v' has shape \[3\] but the variable has \[2\]"),
        ({k: v for k, v in ADAM_STATE.items() if k != "w/v"}, "the state of 'w' lacks 'w/v'"),
        ({"iter": 3, "w/accumulator": np.ones(2)}, "'w/accumulator' is no slot of Adam, which has 'm', 'v'"),
    ],
)
def test_state_that_does_not_fit_is_an_error_that_names_the_differences(state, message):
    w, other = vg.variable([1.0, 2.0], name="w"), vg.variable([1.0], name="other")
    adam, fresh = vg.train.adam(0.5), vg.train.adam(0.5)
    with pytest.raises(ValueError, match=message):
        adam.set_weights(state)
    adam.apply_gradients({"w": vg.ones([2])})
    after = w.numpy()
    w.assign([1.0, 2.0])
    fresh.apply_gradients({"w": vg.ones([2])})
    np.testing.assert_array_equal(w.numpy(), after)  # nothing had changed
    assert adam.iterations == 1
    assert other.tolist() == [1.0]


def test_state_of_other_variables_is_noticed_at_the_first_step_at_latest():
    w, other = vg.variable([1.0, 2.0], name="w"), vg.variable([1.0], name="other")
    adam = vg.train.adam()
    adam.set_weights(ADAM_STATE)
    with pytest.raises(ValueError, match="slots for 'w', which got no gradient, and none for 'other'"):
        adam.apply_gradients({"other": vg.ones([1])})
    assert adam.iterations == 3
    assert other.tolist() == [1.0]
    w.dispose()
    w = vg.variable([1.0, 2.0, 3.0], name="w")
    with pytest.raises(ValueError, match=r"slot 'w/m' has shape \[2\] but the variable has \[3\]"):
        adam.apply_gradients({"w": vg.ones([3])})
    assert w.tolist() == [1.0, 2.0, 3.0]


def test_a_variable_added_after_restoring_starts_afresh():
    w, other = vg.variable([1.0, 2.0], name="w"), vg.variable([1.0], name="other")
    adam = vg.train.adam()
    adam.set_weights(ADAM_STATE)
    adam.apply_gradients({"w": vg.ones([2]), "other": vg.ones([1])})
    state = {s.name: s.tensor.numpy() for s in adam.get_weights()}
    np.testing.assert_allclose(state["w/m"], 0.9 + 0.1, rtol=1e-6)
    np.testing.assert_allclose(state["other/m"], 0.1, rtol=1e-6)
    assert w.shape != other.shape


@EACH
def test_optimizers_are_copied_and_pickled_with_their_state(name):
    w = vg.variable([1.0, 2.0], name="w")
    optimizer = make(name)
    optimizer.apply_gradients({"w": vg.ones([2])})
    twins = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    start = w.numpy()
    optimizer.apply_gradients({"w": vg.ones([2])})
    after = w.numpy()
    for twin in twins:
        w.assign(start)
        twin.apply_gradients({"w": vg.ones([2])})
        np.testing.assert_array_equal(w.numpy(), after)
        assert twin.get_config() == optimizer.get_config()


@pytest.mark.parametrize("wrong", [["a", "b"], vg.tensor(["a", "b"]), [1j, 2], None, [[1], [1, 2]], object()])
@EACH
def test_slots_that_are_no_numbers_are_refused_and_nothing_changes(name, wrong):
    w = vg.variable([1.0, 2.0], name="w")
    optimizer = make(name)
    optimizer.apply_gradients({"w": vg.ones([2])})
    before = {weight.name: weight.tensor.tolist() for weight in optimizer.get_weights()}
    for changed in before:
        with pytest.raises((TypeError, ValueError), match=f"set_weights: '{changed}'"):
            optimizer.set_weights({**dict.fromkeys(before, w), "iter": 7, changed: wrong})
    assert {weight.name: weight.tensor.tolist() for weight in optimizer.get_weights()} == before


@pytest.mark.parametrize("count", [-1, 1.5, float("nan"), [1, 2], float("inf"), 2**31, 1e300, np.float16(np.inf)])
def test_the_number_of_updates_is_a_whole_number(count):
    with pytest.raises(ValueError, match="'iter' must be the number of updates made"):
        vg.train.sgd(0.1).set_weights({"iter": count})
    average = vg.train.exponential_moving_average([vg.variable(1.0, name="w")])
    state = {weight.name: weight.tensor for weight in average.get_weights()}
    with pytest.raises(ValueError, match="'updates'"):
        average.set_weights({**state, "updates": count})
    with pytest.raises(TypeError, match="'w/average' must hold real numbers"):
        average.set_weights({**state, "w/average": np.array("a")})


def test_a_state_without_names_says_so():
    with pytest.raises(TypeError, match=r"SGD.set_weights: names must be strings, got 3"):
        vg.train.sgd(0.1).set_weights({"iter": 1, 3: 1.0})
    with pytest.raises(ValueError, match=r"has no 'iter'.*got nothing"):
        vg.train.sgd(0.1).set_weights([])


def test_a_config_is_a_dict_whose_rest_is_the_defaults():
    assert vg.train.adam().from_config({"beta1": 0.5}).get_config() == {**vg.train.adam().get_config(), "beta1": 0.5}
    with pytest.raises(TypeError, match=r"AdamOptimizer.from_config: takes a dict, as get_config gives, got None"):
        vg.AdamOptimizer.from_config(None)


@pytest.mark.parametrize("wrong", [None, "x", [0.1]])
def test_a_hyperparameter_that_is_no_number_stops_the_step_before_anything_changes(wrong):
    w = vg.variable([1.0], name="w")
    for optimizer, name in ((vg.train.momentum(0.1, 0.9), "momentum"), (vg.train.adam(0.1), "epsilon")):
        setattr(optimizer, name, wrong)
        with pytest.raises(TypeError, match=f"{name} must be a number, got"):
            optimizer.apply_gradients({"w": [1.0]})
        assert (w.tolist(), optimizer.iterations) == ([1.0], 0)
    optimizer = vg.train.sgd(lambda updates: wrong)
    with pytest.raises(TypeError, match="learning_rate must be a number, got"):
        optimizer.apply_gradients({"w": [1.0]})
