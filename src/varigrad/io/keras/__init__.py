"""Keras's files: `.keras` archives, `.weights.h5`, and the older `.h5`, read and written without Keras."""
