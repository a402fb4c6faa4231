"""Options: how the arguments of layers are declared, read and stored."""

import inspect

import pytest

import varigrad as vg
from varigrad.layers.arguments import number, positive_integer
from varigrad.layers.options import constraint_option, initializer_option, option, option_per_axis, or_none

LAYERS = sorted(
    (cls for cls in vars(vg.layers).values() if isinstance(cls, type) and issubclass(cls, vg.layers.Layer)),
    key=lambda cls: cls.__name__,
)


def signature_names(cls):
    """The arguments of a constructor and of those that it hands its options on to."""
    constructors = [base.__dict__["__init__"] for base in cls.__mro__ if "__init__" in base.__dict__]
    return {name for constructor in constructors for name in inspect.signature(constructor).parameters}


@pytest.mark.parametrize("cls", LAYERS, ids=lambda cls: cls.__name__)
def test_what_a_layer_stores_is_an_argument_of_its_constructor(cls):
    assert set(cls.stored_options()) <= signature_names(cls)


class Scaled(vg.layers.Layer):
    rate = option(number, 0.0, 1.0, default=0.5)
    most = option(or_none(number), unless=None)
    hidden = option(positive_integer, stored=False)
    factor_initializer = initializer_option("ones")
    factor_constraint = constraint_option()

    def __init__(self, *, rate=None, most=None, hidden=1, factor_initializer=None, factor_constraint=None, **options):
        super().__init__(**options)
        self._take(locals())

    def build(self, input_shape):
        self.factor = self._add_optioned_weight("factor_of_all", [2], "factor")


def own_config(layer):
    return {name: value for name, value in layer.get_config().items() if name not in ("name", "trainable")}


def test_an_option_is_read_as_declared_and_stored_unless_it_goes_without_saying():
    layer = Scaled(hidden=3)
    assert (layer.rate, layer.most, layer.hidden) == (0.5, None, 3)
    ones = {"class_name": "Ones", "config": {}}
    assert own_config(layer) == {"rate": 0.5, "factor_initializer": ones, "factor_constraint": None}
    assert own_config(Scaled(rate=1, most=7))["most"] == 7
    again = Scaled.from_config(Scaled(rate=0.25, most=7, factor_constraint="nonNeg").get_config())
    assert (again.rate, again.most, type(again.factor_constraint)) == (0.25, 7, vg.constraints.NonNeg)


def test_an_error_names_the_factory_or_the_layer_and_the_argument():
    with pytest.raises(ValueError, match=r"^scaled: rate must be a number from 0 to 1, got 2$"):
        Scaled(rate=2)
    with pytest.raises(ValueError, match=r"^one: factor_constraint: unknown constraint 'none'"):
        Scaled(factor_constraint="none", name="one")
    with pytest.raises(ValueError, match=r"^prelu: shared_axes must"):
        vg.layers.prelu(shared_axes=[0.5])


def test_a_weight_is_made_by_the_options_of_its_prefix():
    layer = Scaled(factor_initializer="zeros", factor_constraint="nonNeg")
    layer.build([2])
    assert layer.factor.tolist() == [0.0, 0.0]
    assert layer.factor.constraint is layer.factor_constraint
    assert layer.factor.original_name == f"{layer.name}/factor_of_all"


def test_an_option_declared_anew_replaces_that_of_a_base_and_all_bases_count():
    class Other(vg.layers.Layer):
        size = option_per_axis(lambda owner, argument, value, axes: (value,) * axes)

    class Both(Scaled, Other):
        rate = option(positive_integer)
        axes = 3

        def __init__(self, *, size, **options):
            super().__init__(**options)
            self._take(locals())

    layer = Both(size=2, rate=5)
    assert (layer.size, layer.rate) == ((2, 2, 2), 5)
    assert next(iter(own_config(layer))) == "rate"
    assert own_config(layer)["size"] == [2, 2, 2]
    with pytest.raises(ValueError, match=r"^both: rate must be a positive integer"):
        Both(size=2, rate=0.5)


def test_a_class_has_no_value_of_an_option():
    assert not hasattr(Scaled, "rate")
    assert not hasattr(vg.layers.Dense, "units")


@pytest.mark.parametrize("name", ["zero_padding1d", "cropping1d", "up_sampling1d", "max_pooling1d", "conv1d"])
def test_a_layer_over_one_axis_stores_a_format_that_is_not_channels_last(name):
    arguments = {"filters": 2, "kernel_size": 2} if name == "conv1d" else {}
    layer = getattr(vg.layers, name)(**arguments)
    assert "data_format" not in layer.get_config()
    if name != "up_sampling1d":
        layer = getattr(vg.layers, name)(**arguments, data_format="channels_first")
        assert type(layer).from_config(layer.get_config()).data_format == "channels_first"
