"""Models of Keras, as people have them: small relatives of keras.applications, and recurrent ones.

Each builder takes nothing and makes a model; `MODELS` lists them by name. `WITHOUT_TENSORFLOW_JS` says which of them
TensorFlow.js has no layers for, and why.
"""

import keras
from keras import layers

MODELS = {}
WITHOUT_TENSORFLOW_JS = {}


def model(build=None, *, not_in_tensorflow_js=None):
    """Lists a builder under its name."""
    if build is None:
        return lambda build: model(build, not_in_tensorflow_js=not_in_tensorflow_js)
    MODELS[build.__name__] = build
    if not_in_tensorflow_js:
        WITHOUT_TENSORFLOW_JS[build.__name__] = not_in_tensorflow_js
    return build


def image(size=16, channels=3):
    return layers.Input([size, size, channels])


def convolution(x, filters, kernel=3, strides=1, padding="same", activation="relu", bias=False):
    """A convolution, batch normalization and an activation, as in all of keras.applications."""
    x = layers.Conv2D(filters, kernel, strides, padding, use_bias=bias)(x)
    x = layers.BatchNormalization(epsilon=1e-3)(x)
    return layers.Activation(activation)(x) if activation else x


def classifier(x, classes=5):
    return layers.Dense(classes, activation="softmax")(layers.GlobalAveragePooling2D()(x))


# Feed-forward


@model
def dense():
    return keras.Sequential([layers.Input([5]), layers.Dense(7, activation="relu"), layers.Dense(2)])


@model
def dense_of_every_option():
    stack = [
        layers.Input([4], name="features"),
        layers.Dense(6, use_bias=False, kernel_initializer="he_normal", kernel_regularizer="l2", name="first"),
        layers.Dense(6, activation="tanh", bias_regularizer=keras.regularizers.L1(0.1), kernel_constraint="max_norm"),
        layers.Dense(5, activation="elu", kernel_initializer="orthogonal", bias_initializer="ones"),
        layers.Dense(5, activation="selu", kernel_initializer=keras.initializers.RandomNormal(0.0, 0.1, seed=3)),
        layers.Dense(3, activation="softplus", kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2)),
    ]
    return keras.Sequential(stack, name="options")


@model
def built_without_an_input_layer():
    stack = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dropout(0.5), layers.Dense(2)])
    stack.build([None, 3])
    return stack


@model
def activations():
    x = layers.Input([6])
    kinds = ["relu", "relu6", "sigmoid", "tanh", "softsign", "softplus", "elu", "selu", "linear", "softmax"]
    return keras.Model(x, layers.Concatenate()([layers.Dense(2, activation=kind)(x) for kind in kinds]))


@model
def activation_layers():
    x = layers.Input([6])
    kinds = [
        layers.ReLU(),
        layers.ReLU(max_value=0.4),
        layers.LeakyReLU(negative_slope=0.1),
        layers.ELU(),
        layers.PReLU(),
        layers.Softmax(),
        layers.Activation("tanh"),
    ]
    return keras.Model(x, [kind(layers.Dense(3)(x)) for kind in kinds])


@model
def several_inputs_and_outputs():
    a, b = layers.Input([3], name="a"), layers.Input([4], name="b")
    x = layers.Concatenate()([layers.Dense(4)(a), b])
    return keras.Model([b, a], [layers.Dense(2, name="small")(x), layers.Dense(3, name="large")(x)])


@model
def merges():
    a, b = layers.Input([4]), layers.Input([4])
    x, y = layers.Dense(4)(a), layers.Dense(4)(b)
    kinds = [layers.Add(), layers.Multiply(), layers.Average(), layers.Maximum(), layers.Minimum(), layers.Dot(1)]
    return keras.Model([a, b], layers.Concatenate()([kind([x, y]) for kind in kinds]))


@model
def skip_connections():
    x = inputs = layers.Input([4])
    for _ in range(3):
        x = layers.Add()([x, layers.Dense(4, activation="relu")(x)])
    return keras.Model(inputs, layers.Dense(1)(x))


@model
def shared_layer():
    a, b = layers.Input([4]), layers.Input([4])
    tower = layers.Dense(3, activation="relu")
    return keras.Model([a, b], layers.Dense(1)(layers.Concatenate()([tower(a), tower(b)])))


