"""Measurements, outside of the package that is installed."""
