"""`from_config` of everything that has a stored form, given what is no config: an error that names the class."""

import pytest

import varigrad as vg
from varigrad.keywords import snake_case
from varigrad.layers.registry import registered_class

LAYERS = sorted(
    make.__wrapped__.class_name
    for make in vars(vg.layers).values()
    if isinstance(getattr(make, "__wrapped__", None), type) and issubclass(make.__wrapped__, vg.layers.Layer)
)
CLASSES = {
    **{name: registered_class(name) for name in [*dict.fromkeys(LAYERS), "Sequential", "Model", "Functional"]},
    **{
        f"{namespace}.{name}": cls
        for namespace in ("initializers", "regularizers", "constraints")
        for name, cls in vars(getattr(vg, namespace)).items()
        if isinstance(cls, type) and cls.__module__ == f"varigrad.layers.{namespace}"
    },
    **{
        f"train.{name}": cls
        for name, cls in vars(vg.train).items()
        if isinstance(cls, type) and issubclass(cls, (vg.train.Optimizer, vg.train.Schedule))
    },
}
NO_CONFIGS = [3, None, "dense", b"", [], [1], [("units", 3)], object(), {1: 2}, {None: 2}]


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_no_config_is_refused_in_the_name_of_the_class(name):
    cls = CLASSES[name]
    for config in NO_CONFIGS:
        with pytest.raises(TypeError, match=rf"^{cls.__name__}\.from_config: takes a dict"):
            cls.from_config(config)


@pytest.mark.parametrize("name", CLASSES)
def test_a_config_of_something_else_is_refused_in_the_name_of_the_class(name):
    cls = CLASSES[name]
    class_name = getattr(cls, "class_name", cls.__name__)
    names = (class_name, snake_case(class_name), snake_case(cls.__name__))
    for config in ({"nonsense": 1}, {"nonsense": 1, "name": 3}, {"nonsense": [], "units": "x"}):
        with pytest.raises((TypeError, ValueError)) as caught:
            cls.from_config(config)
        assert any(word in str(caught.value) for word in names), caught.value


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Dense", "dense: needs units"),
        ("Conv2D", "conv2d: needs filters and kernel_size"),
        ("DepthwiseConv2D", "depthwise_conv2d: needs kernel_size"),
        ("LSTM", "lstm: needs units"),
        ("Bidirectional", "bidirectional: needs layer"),
        ("TimeDistributed", "time_distributed: needs layer"),
        ("RNN", "rnn: needs cell"),
        ("initializers.Constant", "constant: needs value"),
        ("train.MomentumOptimizer", "Momentum: needs learning_rate and momentum"),
        ("train.CosineDecay", "CosineDecay: needs initial_learning_rate and decay_steps"),
    ],
)
def test_what_is_missing_is_named(name, told):
    with pytest.raises((TypeError, ValueError), match=f"^{told}"):
        CLASSES[name].from_config({})


def test_the_layer_of_a_wrapper_is_named_where_it_is_wrong():
    with pytest.raises(ValueError, match=r"^bidirectional: layer: a stored rnn needs 'class_name' and 'config', got 3"):
        vg.layers.Bidirectional.from_config({"layer": 3})
    dense = {"class_name": "Dense", "config": {"units": 1}}
    with pytest.raises(ValueError, match=r"^bidirectional: layer: 'Dense' makes a Dense, where a rnn is wanted"):
        vg.layers.Bidirectional.from_config({"layer": dense})


CAMEL_CASE = [
    ("initializers.random_uniform", "maxVal", "did you mean 'maxval'"),
    ("initializers.variance_scaling", "Mode", "it is 'mode' here"),
    ("regularizers.l1l2", "L1", "it is 'l1' here"),
    ("constraints.max_norm", "maxValue", "it is 'max_value' here"),
    ("input", "batchShape", "it is 'batch_shape' here"),
    ("model", "outPuts", "did you mean 'outputs'"),
    ("load_layers_model", "customObjects", "it is 'custom_objects' here"),
    ("train.adam", "learningRate", "it is 'learning_rate' here"),
    ("train.momentum", "useNesterov", "it is 'use_nesterov' here"),
    ("train.sgd", "clipNorm", "it is 'clip_norm' here"),
    ("train.cosine_decay", "initialLearningRate", "it is 'initial_learning_rate' here"),
    ("callbacks.early_stopping", "minDelta", "it is 'min_delta' here"),
    ("callbacks.model_checkpoint", "saveBestOnly", "it is 'save_best_only' here"),
    ("layers.dense", "kernelInitializer", "it is 'kernel_initializer' here"),
    ("layers.lstm", "returnSequences", "it is 'return_sequences' here"),
    ("LayersModel.compile", "lossWeights", "it is 'loss_weights' here"),
    ("LayersModel.fit", "batchSize", "it is 'batch_size' here"),
    ("LayersModel.fit_dataset", "batchesPerEpoch", "it is 'batches_per_epoch' here"),
    ("LayersModel.evaluate", "sampleWeight", "it is 'sample_weight' here"),
    ("LayersModel.predict", "batchSize", "it is 'batch_size' here"),
    ("LayersModel.save", "includeOptimizer", "it is 'include_optimizer' here"),
    ("LayersModel.summary", "lineLength", "it is 'line_length' here"),
]
NEEDED = {"layers.dense": {"units": 1}, "layers.lstm": {"units": 1}}


@pytest.mark.parametrize(("name", "option", "hint"), CAMEL_CASE)
def test_an_option_in_camel_case_is_told_in_snake_case(name, option, hint):
    make = vg
    for part in name.split("."):
        make = getattr(make, part)
    given = [vg.sequential()] if name.startswith("LayersModel") else []
    with pytest.raises(TypeError, match=f"has no argument '{option}'; {hint}"):
        make(*given, **NEEDED.get(name, {}), **{option: 1})
