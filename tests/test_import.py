"""What importing the package brings along."""

import copy
import inspect
import pickle
import re
import subprocess
import sys
from operator import attrgetter

import pytest

import varigrad as vg
from varigrad import elsewhere


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


@pytest.mark.parametrize(
    ("namespace", "name", "here"),
    [
        ("", "matMul", "mat_mul"),
        ("", "variableGrads", "variable_grads"),
        ("", "loadLayersModel", "load_layers_model"),
        ("", "customGrad", "custom_grad"),
        ("train", "rmsProp", "rmsprop"),
        ("layers", "maxPooling2d", "max_pooling2d"),
        ("layers", "Maxpooling2D", "MaxPooling2D"),
        ("layers", "leakyReLU", "leaky_re_lu"),
        ("losses", "meanSquaredError", "mean_squared_error"),
        ("metrics", "binaryAccuracy", "binary_accuracy"),
        ("initializers", "glorotNormal", "glorot_normal"),
        ("string", "stringSplit", "string_split"),
        ("data", "readTable", "read_table"),
        ("callbacks", "earlyStopping", "early_stopping"),
        ("image", "resizeBilinear", "resize_bilinear"),
    ],
)
def test_names_in_camel_case_are_answered_with_those_here(namespace, name, here):
    where = getattr(vg, namespace) if namespace else vg
    public = f"varigrad.{namespace}" if namespace else "varigrad"
    with pytest.raises(AttributeError) as told:
        getattr(where, name)
    assert str(told.value) == f"module {public!r} has no attribute {name!r}; it is {here!r} here"
    assert not hasattr(where, name)
    assert getattr(where, here) is not None


@pytest.mark.parametrize(
    ("namespace", "name", "here"),
    [
        ("train", "AdamW", "vg.train.adam(…, weight_decay=…)"),
        ("vg", "concatenate", "vg.concat"),
        ("vg", "take_along_axis", "vg.gather(x, indices, axis, batch_dims)"),
        ("losses", "cross_entropy", "vg.losses.softmax_cross_entropy(vg.one_hot(labels, classes), logits)"),
    ],
)
def test_a_name_of_another_library_is_answered_with_what_stands_for_it(namespace, name, here):
    with pytest.raises(AttributeError, match=f"; it is {re.escape(here)} here$"):
        getattr(vg if namespace == "vg" else getattr(vg, namespace), name)


def test_what_stands_for_names_of_other_libraries_is_there():
    tables = (
        *((elsewhere.FUNCTIONS, vg), (elsewhere.TENSORS, vg.Variable)),
        *((elsewhere.OPTIMIZERS, vg.train.Optimizer), (elsewhere.LAYERS, vg.sequential())),
    )
    for table, owner in tables:
        for name, meant in table.items():
            for path in re.findall(r"vg(?:\.\w+)+", meant):
                assert attrgetter(path.removeprefix("vg."))(vg), path
            for method in re.findall(r"it is (\w+)(?:\(\w*\))? here", meant):
                assert hasattr(owner, method), method
            assert name == name.lower().replace("_", "")


def test_an_optimizer_says_what_stands_for_the_methods_of_others():
    with pytest.raises(AttributeError, match=r"^AdamOptimizer has no attribute 'zero_grad'; gradients are new each"):
        vg.train.adam().zero_grad()
    with pytest.raises(
        AttributeError, match=r"^SGDOptimizer has no attribute 'applyGradients'; it is 'apply_gradients'"
    ):
        vg.train.sgd(0.1).applyGradients({})
    assert not hasattr(vg.train.sgd(0.1), "colour")


def test_modules_are_inspected_and_copied_as_any_other():
    for module in (vg, vg.layers, vg.train):
        assert copy.copy(module.__dict__)
        assert inspect.unwrap(module) is module
        assert inspect.getmodule(module) is module
        assert not hasattr(module, "__wrapped__")
    assert pickle.loads(pickle.dumps(vg.train.SGDOptimizer)) is vg.train.SGDOptimizer


def test_asking_for_what_python_looks_for_brings_nothing_along():
    program = """
import sys
import varigrad as vg
print(hasattr(vg, "__wrapped__"), "varigrad.layers" in sys.modules)
"""
    assert run(program) == ["False", "False"]


def test_a_name_that_there_is_not_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module .varigrad\.train. has no attribute .nothing.$"):
        _ = vg.train.nothing
    assert not hasattr(vg, "no_such_name")
    assert not hasattr(vg, "_later_name")


@pytest.mark.parametrize("namespace", ["image", "initializers", "linalg", "losses", "metrics", "models", "sparse"])
def test_a_namespace_shows_what_is_public_and_not_what_it_is_made_with(namespace):
    module = getattr(vg, namespace)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))


def test_a_name_that_is_not_public_is_no_answer():
    with pytest.raises(AttributeError, match=r"has no attribute 'castTo'$"):
        vg.losses.castTo  # noqa: B018
