"""Export trained models to run without JAX, as ONNX, PyTorch or NumPy, or as StableHLO."""

from shootax.export._check import difference as difference
from shootax.export._check import run_exported as run_exported
from shootax.export._whole import Exportable as Exportable
from shootax.export._whole import Whole as Whole
from shootax.export._write import ENDINGS as ENDINGS
from shootax.export._write import TARGETS as TARGETS
from shootax.export._write import companions as companions
from shootax.export._write import write as write
