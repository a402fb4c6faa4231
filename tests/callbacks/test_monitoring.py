"""Early stopping, checkpoints, plateaus, NaN: driven by logs of known numbers, and in real training."""

import numpy as np
import pytest

import varigrad as vg


class Played(vg.Callback):
    """Puts given numbers into the logs, and makes the weight the number of the epoch."""

    def __init__(self, **values):
        self.values = values

    def on_epoch_begin(self, epoch, logs):
        self.model.set_weights([[[float(epoch + 1)]]])

    def on_epoch_end(self, epoch, logs):
        for name, values in self.values.items():
            logs[name] = values[epoch]


def make_model(rate=0.0):
    model = vg.sequential(
        layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones", input_shape=[1], name="out")]
    )
    model.compile(optimizer=vg.train.sgd(rate), loss="mean_squared_error")
    return model


def play(callback, epochs=None, **values):
    """The epochs that a fit had, and the weight after it."""
    model = make_model()
    count = epochs or len(next(iter(values.values())))
    history = model.fit([1.0], [1.0], epochs=count, callbacks=[Played(**values), callback], verbose=0)
    return len(history.epoch), model.get_weights()[0].item()


FALLING_AND_RISING = [5.0, 4.0, 3.0, 3.5, 3.2, 3.3]


@pytest.mark.parametrize(
    ("options", "values", "epochs"),
    [
        ({"patience": 0}, FALLING_AND_RISING, 4),
        ({"patience": 2}, FALLING_AND_RISING, 5),
        ({"patience": 5}, FALLING_AND_RISING, 6),
        ({"patience": 1, "min_delta": 1.5}, FALLING_AND_RISING, 2),
        ({"patience": 1, "mode": "max"}, FALLING_AND_RISING, 2),
        ({"patience": 1, "baseline": 4.5}, FALLING_AND_RISING, 1),
        ({"patience": 2, "baseline": 4.5}, FALLING_AND_RISING, 5),
        ({"patience": 2}, [1.0, float("nan"), float("nan"), 0.5], 3),
    ],
)
def test_early_stopping_ends_training(options, values, epochs):
    # As Keras 3 counts them; with a baseline, as TensorFlow.js does.
    assert play(vg.callbacks.early_stopping(**options), val_loss=values)[0] == epochs


@pytest.mark.parametrize("monitor", ["val_acc", "accuracy", "auc", "kind_acc"])
def test_what_should_grow_is_told_by_its_name(monitor):
    assert play(vg.callbacks.early_stopping(monitor=monitor, patience=1), **{monitor: [0.5, 0.6, 0.7, 0.6]})[0] == 4


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_the_best_weights_come_back_whatever_ended_training(patience):
    callback = vg.callbacks.early_stopping(patience=patience, restore_best_weights=True)
    assert play(callback, val_loss=FALLING_AND_RISING)[1] == 3.0
    assert (callback.best, callback.best_epoch) == (3.0, 2)


def test_the_best_weights_come_back_after_a_nan():
    values = [*FALLING_AND_RISING[:4], float("nan"), float("nan")]
    assert play(vg.callbacks.early_stopping(patience=9, restore_best_weights=True), val_loss=values)[1] == 3.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_best_weights_come_back_after_an_error(error):
    def stop(epoch, logs):
        if epoch == 4:
            raise error

    model = make_model()
    callback = vg.callbacks.early_stopping(patience=9, restore_best_weights=True)
    callbacks = [Played(val_loss=FALLING_AND_RISING), callback, {"on_epoch_end": stop}]
    with pytest.raises(error):
        model.fit([1.0], [1.0], epochs=6, callbacks=callbacks, verbose=0)
    assert model.get_weights()[0].item() == 3.0


def test_without_the_option_the_last_weights_stay():
    assert play(vg.callbacks.early_stopping(patience=9), val_loss=FALLING_AND_RISING)[1] == 6.0


def test_a_small_improvement_is_the_best_even_if_it_does_not_count():
    callback = vg.callbacks.early_stopping(patience=2, min_delta=1.0, restore_best_weights=True)
    assert play(callback, val_loss=[3.0, 2.9, 2.8, 2.7]) == (3, 3.0)


def test_a_callback_can_be_used_again():
    callback = vg.callbacks.early_stopping(patience=1)
    assert [play(callback, val_loss=FALLING_AND_RISING)[0] for _ in range(2)] == [4, 4]


def test_a_quantity_that_is_not_there_brings_one_warning():
    with pytest.warns(UserWarning, match="no 'val_loss', only loss; fit needs validation_data") as told:
        make_model().fit([1.0], [1.0], epochs=3, callbacks=vg.callbacks.early_stopping(), verbose=0)
    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize(
    ("monitor", "hint"),
    [
        ("val_accuracy", "; did you mean 'val_acc'?"),
        ("valLoss", "; it is 'val_loss' here"),
        ("top_k", ""),
    ],
)
def test_another_name_for_what_is_in_the_logs_is_hinted_at(monitor, hint):
    with pytest.warns(UserWarning, match="the logs have no") as told:
        play(vg.callbacks.early_stopping(monitor=monitor), acc=[0.5], val_loss=[1.0], val_acc=[0.5])
    assert str(told[0].message).endswith(f"no {monitor!r}, only loss, acc, val_loss, val_acc{hint}")


def test_early_stopping_may_say_so(capsys):
    play(vg.callbacks.early_stopping(patience=1, verbose=1), val_loss=FALLING_AND_RISING)
    assert capsys.readouterr().out == "epoch 4: early stopping, best val_loss 3\n"


# Checkpoints


def saved_weights(folder):
    return {path.name: vg.load_layers_model(path).get_weights()[0].item() for path in sorted(folder.iterdir())}


