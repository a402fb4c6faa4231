"""Loss, metrics and optimizer of a compiled model, between Keras's files and the form that models here have.

Keras keeps an optimizer's state as a list: the number of updates, the learning rate (unless it follows a schedule), and
the slots of the trainable weights. Here slots have names; between the two stands the table of what each is called and
in which order Keras has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.formats import ModelArtifacts
from varigrad.io.keras.hdf5 import Group
from varigrad.io.keras.values import read_values
from varigrad.io.keras.words import fields
from varigrad.io.matching import stored_names
from varigrad.io.weights import ModelFileError

__all__ = ["from_compile_config", "from_training_config", "to_compile_config", "to_training_config"]

State = Mapping[str, Array]


class Rule(NamedTuple):
    """An optimizer of Keras.

    Args:
        name: Its class here.
        arguments: Its arguments here, by their names in Keras.
        slots: Its slots here, by their names in Keras, in the order of Keras.
        interleaved: Whether Keras has all slots of a weight together, or all weights of a slot.
    """

    name: str
    arguments: dict[str, str]
    slots: dict[str, str]
    interleaved: bool = True


_BETAS = {"beta_1": "beta1", "beta_2": "beta2", "epsilon": "epsilon"}
_RULES: dict[str, Rule] = {
    "SGD": Rule("Momentum", {"momentum": "momentum", "nesterov": "use_nesterov"}, {"momentum": "momentum"}),
    "Adam": Rule("Adam", _BETAS, {"momentum": "m", "velocity": "v"}),
    "AdamW": Rule("Adam", _BETAS, {"momentum": "m", "velocity": "v"}),  # whose weight_decay is never None
    "Adamax": Rule("Adamax", _BETAS, {"momentum": "m", "norm": "v"}),
    "RMSprop": Rule(
        "RMSProp",
        {"rho": "decay", "momentum": "momentum", "epsilon": "epsilon", "centered": "centered"},
        {"velocity": "rms", "momentum": "momentum", "average_gradient": "mg"},
        interleaved=False,
    ),
    "Adagrad": Rule(
        "Adagrad", {"initial_accumulator_value": "initial_accumulator_value"}, {"accumulator": "accumulator"}
    ),
    "Adadelta": Rule(
        "Adadelta",
        {"rho": "rho", "epsilon": "epsilon"},
        {"accumulated_grad": "accum_grad", "accumulated_delta_var": "accum_var"},
    ),
}
# Gradient descent has no slot without momentum; it is an optimizer of its own here.
_PLAIN = Rule("SGD", {}, {})
_OPTIONS = {
    "clipnorm": "clip_norm",
    "global_clipnorm": "global_clip_norm",
    "clipvalue": "clip_value",
    "weight_decay": "weight_decay",
}


def _rule(config: Mapping[str, Any], class_name: str) -> Rule | None:
    """The rule for an optimizer as Keras stores it, without the slots that its arguments leave unused."""
    if class_name == "SGD" and not config.get("momentum"):
        return _PLAIN
    rule = _RULES.get(class_name)
    if rule is None or class_name != "RMSprop":
        return rule
    unused = [
        name for name, wanted in (("momentum", "momentum"), ("average_gradient", "centered")) if not config.get(wanted)
    ]
    return rule._replace(slots={name: slot for name, slot in rule.slots.items() if name not in unused})


# Reading


def from_compile_config(config: Any, root: Group) -> tuple[dict[str, Any] | None, State | None]:
    """What an archive says of training, and the optimizer's state: None where it says nothing.

    The weights that slots belong to are numbered in the order of the trainable weights.
    """
    if not isinstance(config, Mapping) or "optimizer" not in config:
        return None, None
    described = fields(config)
    stored = _variables(root.group("optimizer").group("vars")) if _has(root, "optimizer", "vars") else []
    return _training(described, described["optimizer"], stored)


def from_training_config(config: Any, root: Group) -> tuple[dict[str, Any] | None, State | None]:
    """The same of an `.h5` file."""
    if not isinstance(config, Mapping):
        return None, None
    described = fields(config)
    if "optimizer_weights" not in root:
        return _training(described, described.get("optimizer_config"), [])
    group = root.group("optimizer_weights")
    listed: Any = group.attributes.get("weight_names")
    names = cast("list[str]", listed) if isinstance(listed, list) else []
    values = [read_values(group.dataset(name)) for name in names]
    if not names or names[0].endswith("iteration"):  # as Keras 3 has them
        return _training(described, described.get("optimizer_config"), values)
    training, _ = _training(described, described.get("optimizer_config"), [])
    return training, _keras_2_state(names, values, described.get("optimizer_config"))


def _keras_2_state(names: Sequence[str], values: Sequence[Array], optimizer: Any) -> State | None:
    """The state as Keras 2 has it: `Adam/dense/kernel/m:0`, since 2.11 `Adam/m/dense/kernel:0`."""
    config = fields(fields(optimizer).get("config"))
    rule = _rule(config, str(fields(optimizer).get("class_name")).rpartition(">")[2])
    if rule is None:
        return None
    state: dict[str, Array] = {}
    counts: dict[str, int] = {}
    for name, each in zip(names, values):
        parts = name.removesuffix(":0").split("/")
        slot = next(
            (part for part in (parts[-1], parts[1] if len(parts) > 1 else "") if part in rule.slots.values()), None
        )
        if parts[-1] in ("iter", "iteration"):
            state["iter"] = each.astype(np.int32).reshape(())
        elif slot is not None:
            number = counts[slot] = counts.get(slot, -1) + 1
            state[f"{number}/{slot}"] = _scaled(rule, each, config.get("learning_rate", config.get("lr")), 1)
    return state if "iter" in state else None


def _has(group: Group, first: str, second: str) -> bool:
    return first in group and not group.is_dataset(first) and second in group.group(first)


def _variables(group: Group) -> list[Array]:
    """The values of `0`, `1` and so on."""
    values: list[Array] = []
    while str(len(values)) in group:
        values.append(read_values(group.dataset(str(len(values)))))
    return values


def _training(
    described: Mapping[str, Any], optimizer: Any, stored: Sequence[Array]
) -> tuple[dict[str, Any] | None, State | None]:
    if isinstance(optimizer, str):  # a name alone, with what it is by default
        rates = {"sgd": 0.01}
        optimizer = {"class_name": optimizer, "config": {"learning_rate": rates.get(optimizer.lower(), 0.001)}}
    class_name, arguments = fields(optimizer).get("class_name"), fields(fields(optimizer).get("config"))
    if not isinstance(class_name, str):
        return None, None
    class_name = class_name.rpartition(">")[2]  # Keras 2.11 and later put the package in front
    class_name = next((known for known in _RULES if known.lower() == class_name.lower()), class_name)
    rule = _rule(arguments, class_name)
    training: dict[str, Any] = {
        "loss": _names(described.get("loss")),
        "metrics": _metrics(described.get("metrics")),
        "optimizer_config": {"class_name": class_name, "config": {}},
    }
    if rule is None:  # named, so that a warning can say what is not here
        return training, None
    rate = arguments.get("learning_rate", arguments.get("lr"))
    ours = {rule.arguments[key]: value for key, value in arguments.items() if key in rule.arguments}
    ours.update({_OPTIONS[key]: value for key, value in arguments.items() if key in _OPTIONS and value is not None})
    ours["learning_rate"] = _plain(rate) if isinstance(rate, Mapping) else rate
    training["optimizer_config"] = {"class_name": rule.name, "config": ours}
    return training, _state(rule, list(stored), isinstance(rate, Mapping), rate) if stored else None


def _plain(stored: Any) -> dict[str, Any]:
    """An object without its module."""
    config = {key: value for key, value in dict(stored.get("config") or {}).items() if key != "name"}
    return {"class_name": stored.get("class_name"), "config": config}


def _state(rule: Rule, stored: list[Array], schedule: bool, rate: Any) -> State | None:
    """The state with the weights' numbers for names: `0/m`, `0/v`, `1/m`…"""
    first = stored.pop(0)
    if first.size != 1:
        raise ModelFileError("the state of the optimizer does not begin with the number of updates")
    state: dict[str, Array] = {"iter": first.astype(np.int32).reshape(())}
    if not schedule and stored and stored[0].shape == ():
        rate = float(stored.pop(0))
    slots = list(rule.slots.values())
    if slots and len(stored) % len(slots):
        raise ModelFileError(f"the state of the optimizer has {len(stored)} values, no multiple of {len(slots)}")
    count = len(stored) // len(slots) if slots else 0
    for number in range(count):
        for place, slot in enumerate(slots):
            values = stored[number * len(slots) + place if rule.interleaved else place * count + number]
            state[f"{number}/{slot}"] = _scaled(rule, values, rate, 1)
    if rule.name == "RMSProp" and "momentum" not in slots:  # Keras has it only where it is used
        state.update({f"{number}/momentum": np.zeros_like(state[f"{number}/rms"]) for number in range(count)})
    return state


