"""Compiled training steps against the same steps as written."""

import dataclasses
import threading
from contextvars import Context

import numpy as np
import pytest

import varigrad as vg

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(16, 4)).astype(np.float32)
Y = RANDOM.normal(size=(16, 2)).astype(np.float32)


class Net:
    """Two dense layers by hand, the same at each making."""

    def __init__(self):
        random = np.random.default_rng(7)
        self.w1 = vg.variable(random.normal(size=(4, 8)).astype(np.float32) * 0.5)
        self.b1 = vg.variable(np.zeros(8, np.float32))
        self.w2 = vg.variable(random.normal(size=(8, 2)).astype(np.float32) * 0.5)
        self.b2 = vg.variable(np.zeros(2, np.float32))

    @property
    def variables(self):
        return [self.w1, self.b1, self.w2, self.b2]

    def loss(self, x, y):
        hidden = vg.tanh(vg.tensor(x).mat_mul(self.w1) + self.b1)
        return (hidden.mat_mul(self.w2) + self.b2 - y).square().mean()


def train(make_step, wrap, steps=6):
    """Losses and final variables of a training."""
    net = Net()
    step = wrap(make_step(net))
    losses = []
    for count in range(steps):
        rows = slice(4 * (count % 4), 4 * (count % 4) + 4)
        losses.append(step(vg.tensor(X[rows]), vg.tensor(Y[rows])).item())
    return losses, [v.numpy() for v in net.variables], step


@pytest.fixture
def both(executor):
    """Trains as written and compiled, compares, and returns the compiled step."""

    def run(make_step, steps=6):
        right_losses, right, _ = train(make_step, lambda f: f, steps)
        losses, found, step = train(make_step, vg.jit, steps)
        check(executor, [np.array(losses), *found], [np.array(right_losses), *right])
        return step

    return run


def check(executor, found, right):
    """NumPy gives the bits of eager mode; machine code may sum in another order, which grows with the steps."""
    for a, b in zip(found, right, strict=True):
        assert np.array_equal(a, b) if executor == "numpy" else np.allclose(a, b, rtol=1e-4, atol=1e-5)


