"""Layers and models: the namespace `vg.layers`.

Each factory below makes a layer from keyword arguments; the class behind it, `Dense` for `dense`, documents them and is
there for `isinstance` and subclassing.
"""

from varigrad.layers.advanced_activations import *
from varigrad.layers.augmentation import *
from varigrad.layers.base import DisposeResult as DisposeResult
from varigrad.layers.base import InputSpec as InputSpec
from varigrad.layers.base import Layer as Layer
from varigrad.layers.base import LayerOptions as LayerOptions
from varigrad.layers.convolutional import *
from varigrad.layers.core import Activation as Activation
from varigrad.layers.core import Dense as Dense
from varigrad.layers.core import Identity as Identity
from varigrad.layers.core import InputLayer as InputLayer
from varigrad.layers.core import input as input
from varigrad.layers.data_normalization import *
from varigrad.layers.depthwise import *
from varigrad.layers.dropout import *
from varigrad.layers.einsum import EinsumDense as EinsumDense
from varigrad.layers.embeddings import *
from varigrad.layers.factories import factory as _factory
from varigrad.layers.factories import merging as _merging
from varigrad.layers.feature_normalization import *
from varigrad.layers.functional import Functional as Functional
from varigrad.layers.global_pooling import *
from varigrad.layers.masks import Masking as Masking
from varigrad.layers.merge import Add as Add
from varigrad.layers.merge import Average as Average
from varigrad.layers.merge import Concatenate as Concatenate
from varigrad.layers.merge import Dot as Dot
from varigrad.layers.merge import Maximum as Maximum
from varigrad.layers.merge import Minimum as Minimum
from varigrad.layers.merge import Multiply as Multiply
from varigrad.layers.merge import Subtract as Subtract
from varigrad.layers.model import LayersModel as LayersModel
from varigrad.layers.multi_head import MultiHeadAttention as MultiHeadAttention
from varigrad.layers.noise import *
from varigrad.layers.normalization import *
from varigrad.layers.padding import *
from varigrad.layers.pooling import *
from varigrad.layers.preprocessing import *
from varigrad.layers.recurrent import GRU as GRU
from varigrad.layers.recurrent import LSTM as LSTM
from varigrad.layers.recurrent import RNN as RNN
from varigrad.layers.recurrent import ConvLSTM2D as ConvLSTM2D
from varigrad.layers.recurrent import ConvLSTM2DCell as ConvLSTM2DCell
from varigrad.layers.recurrent import GRUCell as GRUCell
from varigrad.layers.recurrent import LSTMCell as LSTMCell
from varigrad.layers.recurrent import RNNCell as RNNCell
from varigrad.layers.recurrent import RNNOptions as RNNOptions
from varigrad.layers.recurrent import SimpleRNN as SimpleRNN
from varigrad.layers.recurrent import SimpleRNNCell as SimpleRNNCell
from varigrad.layers.recurrent import StackedRNNCells as StackedRNNCells
from varigrad.layers.recurrent import UnitsCellOptions as UnitsCellOptions
from varigrad.layers.registry import register_class as _register_class
from varigrad.layers.reshaping import *
from varigrad.layers.separable import *
from varigrad.layers.sequential import Sequential as Sequential
from varigrad.layers.single_head import AdditiveAttention as AdditiveAttention
from varigrad.layers.single_head import Attention as Attention
from varigrad.layers.transposed import *
from varigrad.layers.upsampling import *
from varigrad.layers.wrappers import Bidirectional as Bidirectional
from varigrad.layers.wrappers import TimeDistributed as TimeDistributed

