"""`LayersModel`: what models have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from varigrad.dtypes import is_floating
from varigrad.io.quantization import Quantize
from varigrad.keywords import suggestion, takes_options
from varigrad.layers.arguments import Shape
from varigrad.layers.base import DisposeResult, Layer
from varigrad.layers.feeding import check_fed_shapes, fed
from varigrad.layers.lists import as_list, one_or_list
from varigrad.layers.saving import SaveResult, save_model, topology
from varigrad.layers.stored_weights import load_weights, save_weights
from varigrad.layers.summary import print_summary
from varigrad.layers.symbolic import Node, SymbolicTensor, is_symbolic
from varigrad.layers.training import Trainable
from varigrad.observe import OBSERVERS
from varigrad.ops.arguments import TensorLike
from varigrad.ops.joining import concat
from varigrad.tape import Tape
from varigrad.tensor import Tensor

__all__ = ["LayersModel"]


class LayersModel(Trainable):
    """Layers that work together, and are a layer themselves. Mirrors `tf.LayersModel`.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="ones", input_shape=[2])])
    >>> isinstance(model, vg.LayersModel), model.predict([[3, 4]]).tolist()
    (True, [[7.0]])
    """

    class_name = "Model"  # the name that files have for it
    _takes_variables = False
    inputs: list[SymbolicTensor]
    outputs: list[SymbolicTensor]

    def __init__(self, **options: Any) -> None:
        if "inputs" in options or "outputs" in options:
            raise TypeError("LayersModel: a model of a graph is made by vg.model(inputs=…, outputs=…)")
        super().__init__(**options)
        self.inputs = []
        self.outputs = []
        self._layers: list[Layer] = []
        self._user_defined_metadata: dict[str, Any] | None = None
        self._feature_shape: tuple[int | None, ...] | None = None  # of the one input, if only the batch is free
        self._runners: dict[tuple[Any, ...], Any] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if LayersModel in cls.__bases__ and "call" in vars(cls) and not cls.__module__.startswith("varigrad."):
            raise TypeError(
                f"{cls.__name__}: a model is a graph of layers and takes no call of its own; write the class with "
                f"vg.layers.Layer in place of LayersModel, the same __init__ and call, and vg.sequential(layers=["
                f"{cls.__name__}(input_shape=[…])]) is a model of it, to be compiled, trained and saved"
            )

    @property
    def layers(self) -> list[Layer]:
        """The layers, in order."""
        return list(self._layers)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs: those of the layers that make them."""
        return [x.source_layer.name for x in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs: those of the layers that make them."""
        return [x.source_layer.name for x in self.outputs]

    @property
    def input(self) -> SymbolicTensor | list[SymbolicTensor]:
        """The model's symbolic input, or list of inputs."""
        return self.inputs[0] if len(self.inputs) == 1 else list(self.inputs)

    @property
    def output(self) -> SymbolicTensor | list[SymbolicTensor]:
        """The model's symbolic output, or list of outputs."""
        return self.outputs[0] if len(self.outputs) == 1 else list(self.outputs)

    @property
    def input_shape(self) -> Any:
        """The shape of the model's input, or a list of those of its inputs."""
        return one_or_list([x.shape for x in self.inputs])

    @property
    def output_shape(self) -> Any:
        """The shape of the model's output, or a list of those of its outputs."""
        return one_or_list([x.shape for x in self.outputs])

    def get_layer(self, name: str | int | None = None, index: int | None = None) -> Layer:
        """The layer of a name, or at a place.

        Args:
            name: The layer's name; an integer is an index.
            index: The layer's place among `layers`, from 0.

        Raises:
            ValueError: There is none.
        """
        if isinstance(name, int):
            name, index = None, name
        if index is not None:
            if isinstance(index, bool) or not isinstance(index, int):
                raise TypeError(f"get_layer: index must be an integer, got {index!r}")
            if not 0 <= index < len(self._layers):
                raise ValueError(f"get_layer: {self.name} has {len(self._layers)} layers, none at index {index}")
            return self._layers[index]
        for layer in self._layers:
            if layer.name == name:
                return layer
        near = suggestion(str(name), [layer.name for layer in self._layers])
        raise ValueError(f"get_layer: {self.name} has no layer {name!r}{near}")

    def _set_ends(self, inputs: Sequence[SymbolicTensor], outputs: Sequence[SymbolicTensor]) -> None:
        """Says where the model begins and ends."""
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.built = bool(outputs)
        shape = self.inputs[0].shape if len(self.inputs) == 1 else ()
        self.batch_input_shape = shape or None
        free = len(shape) > 1 and shape[0] is None and None not in shape[1:] and is_floating(self.inputs[0].dtype)
        self._feature_shape = shape[1:] if free else None

    def _calls(self) -> Sequence[Node]:
        """The calls of the layers, if there is more to them than that each feeds the next."""
        return ()

    def _sublayers(self) -> Sequence[Layer]:
        return self._layers

    def _rename_weights(self, old: str, new: str) -> None:
        """Nothing: a model's name is not in those of its weights."""

    @property
    def makes_mask(self) -> bool:
        return any(layer.makes_mask for layer in self._layers)

    def dispose(self) -> DisposeResult:
        """Disposes of the layers' weights once no other model uses them. Mirrors `tf.LayersModel.dispose`.

        Raises:
            ValueError: The model was disposed of before.
        """
        if not self._layers:
            raise ValueError(f"dispose: {self.name} has no layers yet, there is nothing to dispose of")
        count = 1 if self._ref_count is None else self._ref_count
        if count == 0:
            raise ValueError(f"dispose: {self.name} is disposed of already")
        self._ref_count = count - 1
        disposed = 0
        if self._ref_count == 0:
            used = [layer for layer in self._layers if layer.built and layer._ref_count]
            disposed = sum(layer.dispose().num_disposed_variables for layer in used)
        return DisposeResult(self._ref_count, disposed)

    # Running

    def __call__(self, inputs: Any, training: bool | None = None, **arguments: Any) -> Any:
        """The model's result for a batch of inputs.

        Args:
            inputs: A tensor or array of the shape that the model was made for. For a model of several inputs a list of
                them in the order of `inputs`, or a dict by `input_names`. Symbolic tensors make the model a layer of
                the graph that they are part of.
            training: Whether dropout and the like are to act as in training.
            arguments: `mask`: which steps count, a mask or list of masks for the inputs.

        Returns:
            A tensor, or a list of them for a model of several outputs.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[2])])
        >>> model([[1, 2], [3, 4]]).shape
        (2, 3)
        """
        if not isinstance(inputs, Tensor) and is_symbolic(inputs):
            return self._connect(inputs, training, arguments)
        inputs = self._fed(inputs, self.name)
        if training is not None and not isinstance(training, bool):
            raise TypeError(f"{self.name}: training must be True, False or None, got {training!r}")
        return self._run_with(inputs, training, arguments) if arguments else self._run(inputs, training)

    def _run_with(self, inputs: Any, training: bool | None, arguments: Mapping[str, Any]) -> Any:
        for name in arguments:
            if name != "mask":
                raise TypeError(f"{self.name}: takes no argument {name!r}, only training and mask")
        return self._run_masked(inputs, arguments.get("mask"), training)[0]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self._run_masked(inputs, mask, False)[1]

    def _fed(self, inputs: Any, op: str) -> Any:
        """Tensors for what a call was given: one, or for a model of several inputs a list in their order."""
        if isinstance(inputs, Tensor):
            values = inputs.storage
            if values.shape[1:] == self._feature_shape and values.dtype.kind == "f":
                return inputs
        if not self.inputs:
            raise ValueError(f"{self.name}: has no layers yet; add some first")
        return fed(self.name, self.inputs, inputs, op)

    @takes_options
    def predict(self, x: Any, batch_size: int = 32) -> Any:
        """The model's result outside of training, computed in batches.

        Batches run compiled as soon as that pays, unless `model.jit`, which `compile` sets, is False. Inside
        `vg.variable_grads` and the like the batch is computed whole, and the result can be differentiated.
        Mirrors `tf.LayersModel.predict`.

        Args:
            x: A tensor or array of the shape that the model was made for; for several inputs a list or dict of them.
            batch_size: How many inputs to compute at a time.

        Returns:
            A tensor, or a list of them for a model of several outputs.

        Raises:
            ValueError: Another shape.
        """
        inputs = self._fed(x, "predict")
        each = as_list(inputs)
        rows = each[0].storage.shape[0] if each[0].storage.ndim else 0
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"predict: batch_size must be a positive integer, got {batch_size!r}")
        run = self.prediction_step()
        if rows <= batch_size or any(isinstance(observer, Tape) for observer in OBSERVERS.get()):
            return run(inputs)
        last = rows - batch_size  # where a whole batch may start
        parts = [
            run(one_or_list([x[start : start + batch_size] for x in each]), more=max(0, last - start) // batch_size)
            for start in range(0, rows, batch_size)
        ]
        if len(self.outputs) == 1:
            return concat(parts, 0)
        return [concat(list(each), 0) for each in zip(*parts)]

    def predict_on_batch(self, x: Any) -> Any:
        """The model's result outside of training, computed at once. Mirrors `tf.LayersModel.predictOnBatch`."""
        return self.prediction_step()(self._fed(x, "predict_on_batch"))

    def _explain(self, error: Exception, layer: Layer, x: Any) -> None:
        """Says in which layer an error came up, or raises one that says it better if the input does not fit there."""
        note = f"in layer {layer.name} of {self.name}"
        error.add_note(note)
        for value in as_list(x):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"{layer.name}: what it is called on must be tensors, but the layer before it in {self.name} "
                    f"returned {value!r:.100}"
                ) from error
        if isinstance(x, Tensor) and not x.is_disposed:
            try:
                layer._check_input(x.shape)
            except ValueError as better:
                better.add_note(note)
                raise

    def _check_input(self, shape: Any) -> None:
        shapes = cast("list[Shape]", shape) if isinstance(shape, list) else [cast("Shape", shape)]
        if not self.inputs:
            raise ValueError(f"{self.name}: has no layers yet; add some first")
        check_fed_shapes(self.name, self.inputs, shapes)

    def _output_dtype(self, inputs: Sequence[SymbolicTensor]) -> str:
        return self.outputs[0].dtype

    # Seeing and storing

    @takes_options
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
        print_summary(self, self._layers, self._calls(), line_length, positions, print_fn)

    @takes_options
    def to_json(self, unused: Any = None, return_string: bool = True) -> Any:
        """The model without its weights, as files have it: a JSON string, or a dict. Mirrors `toJSON`."""
        stored = topology(self)
        return json.dumps(stored) if return_string else stored

    @takes_options
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        trainable_only: bool = False,
        include_optimizer: bool = False,
        weight_shard_size_bytes: int = 4 * 1024 * 1024,
        quantize: Quantize | None = None,
    ) -> SaveResult:
        """Writes the model as a TensorFlow.js layers-model: `model.json` and the weights beside it.

        TensorFlow.js opens it with `tf.loadLayersModel`, and `vg.load_layers_model` here. Weights of dtypes that the
        format lacks, float64, float16 and bfloat16, are written as float32. Layers of one name in two models inside,
        which TensorFlow.js cannot tell apart, get names of their own there, `tower_dense` for `dense` in `tower`. A
        model that was there before stays whole until the new one is. Paths that end in `.keras` or `.h5` get Keras's
        formats. Mirrors `tf.LayersModel.save`.

        Args:
            path: A folder, made if it is missing; a `file://` URL of one; or the path of the JSON file.
            trainable_only: Whether to leave out the weights that training leaves alone.
            include_optimizer: Whether a compiled model is stored with its loss, its metrics, and its optimizer and the
                optimizer's state, so that training can go on from there. (TensorFlow.js restores the state of every
                optimizer but Adamax, which it starts anew. Metrics that it lacks it does without.)
            weight_shard_size_bytes: The most bytes that one file of weights holds.
            quantize: Stores float32 weights in fewer bits: `"uint8"`, `"uint16"` or `"float16"` for all of them, or
                patterns of names by dtype, `{"uint8": "conv*/kernel", "float16": True}`, where True is for the rest.

        Returns:
            What was written: `model_artifacts_info`, with its sizes and date, and `quantization_errors`, the largest
            error of each weight.

        Warns:
            CompatibilityWarning: TensorFlow.js lacks something that the model has, or computes it otherwise.

        Raises:
            OSError: The folder cannot be written.
            ValueError: The path is a URL of the web or has the suffix of what is no model, the model has no layers, or
                what only TensorFlow.js's format has is asked of another.
        """
        return save_model(
            self,
            path,
            trainable_only=trainable_only,
            include_optimizer=include_optimizer,
            weight_shard_size_bytes=weight_shard_size_bytes,
            quantize=quantize,
        )

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Writes the weights alone, by the path's suffix: `.safetensors`, `.npz`, `.json` or `.weights.h5`.

        >>> import os, tempfile
        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2], kernel_initializer="ones")])
        >>> other = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2], name=model.layers[0].name)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save_weights(os.path.join(folder, "weights.npz"))
        ...     other.load_weights(os.path.join(folder, "weights.npz"))
        >>> other.predict([[3, 4]]).tolist()
        [[7.0]]
        """
        save_weights(self, path)

    @takes_options
    def load_weights(self, weights: str | os.PathLike[str] | Mapping[str, TensorLike], strict: bool = True) -> None:
        """Gives the weights the values in a file or a dict, all of them or, on an error, none.

        Mirrors `tf.LayersModel.loadWeights`.

        Args:
            weights: The path of what `save_weights` wrote, or tensors or arrays by name.
            strict: Whether it is an error if a weight is missing or too much; if not, a warning says which.

        Raises:
            ModelFileError: The file is damaged, or its weights are not those of the model; a `ValueError`.
        """
        load_weights(self, weights, strict)

    def set_user_defined_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Stores a JSON object with the model, in files too. Mirrors `tf.LayersModel.setUserDefinedMetadata`."""
        try:
            self._user_defined_metadata = json.loads(json.dumps(dict(metadata), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise TypeError(f"set_user_defined_metadata: the metadata must be JSON values: {error}") from None

    def get_user_defined_metadata(self) -> dict[str, Any] | None:
        """What `set_user_defined_metadata`, or the file that the model came from, stored."""
        return self._user_defined_metadata
