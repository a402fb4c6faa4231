"""Complaints about training models that people have reported of other libraries, made impossible here."""

import gc
import subprocess
import sys
import warnings

import numpy as np
import pytest

import varigrad as vg


def dense(units=1, **options):
    return vg.layers.dense(units=units, **options)


def line(value="zeros", **options):
    """A model of one weight."""
    return vg.sequential(layers=[dense(use_bias=False, kernel_initializer=value, input_shape=[1], **options)])


# fit keeps adding tensors until memory is gone (tfjs#5980, #200, #1167)


def test_memory_is_flat_over_epochs_of_fit():
    model = vg.sequential(layers=[dense(8, activation="relu", input_shape=[5]), dense(1)])
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
    counts = []
    gc.collect()  # what earlier tests left in cycles
    hooks = {"on_epoch_end": lambda epoch, logs: counts.append(vg.memory()[:3])}
    model.fit(np.ones([100, 5]), np.ones(100), epochs=5, validation_split=0.2, callbacks=hooks, verbose=0)
    assert counts[1] == counts[4]


def test_the_process_does_not_grow_over_2_000_steps():
    program = """
import resource, numpy as np, varigrad as vg
model = vg.sequential(layers=[vg.layers.dense(units=8, activation="relu", input_shape=[5]), vg.layers.dense(units=1)])
model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
x, y = np.ones([400, 5], np.float32), np.ones([400, 1], np.float32)
model.fit(x, y, batch_size=4, epochs=5, verbose=0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(x, y, batch_size=4, epochs=20, verbose=0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2048  # KiB


# A part of the model that is frozen between steps ends in a shape error (tfjs#4290, #8379)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamax", "rmsprop", "adagrad", "adadelta"])
def test_a_generator_and_a_discriminator_take_turns(optimizer):
    generator = vg.sequential(layers=[dense(3, input_shape=[2]), dense(3)])
    discriminator = vg.sequential(layers=[dense(4, input_shape=[3]), dense(1, activation="sigmoid")])
    discriminator.compile(optimizer=optimizer, loss="binary_crossentropy")
    both = vg.sequential(layers=[generator, discriminator])
    both.compile(optimizer=optimizer, loss="binary_crossentropy")
    noise, real = np.ones([4, 2]), np.ones([4, 3])
    for _ in range(3):
        discriminator.trainable = True
        fixed = [w.numpy() for w in generator.get_weights()]
        discriminator.train_on_batch(real, np.ones(4))
        discriminator.train_on_batch(generator.predict(noise), np.zeros(4))
        assert all((a == b.numpy()).all() for a, b in zip(fixed, generator.get_weights(), strict=True))
        discriminator.trainable = False
        fixed = [w.numpy() for w in discriminator.get_weights()]
        both.train_on_batch(noise, np.ones(4))
        assert all((a == b.numpy()).all() for a, b in zip(fixed, discriminator.get_weights(), strict=True))


# The learning rate cannot be changed while training, or the change is ignored (tensorflow#23314, swift-apis#81)


@pytest.mark.parametrize(
    ("optimizer", "weight"),
    [(vg.train.sgd(0.1), -0.11), (vg.train.momentum(0.1, 0.9), -0.119), (vg.train.adam(0.1), -0.11)],
    ids=lambda value: getattr(value, "class_name", ""),
)
def test_the_learning_rate_can_be_changed_in_fit(optimizer, weight):
    model = line()
    model.compile(optimizer=optimizer, loss=lambda y, p: p.sum(-1))  # of gradient 1
    hooks = {"on_epoch_end": lambda epoch, logs: setattr(model.optimizer, "learning_rate", 0.01)}
    model.fit([1.0], [0.0], epochs=2, callbacks=hooks, verbose=0)
    assert model.get_weights()[0].item() == pytest.approx(weight, rel=1e-5)


# Clipping by norm means one thing here and another there; a missing gradient breaks it (tensorflow#36001, #29108)


@pytest.mark.parametrize(
    ("clip", "steps"),
    [
        ({"clip_norm": 1.0}, ([0.6, 0.8], [1.0])),
        ({"global_clip_norm": 1.0}, ([0.2307692, 0.3076923], [0.9230769])),
        ({"clip_value": 0.5}, ([0.5, 0.5], [0.5])),
    ],
)
def test_each_way_of_clipping_in_fit(clip, steps):
    x = vg.input(shape=[1])
    layers = [dense(units, use_bias=False, kernel_initializer="zeros") for units in (2, 1, 1)]
    model = vg.model(inputs=x, outputs=[layer(x) for layer in layers])
    losses = [lambda y, p: (y * p).sum(-1), lambda y, p: (y * p).sum(-1), lambda y, p: (y * p.zeros_like()).sum(-1)]
    model.compile(optimizer=vg.train.sgd(1.0, **clip), loss=losses)
    model.fit([1.0], [[[3.0, 4.0]], [[12.0]], [[1.0]]], verbose=0)
    for layer, step in zip(layers, (*steps, [0.0])):
        np.testing.assert_allclose(layer.get_weights()[0].numpy()[0], -np.array(step), rtol=1e-6)


# With shuffling on, the validation part is still the unshuffled tail (tfjs#5976)


def test_the_validation_split_is_the_tail_and_says_so_where_it_matters():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    with pytest.warns(UserWarning, match="their targets differ"):
        history = model.fit([1, 2, 3, 10], [1, 2, 3, 10], validation_split=0.25, shuffle=True, verbose=0).history
    assert history["val_loss"] == [100.0]
    assert history["loss"] == [pytest.approx(4.6666667)]


# One larger number turns a regression into nonsense, and nothing says why (tfjs#8302, tensorflow#18493)


def test_a_regression_that_diverges_names_the_cure():
    model = vg.sequential(layers=[dense(kernel_initializer="zeros", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(0.01), loss="mean_squared_error")
    x = np.array([0.0, 1.0, 2.0, 3.0, 30.0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        losses = model.fit(x, 3 * x + 1, epochs=60, batch_size=5, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(losses[:2], [1689.4, 11965.4], rtol=1e-4)
    assert np.isinf(losses[59])
    assert "scale the inputs" in str(told[0].message)
    assert "smaller learning rate" in str(told[0].message)


def test_a_regression_that_converges_brings_no_warning():
    model = vg.sequential(layers=[dense(kernel_initializer="zeros", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(0.01), loss="mean_squared_error")
    x = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    losses = model.fit(x, 3 * x + 1, epochs=60, batch_size=5, shuffle=False, verbose=0).history["loss"]
    assert (losses[0], losses[59]) == (pytest.approx(225.4), pytest.approx(0.0475, rel=1e-2))


# A frozen batch normalization drifts during fine-tuning (keras#9522, #6570, #9965)


def test_a_frozen_batch_normalization_stays_as_it_is_in_fit():
    base = vg.sequential(layers=[vg.layers.batch_normalization(input_shape=[1])])
    base.trainable = False
    model = vg.sequential(layers=[base, dense()])
    model.compile(optimizer="sgd", loss="mean_squared_error")
    x = np.array([[1.0], [3.0]])
    before = base.predict(x).numpy()
    model.fit(x, [0.0, 1.0], epochs=100, verbose=0)
    mean, variance = [w.item() for w in base.get_weights()[2:]]
    assert (mean, variance) == (0.0, 1.0)
    np.testing.assert_array_equal(base.predict(x).numpy(), before)


# A dataset can be walked through once; in later epochs data is gone (tfjs#1046, #1071, #1515; tensorflow#25254)


def batches_of(values):
    return [(np.array([[value]]), np.array([[value]])) for value in values]


def test_datasets_epochs_and_shortages():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    data = batches_of([1.0, 2.0, 3.0])
    assert model.fit_dataset(data, epochs=3, verbose=0).history["loss"] == [pytest.approx(14 / 3)] * 3
    with pytest.warns(UserWarning, match="after 3 batches, 3 of the 5 .* 15 are needed"):
        short = model.fit_dataset(data, epochs=3, batches_per_epoch=5, verbose=0)
    assert short.history["loss"] == [pytest.approx(14 / 3)]
    with pytest.raises(ValueError, match="pass a function that makes it anew"):
        model.fit_dataset(iter(data), epochs=2, verbose=0)
    validated = model.fit_dataset(data, epochs=3, validation_data=data, validation_batches=1, verbose=0)
    assert validated.history["val_loss"] == [1.0] * 3


# The best epoch's weights, whatever ended training (tfjs#8488, #296; tensorflow#35634, keras#16876)


@pytest.mark.parametrize("ended_by", ["epochs", "nan"])
def test_the_best_weights_come_back(ended_by, tmp_path):
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    targets = {1: 3.0, 2: 2.0, 3: 0.5, 4: 1.0, 5: 1.5, 6: 2.5}

    def make_epoch(epoch, logs):
        model.set_weights([[[float(epoch + 1)]]])

    def judge(epoch, logs):
        logs["val_loss"] = float("nan") if ended_by == "nan" and epoch == 5 else targets[epoch + 1]
        model.stop_training = ended_by == "nan" and epoch == 5

    stopping = vg.callbacks.early_stopping(monitor="val_loss", patience=5, restore_best_weights=True)
    checkpoint = vg.callbacks.model_checkpoint(tmp_path / "best", save_best_only=True)
    hooks = {"on_epoch_begin": make_epoch, "on_epoch_end": judge}
    history = model.fit([0.0], [0.0], epochs=6, callbacks=[hooks, stopping, checkpoint], verbose=0)
    assert len(history.epoch) == 6
    assert model.get_weights()[0].item() == 3.0
    assert vg.load_layers_model(tmp_path / "best").get_weights()[0].item() == 3.0


# Weighting single samples has been asked for since the first week (tfjs#25)


def test_weights_of_samples_classes_and_steps():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    assert model.fit([1, 2, 3], [1, 2, 3], sample_weight=[1, 1, 0], verbose=0).history["loss"] == [pytest.approx(5 / 3)]
    batch = ([1, 2, 3], [1, 2, 3], [1, 1, 0])
    assert model.fit_dataset([batch], verbose=0).history["loss"] == [pytest.approx(5 / 3)]

    classifier = vg.sequential(layers=[dense(2, activation="softmax", kernel_initializer="zeros", input_shape=[1])])
    classifier.compile(optimizer=vg.train.sgd(0.0), loss="sparse_categorical_crossentropy")
    history = classifier.fit([1, 2, 3], [0, 1, 1], class_weight={0: 10, 1: 1}, verbose=0).history
    assert history["loss"] == [pytest.approx(2.7725887)]

    steps = vg.sequential(layers=[vg.layers.activation(activation="linear", input_shape=[4, 1])])
    steps.add(vg.layers.time_distributed(layer=dense(use_bias=False, kernel_initializer="ones")))
    steps.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    x = np.array([1.0, 2.0, 0.0, 0.0]).reshape(1, 4, 1)
    history = steps.fit(x, np.zeros_like(x), sample_weight=[[1, 0, 1, 1]], verbose=0).history
    assert history["loss"] == [0.25]


def test_masked_steps_do_not_count():
    model = vg.sequential(layers=[vg.layers.masking(mask_value=0, input_shape=[4, 1])])
    model.add(vg.layers.time_distributed(layer=dense(use_bias=False, kernel_initializer="ones")))
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    x = np.array([1.0, 2.0, 0.0, 0.0]).reshape(1, 4, 1)
    assert model.fit(x, np.zeros_like(x), verbose=0).history["loss"] == [2.5]


# Large batches on small machines (keras#16633, addons#2260)


@pytest.mark.parametrize("samples", [320, 104])  # 10 updates; 3 and an incomplete group
def test_accumulated_batches_equal_a_large_one(samples):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(samples, 3)), random.normal(size=(samples, 1))
    models = []
    for options in ({"batch_size": 32}, {"batch_size": 8, "accumulate": 4}):
        first = dense(4, activation="tanh", kernel_initializer=vg.initializers.glorot_uniform(seed=1), input_shape=[3])
        model = vg.sequential(layers=[first, dense(1, kernel_initializer="ones")])
        model.compile(optimizer=vg.train.adam(0.01, global_clip_norm=0.5), loss="mean_squared_error")
        model.fit(x, y, shuffle=False, verbose=0, **options)
        models.append(model)
    assert [model.optimizer.iterations for model in models] == [-(-samples // 32)] * 2
    for a, b in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-6)


def test_accumulating_batches_that_are_normalized():
    model = vg.sequential(layers=[vg.layers.batch_normalization(input_shape=[2]), dense(1)])
    model.compile(optimizer="adam", loss="mean_squared_error")
    x = np.arange(32.0).reshape(16, 2)
    model.fit(x, np.ones(16), batch_size=4, accumulate=4, shuffle=False, verbose=0)
    assert model.optimizer.iterations == 1
    moving_mean = np.zeros(2)
    for start in range(0, 16, 4):  # each small batch moves the averages
        moving_mean = 0.99 * moving_mean + 0.01 * x[start : start + 4].mean(0)
    np.testing.assert_allclose(model.layers[0].get_weights()[2].numpy(), moving_mean, rtol=1e-5)


# TensorBoard from training, with histograms and pictures, not just scalars (tfjs#686, #1903)


def test_event_files_hold_scalars_histograms_and_pictures(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = line("ones")
    model.compile(optimizer=vg.train.sgd(0.01), loss="mean_squared_error")
    pictures = lambda model, epoch: {"weights": np.eye(4) * epoch}  # noqa: E731
    callback = vg.callbacks.tensor_board(tmp_path, images=pictures)
    model.fit([1.0, 2.0], [1.0, 1.0], batch_size=1, epochs=2, callbacks=callback, verbose=0)
    found = EventAccumulator(str(tmp_path / "train"), {"histograms": 0, "images": 0, "scalars": 0})
    found.Reload()
    assert [event.step for event in found.Scalars("batch_loss")] == [0, 1, 2, 3]
    for tag in ("epoch_loss", "epoch_learning_rate"):
        assert [event.step for event in found.Scalars(tag)] == [0, 1]
    assert len(found.Histograms(model.weights[0].original_name)) == 2
    assert len(found.Images("weights")) == 2
