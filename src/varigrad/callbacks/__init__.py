"""What follows training: the namespace `vg.callbacks`.

Each factory makes a callback for `fit`; the class behind it documents its arguments.
"""

from __future__ import annotations

from varigrad.callbacks.base import Callback, CallbackList, CustomCallback, History, Logs
from varigrad.callbacks.monitoring import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, TerminateOnNaN
from varigrad.callbacks.progress import Progress
from varigrad.callbacks.recording import CSVLogger, LearningRateScheduler
from varigrad.callbacks.tensor_board import SummaryFileWriter, TensorBoard

__all__ = [
    "CSVLogger",
    "Callback",
    "CallbackList",
    "CustomCallback",
    "EarlyStopping",
    "History",
    "LearningRateScheduler",
    "Logs",
    "ModelCheckpoint",
    "Progress",
    "ReduceLROnPlateau",
    "SummaryFileWriter",
    "TensorBoard",
    "TerminateOnNaN",
    "csv_logger",
    "early_stopping",
    "lambda_callback",
    "learning_rate_scheduler",
    "model_checkpoint",
    "reduce_lr_on_plateau",
    "summary_file_writer",
    "tensor_board",
    "terminate_on_nan",
]

csv_logger = CSVLogger
early_stopping = EarlyStopping
lambda_callback = CustomCallback
learning_rate_scheduler = LearningRateScheduler
model_checkpoint = ModelCheckpoint
reduce_lr_on_plateau = ReduceLROnPlateau
summary_file_writer = SummaryFileWriter
tensor_board = TensorBoard
terminate_on_nan = TerminateOnNaN
