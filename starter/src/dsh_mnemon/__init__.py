"""Layered, bounded, visible and composable memory for LLM agents: the default composition."""
