"""Adapters: each speaks to one harness, and nothing else in the Host knows it."""
