"""Training."""

from shootax.train.checkpoint import Checkpoint as Checkpoint
from shootax.train.engine import Fit as Fit
from shootax.train.fit import fit as fit
from shootax.train.fit import fit_many as fit_many
from shootax.train.samples import AbstractSampler as AbstractSampler
from shootax.train.schedules import AbstractSchedule as AbstractSchedule
from shootax.train.schedules import Constant as Constant
from shootax.train.schedules import Cosine as Cosine
from shootax.train.schedules import Plateau as Plateau
from shootax.train.step import TrainingStep as TrainingStep
