"""Trained models for places without JAX: ONNX, PyTorch, NumPy; and StableHLO."""

from shootax.export.check import difference as difference
from shootax.export.check import run_exported as run_exported
from shootax.export.write import TARGETS as TARGETS
from shootax.export.write import export as export
