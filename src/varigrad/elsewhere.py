"""Names that NumPy, PyTorch, JAX and Keras have for what is here under another: what an error answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from varigrad.keywords import snake_case

__all__ = ["FUNCTIONS", "answer", "answer_for"]

_GRADIENTS = "gradients come from vg.grad(f) and vg.variable_grads(f)"
_MOVING = "tensors are where they are computed with; numpy() gives an array"
_CROSS_ENTROPY = "it is vg.losses.softmax_cross_entropy(vg.one_hot(labels, classes), logits) here"
_BINARY = "it is vg.losses.sigmoid_cross_entropy(labels, logits) here"
_MODE = "whether a call is one of training is its argument training=True"
_VARIANCE = "it is vg.moments(x, axis).variance here"
_DEVIATION = "it is vg.moments(x, axis).variance.sqrt() here"

# In `vg` and its namespaces. Names are spelled in small letters without underscores, here and below.
FUNCTIONS = {
    "adamw": "it is vg.train.adam(…, weight_decay=…) here",
    "arange": "it is vg.range(start, stop) here",
    "argsort": "it is vg.topk(x, k).indices here, from the largest on",
    "array": "it is vg.tensor here",
    "asarray": "it is vg.tensor here",
    "bcewithlogitsloss": _BINARY,
    "binarycrossentropy": _BINARY,
    "bmm": "it is vg.mat_mul here",
    "cat": "it is vg.concat here",
    "clamp": "it is vg.clip_by_value here",
    "clip": "it is vg.clip_by_value here",
    "concatenate": "it is vg.concat here",
    "constant": "it is vg.tensor here",
    "crossentropy": _CROSS_ENTROPY,
    "detach": "it is vg.stop_gradient here",
    "divide": "it is vg.div here",
    "flip": "it is vg.reverse here",
    "fromnumpy": "it is vg.tensor here",
    "gradienttape": _GRADIENTS,
    "mae": "it is vg.losses.absolute_difference here",
    "mm": "it is vg.mat_mul here",
    "mse": "it is vg.losses.mean_squared_error here",
    "mseloss": "it is vg.losses.mean_squared_error here",
    "multiply": "it is vg.mul here",
    "nllloss": _CROSS_ENTROPY,
    "nograd": "nothing is recorded but inside of what vg.grad and vg.variable_grads are given",
    "nn": "it is vg.layers here, and vg.relu and the like",
    "optim": "it is vg.train here",
    "permute": "it is vg.transpose here",
    "power": "it is vg.pow here",
    "randint": "it is vg.random_uniform_int here",
    "randn": "it is vg.random_normal here",
    "reducemax": "it is vg.max here",
    "reducemean": "it is vg.mean here",
    "reducesum": "it is vg.sum here",
    "silu": "it is x * vg.sigmoid(x) here",
    "sort": "it is vg.topk(x, k).values here, from the largest on",
    "sparsecategoricalcrossentropy": _CROSS_ENTROPY,
    "sparsesoftmaxcrossentropy": _CROSS_ENTROPY,
    "std": _DEVIATION,
    "subtract": "it is vg.sub here",
    "swish": "it is x * vg.sigmoid(x) here",
    "take": "it is vg.gather here",
    "takealongaxis": "it is vg.gather(x, indices, axis, batch_dims) here",
    "tril": "it is vg.linalg.band_part(x, -1, 0) here",
    "triu": "it is vg.linalg.band_part(x, 0, -1) here",
    "var": _VARIANCE,
}

# Of tensors and variables.
TENSORS = {
    "backward": _GRADIENTS,
    "clamp": "it is clip_by_value here",
    "clip": "it is clip_by_value here",
    "copy": "it is clone here",
    "cpu": _MOVING,
    "cuda": _MOVING,
    "detach": "it is vg.stop_gradient(x) here",
    "dim": "it is rank here",
    "float": "it is to_float here",
    "grad": _GRADIENTS,
    "long": "it is to_int here",
    "maskedfill": "it is vg.where(mask, value, x) here",
    "permute": "it is transpose here",
    "repeat": "it is tile here",
    "requiresgrad": _GRADIENTS,
    "std": _DEVIATION,
    "take": "it is gather here",
    "to": "it is cast here, for a dtype; " + _MOVING,
    "unsqueeze": "it is expand_dims here",
    "var": _VARIANCE,
    "view": "it is reshape here",
}

# Of layers and models.
LAYERS = {
    "eval": _MODE,
    "forward": "a layer is called: layer(x), and its own call is what computes",
    "loadstatedict": "it is set_weights(weights) here, or load_weights(path) of a model",
    "nontrainablevariables": "it is non_trainable_weights here",
    "parameters": "it is trainable_weights here",
    "requiresgrad": "it is trainable here",
    "statedict": "it is get_weights() here, or save_weights(path) of a model",
    "to": _MOVING,
    "train": _MODE,
    "trainablevariables": "it is trainable_weights here",
    "variables": "it is weights here",
    "zerograd": "gradients are new each time, from vg.variable_grads(f)",
}

# Of optimizers.
OPTIMIZERS = {
    "apply": "it is apply_gradients(grads) here",
    "paramgroups": "it updates the variables of the gradients that it is given",
    "statedict": "it is get_weights() here",
    "loadstatedict": "it is set_weights(weights) here",
    "step": "it is apply_gradients(grads) here, with what vg.variable_grads(f) gives",
    "update": "it is apply_gradients(grads) here",
    "variables": "it is get_weights() here",
    "zerograd": "gradients are new each time, from vg.variable_grads(f)",
}


def answer(name: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """`; it is … here` for a name that differs from a known one in spelling alone or that is in the table, or nothing.

    >>> answer("argMax", ["arg_max", "arg_min"], {}), answer("cat", ["concat"], {"cat": "it is vg.concat here"})
    ("; it is 'arg_max' here", '; it is vg.concat here')
    """
    if name.startswith("_"):
        return ""
    spelling = _spelling(name)
    # The name of a class if such a one was asked for, else that of a function.
    alike = [each for each in known if _spelling(each) == spelling and not each.startswith("_")]
    if alike:
        return f"; it is {min(alike, key=lambda each: _distance(name, each))!r} here"
    return f"; {elsewhere[spelling]}" if spelling in elsewhere else ""


_OBJECTS = {"layer": LAYERS, "optimizer": OPTIMIZERS, "tensor": TENSORS}


@lru_cache(maxsize=1024)  # who asks by `hasattr` asks again
def answer_for(cls: type, name: str, kind: Literal["layer", "optimizer", "tensor"]) -> str:
    """The same for an attribute that objects of a class of this kind have not."""
    return "" if name.startswith("_") else answer(name, dir(cls), _OBJECTS[kind])


def _spelling(name: str) -> str:
    return name.replace("_", "").lower()


def _distance(name: str, each: str) -> tuple[bool, bool, str]:
    return (each != snake_case(name), each[:1].isupper() != name[:1].isupper(), each)
