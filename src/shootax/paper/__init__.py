"""The experiments of the paper: their settings, how to run them, and their figures and tables."""

from shootax.paper._catalogue import COLLECTIONS as COLLECTIONS
from shootax.paper._catalogue import EXPERIMENTS as EXPERIMENTS
from shootax.paper._claims import CLAIMS as CLAIMS
from shootax.paper._claims import Claim as Claim
from shootax.paper._claims import Finding as Finding
from shootax.paper._claims import check_claims as check_claims
from shootax.paper._claims import claims_table as claims_table
from shootax.paper._comparison import compare_recipes as compare_recipes
from shootax.paper._counts import COUNTED as COUNTED
from shootax.paper._counts import parameter_counts as parameter_counts
from shootax.paper._experiment import AbstractExperiment as AbstractExperiment
from shootax.paper._figures import compact as compact
from shootax.paper._figures import draw_figures as draw_figures
from shootax.paper._plan import Configuration as Configuration
from shootax.paper._plan import Settings as Settings
from shootax.paper._published import CURVES as CURVES
from shootax.paper._published import PUBLISHED as PUBLISHED
from shootax.paper._reproduce import planned as planned
from shootax.paper._reproduce import reproduce as reproduce
from shootax.paper._results import Results as Results
from shootax.paper._settings import PRESETS as PRESETS
from shootax.paper._settings import make_settings as make_settings
from shootax.paper._verify import Verification as Verification
from shootax.paper._verify import verify as verify
