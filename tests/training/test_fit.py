"""`fit` is the loop that one would write by hand; and its options."""

import gc
import os
import signal
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import varigrad as vg

from .models import line

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(21, 5)).astype(np.float32)
Y = (np.sin(X[:, :2]) + X[:, 2:4]).astype(np.float32)


def make_model(units=2, dropout=None):
    layers = [vg.layers.dense(units=6, activation="relu", input_shape=[5], kernel_initializer=glorot(1))]
    if dropout is not None:
        layers.append(vg.layers.dropout(rate=dropout))
    layers.append(vg.layers.dense(units=units, kernel_initializer=glorot(2)))
    return vg.sequential(layers=layers)


def glorot(seed):
    return vg.initializers.glorot_uniform(seed=seed)


def weights(model):
    return [weight.numpy() for weight in model.get_weights()]


def assert_equal_weights(a, b):
    for ours, theirs in zip(weights(a), weights(b), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# The loop by hand


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "adamax", "adagrad"])
def test_fit_and_the_loop_by_hand_give_the_same_weights_bit_for_bit(optimizer):
    fitted, by_hand = make_model(), make_model()
    fitted.compile(optimizer=optimizer, loss="mean_squared_error")
    history = fitted.fit(X, Y, batch_size=8, epochs=3, shuffle=False, verbose=0)

    by_hand.compile(optimizer=optimizer, loss="mean_squared_error")  # only for an equal optimizer
    losses = []
    for _ in range(3):
        total = 0.0
        for start in range(0, 21, 8):
            x, y = vg.tensor(X[start : start + 8]), vg.tensor(Y[start : start + 8])
            loss, grads = vg.variable_grads(
                lambda x=x, y=y: vg.metrics.mean_squared_error(y, by_hand(x, training=True)).mean()
            )
            by_hand.optimizer.apply_gradients(grads)
            total += loss.item() * len(x)
        losses.append(total / 21)
    assert history.history["loss"] == losses
    assert_equal_weights(fitted, by_hand)


def test_the_order_of_a_shuffled_epoch_is_that_of_create_shuffled_indices():
    fitted, by_hand = make_model(), make_model()
    fitted.compile(optimizer="sgd", loss="mean_absolute_error")
    vg.set_random_seed(5)
    fitted.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    vg.set_random_seed(5)
    optimizer = vg.train.sgd(0.01)
    for _ in range(2):
        order = vg.util.create_shuffled_indices(21)
        for start in range(0, 21, 8):
            rows = order[start : start + 8]
            optimizer.minimize(lambda rows=rows: vg.metrics.mean_absolute_error(Y[rows], by_hand(X[rows])).mean())
    assert_equal_weights(fitted, by_hand)


def test_dropout_is_active_in_training_and_not_in_validation():
    model = make_model(dropout=0.5)
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    history = model.fit(X, Y, epochs=2, batch_size=21, shuffle=False, validation_data=(X, Y), verbose=0).history
    assert history["val_loss"][0] == history["val_loss"][1]
    assert len({*history["loss"], history["val_loss"][0]}) == 3


def test_a_smaller_last_batch_counts_for_its_samples():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", metrics=["mae"])
    history = model.fit([1.0, 1.0, 4.0], [1.0, 1.0, 4.0], batch_size=2, shuffle=False, verbose=0).history
    assert history == {"loss": [6.0], "mae": [2.0]}


def test_penalties_count_in_training_and_in_evaluation():
    model = vg.sequential(
        layers=[
            vg.layers.dense(
                units=1,
                use_bias=False,
                input_shape=[1],
                kernel_initializer="ones",
                kernel_regularizer=vg.regularizers.l2(l2=0.5),
            )
        ]
    )
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    history = model.fit([3.0], [1.0], validation_data=([3.0], [1.0]), verbose=0).history
    assert history == {"loss": [4.5], "val_loss": [4.5]}
    assert model.evaluate([3.0], [1.0]).item() == 4.5


