"""Measurements of speed and memory, against rivals and against the limit of the machine."""

from benchmarks.speed.cases import CASES as CASES
from benchmarks.speed.cases import Case as Case
from benchmarks.speed.cases import Start as Start
from benchmarks.speed.limit import evaluation_flops as evaluation_flops
from benchmarks.speed.limit import step_flops as step_flops
from benchmarks.speed.render import markdown as markdown
from benchmarks.speed.scaling import exponent as exponent
from benchmarks.speed.settings import PARTS as PARTS
from benchmarks.speed.settings import Settings as Settings
from benchmarks.speed.timing import Timing as Timing
from benchmarks.speed.timing import race as race
