"""Training."""

from shootax._train.checkpoint import Checkpoint as Checkpoint
from shootax._train.fit import FitOptions as FitOptions
from shootax._train.fit import fit as fit
from shootax._train.fit_many import fit_many as fit_many
from shootax._train.optimizer import Optimizer as Optimizer
from shootax._train.polish import LBFGS as LBFGS
from shootax._train.results import EpochReport as EpochReport
from shootax._train.results import FitResult as FitResult
from shootax._train.samples import AbstractSampler as AbstractSampler
from shootax._train.schedules import AbstractSchedule as AbstractSchedule
from shootax._train.schedules import Constant as Constant
from shootax._train.schedules import Cosine as Cosine
from shootax._train.schedules import Plateau as Plateau
from shootax._train.step import TrainingStep as TrainingStep
from shootax._train.validation import Validation as Validation