def test_loss_weights_scale_the_losses_of_outputs():
    x = vg.input(shape=[1])
    outputs = [vg.layers.dense(units=1, name=name, kernel_initializer="ones", use_bias=False)(x) for name in "ab"]
    model = vg.model(inputs=x, outputs=outputs)
    for loss_weights in ([2.0, 10.0], {"a": 2.0, "b": 10.0}):
        model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", loss_weights=loss_weights)
        history = model.fit([1.0], [[[0.0]], [[3.0]]], verbose=0).history
        assert history == {"loss": [42.0], "a_loss": [1.0], "b_loss": [4.0]}
    losses = [value.item() for value in model.evaluate([1.0], {"a": [0.0], "b": [3.0]})]
    assert (model.metrics_names, losses) == (["loss", "a_loss", "b_loss"], [42.0, 1.0, 4.0])


def test_an_output_without_a_loss_needs_no_targets():
    x = vg.input(shape=[1])
    outputs = [vg.layers.dense(units=1, name=name, kernel_initializer="ones", use_bias=False)(x) for name in "ab"]
    model = vg.model(inputs=x, outputs=outputs)
    with pytest.warns(UserWarning, match="no loss for output 'b'"):
        model.compile(optimizer=vg.train.sgd(0.5), loss={"a": "mean_squared_error"})
    assert model.fit([1.0], {"a": [0.0]}, verbose=0).history == {"loss": [1.0], "a_loss": [1.0]}
    assert model.fit([1.0], [[0.0], None], verbose=0).history["loss"] == [0.0]
    assert [w.item() for w in model.get_weights()] == [0.0, 1.0]


def test_a_loss_of_vg_losses_and_one_of_ones_own():
    for loss in (vg.losses.mean_squared_error, lambda y, p: (y - p).square().mean(), lambda y, p: (y - p).square()):
        model = line()
        model.compile(optimizer=vg.train.sgd(0.1), loss=loss)
        assert model.fit([1.0, 2.0], [1.0, 2.0], verbose=0).history["loss"] == [2.5]
        np.testing.assert_allclose(weights(model)[0], [[0.5]], rtol=1e-6)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (1.0, "the loss of out: f must return a tensor of floats, got 1.0"),
        (None, "the loss of out: f must return a tensor of floats, got None"),
        (
            vg.tensor([1, 2], dtype="int32"),
            r"the loss of out: f must return a tensor of floats, got an int32 tensor \[2\]",
        ),
    ],
)
def test_a_loss_of_ones_own_that_gives_no_loss_is_named(result, message):
    def f(y, p):
        return result

    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], name="out")])
    model.compile(optimizer="sgd", loss=f)
    for run in (model.fit, model.evaluate, model.train_on_batch):
        with pytest.raises(TypeError, match=message):
            run([1.0, 2.0], [1.0, 2.0])


# Validation


def test_validation_split_takes_the_tail_before_shuffling():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    with pytest.warns(UserWarning, match="holds out the last samples") as told:
        history = model.fit([1, 2, 3, 10], [1, 2, 3, 10], validation_split=0.25, shuffle=True, verbose=0).history
    assert history == {"loss": [pytest.approx(14 / 3)], "val_loss": [100.0]}
    assert told[0].filename == __file__


def test_validation_steps_take_batches_from_the_first_on_each_time():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    data = ([1.0, 1.0, 5.0, 5.0], [1.0, 1.0, 5.0, 5.0])
    history = model.fit(
        [1.0], [1.0], epochs=2, validation_data=data, validation_steps=1, validation_batch_size=2, verbose=0
    )
    assert history.history["val_loss"] == [1.0, 1.0]


def test_validation_samples_may_have_weights():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    history = model.fit([1.0], [1.0], validation_data=([1.0, 2.0], [1.0, 2.0], [0.0, 0.5]), verbose=0).history
    assert history["val_loss"] == [1.0]


# How epochs are made


def recorded(model, x, **options):
    """The numbers of each batch of a fit, in the order that they came in."""
    seen = []

    def loss(y, p):
        seen.append(y.numpy().ravel().tolist())
        return (y - p).square().mean()

    model.compile(optimizer=vg.train.sgd(0.0), loss=loss)
    model.fit(x, x, verbose=0, **options)
    return seen


def test_shuffling_takes_each_sample_once_an_epoch():
    x = np.arange(7.0)
    batches = recorded(line(), x, batch_size=3, epochs=2)
    assert [len(batch) for batch in batches] == [3, 3, 1] * 2
    for epoch in (batches[:3], batches[3:]):
        assert sorted(number for batch in epoch for number in batch) == x.tolist()


