"""Every argument of every layer without recurrence, given wrong values of every kind.

A layer takes the value, or refuses it with one error that names the layer (or the initializer and the like).
"""

import inspect
import math

import numpy as np
import pytest

import varigrad as vg
from varigrad.layers.naming import snake_case

WINDOW = {"filters": 2, "kernel_size": 2}
IMAGE = {"height": 2, "width": 2}
REQUIRED = {
    "activation": {"activation": "relu"},
    "alpha_dropout": {"rate": 0.5},
    "batch_normalization": {},
    "category_encoding": {"num_tokens": 3},
    "center_crop": IMAGE,
    "dense": {"units": 2},
    "depthwise_conv1d": {"kernel_size": 2},
    "depthwise_conv2d": {"kernel_size": 2},
    "dropout": {"rate": 0.5},
    "elu": {},
    "embedding": {"input_dim": 3, "output_dim": 2},
    "flatten": {},
    "gaussian_dropout": {"rate": 0.5},
    "gaussian_noise": {"stddev": 1},
    "group_normalization": {},
    "identity": {},
    "input_layer": {"input_shape": [2]},
    "layer_normalization": {},
    "leaky_re_lu": {},
    "permute": {"dims": [2, 1]},
    "prelu": {},
    "random_height": {"factor": 0.1},
    "random_width": {"factor": 0.1},
    "re_lu": {},
    "repeat_vector": {"n": 2},
    "rescaling": {"scale": 1},
    "reshape": {"target_shape": [2]},
    "resizing": IMAGE,
    "rms_normalization": {},
    "softmax": {},
    "thresholded_re_lu": {},
    "unit_normalization": {},
}
for axes in (1, 2, 3):
    for name in ("average_pooling", "cropping", "global_average_pooling", "global_max_pooling", "max_pooling"):
        REQUIRED[f"{name}{axes}d"] = {}
    for name in ("up_sampling", "zero_padding"):
        REQUIRED[f"{name}{axes}d"] = {}
    REQUIRED[f"spatial_dropout{axes}d"] = {"rate": 0.5}
    REQUIRED[f"conv{axes}d"] = REQUIRED[f"conv{axes}d_transpose"] = WINDOW
    if axes < 3:
        REQUIRED[f"separable_conv{axes}d"] = WINDOW

VALUES = [
    None, object(), "nonsense", b"x", True, -3, -1, 0, 1.5, math.nan, math.inf, 1e308, 10**400, np.float32(2.5),
    np.int64(2), [], {}, [1, "x"], [None], [[1]], [[1, 2, 3]], (1, 2, 3, 4, 5, 6), {"class_name": 3},
]  # fmt: skip
# Arguments that other functions check, whose errors name what they are for.
ELSEWHERE = {
    "activation": "activation",
    "constraint": "constraint",
    "initializer": "initializer",
    "regularizer": "regularizer",
}


def arguments_of(cls):
    found = set()
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            parameters = list(inspect.signature(base.__init__).parameters.values())
            found |= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
    return sorted(found)


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_wrong_value_is_refused_in_the_name_of_the_layer(name):
    make = getattr(vg.layers, name)
    names = (f"{name}: ", f"{snake_case(make.__wrapped__.class_name)}: ")
    for argument in arguments_of(make.__wrapped__):
        word = next((word for ending, word in ELSEWHERE.items() if argument.endswith(ending)), None)
        for value in VALUES:
            try:
                layer = make(**{**REQUIRED[name], argument: value})
            except (TypeError, ValueError) as error:
                told = str(error)
                assert told.startswith(names) or (word and word in told), f"{argument}={value!r:.50}: {told}"
            else:
                type(layer).from_config(layer.get_config())


def test_the_table_has_every_layer_of_these_files():
    files = "activation|convolution|core|depthwise|dropout|embeddings|normalization|noise|padding|pooling|preprocessing"
    files += "|reshaping|separable|transposed|upsampling"
    here = {
        name
        for name, make in vars(vg.layers).items()
        if hasattr(make, "__wrapped__") and any(f in make.__wrapped__.__module__ for f in files.split("|"))
    }
    assert {getattr(vg.layers, name).__name__ for name in here} <= set(REQUIRED)
