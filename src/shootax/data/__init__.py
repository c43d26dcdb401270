"""Data sets."""

from shootax.data.functions import FUNCTIONS as FUNCTIONS
from shootax.data.functions import cubic as cubic
from shootax.data.functions import quadratic_like as quadratic_like
from shootax.data.functions import sample_function as sample_function
