"""Every argument of every layer without recurrence, given wrong values of every kind.

A layer takes the value, or refuses it with one error that names the layer (or the initializer and the like).
"""

import inspect
import math

import numpy as np
import pytest

import varigrad as vg
from varigrad.keywords import snake_case

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
    "normalization": {},
    "permute": {"dims": [2, 1]},
    "prelu": {},
    "random_brightness": {"factor": 0.1},
    "random_contrast": {"factor": 0.1},
    "random_flip": {},
    "random_height": {"factor": 0.1},
    "random_rotation": {"factor": 0.1},
    "random_translation": {"height_factor": 0.1, "width_factor": 0.1},
    "random_width": {"factor": 0.1},
    "random_zoom": {"height_factor": 0.1},
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
            given = {**REQUIRED[name], argument: value}
            problem = refused(make, given)
            if problem is None:
                layer = make(**given)
                type(layer).from_config(layer.get_config())
            else:
                known = problem.startswith(names) or (word and word in problem)
                assert known, f"{argument}={value!r:.50}: {problem}"


FUNCTIONS = [
    (namespace, name)
    for namespace in ("initializers", "regularizers", "constraints")
    for name in getattr(vg, namespace).__all__
    if inspect.isfunction(getattr(getattr(vg, namespace), name)) and not name.startswith("get_")
]


def refused(make, arguments):
    """The error, if it is one of those that are foreseen."""
    try:
        make(**arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


# The functions that make objects of another name.
OTHER_NAMES = {"l1": "l1l2", "l2": "l1l2"}


@pytest.mark.parametrize(("namespace", "name"), FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_initializers_regularizers_and_constraints_refuse_a_wrong_value(namespace, name):
    make = getattr(getattr(vg, namespace), name)
    scaled = namespace == "initializers" and name.startswith(("glorot", "he_", "le_cun"))
    names = (f"{name}: ", f"{OTHER_NAMES.get(name, 'variance_scaling' if scaled else name)}: ")
    for argument in inspect.signature(make).parameters:
        for value in VALUES:
            given = {**({"value": 1} if name == "constant" else {}), argument: value}
            problem = refused(make, given)
            if problem is not None:
                assert problem.startswith(names), f"{argument}={value!r:.50}: {problem}"
                continue
            made = make(**given)
            again = type(made).from_config(made.get_config())
            assert repr(again.get_config()) == repr(made.get_config())
            # The weight's rank decides about an axis, its dtype about large numbers.
            if argument != "axis" and isinstance(value, (int, float)) and -10 < value < 10:
                made.apply([2, 2] if namespace == "initializers" else vg.ones([2, 2]))


def test_numbers_of_numpy_are_numbers():
    assert vg.layers.dropout(rate=np.float32(0.5), seed=np.int64(3)).get_config()["seed"] == 3
    assert vg.layers.leaky_re_lu(alpha=np.float64(0.25)).alpha == 0.25
    assert vg.regularizers.l2(l2=np.float32(0.5)).get_config() == {"l1": 0, "l2": 0.5}
    assert type(vg.layers.gaussian_noise(stddev=np.int32(2)).stddev) is int


def test_the_table_has_every_layer_of_these_files():
    files = "activation|augmentation|convolution|core|depthwise|dropout|embeddings|normalization|noise|padding|pooling"
    files += "|preprocessing|reshaping|separable|transposed|upsampling"
    here = {
        name
        for name, make in vars(vg.layers).items()
        if isinstance(getattr(make, "__wrapped__", None), type)
        and any(f in make.__wrapped__.__module__ for f in files.split("|"))
    }
    assert {getattr(vg.layers, name).__name__ for name in here} <= set(REQUIRED)


@pytest.mark.parametrize(
    ("argument", "value", "told"),
    [
        ("activation", "rellu", "unknown activation 'rellu'; did you mean 'relu'"),
        ("kernel_initializer", "glorotNorml", "unknown initializer 'glorotNorml'; did you mean 'glorot_normal'"),
        ("kernel_regularizer", "l3", "unknown regularizer 'l3'; there are l1, l1l2, l2"),
        ("bias_constraint", "maxNrm", "unknown constraint 'maxNrm'; did you mean 'max_norm'"),
        ("bias_initializer", 3, "an initializer is a name or a vg.initializers object, got 3"),
    ],
)
@pytest.mark.parametrize("name", ["dense", "conv2d", "lstm"])
def test_the_layer_and_its_argument_are_named_where_a_name_is_unknown(name, argument, value, told):
    given = {**(WINDOW if name == "conv2d" else {"units": 1}), argument: value}
    with pytest.raises((TypeError, ValueError), match=f"^mine: {argument}: {told}"):
        getattr(vg.layers, name)(name="mine", **given)


def test_the_initializer_of_a_layer_of_ones_own_is_named_too():
    class Own(vg.layers.Layer):
        def build(self, input_shape):
            self.add_weight("w", [1], initializer="one")

    with pytest.raises(
        ValueError, match=r"^mine: the initializer of 'w': unknown initializer 'one'; did you mean 'ones'"
    ):
        Own(name="mine")([[1.0]])
