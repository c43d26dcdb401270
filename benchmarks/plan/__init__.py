"""Calculate step time and memory on many accelerators: `python -m benchmarks.plan`."""
