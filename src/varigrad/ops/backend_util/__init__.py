"""Arithmetic with shapes, for authors of kernels: the namespace `vg.backend_util`.

It is the ops' own. Of `tf.backend_util` it lacks what only a GPU or typed arrays need.
"""

from varigrad.dtypes import upcast_type as upcast_type
from varigrad.ops.backend_util import slice_util as slice_util
from varigrad.ops.backend_util.axes import *
from varigrad.ops.backend_util.parts import *
from varigrad.ops.backend_util.window_checks import *
from varigrad.ops.backend_util.windows import *
from varigrad.ops.broadcast_util import *
