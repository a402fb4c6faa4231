"""What a compiled function would ask of the world only once: it is told of, with the line."""

import os
import pathlib
import random
import uuid
import warnings

import numpy as np
import pytest

import varigrad as vg

X = vg.tensor([1.0, 2.0])
FILE = pathlib.Path(__file__)
NUMBERS = np.ones(3)


def length_of_this_file():
    with open(FILE, encoding="utf-8") as file:
        return float(len(file.read()))


class Settings:
    def factor(self):
        return float(os.environ.get("VARIGRAD_NO_SUCH_FACTOR", "2"))


SETTINGS = Settings()

ASKING = {
    "os.environ": lambda x: x * len(os.environ),
    "os.environ in a method": lambda x: x * SETTINGS.factor(),
    "os.getenv": lambda x: x * float(os.getenv("VARIGRAD_NO_SUCH_FACTOR", "2")),
    "os.listdir": lambda x: x * len(os.listdir(FILE.parent)),
    "open": lambda x: x * length_of_this_file(),
    "read_text()": lambda x: x * len(FILE.read_text(encoding="utf-8")),
    "np.random.default_rng()": lambda x: x + np.random.default_rng().normal(size=2),
    "random.Random()": lambda x: x * random.Random().random(),
    "uuid.uuid4": lambda x: x * (uuid.uuid4().int % 7),
    "os.urandom": lambda x: (lambda: x * os.urandom(1)[0])(),
}
LINES = {
    "open": length_of_this_file.__code__.co_firstlineno + 1,
    "os.environ in a method": Settings.factor.__code__.co_firstlineno + 1,
}


@pytest.mark.parametrize("name", ASKING)
def test_what_is_asked_once_is_told_of_once_with_its_line(name):
    line = LINES.get(name, ASKING[name].__code__.co_firstlineno)
    function = vg.jit(ASKING[name])
    with pytest.warns(vg.JitWarning) as told:
        function(X)
    (warning,) = told
    assert f"uses {name.partition(' ')[0]} at {__file__}:{line}" in str(warning.message)
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(X)
        function(vg.tensor([1.0, 2.0, 3.0])[:2])
        function(vg.ones([1, 2]))  # compiled again


QUIET = {
    "a seeded generator": lambda x: x + np.random.default_rng(3).normal(size=2),
    "another seeded generator": lambda x: x * random.Random(3).random(),
    "names of files": lambda x: x * len(os.path.join("a", "b")),
    "methods of an array": lambda x: x * float(NUMBERS.sum()),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_the_same_at_each_call_is_not_told_of(name):
    function = vg.jit(QUIET[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.testing.assert_allclose(function(X).numpy(), QUIET[name](X).numpy(), rtol=1e-6)
    assert function.compilations == 1


def test_a_variable_of_such_a_name_is_something_else():
    open = 2.0
    environ = {"factor": 3.0}
    function = vg.jit(lambda x: x * open * environ["factor"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(X).tolist() == [6.0, 12.0]
