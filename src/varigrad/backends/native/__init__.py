"""Compiled steps as machine code, through LLVM (llvmlite).

`compile_graph(graph)` takes an optimised graph of `varigrad.jit.graph`, whose shapes and dtypes are all known, and gives
an executor. It takes the same arrays as the NumPy executor and gives the same results.

llvmlite is imported when the first graph is compiled; where it is missing, the NumPy executor runs.
"""