@model
def shared_at_several_depths():
    """Report R54: a layer used at several depths is wired otherwise after a reload."""
    a, b = layers.Input([4], name="x1"), layers.Input([2, 2], name="x2")
    tower = layers.Dense(4, name="shared")
    deep = tower(layers.Reshape([4])(b))
    shallow = tower(layers.Reshape([4])(tower(a)))
    return keras.Model([a, b], layers.Dense(2)(layers.Concatenate()([deep, shallow])))


@model
def nested_graph():
    inner_input = layers.Input([4])
    inner = keras.Model(inner_input, layers.Dense(3, activation="relu", name="inner_dense")(inner_input), name="inner")
    x = layers.Input([4])
    return keras.Model(x, layers.Dense(2)(inner(x)))


@model
def nested_stack():
    inner = keras.Sequential([layers.Input([4]), layers.Dense(3), layers.BatchNormalization()], name="inner")
    x = layers.Input([4])
    return keras.Model(x, layers.Dense(2)(inner(x)))


@model
def nested_model_at_the_end():
    inner_input = layers.Input([3])
    inner = keras.Model(inner_input, layers.Dense(2, name="inner_dense")(inner_input), name="inner")
    x = layers.Input([4])
    return keras.Model(x, inner(layers.Dense(3)(x)))


@model
def nested_and_shared():
    inner_input = layers.Input([4])
    y = layers.BatchNormalization(name="inner_bn")(layers.Dense(3, name="inner_dense")(inner_input))
    inner = keras.Model(inner_input, y, name="tower")
    a, b = layers.Input([4]), layers.Input([4])
    return keras.Model([a, b], layers.Dense(1)(layers.Concatenate()([inner(a), inner(b)])))


@model
def model_in_a_stack():
    inner_input = layers.Input([4])
    inner = keras.Model(inner_input, layers.Dense(3, name="inner_dense")(inner_input), name="inner")
    return keras.Sequential([layers.Input([4]), inner, layers.Dense(2)])


@model
def partly_frozen():
    inner = keras.Sequential(
        [layers.Input([4]), layers.Dense(4), layers.BatchNormalization(), layers.Dense(4), layers.BatchNormalization()]
    )
    inner.layers[0].trainable = False
    inner.layers[3].trainable = False
    x = layers.Input([4])
    return keras.Model(x, layers.Dense(2)(inner(x)))


@model
def mixed_precision_policy():
    x = layers.Input([4])
    y = layers.Dense(3, dtype=keras.DTypePolicy("float32"))(x)
    return keras.Model(x, layers.Dense(2, dtype="float32")(y))


# Images


