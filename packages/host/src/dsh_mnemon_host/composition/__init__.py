"""Which entries of the profile take part, and changing that while Agents run (host.md §20)."""
