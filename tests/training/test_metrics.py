"""Metrics that count over batches, and those beyond TensorFlow.js: against formulas and SciPy."""

import numpy as np
import pytest
from scipy.stats import rankdata

import varigrad as vg

RANDOM = np.random.default_rng(11)
LABELS = RANDOM.integers(2, size=(50, 1)).astype(np.float32)
# Far enough from every threshold of AUC, and tied in places.
SCORES = ((RANDOM.integers(40, size=(50, 1)) + 0.3) / 41 * 0.9 + 0.03 * LABELS).astype(np.float32)
WEIGHTS = RANDOM.uniform(0.1, 2, size=50).astype(np.float32)


def confusion(weights, threshold=0.5):
    found, right, w = SCORES[:, 0] > threshold, LABELS[:, 0] > 0.5, weights
    return (w * (found & right)).sum(), (w * (found & ~right)).sum(), (w * (~found & right)).sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_precision_and_recall_count_over_batches(weighted, threshold):
    precision, recall = vg.metrics.Precision(threshold), vg.metrics.Recall(threshold)
    for rows in (slice(0, 20), slice(20, 50)):
        for metric in (precision, recall):
            metric.update_state(LABELS[rows], SCORES[rows], WEIGHTS[rows] if weighted else None)
    hits, false, missed = confusion(WEIGHTS if weighted else np.ones(50), threshold)
    assert precision.result() == pytest.approx(hits / (hits + false))
    assert recall.result() == pytest.approx(hits / (hits + missed))
    for metric in (precision, recall):
        metric.reset_state()
        assert metric.result() == 0.0


def test_the_area_under_the_curve_is_that_of_the_ranks():
    metric = vg.metrics.AUC(num_thresholds=2000)
    for rows in (slice(0, 20), slice(20, 50)):
        metric.update_state(LABELS[rows], SCORES[rows])
    positive = LABELS[:, 0] > 0.5
    ranks = rankdata(SCORES[:, 0])
    n = positive.sum()
    expected = (ranks[positive].sum() - n * (n + 1) / 2) / (n * (50 - n))
    assert metric.result() == pytest.approx(expected, abs=1e-9)


def test_scores_of_0_and_1_lie_on_the_curve():
    metric = vg.metrics.AUC()
    metric.update_state([[0], [1], [0], [1]], [[0.0], [1.0], [0.0], [1.0]])
    assert metric.result() == 1.0
    metric.reset_state()
    metric.update_state([[0], [1]], [[0.5], [0.5]])
    assert metric.result() == 0.5


def test_a_class_that_is_missing_gives_0():
    for metric in (vg.metrics.AUC(), vg.metrics.Precision(), vg.metrics.Recall()):
        metric.update_state([[0.0]], [[0.2]])
        assert metric.result() == 0.0


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_top_k_is_what_sorting_gives(k):
    scores = RANDOM.normal(size=(30, 6)).astype(np.float32)
    labels = RANDOM.integers(6, size=30)
    expected = [label in np.argsort(-row)[:k] for label, row in zip(labels, scores)]
    sparse = vg.metrics.sparse_top_k_categorical_accuracy(labels, scores, k)
    np.testing.assert_array_equal(sparse.numpy(), np.array(expected, np.float32))
    one_hot = vg.metrics.top_k_categorical_accuracy(np.eye(6)[labels], scores, k)
    np.testing.assert_array_equal(one_hot.numpy(), sparse.numpy())


def test_huber_is_the_square_up_to_one_and_the_tangent_beyond():
    error = np.linspace(-3, 3, 13)
    expected = np.where(np.abs(error) <= 1, error**2 / 2, np.abs(error) - 0.5)
    np.testing.assert_allclose(vg.metrics.huber(np.zeros([13, 1]), error[:, None]).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_crossentropy_of_logits_of_any_size(sparse):
    logits = np.array([[-400.0, 300.0, 450.0], [0.0, 1.0, 2.0]])
    labels = np.array([0, 1])
    expected = [850.0, np.log(np.exp([0.0, 1.0, 2.0]).sum()) - 1]
    if sparse:
        losses = vg.metrics.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    else:
        losses = vg.metrics.categorical_crossentropy(np.eye(3)[labels], logits, from_logits=True)
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-6)


def test_a_metric_in_fit_counts_over_the_epoch_and_again_over_the_validation():
    model = vg.sequential(layers=[vg.layers.activation(activation="linear", input_shape=[1]), unit()])
    recall = vg.metrics.Recall()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mse", metrics=["precision", recall, "auc"])
    history = model.fit(
        SCORES, LABELS, batch_size=7, epochs=2, validation_data=(SCORES[:20], LABELS[:20]), verbose=0
    ).history
    hits, false, missed = confusion(np.ones(50))
    assert history["precision"] == [pytest.approx(hits / (hits + false))] * 2
    assert history["recall"] == [pytest.approx(hits / (hits + missed))] * 2
    hits, false, missed = confusion((np.arange(50) < 20).astype(float))
    assert history["val_recall"] == [pytest.approx(hits / (hits + missed))] * 2
    assert len(history["auc"]) == 2


def unit():
    return vg.layers.dense(units=1, kernel_initializer="ones", use_bias=False)


@pytest.mark.parametrize(
    ("metric", "y_true", "y_pred"),
    [
        (vg.metrics.mean_squared_error, [[1.0, 2.0]], [[1.0], [2.0]]),
        (vg.metrics.categorical_accuracy, [1.0], [[0.5, 0.5]]),
        (vg.metrics.sparse_categorical_accuracy, [1, 0], [[0.5, 0.5]]),
        (vg.metrics.precision, [1.0, 0.0], [1.0]),
    ],
)
def test_shapes_that_do_not_fit_are_shown(metric, y_true, y_pred):
    with pytest.raises(ValueError, match=rf"{metric.__name__}: y_true .*\(y_true: \["):
        metric(y_true, y_pred)


def test_evaluating_in_a_callback_leaves_the_metrics_of_the_epoch_alone():
    model = vg.sequential(layers=[unit_of_scores()])
    recall = vg.metrics.Recall()
    model.compile(optimizer=vg.train.sgd(0.0), loss="mse", metrics=["mae", recall])
    plain = model.fit(SCORES, LABELS, batch_size=10, shuffle=False, verbose=0).history
    hooks = {"on_batch_end": lambda batch, logs: model.evaluate(SCORES[:3], 1 - LABELS[:3])}
    disturbed = model.fit(SCORES, LABELS, batch_size=10, shuffle=False, callbacks=hooks, verbose=0).history
    assert disturbed == plain
    assert recall.result() == plain["recall"][0]


def unit_of_scores():
    return vg.layers.dense(units=1, kernel_initializer="ones", use_bias=False, input_shape=[1])