@model
def lenet():
    return keras.Sequential(
        [
            layers.Input([16, 16, 1]),
            layers.Conv2D(6, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(8, 3, activation="tanh"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )


@model
def vgg():
    x = inputs = image()
    for filters, count in ((4, 2), (6, 2), (8, 3)):
        for _ in range(count):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D((2, 2), strides=(2, 2))(x)
    x = layers.Dropout(0.5)(layers.Dense(12, activation="relu")(layers.Flatten()(x)))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


@model
def resnet():
    inputs = image()
    x = convolution(layers.ZeroPadding2D(3)(inputs), 6, 7, 2, "valid", bias=True)
    x = layers.MaxPooling2D(3, strides=2)(layers.ZeroPadding2D(1)(x))
    for filters, stride in ((4, 1), (6, 2)):
        shortcut = convolution(x, 4 * filters, 1, stride, activation=None, bias=True)
        y = convolution(x, filters, 1, stride, bias=True)
        y = convolution(y, filters, 3, bias=True)
        y = convolution(y, 4 * filters, 1, activation=None, bias=True)
        x = layers.Activation("relu")(layers.Add()([shortcut, y]))
    return keras.Model(inputs, classifier(x))


@model
def resnet_v2():
    inputs = image()
    x = layers.Conv2D(8, 3, padding="same")(inputs)
    for stride in (1, 2):
        y = layers.Activation("relu")(layers.BatchNormalization(epsilon=1.001e-5)(x))
        shortcut = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
        y = convolution(y, 8, 1)
        y = layers.Conv2D(8, 3, strides=stride, use_bias=False)(layers.ZeroPadding2D(((1, 1), (1, 1)))(y))
        x = layers.Add()([shortcut, y])
    return keras.Model(inputs, classifier(x))


@model(not_in_tensorflow_js="its convolutions have no groups")
def resnext():
    x = inputs = image()
    x = convolution(x, 8, 3, 2)
    for groups in (4, 8):  # some channels together, then each by itself
        y = convolution(x, 8, 1)
        y = layers.Conv2D(16, 3, padding="same", groups=groups, activation="relu")(y)
        x = layers.Add()([x, convolution(y, 8, 1, activation=None)])
    steps = layers.Conv1D(6, 3, groups=2, dilation_rate=2)(layers.Reshape((-1, 8))(x))
    volume = layers.Conv3D(4, 2, groups=2, activation="tanh")(layers.Reshape((4, 4, 4, 8))(x))
    pooled = [layers.GlobalAveragePooling1D()(steps), layers.GlobalAveragePooling3D()(volume)]
    return keras.Model(inputs, layers.Dense(5)(layers.Concatenate()(pooled)))


@model
def mobilenet():
    x = inputs = image()
    x = convolution(x, 4, 3, 2, activation="relu6")
    for filters, stride in ((6, 1), (8, 2)):
        if stride > 1:
            x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
        x = layers.DepthwiseConv2D(3, stride, "same" if stride == 1 else "valid", use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(x)))
    x = layers.GlobalAveragePooling2D(keepdims=True)(x)
    x = layers.Conv2D(5, 1, padding="same")(layers.Dropout(1e-3)(x))
    return keras.Model(inputs, layers.Activation("softmax")(layers.Reshape((5,))(x)))


@model
def mobilenet_v2():
    x = inputs = image()
    x = convolution(x, 4, 3, 2, activation="relu6")
    for filters, stride in ((4, 1), (6, 2), (6, 1)):
        y = convolution(x, 3 * x.shape[-1], 1, activation="relu6")
        y = layers.DepthwiseConv2D(3, stride, "same", use_bias=False)(y)
        y = layers.ReLU(6.0)(layers.BatchNormalization(momentum=0.999)(y))
        y = convolution(y, filters, 1, activation=None)
        x = layers.Add()([x, y]) if stride == 1 and x.shape[-1] == filters else y
    return keras.Model(inputs, classifier(x))


@model
def densenet():
    x = inputs = image()
    x = convolution(x, 6, 3)
    for block in range(2):
        for _ in range(3):
            y = layers.Activation("relu")(layers.BatchNormalization(epsilon=1.001e-5)(x))
            y = convolution(layers.Conv2D(8, 1, use_bias=False)(y), 4)
            x = layers.Concatenate(axis=3)([x, y])
        if block == 0:
            x = layers.AveragePooling2D(2, strides=2)(layers.Conv2D(8, 1, use_bias=False)(x))
    return keras.Model(inputs, classifier(x))


@model
def xception():
    x = inputs = image()
    x = convolution(x, 4, 3, 2, "valid")
    shortcut = convolution(x, 6, 1, 2, activation=None)
    y = layers.BatchNormalization()(layers.SeparableConv2D(6, 3, padding="same", use_bias=False)(x))
    y = layers.Activation("relu")(y)
    y = layers.BatchNormalization()(layers.SeparableConv2D(6, 3, padding="same", depth_multiplier=2)(y))
    y = layers.MaxPooling2D(3, strides=2, padding="same")(y)
    return keras.Model(inputs, classifier(layers.add([y, shortcut])))


@model
def inception():
    x = inputs = image()
    x = convolution(x, 4, 3, 2, "valid")
    branches = [
        convolution(x, 3, 1),
        convolution(convolution(x, 2, 1), 3, 5),
        convolution(convolution(convolution(x, 2, 1), 3, (1, 7)), 3, (7, 1)),
        convolution(layers.AveragePooling2D(3, strides=1, padding="same")(x), 2, 1),
    ]
    x = layers.Concatenate(axis=3)(branches)
    x = layers.Concatenate(axis=3)([convolution(x, 3, 3, 2, "valid"), layers.MaxPooling2D(3, strides=2)(x)])
    return keras.Model(inputs, classifier(x))


def squeeze_and_excite(x, ratio=2, activation="sigmoid"):
    channels = x.shape[-1]
    y = layers.Reshape((1, 1, channels))(layers.GlobalAveragePooling2D()(x))
    y = layers.Conv2D(channels // ratio, 1, padding="same", activation="relu")(y)
    y = layers.Conv2D(channels, 1, padding="same", activation=activation)(y)
    return layers.Multiply()([x, y])


@model
def efficientnet():
    inputs = image()
    x = layers.Rescaling(1.0 / 255.0)(inputs)
    x = convolution(x, 4, 3, 2, activation="swish")
    for filters, stride in ((4, 1), (6, 2)):
        y = convolution(x, 3 * x.shape[-1], 1, activation="swish")
        y = layers.DepthwiseConv2D(3, stride, "same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        y = convolution(squeeze_and_excite(y), filters, 1, activation=None)
        x = layers.Add()([x, layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y)]) if stride == 1 else y
    return keras.Model(inputs, classifier(x))


@model
def squeezenet():
    x = inputs = image()
    x = layers.Conv2D(4, 3, strides=2, activation="relu")(x)
    for squeeze, expand in ((2, 4), (3, 6)):
        s = layers.Conv2D(squeeze, 1, activation="relu")(x)
        wide = layers.Conv2D(expand, 3, padding="same", activation="relu")(s)
        x = layers.Concatenate()([layers.Conv2D(expand, 1, activation="relu")(s), wide])
    return keras.Model(inputs, layers.Softmax()(layers.GlobalAveragePooling2D()(layers.Conv2D(5, 1)(x))))


@model
def nasnet():
    inputs = image()
    x = layers.BatchNormalization(momentum=0.9997)(layers.Conv2D(4, 3, strides=2, use_bias=False)(inputs))
    cropped = layers.AveragePooling2D(1, strides=2)(
        layers.Cropping2D(((1, 0), (1, 0)))(layers.ZeroPadding2D(((0, 1), (0, 1)))(x))
    )
    parts = [
        layers.SeparableConv2D(4, 5, strides=2, padding="same", use_bias=False)(x),
        layers.MaxPooling2D(3, strides=2, padding="same")(x),
        cropped,
    ]
    return keras.Model(inputs, classifier(layers.Concatenate()(parts)))


@model
def convnext():
    inputs = image()
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(6, 4, strides=4)(inputs))
    y = layers.Conv2D(6, 7, padding="same")(x)
    y = layers.Dense(12, activation="relu")(layers.LayerNormalization(epsilon=1e-6)(y))
    x = layers.Add()([x, layers.Dense(6)(y)])
    return keras.Model(inputs, classifier(x))


@model
def unet():
    inputs = image()
    a = convolution(inputs, 4)
    b = convolution(layers.MaxPooling2D()(a), 6)
    c = convolution(layers.MaxPooling2D()(b), 8)
    b = layers.Concatenate()([b, layers.Conv2DTranspose(6, 2, strides=2, padding="same")(c)])
    a = layers.Concatenate()([a, layers.UpSampling2D(2)(convolution(b, 4))])
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(a))


@model(not_in_tensorflow_js="it lays the pixels otherwise")
def bilinear():
    x = inputs = image(4)
    x = layers.UpSampling2D((2, 3), interpolation="bilinear")(x)
    return keras.Model(inputs, layers.Resizing(5, 7)(x))


@model(not_in_tensorflow_js="it knows another hard_sigmoid")
def hard_activations():
    x = inputs = layers.Input([5])
    kinds = ["hard_sigmoid", "hard_silu", "leaky_relu", "exponential", "log_sigmoid", "mish", "gelu", "silu"]
    x = layers.Concatenate()([layers.Dense(2, activation=kind)(x) for kind in kinds])
    return keras.Model(inputs, layers.LSTM(2, recurrent_activation="hard_sigmoid")(layers.Reshape([4, 4])(x)))


@model
def autoencoder():
    return keras.Sequential(
        [
            image(8),
            layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(6),
            layers.Dense(64, activation="relu"),
            layers.Reshape([4, 4, 4]),
            layers.UpSampling2D(),
            layers.Conv2DTranspose(3, 3, padding="same", activation="sigmoid"),
        ]
    )


@model
def discriminator():
    return keras.Sequential(
        [
            image(),
            layers.Conv2D(4, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Dropout(0.3),
            layers.Conv2D(6, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ]
    )


@model
def dilated_convolutions():
    x = inputs = image()
    for rate in (1, 2, 3):
        x = layers.Conv2D(4, 3, padding="same", dilation_rate=rate, activation="relu")(x)
    return keras.Model(inputs, x)


@model
def volumes():
    return keras.Sequential(
        [
            layers.Input([6, 6, 6, 2]),
            layers.Conv3D(3, 3, activation="relu"),
            layers.MaxPooling3D(2),
            layers.Conv3DTranspose(2, 2, strides=2, padding="same"),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )


@model
def signals():
    x = inputs = layers.Input([20, 3])
    x = layers.MaxPooling1D(2)(layers.Conv1D(4, 5, padding="same", activation="relu")(x))
    x = layers.AveragePooling1D(2)(layers.Conv1D(6, 3, padding="same", strides=1)(x))
    return keras.Model(inputs, [layers.GlobalMaxPooling1D()(x), layers.GlobalAveragePooling1D()(x)])


@model(not_in_tensorflow_js="it has these layers for images alone")
def padded_signals():
    return keras.Sequential(
        [
            layers.Input([8, 2]),
            layers.Conv1D(3, 2, padding="causal"),
            layers.ZeroPadding1D(2),
            layers.Cropping1D((0, 1)),
            layers.UpSampling1D(2),
            layers.ELU(0.5),
        ]
    )


@model
def channels_in_front():
    x = inputs = layers.Input([3, 8])
    x = layers.Permute([2, 1])(x)
    return keras.Model(inputs, layers.Flatten()(layers.Conv1D(2, 3)(x)))


@model(not_in_tensorflow_js="it has no group normalization")
def group_normalized():
    x = inputs = image(8)
    x = layers.GroupNormalization(2)(layers.Conv2D(4, 3)(x))
    return keras.Model(inputs, layers.UnitNormalization()(layers.Flatten()(x)))


# keras.applications themselves, as small as they come


def application(name, **options):
    def build():
        made = getattr(keras.applications, name)(weights=None, classes=4, input_shape=(32, 32, 3), **options)
        return made

    build.__name__ = name
    return build


model(application("MobileNet", alpha=0.25))
model(application("MobileNetV2", alpha=0.35))
model(application("MobileNetV3Small", alpha=0.75, minimalistic=True))


# Recurrence


def sequence(steps=6, features=4, **options):
    return layers.Input([steps, features], **options)


RESET_AFTER = "its GRU has no reset_after"


def recurrent(name, *stack, inputs=None, not_in_tensorflow_js=None):
    """Lists a stack of layers, which are made anew at each call."""

    def build():
        return keras.Sequential([inputs() if inputs else sequence(), *(make() for make in stack)])

    build.__name__ = name
    model(build, not_in_tensorflow_js=not_in_tensorflow_js)


recurrent("simple_rnn", lambda: layers.SimpleRNN(3), lambda: layers.Dense(2))
recurrent("lstm", lambda: layers.LSTM(3), lambda: layers.Dense(2))
recurrent("lstm_without_bias", lambda: layers.LSTM(3, use_bias=False, activation="relu", unit_forget_bias=False))
recurrent("lstm_of_any_length", lambda: layers.LSTM(3, return_sequences=True), inputs=lambda: sequence(None))
recurrent("gru_reset_after", lambda: layers.GRU(3), lambda: layers.Dense(2), not_in_tensorflow_js=RESET_AFTER)
recurrent("gru_reset_before", lambda: layers.GRU(3, reset_after=False), lambda: layers.Dense(2))
recurrent("lstm_backwards", lambda: layers.LSTM(3, go_backwards=True, return_sequences=True))
recurrent(
    "stacked_lstm",
    lambda: layers.LSTM(4, return_sequences=True, dropout=0.1, recurrent_dropout=0.1),
    lambda: layers.LSTM(3, return_sequences=True),
    lambda: layers.LSTM(2),
)
recurrent(
    "stacked_cells",
    lambda: layers.RNN([layers.LSTMCell(3), layers.SimpleRNNCell(2), layers.LSTMCell(4)], return_sequences=True),
)
recurrent("rnn_of_a_cell", lambda: layers.RNN(layers.GRUCell(3, reset_after=False)))
for mode in ("concat", "sum", "mul", "ave"):
    recurrent(
        f"bidirectional_lstm_{mode}",
        lambda mode=mode: layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode=mode),
        lambda: layers.Bidirectional(layers.SimpleRNN(2)),
    )
recurrent(
    "bidirectional_gru",
    lambda: layers.Bidirectional(layers.GRU(3)),
    lambda: layers.Dense(2),
    not_in_tensorflow_js=RESET_AFTER,
)
recurrent(
    "time_distributed_dense",
    lambda: layers.LSTM(3, return_sequences=True),
    lambda: layers.TimeDistributed(layers.Dense(2, activation="softmax")),
)
recurrent(
    "time_distributed_convolution",
    lambda: layers.TimeDistributed(layers.Conv2D(3, 3, activation="relu")),
    lambda: layers.TimeDistributed(layers.MaxPooling2D()),
    lambda: layers.TimeDistributed(layers.Flatten()),
    lambda: layers.LSTM(2),
    inputs=lambda: layers.Input([3, 8, 8, 1]),
)
recurrent(
    "conv_lstm",
    lambda: layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True),
    lambda: layers.ConvLSTM2D(2, 3, recurrent_activation="sigmoid"),
    inputs=lambda: layers.Input([3, 6, 6, 2]),
)
recurrent("masking", lambda: layers.Masking(0.0), lambda: layers.LSTM(3), lambda: layers.Dense(2))
recurrent(
    "text_classifier",
    lambda: layers.Embedding(20, 4, mask_zero=True),
    lambda: layers.Bidirectional(layers.LSTM(3)),
    lambda: layers.Dense(1, activation="sigmoid"),
    inputs=lambda: layers.Input([7], dtype="int32"),
)
recurrent(
    "text_convolution",
    lambda: layers.Embedding(20, 4),
    lambda: layers.SpatialDropout1D(0.1),
    lambda: layers.Conv1D(4, 3, activation="relu"),
    lambda: layers.GlobalMaxPooling1D(),
    lambda: layers.Dense(2),
    inputs=lambda: layers.Input([9], dtype="int32"),
)


@model
def noise():
    return keras.Sequential(
        [
            layers.Input([6]),
            layers.GaussianNoise(0.1),
            layers.GaussianDropout(0.1),
            layers.AlphaDropout(0.1),
            layers.Dense(2),
        ]
    )


@model
def repeated_code():
    return keras.Sequential(
        [sequence(), layers.LSTM(4), layers.RepeatVector(5), layers.LSTM(3, return_sequences=True), layers.Dense(2)]
    )


@model
def states_as_outputs():
    x = sequence()
    return keras.Model(x, layers.LSTM(3, return_sequences=True, return_state=True)(x))


@model
def encoder_and_decoder():
    source, target = sequence(6, 4), sequence(5, 3)
    _, h, c = layers.LSTM(3, return_state=True)(source)
    y = layers.LSTM(3, return_sequences=True)(target, initial_state=[h, c])
    return keras.Model([source, target], layers.Dense(2)(y))


@model(not_in_tensorflow_js="it has no attention layer")
def attention():
    query, value = sequence(5, 4), sequence(6, 4)
    y = layers.Attention(use_scale=True)([query, value])
    return keras.Model([query, value], layers.GlobalAveragePooling1D()(layers.AdditiveAttention()([y, value])))


@model(not_in_tensorflow_js="it has no multi-head attention")
def transformer():
    x = inputs = sequence()
    y = layers.MultiHeadAttention(2, 3)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    y = layers.Dense(4)(layers.Dense(8, activation="relu")(x))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    return keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))


