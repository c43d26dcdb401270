"""Vector fields $f(z, θ)$."""

from shootax._fields.affine import Affine as Affine
from shootax._fields.base import AbstractField as AbstractField
from shootax._fields.base import HiddenLayer as HiddenLayer
from shootax._fields.base import shape as shape
from shootax._fields.block import AbstractBlockField as AbstractBlockField
from shootax._fields.block import Block as Block
from shootax._fields.block import Feature as Feature
from shootax._fields.block import Layout as Layout
from shootax._fields.convolution import AbstractConvField as AbstractConvField
from shootax._fields.convolution import ConvAffine as ConvAffine
from shootax._fields.convolution import ConvUpDown as ConvUpDown
from shootax._fields.function import FunctionField as FunctionField
from shootax._fields.grouped import ConvGrouped as ConvGrouped
from shootax._fields.inference import InferredField as InferredField
from shootax._fields.inference import infer_layout as infer_layout
from shootax._fields.linearity import assert_linear as assert_linear
from shootax._fields.linearity import is_linear as is_linear
from shootax._fields.linearity import linearity as linearity
from shootax._fields.rkhs import RKHS as RKHS
from shootax._fields.single_hidden_layer import SingleHiddenLayer as SingleHiddenLayer
from shootax._fields.updown import UpDown as UpDown
from shootax._fields.variants import BlockSparse as BlockSparse
from shootax._fields.variants import DampedUpDown as DampedUpDown
from shootax._fields.variants import GeneralUpDown as GeneralUpDown
from shootax._fields.variants import Periodic as Periodic
