"""What users call: each op checks its arguments, then runs kernels. One file a family."""
