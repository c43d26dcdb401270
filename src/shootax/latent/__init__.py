"""Models of sequences: a flow in a latent space, between an encoder and a decoder."""

from shootax.latent.hiding import HiddenFrames as HiddenFrames
from shootax.latent.hiding import Masked as Masked
from shootax.latent.hiding import masked_squared_error as masked_squared_error
from shootax.latent.images import ImageDecoder as ImageDecoder
from shootax.latent.images import ImageEncoder as ImageEncoder
from shootax.latent.layers import Double as Double
from shootax.latent.layers import Halve as Halve
from shootax.latent.layers import LayerNorm as LayerNorm
from shootax.latent.model import Asked as Asked
from shootax.latent.model import LatentModel as LatentModel
from shootax.latent.vectors import Dense as Dense
