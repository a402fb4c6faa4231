"""The layers that every model has: its entries, dense and activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from varigrad.engine import run_kernel
from varigrad.keywords import takes_options
from varigrad.layers.activations import ActivationLike, fused_name
from varigrad.layers.activity import PenalizesActivity
from varigrad.layers.arguments import Shape, boolean, positive_integer
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.naming import unique_name
from varigrad.layers.options import (
    activation_option,
    constraint_option,
    initializer_option,
    option,
    regularizer_option,
)
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.symbolic import Node, SymbolicTensor
from varigrad.ops.fused import mat_mul as fused_mat_mul
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["Activation", "Dense", "Identity", "InputLayer", "input"]


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


@takes_options
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


class Dense(PenalizesActivity):
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
        activity_regularizer: A penalty on the result in training, over the batch's size, as in Keras; TensorFlow.js
            ignores it.
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

    units = option(positive_integer)
    activation = activation_option()
    use_bias = option(boolean)
    kernel_initializer = initializer_option("glorot_normal")
    bias_initializer = initializer_option("zeros")
    kernel_regularizer = regularizer_option()
    bias_regularizer = regularizer_option()
    activity_regularizer = regularizer_option()
    kernel_constraint = constraint_option()
    bias_constraint = constraint_option()
    input_spec = InputSpec(min_ndim=2)
    supports_masking = True
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
        self._take(locals())
        fused = fused_name(self.activation)
        self._fused = fused is not None
        # What the fused kernel takes, made once: this is the hot path of small models.
        self._attrs = {"transpose_a": False, "transpose_b": False, "activation": fused or "linear"}

    def build(self, input_shape: Shape) -> None:
        inputs = input_shape[-1]
        if inputs is None:
            raise ValueError(f"{self.name}: the last axis of its inputs must be known, got {format_shape(input_shape)}")
        self.kernel = self._add_optioned_weight("kernel", [inputs, self.units])
        if self.use_bias:
            self.bias = self._add_optioned_weight("bias", [self.units])
        self.input_spec = InputSpec(min_ndim=2, axes={-1: inputs})

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        kernel, bias = self.kernel, self.bias
        if inputs.storage.dtype is kernel.storage.dtype:
            operands = (inputs, kernel) if bias is None else (inputs, kernel, bias)
            y = run_kernel("_FusedMatMul", operands, self._attrs)
        else:
            y = fused_mat_mul(inputs, kernel, bias=bias, activation=str(self._attrs["activation"]))
        if not self._fused:
            y = self.activation(y)
        return y if self.activity_regularizer is None else self._penalized(y, training)

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

    activation = activation_option()
    supports_masking = True

    def __init__(self, *, activation: ActivationLike, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return self.activation(inputs)


class Identity(Layer):
    """Hands its inputs on.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.identity()([[1, 2]]).tolist()
    [[1.0, 2.0]]
    """

    supports_masking = True

    def __init__(self, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return inputs
