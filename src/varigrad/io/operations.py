"""Operations in stored graphs that are no layers, as the layers that do the same.

A graph may hold `x * 2` or `tf.nn.relu6(x)` itself: as `TensorFlowOpLayer` in TensorFlow 2.0 to 2.3, as `TFOpLambda` in
Keras 2, as an operation of `keras.ops` in Keras 3. TensorFlow.js has none of them; the layers here it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from varigrad.io.calls import Call, Reference, parse_calls, write_calls
from varigrad.io.weights import ModelFileError

__all__ = ["is_operation", "operation_as_layer"]

_CLASSES = ("TFOpLambda", "TensorFlowOpLayer", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty")


class _Layer(NamedTuple):
    """A layer that does what an operation does, and what it is called on."""

    class_name: str
    arguments: dict[str, Any]
    inputs: list[Any]


# What an operation becomes, from its arguments; None where no layer does it.
_Rule = Callable[[list[Any], Mapping[str, Any]], _Layer | None]


def is_operation(stored: Mapping[str, Any]) -> bool:
    """Whether the stored form of a layer is that of an operation."""
    module = stored.get("module")
    return stored.get("class_name") in _CLASSES or (
        ".ops" in module if isinstance(module, str) else _is_of_keras_3(stored)
    )


def _is_of_keras_3(stored: Mapping[str, Any]) -> bool:
    """Whether a stored form is that of an operation in an `.h5` file of Keras 3, which names no modules.

    It has the calls of Keras 3, but not what layers have.
    """
    config, stored_calls = stored.get("config"), stored.get("inbound_nodes")
    if not isinstance(config, Mapping) or "trainable" in config or not isinstance(stored_calls, list):
        return False
    calls = cast("list[Any]", stored_calls)
    spelled = str(stored.get("class_name")).lower()
    return (spelled in _RULES or spelled in _OF_MASKS) and all(
        isinstance(call, Mapping) and "args" in call for call in calls
    )


def operation_as_layer(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The stored form of the layer that does what a stored operation does.

    Raises:
        ModelFileError: There is none.
    """
    config: Any = stored.get("config")
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", config) if isinstance(config, Mapping) else {}
    name = str(stored.get("name", fields.get("name")))
    operation = _operation(stored, fields)
    layers: list[_Layer] = []
    for call in parse_calls(name, stored.get("inbound_nodes", [])):
        args, kwargs = _completed(call, fields)
        rule = _RULES.get(operation.replace("_", "").lower())
        layer = rule(args, kwargs) if rule is not None else None
        if layer is None or (layers and layer[:2] != layers[0][:2]):
            raise ModelFileError(
                f"layer {name!r} is the operation {operation}, called with {_described(args, kwargs)}, for which there "
                f"is no layer; pass a layer or a function that does the same in custom_objects, as {name!r}"
            )
        layers.append(layer)
    if not layers:
        raise ModelFileError(f"layer {name!r}, the operation {operation}, is called on nothing")
    class_name, arguments, _ = layers[0]
    calls = write_calls(class_name, [Call([layer.inputs], {}) for layer in layers])
    return {
        "class_name": class_name,
        "config": {**arguments, "name": name},
        "name": name,
        "inbound_nodes": calls,
    }


