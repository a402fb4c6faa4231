"""Training of models: compile, fit, evaluate; losses and metrics."""

from __future__ import annotations

from varigrad.layers.training.trainable import Trainable

__all__ = ["Trainable"]
