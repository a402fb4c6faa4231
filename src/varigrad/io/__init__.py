"""File formats: the namespace `vg.io`."""

from __future__ import annotations

from varigrad.io.encoding import EncodedWeights as EncodedWeights
from varigrad.io.encoding import encode_weights as encode_weights
from varigrad.io.weights import ModelFileError as ModelFileError
from varigrad.io.weights import decode_weights as decode_weights

__all__ = ["EncodedWeights", "ModelFileError", "decode_weights", "encode_weights"]
