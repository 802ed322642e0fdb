"""Loads pytester, which pytest accepts only from a conftest it reads before the run is set up."""

pytest_plugins = ["pytester"]
