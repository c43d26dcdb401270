"""Fault injection: kills, damaged files, full disks, signals and load, and their outcomes."""
