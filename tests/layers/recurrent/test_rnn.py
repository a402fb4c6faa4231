"""Recurrent layers over time: states, masks, models, errors. Numbers of all options are in tests/layers/reference."""

import tracemalloc

import numpy as np
import pytest

import varigrad as vg

LAYERS = ["simple_rnn", "lstm", "gru"]
X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)


def make(kind, **options):
    layer = getattr(vg.layers, kind)(units=3, **options)
    layer(X)
    if layer.stateful:
        layer.reset_states()
    return layer


def assert_same_sums(found, expected):
    """Products of other numbers of rows may be added in another order: they differ by so much of terms of about 1."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("kind", LAYERS)
def test_a_stateful_layer_goes_on_where_the_batch_before_ended(kind):
    layer = make(kind, stateful=True, return_sequences=True)
    whole = make(kind, return_sequences=True, weights=layer.get_weights())(X).numpy()
    first, second = layer(X[:, :2]).numpy(), layer(X[:, 2:]).numpy()
    assert_same_sums(np.concatenate([first, second], 1), whole)
    layer.reset_states()
    np.testing.assert_allclose(layer(X[:, :2]).numpy(), first)


@pytest.mark.parametrize("kind", LAYERS)
def test_the_gradient_of_a_stateful_layer_takes_the_states_as_given(kind):
    layer = make(kind, stateful=True)
    layer(X)
    states = [state.numpy().copy() for state in layer.states]
    other = make(kind, weights=layer.get_weights())
    x = vg.variable(X)
    value, grads = vg.variable_grads(lambda: layer(x).square().sum())
    same, expected = vg.variable_grads(lambda: other(x, initial_state=[vg.tensor(s) for s in states]).square().sum())
    assert value.item() == pytest.approx(same.item(), rel=1e-6)
    np.testing.assert_allclose(grads[x.name].numpy(), expected[x.name].numpy(), rtol=1e-5)
    for mine, theirs in zip(layer.weights, other.weights, strict=True):
        np.testing.assert_allclose(grads[mine.name].numpy(), expected[theirs.name].numpy(), rtol=1e-5)


def test_states_can_be_given_to_a_stateful_layer():
    layer = make("lstm", stateful=True, return_state=True)
    h, c = np.full([2, 3], 0.5, np.float32), np.full([2, 3], -0.5, np.float32)
    layer.reset_states([h, c])
    output = layer(X)[0].numpy()
    expected = make("lstm", weights=layer.get_weights())(X, initial_state=[vg.tensor(h), vg.tensor(c)])
    np.testing.assert_allclose(output, expected.numpy(), rtol=1e-6)


def test_states_outlive_a_tidy_scope_and_are_no_weights():
    layer = make("gru", stateful=True)
    with vg.tidy():
        y = layer(X).numpy()
    np.testing.assert_array_equal(layer.states[0].numpy(), y)
    assert len(layer.weights) == 3
    assert not any(state.trainable for state in layer.states)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_masked_end_is_as_if_it_were_not_there(kind):
    layer = make(kind)
    y = layer(X, mask=vg.tensor(MASK)).numpy()
    assert_same_sums(y[:1], layer(X[:1, :3]).numpy())
    assert_same_sums(y[1:], layer(X[1:, :2]).numpy())


@pytest.mark.parametrize("kind", LAYERS)
def test_what_is_masked_does_not_leak_into_result_or_gradient(kind):
    layer = make(kind, return_sequences=True)
    x = X.copy()
    x[~MASK] = np.nan
    variable = vg.variable(x)
    y, grads = vg.variable_grads(lambda: layer(variable, mask=vg.tensor(MASK)).square().sum())
    assert np.isfinite(y.item())
    assert (grads[variable.name].numpy()[~MASK] == 0).all()
    for weight in layer.weights:
        assert np.isfinite(grads[weight.name].numpy()).all()


@pytest.mark.parametrize("mask", [MASK, MASK.tolist(), MASK.astype(int), vg.tensor(MASK.astype(np.float32))])
def test_a_mask_may_be_numbers(mask):
    layer = make("gru")
    np.testing.assert_array_equal(layer(X, mask=mask).numpy(), layer(X, mask=vg.tensor(MASK)).numpy())


def test_a_mask_of_a_backwards_layer_is_turned_around_like_its_outputs():
    first = make("gru", go_backwards=True, return_sequences=True)
    second = make("gru", return_sequences=True)
    x, mask = vg.tensor(X), vg.tensor(MASK)
    y = first(x, mask=mask)
    after = first.compute_mask(x, mask)
    assert after.numpy().tolist() == MASK[:, ::-1].tolist()
    # The first sequence has three steps; what comes of them alone is what comes of them with padding behind.
    alone = second(first(X[:1, :3])).numpy()
    assert_same_sums(second(y, mask=after).numpy()[:1, 1:], alone)


def test_zeros_in_place_of_masked_outputs():
    layer = make("gru", return_sequences=True, zero_output_for_mask=True)
    y = layer(X, mask=vg.tensor(MASK)).numpy()
    assert (y[~MASK] == 0).all()
    assert (y[MASK] != 0).any()
    assert layer.get_config()["zero_output_for_mask"] is True


@pytest.mark.parametrize("kind", LAYERS)
def test_models_hand_masks_to_recurrent_layers(kind):
    model = vg.sequential(
        layers=[
            vg.layers.masking(mask_value=0, input_shape=[None, 3]),
            getattr(vg.layers, kind)(units=3, return_sequences=True),
            vg.layers.gru(units=2),
        ]
    )
    padded = np.concatenate([X, np.zeros([2, 5, 3], np.float32)], 1)
    assert_same_sums(model.predict(padded).numpy(), model.predict(X).numpy())


@pytest.mark.parametrize("kind", LAYERS)
def test_a_model_with_symbolic_states_is_stored_and_loaded(kind, tmp_path):
    x = vg.input(shape=[None, 3])
    layer = getattr(vg.layers, kind)(units=3, return_state=True)
    output, *states = layer(x)
    start = vg.input(shape=[2, 3])
    decoded = getattr(vg.layers, kind)(units=3, return_sequences=True)(start, initial_state=states)
    model = vg.model(inputs=[x, start], outputs=[output, decoded])
    begin = np.cos(np.arange(12, dtype=np.float32)).reshape(2, 2, 3)
    found = model.predict([vg.tensor(X), vg.tensor(begin)])
    first, *after = layer(X)
    np.testing.assert_allclose(found[0].numpy(), first.numpy(), rtol=1e-6)
    decoder = model.layers[-1]
    np.testing.assert_allclose(found[1].numpy(), decoder(begin, initial_state=after).numpy(), rtol=1e-6)
    model.save(tmp_path)
    again = vg.load_layers_model(tmp_path).predict([vg.tensor(X), vg.tensor(begin)])
    for y, expected in zip(again, found, strict=True):
        np.testing.assert_array_equal(y.numpy(), expected.numpy())


def test_a_stateful_model_starts_anew_when_told():
    layers = [vg.layers.lstm(units=3, stateful=True, batch_input_shape=[2, 4, 3]), vg.layers.dense(units=1)]
    model = vg.sequential(layers=layers)
    assert model.stateful
    first, second = model.predict(X, batch_size=2).numpy(), model.predict(X, batch_size=2).numpy()
    assert np.abs(first - second).max() > 1e-4
    model.reset_states()
    np.testing.assert_array_equal(model.predict(X, batch_size=2).numpy(), first)


def test_a_cell_of_ones_own_with_weights_trains():
    class Scaled(vg.layers.RNNCell):
        state_size = 1

        def build(self, input_shape):
            self.rate = self.add_weight("rate", [1], initializer="zeros")

        def call(self, inputs):
            x, total = inputs
            total = total * self.rate + x
            return [total, total]

    layer = vg.layers.rnn(cell=Scaled(), name="scaled_example")
    x = vg.tensor([[[1.0], [2.0], [3.0]]])
    assert layer(x).item() == 3
    assert [w.name for w in layer.trainable_weights] == ["scaled_example/rate"]
    # total = 3 + 2 r + r², whose derivative at 0 is 2.
    _, grads = vg.variable_grads(lambda: layer(x).sum())
    assert grads["scaled_example/rate"].item() == 2


def test_a_cell_shared_by_two_layers_has_one_set_of_weights():
    cell = vg.layers.gru_cell(units=3)
    whole, state = vg.layers.rnn(cell=cell, return_sequences=True), vg.layers.rnn(cell=cell)
    np.testing.assert_array_equal(whole(X).numpy()[:, -1], state(X).numpy())
    assert [w.name for w in whole.weights] == [w.name for w in state.weights]
    stack = vg.layers.rnn(cell=[cell, vg.layers.gru_cell(units=1)])
    stack(X)
    assert stack.weights[:3] == whole.weights


def test_states_of_another_shape_than_the_output():
    class Count(vg.layers.RNNCell):
        state_size = ((2, 3), 1)

        def call(self, inputs, training=None):
            x, grid, count = inputs
            return [x, grid + 1, count + 1]

        def compute_output_shape(self, input_shape):
            raise AssertionError("is not needed")

    y, grid, count = vg.layers.rnn(cell=Count(), return_state=True)(vg.zeros([4, 5, 1]))
    assert (y.shape, grid.shape, count.shape) == ((4, 1), (4, 2, 3), (4, 1))
    assert set(grid.numpy().reshape(-1)) == {5}


def test_freezing_reaches_the_cell():
    layer = make("lstm", trainable=False)
    assert layer.trainable_weights == []
    assert len(layer.non_trainable_weights) == 3
    layer.trainable = True
    assert len(layer.trainable_weights) == 3
    assert all(w.trainable for w in layer.weights)


def test_penalties_on_weights_of_the_cell_count():
    layer = make("gru", kernel_regularizer=vg.regularizers.l2(l2=0.5), kernel_initializer="ones")
    assert [loss.item() for loss in layer.calculate_losses()] == [0.5 * 27]


def test_memory_grows_linearly_with_the_steps():
    layer = vg.layers.lstm(units=8)

    def peak(steps):
        x = vg.variable(np.ones([4, steps, 2], np.float32))
        layer(x)
        tracemalloc.start()
        _, grads = vg.variable_grads(lambda: layer(x).sum())
        assert grads[x.name].shape == (4, steps, 2)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(512) < 2.5 * peak(256)


ERRORS = {
    "rank": (lambda: make("lstm")(vg.zeros([2, 3])), r"inputs \[batch, time, …\] of rank 3 .* got shape \[2, 3\]"),
    "features": (lambda: make("lstm")(vg.zeros([2, 4, 5])), r"made for steps of shape \[3\], got inputs .*\[2, 4, 5\]"),
    "no steps": (lambda: make("gru")(vg.zeros([2, 0, 3])), r"with one step or more, got shape \[2, 0, 3\]"),
    "no batch": (
        lambda: vg.sequential(layers=[vg.layers.gru(units=2, stateful=True, input_shape=[4, 3])]),
        r"stateful needs a fixed batch, got inputs of shape \[\?, 4, 3\]; give batch_size",
    ),
    "other batch": (lambda: make("gru", stateful=True)(vg.zeros([5, 4, 3])), "stateful for 2 sequences, got 5"),
    "state count": (lambda: make("lstm")(X, initial_state=[vg.zeros([2, 3])]), "must be 2 states, got 1"),
    "state shape": (
        lambda: make("gru")(X, initial_state=vg.zeros([2, 4])),
        r"0 must have shape \[2, 3\], got \[2, 4\]",
    ),
    "states twice": (
        lambda: make("gru")([vg.tensor(X), vg.zeros([2, 3])], initial_state=vg.zeros([2, 3])),
        "either in the list of inputs or as initial_state",
    ),
    "not stateful": (lambda: make("gru").reset_states(), "has no states; make it with stateful=True"),
    "not built": (lambda: vg.layers.gru(units=1, stateful=True).reset_states(), "has no states yet"),
    "reset shape": (
        lambda: make("gru", stateful=True).reset_states(vg.zeros([2, 4])),
        r"states of shape \[2, 3\], got \[2, 4\]",
    ),
    "units": (lambda: vg.layers.lstm(units=0), "units must be a positive integer, got 0"),
    "dropout": (lambda: vg.layers.gru(units=1, dropout=1.5), "dropout must be a number from 0 to 1, got 1.5"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_do(name):
    run, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        run()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: vg.layers.lstm(), "lstm: needs units"),
        (lambda: vg.layers.lstm(units=1, recurent_dropout=0.1), "did you mean 'recurrent_dropout'"),
        (lambda: vg.layers.gru(units=1, returnSequences=True), "it is 'return_sequences' here"),
        (lambda: vg.layers.rnn(cell=vg.layers.dense(units=1)), "cell must be of vg.layers.RNNCell"),
        (lambda: vg.layers.rnn(cell=vg.layers.RNNCell()), "must set state_size"),
        (lambda: vg.layers.gru(units=1, stateful="yes"), "stateful must be True or False"),
    ],
)
def test_wrong_arguments_are_named(run, message):
    with pytest.raises(TypeError, match=message):
        run()


def test_a_config_that_repeats_the_cell_arguments_is_read():
    # as tf.layers.rnn({cell: tf.layers.gruCell({units: 2})}).getConfig() has them
    layer = vg.layers.rnn(cell=vg.layers.gru_cell(units=2), name="repeated_example")
    config = layer.get_config()
    again = vg.layers.RNN.from_config({**config["cell"]["config"], **config})
    assert again.get_config() == config


def test_all_states_of_a_list_as_nested_numbers():
    layer = make("lstm")
    h = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    found = layer(X, initial_state=[h, h])
    np.testing.assert_array_equal(found.numpy(), layer(X, initial_state=[vg.tensor(h), vg.tensor(h)]).numpy())
