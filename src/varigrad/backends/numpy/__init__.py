"""The NumPy backend: the reference for what every kernel computes.

Each family's file ends in a table `KERNELS`, name to function; a few have `UPDATES`, for kernels that write into
variables.
"""

from __future__ import annotations

from varigrad.backends.numpy import (
    activations,
    arithmetic,
    clipping,
    comparison,
    convolution,
    counting,
    creation,
    elementwise,
    fused,
    image,
    joining,
    linalg,
    losses,
    matmul,
    normalization,
    optimizers,
    padding,
    pooling,
    ragged,
    random,
    reduction,
    resampling,
    segment,
    shaping,
    slicing,
    sparse,
    spectral,
    strings,
    trigonometry,
)
from varigrad.engine import register_kernel, register_update

__all__: list[str] = []

_FAMILIES = (
    activations,
    arithmetic,
    clipping,
    comparison,
    convolution,
    counting,
    creation,
    elementwise,
    fused,
    image,
    joining,
    linalg,
    losses,
    matmul,
    normalization,
    optimizers,
    padding,
    pooling,
    ragged,
    random,
    reduction,
    resampling,
    segment,
    shaping,
    slicing,
    sparse,
    spectral,
    strings,
    trigonometry,
)

for _family in _FAMILIES:
    for _name, _kernel in _family.KERNELS.items():
        register_kernel(_name, "numpy", _kernel)
    for _name, _update in getattr(_family, "UPDATES", {}).items():
        register_update(_name, _update)
