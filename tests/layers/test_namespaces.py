"""The namespaces hold all that those of TensorFlow.js 4.22 hold, by the one rule of naming."""

import pytest

import varigrad as vg
from varigrad.keywords import snake_case

# Object.keys(tf.layers) and so on.
NAMES = {
    "layers": """
        Layer RNN RNNCell activation add alphaDropout average averagePooling1d averagePooling2d averagePooling3d
        avgPool1d avgPool2d avgPool3d avgPooling1d avgPooling2d avgPooling3d batchNormalization bidirectional
        categoryEncoding centerCrop concatenate conv1d conv2d conv2dTranspose conv3d conv3dTranspose convLstm2d
        convLstm2dCell cropping2D dense depthwiseConv2d dot dropout elu embedding flatten gaussianDropout
        gaussianNoise globalAveragePooling1d globalAveragePooling2d globalMaxPool1d globalMaxPool2d globalMaxPooling1d
        globalMaxPooling2d gru gruCell input inputLayer layerNormalization leakyReLU lstm lstmCell masking maxPool1d
        maxPool2d maxPooling1d maxPooling2d maxPooling3d maximum minimum multiply permute prelu randomWidth reLU
        repeatVector rescaling reshape resizing rnn separableConv2d simpleRNN simpleRNNCell softmax spatialDropout1d
        stackedRNNCells thresholdedReLU timeDistributed upSampling2d zeroPadding2d
    """,
    "initializers": """
        constant glorotNormal glorotUniform heNormal heUniform identity leCunNormal leCunUniform ones orthogonal
        randomNormal randomUniform truncatedNormal varianceScaling zeros
    """,
    "regularizers": """
        l1 l1l2 l2
    """,
    "constraints": """
        maxNorm minMaxNorm nonNeg unitNorm
    """,
    "metrics": """
        MAPE MSE binaryAccuracy binaryCrossentropy categoricalAccuracy categoricalCrossentropy cosineProximity mape
        meanAbsoluteError meanAbsolutePercentageError meanSquaredError mse precision r2Score recall
        sparseCategoricalAccuracy
    """,
    "callbacks": "earlyStopping",
    "models": "modelFromJSON",
}
# What tf itself has of layers, but for LayerVariable: here, weights are variables like others.
AT_THE_TOP = """
    Callback CallbackList CustomCallback EarlyStopping History LayersModel RNN Sequential SymbolicTensor input
    loadLayersModel model registerCallbackConstructor sequential
"""


@pytest.mark.parametrize("namespace", NAMES)
def test_every_name_of_tensorflow_js_is_here(namespace):
    names = NAMES[namespace].split()
    here = [name if name[0].isupper() else snake_case(name) for name in names]
    assert [name for name in here if not hasattr(getattr(vg, namespace), name)] == []


def test_every_name_at_the_top_is_here():
    here = [name if name[0].isupper() else snake_case(name) for name in AT_THE_TOP.split()]
    assert [name for name in here if not hasattr(vg, name)] == []


def test_every_layer_is_made_by_a_factory_of_its_name():
    factories = {make for make in vars(vg.layers).values() if hasattr(make, "__wrapped__")}
    for make in factories:
        assert getattr(vg.layers, make.__name__) is make
        assert make.__name__.replace("_", "") == make.__wrapped__.__name__.lower()
    classes = {
        name
        for name, value in vars(vg.layers).items()
        if isinstance(value, type) and issubclass(value, vg.layers.Layer)
    }
    # Bases of one's own layers, and models.
    without = {"Layer", "RNNCell", "Wrapper", "LayersModel", "Functional", "Sequential"}
    assert classes - {make.__wrapped__.__name__ for make in factories} <= without
