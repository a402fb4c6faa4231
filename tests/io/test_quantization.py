"""Weights in fewer bits. Expected codes are those of TensorFlow.js's converter, or follow from its formula."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.io.quantization import choose_dtypes, dequantize, fit_grid, quantize

FINITE = st.floats(-(2.0**99), 2.0**99, width=32)


def encoded(values, dtype):
    data, specs = vg.io.encode_weights({"w": np.asarray(values, np.float32)}, quantize=dtype)
    return data, specs[0]["quantization"], vg.io.decode_weights(data, specs)["w"].numpy()


# Report R57, of tensorflowjs 4.22: quantization.quantize_weights.
@pytest.mark.parametrize(
    ("values", "codes", "scale", "minimum", "decoded"),
    [
        ([-0.3, 0, 1.0], [0, 59, 255], 0.005098039262435015, -0.3007843164836659, [-0.3007843, 0, 0.9992157]),
        ([-1, 0, 2], [0, 85, 255], 3 / 255, -1.0, [-1, 0, 2]),
        ([0.25, 0.25], [0, 0], 1.0, 0.25, [0.25, 0.25]),
        ([2, 3, 4], [0, 128, 255], 2 / 255, 2.0, [2, 2 + 128 * 2 / 255, 4]),
        ([-4, -2], [0, 255], 2 / 255, -4.0, [-4, -2]),
    ],
)
def test_one_byte_codes_are_those_of_the_converter(values, codes, scale, minimum, decoded):
    data, stored, read = encoded(values, "uint8")
    assert list(data) == codes
    assert stored["scale"] == pytest.approx(scale, rel=1e-12)
    assert stored["min"] == pytest.approx(minimum, rel=1e-12)
    assert (stored["dtype"], stored["original_dtype"]) == ("uint8", "float32")
    np.testing.assert_allclose(read, np.float32(decoded), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@settings(max_examples=100)
@given(values=st.lists(FINITE, min_size=1, max_size=30))
def test_no_number_is_off_by_more_than_a_step_and_zero_stays_zero(dtype, values):
    array = np.float32([*values, 0.0])
    _, stored, read = encoded(array, dtype)
    # Rounded once to float32 at the end.
    slack = np.spacing(np.abs(array).max()) if array.any() else 0
    assert np.abs(read.astype(float) - array).max() <= stored["scale"] * (1 + 1e-9) + slack
    assert read[-1] == 0


def test_a_huge_outlier_costs_the_others_their_values_and_the_report_says_so():
    values = np.float32([0.01, -0.02, 0.03, 1000])
    grid = fit_grid(values, "uint8")
    codes, error = quantize(values, "uint8", grid)
    assert codes.tolist() == [0, 0, 0, 255]
    assert error == pytest.approx(0.03, rel=1e-3)
    assert quantize(values, "uint16", fit_grid(values, "uint16"))[1] < 0.016


def test_half_precision_rounds_and_overflow_is_an_error():
    data, stored, read = encoded([1.0, 1.0004, -2.5], "float16")
    assert stored == {"dtype": "float16", "original_dtype": "float32"}
    assert read.tolist() == np.float16([1.0, 1.0004, -2.5]).astype(np.float32).tolist()
    assert len(data) == 6
    with pytest.raises(ValueError, match=r"'w' holds numbers beyond 65504"):
        encoded([70000.0], "float16")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_has_no_code(dtype, bad):
    with pytest.raises(ValueError, match=f"'w' holds numbers that are not finite, and cannot be quantized as {dtype}"):
        encoded([1.0, bad], dtype)


def test_only_float32_is_quantized():
    tensors = {
        "i": vg.tensor([1, 2], dtype="int32"),
        "b": vg.tensor([True]),
        "s": vg.tensor(["x"]),
        "empty": vg.zeros([0]),
        "f": vg.tensor([1.0, 2.0]),
    }
    _, specs = vg.io.encode_weights(tensors, quantize="uint8")
    assert [spec["name"] for spec in specs if "quantization" in spec] == ["f"]


def test_large_arrays_are_worked_on_in_pieces_that_fit_together():
    values = np.linspace(-1, 3, 600_001, dtype=np.float32).reshape(1, -1)
    grid = fit_grid(values, "uint16")
    codes, error = quantize(values, "uint16", grid)
    expected = np.rint((values.astype(float) - grid.minimum) / grid.scale)
    np.testing.assert_array_equal(codes, expected)
    read = dequantize(codes, "float32", grid)
    np.testing.assert_array_equal(read, np.float32(codes * grid.scale + grid.minimum))
    assert error == np.abs(read.astype(float) - values).max()


NAMES = ["conv_1/kernel", "conv_1/bias", "dense/kernel", "dense/bias"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("uint8", dict.fromkeys(NAMES, "uint8")),
        ({"uint8": "*"}, dict.fromkeys(NAMES, "uint8")),
        ({"uint16": "*/kernel"}, {"conv_1/kernel": "uint16", "dense/kernel": "uint16"}),
        ({"uint8": "conv_1/kernel,dense/kernel"}, {"conv_1/kernel": "uint8", "dense/kernel": "uint8"}),
        (
            {"uint8": ["conv*/kernel"], "float16": "dense/*"},
            {NAMES[0]: "uint8", NAMES[2]: "float16", NAMES[3]: "float16"},
        ),
        ({"uint8": "conv_?/*", "uint16": True}, {n: "uint8" if "conv" in n else "uint16" for n in NAMES}),
    ],
)
def test_patterns_choose_as_those_of_the_converter(wanted, expected):
    assert choose_dtypes(NAMES, wanted) == expected


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        ("uint4", ValueError, "there is no 'uint4'"),
        ({"int8": "*"}, ValueError, "there is no 'int8'"),
        ({"uint8": "*", "uint16": "dense/*"}, ValueError, "'dense/kernel' fits patterns of uint8 and of uint16"),
        ({"uint8": True, "uint16": True}, ValueError, "uint8 and uint16 are both for all other weights"),
        ({"uint8": 3}, TypeError, "uint8 needs patterns"),
        (3, TypeError, "must be a dtype"),
    ],
)
def test_wrong_choices_are_errors(wanted, error, message):
    with pytest.raises(error, match=message):
        choose_dtypes(NAMES, wanted)


def test_a_pattern_that_fits_nothing_is_warned_of():
    with pytest.warns(UserWarning, match="no weight fits the pattern 'cnov'"):
        choose_dtypes(NAMES, {"uint8": "cnov"})


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16"])
def test_a_saved_model_is_smaller_and_the_result_says_how_far_off(tmp_path, dtype):
    model = vg.sequential(layers=[vg.layers.dense(units=16, input_shape=[32])])
    result = model.save(tmp_path, quantize={dtype: "*/kernel"})
    kernel, bias = model.get_weights()
    width = 1 if dtype == "uint8" else 2
    assert result.model_artifacts_info.weight_data_bytes == 32 * 16 * width + 16 * 4
    loaded_kernel, loaded_bias = vg.load_layers_model(tmp_path).get_weights()
    worst = float(np.abs(loaded_kernel.numpy().astype(float) - kernel.numpy()).max())
    assert result.quantization_errors == {model.weights[0].original_name: pytest.approx(worst)}
    assert 0 < worst < 0.01
    assert loaded_bias.tolist() == bias.tolist()


def test_quantized_weights_that_straddle_shards_are_read_back_bit_for_bit(tmp_path):
    layers = [vg.layers.dense(units=7, input_shape=[13]), vg.layers.dense(units=3)]
    model = vg.sequential(layers=layers)
    model.save(tmp_path / "whole", quantize={"uint16": "*/kernel"})
    model.save(tmp_path / "cut", quantize={"uint16": "*/kernel"}, weight_shard_size_bytes=5)
    paths = json.loads((tmp_path / "cut" / "model.json").read_text())["weightsManifest"][0]["paths"]
    assert len(paths) == -(-(2 * (13 * 7 + 7 * 3) + 4 * 10) // 5)
    whole, cut = (vg.load_layers_model(tmp_path / name).get_weights() for name in ("whole", "cut"))
    assert [w.tolist() for w in whole] == [w.tolist() for w in cut]
