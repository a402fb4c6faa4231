"""Layers and models: the namespace `vg.layers`.

Each factory below makes a layer from keyword arguments; the class behind it, `Dense` for `dense`, documents them and is
there for `isinstance` and subclassing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from varigrad.layers.base import DisposeResult as DisposeResult
from varigrad.layers.base import InputSpec as InputSpec
from varigrad.layers.base import Layer as Layer
from varigrad.layers.base import LayerOptions as LayerOptions
from varigrad.layers.convolutional import Conv2D as Conv2D
from varigrad.layers.core import Activation as Activation
from varigrad.layers.core import Dense as Dense
from varigrad.layers.core import Dropout as Dropout
from varigrad.layers.core import Flatten as Flatten
from varigrad.layers.core import InputLayer as InputLayer
from varigrad.layers.core import Reshape as Reshape
from varigrad.layers.functional import Functional as Functional
from varigrad.layers.model import LayersModel as LayersModel
from varigrad.layers.naming import snake_case
from varigrad.layers.normalization import BatchNormalization as BatchNormalization
from varigrad.layers.pooling import AveragePooling2D as AveragePooling2D
from varigrad.layers.pooling import MaxPooling2D as MaxPooling2D
from varigrad.layers.registry import register_class
from varigrad.layers.sequential import Sequential as Sequential

P = ParamSpec("P")
LayerT = TypeVar("LayerT", bound=Layer)


def _factory(cls: Callable[P, LayerT]) -> Callable[P, LayerT]:
    """The function that makes layers of a class, which it registers for files."""

    def make(*args: P.args, **kwargs: P.kwargs) -> LayerT:
        try:
            return cls(*args, **kwargs)
        except TypeError as error:
            missing = _missing(cls, args, kwargs)
            if missing is None:
                raise
            raise TypeError(f"{name}: {missing}") from error

    name = snake_case(register_class(cls).class_name)  # pyright: ignore
    make.__name__ = make.__qualname__ = name
    make.__doc__ = cls.__doc__
    make.__wrapped__ = cls  # pyright: ignore  # `help` and editors show the class's arguments
    return make


def _missing(cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments as a whole, if anything is."""
    import inspect  # only errors need it

    if args:
        return f"takes keyword arguments only, got {args[0]!r}"
    parameters = inspect.signature(cls).parameters.values()
    names = [p.name for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY and p.name not in kwargs]
    return f"needs {' and '.join(names)}" if names else None


activation = _factory(Activation)
average_pooling2d = avg_pool2d = avg_pooling2d = _factory(AveragePooling2D)
batch_normalization = _factory(BatchNormalization)
conv2d = _factory(Conv2D)
dense = _factory(Dense)
dropout = _factory(Dropout)
flatten = _factory(Flatten)
input_layer = _factory(InputLayer)
max_pooling2d = max_pool2d = _factory(MaxPooling2D)
reshape = _factory(Reshape)
register_class(Sequential)
register_class(Functional)
register_class(Functional, "Functional")  # as Keras calls it since version 2.4
