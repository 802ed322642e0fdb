"""Pytest plugin and contract suites for authors of dsh-mnemon Sources, Strategies and enhancements."""
