"""What importing the package brings along."""

import subprocess
import sys

import varigrad as vg


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_tensors_and_optimizers_come_without_layers_scipy_or_llvm():
    program = """
import sys
import varigrad as vg
x = vg.variable([1.0, 2.0])
vg.train.sgd(0.1).minimize(lambda: vg.relu(x).sum())
heavy = ("varigrad.layers", "varigrad.io", "varigrad.jit", "varigrad.callbacks", "scipy", "llvmlite", "h5py", "rich")
print(*[name for name in heavy if name in sys.modules])
print("loaded:", vg.sequential.__name__, "varigrad.layers" in sys.modules)
"""
    assert run(program) == ["loaded:", "sequential", "True"]


def test_names_that_come_later_are_listed_and_found():
    assert {"sequential", "jit", "layers", "callbacks", "load_layers_model", "data", "add"} - {*dir(vg)} <= {"data"}
    assert callable(vg.jit)
    assert vg.models.model_from_json is not None


def test_a_name_that_there_is_not_is_an_attribute_error():
    assert not hasattr(vg, "no_such_name")
    assert not hasattr(vg, "_later_name")
