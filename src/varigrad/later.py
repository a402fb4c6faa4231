"""What `import varigrad` leaves for later: layers, models, files, callbacks and compilation.

`varigrad/__init__.py` takes these names in when the first of them is used, so that a program of tensors, gradients and
optimizers starts without them.
"""

from varigrad import callbacks as callbacks
from varigrad import io as io
from varigrad import layers as layers
from varigrad.callbacks.base import Callback as Callback
from varigrad.callbacks.base import CallbackList as CallbackList
from varigrad.callbacks.base import CustomCallback as CustomCallback
from varigrad.callbacks.base import History as History
from varigrad.callbacks.base import register_callback_constructor as register_callback_constructor
from varigrad.callbacks.monitoring import EarlyStopping as EarlyStopping
from varigrad.jit import CompiledFunction as CompiledFunction
from varigrad.jit import JitError as JitError
from varigrad.jit import JitWarning as JitWarning
from varigrad.jit import jit as jit
from varigrad.layers import constraints as constraints
from varigrad.layers import initializers as initializers
from varigrad.layers import loading as _loading
from varigrad.layers import registry as _serialization
from varigrad.layers import regularizers as regularizers
from varigrad.layers.core import input as input
from varigrad.layers.functional import model as model
from varigrad.layers.loading import load_layers_model as load_layers_model
from varigrad.layers.model import LayersModel as LayersModel
from varigrad.layers.recurrent import RNN as RNN
from varigrad.layers.sequential import Sequential as Sequential
from varigrad.layers.sequential import sequential as sequential
from varigrad.layers.symbolic import SymbolicTensor as SymbolicTensor
from varigrad.layers.training import metrics as metrics
from varigrad.namespaces import answer_names as _answer_names

# Type checkers take imports under another name for private, and assignments for public.
models = _loading
serialization = _serialization

_answer_names(
    callbacks=callbacks,
    constraints=constraints,
    initializers=initializers,
    io=io,
    layers=layers,
    metrics=metrics,
    models=models,
    regularizers=regularizers,
    serialization=serialization,
)
