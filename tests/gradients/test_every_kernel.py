"""No kernel slips through: each has a gradient and a case that checks it, or is listed as having none."""

import importlib.util
from pathlib import Path

from varigrad.engine import kernel_names
from varigrad.tape import gradient_names

# Kernels that have no derivative: their results are bools or integers, or they compute from nothing.
NOT_DIFFERENTIABLE: dict[str, str] = {
    "All": "gives bools",
    "Any": "gives bools",
    "ArgMax": "gives integers",
    "ArgMin": "gives integers",
    "BitwiseAnd": "gives integers",
    "BitwiseNot": "gives integers",
    "BitwiseOr": "gives integers",
    "BitwiseXor": "gives integers",
    "BroadcastArgs": "gives integers",
    "ConfusionMatrix": "gives integers",
    "DropoutMask": "computes from nothing",
    "Equal": "gives bools",
    "Eye": "computes from nothing",
    "Fill": "computes from nothing",
    "Greater": "gives bools",
    "GreaterEqual": "gives bools",
    "InTopK": "gives bools",
    "IsFinite": "gives bools",
    "IsInf": "gives bools",
    "IsNan": "gives bools",
    "LastWriters": "computes from integers",
    "Less": "gives bools",
    "LessEqual": "gives bools",
    "LinSpace": "computes from nothing",
    "LogicalAnd": "gives bools",
    "LogicalNot": "gives bools",
    "LogicalOr": "gives bools",
    "LogicalXor": "gives bools",
    "Multinomial": "gives integers",
    "NonMaxSuppressionV3": "gives integers",
    "NonMaxSuppressionV4": "gives integers",
    "NotEqual": "gives bools",
    "OneHot": "computes from integers",
    "OtsuThreshold": "gives the place of a maximum",
    "RandomGamma": "computes from nothing",
    "RandomNormal": "computes from nothing",
    "RandomUniform": "computes from nothing",
    "Range": "computes from nothing",
    "SearchSorted": "gives integers",
    "SparseReshape": "gives integers",
    "StaticRegexReplace": "gives strings",
    "StringNGrams": "gives strings",
    "StringSplit": "gives strings",
    "StringToHashBucketFast": "gives integers",
    "TruncatedNormal": "computes from nothing",
    "WholeIndices": "gives integers",
    "WrapIndices": "gives integers",
}


def checked_kernels() -> set[str]:
    """The kernels with a row in the `CASES` of a family's test file."""
    names: set[str] = set()
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        spec = importlib.util.spec_from_file_location(f"cases_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        names |= {case.split(":")[0].strip() for case in getattr(module, "CASES", {})}
    return names


def registered(names: list[str]) -> set[str]:
    """Without the kernels that other tests and doctests register."""
    return {n for n in names if not n.startswith("Test") and not n.endswith("Example")}


def test_every_gradient_is_checked_by_differences():
    assert registered(gradient_names()) - checked_kernels() == set()


def test_every_kernel_has_a_gradient_or_is_listed():
    without = registered(kernel_names()) - registered(gradient_names())
    assert without == set(NOT_DIFFERENTIABLE)
