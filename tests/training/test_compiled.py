"""Models compile what they run, by default as soon as that pays: what comes of it is what eager mode gives."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit import deferred

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(22, 6)).astype(np.float32)
Y = RANDOM.normal(size=(22, 2)).astype(np.float32)


@pytest.fixture
def soon(monkeypatch):
    """Compiling costs nothing, so that it pays from the second batch on."""
    for name in ("_COMPILING", "_COMPILING_A_KERNEL", "_COMPILING_ANOTHER_KERNEL"):
        monkeypatch.setattr(deferred, name, 0.0)


def stack(*layers, **options):
    """Layers before a dense one, with weights that are always the same."""
    model = vg.sequential(
        layers=[vg.layers.input_layer(input_shape=[6]), *layers, vg.layers.dense(units=2, activation="tanh")]
    )
    random = np.random.default_rng(1)
    model.set_weights([np.abs(random.normal(size=w.shape, scale=0.3)) for w in model.weights])
    model.compile(**{"optimizer": vg.train.adam(0.01), "loss": "mse", "metrics": ["mae"], **options})
    return model


def trained(model, **options):
    """The history of a short training, and the weights after it."""
    vg.set_random_seed(5)
    options = {"batch_size": 4, "epochs": 3, "shuffle": False, "verbose": 0, **options}
    history = model.fit(X, Y, **options).history
    return history, [w.numpy() for w in model.get_weights()]


def assert_close(found, expected, rtol=2e-4):
    for name, values in expected[0].items():
        np.testing.assert_allclose(found[0][name], values, rtol=rtol, err_msg=name)
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-6)


def assert_same_sums(found, expected):
    """Sums in another order differ by so much of their terms, which are about 1, also where these all but cancel."""
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def compilations(model):
    return model.step_with(model.optimizer).compilations


# What cannot be compiled


class Layer(vg.layers.Layer):
    def compute_output_shape(self, input_shape):
        return input_shape


class LooksAtValues(Layer):
    def call(self, inputs, training=None):
        return inputs * 2 if inputs.sum() > 0 else inputs


class MakesARoundTrip(Layer):
    def call(self, inputs, training=None):
        return inputs + vg.tensor(np.full(inputs.shape, inputs.numpy().std(), np.float32))


class CountsCalls(Layer):
    def build(self, input_shape):
        self.calls = 0

    def call(self, inputs, training=None):
        self.calls += 1
        return inputs * (1 + 0.01 * self.calls)


class HasAShapeOfValues(Layer):
    def call(self, inputs, training=None):
        boxes = vg.tensor([[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]])
        chosen = vg.image.non_max_suppression(boxes, inputs.sum(0).slice(0, 2), 2)
        return inputs * chosen.shape[0]


class AsksForTheTime(Layer):
    def call(self, inputs, training=None):
        return inputs + 0 * time.perf_counter()


class DrawsWithNumPy(Layer):
    def build(self, input_shape):
        self.random = np.random.default_rng(4)

    def call(self, inputs, training=None):
        return inputs + vg.tensor(self.random.normal(size=inputs.shape).astype(np.float32))


def loss_that_reads(y, p):
    scale = 1 / max(1.0, (y - p).abs().max().item())
    return (y - p).square().mean(-1) * scale


LAYERS = {
    LooksAtValues: "reads the value of a tensor",
    MakesARoundTrip: "reads the value of a tensor",
    HasAShapeOfValues: "whose shape depends on values",
    CountsCalls: "calls from",
    AsksForTheTime: "gives the time",
    DrawsWithNumPy: "random",
}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("kind", [*LAYERS, loss_that_reads])
def test_what_cannot_be_compiled_trains_as_it_is_written_after_one_warning(kind):
    def make(jit):
        inside = [] if kind is loss_that_reads else [kind()]
        more = {"loss": kind} if kind is loss_that_reads else {}
        return stack(vg.layers.dropout(rate=0.2), vg.layers.batch_normalization(), *inside, jit=jit, **more)

    expected = trained(make(False))
    model = make(None)
    with pytest.warns(vg.JitWarning) as told:
        found = trained(model)
    (message,) = [str(each.message) for each in told]
    assert LAYERS.get(kind, "reads the value of a tensor") in message
    assert "compile(jit=False)" in message
    assert told[0].filename == __file__
    assert found[0] == expected[0]
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.optimizer.iterations == 18
    assert compilations(model) == 0


@pytest.mark.usefixtures("soon")
def test_a_metric_that_reads_values_does_not_keep_the_rest_from_being_compiled():
    def worst(y, p):
        return np.abs(y.numpy() - p.numpy()).max()

    expected = trained(stack(metrics=["mae", worst], jit=False))
    model = stack(metrics=["mae", worst])
    with pytest.warns(vg.JitWarning, match="reads the value of a tensor") as told:
        found = trained(model)
    assert len(told) == 1
    assert_close(found, expected)
    assert compilations(model) == 2


def test_with_jit_true_a_metric_that_reads_values_is_computed_by_itself():
    def worst(y, p):
        return np.abs(y.numpy() - p.numpy()).max()

    expected = trained(stack(metrics=["mae", worst], jit=False))
    model = stack(metrics=["mae", worst], jit=True)
    assert_close(trained(model), expected)
    assert compilations(model) == 2


@pytest.mark.usefixtures("soon")
def test_metrics_that_count_for_themselves_count_each_batch_once():
    class Batches(vg.metrics.Metric):
        def reset_state(self):
            self.count = 0

        def update_state(self, y_true, y_pred, sample_weight=None):
            assert y_true.shape == y_pred.shape
            self.count += 1

        def result(self):
            return self.count

    model = stack(metrics=[Batches(), "mae"])
    assert trained(model)[0]["batches"] == [6, 6, 6]
    assert compilations(model) == 2


@pytest.mark.parametrize("kind", LAYERS)
def test_with_jit_true_what_cannot_be_compiled_is_an_error_after_the_batch(kind):
    model, eager = stack(kind(), jit=True), stack(kind(), jit=False)
    batches = 3 if kind in (CountsCalls, DrawsWithNumPy) else 1  # what changes is given a chance to come to rest
    for _ in range(batches):
        eager.train_on_batch(X[:4], Y[:4])
    for _ in range(batches - 1):
        model.train_on_batch(X[:4], Y[:4])
    with pytest.raises(vg.JitError, match=LAYERS[kind]):
        model.train_on_batch(X[:4], Y[:4])
    assert model.optimizer.iterations == eager.optimizer.iterations == batches
    for ours, theirs in zip(model.get_weights(), eager.get_weights(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_jit_is_true_false_or_none():
    with pytest.raises((TypeError, ValueError), match="jit"):
        stack(jit="yes")


# When it pays


def test_few_batches_are_not_worth_compiling():
    model = stack()
    trained(model)
    model.evaluate(X, Y, batch_size=4)
    model.predict(X, batch_size=4)
    assert compilations(model) == model.evaluation_step().compilations == model.prediction_step().compilations == 0


def test_a_long_training_is_compiled_from_its_third_batch_on():
    model = stack()
    runner = model.step_with(model.optimizer)
    seen = []
    trained(model, epochs=200, callbacks={"on_batch_end": lambda batch, logs: seen.append(runner.compilations)})
    # 1,000 batches of 4 are to come, the last of each epoch has 2 and there are 200 of these.
    assert seen[:8] == [0, 1, 1, 1, 1, 1, 1, 1]
    assert runner.compilations == 1


def test_batches_of_which_nobody_knows_how_many_come_are_compiled_in_the_end():
    model = stack()
    for _ in range(600):
        model.train_on_batch(X[:4], Y[:4])
    assert compilations(model) == 1


@pytest.mark.usefixtures("soon")
def test_sequences_of_many_lengths_have_few_compilations():
    model = vg.sequential(layers=[vg.layers.simple_rnn(units=2, input_shape=[None, 3]), vg.layers.dense(units=1)])
    model.compile(optimizer="sgd", loss="mse")
    batches = [(np.ones([2, length, 3]), np.ones([2, 1])) for length in range(1, 23)]
    with warnings.catch_warnings(action="error"):
        model.fit_dataset(batches, epochs=3, verbose=0)
    assert compilations(model) == 16


@pytest.mark.usefixtures("soon")
def test_a_number_that_changes_in_every_batch_is_not_compiled_for_every_batch(monkeypatch):
    monkeypatch.setattr(deferred, "_COMPILING", 0.02)  # as much as some dozens of batches save
    eager, model = stack(vg.layers.gaussian_noise(stddev=0.0), jit=False), stack(vg.layers.gaussian_noise(stddev=0.0))

    def warm_up(model):
        def begin(batch, logs):
            model.layers[1].stddev = model.layers[1].stddev + 0.001

        return {"epochs": 40, "callbacks": {"on_batch_begin": begin}}

    expected = trained(eager, **warm_up(eager))
    assert_close(trained(model, **warm_up(model)), expected, rtol=2e-3)
    assert 3 <= compilations(model) <= 12  # of 240 batches


# The same weights


def by_hand(model, jit):
    """The loop of chapter 5, which `fit` is."""
    optimizer, weights = model.optimizer, model.trainable_weights

    def step(x, y):
        def loss():
            value = vg.metrics.mean_squared_error(y, model(x, training=True)).mean()
            for penalty in model.calculate_losses():
                value = value + penalty
            return value

        value, grads = vg.variable_grads(loss, weights)
        optimizer.apply_gradients(grads)
        return value

    step = vg.jit(step) if jit else step
    vg.set_random_seed(5)
    for _ in range(3):
        for start in range(0, len(X), 4):
            step(vg.tensor(X[start : start + 4]), vg.tensor(Y[start : start + 4]))
    return [w.numpy() for w in model.get_weights()]


@pytest.mark.parametrize("jit", [False, True])
def test_fit_gives_the_weights_of_the_loop_by_hand_to_the_last_bit(jit):
    def make():
        return stack(
            vg.layers.dense(units=16, activation="relu", kernel_regularizer=vg.regularizers.l2()),
            vg.layers.batch_normalization(),
            vg.layers.dropout(rate=0.3),
            optimizer=vg.train.adam(0.01, global_clip_norm=0.5),
            jit=jit,
        )

    _, found = trained(make())
    for ours, theirs in zip(found, by_hand(make(), jit), strict=True):
        np.testing.assert_array_equal(ours, theirs)


CASES = {
    "dropout": [lambda: vg.layers.dropout(rate=0.5), lambda: vg.layers.dropout(rate=0.5, seed=3)],
    "penalties": [lambda: vg.layers.dense(units=5, kernel_regularizer="l1l2", activity_regularizer="l2")],
    "averages": [lambda: vg.layers.batch_normalization(momentum=0.5)],
    "constraint": [lambda: vg.layers.dense(units=5, kernel_constraint=vg.constraints.max_norm(max_value=0.5))],
    "two ends": [lambda: vg.layers.reshape(target_shape=[3, 2]), lambda: vg.layers.gru(units=3)],
}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("case", CASES)
def test_compiled_batches_do_what_others_do(case):
    expected = trained(stack(*[make() for make in CASES[case]], jit=False))
    model = stack(*[make() for make in CASES[case]])
    assert_close(trained(model), expected)
    assert compilations(model) == 2


@pytest.mark.usefixtures("soon")
def test_attention_with_penalties_and_dropout_is_compiled():
    x = vg.input(shape=[3, 2])
    models = []
    for jit in (None, False):
        layer = vg.layers.multi_head_attention(
            num_heads=2, key_dim=2, dropout=0.4, seed=2, activity_regularizer="l2", kernel_initializer="ones"
        )
        models.append(vg.model(inputs=x, outputs=layer(x, x)))
        # By Adam noise would decide: the bias of the keys has no gradient but rounding.
        models[-1].compile(optimizer=vg.train.sgd(0.1), loss="mse", jit=jit)
        models[-1].fit(X.reshape(22, 3, 2), X.reshape(22, 3, 2), batch_size=11, epochs=4, shuffle=False, verbose=0)
    for ours, theirs in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)
    assert compilations(models[0]) == 1


def changes_of_weights(model):
    def end(batch, logs):
        if batch % 2:
            model.set_weights([w.numpy() * 0.9 for w in model.get_weights()])

    return {"callbacks": {"on_batch_end": end}}


def stops_early(model):
    return {
        "epochs": 12,
        "validation_data": (X[:9], -Y[:9]),
        "callbacks": vg.callbacks.early_stopping(monitor="val_loss", patience=1, restore_best_weights=True),
    }


def schedules(model):
    def begin(epoch, logs):
        model.optimizer.learning_rate = 0.1 / (epoch + 1)

    return {"callbacks": {"on_epoch_begin": begin}}


def weighs(model):
    return {"sample_weight": np.arange(22.0), "class_weight": None}


def accumulates(model):
    return {"accumulate": 4}


def freezes(model):
    def begin(epoch, logs):
        model.layers[-1].trainable = epoch != 1

    return {"callbacks": {"on_epoch_begin": begin}}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("how", [changes_of_weights, stops_early, schedules, weighs, accumulates, freezes])
def test_compiled_trainings_go_on_as_others_do(how):
    def layers():
        return [vg.layers.dense(units=5), vg.layers.dropout(rate=0.1)]

    eager, model = stack(*layers(), jit=False), stack(*layers())
    assert_close(trained(model, **how(model)), trained(eager, **how(eager)))
    assert_close(trained(model, **how(model)), trained(eager, **how(eager)))  # goes on
    model.optimizer, eager.optimizer = vg.train.momentum(0.01, 0.9), vg.train.momentum(0.01, 0.9)
    assert_close(trained(model, **how(model)), trained(eager, **how(eager)))


@pytest.mark.usefixtures("soon")
def test_batches_of_accumulated_gradients_are_compiled_once_for_all():
    model = stack()
    for _ in range(2):
        trained(model, accumulate=4)
    assert model.step_with(model.accumulating_optimizer(4)).compilations == 2
    assert model.optimizer.iterations == 2 * 3 * 2


@pytest.mark.usefixtures("soon")
def test_an_accumulating_optimizer_is_due_after_its_batches():
    models = [stack(optimizer=vg.train.accumulate(vg.train.adam(0.01), 3), jit=jit) for jit in (None, False)]
    for model in models:
        for place in range(7):
            model.train_on_batch(X[place : place + 4], Y[place : place + 4])
    for ours, theirs in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    assert [model.optimizer.iterations for model in models] == [2, 2]


# Evaluation and prediction


@pytest.mark.usefixtures("soon")
def test_evaluation_and_prediction_are_compiled_too():
    eager, model = stack(jit=False, metrics=["mae", "auc"]), stack(metrics=["mae", "auc"])
    for _ in range(2):
        assert_same_sums(model.predict(X, batch_size=4).numpy(), eager.predict(X).numpy())
        np.testing.assert_allclose(
            [value.item() for value in model.evaluate(X, Y, batch_size=4)],
            [value.item() for value in eager.evaluate(X, Y, batch_size=4)],
            rtol=1e-5,
        )
    assert_same_sums(model.predict_on_batch(X[:4]).numpy(), eager.predict_on_batch(X[:4]).numpy())
    assert model.evaluation_step().compilations == model.prediction_step().compilations == 2
    assert eager.evaluation_step().compilations == eager.prediction_step().compilations == 0


@pytest.mark.usefixtures("soon")
def test_a_compiled_prediction_follows_the_weights_and_can_be_differentiated():
    model = stack()
    for factor in (1.0, 2.0, 0.5):
        model.set_weights([w.numpy() * factor for w in model.get_weights()])
        expected = np.tanh(X @ model.weights[0].numpy() + model.weights[1].numpy())
        np.testing.assert_allclose(model.predict(X).numpy(), expected, rtol=1e-5, atol=1e-6)
    by_prediction = vg.variable_grads(lambda: model.predict(X).sum())
    by_call = vg.variable_grads(lambda: model(X).sum())
    for name, gradient in by_call.grads.items():
        assert_same_sums(by_prediction.grads[name].numpy(), gradient.numpy())


@pytest.mark.usefixtures("soon")
def test_two_threads_train_two_models_and_predict_with_one():
    shared = stack()
    alone = trained(stack())
    expected = shared.predict(X, batch_size=2).numpy()

    def work(_):
        model = stack()
        history = model.fit(X, Y, batch_size=4, epochs=3, shuffle=False, verbose=0).history
        return history, [w.numpy() for w in model.get_weights()], shared.predict(X, batch_size=2).numpy()

    with ThreadPoolExecutor(2) as pool:
        for history, weights, predicted in pool.map(work, range(4)):
            assert_close((history, weights), alone)
            assert_same_sums(predicted, expected)
