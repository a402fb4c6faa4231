"""LLVM through llvmlite: from the text of functions to their addresses, compiled or from the cache on disk."""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from functools import cache as once
from typing import Any

from varigrad.backends.native import cache

__all__ = ["Library", "assembly", "build", "lanes_of", "vector_lanes"]

_LOCK = threading.Lock()  # LLVM's own state is not for several threads at once
_FORMAT = "1"  # another whenever cached machine code no longer fits what calls it


class Library:
    """Machine code in memory; it stays as long as this object does."""

    def __init__(self, object_code: bytes) -> None:
        llvm = _llvm()
        with _LOCK:
            empty = llvm.parse_assembly("")
            empty.triple = _target().triple
            self._engine: Any = llvm.create_mcjit_compiler(empty, _new_target_machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function is."""
        return self._engine.get_function_address(name)


@once
def _llvm() -> Any:
    import llvmlite.binding as llvm  # takes its time, and not every platform has it

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _provide_mathematics(llvm)
    return llvm


def _provide_mathematics(llvm: Any) -> None:
    """Lets machine code find the C library's functions where the process does not offer them by itself."""
    if llvm.address_of_symbol("expf") is None:
        import ctypes.util  # takes its time, and is seldom needed

        name = ctypes.util.find_library("ucrtbase" if sys.platform == "win32" else "m")
        if name:
            llvm.load_library_permanently(name)


@once
def _target() -> Any:
    return _llvm().Target.from_default_triple()


@once
def _features() -> str:
    return _llvm().get_host_cpu_features().flatten()


def _new_target_machine() -> Any:
    return _target().create_target_machine(cpu=_llvm().get_host_cpu_name(), features=_features(), opt=2, jit=True)


@once
def _target_machine() -> Any:
    """The one that compiles; those that run code become their engine's."""
    return _new_target_machine()


def lanes_of(size: int) -> int:
    """How many numbers of so many bytes a vector register of this machine holds."""
    return vector_lanes() * 4 // size


@once
def vector_lanes() -> int:
    """How many floats a vector register of this machine holds."""
    features = _features().split(",")
    if "+avx512f" in features:
        return 16
    return 8 if "+avx2" in features else 4


def build(text: str) -> Library:
    """Machine code of functions, from the cache on disk if they were built before."""
    key = hashlib.sha256("\0".join([_FORMAT, *_versions(), text]).encode()).hexdigest()
    with contextlib.suppress(OSError, RuntimeError):
        return Library(cache.read(key))
    object_code = _compile(text)
    cache.write(key, object_code)
    return Library(object_code)


def _optimized(text: str) -> Any:
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = _target().triple
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(_target_machine(), options)
    builder.getModulePassManager().run(module, builder)
    return module


def _compile(text: str) -> bytes:
    with _LOCK:
        return _target_machine().emit_object(_optimized(text))


def assembly(text: str) -> str:
    """The assembly of functions, as this machine runs it."""
    with _LOCK:
        return _target_machine().emit_assembly(_optimized(text))


def _versions() -> list[str]:
    llvm = _llvm()
    numbers = ".".join(map(str, llvm.llvm_version_info))
    return [numbers, _target().triple, llvm.get_host_cpu_name(), _features()]
