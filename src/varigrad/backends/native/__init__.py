"""Compiled steps as machine code, through LLVM (llvmlite).

`program.py` makes an executor of a graph of `varigrad.jit.graph`: `NativeProgram(graph)`, which takes and gives what
the NumPy executor does. On the way the graph is lowered to operations on views of memory (`lowering.py` and the tables
of rules of each family), operations are put together into groups that run in one pass (`fusion.py`), and each distinct
group is written as vector code (`loops.py`), as is each distinct product and window (`contraction.py` …).

llvmlite is imported when the first graph is compiled.
"""
