"""`vg.math`, as `tf.math`."""

from __future__ import annotations

from varigrad.ops.counting import confusion_matrix

__all__ = ["confusion_matrix"]
