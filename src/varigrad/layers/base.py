"""`Layer`: what every layer is, and the base for your own."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict, cast

import numpy as np

from varigrad.dtypes import is_floating, numpy_dtype
from varigrad.elsewhere import answer_for
from varigrad.keywords import suggestion
from varigrad.layers.arguments import Shape, boolean, one_shape, partial_shape
from varigrad.layers.calling import arguments_of, mask_tensors, with_training_by_position
from varigrad.layers.calls import Called
from varigrad.layers.input_spec import InputSpec, InputSpecs, check_shapes
from varigrad.layers.lists import as_list
from varigrad.layers.naming import default_layer_name, name_scope
from varigrad.layers.symbolic import Node, SymbolicTensor, is_symbolic
from varigrad.layers.trial import tried_shape
from varigrad.ops.arguments import convert
from varigrad.ops.creation import zeros
from varigrad.scopes import dispose
from varigrad.tensor import Tensor, format_shape

__all__ = ["DisposeResult", "InputSpec", "Layer", "LayerOptions"]

_NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


class DisposeResult(NamedTuple):
    """What `dispose` of a layer or model did.

    Args:
        ref_count_after_dispose: How many models, or calls on symbolic tensors, still use it.
        num_disposed_variables: How many weights were disposed of: none before nobody uses it.

    >>> import varigrad as vg
    >>> vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])]).dispose()
    DisposeResult(ref_count_after_dispose=0, num_disposed_variables=2)
    """

    ref_count_after_dispose: int
    num_disposed_variables: int


class LayerOptions(TypedDict, total=False):
    """The keyword arguments that every layer takes.

    Args:
        name: The layer's name, unique in a model; made from the class by default.
        trainable: Whether training changes the layer's weights.
        input_shape: For a model's first layer, the shape of one input, without the batch.
        batch_input_shape: The same with the batch, `[None, 28, 28, 1]`.
        batch_size: The batch of `input_shape`, if it is fixed.
        dtype: The dtype of inputs; float64, float16 and bfloat16 make the weights so too. float32 by default.
        input_dtype: The same, under its older name.
        weights: First values of the weights, in the order of `get_weights`.

    >>> import varigrad as vg
    >>> layer = vg.layers.dense(units=1, input_shape=[3], name="options_example", trainable=False)
    >>> layer.name, layer.trainable
    ('options_example', False)
    """

    name: str | None
    trainable: bool
    input_shape: Sequence[int | None] | int | None
    batch_input_shape: Sequence[int | None] | None
    batch_size: int | None
    dtype: str | None
    input_dtype: str | None
    weights: Sequence[Any] | None


class Layer(Called):
    """A function of tensors with weights.

    To write a layer, subclass it: `build(input_shape)` makes the weights with `add_weight`, `call(inputs, training)`
    computes, and `get_config()` returns the keyword arguments of your `__init__` on top of `super().get_config()`.
    `compute_output_shape(input_shape)` says the shape of the result; without it, `call` is tried on zeros. Gradients
    come by themselves. Variables and layers that are attributes once `build` is done, also in lists and dicts, are
    weights and layers inside it; a variable that is another layer's weight stays that one's.
    `vg.serialization.register_class` makes the class loadable from files. Mirrors `tf.layers.Layer`.

    >>> import varigrad as vg
    >>> class Scale(vg.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", [1], initializer="ones")
    ...     def call(self, inputs, training=None):
    ...         return inputs * self.factor
    >>> layer = Scale(name="scale_example")
    >>> layer(vg.tensor([[1, 2]])).tolist(), layer.weights[0].name
    ([[1.0, 2.0]], 'scale_example/factor')
    """

    input_spec: InputSpecs | None = None
    # Whether a mask of the input is one of the output too.
    supports_masking: ClassVar[bool] = False
    # The names of the arguments of `call` besides inputs; None if it takes any.
    _call_arguments: ClassVar[frozenset[str] | None] = frozenset({"training"})

    def __init__(
        self,
        *,
        name: str | None = None,
        trainable: bool = True,
        input_shape: Sequence[int | None] | int | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: str | None = None,
        input_dtype: str | None = None,
        weights: Sequence[Any] | None = None,
        **unknown: Any,
    ) -> None:
        owner = self._owner
        if unknown:
            raise TypeError(_unknown_argument(owner, next(iter(unknown)), type(self)))
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{owner}: name must be a string, got {name!r}")
        self._has_default_name = not name
        self.name = name or default_layer_name(self.class_name)
        self.built = False
        self._being_built = False
        self.batch_input_shape: Shape | None = None
        if batch_input_shape is not None:
            self.batch_input_shape = partial_shape(owner, "batch_input_shape", batch_input_shape)
        elif input_shape is not None:
            batch = partial_shape(owner, "batch_size", [batch_size])
            self.batch_input_shape = batch + partial_shape(owner, "input_shape", input_shape)
        self.dtype = dtype or input_dtype or ("float32" if self.batch_input_shape else None)
        if self.dtype is not None:
            numpy_dtype(self.dtype, owner)
        self._initial_weights = weights
        self._stateful = False
        self._ref_count: int | None = None
        super().__init__(boolean(owner, "trainable", trainable))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        call = cls.__dict__.get("call")
        if call is not None:
            cls._run = with_training_by_position(call)
            cls._call_arguments = arguments_of(call)
        build = cls.__dict__.get("build")
        if build is not None:
            cls.build = Layer._for_callers(build)

    if not TYPE_CHECKING:  # to type checkers such an attribute is none

        def __getattr__(self, name: str) -> Any:
            # Reached where normal lookup fails, also if a property fails, by an AttributeError of its own.
            defined = getattr(type(self), name, None)
            if isinstance(defined, property):
                return defined.fget(self)
            hint = answer_for(type(self), name, "layer")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    # To be overridden

    def build(self, input_shape: Any) -> None:
        """Makes the weights for inputs of this shape, or list of shapes; unknown axes are None."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The result for a tensor, or list of tensors; `training` is whether the call is a step of training.

        A layer that heeds masks takes a third argument, `mask`; a layer may take more, which callers give by name.
        """
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the result, or list of shapes, for inputs of this shape; unknown axes are None.

        By default what `call` gives for zeros of such a shape, in a layer of your own; or if that cannot be found out,
        the shape of the inputs.
        """
        owner = next(cls for cls in type(self).__mro__ if "call" in vars(cls))
        if owner.__module__.startswith("varigrad."):
            return input_shape  # the layers here say so where it is another
        values = [(weight, weight.storage) for weight in self.weights]
        try:
            return tried_shape(lambda inputs: self._run(inputs, False), input_shape, self.dtype or "float32")
        except Exception:
            return input_shape
        finally:
            for weight, storage in values:  # `call` may have changed them
                weight.storage = storage

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the result: which steps count, bool `[batch, time]`, or None if all do.

        By default the mask of the input if the layer says that it `supports_masking`, else none.
        """
        return mask if self.supports_masking else None

    @property
    def makes_mask(self) -> bool:
        """Whether the result may have a mask where the input has none."""
        return type(self).compute_mask is not Layer.compute_mask

    def get_config(self) -> dict[str, Any]:
        """The keyword arguments that make an equal layer, as JSON values; weights are not among them."""
        config = self._stored_options()
        config["name"] = self.name
        config["trainable"] = self.trainable
        if self.batch_input_shape is not None:
            config["batch_input_shape"] = list(self.batch_input_shape)
        if self.dtype is not None:
            config["dtype"] = self.dtype
        return config

    # Running

    def __call__(self, inputs: Any, training: bool | None = None, **arguments: Any) -> Any:
        """The layer's result, whose weights it makes on the first call.

        Args:
            inputs: A tensor or array, or a list of them for a layer of several inputs. For symbolic tensors the result
                is symbolic, and part of a graph that `vg.model` makes a model of.
            training: Whether dropout and the like are to act as in training. Given with symbolic tensors, it holds in
                the model whatever the model is called with.
            arguments: `mask`, and what else the layer's `call` takes.
        """
        if not isinstance(inputs, Tensor):
            if is_symbolic(inputs):
                return self._connect(inputs, training, arguments)
            inputs = self._converted(inputs)
        if not self.built:
            self._ensure_built(_shapes(inputs))
        elif self.input_spec is not None:
            self._check_input(_shapes(inputs))
        if training is not None and not isinstance(training, bool):
            raise TypeError(f"{self.name}: training must be True, False or None, got {training!r}")
        return self._run_with(inputs, training, arguments) if arguments else self._run(inputs, training)

    def apply(self, inputs: Any, **arguments: Any) -> Any:
        """The same as calling the layer. Mirrors `tf.layers.Layer.apply`."""
        return self(inputs, **arguments)

    def _run(self, inputs: Any, training: bool | None) -> Any:
        """`call` with `training` by position; in subclasses it is `call` itself where that can be."""
        return self.call(inputs, training)

    def _run_with(self, inputs: Any, training: bool | None, arguments: Mapping[str, Any]) -> Any:
        """`call` with further arguments; a mask goes only where it is wanted."""
        accepted = self._call_arguments
        given = dict(arguments)
        if accepted is not None:
            if "mask" not in accepted:
                given.pop("mask", None)
            elif "mask" in given:
                given["mask"] = mask_tensors(self.name, given["mask"])
            for name in given:
                if name not in accepted:
                    raise TypeError(f"{self.name}: call takes no argument {name!r}{suggestion(name, accepted)}")
        if accepted is None or "training" in accepted:
            given["training"] = training
        return self.call(inputs, **given)

    def _run_masked(
        self, inputs: Any, mask: Any, training: bool | None, arguments: Mapping[str, Any] = _NO_ARGUMENTS
    ) -> tuple[Any, Any]:
        """The result and its mask, for inputs with their mask, or list of masks."""
        mask = arguments.get("mask", mask)
        if mask is not None:
            arguments = {**arguments, "mask": mask}
        y = self._run_with(inputs, training, arguments) if arguments else self._run(inputs, training)
        return y, self.compute_mask(inputs, mask)

    def _converted(self, inputs: Any) -> Any:
        """Tensors for arrays: one, or a list for a list that holds tensors or arrays."""
        if isinstance(inputs, (list, tuple)):
            items = cast("Sequence[Any]", inputs)
            if any(isinstance(item, (Tensor, np.ndarray)) for item in items):
                each = [convert(item, self.name, f"inputs[{i}]", self.dtype) for i, item in enumerate(items)]
                return each[0] if len(each) == 1 else each
        return convert(inputs, self.name, "inputs", self.dtype)

    def _ensure_built(self, input_shape: Any) -> None:
        """Makes the weights, if they are not there yet, for inputs of this shape."""
        self._check_input(input_shape)
        if self.built:
            return
        with name_scope(self.name):
            self._make_weights(input_shape)
        self._begin_use()

    def _begin_use(self) -> None:
        """Counts the first user of new weights, and gives them the values that the layer was made with."""
        self._ref_count = self._ref_count or 1
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    @staticmethod
    def _for_callers(build: Any) -> Any:
        """A layer's own `build`, which those outside may call too: the layer is built then, with all that goes with it.

        A list of lengths, as TensorFlow.js has shapes, is one shape. A layer that is built already stays as it is.
        """

        @functools.wraps(build)
        def build_layer(self: Layer, input_shape: Any) -> None:
            if self._being_built:  # by the lines below or by a call; super().build(input_shape) lands here as well
                build(self, input_shape)
                return
            shape = one_shape(input_shape)
            self._check_input(shape)
            if not self.built:
                self._make_weights(shape)
                self._begin_use()

        return build_layer

    def _make_weights(self, input_shape: Any) -> None:
        """Makes the weights, under the names of the scopes around: all or, on an error, none."""
        if type(self).call is Layer.call and hasattr(self, "forward"):
            raise TypeError(f"{self.name}: what a layer computes is its call; {type(self).__name__} has forward only")
        before = self._own_weights()
        self._being_built = True
        try:
            self.build(input_shape)
            self._take_variables()
        except BaseException:
            self._keep_weights(before)
            raise
        finally:
            self._being_built = False
        self.built = True

    def _check_input(self, shape: Any) -> None:
        """Raises an error that names the layer if it does not take inputs of this shape."""
        if self.input_spec is not None:
            check_shapes(self.name, self.input_spec, cast("list[Shape]", shape) if isinstance(shape, list) else [shape])

    # The graph of symbolic tensors

    def _connect(self, inputs: Any, training: bool | None, arguments: Mapping[str, Any]) -> Any:
        """The symbolic results for symbolic inputs; makes the weights and a node."""
        each = as_list(inputs)
        for x in each:
            if not isinstance(x, SymbolicTensor):
                raise TypeError(f"{self.name}: its inputs must be all symbolic tensors or all values, got {x!r:.100}")
        single = len(each) == 1
        first_use = not self.built
        shapes: Any = each[0].shape if single else [x.shape for x in each]
        self._ensure_built(shapes)
        self._build_sublayers(each, single)
        if training is not None:
            arguments = {**arguments, "training": training}
        results, several = _several(self.name, self.compute_output_shape(shapes))
        for shape in results:
            if any(length is not None and length < 0 for length in shape):
                raise ValueError(
                    f"{self.name}: inputs of shape {_listed(each)} are too small for it, they would give "
                    f"{format_shape(shape)}"
                )
        node = Node(self, each, arguments, results, self._output_dtype(each))
        self._ref_count = 1 if first_use or self._ref_count is None else self._ref_count + 1
        return list(node.outputs) if several else node.outputs[0]

    def _build_sublayers(self, inputs: Sequence[SymbolicTensor], single: bool) -> None:
        """Runs the layer once on zeros if that is what it takes to make the weights of layers inside it."""
        if all(layer.built for layer in self._sublayers()):
            return
        values = [zeros([n or 1 for n in x.shape], x.dtype) for x in inputs]
        self._run(values[0] if single else values, False)

    def _output_dtype(self, inputs: Sequence[SymbolicTensor]) -> str:
        for dtype in (self.dtype, *(x.dtype for x in inputs)):
            if dtype is not None and is_floating(dtype):
                return dtype
        return "float32"

    # State

    @property
    def stateful(self) -> bool:
        """Whether the layer, or one inside it, keeps a state from one batch to the next."""
        return self._stateful or any(layer.stateful for layer in self._sublayers() if isinstance(layer, Layer))

    def reset_states(self) -> None:
        """Starts the state of a stateful layer anew. Mirrors `tf.layers.Layer.resetStates`."""
        for layer in self._sublayers():
            if isinstance(layer, Layer) and layer.stateful:
                layer.reset_states()

    def dispose(self) -> DisposeResult:
        """Disposes of the weights once no model uses the layer any more. Needed only to give memory back early.

        Raises:
            ValueError: The layer has no weights yet, or was disposed of before.
        """
        if not self.built or self._ref_count is None:
            raise ValueError(f"dispose: {self.name} was not used yet, there is nothing to dispose of")
        if self._ref_count == 0:
            raise ValueError(f"dispose: {self.name} is disposed of already")
        self._ref_count -= 1
        weights = self.weights if self._ref_count == 0 else []
        dispose(weights)
        return DisposeResult(self._ref_count, len(weights))

    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name!r}>"


def _shapes(inputs: Any) -> Any:
    """The shape of a tensor, or a list of those of several."""
    return inputs.shape if isinstance(inputs, Tensor) else [x.shape for x in inputs]


def _several(owner: str, shape: Any) -> tuple[list[Shape], bool]:
    """The shapes that `compute_output_shape` returned, and whether there were several."""
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"{owner}: compute_output_shape must return a shape, or a list of shapes, got {shape!r:.100}")
    items = cast("Sequence[Any]", shape)
    several = len(items) > 0 and isinstance(items[0], (list, tuple))
    return [tuple(each) for each in (items if several else [items])], several


def _listed(inputs: Sequence[SymbolicTensor]) -> str:
    return ", ".join(format_shape(x.shape) for x in inputs)


def _unknown_argument(owner: str, name: str, cls: type[Layer]) -> str:
    import inspect  # only errors need it

    known: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            known.update(inspect.signature(base.__init__).parameters)
    known -= {"self", "unknown", "options", "args", "kwargs"}
    return f"{owner}: has no argument {name!r}{suggestion(name, known)}"