# Masks in graphs: Keras spells out how they are computed.


@model
def masked_steps_in_a_graph():
    steps = sequence()
    x = layers.Masking(0.0)(steps)
    x = layers.LayerNormalization()(layers.SimpleRNN(3, return_sequences=True)(x))
    return keras.Model(steps, layers.Bidirectional(layers.LSTM(2))(layers.Dropout(0.1)(x)))


@model
def masked_words_in_a_graph():
    words = layers.Input([7], dtype="int32")
    x = layers.Embedding(20, 4, mask_zero=True)(words)
    x = layers.TimeDistributed(layers.Dense(3, activation="tanh"))(layers.SpatialDropout1D(0.1)(x))
    x = layers.LSTM(3, return_sequences=True)(x)
    return keras.Model(words, [layers.Bidirectional(layers.LSTM(2), merge_mode="sum")(x), layers.SimpleRNN(2)(x)])


@model
def arithmetic_of_tensors():
    x = layers.Input([4])
    return keras.Model(x, layers.Dense(3)((2.0 - x) * 0.5 + layers.Dense(4)(x) * x))


@model
def lengths_to_be_found_out():
    x = layers.Input([6, 2])
    rows = layers.LayerNormalization()(layers.Reshape([1, -1])(layers.Flatten()(x)))
    return keras.Model(x, [layers.Flatten()(layers.Flatten()(rows)), layers.Dense(2)(layers.Reshape([-1, 4])(x))])
