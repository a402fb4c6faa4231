"""The chapters under `examples/` run as scripts and give the numbers worked out by hand, or by TensorFlow.js."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAPTERS = sorted(EXAMPLES.glob("chapter*.py"))


def run(name: str):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]()


def test_there_are_five_chapters():
    assert len(CHAPTERS) == 5


@pytest.mark.parametrize("script", CHAPTERS, ids=lambda p: p.stem)
def test_each_chapter_runs_as_a_script(script):
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


def test_chapter_1_value_and_gradients():
    value, grads = run("chapter1_variable_grads")
    assert value == 14.75
    assert grads == {"x": [2.0, 4.0, 6.0], "y": [1.0, 1.0, 1.0]}


def test_chapter_2_value_gradients_and_steps():
    outcome = run("chapter2_gradient_descent")
    assert outcome.value == 16.0
    assert outcome.grads == {"a": [5.0, 8.0], "b": [1.0, 2.0]}
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    expected = []
    for _ in range(5):
        expected.append((a * a).sum() + (b * a).sum())
        a, b = a - 0.1 * (2 * a + b), b - 0.1 * a
    np.testing.assert_allclose(outcome.values, expected, rtol=1e-6)
    assert outcome.tensors_after == outcome.tensors_before


def test_chapter_3_corners_branches_and_loops():
    assert run("chapter3_control_flow") == {
        "value": 4.0,
        "gradient": [1.0, -1.0, 1.0],
        "positive": [2.0, 4.0],
        "negative": [-1.0, -1.0],
        "cube": [3.0, 12.0],
    }


def test_chapter_4_every_optimizer_lowers_the_loss():
    losses = run("chapter4_layer_by_hand")
    assert len(losses) == 9
    # relu([1, 2] @ [[.1, .2], [.3, .4]] + [.1, .1]) = [.8, 1.1]; mean of [.3², .1²]
    for name, curve in losses.items():
        assert curve[0] == pytest.approx(0.05, rel=1e-6)
        assert curve[-1] < 0.5 * curve[0], name
    # One step of sgd by hand: dz = [.3, .1]; weights -= .1 [1, 2]ᵀ dz; bias -= .1 dz.
    z = np.array([0.8, 1.1]) - 0.1 * np.array([0.3, 0.1]) * (1 + 4 + 1)
    assert losses["sgd"][1] == pytest.approx(np.mean((z - [0.5, 1.0]) ** 2), rel=1e-5)


def test_chapter_5_both_versions_agree_and_leave_nothing_behind():
    tidy, by_hand = run("chapter5_training_loop")
    assert len(tidy.losses) == len(tidy.errors) == 100
    assert tidy.losses == by_hand.losses
    assert tidy.errors == by_hand.errors
    for a, b in zip(tidy.weights, by_hand.weights, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (tidy.left_over, by_hand.left_over) == (0, 0)
    assert tidy.losses[-1] < 0.2 * tidy.losses[0]


def test_chapter_5_draws_its_plot(tmp_path):
    plot = tmp_path / "losses.png"
    runpy.run_path(str(EXAMPLES / "chapter5_training_loop.py"))["main"](str(plot))
    assert plot.read_bytes().startswith(b"\x89PNG")