def _scaled(rule: Rule, values: Array, rate: Any, direction: int) -> Array:
    """Keras has the learning rate, and the sign of the step, in the momentum of gradient descent."""
    if rule.name != "Momentum":
        return values
    rate = float(rate) if isinstance(rate, (int, float)) and rate else 1.0
    return (values / -rate if direction > 0 else values * -rate).astype(values.dtype)


def _names(stored: Any) -> Any:
    """The names of losses or metrics, which may be objects; an object with arguments stays one."""
    if isinstance(stored, Mapping):
        described = fields(stored)
        class_name, config = described.get("class_name"), described.get("config")
        if class_name in ("function", "builtin_function"):
            return config
        if isinstance(class_name, str):
            arguments = fields(config)
            return class_name if arguments.get("from_logits") else arguments.get("name", class_name)
        return {str(key): _names(value) for key, value in described.items()}
    if isinstance(stored, (list, tuple)):
        return [_names(item) for item in cast("Sequence[Any]", stored)]
    return stored


def _metrics(stored: Any) -> Any:
    """Metrics by name; a list in a list, for the one output, is one list."""
    names = _names(stored)
    if isinstance(names, list) and len(cast("list[Any]", names)) == 1 and isinstance(names[0], list):
        return cast("Any", names[0])
    return cast("Any", names)


