"""Step time and memory on many accelerators, by calculation: `python -m benchmarks.plan`."""
