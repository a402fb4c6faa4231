"""`varigrad verify`: whether files load, run and agree."""

import numpy as np

import varigrad as vg


def dense(units=2):
    return vg.sequential(layers=[vg.layers.dense(units=units, input_shape=[3])])


def test_a_model_runs(run):
    dense().save("x")
    outcome = run("verify", "x", "--batch", "5")
    assert (outcome.code, outcome.out) == (0, "x: runs, and gives [5, 2]\n")


def test_two_files_of_one_model_agree(run):
    model = dense()
    model.save("x")
    model.save("y.keras")
    outcome = run("verify", "x", "y.keras")
    assert outcome.code == 0
    assert "results agree, largest difference 0" in outcome.out


def test_other_weights_differ(run):
    model = dense()
    model.save("x")
    model.set_weights([w.numpy() * 1.01 for w in model.get_weights()])
    model.save("y.h5")
    outcome = run("verify", "x", "y.h5")
    assert outcome.code == 1
    assert "results differ, largest difference 0.01" in outcome.out
    assert run("verify", "x", "y.h5", "--tolerance", "0.02").code == 0


def test_results_of_another_shape_differ(run):
    dense(2).save("x")
    dense(3).save("y")
    outcome = run("verify", "x", "y")
    assert outcome.code == 1
    assert "y: gives [4, 3]" in outcome.err


def test_models_of_other_inputs_are_not_compared(run):
    dense().save("x")
    vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[4])]).save("y")
    outcome = run("verify", "x", "y")
    assert outcome.code == 2
    assert "not comparable" in outcome.err


def test_embeddings_get_indices_that_they_have(run):
    layers = [vg.layers.embedding(input_dim=3, output_dim=2, input_shape=[None]), vg.layers.lstm(units=2)]
    vg.sequential(layers=layers).save("x")
    assert run("verify", "x").out == "x: runs, and gives [4, 2]\n"


def test_results_that_are_not_finite_fail(run):
    model = dense()
    model.set_weights([np.full(w.shape, np.inf, np.float32) for w in model.get_weights()])
    model.save("x.keras")
    outcome = run("verify", "x.keras")
    assert outcome.code == 1
    assert "not finite" in outcome.err