# Writing


def to_compile_config(artifacts: ModelArtifacts, model: Any) -> tuple[dict[str, Any] | None, Callable[[Any], None]]:
    """What an archive says of training, and a function that writes the optimizer's state into its weights."""
    config, values = _compiled(artifacts, model)
    if config is None:
        return None, _nothing

    def fill(file: Any) -> None:
        group = file.require_group("optimizer/vars")
        for number, (_, each) in enumerate(values):
            group.create_dataset(str(number), data=each)

    optimizer = {"module": "keras.optimizers", **config["optimizer"], "registered_name": None}
    common = {"loss_weights": None, "weighted_metrics": None, "run_eagerly": False, "steps_per_execution": 1}
    return {**config, "optimizer": optimizer, **common, "jit_compile": False}, fill


def to_training_config(artifacts: ModelArtifacts, model: Any) -> tuple[dict[str, Any] | None, Callable[[Any], None]]:
    """The same for an `.h5` file."""
    config, values = _compiled(artifacts, model)
    if config is None:
        return None, _nothing
    optimizer = config.pop("optimizer")

    def fill(file: Any) -> None:
        group = file.create_group("optimizer_weights")
        group.attrs["weight_names"] = np.asarray([name.encode() for name, _ in values])
        for name, each in values:
            group.create_dataset(name, data=each)

    return {**config, "loss_weights": None, "weighted_metrics": None, "optimizer_config": optimizer}, fill


def _nothing(file: Any) -> None:
    """Writes nothing."""


def _compiled(artifacts: ModelArtifacts, model: Any) -> tuple[dict[str, Any] | None, list[tuple[str, Array]]]:
    """Loss, metrics and optimizer in Keras's terms, and the optimizer's state by Keras's names, in Keras's order."""
    training = artifacts.training_config
    if training is None:
        return None, []
    stored = cast("Mapping[str, Any]", training["optimizer_config"])
    name = str(stored["class_name"])
    ours = {_snake(key): value for key, value in cast("Mapping[str, Any]", stored["config"]).items()}
    class_name = "SGD" if name == "SGD" else next((key for key, r in _RULES.items() if r.name == name), None)
    if class_name is None:
        raise ValueError(f"save: Keras has no optimizer {name!r}; save without include_optimizer")
    arguments = {key: ours[value] for key, value in _RULES[class_name].arguments.items() if value in ours}
    arguments.update({key: ours[value] for key, value in _OPTIONS.items() if value in ours})
    if isinstance(arguments.get("weight_decay"), Mapping):
        raise ValueError("save: Keras has one weight_decay for all variables, no dict; save without include_optimizer")
    rule = _rule(arguments, class_name)
    assert rule is not None
    rate = (
        model.bare_optimizer.current_learning_rate
        if isinstance(ours["learning_rate"], Mapping)
        else ours["learning_rate"]
    )
    config = {"name": class_name.lower(), "learning_rate": rate, **arguments}
    described = {"optimizer": {"class_name": class_name, "config": config}}
    described |= {key: training.get(key) for key in ("loss", "metrics")}
    return described, _keras_state(rule, class_name.lower(), artifacts.optimizer_weights or {}, model, rate)


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def _keras_state(rule: Rule, optimizer: str, state: State, model: Any, rate: Any) -> list[tuple[str, Array]]:
    iterations = np.asarray(state.get("iter", 0), np.int32).reshape(())
    values: list[tuple[str, Array]] = [
        (f"{optimizer}/iteration", iterations),
        (f"{optimizer}/learning_rate", np.asarray(rate, np.float32)),
    ]
    weights = model.trainable_weights
    pairs = [(weight, slot) for weight in weights for slot in rule.slots.items()]
    if not rule.interleaved:
        pairs = [(weight, slot) for slot in rule.slots.items() for weight in weights]
    names = stored_names(model)
    for weight, (theirs, slot) in pairs:
        name = names[id(weight)]
        held = state.get(f"{name}/{slot}")
        each = np.zeros(weight.shape, np.float32) if held is None else _scaled(rule, np.asarray(held), rate, -1)
        values.append((f"{optimizer}/{name.replace('/', '_')}_{theirs}", each))
    return values
