"""How kernels run: one package a backend, one file a family."""
