"""Masks in graphs of real Keras 3: what layers find by themselves is left out of the graph, and nothing else is."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

keras = pytest.importorskip("keras", reason="Keras is not installed: pip install -e '.[test-keras]'")
from keras import layers  # noqa: E402

from .running import difference, predicted_by_keras, randomize  # noqa: E402  (it needs Keras)

pytestmark = pytest.mark.filterwarnings("ignore")  # Keras's own
WORDS = [np.int32([[3, 1, 0, 0], [2, 0, 4, 0]]), np.int32([[1, 0, 2, 0], [0, 0, 0, 3]])]

MERGED = {
    "sum": lambda a, b: layers.LSTM(2)(layers.Add()([a, b])),
    "product of three": lambda a, b: layers.GRU(2)(layers.Multiply()([a, layers.Dense(3)(a), a])),
    "one after the other": lambda a, b: layers.LSTM(2)(layers.Concatenate(axis=1)([a, b])),
    "side by side": lambda a, b: layers.LSTM(2)(layers.Concatenate()([a, layers.Dense(2)(a)])),
    "attention": lambda a, b: layers.GlobalAveragePooling1D()(layers.Attention()([a, b])),
    "heads": lambda a, b: layers.LSTM(2)(layers.LayerNormalization()(layers.MultiHeadAttention(2, 2)(a, b))),
    "residual": lambda a, b: layers.LSTM(2)(layers.Add()([a, layers.LSTM(3, return_sequences=True)(a)])),
    "only some": lambda a, b: layers.Concatenate()([layers.LSTM(2)(layers.Conv1D(3, 1)(a)), layers.LSTM(2)(b)]),
}


def words_and(build):
    inputs = [layers.Input([4], dtype="int32") for _ in WORDS]
    vectors = [layers.Embedding(5, 3, mask_zero=True)(x) for x in inputs]
    return randomize(keras.Model(inputs, build(*vectors)))


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", MERGED)
def test_masks_of_several_inputs_are_found_again(name, suffix, tmp_path):
    theirs = words_and(MERGED[name])
    theirs.save(tmp_path / f"x{suffix}")
    ours = vg.load_layers_model(tmp_path / f"x{suffix}")
    assert difference(ours.predict(WORDS), predicted_by_keras(theirs, WORDS)) < 1e-5
    ours.save(tmp_path / f"y{suffix}")
    back = keras.models.load_model(tmp_path / f"y{suffix}", compile=False)
    assert difference(predicted_by_keras(back, WORDS), predicted_by_keras(theirs, WORDS)) < 1e-5


# Behind an operation Keras 3 has no mask, and behind a few of its layers.
LOST = {
    "scaled": lambda x: layers.LSTM(2)(x * 2.0),
    "scaled, for attention": lambda x: layers.MultiHeadAttention(2, 2)(x * 2.0, x * 2.0),
    "doubled": lambda x: layers.GlobalAveragePooling1D()(layers.Dense(3)(x + x)),
    "activated": lambda x: layers.Bidirectional(layers.GRU(2))(keras.ops.relu(x)),
    "averaged": lambda x: keras.ops.mean(x, axis=1),
    "largest": lambda x: keras.ops.max(x, axis=1),
    "normalized": lambda x: layers.LSTM(2)(layers.RMSNormalization()(x)),
    "in a model": lambda x: keras.Sequential([layers.Input([4, 3]), layers.LSTM(2)])(x - 1.0),
}


def words_alone(build):
    words = layers.Input([4], dtype="int32")
    return randomize(keras.Model(words, build(layers.Embedding(5, 3, mask_zero=True)(words))))


@pytest.mark.parametrize("name", LOST)
def test_a_mask_that_keras_loses_is_lost(name, tmp_path):
    theirs = words_alone(LOST[name])
    theirs.save(tmp_path / "x.keras")
    ours = vg.load_layers_model(tmp_path / "x.keras")
    expected = predicted_by_keras(theirs, WORDS[0])
    assert difference(ours.predict(WORDS[0]), expected) < 1e-5
    ours.save(tmp_path / "y.keras")
    back = keras.models.load_model(tmp_path / "y.keras", compile=False)
    assert difference(predicted_by_keras(back, WORDS[0]), expected) < 1e-5


def test_a_mask_that_is_lost_in_one_place_and_counts_in_another_is_an_error(tmp_path):
    both = words_alone(lambda x: layers.Add()([layers.LSTM(2)(x), layers.LSTM(2)(x * 2.0)]))
    both.save(tmp_path / "x.keras")
    with pytest.raises(ModelFileError, match=r"the mask of layer 'embedding[_0-9]*' is lost"):
        vg.load_layers_model(tmp_path / "x.keras")


def of_steps_lost():
    """Steps are left out by a layer that also makes them zero."""
    x = layers.Input([4, 3])
    return keras.Model(x, layers.LSTM(2)(layers.Masking()(x) * 2.0))


def of_its_own():
    """A mask given to a layer whose input has none."""
    words = layers.Input([4], dtype="int32")
    x = layers.Embedding(5, 3)(words)
    return keras.Model(words, layers.LSTM(2)(x, mask=keras.ops.not_equal(words, 0)))


def of_other_steps():
    """The mask of an embedding, given to a layer behind one that ends it."""
    words = layers.Input([4], dtype="int32")
    embedding = layers.Embedding(5, 3, mask_zero=True)
    x = layers.Conv1D(3, 1)(embedding(words))
    return keras.Model(words, layers.LSTM(2)(x, mask=embedding.compute_mask(words)))


def of_either():
    """Keras 3 lets a step count if it counts in either input, layers here if it counts in both."""
    return words_and(lambda a, b: layers.LSTM(2)(layers.Concatenate()([a, b])))


def of_factors():
    """Keras 3 leaves factors out of products that do not count."""
    return words_and(lambda a, b: layers.LSTM(2)(layers.Multiply()([a, b])))


@pytest.mark.parametrize("build", [of_its_own, of_other_steps, of_either, of_factors, of_steps_lost])
def test_a_mask_that_no_layer_finds_is_not_dropped(build, tmp_path):
    build().save(tmp_path / "x.keras")
    with pytest.raises(ModelFileError, match=r"the operation|is lost in Keras"):
        vg.load_layers_model(tmp_path / "x.keras")


def test_an_operation_on_a_mask_that_is_a_result_too_stays(tmp_path):
    words = layers.Input([4], dtype="int32")
    embedding = layers.Embedding(5, 3, mask_zero=True)
    keras.Model(words, [layers.LSTM(2)(embedding(words)), embedding.compute_mask(words)]).save(tmp_path / "x.keras")
    with pytest.raises(ModelFileError, match="is the operation NotEqual"):
        vg.load_layers_model(tmp_path / "x.keras")
