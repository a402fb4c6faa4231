"""What is said of calls whose arguments do not fit."""

import pytest

from varigrad.keywords import misfit, suggestion, takes_options


def plain(x, batch_size=1, *, drop_last=False):
    return x, batch_size, drop_last


class Base:
    @takes_options
    def __init__(self, *, first_value, **others):
        if others:
            raise TypeError("others are refused here")
        self.first_value = first_value


class Closed(Base):
    def __init__(self, size, **others):
        super().__init__(first_value=size, **others)


class Reader:
    @takes_options
    def read(self, *, max_rows=1):
        return max_rows


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        ((1,), {}, None),
        ((1,), {"drop_last": True}, None),
        ((1,), {"batchSize": 2}, "has no argument 'batchSize'; it is 'batch_size' here"),
        ((1,), {"drop_lost": 2}, "has no argument 'drop_lost'; did you mean 'drop_last'?"),
        ((1,), {"z": 2}, "has no argument 'z'"),
        ((), {"batch_size": 2}, "needs x"),
        ((1, 2, True), {}, "takes 2 arguments by position, got one more, True; write drop_last=…"),
    ],
)
def test_what_is_wrong_with_a_call(args, kwargs, expected):
    assert misfit(plain, args, kwargs) == expected


def test_a_function_that_takes_any_keyword_takes_any():
    assert misfit(lambda **anything: None, (), {"batchSize": 2}) is None


def test_a_class_takes_what_its_bases_take_besides():
    assert misfit(Closed, (1,), {"anyName": 2}) is None  # Base takes any
    assert misfit(Closed, (), {}) == "needs size"
    with pytest.raises(TypeError, match=r"^Base: takes keyword arguments only, got 3; write first_value=…$"):
        Base(3)
    with pytest.raises(TypeError, match=r"^others are refused here$"):
        Closed(1, firstWord=2)


def test_a_method_is_named_without_its_object():
    with pytest.raises(TypeError, match=r"^read: has no argument 'maxRows'; it is 'max_rows' here$"):
        Reader().read(maxRows=2)
    assert Reader().read(max_rows=2) == 2


def test_an_error_from_inside_comes_out_as_it_is():
    @takes_options
    def fails(*, value):
        return len(value)

    with pytest.raises(TypeError, match=r"object of type 'int' has no len\(\)"):
        fails(value=3)


def test_names_that_have_nothing_in_common_are_not_suggested():
    assert suggestion("zzz", ["batch_size"]) == ""
