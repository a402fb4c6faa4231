"""Which hooks are called when, and what callbacks may be made of."""

import gc
import weakref

import numpy as np
import pytest

import varigrad as vg


@pytest.fixture
def model():
    model = vg.sequential(layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", metrics=["mae"])
    return model


X = np.array([1.0, 2.0, 3.0])
ZEROS = np.zeros(3)


class Recorder(vg.Callback):
    """Writes down each call."""

    def __init__(self):
        self.calls = []

    def on_train_begin(self, logs):
        self.calls.append(("train begins", logs))

    def on_train_end(self, logs):
        self.calls.append(("train ends", logs))

    def on_epoch_begin(self, epoch, logs):
        self.calls.append(("epoch begins", epoch, logs))

    def on_epoch_end(self, epoch, logs):
        self.calls.append(("epoch ends", epoch, logs))

    def on_batch_begin(self, batch, logs):
        self.calls.append(("batch begins", batch, logs))

    def on_batch_end(self, batch, logs):
        self.calls.append(("batch ends", batch, logs))


FIRST = {"batch": 0, "size": 2}
SECOND = {"batch": 1, "size": 1}
EPOCH = {"loss": 14 / 3, "mae": 2.0, "val_loss": 1.0, "val_mae": 1.0}


def test_every_hook_is_called_in_its_turn(model):
    recorder = Recorder()
    model.fit(
        X, ZEROS, batch_size=2, epochs=2, shuffle=False, callbacks=recorder, validation_data=([1.0], [0.0]), verbose=0
    )
    epoch = [
        ("batch begins", 0, FIRST),
        ("batch ends", 0, {**FIRST, "loss": 2.5, "mae": 1.5}),
        ("batch begins", 1, SECOND),
        ("batch ends", 1, {**SECOND, "loss": 9.0, "mae": 3.0}),
    ]
    assert recorder.calls == [
        ("train begins", {}),
        ("epoch begins", 0, {}),
        *epoch,
        ("epoch ends", 0, pytest.approx(EPOCH)),
        ("epoch begins", 1, {}),
        *epoch,
        ("epoch ends", 1, pytest.approx(EPOCH)),
        ("train ends", pytest.approx(EPOCH)),
    ]


def test_callbacks_know_the_model_and_what_was_asked_for(model):
    recorder = Recorder()
    model.fit(X, ZEROS, batch_size=2, epochs=3, initial_epoch=1, callbacks=recorder, verbose=0)
    assert recorder.model is model
    assert recorder.params == {
        "epochs": 3,
        "initial_epoch": 1,
        "samples": 3,
        "steps": 2,
        "batch_size": 2,
        "verbose": 0,
        "do_validation": False,
        "metrics": ["loss", "mae"],
    }
    model.fit_dataset([(X, ZEROS)], validation_data=(X, ZEROS), callbacks=recorder, verbose=0)
    assert recorder.params["metrics"] == ["loss", "mae", "val_loss", "val_mae"]
    assert (recorder.params["samples"], recorder.params["steps"]) == (None, 1)


@pytest.mark.parametrize("spelling", ["snake", "camel"])
def test_a_dict_of_hooks_is_a_callback(model, spelling):
    names = ["on_train_begin", "on_epoch_begin", "on_batch_begin", "on_batch_end", "on_epoch_end", "on_train_end"]
    called = []
    hooks = {}
    for name in names:
        head, *rest = name.split("_")
        key = name if spelling == "snake" else head + "".join(word.title() for word in rest)
        hooks[key] = lambda *arguments, name=name: called.append(name)
    model.fit(X, ZEROS, callbacks=hooks, verbose=0)
    assert called == names


def test_several_callbacks_are_called_in_order(model):
    called = []
    hooks = [{"on_epoch_end": lambda epoch, logs, name=name: called.append(name)} for name in "abc"]
    model.fit(X, ZEROS, callbacks=[*hooks, Recorder()], verbose=0)
    assert called == ["a", "b", "c"]


def test_what_a_callback_adds_to_the_logs_goes_into_the_history(model):
    hooks = {"on_epoch_end": lambda epoch, logs: logs.update(seconds=epoch + 0.5)}
    assert model.fit(X, ZEROS, epochs=2, callbacks=hooks, verbose=0).history["seconds"] == [0.5, 1.5]


def test_training_ends_for_callbacks_when_it_fails_and_for_each_of_them(model):
    ended = []

    def fail(*arguments):
        raise OSError("disk full")

    hooks = [
        {"on_batch_end": fail, "on_train_end": fail},
        {"on_train_end": lambda logs: ended.append(logs)},
    ]
    with pytest.raises(OSError, match="disk full"):
        model.fit(X, ZEROS, callbacks=hooks, verbose=0)
    assert ended == [{}]
    assert model.fit(X, ZEROS, verbose=0).epoch == [0]


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("batch", [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ("epoch", [(0, None), (1, None)]),
        (0, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (10_000.0, []),
        ("auto", []),
    ],
)
def test_on_yield_is_called_as_often_as_asked(model, every, expected):
    yields = []
    hooks = {"on_yield": lambda epoch, batch, logs: yields.append((epoch, batch))}
    model.fit(X, ZEROS, batch_size=2, epochs=2, callbacks=hooks, yield_every=every, verbose=0)
    assert yields == expected


async def coroutine(logs):
    pass


@pytest.mark.parametrize(
    ("callbacks", "options", "message"),
    [
        ({"on_epoch": print}, {}, "there is no hook 'on_epoch'"),
        ({"on_epoch_end": 3}, {}, "on_epoch_end must be a function"),
        ({"on_train_end": coroutine}, {}, "is a coroutine function"),
        ({"on_yield": print}, {"yield_every": "never"}, "yield_every is 'never'"),
        ({}, {"yield_every": "hour"}, "yield_every must be auto"),
        (3, {}, "each must be a vg.Callback or a dict of hooks, got 3"),
        ([vg.callbacks.TerminateOnNaN], {}, r"\(make one: call it\)"),
    ],
)
def test_what_is_no_callback_is_an_error(model, callbacks, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, ZEROS, callbacks=callbacks, verbose=0, **options)


def test_a_hook_by_another_spelling_is_an_error_where_the_class_is_written():
    with pytest.raises(TypeError, match="Quiet: there is no hook onEpochEnd; it is on_epoch_end here"):

        class Quiet(vg.Callback):
            def onEpochEnd(self, epoch, logs):
                pass


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("on_train_batch_begin", "it is on_batch_begin here"),
        ("on_train_batch_end", "it is on_batch_end here"),
        ("on_test_begin", "only on_train_begin, on_train_end"),
        ("on_test_batch_end", "only on_train_begin, on_train_end"),
        ("on_predict_end", "only on_train_begin, on_train_end"),
        ("on_predict_batch_begin", "only on_train_begin, on_train_end"),
    ],
)
def test_a_hook_of_keras_that_is_never_called_is_an_error(model, name, message):
    with pytest.raises(TypeError, match=f"Mine: there is no hook {name}[,;] {message}"):
        type("Mine", (vg.Callback,), {name: lambda self, batch, logs: None})
    with pytest.raises(TypeError, match=f"CustomCallback: there is no hook '{name}'[,;] {message}"):
        vg.CustomCallback(**{name: print})


