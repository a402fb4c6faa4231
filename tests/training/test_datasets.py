"""`fit_dataset` and `evaluate_dataset`: what may be a dataset, and what happens at its end."""

import numpy as np
import pytest

import varigrad as vg

BATCHES = [(np.full([2, 1], n, np.float32), np.full([2, 1], n, np.float32)) for n in (1.0, 2.0, 3.0)]
FIRST_LOSS = (1 + 4 + 9) / 3


@pytest.fixture
def model():
    model = vg.sequential(
        layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="zeros", input_shape=[1])]
    )
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    return model


class Walkable:
    """An iterable that is neither a list nor a function."""

    def __iter__(self):
        return iter(BATCHES)


@pytest.mark.parametrize(
    "dataset",
    [
        BATCHES,
        tuple(BATCHES),
        lambda: iter(BATCHES),
        lambda: BATCHES,
        Walkable(),
        [{"xs": x, "ys": y} for x, y in BATCHES],
        [{"xs": {"numbers_input": x}, "ys": y} for x, y in BATCHES],
        [[x, y] for x, y in BATCHES],
        [(vg.tensor(x), vg.tensor(y)) for x, y in BATCHES],
        [(x[:, 0], y[:, 0].tolist()) for x, y in BATCHES],
    ],
    ids=["list", "tuple", "function", "function of a list", "iterable", "dicts", "names", "lists", "tensors", "rank 1"],
)
def test_what_may_be_a_dataset(dataset):
    layer = vg.layers.dense(units=1, use_bias=False, kernel_initializer="zeros", input_shape=[1], name="numbers")
    model = vg.sequential(layers=[layer])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    history = model.fit_dataset(dataset, epochs=2, verbose=0)
    assert history.history["loss"] == [pytest.approx(FIRST_LOSS)] * 2
    assert model.evaluate_dataset(dataset).item() == pytest.approx(FIRST_LOSS)


def test_a_third_element_is_the_weights_of_samples(model):
    batch = ([1, 2, 3], [1, 2, 3], [1, 1, 0])
    assert model.fit_dataset([batch], verbose=0).history["loss"] == [pytest.approx(5 / 3)]
    named = dict(zip(("xs", "ys", "weights"), batch))
    assert model.fit_dataset([named], verbose=0).history["loss"] == [pytest.approx(5 / 3)]


def test_epochs_of_some_batches_go_on_where_the_one_before_ended(model):
    history = model.fit_dataset(BATCHES + BATCHES[:1], epochs=2, batches_per_epoch=2, verbose=0)
    assert history.history["loss"] == [2.5, 5.0]


def test_a_shortage_of_batches_is_told_in_numbers_and_leaves_the_history(model):
    with pytest.warns(
        UserWarning, match="ran out after 3 batches, 3 of the 5 that an epoch should have; 15 are"
    ) as told:
        history = model.fit_dataset(BATCHES, epochs=3, batches_per_epoch=5, verbose=0)
    assert told[0].filename == __file__
    assert history.epoch == [0]
    assert history.history["loss"] == [pytest.approx(FIRST_LOSS)]
    with pytest.warns(UserWarning, match="ran out after 3 batches, 0 of the 3 that an epoch should have; 9 are"):
        history = model.fit_dataset(BATCHES, epochs=3, batches_per_epoch=3, verbose=0)
    assert history.epoch == [0]


def test_a_generator_does_for_one_epoch(model):
    assert model.fit_dataset((batch for batch in BATCHES), verbose=0).epoch == [0]
    assert model.fit_dataset(iter(BATCHES * 2), epochs=2, batches_per_epoch=3, verbose=0).epoch == [0, 1]


def test_a_generator_that_is_exhausted_is_an_error_that_says_what_to_pass(model):
    with pytest.raises(ValueError, match="only once; pass a function that makes it anew, or a list"):
        model.fit_dataset(iter(BATCHES), epochs=2, verbose=0)
    exhausted = iter(BATCHES)
    list(exhausted)
    with pytest.raises(ValueError, match="fit_dataset: the dataset gave no batch"):
        model.fit_dataset(exhausted, verbose=0)


def test_validation_starts_at_the_first_batch_each_time(model):
    history = model.fit_dataset(BATCHES, epochs=3, validation_data=BATCHES, validation_batches=1, verbose=0).history
    assert history["val_loss"] == [1.0, 1.0, 1.0]
    history = model.fit([1.0], [1.0], epochs=3, validation_data=lambda: iter(BATCHES), validation_steps=2, verbose=0)
    assert history.history["val_loss"] == [2.5] * 3


def test_validation_on_arrays(model):
    for data in ((np.ones(3), np.ones(3)), [np.ones(3), np.ones(3)], (np.ones(3), np.ones(3), [3.0, 0.0, 0.0])):
        assert model.fit_dataset(BATCHES, validation_data=data, verbose=0).history["val_loss"] == [1.0]


def test_tensors_of_a_dataset_stay_alive(model):
    batches = [(vg.tensor(x), vg.tensor(y)) for x, y in BATCHES]
    model.fit_dataset(batches, epochs=2, verbose=0)
    assert [x.tolist() for x, _ in batches] == [[[n], [n]] for n in (1.0, 2.0, 3.0)]


def test_an_endless_dataset_with_a_limit(model):
    def endless():
        while True:
            yield BATCHES[0]

    assert model.fit_dataset(endless, epochs=2, batches_per_epoch=3, verbose=0).history["loss"] == [1.0, 1.0]
    assert model.evaluate_dataset(endless, batches=2).item() == 1.0


def test_evaluating_more_batches_than_there_are_brings_a_warning(model):
    with pytest.warns(UserWarning, match="evaluate_dataset: the dataset ran out after 3 batches") as told:
        assert model.evaluate_dataset(BATCHES, batches=4).item() == pytest.approx(FIRST_LOSS)
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (5, "must be an iterable of batches"),
        ([np.ones([2, 1])], "a batch must be"),
        ([{"x": 1}], "got a dict with x"),
        ([(1, 2, 3, 4)], "got tuple of 4"),
        ([], "gave no batch"),
        ([(np.ones([2, 3]), np.ones([2, 1]))], r"fit_dataset: input .* takes shape \[\?, 1\], got \[2, 3\]"),
    ],
)
def test_what_is_no_dataset_is_told(model, dataset, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit_dataset(dataset, verbose=0)
