"""The layers that every model has: dense, activation, dropout, and changes of shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

from varigrad.engine import run_kernel
from varigrad.layers.activations import ActivationLike, fused_name, get_activation
from varigrad.layers.arguments import Shape, boolean, choice, number, partial_shape, positive_integer, seed_or_none
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint, get_constraint
from varigrad.layers.initializers import Initializer, get_initializer
from varigrad.layers.naming import unique_name
from varigrad.layers.regularizers import Regularizer, get_regularizer
from varigrad.layers.symbolic import Node, SymbolicTensor
from varigrad.ops import random
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import scale
from varigrad.ops.fused import mat_mul as fused_mat_mul
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["Activation", "Dense", "Dropout", "Flatten", "InputLayer", "Reshape", "input"]

DATA_FORMATS = ("channels_last", "channels_first")


class InputLayer(Layer):
    """The entry of a model; computes nothing.

    Mirrors `tf.layers.inputLayer`.

    Args:
        input_shape: The shape of one input, without the batch.
        batch_size: The batch, if it is fixed.
        batch_input_shape: Instead of the two, the shape with the batch.
        dtype: The dtype of inputs, float32 by default.
        sparse: Whether inputs are sparse; must be False.
        name: `input1` and so on by default.

    >>> import varigrad as vg
    >>> vg.sequential(layers=[vg.layers.input_layer(input_shape=[2]), vg.layers.dense(units=1)]).inputs[0].shape
    (None, 2)
    """

    def __init__(
        self,
        *,
        input_shape: Sequence[int | None] | int | None = None,
        batch_size: int | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
        dtype: str | None = None,
        sparse: bool | None = None,
        name: str | None = None,
    ) -> None:
        if (input_shape is None) == (batch_input_shape is None):
            raise ValueError("input_layer: takes either input_shape or batch_input_shape")
        if batch_input_shape is not None and batch_size is not None:
            raise ValueError("input_layer: batch_size goes with input_shape, not with batch_input_shape")
        if sparse:
            raise ValueError("input_layer: sparse inputs are not supported")
        super().__init__(
            name=name or unique_name("input"),
            trainable=False,
            input_shape=input_shape,
            batch_input_shape=batch_input_shape,
            batch_size=batch_size,
            dtype=dtype,
        )
        self.built = True

    @property
    def inbound_nodes(self) -> list[Node]:
        """The one call that makes the model's input."""
        return super().inbound_nodes or [Node(self, (), {}, [self.batch_input_shape or ()], self.dtype or "float32")]

    def __call__(self, inputs: Any, training: bool | None = None, **arguments: Any) -> Any:
        """Always an error: nothing goes into the entry of a model."""
        raise TypeError(f"{self.name}: is the entry of a model, it cannot be called on anything")

    @property
    def input_shape(self) -> Any:
        return self.batch_input_shape

    def get_config(self) -> dict[str, Any]:
        shape = list(self.batch_input_shape or ())
        return {"batch_input_shape": shape, "dtype": self.dtype, "sparse": False, "name": self.name}


def input(
    *,
    shape: Sequence[int | None] | None = None,
    batch_shape: Sequence[int | None] | None = None,
    name: str | None = None,
    dtype: str | None = None,
    sparse: bool | None = None,
) -> SymbolicTensor:
    """A symbolic tensor that stands for an input of a model.

    Mirrors `tf.input`.

    Args:
        shape: The shape of one input, without the batch.
        batch_shape: Instead of it, the shape with the batch.
        name: The name of the input; `input1` and so on by default.
        dtype: The dtype of inputs, float32 by default.
        sparse: Whether inputs are sparse; must be False.

    >>> import varigrad as vg
    >>> a, b = vg.input(shape=[2]), vg.input(shape=[3])
    >>> y = vg.layers.dense(units=1)(a)
    >>> vg.model(inputs=[a, b], outputs=[y, vg.layers.flatten()(b)]).output_shape
    [(None, 1), (None, 3)]
    """
    if (shape is None) == (batch_shape is None):
        raise ValueError("input: takes either shape or batch_shape")
    layer = InputLayer(input_shape=shape, batch_input_shape=batch_shape, name=name, dtype=dtype, sparse=sparse)
    return layer.inbound_nodes[0].outputs[0]