def _operation(stored: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The operation's own name: `multiply` of `math.multiply`, `Mul` of a node of a TensorFlow graph."""
    node = config.get("node_def")
    if isinstance(node, Mapping):
        return str(cast("Mapping[str, Any]", node).get("op"))
    return str(config.get("function", stored.get("class_name"))).rpartition(".")[2]


def _completed(call: Call, config: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an operation, with those that its config holds."""
    args, kwargs = list(call.args), dict(call.kwargs)
    constants = config.get("constants")
    if isinstance(constants, Mapping):  # by their places among the inputs of the node
        args = list(cast("list[Any]", args[0])) if args and isinstance(args[0], list) else args
        for place, value in sorted(cast("Mapping[str, Any]", constants).items(), key=lambda item: str(item[0])):
            if not str(place).isdigit() or int(place) > len(args):
                break
            args.insert(int(place), value)
        if str(cast("Mapping[str, Any]", config.get("node_def", {})).get("op", "")).startswith("Concat"):
            args = [args[:-1], args[-1]]
    elif "node_def" not in config:
        known = {"name", "function", "trainable", "dtype", "symbol"}
        kwargs |= {key: value for key, value in config.items() if key not in known and value is not None}
    elif args and isinstance(args[0], list):
        args = list(cast("list[Any]", args[0]))
    kwargs.pop("name", None)
    return args, kwargs


def _described(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return ", ".join([*(f"{a!r:.60}" for a in args), *(f"{k}={v!r:.60}" for k, v in kwargs.items())])


# The rules


def _get(args: list[Any], kwargs: Mapping[str, Any], place: int, *names: str, default: Any = None) -> Any:
    """An argument, by its place or by one of the names that it has."""
    if place < len(args):
        return args[place]
    return next((kwargs[name] for name in names if name in kwargs), default)


def _tensor(args: list[Any], kwargs: Mapping[str, Any]) -> Any:
    """The first argument."""
    return _get(args, kwargs, 0, "x", "features", "logits", "tensor", "input_tensor", "a")


def _two(args: list[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    x, y = _get(args, kwargs, 0, "x", "x1", "a"), _get(args, kwargs, 1, "y", "x2", "b")
    pair: list[Any] = cast("list[Any]", x) if isinstance(x, list) and y is None else [x, y]
    return (pair[0], pair[1]) if len(pair) == 2 else (pair, y)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _binary(merge: str | None, right: Callable[[float], Any], left: Callable[[float], Any]) -> _Rule:
    """A rule for an operation of two: a layer that merges tensors; with a number on the right or left, what
    `right` and `left` make of the number."""

    def rule(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
        x, y = _two(args, kwargs)
        if isinstance(x, Reference) and isinstance(y, Reference):
            return None if merge is None else _Layer(merge, {}, [x, y])
        tensor, number, make = (x, y, right) if isinstance(x, Reference) else (y, x, left)
        if not isinstance(tensor, Reference) or not _is_number(number):
            return None
        made = make(number)
        return None if made is None else _Layer(made[0], made[1], [tensor])

    return rule


def _rescaled(scale: float, offset: float = 0.0) -> tuple[str, dict[str, Any]]:
    return "Rescaling", {"scale": scale, "offset": offset}


def _at_least(number: float) -> tuple[str, dict[str, Any]] | None:
    return ("ReLU", {}) if number == 0 else None


def _nothing(number: float) -> None:
    return None


def _activation(name: str, **defaults: Any) -> _Rule:
    """A rule for an operation of one tensor that is an activation function, called with no more than its defaults."""

    def rule(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
        tensor = _tensor(args, kwargs)
        given = {**dict(zip(defaults, args[1:])), **kwargs}
        others = {key: value for key, value in given.items() if value is not None and value is not tensor}
        usual = all(key in defaults and defaults[key] == value for key, value in others.items())
        if not isinstance(tensor, Reference) or not usual or len(args) > len(defaults) + 1:
            return None
        return _Layer("Activation", {"activation": name}, [tensor])

    return rule


def _relu6(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensor = _tensor(args, kwargs)
    return _Layer("ReLU", {"max_value": 6.0}, [tensor]) if isinstance(tensor, Reference) else None


def _leaky_relu(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensor, slope = _tensor(args, kwargs), _get(args, kwargs, 1, "alpha", "negative_slope", default=0.2)
    if not isinstance(tensor, Reference) or not _is_number(slope):
        return None
    return _Layer("LeakyReLU", {"alpha": slope}, [tensor])


def _gelu(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensor, approximate = _tensor(args, kwargs), _get(args, kwargs, 1, "approximate")
    if not isinstance(tensor, Reference):
        return None
    return _Layer("Activation", {"activation": "gelu_new" if approximate else "gelu"}, [tensor])


def _concatenate(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensors, axis = _get(args, kwargs, 0, "values", "xs"), _get(args, kwargs, 1, "axis", default=-1)
    if not isinstance(tensors, list) or type(axis) is not int:
        return None
    inputs = cast("list[Any]", tensors)
    if not all(isinstance(item, Reference) for item in inputs):
        return None
    return _Layer("Concatenate", {"axis": axis}, inputs)


def _global_pooling(kind: str) -> _Rule:
    def rule(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
        tensor, axis = _tensor(args, kwargs), _get(args, kwargs, 1, "axis")
        axes = cast("list[Any]", axis) if isinstance(axis, list) else [axis]
        keep = _get(args, kwargs, 2, "keepdims", "keep_dims")
        ranks: dict[tuple[Any, ...], str] = {(1,): "1D", (1, 2): "2D", (1, 2, 3): "3D"}
        rank = ranks.get(tuple(axes)) if all(type(a) is int for a in axes) else None
        if not isinstance(tensor, Reference) or rank is None or keep:
            return None
        return _Layer(f"Global{kind}Pooling{rank}", {}, [tensor])

    return rule


def _reshape(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensor, shape = _tensor(args, kwargs), _get(args, kwargs, 1, "shape", "newshape")
    if not isinstance(tensor, Reference) or not isinstance(shape, list) or not shape:
        return None
    lengths = cast("list[Any]", shape)
    # The first is the batch, which layers leave alone.
    if lengths[0] not in (-1, None) or not all(type(n) is int and n >= 1 for n in lengths[1:]):
        return None
    return _Layer("Reshape", {"target_shape": lengths[1:]}, [tensor])


def _transpose(args: list[Any], kwargs: Mapping[str, Any]) -> _Layer | None:
    tensor, axes = _tensor(args, kwargs), _get(args, kwargs, 1, "perm", "axes")
    if not isinstance(tensor, Reference) or not isinstance(axes, list) or cast("list[Any]", axes)[:1] != [0]:
        return None
    return _Layer("Permute", {"dims": cast("list[Any]", axes)[1:]}, [tensor])


_add = _binary("Add", lambda n: _rescaled(1.0, n), lambda n: _rescaled(1.0, n))
_subtract = _binary("Subtract", lambda n: _rescaled(1.0, -n), lambda n: _rescaled(-1.0, n))
_multiply = _binary("Multiply", _rescaled, _rescaled)
_divide = _binary(None, lambda n: _rescaled(1 / n) if n else None, _nothing)
_maximum = _binary("Maximum", _at_least, _at_least)
_mean, _max = _global_pooling("Average"), _global_pooling("Max")

# Operations by which Keras 3 computes masks.
_OF_MASKS = frozenset({"any", "converttotensor", "expanddims", "logicalor", "notequal", "zeroslike"})

# By name in lower case, without underscores.
_RULES: dict[str, _Rule] = {
    "add": _add,
    "addv2": _add,
    "cast": _activation("linear", dtype="float32"),
    "concat": _concatenate,
    "concatenate": _concatenate,
    "concatv2": _concatenate,
    "divide": _divide,
    "elu": _activation("elu", alpha=1.0),
    "gelu": _gelu,
    "identity": _activation("linear"),
    "leakyrelu": _leaky_relu,
    "logsoftmax": _activation("log_softmax", axis=-1),
    "max": _max,
    "maximum": _maximum,
    "mean": _mean,
    "minimum": _binary("Minimum", _nothing, _nothing),
    "mul": _multiply,
    "multiply": _multiply,
    "realdiv": _divide,
    "reducemax": _max,
    "reducemean": _mean,
    "relu": _activation("relu", alpha=0.0, negative_slope=0.0),
    "relu6": _relu6,
    "reshape": _reshape,
    "selu": _activation("selu"),
    "sigmoid": _activation("sigmoid"),
    "silu": _activation("swish", beta=1.0),
    "softmax": _activation("softmax", axis=-1),
    "softplus": _activation("softplus"),
    "softsign": _activation("softsign"),
    "sub": _subtract,
    "subtract": _subtract,
    "swish": _activation("swish", beta=1.0),
    "tanh": _activation("tanh"),
    "transpose": _transpose,
    "truediv": _divide,
    "truedivide": _divide,
}
