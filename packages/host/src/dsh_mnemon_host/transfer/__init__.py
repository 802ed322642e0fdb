"""Memories in files: what can be imported, and what an export looks like."""
