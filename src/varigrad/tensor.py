"""`Tensor` and `Variable`: the values that everything else works on.

A tensor is an immutable view of a backend's array. Its methods and operators are the functions of `varigrad.ops`,
listed in `varigrad/ops/methods.py`; this file holds what a tensor is by itself.
"""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from varigrad.callers import call_site
from varigrad.changes import count_change
from varigrad.dtypes import Array, DType, dtype_name
from varigrad.elsewhere import answer_for
from varigrad.errors import DisposedError
from varigrad.observe import OBSERVERS
from varigrad.printing import format_shape, tensor_text

if TYPE_CHECKING:
    from varigrad.ops.methods import TensorMethods, VariableMethods
else:

    class TensorMethods:
        """Where `varigrad.ops.methods` puts the chained methods and operators."""

        __slots__ = ()

    class VariableMethods:
        """The same for variables."""

        __slots__ = ()


__all__ = [
    "Tensor",
    "Variable",
    "call_site",
    "find_variable",
    "format_shape",
    "registered_variables",
]

_next_id: Callable[[], int] = itertools.count(1).__next__

Bytes: TypeAlias = bytes | list[bytes]


class Tensor(TensorMethods):
    """An immutable array of numbers, bools or strings.

    Made by `vg.tensor`, `vg.zeros` and the other functions of `vg`, never by calling this class. `storage` is the
    backend's array (C-contiguous; not to be written to) and `id` is unique in the process.

    >>> import varigrad as vg
    >>> vg.tensor([[1, 2], [3, 4]]).mat_mul([[1], [1]])
    Tensor([[3.], [7.]], shape=[2, 1], dtype=float32)
    """

    __slots__ = ("__weakref__", "_disposed_at", "id", "storage")
    __array_priority__ = 1000  # `numpy_array + tensor` comes to `Tensor.__radd__`

    storage: Array
    id: int

    def __init__(self, storage: Array) -> None:
        if storage.__class__ is not _ARRAY and not isinstance(storage, _ARRAY):
            name = type(self).__name__
            raise TypeError(f"{name}: made by vg.{name.lower()}(values), got {storage!r:.100}")
        self.storage = storage
        self.id = _next_id()

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.storage.shape

    @property
    def dtype(self) -> DType:
        """The dtype's name, such as `"float32"`."""
        return dtype_name(self.storage.dtype)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.storage.ndim

    @property
    def ndim(self) -> int:
        """The number of axes, under NumPy's name."""
        return self.storage.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.storage.size

    @property
    def strides(self) -> tuple[int, ...]:
        """How many elements apart neighbours on each axis but the last are, as in TensorFlow.js."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(self.rank - 1))

    @property
    def is_disposed(self) -> bool:
        """Whether the tensor has lost its values to `dispose` or `tidy`."""
        try:
            _ = self.storage
        except DisposedError:
            return True
        return False

    # Reading values out

    def numpy(self) -> Array:
        """The values as a NumPy array of the tensor's shape and dtype: a copy, free to be changed.

        >>> import varigrad as vg
        >>> vg.tensor([1.5, 2.0]).numpy()
        array([1.5, 2. ], dtype=float32)
        """
        return self._read().copy()

    def data_sync(self) -> Array:
        """The values as a flat NumPy array, in row-major order: `[size]`."""
        return self._read().flatten()

    async def data(self) -> Array:
        """`data_sync` as a coroutine, for code that mirrors TensorFlow.js."""
        return self.data_sync()

    def array_sync(self) -> Any:
        """The values as nested lists, or one Python value for a scalar."""
        return self._read().tolist()

    async def array(self) -> Any:
        """`array_sync` as a coroutine, for code that mirrors TensorFlow.js."""
        return self.array_sync()

    def bytes_sync(self) -> Bytes:
        """The memory of the values, in row-major order; for strings, a list with the UTF-8 bytes of each."""
        values = self._read()
        if values.dtype.kind == "O":
            return [v.encode() if isinstance(v, str) else v for v in values.flat]
        return values.tobytes()

    async def bytes(self) -> Bytes:
        """`bytes_sync` as a coroutine, for code that mirrors TensorFlow.js."""
        return self.bytes_sync()

    def tolist(self) -> Any:
        """The values as nested lists, or one Python value for a scalar."""
        return self._read().tolist()

    def item(self) -> Any:
        """The one value of a one-element tensor as a Python number, bool or string."""
        values = self._read()
        if values.size != 1:
            raise ValueError(f"item: needs a tensor of one element, got shape {format_shape(self.shape)}")
        return values.item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.storage.ndim or self.storage.dtype.kind not in "iu":
            raise TypeError(
                f"only an integer scalar can be an index, got {self.dtype} of shape {format_shape(self.shape)}"
            )
        return int(self._read())

    def __bool__(self) -> bool:
        if self.storage.size != 1:
            raise ValueError(
                f"the truth of a tensor of shape {format_shape(self.shape)} is ambiguous; use vg.any or vg.all"
            )
        return bool(self._read().item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        # A view, not to be written to, unless a copy is asked for or another dtype needs one.
        values = self._read()
        if copy or not (dtype is None or values.dtype == dtype):
            if copy is False:
                raise ValueError(f"a tensor of dtype {self.dtype} cannot become {np.dtype(dtype)} without a copy")
            return np.array(values, dtype=dtype)
        values = values.view()
        values.flags.writeable = False
        return values

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # np.sum(x) and the like would call x.sum with arguments of NumPy's own.
        return func(*_as_arrays(args), **_as_arrays(kwargs))

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def _read(self) -> Array:
        storage = self.storage
        for observer in OBSERVERS.get():
            observer.reading(self)
        return storage

    # As a Python object

    def __len__(self) -> int:
        if not self.storage.ndim:
            raise TypeError("a scalar tensor has no len()")
        return self.storage.shape[0]

    def __hash__(self) -> int:
        return id(self) >> 4

    def __repr__(self) -> str:
        if self.is_disposed:
            return f"{type(self).__name__}(disposed at {self._disposed_at})"
        values = np.array2string(self.storage, separator=", ", threshold=100, edgeitems=3)
        compact = " ".join(values.split()) if self.storage.size <= 12 else values
        extra = f", name={self.name!r}" if isinstance(self, Variable) else ""
        return f"{type(self).__name__}({compact}, shape={format_shape(self.shape)}, dtype={self.dtype}{extra})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def to_string(self, verbose: bool = False) -> str:
        """The values as text in TensorFlow.js's layout, with dtype, rank and shape if `verbose`.

        `repr(x)` is Python's.

        >>> import varigrad as vg
        >>> print(vg.tensor([[1, 2.5], [10, 0]]).to_string())
        Tensor
            [[1 , 2.5],
             [10, 0  ]]
        """
        return tensor_text(self._read(), self.dtype, verbose)

    def print(self, verbose: bool = False) -> None:
        """Prints `to_string(verbose)`."""
        print(self.to_string(verbose))

    def __getattr__(self, name: str) -> Any:
        # Reached only when normal lookup fails: `storage` is deleted by dispose.
        if name == "storage":
            raise DisposedError(
                f"{_describe(self)} was disposed at {self._disposed_at} and cannot be used any more; "
                "keep it with vg.keep, or return it from the tidy that made it"
            )
        hint = _HINTS_OF_WEIGHTS.get(name, "") if isinstance(self, Variable) else ""
        hint = hint or answer_for(type(self), name, "tensor")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_tensor, (self.numpy(),)

    def __copy__(self) -> Tensor:
        return Tensor(self.storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return Tensor(self.numpy())


_ARRAY = np.ndarray
# The weights of a layer are no tensors in TensorFlow.js, and here they are.
_HINTS_OF_WEIGHTS = {
    "read": "; a variable is a tensor, take it as it is, or clone() it",
    "write": "; it is 'assign' here",
}

_registry: weakref.WeakValueDictionary[str, Variable] = weakref.WeakValueDictionary()
_registry_lock = threading.Lock()
_next_variable_number: Callable[[], int] = itertools.count(1).__next__


class Variable(VariableMethods, Tensor):
    """A tensor whose values can be replaced: what training changes.

    Made by `vg.variable`. It has a `name`, unique among the variables alive, by which gradients and optimizer state
    find it, and `trainable`, which says whether `vg.variable_grads` looks at it when not told which to take.
    `original_name` is the name it was first given, which a file stores: a model loaded twice has unique names and the
    same original ones. `constraint`, if not None, is a function of a tensor by which optimizers replace the value after
    each update.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="w_example")
    >>> w.assign([3.0, 4.0]).tolist()
    [3.0, 4.0]
    """

    __slots__ = ("_constraint", "_trainable", "holder", "name", "original_name")
    name: str
    original_name: str
    holder: weakref.ref[Any] | None  # the layer whose weight it is
    _trainable: bool
    _constraint: Callable[[Tensor], Tensor] | None

    def __init__(self, storage: Array, trainable: bool = True, name: str | None = None) -> None:
        super().__init__(storage)
        self._trainable = trainable
        self._constraint = None
        self.holder = None
        with _registry_lock:
            if name is None:
                name = f"variable_{_next_variable_number()}"
                while name in _registry:
                    name = f"variable_{_next_variable_number()}"
            elif name in _registry:
                raise ValueError(
                    f"variable: a variable named {name!r} exists already; choose another name or dispose of that one"
                )
            self.name = self.original_name = name
            _registry[name] = self

    @property
    def trainable(self) -> bool:
        """Whether training changes it."""
        return self._trainable

    @trainable.setter
    def trainable(self, trainable: bool) -> None:
        self._trainable = trainable
        count_change()

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """What optimizers replace the value by after each update, as a function of it."""
        return self._constraint

    @constraint.setter
    def constraint(self, constraint: Callable[[Tensor], Tensor] | None) -> None:
        self._constraint = constraint
        count_change()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_variable, (self.numpy(), self.trainable, self.name, self.original_name, self.constraint)

    def __copy__(self) -> Variable:
        return _restore_variable(self.numpy(), self.trainable, None, self.original_name, self.constraint)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return self.__copy__()


def registered_variables() -> list[Variable]:
    """The variables alive, oldest first."""
    with _registry_lock:
        variables = list(_registry.values())
    return sorted(variables, key=lambda v: v.id)


def find_variable(name: str) -> Variable | None:
    """The variable alive under this name, if there is one."""
    return _registry.get(name)


def forget_variable(variable: Variable) -> None:
    """Frees a disposed variable's name."""
    with _registry_lock:
        if _registry.get(variable.name) is variable:
            del _registry[variable.name]


def _as_arrays(value: Any) -> Any:
    """Nested tuples, lists and dicts with arrays in the places of tensors."""
    if isinstance(value, Tensor):
        return np.asarray(value)
    if isinstance(value, (tuple, list)):
        items = [_as_arrays(item) for item in cast("list[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _as_arrays(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value


def _describe(tensor: Tensor) -> str:
    if isinstance(tensor, Variable):
        return f"the variable {tensor.name!r}"
    return f"tensor {tensor.id}"


def _restore_tensor(values: Array) -> Tensor:
    dtype_name(values.dtype)  # takes up what the process that restores has not met yet
    return Tensor(values)


def _restore_variable(
    values: Array,
    trainable: bool,
    name: str | None,
    original_name: str,
    constraint: Callable[[Tensor], Tensor] | None,
) -> Variable:
    dtype_name(values.dtype)
    variable = Variable(values, trainable, name if name not in _registry else None)
    variable.original_name = original_name
    variable.constraint = constraint
    return variable
