"""Benchmarks. They are not part of the installed package."""
