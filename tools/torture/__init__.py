"""Faults on purpose: kills, damaged files, full disks, signals and load, and what became of it all."""
