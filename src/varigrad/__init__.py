"""VariGrad: TensorFlow.js's training system in Python."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from varigrad import backends as backends
from varigrad import gradients as gradients
from varigrad import tape as tape
from varigrad import testing as testing
from varigrad import train as train
from varigrad import util as util
from varigrad.autodiff import *
from varigrad.backends import numpy as _numpy_backend  # registers its kernels
from varigrad.buffers import TensorBuffer as TensorBuffer
from varigrad.custom_gradients import *
from varigrad.debugging import *
from varigrad.dtypes import sum_out_type as sum_out_type
from varigrad.dtypes import upcast_type as upcast_type
from varigrad.engine import *
from varigrad.environment import *
from varigrad.errors import *
from varigrad.memory_counts import *
from varigrad.namespaces import answer_names as _answer_names
from varigrad.namespaces import no_such_name as _no_such_name
from varigrad.ops import backend_util as backend_util
from varigrad.ops import broadcast_util as broadcast_util
from varigrad.ops import fused as fused
from varigrad.ops import image as image
from varigrad.ops import linalg as linalg
from varigrad.ops import losses as losses
from varigrad.ops import math as math
from varigrad.ops import methods as _methods
from varigrad.ops import signal as signal
from varigrad.ops import sparse as sparse
from varigrad.ops import spectral as spectral
from varigrad.ops import strings as _strings
from varigrad.ops.activations import *
from varigrad.ops.arithmetic import *
from varigrad.ops.averages import *
from varigrad.ops.comparison import *
from varigrad.ops.convolution import *
from varigrad.ops.counting import *
from varigrad.ops.creation import *
from varigrad.ops.elementwise import *
from varigrad.ops.joining import *
from varigrad.ops.linalg import clip_by_norm as clip_by_norm
from varigrad.ops.linalg import euclidean_norm as euclidean_norm
from varigrad.ops.linalg import norm as norm
from varigrad.ops.losses import Reduction as Reduction
from varigrad.ops.matmul import *
from varigrad.ops.normalization import *
from varigrad.ops.padding import *
from varigrad.ops.pooling import *
from varigrad.ops.ragged import *
from varigrad.ops.random import *
from varigrad.ops.recurrent import *
from varigrad.ops.reduction import *
from varigrad.ops.segment import *
from varigrad.ops.shaping import *
from varigrad.ops.signal import cosine_window as cosine_window
from varigrad.ops.signal import enclosing_power_of_two as enclosing_power_of_two
from varigrad.ops.slicing import *
from varigrad.ops.sparse import sparse_to_dense as sparse_to_dense
from varigrad.ops.spectral import *
from varigrad.ops.trigonometry import *
from varigrad.ops.values import *
from varigrad.profiling import *
from varigrad.registry import *
from varigrad.scopes import *
from varigrad.tape import get_gradient as get_gradient
from varigrad.tape import register_gradient as register_gradient
from varigrad.tape import unregister_gradient as unregister_gradient
from varigrad.tensor import Tensor as Tensor
from varigrad.tensor import Variable as Variable
from varigrad.timing import *
from varigrad.train import AdadeltaOptimizer as AdadeltaOptimizer
from varigrad.train import AdagradOptimizer as AdagradOptimizer
from varigrad.train import AdamaxOptimizer as AdamaxOptimizer
from varigrad.train import AdamOptimizer as AdamOptimizer
from varigrad.train import MomentumOptimizer as MomentumOptimizer
from varigrad.train import Optimizer as Optimizer
from varigrad.train import RMSPropOptimizer as RMSPropOptimizer
from varigrad.train import SGDOptimizer as SGDOptimizer

# Type checkers take imports under another name for private, and assignments for public.
string = _strings

_answer_names(
    backend_util=backend_util,
    broadcast_util=broadcast_util,
    fused=fused,
    image=image,
    linalg=linalg,
    losses=losses,
    math=math,
    signal=signal,
    sparse=sparse,
    spectral=spectral,
    string=string,
    testing=testing,
    train=train,
    util=util,
)

if _TYPE_CHECKING:
    from varigrad import data as data
    from varigrad import vis as vis
    from varigrad.later import *


def __getattr__(name: str) -> _Any:
    """Imports layers, models, files and compilation when one of them is first used, and `vg.data` and `vg.vis`."""
    if name in ("data", "vis"):
        return _import_module(f"varigrad.{name}")
    later: dict[str, _Any] = {} if name.startswith("__") else _later()
    if name not in later:
        raise _no_such_name("varigrad", name, {*globals(), *later})
    globals().update(later)
    return later[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_later()})


def _later() -> dict[str, _Any]:
    names = vars(_import_module("varigrad.later"))
    return {name: value for name, value in names.items() if not name.startswith("_")}


__version__ = "0.1.0"
