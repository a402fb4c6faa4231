"""How each contender writes the training step.

`make(task)` returns a function that takes one step and returns the loss.
"""
