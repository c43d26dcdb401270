"""Layers and models around a net: lifts, readouts, encoders, decoders, residual networks."""

from shootax._chain import ParticleChain as ParticleChain
from shootax._lifts import AbstractLift as AbstractLift
from shootax._lifts import AffineLift as AffineLift
from shootax._lifts import ChannelLift as ChannelLift
from shootax._lifts import ConstantLift as ConstantLift
from shootax._lifts import IdentityLift as IdentityLift
from shootax._lifts import LinearLift as LinearLift
from shootax._lifts import MLPLift as MLPLift
from shootax._lifts import ZeroLift as ZeroLift
from shootax._readouts import AbstractReadout as AbstractReadout
from shootax._readouts import IdentityReadout as IdentityReadout
from shootax._readouts import LinearReadout as LinearReadout
from shootax._readouts import VisibleReadout as VisibleReadout
from shootax.nn._images import ImageDecoder as ImageDecoder
from shootax.nn._images import ImageEncoder as ImageEncoder
from shootax.nn._latent import FrameRequest as FrameRequest
from shootax.nn._latent import LatentModel as LatentModel
from shootax.nn._layers import Downsample as Downsample
from shootax.nn._layers import LayerNorm as LayerNorm
from shootax.nn._layers import Upsample as Upsample
from shootax.nn._masking import Masked as Masked
from shootax.nn._masking import masked_squared_error as masked_squared_error
from shootax.nn._mlp import MLP as MLP
from shootax.nn._resnet import Classifier as Classifier
from shootax.nn._resnet import Transition as Transition
from shootax.nn._resnet import resnet as resnet
