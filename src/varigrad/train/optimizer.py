"""`Optimizer`: what every optimizer does apart from its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from varigrad.autodiff import VariableGrads, variable_grads
from varigrad.backends.numpy.optimizers import Rule, fused
from varigrad.dtypes import is_floating
from varigrad.engine import NO_ATTRS, host_tensors, register_update, update_variables
from varigrad.errors import DisposedError
from varigrad.ops.arguments import cast_to, convert
from varigrad.ops.assignment import assign
from varigrad.tensor import Tensor, Variable, find_variable, format_shape
from varigrad.train.clipping import clip_all_by_global_norm, clip_all_by_norm, clip_all_by_value
from varigrad.train.decay import remaining, shrink
from varigrad.train.named import by_name, other_variables
from varigrad.train.step_numbers import StepNumbers
from varigrad.train.stored import Gradients, LearningRate, StoredOptimizer

__all__ = ["Gradients", "LearningRate", "Optimizer", "register_rule"]

R = TypeVar("R")

# The variables to update, their gradients and their slots.
_Update: TypeAlias = tuple[tuple[Variable, ...], tuple[Tensor, ...], tuple[Tensor, ...]]


def register_rule(name: str, rule: Rule) -> None:
    """Registers the update kernel `name` of an optimizer of one's own, from its rule.

    `rule(gradient, slots, delta, work, *numbers)` works on flat NumPy arrays of one size: it changes the slots in
    place and leaves in `delta` what is to be subtracted from the variables; `work` is scratch. `numbers` are the
    optimizer's `step_values`, as arrays of rank 0. See `Optimizer`.

    >>> import numpy as np
    >>> import varigrad as vg
    >>> def descent(gradient, slots, delta, work, rate):
    ...     np.multiply(gradient, rate, delta)
    >>> vg.train.register_rule("ApplyDescentExample", descent)
    >>> w, gradient, numbers = vg.variable([1.0]), vg.tensor([4.0]), vg.tensor([0.5])
    >>> vg.update_variables("ApplyDescentExample", (w,), (gradient, numbers))
    >>> w.tolist()
    [-1.0]
    """
    register_update(name, fused(rule))


class Optimizer(StoredOptimizer):
    """Base of the optimizers: applies gradients to variables, one fused update a step.

    State belongs to a variable, found by its name: variables may be missing from a step, frozen (`trainable` False:
    skipped, with no change of state), added and reordered without touching another's. A new variable under an old name
    starts afresh. Two threads may share an optimizer.

    Variables of float16 and bfloat16 are updated in float32, with slots of float32, and rounded after each step. What
    is less than half of the last digit of a number is then lost; where steps get that small, keep the variable in
    float32 and cast what is computed with it.

    A subclass names its update kernel, its slots and its hyperparameters, and computes the step's numbers:

    >>> import numpy as np
    >>> import varigrad as vg
    >>> def sign_rule(gradient, slots, delta, work, rate):
    ...     np.sign(gradient, delta)
    ...     np.multiply(delta, rate, delta)
    >>> vg.train.register_rule("ApplySignExample", sign_rule)
    >>> class SignOptimizer(vg.train.Optimizer):
    ...     class_name = "Sign"
    ...     kernel = "ApplySignExample"
    ...     def step_values(self, rate):
    ...         return (rate,)
    >>> w = vg.variable([1.0, -1.0], name="sign_example")
    >>> SignOptimizer(learning_rate=0.5).minimize(lambda: w.square().sum())
    >>> w.tolist()
    [0.5, -0.5]

    Args:
        learning_rate: A number, or a function of the number of updates made so far, such as a schedule. A plain
            attribute, as are all hyperparameters: what is assigned counts from the next step on.
        clip_norm: Scales each variable's gradient down to this Euclidean norm, if longer.
        global_clip_norm: Scales all gradients down, alike, to this norm of all of them together.
        clip_value: Clips each number in the gradients to [-clip_value, clip_value]. At most one of the three.
        weight_decay: Decoupled weight decay, which makes of Adam AdamW: before a step, each variable of it loses
            learning_rate * weight_decay of what it is. A number for all; or a dict of numbers by patterns of names,
            of which the first that fits counts, such as `{"*/kernel": 0.01}`, or `{"*bias": 0, "*": 0.01}`.
    """

    kernel: ClassVar[str] = ""
    # What a compiled step is compiled for; it looks up everything else each time it runs.
    compiled_for: ClassVar[tuple[str, ...]] = (
        *("update_kernel", "clip_norm", "global_clip_norm", "clip_value", "weight_decay"),
        "_slots",
    )

    # What a subclass gives

    @property
    def update_kernel(self) -> str:
        """The name of the update kernel; by default the class's `kernel`."""
        return self.kernel

    def step_values(self, rate: float) -> tuple[float, ...]:
        """The numbers that the rule needs at this step, of learning rate `rate`; `self.iterations` updates precede."""
        raise NotImplementedError(f"{type(self).__name__} must define step_values")

    # Training

    @property
    def current_learning_rate(self) -> float:
        """The learning rate of the next update, as a number."""
        rate = self.learning_rate
        return float(rate(self._iterations)) if callable(rate) else float(rate)

    def set_learning_rate(self, learning_rate: LearningRate) -> None:
        """Assigns `learning_rate`. Mirrors `setLearningRate` of `tf.SGDOptimizer`."""
        self.learning_rate = learning_rate

    def minimize(
        self, f: Callable[[], Any], return_cost: bool = False, var_list: Sequence[Variable] | None = None
    ) -> Tensor | None:
        """Computes the gradients of the scalar that `f()` returns, applies them, and gives the scalar if asked to.

        Args:
            f: A function of no arguments that returns a scalar.
            return_cost: Whether to return the scalar.
            var_list: The variables to train; by default the trainable ones that `f` uses.

        Mirrors `minimize` of `tf.train.Optimizer`.
        """
        value, gradients = self.compute_gradients(f, var_list)
        self.apply_gradients(gradients)
        return value if return_cost else None

    def compute_gradients(self, f: Callable[[], Any], var_list: Sequence[Variable] | None = None) -> VariableGrads:
        """The value of `f()` and its gradients, as `vg.variable_grads` gives them."""
        return variable_grads(f, var_list)

    def apply_gradients(self, gradients: Gradients) -> None:
        """Updates variables by their gradients, all or none of them.

        Args:
            gradients: A dict of gradients by variable name; a list of named tensors (`NamedTensor`,
                `{"name": …, "tensor": …}`); or, as in TensorFlow, pairs of a gradient and its variable. Each gradient
                has its variable's shape; None leaves the variable as it is.

        Raises:
            ValueError: A name that no variable has; a gradient of another shape, or that is not floating-point; what a
                constraint raises. Nothing has changed then.

        Mirrors `applyGradients` of `tf.train.Optimizer`.
        """
        with self._lock:
            updates = self._ready_updates(gradients)
            if updates is None:
                updates = self._checked_updates(gradients)
            if self.clip_norm is not None or self.global_clip_norm is not None or self.clip_value is not None:
                updates = self._clip(updates)
            constrained = [
                (target, constraint)
                for targets, _, _ in updates
                for target in targets
                if (constraint := target.constraint) is not None
            ]
            undo = self._undoing(updates) if constrained else None
            decaying = remaining(self, [v for targets, _, _ in updates for v in targets]) if self.weight_decay else ()
            kernel = self.update_kernel
            dtypes = list(dict.fromkeys([given[0].storage.dtype for _, given, _ in updates]))
            steps = dict(zip(dtypes, host_tensors(StepNumbers(self, dtypes))))
            try:
                for target, part in decaying:
                    shrink(target, part)
                for targets, given, slots in updates:
                    step = steps[given[0].storage.dtype]
                    update_variables(kernel, targets, (*given, step), NO_ATTRS, slots)
                for target, constraint in constrained:
                    assign(target, constraint(target))
            except BaseException:
                if undo is not None:
                    undo()
                raise

    def _undoing(self, updates: list[_Update]) -> Callable[[], None]:
        """A function that takes a step back: the variables, the slots and the count of steps as they are now."""
        # Memory that is held here is copied before it is updated.
        values = [(target, target.storage) for targets, _, _ in updates for target in targets]
        states = [(slot, slot.storage.copy()) for _, _, slots in updates for slot in slots]
        iterations = self._iterations

        def undo() -> None:
            for target, storage in values:
                target.storage = storage
            for slot, numbers in states:
                slot.storage[...] = numbers
            self._iterations = iterations

        return undo

    def advance(self, use: Callable[[tuple[float, ...]], R]) -> R:
        """Counts this step and gives what `use` makes of its numbers, all that changes on the host."""
        rate = self.learning_rate
        if callable(rate):
            rate = rate(self._iterations)
        try:
            made = use(self.step_values(float(rate)))
        except (TypeError, ValueError):
            given = {"learning_rate": rate, **{name: getattr(self, name) for name in self.hyperparameters[1:]}}
            for name, value in given.items():
                if value is None or isinstance(value, (str, bytes, list, tuple, dict)):
                    raise TypeError(f"{self.class_name}: {name} must be a number, got {value!r}") from None
            raise
        self.__dict__["_iterations"] += 1  # without __setattr__, for every step comes here
        return made

    def _ready_updates(self, gradients: Gradients) -> list[_Update] | None:
        """The updates of a step that is like those before: a dict with a fitting gradient for every variable met so
        far and no other. None where anything is to be looked into."""
        if not isinstance(gradients, dict):
            return None
        updates: list[_Update] = []
        count = 0
        try:
            for group in self._slots.groups:
                dtype = group.dtype
                targets: list[Variable] = []
                given: list[Tensor] = []
                for name, reference, shape in group.members:
                    target: Any = reference()
                    gradient = gradients[name]
                    array = gradient.storage
                    target.storage  # noqa: B018 (raises where it was disposed of)
                    if array.shape != shape or array.dtype is not dtype or not target.trainable:
                        return None
                    targets.append(target)
                    given.append(gradient)
                updates.append((tuple(targets), tuple(given), group.slots))
                count += len(given)
        except (KeyError, AttributeError, DisposedError):
            return None
        return updates if count == len(gradients) else None

    def checked_gradients(self, gradients: Gradients) -> dict[str, Tensor]:
        """The gradients to be applied, by variable name: without those that are None or whose variable is frozen.

        Raises:
            ValueError: As `apply_gradients` does.
        """
        op = f"{self.class_name}.apply_gradients"
        named = by_name(op, gradients)
        self._check_alive(op)
        given: dict[str, Tensor] = {}
        for name, gradient in named.items():
            variable = find_variable(name)
            if variable is None:
                raise ValueError(f"{op}: there is no variable named {name!r}; {other_variables(named)}")
            if gradient is not None:
                gradient = self._checked_gradient(variable, gradient)
                if variable.trainable:
                    given[name] = gradient
        return given

    def _checked_updates(self, gradients: Gradients) -> list[_Update]:
        given = self.checked_gradients(gradients)
        variables = {name: cast("Variable", find_variable(name)) for name in given}
        self._slots.meet(variables, self._fills())
        updates: list[_Update] = []
        for group in self._slots.groups:
            present = {
                position: variable
                for position, member in enumerate(group.members)
                if (variable := variables.get(member.name)) is not None and variable is member.variable()
            }
            if len(present) == len(group.members):
                targets = tuple(present.values())
                updates.append((targets, tuple([given[v.name] for v in targets]), group.slots))
                continue
            for position, variable in present.items():
                updates.append(((variable,), (given[variable.name],), group.part(position)))
        return updates

    def _checked_gradient(self, variable: Variable, gradient: Any) -> Tensor:
        op = f"{self.class_name}.apply_gradients"
        gradient = convert(gradient, op, f"the gradient for {variable.name!r}")
        if gradient.shape != variable.shape:
            raise ValueError(
                f"{op}: the gradient for {variable.name!r} has shape {format_shape(gradient.shape)} but the variable "
                f"has {format_shape(variable.shape)}"
            )
        if not is_floating(variable.dtype) or not is_floating(gradient.dtype):
            raise ValueError(
                f"{op}: the gradient for {variable.name!r} is {gradient.dtype} and the variable {variable.dtype} (both "
                f"of shape {format_shape(variable.shape)}); both must be floating-point"
            )
        return gradient if gradient.dtype == variable.dtype else cast_to(gradient, variable.dtype)

    def _clip(self, updates: list[_Update]) -> list[_Update]:
        self._check_clipping()
        gradients = [gradient for _, given, _ in updates for gradient in given]
        if self.clip_norm is not None:
            clipped = clip_all_by_norm(gradients, self.clip_norm)
        elif self.global_clip_norm is not None:
            clipped = clip_all_by_global_norm(gradients, self.global_clip_norm)
        else:
            limit = cast("float", self.clip_value)
            clipped = clip_all_by_value(gradients, -limit, limit)
        rest = iter(clipped)
        return [(targets, tuple([next(rest) for _ in given]), slots) for targets, given, slots in updates]
