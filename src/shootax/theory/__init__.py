"""The paper's theory, computed for a model at hand: certificates, complexity, constructions."""

from shootax.theory._activations import ActivationBounds as ActivationBounds
from shootax.theory._certificate import Certificate as Certificate
from shootax.theory._certificate import Row as Row
from shootax.theory._certificate import certify as certify
from shootax.theory._hidden_layer import updown_from_hidden_layer as updown_from_hidden_layer
from shootax.theory._hidden_layer import updown_from_pieces as updown_from_pieces
