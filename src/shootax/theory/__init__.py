"""The paper's theory for a given model: certificates, complexity bounds, constructions."""

from shootax.theory._activations import ActivationBounds as ActivationBounds
from shootax.theory._approximate import Approximation as Approximation
from shootax.theory._approximate import approximate_flow as approximate_flow
from shootax.theory._ascent import RademacherEstimate as RademacherEstimate
from shootax.theory._ascent import rademacher_estimate as rademacher_estimate
from shootax.theory._certificate import Certificate as Certificate
from shootax.theory._certificate import Row as Row
from shootax.theory._certify import certify as certify
from shootax.theory._hidden_layer import updown_from_hidden_layer as updown_from_hidden_layer
from shootax.theory._hidden_layer import updown_from_pieces as updown_from_pieces
from shootax.theory._rademacher import GeneralisationBound as GeneralisationBound
from shootax.theory._rademacher import RademacherBounds as RademacherBounds
from shootax.theory._rademacher import generalisation_bound as generalisation_bound
from shootax.theory._rademacher import rademacher as rademacher
