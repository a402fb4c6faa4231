"""Every public op with each of its arguments wrong in every way: it explains itself, and harms nothing.

A part of the ways is tried, in one call of each op, the same in every run. With VARIGRAD_WRONG_ARGUMENTS=5 all of them
are, in 5 calls.
"""

import os

import numpy as np
import pytest

import varigrad as vg

from ..properties.operation import Case
from ..properties.tables import OPS
from ..properties.test_ops import public_ops
from ..properties.wrong import WRONG, Call, faults

SAMPLE = 20  # of the values, for each argument
CALLS = int(os.environ.get("VARIGRAD_WRONG_ARGUMENTS") or 0)

VECTOR = np.array([1.0, 2.0], np.float32)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def cell(data, c, h):
    return vg.scalar(1.0), vg.scalar(2.0)


# Good calls of the ops that the tables of tests/properties leave out.
GOOD = {
    "buffer": ([2],),
    "cosine_window": (4, 0.5, 0.5),
    "dropout": (MATRIX, 0.5, [2, 1], 7),
    "enclosing_power_of_two": (5,),
    "fft": (np.array([1, 1j], np.complex64),),
    "ifft": (np.array([1, 1j], np.complex64),),
    "irfft": (np.array([1, 1j], np.complex64), 2),
    "multi_rnn_cell": ([cell], MATRIX, [MATRIX], [MATRIX]),
    "multinomial": (MATRIX, 3, 7),
    "print": (VECTOR,),
    "rand": ([2], lambda: 1.0),
    "random_gamma": ([2], 2.0, 1.0, "float32", 7),
    "random_normal": ([2], 0.0, 1.0, "float32", 7),
    "random_standard_normal": ([2], "float32", 7),
    "random_uniform": ([2], 0.0, 1.0, "float32", 7),
    "random_uniform_int": ([2], 0, 9, 7),
    "rfft": (VECTOR, 2),
    "set_random_seed": (7,),
    "truncated_normal": ([2], 0.0, 1.0, "float32", 7),
    "variable": (VECTOR,),
    "train.clip_by_value": ({"w": VECTOR, "b": None}, -1.0, 1.0),
    "train.clip_by_norm": ({"w": VECTOR, "b": None}, 1.0),
    "train.clip_by_global_norm": ({"w": VECTOR, "b": None}, 1.0),
    "train.global_norm": ({"w": VECTOR, "b": None},),
}


def good_calls(name):
    """Calls that work; the first is, of some in the tables, one without empty tensors and of many arguments."""
    if name in GOOD:
        return [Call(name, Case(GOOD[name]))]
    calls = [Call(name, OPS[name].case(0, number)) for number in range(20 + CALLS)]
    best = max(calls[:20], key=lambda call: (not call.is_empty, len(call.places())))
    return [best, *calls[20:]][: max(CALLS, 1)]


NAMES = [*public_ops(), *[name for name in GOOD if name.startswith("train.")]]


@pytest.fixture(autouse=True)
def unseeded():
    """Whatever `set_random_seed` was given is forgotten."""
    yield
    vg.set_random_seed(None)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_argument_is_explained_and_harms_nothing(name, capsys):
    random = np.random.default_rng(list(name.encode()))

    def chosen(place):
        return list(WRONG) if CALLS else random.choice(list(WRONG), SAMPLE, replace=False).tolist()

    found = []
    for call in good_calls(name):
        call.run()
        found += [str(fault) for fault in faults(call, chosen)]
    assert not found, f"{len(found)} faults\n" + "\n".join(found)
