"""`LayersModel`: what models have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from varigrad.layers.base import Layer
from varigrad.layers.registry import suggestion
from varigrad.layers.saving import SaveResult, save_model, topology
from varigrad.layers.summary import print_summary
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.observe import OBSERVERS
from varigrad.ops.arguments import TensorLike, convert
from varigrad.ops.joining import concat
from varigrad.tape import Tape
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["LayersModel"]


class LayersModel(Layer):
    """Layers that work together, and are a layer themselves. Mirrors `tf.LayersModel`.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="ones", input_shape=[2])])
    >>> isinstance(model, vg.LayersModel), model.predict([[3, 4]]).tolist()
    (True, [[7.0]])
    """

    class_name = "Model"  # the name that files have for it
    inputs: list[SymbolicTensor]
    outputs: list[SymbolicTensor]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.inputs = []
        self.outputs = []
        self._layers: list[Layer] = []
        self._user_defined_metadata: dict[str, Any] | None = None
        self._feature_shape: tuple[int | None, ...] | None = None  # of one input, if the batch is free

    @property
    def layers(self) -> list[Layer]:
        """The layers, in order."""
        return list(self._layers)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of a name, or at a place.

        Raises:
            ValueError: There is none.
        """
        if index is not None:
            if not 0 <= index < len(self._layers):
                raise ValueError(f"get_layer: {self.name} has {len(self._layers)} layers, none at index {index}")
            return self._layers[index]
        for layer in self._layers:
            if layer.name == name:
                return layer
        near = suggestion(str(name), [layer.name for layer in self._layers])
        raise ValueError(f"get_layer: {self.name} has no layer {name!r}{near}")

    # Weights

    def _weight_groups(self) -> tuple[list[Variable], list[Variable]]:
        groups = [layer._weight_groups() for layer in self._layers]
        return [w for made_trainable, _ in groups for w in made_trainable], [w for _, rest in groups for w in rest]

    @property
    def trainable_weights(self) -> list[Variable]:
        return [w for layer in self._layers for w in layer.trainable_weights] if self.trainable else []

    def _freeze(self, frozen: bool) -> None:
        for layer in self._layers:
            layer._freeze(frozen or not self._trainable)

    def calculate_losses(self) -> list[Tensor]:
        return [loss for layer in self._layers for loss in layer.calculate_losses()]

    # Running

    def __call__(self, inputs: TensorLike, training: bool | None = None) -> Tensor:
        """The model's result for a batch of inputs.

        Args:
            inputs: A tensor or array of the shape that the model was made for.
            training: Whether dropout and the like are to act as in training.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[2])])
        >>> model([[1, 2], [3, 4]]).shape
        (2, 3)
        """
        if not isinstance(inputs, Tensor):
            inputs = convert(inputs, self.name, "inputs", self.inputs[0].dtype if self.inputs else None)
        if inputs.storage.shape[1:] != self._feature_shape:
            self._check_input(inputs.shape)
        return self._run(inputs, training)

    def predict(self, x: TensorLike, batch_size: int = 32) -> Tensor:
        """The model's result outside of training, computed in batches.

        Inside `vg.variable_grads` and the like the batch is computed whole, and the result can be differentiated.
        Mirrors `tf.LayersModel.predict`.

        Args:
            x: A tensor or array of the shape that the model was made for.
            batch_size: How many inputs to compute at a time.

        Raises:
            ValueError: Another shape.
        """
        if not isinstance(x, Tensor):
            x = convert(x, "predict", "x", self.inputs[0].dtype if self.inputs else None)
        if x.storage.shape[1:] != self._feature_shape:
            self._check_input(x.shape)
        rows = x.storage.shape[0]
        if rows <= batch_size or any(isinstance(observer, Tape) for observer in OBSERVERS.get()):
            return self._run(x, False)
        if batch_size < 1:
            raise ValueError(f"predict: batch_size must be a positive integer, got {batch_size}")
        return concat([self._run(x[start : start + batch_size], False) for start in range(0, rows, batch_size)], 0)

    def predict_on_batch(self, x: TensorLike) -> Tensor:
        """The model's result outside of training, computed at once. Mirrors `tf.LayersModel.predictOnBatch`."""
        return self(x, training=False)

    def _check_input(self, shape: Sequence[int | None]) -> None:
        if not self.inputs:
            raise ValueError(f"{self.name}: has no layers yet; add some first")
        expected = self.inputs[0].shape
        if len(shape) != len(expected) or any(None not in (m, n) and m != n for m, n in zip(expected, shape)):
            raise ValueError(f"{self.name}: takes inputs of shape {format_shape(expected)}, got {format_shape(shape)}")

    # Seeing and storing

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], Any] = print,
    ) -> None:
        """Prints a table of the layers with their shapes and numbers of parameters.

        Args:
            line_length: The width in characters, 90 by default.
            positions: Where each column ends, in characters or, if the last is at most 1, as parts of the width.
            print_fn: Gets each line.

        >>> import varigrad as vg
        >>> layers = [vg.layers.dense(units=3, input_shape=[2], name="dense_example")]
        >>> vg.sequential(layers=layers).summary(64, print_fn=lambda line: print(line.rstrip()))
        ________________________________________________________________
        Layer (type)        Input Shape        Output shape     Param #
        ================================================================
        dense_example (Dens [[null,2]]         [null,3]         9
        ================================================================
        Total params: 9
        Trainable params: 9
        Non-trainable params: 0
        ________________________________________________________________
        """
        if not self._layers:
            raise ValueError(f"summary: {self.name} has no layers yet; add some first")
        print_summary(self, self._layers, line_length, positions, print_fn)

    def to_json(self, unused: Any = None, return_string: bool = True) -> Any:
        """The model without its weights, as files have it: a JSON string, or a dict. Mirrors `toJSON`."""
        stored = topology(self)
        return json.dumps(stored) if return_string else stored

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        trainable_only: bool = False,
        weight_shard_size_bytes: int = 4 * 1024 * 1024,
    ) -> SaveResult:
        """Writes the model as a TensorFlow.js layers-model: `model.json` and the weights beside it.

        TensorFlow.js opens it with `tf.loadLayersModel`, and `vg.load_layers_model` here. Weights of dtypes that the
        format lacks, float64, float16 and bfloat16, are written as float32. A model that was there before stays whole
        until the new one is. Mirrors `tf.LayersModel.save`.

        Args:
            path: A folder, made if it is missing; a `file://` URL of one; or the path of the JSON file.
            trainable_only: Whether to leave out the weights that training leaves alone.
            weight_shard_size_bytes: The most bytes that one file of weights holds.

        Returns:
            What was written: `model_artifacts_info`, with its sizes and date.

        Raises:
            OSError: The folder cannot be written.
        """
        return save_model(self, path, trainable_only=trainable_only, weight_shard_size_bytes=weight_shard_size_bytes)

    def set_user_defined_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Stores a JSON object with the model, in files too. Mirrors `tf.LayersModel.setUserDefinedMetadata`."""
        try:
            self._user_defined_metadata = json.loads(json.dumps(dict(metadata), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise TypeError(f"set_user_defined_metadata: the metadata must be JSON values: {error}") from None

    def get_user_defined_metadata(self) -> dict[str, Any] | None:
        """What `set_user_defined_metadata`, or the file that the model came from, stored."""
        return self._user_defined_metadata