class Dense(Layer):
    """A fully connected layer: `activation(inputs @ kernel + bias)`.

    Mirrors `tf.layers.dense`. Inputs are `[batch, ..., inputs]`, results `[batch, ..., units]`; the kernel is
    `[inputs, units]`, the bias `[units]`.

    Args:
        units: The number of outputs.
        activation: An activation's name, or a function of a tensor; `"linear"` by default.
        use_bias: Whether there is a bias.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        bias_initializer: The bias's, `"zeros"` by default.
        input_dim: Short for `input_shape=[input_dim]`.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the result; kept for files, not applied, as in TensorFlow.js.
        kernel_constraint: A limit on the kernel.
        bias_constraint: A limit on the bias.
        options: `name`, `trainable`, `input_shape`, `batch_input_shape`, `batch_size`, `dtype`, `weights`.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> layer = vg.layers.dense(units=2, kernel_initializer="ones", activation="relu")
    >>> layer([[1, 2, 3]]).tolist()
    [[6.0, 6.0]]
    """

    fields = (
        "units",
        "activation",
        "use_bias",
        "kernel_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "kernel_constraint",
        "bias_constraint",
    )
    input_spec = InputSpec(min_ndim=2)
    kernel: Variable
    bias: Variable | None = None

    def __init__(
        self,
        *,
        units: int,
        activation: ActivationLike | None = None,
        use_bias: bool = True,
        kernel_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = None,
        input_dim: int | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        bias_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        if input_dim is not None and options.get("input_shape") is None and options.get("batch_input_shape") is None:
            options["input_shape"] = [input_dim]
        super().__init__(**options)
        self.units = positive_integer("dense", "units", units)
        self.activation = get_activation(activation)
        self.use_bias = boolean("dense", "use_bias", use_bias)
        self.kernel_initializer = get_initializer(kernel_initializer or "glorot_normal")
        self.bias_initializer = get_initializer(bias_initializer or "zeros")
        self.kernel_regularizer = get_regularizer(kernel_regularizer)
        self.bias_regularizer = get_regularizer(bias_regularizer)
        self.activity_regularizer = get_regularizer(activity_regularizer)
        self.kernel_constraint = get_constraint(kernel_constraint)
        self.bias_constraint = get_constraint(bias_constraint)
        fused = fused_name(self.activation)
        self._fused = fused is not None
        # What the fused kernel takes, made once: this is the hot path of small models.
        self._attrs = {"transpose_a": False, "transpose_b": False, "activation": fused or "linear"}

    def build(self, input_shape: Shape) -> None:
        inputs = input_shape[-1]
        if inputs is None:
            raise ValueError(f"{self.name}: the last axis of its inputs must be known, got {format_shape(input_shape)}")
        self.kernel = self.add_weight(
            "kernel",
            [inputs, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: inputs})

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        kernel, bias = self.kernel, self.bias
        if inputs.storage.dtype is kernel.storage.dtype:
            operands = (inputs, kernel) if bias is None else (inputs, kernel, bias)
            y = run_kernel("_FusedMatMul", operands, self._attrs)
        else:
            y = fused_mat_mul(inputs, kernel, bias=bias, activation=str(self._attrs["activation"]))
        return y if self._fused else self.activation(y)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.units)


