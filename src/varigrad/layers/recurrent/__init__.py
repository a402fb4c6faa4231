"""Recurrent layers: cells compute a step, and `RNN` runs a cell over time."""

from varigrad.layers.recurrent.cell import RNNCell, UnitsCellOptions
from varigrad.layers.recurrent.conv_lstm import ConvLSTM2D, ConvLSTM2DCell
from varigrad.layers.recurrent.gru import GRU, GRUCell
from varigrad.layers.recurrent.lstm import LSTM, LSTMCell
from varigrad.layers.recurrent.rnn import RNN, RNNOptions
from varigrad.layers.recurrent.simple_rnn import SimpleRNN, SimpleRNNCell
from varigrad.layers.recurrent.stacked import StackedRNNCells

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "ConvLSTM2D",
    "ConvLSTM2DCell",
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "RNNOptions",
    "SimpleRNN",
    "SimpleRNNCell",
    "StackedRNNCells",
    "UnitsCellOptions",
]
