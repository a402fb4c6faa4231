"""Functions of single numbers, and of two with broadcasting."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from .draw import Array, Draw
from .operation import Op, differs, empty, has, shapes_differ


def numbers(*arrays: Any) -> tuple[Any, ...]:
    """Bools as integers, as arithmetic takes them, and both of the wider kind."""
    arrays = tuple(np.asarray(a, np.int32) if np.asarray(a).dtype.kind == "b" else a for a in arrays)
    if len({np.asarray(a).dtype.kind for a in arrays}) > 1:
        wide = np.complex128 if any(np.asarray(a).dtype.kind == "c" for a in arrays) else np.float64
        arrays = tuple(np.asarray(a, wide) for a in arrays)
    return arrays


def of_numbers(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of bools as integers."""
    return lambda *arrays: f(*numbers(*arrays))


def of_floats(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of integers and bools as floats."""
    return lambda *arrays: f(*[a if np.asarray(a).dtype.kind in "fc" else np.asarray(a, np.float64) for a in arrays])


# One argument. The range keeps functions away from where they overflow or fall to nothing, unless special values are
# drawn, which have their own rules.


def one(kinds: str, low: float = -3, high: float = 3, special: float = 0.2) -> Callable[[Draw], tuple[Any, ...]]:
    """One array of one of the kinds."""

    def draw(d: Draw) -> tuple[Any, ...]:
        shape = d.shape()
        kind = d.one_of(*kinds)
        return (d.floats(shape, low, high, special) if kind == "f" else d.array(shape, kind),)

    return draw


NO_COMPLEX = differs("TensorFlow.js takes no complex numbers", has("c"))
NUMBERS_OF_BOOLS = differs("numbers made of bools are int32; in TensorFlow.js they stay bools", has("b"))
FLOATS_OF_INTEGERS = differs("fractions made of integers are float32; TensorFlow.js cuts them to integers", has("ib"))


def _gelu(x: Any, approximate: bool) -> Any:
    if approximate:
        return np.where(
            np.isinf(x), np.maximum(x, 0), x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        )
    return np.where(np.isinf(x), np.maximum(x, 0), x * special.ndtr(x))


def _sign(x: Any) -> Any:
    return np.where(np.isnan(x), 0, np.sign(x)).astype(x.dtype)


def _step(x: Any, alpha: float) -> Any:
    return np.where(np.isnan(x), np.nan, np.where(x > 0, 1, alpha))


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

UNARY = [
    Op(
        "abs",
        one("fibc"),
        of_numbers(np.abs),
        gradients=(0,),
        differs=NUMBERS_OF_BOOLS,
        gradient_differs=differs(
            "the slope at 0 is 0, in TensorFlow.js -1", lambda case: bool(np.any(case.args[0] == 0))
        ),
    ),
    Op("neg", one("fibc"), of_numbers(np.negative), gradients=(0,), differs=NUMBERS_OF_BOOLS + NO_COMPLEX),
    Op("square", one("fibc"), of_numbers(np.square), gradients=(0,), differs=NUMBERS_OF_BOOLS + NO_COMPLEX),
    Op("sqrt", one("fc", -1, 9), np.sqrt, gradients=(0,), differs=NO_COMPLEX),
    Op("rsqrt", one("fc", -1, 9), lambda x: 1 / np.sqrt(x), gradients=(0,), differs=NO_COMPLEX),
    Op("reciprocal", one("fib"), of_floats(np.reciprocal), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("exp", one("fibc", -90, 90), of_floats(np.exp), gradients=(0,), differs=NO_COMPLEX),
    Op("expm1", one("fib", -20, 20), of_floats(np.expm1), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("log", one("fc", -1, 9), np.log, gradients=(0,), differs=NO_COMPLEX),
    Op("log1p", one("fib", -1.5, 9), of_floats(np.log1p), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("erf", one("fib"), of_floats(special.erf), javascript="six digits of it, by a formula of Abramowitz and Stegun"),
    Op("sign", one("fib"), of_numbers(_sign), gradients=(0,), differs=NUMBERS_OF_BOOLS),
    Op("ceil", one("f"), np.ceil, gradients=(0,)),
    Op("floor", one("f"), np.floor, gradients=(0,)),
    Op("round", one("fib"), of_numbers(lambda x: np.rint(x).astype(x.dtype)), gradients=(0,), differs=NUMBERS_OF_BOOLS),
    Op("is_nan", one("fibc"), np.isnan, differs=NO_COMPLEX),
    Op("is_inf", one("fibc"), np.isinf, differs=NO_COMPLEX),
    Op("is_finite", one("fibc"), np.isfinite, differs=NO_COMPLEX),
    Op("relu", one("fib"), of_numbers(lambda x: np.maximum(x, 0)), gradients=(0,), differs=NUMBERS_OF_BOOLS),
    Op("relu6", one("fib", -9, 9), of_numbers(lambda x: np.clip(x, 0, 6)), gradients=(0,), differs=NUMBERS_OF_BOOLS),
    Op(
        "selu",
        one("fib"),
        of_floats(lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(x))),
        gradients=(0,),
        differs=FLOATS_OF_INTEGERS,
    ),
    Op("sigmoid", one("f", -90, 90), special.expit, gradients=(0,)),
    Op("log_sigmoid", one("fib", -90, 90), of_floats(special.log_expit), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op(
        "softplus",
        one("fib", -90, 90),
        of_floats(lambda x: np.logaddexp(x, 0)),
        gradients=(0,),
        differs=FLOATS_OF_INTEGERS,
    ),
    Op(
        "gelu",
        lambda d: (*one("fib", -5, 5)(d), d.chance()),
        lambda x, approximate: _gelu(np.asarray(x, np.float64), approximate),
        size=lambda x, approximate: np.abs(x),
        javascript="only as an activation of layers",
    ),
    Op("elu", one("f"), lambda x: np.where(x > 0, x, np.expm1(x)), gradients=(0,)),
    Op(
        "leaky_relu",
        lambda d: (*one("fib")(d), d.number(-1, 1)),
        lambda x, alpha: np.where(np.asarray(x, np.float64) >= 0, x, alpha * x),
        gradients=(0,),
    ),
    Op("step", lambda d: (*one("fib")(d), d.number(-2, 2)), None, gradients=(0,), differs=NUMBERS_OF_BOOLS),
    Op(
        "clip_by_value",
        lambda d: (*one("fib")(d), d.number(-3, -1), d.number(-1, 3)),
        None,
        gradients=(0,),
        differs=NUMBERS_OF_BOOLS
        + differs("integers stay within limits that are fractions; TensorFlow.js cuts the limits", has("i")),
    ),
    Op("logical_not", one("b"), np.logical_not),
    Op("sin", one("fc"), np.sin, gradients=(0,), differs=NO_COMPLEX),
    Op("cos", one("fc"), np.cos, gradients=(0,), differs=NO_COMPLEX),
    Op("tan", one("f", -1.4, 1.4), np.tan, gradients=(0,)),
    Op("asin", one("fib", -1.2, 1.2), of_floats(np.arcsin), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("acos", one("fib", -1.2, 1.2), of_floats(np.arccos), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("atan", one("fib"), of_floats(np.arctan), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("sinh", one("fib", -20, 20), of_floats(np.sinh), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("cosh", one("f", -20, 20), np.cosh, gradients=(0,)),
    Op("tanh", one("fc"), np.tanh, gradients=(0,), differs=NO_COMPLEX),
    Op("asinh", one("fib", -90, 90), of_floats(np.arcsinh), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("acosh", one("fib", 0.5, 90), of_floats(np.arccosh), gradients=(0,), differs=FLOATS_OF_INTEGERS),
    Op("atanh", one("fib", -1.2, 1.2), of_floats(np.arctanh), gradients=(0,), differs=FLOATS_OF_INTEGERS),
]


# Two arguments


def two(kinds: str, low: float = -3, high: float = 3, special: float = 0.2) -> Callable[[Draw], tuple[Any, ...]]:
    """Two arrays, perhaps of different kinds, that broadcast."""

    def draw(d: Draw) -> tuple[Any, ...]:
        shape = d.shape()
        shapes = [shape, d.broadcasting(shape)]
        if d.chance():
            shapes.reverse()
        kind = d.one_of(*kinds)
        arrays: list[Array] = []
        for each in shapes:
            chosen = kind if d.chance(0.7) else d.one_of(*kinds)
            arrays.append(d.floats(each, low, high, special) if chosen == "f" else d.array(each, chosen))
        return tuple(arrays)

    return draw


def _powers(d: Draw) -> tuple[Any, ...]:
    """Floats to any power where the base is positive, and to whole ones elsewhere; integers to whole powers."""
    shape = d.shape()
    other = d.broadcasting(shape)
    if d.chance(0.3):
        return d.integers(shape, -4, 4), d.integers(other, -2, 6)
    if d.chance():
        return d.floats(shape, 0, 4, 0.1), d.floats(other, -3, 3, 0.1)
    return d.floats(shape, -4, 4), np.rint(d.floats(other))


def _pow(base: Any, exp: Any) -> Any:
    base, exp = numbers(base, exp)
    if base.dtype.kind == "i":
        wide = np.power(base.astype(np.float64), exp)
        return np.trunc(np.where(np.isfinite(wide), wide, 0)).astype(np.int64)
    return np.power(base, exp)


def _floor_div(a: Any, b: Any) -> Any:
    a, b = numbers(a, b)
    if a.dtype.kind == "i":
        return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))
    return np.floor_divide(a, b)


def _div(a: Any, b: Any) -> Any:
    a, b = numbers(a, b)
    return _floor_div(a, b) if a.dtype.kind == "i" else np.divide(a, b)


def _div_no_nan(a: Any, b: Any) -> Any:
    a, b = numbers(a, b)
    return np.where(b == 0, 0, _div(a, np.where(b == 0, 1, b)))


def _mod(a: Any, b: Any) -> Any:
    a, b = numbers(a, b)
    if a.dtype.kind == "i":
        return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))
    return np.mod(a, b)


def _larger(a: Any, b: Any) -> Any:
    return np.abs(a) + np.abs(b)


_COMPLEX_BROADCAST = differs(
    "TensorFlow.js broadcasts complex numbers wrongly", lambda case: case.has("c") and shapes_differ(case)
)
_INFINITE_POWER = differs(
    "1 to whatever power is 1, as in Python; JavaScript has NaN for infinite ones",
    lambda case: bool(np.any(np.abs(case.args[0]) == 1)) and not np.isfinite(case.args[1]).all(),
)
_ORIGIN = differs(
    "the gradient at the origin is 0; TensorFlow.js has NaN",
    lambda case: bool(np.any(np.equal(case.args[0], 0) & np.equal(case.args[1], 0))),
)
_NOT_SUMMED = differs("TensorFlow.js does not sum the gradient of what was broadcast", shapes_differ)
_TIES = differs(
    "equal values share the gradient; in TensorFlow.js the first takes all of it",
    lambda case: bool(np.any(np.equal(case.args[0], case.args[1]))),
)


def _prelu(x: Any, alpha: Any) -> Any:
    return np.where(np.asarray(x) >= 0, x, alpha * np.asarray(x, np.float64))


def _where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, *((a, b) if a.dtype == b.dtype else numbers(a, b)))


def _choices(d: Draw) -> tuple[Any, ...]:
    a, b = two("fib")(d)
    shape = np.broadcast_shapes(a.shape, b.shape)
    return d.bools(d.broadcasting(shape)), a, b


_of_numbers = partial(Op, gradients=(0, 1), differs=NUMBERS_OF_BOOLS + _COMPLEX_BROADCAST)

BINARY = [
    _of_numbers("add", two("fibc"), of_numbers(np.add), size=_larger),
    _of_numbers("sub", two("fibc"), of_numbers(np.subtract), size=_larger),
    _of_numbers("mul", two("fibc"), of_numbers(np.multiply), size=lambda a, b: np.abs(a) * np.abs(b)),
    Op("div", two("fib"), _div, gradients=(0, 1), differs=NUMBERS_OF_BOOLS),
    Op("div_no_nan", two("fib"), _div_no_nan, differs=NUMBERS_OF_BOOLS),
    Op(
        "floor_div",
        two("fib", special=0),
        _floor_div,
        differs=differs("floats stay floats, as in Python; TensorFlow.js gives int32", has("fb")),
    ),
    Op("mod", two("fib", special=0), _mod, size=_larger, gradients=(0, 1), differs=NUMBERS_OF_BOOLS),
    Op(
        "pow",
        _powers,
        _pow,
        ulps=8,
        gradients=(0, 1),
        differs=_INFINITE_POWER,
        gradient_differs=_NOT_SUMMED,
    ),
    Op(
        "maximum",
        two("fib"),
        of_numbers(np.maximum),
        gradients=(0, 1),
        gradient_differs=_TIES + _NOT_SUMMED,
    ),
    Op(
        "minimum",
        two("fib"),
        of_numbers(np.minimum),
        gradients=(0, 1),
        gradient_differs=_TIES + _NOT_SUMMED,
    ),
    Op(
        "squared_difference",
        two("fib"),
        of_numbers(lambda a, b: np.square(a - b)),
        size=lambda a, b: np.square(_larger(a, b)),
        gradients=(0, 1),
        differs=NUMBERS_OF_BOOLS,
        gradient_differs=_NOT_SUMMED,
    ),
    Op(
        "atan2",
        two("fib"),
        of_floats(np.arctan2),
        gradients=(0, 1),
        gradient_differs=_ORIGIN,
        differs=FLOATS_OF_INTEGERS,
    ),
    Op("prelu", two("fib"), _prelu, gradients=(0, 1), gradient_differs=_NOT_SUMMED),
    Op("equal", two("fibc"), np.equal, differs=NO_COMPLEX),
    Op("not_equal", two("fibc"), np.not_equal, differs=NO_COMPLEX),
    Op("less", two("fib"), np.less),
    Op("less_equal", two("fib"), np.less_equal),
    Op("greater", two("fib"), np.greater),
    Op("greater_equal", two("fib"), np.greater_equal),
    Op("logical_and", two("b"), np.logical_and),
    Op("logical_or", two("b"), np.logical_or),
    Op("logical_xor", two("b"), np.logical_xor),
    Op(
        "bitwise_and",
        two("i"),
        np.bitwise_and,
        differs=differs("TensorFlow.js does not broadcast", lambda case: case.args[0].shape != case.args[1].shape),
    ),
    Op(
        "where",
        _choices,
        _where,
        gradients=(1, 2),
        differs=differs("TensorFlow.js does not broadcast what is empty", empty),
    ),
    Op(
        "add_n",
        lambda d: ([d.floats(shape) for shape in [d.shape()] * d.integer(1, 4)],),
        lambda xs: sum(xs),
        size="terms",
    ),
]

TABLE = [*UNARY, *BINARY]