class Activation(Layer):
    """An activation by itself.

    Mirrors `tf.layers.activation`.

    Args:
        activation: An activation's name, or a function of a tensor.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.activation(activation="relu")([[-1, 2]]).tolist()
    [[0.0, 2.0]]
    """

    fields = ("activation",)

    def __init__(self, *, activation: ActivationLike, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.activation = get_activation(activation)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return self.activation(inputs)


class Dropout(Layer):
    """Sets a random part of the inputs to 0 in training, and scales the rest up so that the mean stays.

    Mirrors `tf.layers.dropout`. Outside of training it does nothing.

    Args:
        rate: The part to drop, from 0 to 1.
        noise_shape: The shape of the mask, with 1 for axes that share it; None stands for the input's own length.
        seed: Makes the masks a fixed sequence, a new mask each call (in TensorFlow.js, the same mask each call).
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.dropout(rate=0.5, seed=1)
    >>> sorted(set(layer(vg.ones([1, 50]), training=True).data_sync().tolist()))
    [0.0, 2.0]
    >>> layer([[1, 2]]).tolist()
    [[1.0, 2.0]]
    """

    fields = ("rate", "noise_shape", "seed")

    def __init__(
        self,
        *,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.rate = number("dropout", "rate", rate, 0.0, 1.0)
        self.noise_shape = None if noise_shape is None else partial_shape("dropout", "noise_shape", noise_shape)
        self.seed = seed_or_none("dropout", seed)
        self._calls = 0

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or self.rate == 0:
            return inputs
        seed = None if self.seed is None else self.seed + self._calls
        self._calls += 1
        return scale(inputs, 0.0) if self.rate == 1 else random.dropout(inputs, self.rate, self.noise_shape, seed)


class Flatten(Layer):
    """Makes each input of a batch a vector: `[batch, ...]` becomes `[batch, size]`.

    Mirrors `tf.layers.flatten`.

    Args:
        data_format: With `"channels_first"` the channels, axis 1, are moved last before.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.flatten()(vg.zeros([5, 2, 3])).shape
    (5, 6)
    """

    def __init__(self, *, data_format: str | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.data_format = None if data_format is None else choice("flatten", "data_format", data_format, DATA_FORMATS)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        shape = inputs.storage.shape
        if len(shape) == 2:
            return inputs
        if self.data_format == "channels_first" and len(shape) > 2:
            inputs = transpose(inputs, [0, *range(2, len(shape)), 1])
        return reshape_to(inputs, (shape[0], math.prod(shape[1:])))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        lengths = [n for n in input_shape[1:] if n is not None]
        if len(lengths) != len(input_shape) - 1:
            raise ValueError(
                f"{self.name}: every axis of its inputs but the batch must be known, got {format_shape(input_shape)}"
            )
        return (input_shape[0], math.prod(lengths))

    def get_config(self) -> dict[str, Any]:
        own = {} if self.data_format is None else {"data_format": self.data_format}
        return {**own, **super().get_config()}


class Reshape(Layer):
    """Gives each input of a batch another shape.

    Mirrors `tf.layers.reshape`.

    Args:
        target_shape: The shape, without the batch; one length may be -1 or None, and is then found from the size.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.reshape(target_shape=[3, -1])(vg.zeros([5, 6])).shape
    (5, 3, 2)
    """

    fields = ("target_shape",)

    def __init__(self, *, target_shape: Sequence[int | None], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.target_shape = partial_shape("reshape", "target_shape", target_shape)
        if self.target_shape.count(None) > 1:
            raise ValueError(f"reshape: only one length of target_shape may be unknown, got {list(target_shape)}")

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        shape = inputs.storage.shape
        return reshape_to(inputs, (shape[0], *self._target(math.prod(shape[1:]), shape)))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        lengths = [n for n in input_shape[1:] if n is not None]
        if len(lengths) != len(input_shape) - 1:
            return (input_shape[0], *self.target_shape)
        return (input_shape[0], *self._target(math.prod(lengths), input_shape))

    def _target(self, size: int, shape: Shape) -> tuple[int, ...]:
        """The target shape with its unknown length found, for inputs of this size."""
        known = math.prod(n for n in self.target_shape if n is not None)
        unknown = size // known if known else 0
        target = tuple(unknown if n is None else n for n in self.target_shape)
        if math.prod(target) != size:
            raise ValueError(
                f"{self.name}: inputs of shape {format_shape(shape)} do not fill target_shape "
                f"{format_shape(self.target_shape)}"
            )
        return target
