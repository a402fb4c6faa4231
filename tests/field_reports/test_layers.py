"""Complaints about layers that people have reported of other libraries, made impossible here."""

import numpy as np
import pytest

import varigrad as vg


@pytest.fixture
def model():
    """Batch normalization alone, with numbers of its own in every weight."""
    layer = vg.layers.batch_normalization(input_shape=[1], epsilon=1e-3)
    model = vg.sequential(layers=[layer])
    model.set_weights([[2.0], [3.0], [10.0], [4.0]])  # gamma, beta, moving mean, moving variance
    return model


X = [[1.0], [3.0]]


# Batch statistics asked for, moving ones used (tfjs#562, #7250, #1259)


def test_in_training_the_batch_is_normalized_by_itself(model):
    np.testing.assert_allclose(model(X, training=True).numpy(), [[1.0009993], [4.9990007]], rtol=1e-6)


def test_outside_of_training_by_the_moving_averages(model):
    expected = [[-5.9988752], [-3.9991252]]
    np.testing.assert_allclose(model.predict(X).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(model(X, training=False).numpy(), expected, rtol=1e-6)


def test_one_training_call_moves_the_averages_by_one_hundredth(model):
    model(X, training=True)
    moving_mean, moving_variance = model.get_weights()[2:]
    assert moving_mean.item() == pytest.approx(9.92)
    assert moving_variance.item() == pytest.approx(3.97)
    assert np.all(model.predict(X).numpy() != model(X, training=True).numpy())


def test_training_pinned_in_a_graph_holds_in_predict_and_in_files(tmp_path):
    values = [np.array([value], np.float32) for value in (2, 3, 10, 4)]
    x = vg.input(shape=[1])
    layer = vg.layers.batch_normalization(epsilon=1e-3)
    model = vg.model(inputs=x, outputs=[layer(x), layer(x, training=True)])
    layer.set_weights(values)
    model.save(tmp_path)
    for each in (model, vg.load_layers_model(tmp_path)):
        free, pinned = each.predict(X)
        np.testing.assert_allclose(free.numpy(), [[-5.9988752], [-3.9991252]], rtol=1e-6)
        np.testing.assert_allclose(pinned.numpy(), [[1.0009993], [4.9990007]], rtol=1e-6)


# A frozen batch normalization keeps using batch statistics and moving its averages (keras#9522, #6570, #9965)


def test_a_frozen_base_does_not_drift():
    base = vg.sequential(layers=[vg.layers.batch_normalization(input_shape=[1])])
    base.trainable = False
    head = vg.variable([[0.5]], name="head")
    optimizer = vg.train.sgd(0.1)
    before = base.predict(X).numpy()
    for _ in range(100):
        optimizer.minimize(lambda: base(X, training=True).mat_mul(head).square().mean())
    mean, variance = base.get_weights()[2:]
    assert (mean.item(), variance.item()) == (0.0, 1.0)
    np.testing.assert_array_equal(base.predict(X).numpy(), before)
    assert head.item() != 0.5


# A layer used at different depths is wired differently after a reload (keras#14838, #11159, tensorflow#50322)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_layer_used_at_different_depths_is_wired_the_same_after_a_reload(swapped, tmp_path):
    shared = vg.layers.dense(units=3)
    x1, x2 = vg.input(shape=[3]), vg.input(shape=[1, 3])
    early = shared(vg.layers.reshape(target_shape=[3])(x2))
    late = shared(vg.layers.reshape(target_shape=[3])(shared(x1)))
    y = vg.layers.dense(units=1)(vg.layers.concatenate()([early, late]))
    model = vg.model(inputs=[x2, x1] if swapped else [x1, x2], outputs=y)
    model.save(tmp_path)
    rng = np.random.default_rng(0)
    data = [rng.normal(size=[5, *x.shape[1:]]).astype(np.float32) for x in model.inputs]
    assert vg.load_layers_model(tmp_path).predict(data).tolist() == model.predict(data).tolist()


# An embedding fed an index outside its table trains on garbage and ends in NaN (tfjs#705)


def word_model():
    return vg.sequential(
        layers=[
            vg.layers.embedding(input_dim=3, output_dim=2, input_length=2, name="words"),
            vg.layers.flatten(),
            vg.layers.dense(units=1),
        ]
    )


BAD_INDICES = [
    ([[0, 3]], vg.OutOfRangeError, r"words: index 3 at position \[0, 1\] of its inputs is outside of 0\.\.2"),
    ([[0, -1]], vg.OutOfRangeError, r"words: index -1 at position \[0, 1\] of its inputs is outside of 0\.\.2"),
    ([[0.5, 1]], ValueError, r"words: its inputs are indices, but 0\.5 at position \[0, 0\] is not a whole number"),
]


@pytest.mark.parametrize(("indices", "error", "message"), BAD_INDICES)
def test_an_index_outside_of_the_table_is_an_error_that_names_it(indices, error, message):
    model = word_model()
    with pytest.raises(error, match=message):
        model.layers[0](indices)
    with pytest.raises(error, match=message):
        model.predict(indices)


@pytest.mark.parametrize(("indices", "error", "message"), BAD_INDICES)
def test_training_on_such_an_index_is_that_error_and_changes_nothing(indices, error, message):
    model = word_model()
    before = [w.numpy() for w in model.get_weights()]
    optimizer = vg.train.sgd(0.1)
    with pytest.raises(error, match=message):
        optimizer.minimize(lambda: model(indices, training=True).square().mean())
    model.compile(optimizer="sgd", loss="mean_squared_error")
    with pytest.raises(error, match=message):
        model.fit(indices, [[1.0]], verbose=0)
    for weight, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected)


# Batch normalization frozen in a model that is fitted (keras#9522, #6570, #9965)


def test_fitting_on_top_of_a_frozen_normalization_leaves_it_alone():
    base = vg.layers.batch_normalization(input_shape=[1])
    model = vg.sequential(layers=[base, vg.layers.dense(units=1)])
    base.trainable = False
    before = base([[1.0], [3.0]]).numpy()
    model.compile(optimizer=vg.train.sgd(0.1), loss="mean_squared_error")
    model.fit([[1.0], [3.0]], [[1.0], [2.0]], epochs=100, verbose=0)
    assert [w.tolist() for w in base.get_weights()] == [[1.0], [0.0], [0.0], [1.0]]
    np.testing.assert_array_equal(base([[1.0], [3.0]]).numpy(), before)


@pytest.mark.parametrize(("indices", "error", "message"), BAD_INDICES)
def test_a_compiled_step_checks_indices_too(indices, error, message):
    model = word_model()
    step = vg.jit(lambda x: model(x).sum())
    for _ in range(3):
        step(vg.tensor([[0, 2]], dtype="float32"))
    with pytest.raises(error, match=message):
        step(vg.tensor(indices, dtype="float32"))
