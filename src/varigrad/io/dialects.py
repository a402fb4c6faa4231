"""Tables of what Keras 1, 2 and 3 and TensorFlow.js call differently in the stored form of a model."""

from __future__ import annotations

from typing import Any

__all__ = ["CLASSES", "CLASSES_WITHOUT", "DTYPE_POLICIES", "HEEDED", "RENAMED", "WITHOUT_MEANING", "from_keras_1"]

# Classes by other names that they had, or have in some versions.
CLASSES: dict[str, str] = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Convolution3D": "Conv3D",
    "Convolution3DTranspose": "Conv3DTranspose",
    "Deconvolution2D": "Conv2DTranspose",
    "DepthwiseConvolution2D": "DepthwiseConv2D",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    "SyncBatchNormalization": "BatchNormalization",
    "UnifiedGRU": "GRU",
    "UnifiedLSTM": "LSTM",
}

# Arguments under another name, in whatever class.
RENAMED: dict[str, str] = {"batch_shape": "batch_input_shape", "input_d_type": "input_dtype"}

# Arguments that say nothing with one of these values; with another, they are for the layer to take or to refuse.
WITHOUT_MEANING: dict[str, tuple[Any, ...]] = {
    "autocast": (True, False, None),
    "build_input_shape": (None,),
    "dynamic": (False, None),
    "fused": (None, True, False),
    "groups": (1, None),
    "input_axes": (None,),
    "is_placeholder": (True, None),
    "keepdims": (False, None),
    "lora_alpha": (None,),
    "lora_rank": (None,),
    "optional": (False, None),
    "output_axes": (None,),
    "quantization_config": (None,),
    "ragged": (False, None),
    "registered_name": (None,),
    "renorm": (False, None),
    "renorm_clipping": (None,),
    "renorm_momentum": (0.99, None),
    "rms_scaling": (False, None),
    "sliding_window": (None,),
    "synchronized": (False, None),
    "time_major": (False, None),
    "type_spec": (None,),
    "unit_forget_bias": (None,),
    "use_cudnn": ("auto", True, False, None),
    "use_gate": (False, None),
    "virtual_batch_size": (None,),
    "zero_output_for_mask": (False, None),
}

# Where one of those does say something.
HEEDED: frozenset[tuple[str, str]] = frozenset(
    (class_name, "groups") for class_name in ("Conv1D", "Conv2D", "Conv3D", "GroupNormalization")
)

# Arguments that these classes have from a base class without heeding them.
_UNHEEDED = ("filters", "kernel_constraint", "kernel_initializer", "kernel_regularizer")
CLASSES_WITHOUT: dict[str, tuple[str, ...]] = {
    "DepthwiseConv1D": _UNHEEDED,
    "DepthwiseConv2D": _UNHEEDED,
    "SeparableConv1D": _UNHEEDED[1:],
    "SeparableConv2D": _UNHEEDED[1:],
    "Sequential": ("build_input_shape", "dtype"),
    "Model": ("dtype",),
    "Functional": ("dtype",),
}

# dtype policies by the dtype of their weights.
DTYPE_POLICIES: dict[str, str] = {"mixed_float16": "float32", "mixed_bfloat16": "float32"}

# What Keras 1 called the arguments of most layers, and of some.
_KERAS_1: dict[str, str] = {
    "atrous_rate": "dilation_rate",
    "b_constraint": "bias_constraint",
    "b_regularizer": "bias_regularizer",
    "bias": "use_bias",
    "border_mode": "padding",
    "dim_ordering": "data_format",
    "dropout_u": "recurrent_dropout",
    "dropout_w": "dropout",
    "filter_length": "kernel_size",
    "init": "kernel_initializer",
    "inner_activation": "recurrent_activation",
    "inner_init": "recurrent_initializer",
    "nb_filter": "filters",
    "output_dim": "units",
    "p": "rate",
    "pool_length": "pool_size",
    "stride": "strides",
    "subsample": "strides",
    "subsample_length": "strides",
    "u_regularizer": "recurrent_regularizer",
    "w_constraint": "kernel_constraint",
    "w_regularizer": "kernel_regularizer",
}
_KERAS_1_OF: dict[str, dict[str, str]] = {
    "BatchNormalization": {"beta_init": "beta_initializer", "gamma_init": "gamma_initializer", "mode": ""},
    "Embedding": {
        "init": "embeddings_initializer",
        "output_dim": "output_dim",
        "w_constraint": "embeddings_constraint",
    },
    "LSTM": {"forget_bias_init": ""},
}
_INITIALIZERS = {"normal": "random_normal", "one": "ones", "uniform": "random_uniform", "zero": "zeros"}
_KERAS_1_VALUES: dict[str, dict[str, str]] = {
    "bias_initializer": _INITIALIZERS,
    "data_format": {"th": "channels_first", "tf": "channels_last"},
    "embeddings_initializer": _INITIALIZERS,
    "kernel_initializer": _INITIALIZERS,
    "recurrent_initializer": _INITIALIZERS,
}
# Names that no later version has: what has one of them is of Keras 1.
_KERAS_1_ALONE = ("border_mode", "init", "inner_init", "nb_filter", "p", "w_regularizer")


def from_keras_1(class_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a layer by the names that they have had since Keras 2.

    >>> from_keras_1("Conv2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 1, "border_mode": "same", "dim_ordering": "tf"})
    {'filters': 2, 'padding': 'same', 'data_format': 'channels_last', 'kernel_size': [3, 1]}
    """
    if not any(name in arguments for name in _KERAS_1_ALONE):
        return arguments
    names = _KERAS_1 | _KERAS_1_OF.get(class_name, {})
    lengths = [arguments.pop(name) for name in ("kernel_dim1", "nb_row", "nb_col") if name in arguments]
    renamed: dict[str, Any] = {}
    for old, value in arguments.items():
        name = names.get(old, old)
        if name:
            renamed[name] = _KERAS_1_VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value
    return renamed | {"kernel_size": lengths} if lengths else renamed