def test_a_callback_may_have_methods_of_its_own():
    type("Mine", (vg.Callback,), {"on_my_own": lambda self: None, "note": lambda self: None})


def test_registered_constructors_make_callbacks_from_their_verbosity_on(model, monkeypatch):
    monkeypatch.setitem(vg.register_callback_constructor.__globals__, "_constructors", [])
    made = []

    def make():
        made.append(Recorder())
        return made[-1]

    vg.register_callback_constructor(1, make)
    model.fit(X, ZEROS, verbose=0)
    assert not made
    model.fit(X, ZEROS, verbose=2)
    assert made[0].calls[0][0] == "train begins"
    with pytest.raises(ValueError, match="is registered already"):
        vg.register_callback_constructor(2, make)
    with pytest.raises(ValueError, match="verbosity_level must be 0 or more"):
        vg.register_callback_constructor(-1, vg.History)


def test_the_history_of_the_last_fit_is_at_the_model(model):
    assert model.fit(X, ZEROS, verbose=0) is model.history
    assert repr(model.history) == "<History of 1 epochs: loss, mae>"


def test_a_trained_model_goes_with_the_last_reference_to_it():
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
    model.fit([1.0, 2.0], [1.0, 2.0], validation_data=([1.0], [1.0]), verbose=0)
    watched = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert watched() is None
    finally:
        gc.enable()
