"""Penalties on weights, and limits on them."""

import numpy as np
import pytest

import varigrad as vg


# tf.regularizers.X.apply(tf.tensor([1, -2, 3])) in tfjs 4.22.
@pytest.mark.parametrize(
    ("regularizer", "penalty", "config"),
    [
        (vg.regularizers.l1l2(l1=0.1, l2=0.2), 3.4, {"l1": 0.1, "l2": 0.2}),
        (vg.regularizers.l1(), 0.06, {"l1": 0.01, "l2": 0}),
        (vg.regularizers.l2(l2=0.5), 7, {"l1": 0, "l2": 0.5}),
        (vg.regularizers.l1l2(l1=0, l2=0), 0, {"l1": 0, "l2": 0}),
    ],
)
def test_penalties_and_stored_forms_are_those_of_tensorflow_js(regularizer, penalty, config):
    x = vg.tensor([1, -2, 3])
    assert regularizer.apply(x).item() == pytest.approx(penalty, rel=1e-6)
    assert regularizer.apply(x).shape == ()
    layer = vg.layers.dense(units=1, kernel_regularizer=regularizer)
    stored = layer.get_config()["kernel_regularizer"]
    assert stored == {"class_name": "L1L2", "config": config}
    again = vg.layers.dense(units=1, kernel_regularizer=stored)
    assert again.kernel_regularizer.get_config() == config
    if penalty:
        vg.testing.check_gradients(regularizer.apply, [1.0, -2.0, 3.0])


@pytest.mark.parametrize("name", ["l1l2", "L1L2", "l1_l2"])
def test_regularizers_are_found_by_name(name):
    assert vg.layers.dense(units=1, kernel_regularizer=name).kernel_regularizer.get_config() == {"l1": 0.01, "l2": 0.01}


def test_the_penalties_of_a_model_are_those_of_its_weights():
    inner = vg.sequential(
        layers=[
            vg.layers.dense(units=1, bias_regularizer=vg.regularizers.l1(l1=10), bias_initializer="ones", input_dim=2)
        ]
    )
    model = vg.sequential(
        layers=[
            vg.layers.dense(units=2, kernel_regularizer="l1l2", kernel_initializer="ones", input_shape=[3]),
            vg.layers.dropout(rate=0.5),
            inner,
        ]
    )
    losses = model.calculate_losses()
    assert [round(loss.item(), 6) for loss in losses] == [0.12, 10.0]
    _, grads = vg.variable_grads(lambda: vg.add_n(model.calculate_losses()))
    assert len(grads) == 2


# tf.constraints.X.apply(tf.tensor([[1, -2], [3, .5]])) in tfjs 4.22.
@pytest.mark.parametrize(
    ("constraint", "expected", "class_name", "config"),
    [
        (
            vg.constraints.max_norm(max_value=1.5, axis=0),
            [0.4743416, -1.455214, 1.423025, 0.3638034],
            "MaxNorm",
            {"max_value": 1.5, "axis": 0},
        ),
        (vg.constraints.unit_norm(axis=1), [0.4472136, -0.8944272, 0.9863939, 0.164399], "UnitNorm", {"axis": 1}),
        (vg.constraints.non_neg(), [1, 0, 3, 0.5], "NonNeg", {}),
        (
            vg.constraints.min_max_norm(min_value=2.5, max_value=3, rate=0.5, axis=0),
            [0.9743416, -2.212678, 2.923025, 0.5531695],
            "MinMaxNorm",
            {"min_value": 2.5, "max_value": 3, "rate": 0.5, "axis": 0},
        ),
    ],
)
def test_constraints_are_those_of_tensorflow_js(constraint, expected, class_name, config):
    w = vg.tensor([[1, -2], [3, 0.5]])
    np.testing.assert_allclose(constraint.apply(w).numpy().reshape(-1), expected, rtol=1e-5)
    layer = vg.layers.dense(units=2, kernel_constraint=constraint, bias_constraint=None)
    assert layer.get_config()["kernel_constraint"] == {"class_name": class_name, "config": config}
    assert layer.get_config()["bias_constraint"] is None
    again = vg.layers.dense(units=2, kernel_constraint=layer.get_config()["kernel_constraint"])
    assert again.kernel_constraint.get_config() == config


def test_a_constraint_is_carried_by_the_weight():
    layer = vg.layers.dense(units=2, kernel_constraint="nonNeg", input_shape=[2])
    vg.sequential(layers=[layer])
    assert isinstance(layer.kernel.constraint, vg.constraints.NonNeg)
    assert layer.kernel.constraint(vg.tensor([-1, 1])).tolist() == [0, 1]
    assert layer.bias.constraint is None


def test_unknown_ones_are_errors():
    with pytest.raises(ValueError, match="unknown regularizer 'l3'; there are l1, l1l2, l2"):
        vg.layers.dense(units=1, kernel_regularizer="l3")
    with pytest.raises(ValueError, match=r"unknown constraint 'maxnrm'; did you mean 'max_norm'\?"):
        vg.layers.dense(units=1, kernel_constraint="maxnrm")
    with pytest.raises(ValueError, match="unknown constraint class 'Evil'"):
        vg.layers.dense(units=1, kernel_constraint={"class_name": "Evil", "config": {}})
    with pytest.raises(TypeError, match="a regularizer is a name"):
        vg.layers.dense(units=1, kernel_regularizer=3)
