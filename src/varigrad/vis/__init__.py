"""Plots of training, drawn with Matplotlib (`pip install 'varigrad[plots]'`).

from varigrad import vis

vis.plot_history({"loss": losses}, "losses.png")
"""

from __future__ import annotations

import sys as _sys

from varigrad.namespaces import answer_names as _answer_names
from varigrad.vis.live import fit_callbacks
from varigrad.vis.training import plot_gradient_norms, plot_history

__all__ = ["fit_callbacks", "plot_gradient_norms", "plot_history"]

_answer_names(vis=_sys.modules[__name__])