def test_shuffling_batches_keeps_neighbours_together():
    batches = recorded(line(), np.arange(8.0), batch_size=2, epochs=3, shuffle="batch")
    for epoch in (batches[:4], batches[4:8], batches[8:]):
        assert sorted(epoch) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_steps_per_epoch_goes_on_where_the_epoch_before_ended():
    batches = recorded(line(), np.arange(5.0), batch_size=2, epochs=2, shuffle=False, steps_per_epoch=2)
    assert batches == [[0, 1], [2, 3], [4], [0, 1]]


def test_training_can_be_stopped_after_a_batch():
    model = line()
    model.compile(optimizer="sgd", loss="mean_squared_error")
    hooks = {"on_batch_end": lambda batch, logs: setattr(model, "stop_training", batch == 1)}
    history = model.fit(
        np.ones(10), np.ones(10), batch_size=2, epochs=5, callbacks=hooks, validation_data=([1.0], [1.0]), verbose=0
    )
    assert history.epoch == [0]
    assert {len(values) for values in history.history.values()} == {1}
    assert model.optimizer.iterations == 2


def test_training_can_go_on():
    at_once, in_parts = make_model(), make_model()
    for model in (at_once, in_parts):
        model.compile(optimizer="adam", loss="mean_squared_error")
    at_once.fit(X, Y, epochs=4, shuffle=False, verbose=0)
    in_parts.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    assert in_parts.fit(X, Y, epochs=4, initial_epoch=2, shuffle=False, verbose=0).epoch == [2, 3]
    assert_equal_weights(at_once, in_parts)


# Accumulation and clipping


def test_accumulated_gradients_equal_those_of_one_large_batch():
    large, small = make_model(), make_model()
    random = np.random.default_rng(0)
    x = random.normal(size=(104, 5)).astype(np.float32)  # 3 groups of 32 and one of 8
    y = random.normal(size=(104, 2)).astype(np.float32)
    for model in (large, small):
        model.compile(optimizer=vg.train.adam(0.01, global_clip_norm=0.5), loss="mean_squared_error")
    large.fit(x, y, batch_size=32, epochs=3, shuffle=False, verbose=0)
    small.fit(x, y, batch_size=8, accumulate=4, epochs=3, shuffle=False, verbose=0)
    assert large.optimizer.iterations == small.optimizer.iterations == 12
    for a, b in zip(weights(large), weights(small), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_an_accumulating_optimizer_does_the_same_as_the_option():
    option, object_ = make_model(), make_model()
    option.compile(optimizer="adam", loss="mean_squared_error")
    option.fit(X, Y, batch_size=4, accumulate=2, epochs=2, shuffle=False, verbose=0)
    object_.compile(optimizer=vg.train.accumulate(vg.train.adam(0.001), 2), loss="mean_squared_error")
    object_.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    assert_equal_weights(option, object_)
    assert object_.optimizer.iterations == 6


@pytest.mark.parametrize(
    ("clip", "step"),
    [
        ({"clip_norm": 1.0}, [[0.6, 0.8]]),
        ({"global_clip_norm": 1.0}, [[3 / 13, 4 / 13]]),
        ({"clip_value": 0.5}, [[0.5, 0.5]]),
    ],
)
def test_the_optimizer_clips_in_fit(clip, step):
    x = vg.input(shape=[1])
    a = vg.layers.dense(units=2, use_bias=False, kernel_initializer="zeros", name="a")(x)
    b = vg.layers.dense(units=1, use_bias=False, kernel_initializer="zeros", name="b")(x)
    model = vg.model(inputs=x, outputs=[a, b])
    model.compile(optimizer=vg.train.sgd(1.0, **clip), loss=lambda y, p: (y * p).sum(-1))
    model.fit([1.0], [[[3.0, 4.0]], [[12.0]]], verbose=0)
    np.testing.assert_allclose(weights(model)[0], -np.array(step), rtol=1e-6)


# What goes wrong


def test_ctrl_c_ends_training_after_the_batch_and_leaves_model_and_history_whole():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.1), loss="mean_squared_error")
    ended = []

    def press(batch, logs):
        if len(model.history.epoch) == 2 and batch == 1:
            os.kill(os.getpid(), signal.SIGINT)

    hooks = {"on_batch_begin": press, "on_train_end": lambda logs: ended.append(logs["loss"])}
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.ones(6), np.ones(6), batch_size=2, epochs=9, callbacks=hooks, verbose=0)
    assert signal.getsignal(signal.SIGINT) is handler
    assert model.optimizer.iterations == 2 * 3 + 2
    assert model.history.epoch == [0, 1]
    assert ended == [model.history.history["loss"][1]]
    assert model.fit(np.ones(6), np.ones(6), verbose=0).epoch == [0]  # it is not in training any more


