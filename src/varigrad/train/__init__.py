"""Optimizers, learning-rate schedules, gradient clipping and accumulation, averages of weights."""

from __future__ import annotations

from varigrad.train.accumulation import *
from varigrad.train.averages import *
from varigrad.train.clipping import *
from varigrad.train.named import NamedTensor as NamedTensor
from varigrad.train.optimizer import *
from varigrad.train.optimizers import *
from varigrad.train.schedules import *
