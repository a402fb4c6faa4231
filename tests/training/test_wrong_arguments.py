"""Every argument of training, given wrong values of every kind: taken, or refused in the name of the method."""

import inspect
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import varigrad as vg

X = np.linspace(-1, 1, 8).reshape(4, 2).astype(np.float32)
Y = np.linspace(0, 1, 4).reshape(4, 1).astype(np.float32)

VALUES = [
    None, object(), "nonsense", b"x", True, -3, -1, 0, 1.5, math.nan, math.inf, 10**400, np.float32(2.5),
    np.int64(2), [], {}, (), [1, "x"], [None], [[1]], [[1, 2, 3]], (1, 2, 3), {"a": 1}, {0: "x"}, {0: None}, print,
    lambda: None, np.ones([4, 3, 2]), np.array(["a", "b"]), np.array([]), np.ones([2, 2], complex), vg.Callback,
]  # fmt: skip


def make_model():
    model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="ones", input_shape=[2], name="out")])
    model.compile(optimizer="sgd", loss="mean_squared_error")
    return model


METHODS = {
    "fit": {"x": X, "y": Y, "verbose": 0},
    "fit_dataset": {"dataset": [(X, Y)], "verbose": 0},
    "evaluate": {"x": X, "y": Y},
    "evaluate_dataset": {"dataset": [(X, Y)]},
    "train_on_batch": {"x": X, "y": Y},
    "test_on_batch": {"x": X, "y": Y},
    "compile": {"optimizer": "sgd", "loss": "mean_squared_error"},
}


def arguments_of(function):
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.name != "self" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


@pytest.mark.parametrize("make", [list, np.array, pd.Series, vg.tensor])
@pytest.mark.parametrize("method", ["fit", "evaluate", "train_on_batch"])
def test_names_in_place_of_class_numbers_are_told_how_to_be_numbered(method, make):
    model = vg.sequential(layers=[vg.layers.dense(units=3, activation="softmax", input_shape=[2], name="out")])
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
    with pytest.raises(
        TypeError, match=rf"{method}: y \(out\) holds strings, but the loss .* class numbers; names, y ="
    ):
        getattr(model, method)(X, make(["cat", "dog", "cat", "owl"]))


def test_ragged_data_is_to_be_padded():
    with pytest.raises(ValueError, match=r"fit: x \(.*\) is ragged: .* differ in length; pad the shorter ones"):
        make_model().fit([[1, 2], [3], [4, 5], [6]], Y)


def test_a_model_that_was_saved_without_its_optimizer_is_told_how_to_save_it_with(tmp_path):
    make_model().save(tmp_path)
    loaded = vg.load_layers_model(tmp_path)
    with pytest.raises(ValueError, match=r"must be compiled first: .* saved with include_optimizer=True"):
        loaded.fit(X, Y)
    make_model().save(tmp_path, include_optimizer=True)
    vg.load_layers_model(tmp_path).fit(X, Y, verbose=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_takes_a_value_or_refuses_it_in_its_own_name(method, capsys):
    found = []
    for argument in arguments_of(getattr(vg.LayersModel, method)):
        for value in VALUES:
            model = make_model()
            if argument in ("epochs", "steps_per_epoch") and isinstance(value, (int, float)) and value > 1e9:
                continue  # that is no error, only long
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore", UserWarning
                    )  # on losses and validation, which are told of elsewhere
                    getattr(model, method)(**{**METHODS[method], argument: value})
            except (TypeError, ValueError) as error:
                told = str(error)
                if not any(
                    name in told for name in (f"{method}: ", "callbacks: ", "CustomCallback: ", "the loss of out: ")
                ):
                    found.append(f"{argument}={value!r:.50}: {told}")
                weights = [w.numpy() for w in model.get_weights()]
                late = argument == "validation_data" and callable(value)  # what it returns, the first epoch's end tells
                if not late and not all(
                    np.array_equal(w, first.numpy()) for w, first in zip(weights, make_model().get_weights())
                ):
                    found.append(f"{argument}={value!r:.50}: it has trained all the same")
            except Exception as error:
                found.append(f"{argument}={value!r:.50}: {type(error).__name__}: {error}")
            finally:
                vg.dispose_variables()
    assert not found, f"{len(found)} faults\n" + "\n".join(found)


CALLBACKS = {
    "early_stopping": {},
    "model_checkpoint": {"filepath": "nowhere"},
    "reduce_lr_on_plateau": {},
    "learning_rate_scheduler": {"schedule": lambda epoch: 0.1},
    "csv_logger": {"filename": "nowhere"},
    "tensor_board": {"log_dir": "nowhere"},
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_takes_a_value_or_refuses_it_in_its_own_name(name):
    make = getattr(vg.callbacks, name)
    found = []
    for argument in arguments_of(make.__init__):
        for value in VALUES:
            try:
                make(**{**CALLBACKS[name], argument: value})
            except (TypeError, ValueError) as error:
                if not str(error).startswith(f"{make.__name__}: "):
                    found.append(f"{argument}={value!r:.50}: {error}")
            except Exception as error:
                found.append(f"{argument}={value!r:.50}: {type(error).__name__}: {error}")
    assert not found, f"{len(found)} faults\n" + "\n".join(found)


FUNCTIONS = [name for name in vg.metrics.__all__ if inspect.isfunction(getattr(vg.metrics, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_metric_takes_values_or_refuses_them_in_its_own_name(name):
    metric = getattr(vg.metrics, name)
    sparse = name.startswith("sparse")
    good = {"y_true": np.array([1, 0]) if sparse else np.eye(2), "y_pred": np.full([2, 2], 0.5, np.float32)}
    metric(**good)
    found = []
    for argument in arguments_of(metric):
        for value in VALUES:
            try:
                metric(**{**good, argument: value})
            except (TypeError, ValueError) as error:
                if metric.__name__ not in str(error):
                    found.append(f"{argument}={value!r:.50}: {error}")
            except Exception as error:
                found.append(f"{argument}={value!r:.50}: {type(error).__name__}: {error}")
    assert not found, f"{len(found)} faults\n" + "\n".join(found)
