"""What the code of a function tells of the attributes that it looks up by name."""

import pytest

from varigrad.jit.codes import mentions

NAME, TABLE = "rate", {"layer": object()}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: getattr(x, "rate"),  # noqa: B009
        lambda x: getattr(x, "rate", None),
        lambda x: hasattr(x.layers.first, "rate"),
        lambda x: setattr(x, "rate", 2.0),
        lambda x: [hasattr(item, "rate") for item in x],
    ],
)
def test_a_name_that_is_written_down_is_mentioned(f):
    mentioned = mentions(f.__code__)
    assert "rate" in mentioned.attributes
    assert mentioned.asks
    assert not mentioned.by_any_name


@pytest.mark.parametrize(
    "f",
    [
        lambda x: getattr(x, NAME),
        lambda x, name: getattr(x, name, "rate"),
        lambda x, name: setattr(x, name, "rate"),
        lambda x: getattr(x, "ra" + NAME),
        lambda x: getattr(x, f"a{NAME}"),
        lambda x: getattr(TABLE["layer"], NAME),
        lambda x: list(map(hasattr, x, [NAME])),
        lambda x: vars(x)[NAME],
        lambda x: x.__dict__[NAME],
    ],
)
def test_any_name_may_be_one_that_is_not(f):
    assert mentions(f.__code__).by_any_name


def test_catching_the_error_is_asking():
    def f(x):
        try:
            return x.rate
        except AttributeError:
            return 0

    mentioned = mentions(f.__code__)
    assert mentioned.asks
    assert not mentioned.by_any_name
    assert not mentions((lambda x: x.rate).__code__).asks
