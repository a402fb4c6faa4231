"""Methods that are not functions of `vg` too."""

import varigrad as vg


def test_conversions_to_a_dtype():
    x = vg.tensor([-1.5, 0.0, 2.9])
    assert x.to_int().tolist() == [-1, 0, 2]
    assert x.to_int().dtype == "int32"
    assert x.to_bool().tolist() == [True, False, True]
    assert x.to_bool().to_float().tolist() == [1.0, 0.0, 1.0]
    assert x.to_bool().to_float().dtype == "float32"
