"""How kernels are differentiated: tables of rules, one file a family.

A rule is `(dy, *saved, **attrs)` and returns one gradient for each input of the kernel (bare where there is one input):
a tensor, None, or a function that makes it if it is wanted. Rules are written with ops, so they can be differentiated.
"""

from __future__ import annotations

from varigrad.gradients import (
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
    padding,
    pooling,
    ragged,
    reduction,
    resampling,
    segment,
    shaping,
    slicing,
    sparse,
    spectral,
    trigonometry,
)
from varigrad.tape import register_gradient

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
    padding,
    pooling,
    ragged,
    reduction,
    resampling,
    segment,
    shaping,
    slicing,
    sparse,
    spectral,
    trigonometry,
)

for _family in _FAMILIES:
    for _name, _gradient in _family.GRADIENTS.items():
        register_gradient(_name, *_gradient)