def test_a_callback_cannot_train_the_model_it_follows():
    model = line()
    model.compile(optimizer="sgd", loss="mean_squared_error")
    hooks = {"on_epoch_end": lambda epoch, logs: model.train_on_batch([1.0], [1.0])}
    with pytest.raises(ValueError, match=r"train_on_batch: sequential_.* is in training already"):
        model.fit([1.0], [1.0], callbacks=hooks, verbose=0)


def test_memory_stays_flat_over_epochs():
    model = make_model()
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
    counts = []
    gc.collect()  # what earlier tests left in cycles
    hooks = {"on_epoch_end": lambda epoch, logs: counts.append(vg.memory()[:3])}
    model.fit(X, Y, batch_size=8, epochs=5, callbacks=hooks, validation_data=(X, Y), verbose=0)
    assert counts[1] == counts[4]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones([3, 4]), Y), {}, r"fit: input dense_.* takes shape \[\?, 5\], got \[3, 4\]"),
        ((X, Y[:20]), {}, "x has 21 samples, but y has 20"),
        ((X[:0], Y[:0]), {}, "there are no samples"),
        ((X, Y[:, :1]), {}, r"mean_squared_error compares output .* \[\?, 2\] with targets of the same shape"),
        ((X, None), {}, "needs targets for .*fit_dataset"),
        ((None, Y), {}, "needs inputs for"),
        ((X, Y), {"batch_size": 0}, "batch_size must be a positive integer"),
        ((X, Y), {"epochs": 0}, "epochs must be a positive integer"),
        ((X, Y), {"verbose": 5}, "verbose must be 0"),
        ((X, Y), {"shuffle": "rows"}, "shuffle must be True, False or 'batch'"),
        ((X, Y), {"validation_split": 1.5}, "validation_split must be a number from 0 to 1"),
        ((X, Y), {"validation_split": 0.99}, "leaves none to train on"),
        ((X, Y), {"accumulate": 0}, "accumulate must be a positive integer"),
        ((X, Y), {"sample_weight": np.ones(20)}, "x has 21 samples, but sample_weight has 20"),
        ((X, Y), {"class_weight": [1, 2]}, "class_weight must have one entry"),
        ((X, Y), {"class_weight": {0: None, 1: 1}}, "class_weight must give a number for each class, got None for 0"),
        ((X, Y), {"class_weight": {0: 1, "a": 1}}, "class_weight must give a number for each class, got 1 for 'a'"),
    ],
)
def test_wrong_arguments_are_named(arguments, options, message):
    model = make_model()
    model.compile(optimizer="sgd", loss="mean_squared_error")
    before = weights(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*arguments, **{"verbose": 0, **options})
    for a, b in zip(before, weights(model), strict=True):
        np.testing.assert_array_equal(a, b)


def test_class_numbers_and_one_hot_rows_each_want_their_loss():
    model = vg.sequential(layers=[vg.layers.dense(units=3, activation="softmax", input_shape=[1])])
    model.compile(optimizer="sgd", loss="categorical_crossentropy")
    with pytest.raises(ValueError, match="for class numbers there is the loss 'sparse_categorical_crossentropy'"):
        model.fit([1.0, 2.0], [0, 1], verbose=0)
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="for one-hot rows there is the loss 'categorical_crossentropy'"):
        model.fit([1.0, 2.0], [[1, 0, 0], [0, 1, 0]], verbose=0)
    with pytest.raises(ValueError, match="holds the class 3, but there are 3, from 0 to 2"):
        model.fit([1.0, 2.0], [0, 3], verbose=0)


def test_a_frozen_model_cannot_be_fitted():
    model = line()
    model.trainable = False
    model.compile(optimizer="sgd", loss="mean_squared_error")
    with pytest.raises(ValueError, match="has no weight that is trained"):
        model.fit([1.0], [1.0], verbose=0)


