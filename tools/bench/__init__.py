"""Measurements: ratios within one run, since machines are noisy."""