activation = _factory(Activation)
add = _merging(Add)
additive_attention = _factory(AdditiveAttention)
alpha_dropout = _factory(AlphaDropout)
attention = _factory(Attention)
average = _merging(Average)
average_pooling1d = avg_pool1d = avg_pooling1d = _factory(AveragePooling1D)
average_pooling2d = avg_pool2d = avg_pooling2d = _factory(AveragePooling2D)
average_pooling3d = avg_pool3d = avg_pooling3d = _factory(AveragePooling3D)
batch_normalization = _factory(BatchNormalization)
bidirectional = _factory(Bidirectional)
category_encoding = _factory(CategoryEncoding)
center_crop = _factory(CenterCrop)
concatenate = _merging(Concatenate)
conv1d = _factory(Conv1D)
conv1d_transpose = _factory(Conv1DTranspose)
conv2d = _factory(Conv2D)
conv2d_transpose = _factory(Conv2DTranspose)
conv3d = _factory(Conv3D)
conv3d_transpose = _factory(Conv3DTranspose)
conv_lstm2d = _factory(ConvLSTM2D, "conv_lstm2d")
conv_lstm2d_cell = _factory(ConvLSTM2DCell, "conv_lstm2d_cell")
cropping1d = _factory(Cropping1D)
cropping2d = _factory(Cropping2D)
cropping3d = _factory(Cropping3D)
dense = _factory(Dense)
depthwise_conv1d = _factory(DepthwiseConv1D)
depthwise_conv2d = _factory(DepthwiseConv2D)
dot = _factory(Dot)
dropout = _factory(Dropout)
einsum_dense = _factory(EinsumDense)
elu = _factory(ELU)
embedding = _factory(Embedding)
flatten = _factory(Flatten)
gaussian_dropout = _factory(GaussianDropout)
gaussian_noise = _factory(GaussianNoise)
global_average_pooling1d = _factory(GlobalAveragePooling1D)
global_average_pooling2d = _factory(GlobalAveragePooling2D)
global_average_pooling3d = _factory(GlobalAveragePooling3D)
global_max_pooling1d = global_max_pool1d = _factory(GlobalMaxPooling1D)
global_max_pooling2d = global_max_pool2d = _factory(GlobalMaxPooling2D)
global_max_pooling3d = global_max_pool3d = _factory(GlobalMaxPooling3D)
group_normalization = _factory(GroupNormalization)
gru = _factory(GRU)
gru_cell = _factory(GRUCell)
identity = _factory(Identity)
input_layer = _factory(InputLayer)
layer_normalization = _factory(LayerNormalization)
leaky_re_lu = _factory(LeakyReLU)
lstm = _factory(LSTM)
lstm_cell = _factory(LSTMCell)
masking = _factory(Masking)
max_pooling1d = max_pool1d = _factory(MaxPooling1D)
max_pooling2d = max_pool2d = _factory(MaxPooling2D)
max_pooling3d = max_pool3d = _factory(MaxPooling3D)
maximum = _merging(Maximum)
minimum = _merging(Minimum)
multi_head_attention = _factory(MultiHeadAttention)
multiply = _merging(Multiply)
normalization = _factory(Normalization)
permute = _factory(Permute)
prelu = _factory(PReLU, "prelu")
random_brightness = _factory(RandomBrightness)
random_contrast = _factory(RandomContrast)
random_flip = _factory(RandomFlip)
random_height = _factory(RandomHeight)
random_rotation = _factory(RandomRotation)
random_translation = _factory(RandomTranslation)
random_width = _factory(RandomWidth)
random_zoom = _factory(RandomZoom)
re_lu = _factory(ReLU)
repeat_vector = _factory(RepeatVector)
rescaling = _factory(Rescaling)
reshape = _factory(Reshape)
resizing = _factory(Resizing)
rms_normalization = _factory(RMSNormalization)
rnn = _factory(RNN)
separable_conv1d = _factory(SeparableConv1D)
separable_conv2d = _factory(SeparableConv2D)
simple_rnn = _factory(SimpleRNN)
simple_rnn_cell = _factory(SimpleRNNCell)
softmax = _factory(Softmax)
spatial_dropout1d = _factory(SpatialDropout1D)
spatial_dropout2d = _factory(SpatialDropout2D)
spatial_dropout3d = _factory(SpatialDropout3D)
stacked_rnn_cells = _factory(StackedRNNCells)
subtract = _merging(Subtract)
thresholded_re_lu = _factory(ThresholdedReLU)
time_distributed = _factory(TimeDistributed)
unit_normalization = _factory(UnitNormalization)
up_sampling1d = _factory(UpSampling1D)
up_sampling2d = _factory(UpSampling2D)
up_sampling3d = _factory(UpSampling3D)
zero_padding1d = _factory(ZeroPadding1D)
zero_padding2d = _factory(ZeroPadding2D)
zero_padding3d = _factory(ZeroPadding3D)
_register_class(Sequential)
_register_class(Functional)
_register_class(Functional, "Functional")  # as Keras calls it since version 2.4
