"""Measurements of speed and memory, against rivals and against what the machine could do at best."""

from shootax.bench.cases import CASES as CASES
from shootax.bench.cases import Case as Case
from shootax.bench.cases import Start as Start
from shootax.bench.limit import evaluation_flops as evaluation_flops
from shootax.bench.limit import step_flops as step_flops
from shootax.bench.render import markdown as markdown
from shootax.bench.scaling import exponent as exponent
from shootax.bench.settings import PARTS as PARTS
from shootax.bench.settings import Settings as Settings
from shootax.bench.timing import Timing as Timing
from shootax.bench.timing import race as race
