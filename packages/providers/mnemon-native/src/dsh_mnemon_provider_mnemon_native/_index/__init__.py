"""``index.db``: what is derived from a store to find things in it quickly (D47)."""