def test_a_checkpoint_of_each_epoch(tmp_path):
    play(vg.callbacks.model_checkpoint(tmp_path / "at-{epoch:02d}-{val_loss:.1f}"), val_loss=FALLING_AND_RISING)
    assert saved_weights(tmp_path) == {
        f"at-{epoch:02d}-{loss:.1f}": float(epoch) for epoch, loss in enumerate(FALLING_AND_RISING, start=1)
    }


@pytest.mark.parametrize(
    ("options", "best"),
    [({}, 3.0), ({"mode": "max"}, 1.0), ({"initial_value_threshold": 3.0}, None)],
    ids=["min", "max", "threshold"],
)
def test_a_checkpoint_of_the_best(tmp_path, options, best):
    callback = vg.callbacks.model_checkpoint(tmp_path / "best", save_best_only=True, **options)
    play(callback, val_loss=FALLING_AND_RISING)
    assert saved_weights(tmp_path) == ({} if best is None else {"best": best})


def test_a_checkpoint_after_some_batches(tmp_path):
    model = make_model()
    callback = vg.callbacks.model_checkpoint(tmp_path / "at-{epoch}-{batch}", save_freq=2)
    model.fit(np.ones(3), np.ones(3), batch_size=1, epochs=2, callbacks=callback, verbose=0)
    assert set(saved_weights(tmp_path)) == {"at-1-1", "at-2-0", "at-2-2"}


def test_training_goes_on_from_a_checkpoint(tmp_path):
    def make():
        initializer = vg.initializers.glorot_uniform(seed=1)
        model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], kernel_initializer=initializer)])
        model.compile(optimizer="adam", loss="mean_squared_error")
        return model

    x, y = np.linspace(-1, 1, 12).reshape(4, 3), np.linspace(0, 1, 8).reshape(4, 2)
    straight = make()
    straight.fit(x, y, epochs=4, shuffle=False, verbose=0)
    checkpoint = vg.callbacks.model_checkpoint(tmp_path / "at-{epoch}", include_optimizer=True)
    make().fit(x, y, epochs=2, shuffle=False, callbacks=checkpoint, verbose=0)
    resumed = vg.load_layers_model(tmp_path / "at-2")
    resumed.fit(x, y, epochs=4, initial_epoch=2, shuffle=False, verbose=0)
    for ours, theirs in zip(straight.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_a_checkpoint_of_the_weights_alone(tmp_path):
    callback = vg.callbacks.model_checkpoint(tmp_path / "at-{epoch}.npz", save_weights_only=True)
    play(callback, val_loss=FALLING_AND_RISING[:2])
    model = make_model()
    model.load_weights(tmp_path / "at-2.npz")
    assert model.get_weights()[0].item() == 2.0


def test_a_path_that_names_what_the_logs_lack(tmp_path):
    callback = vg.callbacks.model_checkpoint(tmp_path / "{acc}")
    with pytest.raises(ValueError, match="names 'acc', but the logs have only loss"):
        make_model().fit([1.0], [1.0], callbacks=callback, verbose=0)
    with pytest.raises(ValueError, match="save_freq must be 'epoch' or a number"):
        vg.callbacks.model_checkpoint(tmp_path, save_freq="batch")


# Learning rates


@pytest.mark.parametrize(
    ("options", "rates"),
    [
        ({"patience": 1}, [1, 1, 1, 1, 0.5, 0.25]),
        ({"patience": 2}, [1, 1, 1, 1, 1, 0.5]),
        ({"patience": 1, "cooldown": 1}, [1, 1, 1, 1, 0.5, 0.25]),
        ({"patience": 1, "cooldown": 2}, [1, 1, 1, 1, 0.5, 0.5]),
        ({"patience": 1, "min_lr": 0.4}, [1, 1, 1, 1, 0.5, 0.4]),
        ({"patience": 1, "min_delta": 1.5}, [1, 1, 0.5, 0.5, 0.25, 0.125]),
        ({"patience": 1, "mode": "max"}, [1, 1, 0.5, 0.25, 0.125, 0.0625]),
    ],
)
def test_a_plateau_lowers_the_learning_rate(options, rates):
    # The rates that Keras 3 logs for the same losses.
    model = make_model()
    model.optimizer.learning_rate = 1.0
    callback = vg.callbacks.reduce_lr_on_plateau(factor=0.5, **options)
    played = Played(val_loss=FALLING_AND_RISING)
    history = model.fit([0.0], [0.0], epochs=6, callbacks=[played, callback], verbose=0).history
    assert history["learning_rate"] == rates


def test_a_schedule_cannot_be_lowered():
    model = make_model()
    model.optimizer = vg.train.sgd(lambda step: 0.1)
    with pytest.raises(ValueError, match="learning rate is a schedule"):
        model.fit([1.0], [1.0], callbacks=vg.callbacks.reduce_lr_on_plateau(), verbose=0)


# NaN


def test_a_nan_ends_training_at_once():
    model = make_model()
    with pytest.warns(UserWarning, match="the loss became NaN"):
        history = model.fit(
            [[1.0], [np.nan], [1.0]],
            np.ones(3),
            batch_size=1,
            epochs=5,
            shuffle=False,
            callbacks=vg.callbacks.terminate_on_nan(),
            verbose=0,
        )
    assert history.epoch == [0]
    assert model.optimizer.iterations == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: vg.callbacks.early_stopping(mode="up"),
        lambda: vg.callbacks.reduce_lr_on_plateau(mode="up"),
        lambda: vg.callbacks.reduce_lr_on_plateau(factor=2.0),
    ],
)
def test_wrong_options_are_named(make):
    with pytest.raises(ValueError, match=r"mode must be auto, min or max|factor must be between 0 and 1"):
        make()
