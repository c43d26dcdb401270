"""Many trainings: planned, run in processes of their own, stored as they finish, and resumed."""

from shootax.sweeps.plan import AbstractExperiment as AbstractExperiment
from shootax.sweeps.plan import Configuration as Configuration
from shootax.sweeps.plan import Group as Group
from shootax.sweeps.plan import Settings as Settings
from shootax.sweeps.plan import planned as planned
from shootax.sweeps.run import run_sweep as run_sweep
from shootax.sweeps.store import Store as Store
from shootax.sweeps.store import read_results as read_results
