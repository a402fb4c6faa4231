"""Penalties on what layers give, `activity_regularizer`, which count while a gradient is taken."""

from __future__ import annotations

from typing import Any
from weakref import ref

from varigrad.layers.base import Layer
from varigrad.layers.regularizers import Regularizer
from varigrad.observe import OBSERVERS
from varigrad.ops.arithmetic import div
from varigrad.tape import Tape
from varigrad.tensor import Tensor

__all__ = ["PenalizesActivity"]


class PenalizesActivity(Layer):
    """Base of layers that have an `activity_regularizer`.

    As in Keras 3, the penalty is that of the regularizer over the batch's size; TensorFlow.js ignores it. `call` hands
    its result to `_penalized`. The penalties of a step are those of all its calls since the tape that records it began,
    so that a layer used twice counts twice, and a step that never asks for them leaves nothing behind.
    """

    activity_regularizer: Regularizer | None = None
    moved_on = ("_activity",)  # of the running step, which a compiled step does without

    def _penalized(self, y: Tensor, training: bool | None) -> Tensor:
        """The result, whose penalty is remembered if the call is a step of training."""
        if self.activity_regularizer is not None and training:
            tape = _tape()
            if tape is not None:
                known, penalties = self.__dict__.get("_activity", (None, []))
                if known is None or known() is not tape:
                    penalties: list[Tensor] = []
                    self._activity = (ref(tape), penalties)
                penalties.append(div(self.activity_regularizer.apply(y), max(y.shape[0], 1)))
        return y

    def calculate_losses(self) -> list[Tensor]:
        known, penalties = self.__dict__.get("_activity", (None, []))
        tape = _tape()
        ours = list(penalties) if known is not None and tape is not None and known() is tape else []
        return super().calculate_losses() + ours

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_activity", None)  # tensors of a step
        return state


def _tape() -> Tape | None:
    """The tape that records now, the innermost of several."""
    return next((o for o in reversed(OBSERVERS.get()) if isinstance(o, Tape)), None)
