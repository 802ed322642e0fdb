"""The composition engine; never handed to plugins (spec/core.md §6-12)."""