OPTIMIZERS = {
    "sgd": lambda **options: vg.train.sgd(0.1, **options),
    "momentum": lambda **options: vg.train.momentum(0.1, 0.9, **options),
    "nesterov": lambda **options: vg.train.momentum(0.1, 0.9, use_nesterov=True, **options),
    "adagrad": lambda **options: vg.train.adagrad(0.1, **options),
    "adadelta": lambda **options: vg.train.adadelta(0.1, **options),
    "adam": lambda **options: vg.train.adam(0.01, **options),
    "adamax": lambda **options: vg.train.adamax(0.01, **options),
    "rmsprop": lambda **options: vg.train.rmsprop(0.01, momentum=0.5, **options),
    "centered rmsprop": lambda **options: vg.train.rmsprop(0.01, centered=True, **options),
    "clip_norm": lambda **options: vg.train.adam(0.01, clip_norm=0.1, **options),
    "global_clip_norm": lambda **options: vg.train.adam(0.01, global_clip_norm=0.1, **options),
    "clip_value": lambda **options: vg.train.adam(0.01, clip_value=0.1, **options),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_trains_as_eager_mode_does(both, name):
    def make_step(net):
        optimizer = OPTIMIZERS[name]()

        def step(x, y):
            value, grads = vg.variable_grads(lambda: net.loss(x, y))
            optimizer.apply_gradients(grads)
            return value

        return step

    assert both(make_step).compilations == 1


def test_minimize_and_clipping_by_hand(both):
    def make_step(net):
        optimizer = vg.train.adam(0.01)

        def step(x, y):
            value, grads = vg.variable_grads(lambda: net.loss(x, y))
            optimizer.apply_gradients(vg.train.clip_by_global_norm(grads, 0.5))
            return value + optimizer.minimize(lambda: net.loss(x, y), return_cost=True)

        return step

    assert both(make_step).compilations == 1


def test_a_schedule_goes_on_and_does_not_recompile(both):
    def make_step(net):
        optimizer = vg.train.adam(vg.train.exponential_decay(0.1, 2, 0.5))
        return lambda x, y: optimizer.minimize(lambda: net.loss(x, y), return_cost=True)

    assert both(make_step, steps=10).compilations == 1


@pytest.mark.parametrize(
    ("optimizer", "change", "expected"),
    [
        (lambda: vg.train.momentum(0.1, 0.9), {"learning_rate": 0.01}, -0.119),
        (lambda: vg.train.sgd(0.1), {"learning_rate": 0.01}, -0.11),
        (lambda: vg.train.adam(0.1), {"learning_rate": 0.01}, -0.11),
        (lambda: vg.train.momentum(1, 0.5), {"momentum": 0}, -2.0),
    ],
)
def test_a_hyperparameter_assigned_between_steps_counts_from_the_next_one_on(optimizer, change, expected):
    optimizer = optimizer()
    w = vg.variable(0.0)
    step = vg.jit(lambda g: optimizer.apply_gradients({w.name: g}))
    step(vg.scalar(1.0))
    for name, value in change.items():
        setattr(optimizer, name, value)
    step(vg.scalar(1.0))
    assert w.item() == pytest.approx(expected, rel=1e-5)
    assert step.compilations == 1


def test_turning_an_option_that_changes_the_update_recompiles():
    optimizer = vg.train.momentum(1.0, 0.5)
    w = vg.variable(0.0)
    step = vg.jit(lambda g: optimizer.apply_gradients({w.name: g}))
    step(vg.scalar(1.0))
    optimizer.use_nesterov = True
    step(vg.scalar(1.0))  # m = 1.5; w = -1 - (1 + 0.5 * 1.5)
    assert w.item() == pytest.approx(-2.75)
    optimizer.clip_value = 0.5
    step(vg.scalar(1.0))  # m = 1.25; w -= 0.5 + 0.5 * 1.25
    assert w.item() == pytest.approx(-2.75 - 1.125)
    assert step.compilations == 3


def test_restored_optimizer_state_is_used():
    optimizer = vg.train.momentum(1.0, 0.5)
    w = vg.variable(0.0)
    step = vg.jit(lambda g: optimizer.apply_gradients({w.name: g}))
    step(vg.scalar(1.0))
    saved = optimizer.get_weights()
    step(vg.scalar(1.0))
    optimizer.set_weights(saved)
    w.assign(0.0)
    step(vg.scalar(1.0))  # m = 0.5 * 1 + 1
    assert w.item() == -1.5
    assert optimizer.iterations == 2


def test_iterations_count_on():
    optimizer = vg.train.adam(0.1)
    w = vg.variable(0.0)
    step = vg.jit(lambda: optimizer.minimize(lambda: (w - 1).square(), return_cost=True))
    for _ in range(5):
        step()
    assert optimizer.iterations == 5


def test_freezing_a_variable_between_steps_is_noticed():
    optimizer = vg.train.sgd(1.0)
    a, b = vg.variable(1.0), vg.variable(1.0)
    step = vg.jit(lambda: optimizer.minimize(lambda: a + b))
    step()
    b.trainable = False
    step()
    step()
    assert (a.item(), b.item()) == (-2, 0)
    b.trainable = True
    step()
    assert (a.item(), b.item()) == (-3, -1)


def test_a_constraint_is_applied_and_a_new_one_noticed():
    optimizer = vg.train.sgd(1.0)
    w = vg.variable([3.0, -3.0])
    w.constraint = vg.relu
    step = vg.jit(lambda: optimizer.minimize(lambda: w.sum()))
    step()
    assert w.tolist() == [2, 0]
    step()
    assert w.tolist() == [1, 0]
    w.constraint = None
    step()
    assert w.tolist() == [0, -1]


def test_a_variable_replaced_or_disposed_of_is_noticed():
    class Holder:
        w = vg.variable([1.0, 2.0])

    step = vg.jit(lambda x: (Holder.w * x).sum())
    x = vg.tensor([1.0, 1.0])
    assert [step(x).item(), step(x).item()] == [3, 3]
    Holder.w = vg.variable([10.0, 20.0])
    assert step(x).item() == 30
    Holder.w.dispose()
    with pytest.raises(vg.DisposedError):
        step(x)
    Holder.w = vg.variable([5.0, 5.0])
    assert step(x).item() == 10


def test_an_explanation_says_that_what_it_was_compiled_for_is_gone():
    w = vg.variable([1.0, 2.0])
    step = vg.jit(lambda x: w * x)
    step(vg.scalar(1.0))
    w.dispose()
    with pytest.raises(vg.DisposedError):
        step(vg.scalar(1.0))
    w = vg.variable([5.0, 5.0])
    assert step(vg.scalar(1.0)).tolist() == [5, 5]
    assert step.explain().splitlines()[-1] == "  2. a tensor that it uses was disposed of"


def test_values_assigned_between_steps_are_used():
    w = vg.variable([1.0, 2.0])
    step = vg.jit(lambda x: w * x)
    x = vg.scalar(2.0)
    step(x)
    w.assign([10.0, 20.0])
    assert step(x).tolist() == [20, 40]
    assert step.compilations == 1


def test_assignments_inside_are_done_in_order_at_each_call():
    w, total = vg.variable(1.0), vg.variable(0.0)

    @vg.jit
    def step(x):
        before = w * 1
        w.assign(w * x)
        w.assign_add(1.0)
        total.assign_add(w)
        return before, w + 0, w

    found = [step(vg.scalar(2.0)) for _ in range(4)]
    assert [r[0].item() for r in found] == [1, 3, 7, 15]
    assert [r[1].item() for r in found] == [3, 7, 15, 31]
    assert all(r[2] is w for r in found)
    assert (w.item(), total.item()) == (31, 3 + 7 + 15 + 31)
    assert step.compilations == 1


def test_a_value_of_a_variable_that_was_returned_stays_what_it_was():
    w = vg.variable(np.ones(2000, np.float32))
    optimizer = vg.train.sgd(1.0)

    @vg.jit
    def step():
        before = w.clone()
        flat = w.reshape([40, 50])
        optimizer.minimize(lambda: w.sum())
        return before, flat, w.clone()

    results = [step() for _ in range(4)]
    for count, (before, flat, after) in enumerate(results):
        assert np.asarray(before)[0] == np.asarray(flat)[0, 0] == 1 - count
        assert np.asarray(after)[0] == -count


def test_an_array_taken_from_a_variable_between_steps_stays_what_it_was():
    w = vg.variable(np.zeros(10, np.float32))
    optimizer = vg.train.sgd(1.0)
    step = vg.jit(lambda: optimizer.minimize(lambda: w.sum()))
    step()
    step()
    held = np.asarray(w)
    step()
    assert held[0] == -2
    assert w.numpy()[0] == -3


def test_variables_are_updated_in_place():
    w = vg.variable(np.zeros(1000, np.float32))
    optimizer = vg.train.adam(0.1)
    step = vg.jit(lambda x: optimizer.minimize(lambda: (w * x).sum()))
    for _ in range(3):
        step(vg.scalar(1.0))
    address = w.storage.ctypes.data
    step(vg.scalar(1.0))
    assert w.storage.ctypes.data == address


def test_the_gradient_at_a_value_that_was_assigned_away_afterwards():
    w = vg.variable(3.0)

    def step(x):
        def loss():
            y = w * w * x
            w.assign(w * 2)
            return y

        return vg.variable_grads(loss).grads[w.name]

    compiled = vg.jit(step)
    assert [compiled(vg.scalar(1.0)).item() for _ in range(3)] == [6, 12, 24]


def test_a_step_without_a_gradient_for_one_variable(both):
    def make_step(net):
        optimizer = vg.train.adam(0.01)

        def step(x, y):
            value, grads = vg.variable_grads(lambda: net.loss(x, y))
            grads[net.b1.name] = None
            optimizer.apply_gradients(grads)
            return value

        return step

    both(make_step)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_gradient_accumulation(both, every):
    def make_step(net):
        optimizer = vg.train.accumulate(vg.train.adam(0.01), every)
        return lambda x, y: optimizer.minimize(lambda: net.loss(x, y), return_cost=True, batch_size=4)

    assert both(make_step, steps=13).compilations == every


@pytest.mark.parametrize(
    ("wrap", "clip", "compilations"),
    [
        (lambda: vg.train.accumulate(vg.train.adam(0.1), every=50), dict, 3),  # for the first, the next and the last
        (lambda: vg.train.accumulate(vg.train.sgd(0.1), every=2), dict, 2),
        (lambda: vg.train.accumulate(vg.train.sgd(0.1), every=1), dict, 1),
        (lambda: vg.train.adam(0.1, clip_norm=1.0), dict, 1),
        (lambda: vg.train.adam(0.1, global_clip_norm=1.0), dict, 1),
        (lambda: vg.train.sgd(0.1, clip_value=0.5), dict, 1),
        (lambda: vg.train.sgd(0.1), lambda grads: vg.train.clip_by_global_norm(grads, 1.0), 1),
        (lambda: vg.train.adam(vg.train.cosine_decay(0.1, 60)), dict, 1),
        (lambda: vg.train.adam(vg.train.exponential_decay(0.1, 10, 0.9)), dict, 1),
    ],
)
def test_what_goes_with_training_is_compiled_once(wrap, clip, compilations):
    w = vg.variable([1.0, -2.0])
    optimizer, average = wrap(), vg.train.exponential_moving_average([w], decay=0.9)

    @vg.jit
    def step():
        value, grads = vg.variable_grads(lambda: w.square().sum())
        optimizer.apply_gradients(clip(grads))
        average.update()
        return value

    for _ in range(110):
        step()
    assert step.compilations == compilations
    assert step.explain().count("\n") == compilations
    assert average.updates == 110


def test_moving_averages_of_weights(both, executor):
    averages = {}

    def make_step(net):
        optimizer = vg.train.sgd(0.1)
        average = averages[len(averages)] = vg.train.exponential_moving_average(net.variables, 0.75, zero_debias=True)

        def step(x, y):
            value = optimizer.minimize(lambda: net.loss(x, y), return_cost=True)
            average.update()
            return value

        return step

    assert both(make_step).compilations == 1
    as_written, compiled = ([a.average(v).numpy() for v in a.variables] for a in averages.values())
    check(executor, compiled, as_written)


def test_layers_with_batch_normalization_and_dropout(both, executor):
    def make_step(net):
        vg.set_random_seed(11)
        model = vg.sequential()
        model.add(vg.layers.dense(units=8, activation="relu", input_shape=[4], kernel_initializer="ones"))
        model.add(vg.layers.batch_normalization())
        model.add(vg.layers.dropout(rate=0.5))
        model.add(vg.layers.dense(units=2, kernel_initializer="ones"))
        optimizer = vg.train.adam(0.01)
        models.append(model)

        def step(x, y):
            def loss():
                return (model(x, training=True) - y).square().mean()

            return optimizer.minimize(loss, return_cost=True)

        return step

    models = []
    assert both(make_step).compilations == 1
    as_written, compiled = ([w.numpy() for w in model.get_weights()] for model in models)
    check(executor, compiled, as_written)


def test_a_seeded_dropout_layer_goes_on_with_its_sequence_of_masks():
    layers = [vg.layers.dropout(rate=0.5, seed=3) for _ in range(2)]
    as_written, compiled = (lambda x: layers[0](x, training=True)), vg.jit(lambda x: layers[1](x, training=True))
    x = vg.ones([50])
    found = [compiled(x).tolist() for _ in range(4)]
    assert found == [as_written(x).tolist() for _ in range(4)]
    assert found[1] != found[2] != found[3]
    assert compiled.compilations == 1


def test_a_layer_that_makes_its_weights_at_the_first_call():
    layer = vg.layers.dense(units=3)
    f = vg.jit(lambda x: layer(x))
    x = vg.ones([2, 4])
    first = f(x)
    assert np.array_equal(f(x), first)
    assert np.array_equal(f(x), first)
    assert f.compilations == 1


def test_the_training_flag_is_part_of_the_signature():
    layer = vg.layers.dropout(rate=0.5)
    f = vg.jit(lambda x, training: layer(x, training=training))
    x = vg.ones([100])
    for _ in range(2):
        assert 0 in np.asarray(f(x, True))
        assert np.array_equal(f(x, False), x)
    assert f.compilations == 2


def test_checked_steps_leave_the_state_of_one_step():
    def make_step(net):
        optimizer = vg.train.adam(vg.train.exponential_decay(0.1, 2, 0.5))

        def step(x, y):
            return optimizer.minimize(lambda: net.loss(vg.dropout(x, 0.5), y), return_cost=True)

        return step

    def seeded(f):
        vg.set_random_seed(1)
        return f

    right, _, _ = train(make_step, seeded)
    found, _, _ = train(make_step, lambda f: vg.jit(seeded(f), check=True))
    assert found == right


@dataclasses.dataclass
class Outcome:
    """A result of a class of its own."""

    loss: vg.Tensor


@pytest.mark.parametrize(
    ("wrap", "place"),
    [
        (lambda y: y, ""),
        (lambda y: [1, (y,)], r"\[1\]\[0\]"),
        (lambda y: {"loss": y}, r"\['loss'\]"),
        (Outcome, r"\.loss"),
        (lambda y: {"all": [Outcome(y)]}, r"\['all'\]\[0\]\.loss"),
    ],
)
def test_checking_finds_a_kernel_that_does_not_give_the_same_twice(wrap, place):
    state = [0.0]

    def kernel(x):
        state[0] += 1
        return x + np.float32(state[0])

    vg.register_kernel("DriftTest", "numpy", kernel)
    f = vg.jit(lambda x: wrap(vg.run_kernel("DriftTest", (x,))), check=True)
    f(vg.scalar(0.0))
    with pytest.raises(vg.JitError, match=rf"differ in its result{place}: .*please report it, .* unless .* rounding"):
        f(vg.scalar(0.0))


def test_a_step_runs_without_anybody_observing(executor):
    # The tests' own observer goes through another branch.
    def everything():
        optimizer = vg.train.adam(0.1)
        w = vg.variable([1.0, 2.0])
        step = vg.jit(lambda x: optimizer.minimize(lambda: ((w - x) ** 2).sum(), return_cost=True))
        double = vg.jit(lambda x: x * 2)
        return [(step(vg.scalar(3.0)).item(), double(w + 0).tolist()) for _ in range(4)], step.compilations

    found, compilations = Context().run(everything)
    assert compilations == 1
    assert found[0] == (5, [pytest.approx(2.2), pytest.approx(4.2)])
    costs = [cost for cost, _ in found]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.filterwarnings("ignore:jit. .* is not compiled, because it changes optimizer:varigrad.JitWarning")
def test_a_step_that_reads_or_sets_an_optimizers_numbers_itself_does_so_at_each_call():
    def trained(wrap):
        w = vg.variable(0.0)
        optimizer = vg.train.sgd(0.5)

        def slows_down(g):
            optimizer.learning_rate *= 0.5
            optimizer.apply_gradients({w.name: g})

        def counts(g):
            optimizer.apply_gradients({w.name: g})
            return w * optimizer.iterations

        steps = wrap(slows_down), wrap(counts)
        return [(steps[0](vg.scalar(1.0)), steps[1](vg.scalar(1.0)).item(), w.item()) for _ in range(6)]

    assert trained(vg.jit) == trained(lambda f: f)


def test_the_state_of_training_is_not_read_inside():
    w = vg.variable([1.0])
    optimizer = vg.train.momentum(0.1, 0.9)
    average = vg.train.exponential_moving_average([w], 0.5)
    optimizer.minimize(lambda: w.sum())
    for read in (lambda: average.average(w), lambda: optimizer.get_weights()[1].tensor):
        with pytest.raises(vg.JitError, match="reads the value"):
            vg.jit(read)()


def test_weights_taken_and_set_inside():
    def values(wrap):
        model = vg.sequential()
        model.add(vg.layers.dense(units=2, input_shape=[2], kernel_initializer="ones"))

        def halve(x):
            model.set_weights([w * 0.5 for w in model.get_weights()])
            return model(x)

        step = wrap(halve)
        return [step(vg.ones([1, 2])).tolist() for _ in range(4)]

    assert values(vg.jit) == values(lambda f: f) == [[[2 * 0.5**n] * 2] for n in (1, 2, 3, 4)]


def test_a_layer_of_ones_own_with_numbers_and_layers_of_its_own():
    class Scaled(vg.layers.Layer):
        def __init__(self):
            super().__init__()
            self.scale = 2.0
            self.inner = [vg.layers.dense(units=1, kernel_initializer="ones")]

        def call(self, inputs, training=None):
            return self.inner[0](inputs) * self.scale

    layer = Scaled()
    f = vg.jit(lambda x: layer(x))
    x = vg.ones([1, 2])
    assert [f(x).item() for _ in range(3)] == [4, 4, 4]
    layer.scale = 3.0
    assert f(x).item() == 6
    layer.inner[0] = vg.layers.dense(units=1, kernel_initializer="zeros")
    assert f(x).item() == 0


def test_threads_that_train_with_one_step_lose_none():
    w = vg.variable(np.zeros(100, np.float32))
    optimizer = vg.train.sgd(1.0)
    step = vg.jit(lambda x: optimizer.minimize(lambda: (w * x).sum()))
    step(vg.scalar(1.0))

    def work():
        for _ in range(50):
            step(vg.scalar(1.0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.numpy().tolist() == [-201] * 100
    assert optimizer.iterations == 201


def test_variables_passed_as_arguments_are_known_by_identity():
    f = vg.jit(lambda v, x: v.assign_add(x))
    a, b = vg.variable(1.0), vg.variable(10.0)
    for _ in range(3):
        assert f(a, vg.scalar(1.0)) is a
        assert f(b, vg.scalar(2.0)) is b
    assert (a.item(), b.item()) == (4, 16)
    assert f.compilations == 2


def test_a_hundred_steps_of_a_deep_network_stay_close(executor):
    def trained(wrap):
        random = np.random.default_rng(3)
        weights = [vg.variable(random.normal(size=(16, 16)).astype(np.float32) * 0.3) for _ in range(6)]
        optimizer = vg.train.momentum(vg.train.cosine_decay(0.05, 100), 0.9)
        x = vg.tensor(random.normal(size=(8, 16)))

        def loss():
            h = x
            for w in weights:
                h = vg.tanh(h.mat_mul(w))
            return (h - 0.1).square().mean()

        step = wrap(lambda: optimizer.minimize(loss, return_cost=True))
        return [step().item() for _ in range(100)]

    found, right = trained(vg.jit), trained(lambda f: f)
    assert right[-1] < 0.1 * right[0]
    assert found == right if executor == "numpy" else found == pytest.approx(right, rel=1e-3)


def test_explanations_say_which_batch_of_a_group_a_step_was_compiled_for():
    w = vg.variable([1.0, 2.0])
    accumulated = vg.train.accumulate(vg.train.sgd(0.1), every=4)

    @vg.jit
    def step(x):
        value, grads = vg.variable_grads(lambda: (w - x).square().sum())
        accumulated.apply_gradients(grads)
        return value

    for _ in range(12):
        step(vg.tensor([1.0, 1.0]))
    assert step.explain().splitlines()[2:] == [
        "  2. accumulated.next_batch was 'the first' and is 'between'",
        "  3. accumulated.next_batch was 'between' and is 'the last'",
    ]
