"""`varigrad train`: from a table to a trained model in a folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import typer
from rich.console import Console
from threadpoolctl import threadpool_limits

import varigrad as vg
from varigrad import vis
from varigrad.cli import options
from varigrad.cli.errors import CommandError
from varigrad.cli.interruption import Interruption
from varigrad.cli.network import build_layers, clipping, make_optimizer
from varigrad.cli.output import FILES, staged_folder, write_history
from varigrad.cli.preparation import Prepared, load_source, prepare
from varigrad.cli.progress import format_curves, watching
from varigrad.cli.training import CLASSIFICATION, Diverged, Goal, History, evaluate, regression, train_model
from varigrad.data import NumericField, Preprocessing

__all__ = ["train"]

# What a source is trained with unless options say otherwise.
_USUAL: dict[str, Any] = {"filters": [16, 32], "hidden": [64, 32], "dropout": 0.0, "epochs": 200}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "digits": {"filters": [32, 64], "hidden": [64], "epochs": 25},
    "mnist5k": {"hidden": [64], "dropout": 0.3, "epochs": 12},
}

_INTERRUPTED = "Ctrl-C: ending the epoch and saving; once more to quit without saving"


def train(
    source: options.Source,
    target: options.Target = None,
    out: options.Out = None,
    task: options.Task = options.TaskChoice.auto,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing: options.Missing = options.MissingChoice.impute,
    missing_text: options.MissingText = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    image: options.Image = None,
    validation: options.Validation = 0.15,
    test: options.Test = 0.15,
    layers: options.Layers = None,
    conv: options.Conv = None,
    activation: options.Activation = "relu",
    dropout: options.Dropout = None,
    optimizer: options.Optimizer = "adam",
    learning_rate: options.LearningRate = None,
    clip_value: options.ClipValue = None,
    clip_norm: options.ClipNorm = None,
    clip_global_norm: options.ClipGlobalNorm = None,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = 32,
    patience: options.Patience = 15,
    threads: options.Threads = 1,
    jit: options.Jit = True,
    seed: options.Seed = 0,
) -> None:
    """Train a model on SOURCE and write it to a folder.

    The folder gets the model as TensorFlow.js loads it (model.json and weights), the preprocessing, history.csv, plots
    of losses, metrics and gradient norms, and the settings and results. Ctrl-C ends the epoch and saves; pressed twice,
    it quits without saving.
    """
    defaults = {**_USUAL, **_DEFAULTS.get(source, {})}
    options.check_positive(
        learning_rate=learning_rate, clip_value=clip_value, clip_norm=clip_norm, clip_global_norm=clip_global_norm
    )
    hidden: list[int] = defaults["hidden"] if layers is None else options.parse_counts("--layers", layers)
    dropped: float = defaults["dropout"] if dropout is None else dropout
    most_epochs: int = epochs or defaults["epochs"]
    random = np.random.default_rng(seed)
    vg.set_random_seed(seed)
    console = Console(highlight=False, markup=False, soft_wrap=True)

    sample = load_source(
        source,
        target,
        drop=drop or (),
        categorical=categorical or (),
        missing_text=missing_text or (),
        delimiter=delimiter,
        decimal=decimal,
        image=None if image is None else options.parse_image(image),
    )
    data = prepare(
        sample,
        random,
        task=task.value,
        missing=missing.value,
        missing_text=missing_text or (),
        validation=validation,
        test=test,
    )
    usual_filters: list[int] = defaults["filters"] if sample.image else []
    filters: list[int] = usual_filters if conv is None else options.parse_counts("--conv", conv)
    stack = build_layers(
        data.preprocessing.input_shape,
        data.preprocessing.target.width,
        hidden=hidden,
        filters=filters,
        activation=activation,
        dropout=dropped,
        output_name="logits" if data.preprocessing.task == "classification" else "output",
    )
    model = vg.sequential(layers=stack, name="model")
    goal = _goal(data.preprocessing)
    trainer = make_optimizer(optimizer, learning_rate)
    settings: dict[str, Any] = {
        "layers": hidden,
        "conv": filters,
        "activation": activation,
        "dropout": dropped,
        "optimizer": optimizer,
        "learning_rate": trainer.current_learning_rate,
        "clip_value": clip_value,
        "clip_norm": clip_norm,
        "clip_global_norm": clip_global_norm,
        "epochs": most_epochs,
        "batch_size": batch_size,
        "patience": patience,
        "validation": validation,
        "test": test,
        "threads": threads,
        "jit": jit,
        "seed": seed,
    }
    folder = out or Path("runs", Path(source).stem)
    try:
        with (
            Interruption(lambda: console.print(_INTERRUPTED)) as interruption,
            staged_folder(folder) as stage,
            threadpool_limits(threads),
        ):
            _introduce(console, source, data, model)
            started = perf_counter()
            with watching(console, most_epochs, math.ceil(len(data.train.x) / batch_size), goal.metric_name) as watcher:
                history = train_model(
                    model,
                    goal,
                    data.train,
                    data.validation,
                    trainer,
                    epochs=most_epochs,
                    batch_size=batch_size,
                    patience=patience,
                    random=random,
                    watcher=watcher,
                    clip=clipping(clip_value, clip_norm, clip_global_norm),
                    interrupted=interruption.requested,
                    jit=None if jit else False,
                )
            seconds = perf_counter() - started
            results = _results(model, goal, data, history)
            _write(stage, console, source, data, stack, history, {**settings, **results})
    except Diverged as error:
        raise CommandError(f"{error}; a smaller --learning-rate or --clip-global-norm 1 may help") from None
    except KeyboardInterrupt:
        console.print("quit without saving")
        raise typer.Exit(130) from None
    _conclude(console, folder, history, results, seconds)


def _goal(preprocessing: Preprocessing) -> Goal:
    target = preprocessing.target
    return regression(target.scale) if isinstance(target, NumericField) else CLASSIFICATION


def _introduce(console: Console, source: str, data: Prepared, model: vg.layers.LayersModel) -> None:
    """Says what has been read and what will be trained."""
    for note in data.notes:
        console.print(note)
    preprocessing = data.preprocessing
    target = preprocessing.target
    if isinstance(target, NumericField):
        task = f"regression of {target.name!r}"
    else:
        task = f"classification of {target.name!r} into {target.width} classes"
    held_out = {"validation": data.validation, "test": data.test}
    parts = [f"{len(data.train.x)} rows to train on"]
    parts += [f"{len(part.x)} for {name}" for name, part in held_out.items() if part is not None]
    console.print(f"{source}: {task} from {len(preprocessing.features)} columns; {', '.join(parts)}")
    shapes = " -> ".join(f"{layer.name} {list((layer.output_shape or ())[1:])}" for layer in model.layers)
    console.print(f"model: {shapes}; {model.count_params()} parameters")


def _results(model: vg.layers.LayersModel, goal: Goal, data: Prepared, history: History) -> dict[str, Any]:
    """How training ended, and how good the model is on rows that it was not trained on."""
    results: dict[str, Any] = {
        "epochs_done": history.epochs,
        "best_epoch": history.best_epoch,
        "ended": history.ended,
    }
    for name, examples in {"validation": data.validation, "test": data.test}.items():
        if examples is not None:
            loss, metric = evaluate(model, goal, examples)
            results[f"{name}_result"] = {"loss": loss, goal.metric_name: metric, "rows": len(examples.x)}
    return results


def _write(
    stage: Path,
    console: Console,
    source: str,
    data: Prepared,
    stack: list[vg.layers.Layer],
    history: History,
    record: dict[str, Any],
) -> None:
    """Fills the folder."""
    # Training works on logits, for exact gradients; whoever loads the model wants probabilities.
    ending = [vg.layers.activation(activation="softmax", name="softmax")]
    whole = stack + ending if data.preprocessing.task == "classification" else stack
    vg.sequential(layers=whole, name="model").save(stage)
    data.preprocessing.save(stage / FILES["preprocessing"])
    write_history(stage / FILES["history"], history)
    record = {"source": source, "target": data.preprocessing.target.name, "rows": len(data.train.x), **record}
    (stage / FILES["training"]).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    try:
        _plot(stage, source, data, history)
    except ModuleNotFoundError as error:
        console.print(f"no plots: {error}")


def _plot(stage: Path, source: str, data: Prepared, history: History) -> None:
    target = data.preprocessing.target
    curves = {name: values for name, values in history.curves.items() if name != "gradient_norm"}
    if isinstance(target, NumericField):
        labels = {
            "loss": "loss: mean squared error (standardised)",
            "mean_absolute_error": f"mean absolute error (unit of {target.name})",
        }
    else:
        labels = {"loss": "loss: cross entropy (nats)", "accuracy": "accuracy (fraction of rows)"}
    vis.plot_history(
        curves,
        stage / FILES["plot"],
        title=f"{Path(source).name}: {target.name}",
        y_labels=labels,
        best=history.best_epoch,
    )
    vis.plot_gradient_norms(
        history.gradient_norms,
        stage / FILES["gradients"],
        title=f"{Path(source).name}: gradient norms by variable, mean over each epoch's steps",
    )


def _conclude(console: Console, folder: Path, history: History, results: dict[str, Any], seconds: float) -> None:
    console.print(
        f"{history.epochs} epochs in {seconds:.1f} s ({history.ended}); kept the weights of epoch {history.best_epoch}"
    )
    for name in ("validation", "test"):
        result = results.get(f"{name}_result")
        if result is not None:
            curves = {key: value for key, value in result.items() if key != "rows"}
            console.print(f"{name}: {format_curves(curves)} ({result['rows']} rows)")
    console.print(f"saved to {folder}; varigrad predict {folder} NEW.csv applies it")
