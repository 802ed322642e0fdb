"""Recall over several Memory Spaces: search, fusion, quality, recovery (spec/sources.md §4.7)."""