def test_float64_models_train_in_float64():
    model = vg.sequential(
        layers=[vg.layers.dense(units=1, kernel_initializer="ones", use_bias=False, input_shape=[1], dtype="float64")]
    )
    model.compile(optimizer=vg.train.sgd(0.1), loss="mean_squared_error")
    model.fit(np.array([1.0]), np.array([1 / 3]), verbose=0)
    assert weights(model)[0].dtype == np.float64
    np.testing.assert_allclose(weights(model)[0], [[1 - 0.2 * (1 - 1 / 3)]], rtol=1e-12)


@pytest.mark.parametrize("form", ["tensor", "array", "list", "int64", "pandas"])
def test_inputs_and_targets_of_many_kinds(form):
    import pandas as pd

    numbers = [[1, 2], [3, 4], [5, 6]]
    x = {
        "tensor": vg.tensor(numbers),
        "array": np.array(numbers, np.float64),
        "list": numbers,
        "int64": np.array(numbers),
        "pandas": pd.DataFrame(numbers, columns=["a", "b"]),
    }[form]
    y = pd.Series([1, 2, 3]) if form == "pandas" else [1, 2, 3]
    model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="ones", input_shape=[2])])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    assert model.fit(x, y, verbose=0).history["loss"] == [pytest.approx((4 + 25 + 64) / 3)]


# State, printing, threads


def test_a_stateful_model_needs_full_batches_and_keeps_its_state_between_them():
    def make(stateful):
        layer = vg.layers.simple_rnn(
            units=1,
            stateful=stateful,
            batch_input_shape=[1, 1, 1],
            kernel_initializer="ones",
            recurrent_initializer="ones",
            activation="linear",
        )
        model = vg.sequential(layers=[layer])
        model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
        return model

    x = np.array([1.0, 2.0]).reshape(2, 1, 1)
    assert make(False).fit(x, [0.0, 0.0], batch_size=1, shuffle=False, verbose=0).history["loss"] == [2.5]
    # 1, then 1 + 2
    assert make(True).fit(x, [0.0, 0.0], batch_size=1, shuffle=False, verbose=0).history["loss"] == [5.0]
    with pytest.raises(ValueError, match="batch_size 2 must divide the 3 samples"):
        make(True).fit(np.ones([3, 1, 1]), np.ones(3), batch_size=2, verbose=0)


def test_evaluate_may_print_what_it_returns(capsys):
    model = line()
    model.compile(loss="mean_squared_error", metrics=["mae"])
    model.evaluate([1.0, 3.0], [0.0, 0.0], verbose=1)
    assert capsys.readouterr().out == "loss 0  mae 0\n"


def test_a_dataset_given_to_fit_is_told_where_it_belongs():
    model = line()
    model.compile(loss="mean_squared_error")
    for method in (model.fit, model.evaluate):
        with pytest.raises(ValueError, match="for an iterable of batches there are fit_dataset and evaluate_dataset"):
            method([([1.0], [1.0])])


def test_outputs_of_one_layer_have_losses_of_their_own():
    x = vg.input(shape=[2, 1])
    sequence, state = vg.layers.simple_rnn(
        units=1, return_state=True, kernel_initializer="ones", activation="linear", name="rnn"
    )(x)
    model = vg.model(inputs=x, outputs=[sequence, state])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", metrics=["mae"])
    history = model.fit(np.zeros([1, 2, 1]), [[1.0], [3.0]], verbose=0).history
    assert history == {"loss": [10.0], "rnn_loss_0": [1.0], "rnn_loss_1": [9.0], "rnn_mae_0": [1.0], "rnn_mae_1": [3.0]}


def test_two_threads_train_two_models_as_one_after_the_other_would():
    def train(jit):
        model = make_model()
        model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"], jit=jit)
        history = model.fit(X, Y, batch_size=4, epochs=5, shuffle=False, verbose=0).history
        return history, weights(model)

    alone = [train(jit) for jit in (False, True)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(train, (False, True)))
    for (history, values), (its_history, its_values) in zip(alone, together, strict=True):
        assert history == its_history
        for ours, theirs in zip(values, its_values, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_model_that_was_fitted_is_free_without_a_search_for_garbage():
    model = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[4]), vg.layers.dense(units=1)])
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"], jit=False)
    model.fit(np.ones((8, 4), np.float32), np.ones((8, 1), np.float32), epochs=2, verbose=0)
    watched = [weakref.ref(model), *[weakref.ref(w) for w in model.weights]]
    gc.disable()
    try:
        del model
        assert [kept() for kept in watched] == [None] * 5
    finally:
        gc.enable()
