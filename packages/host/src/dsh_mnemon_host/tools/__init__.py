"""The model-facing tools (host.md §8)."""
