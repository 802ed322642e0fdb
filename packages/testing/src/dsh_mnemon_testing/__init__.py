"""Pytest plugin and contract suites for authors of Sources, Strategies and enhancements."""
