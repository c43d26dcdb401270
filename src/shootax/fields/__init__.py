"""Vector fields $f(z, θ)$."""

from shootax.fields.affine import Affine as Affine
from shootax.fields.base import AbstractField as AbstractField
from shootax.fields.base import shape as shape
from shootax.fields.block import AbstractBlockField as AbstractBlockField
from shootax.fields.block import Block as Block
from shootax.fields.block import Feature as Feature
from shootax.fields.block import Layout as Layout
from shootax.fields.convolution import AbstractConvField as AbstractConvField
from shootax.fields.convolution import ConvAffine as ConvAffine
from shootax.fields.convolution import ConvUpDown as ConvUpDown
from shootax.fields.function import FunctionField as FunctionField
from shootax.fields.function import check_field as check_field
from shootax.fields.inference import InferredField as InferredField
from shootax.fields.inference import infer_layout as infer_layout
from shootax.fields.rkhs import RKHS as RKHS
from shootax.fields.single_hidden_layer import SingleHiddenLayer as SingleHiddenLayer
from shootax.fields.updown import UpDown as UpDown
from shootax.fields.variants import BlockSparse as BlockSparse
from shootax.fields.variants import DampedUpDown as DampedUpDown
from shootax.fields.variants import GeneralUpDown as GeneralUpDown
from shootax.fields.variants import Periodic as Periodic
