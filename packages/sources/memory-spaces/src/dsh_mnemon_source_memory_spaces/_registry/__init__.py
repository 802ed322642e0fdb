"""The two registry files of a storage root and what they say (spec/sources.md §4.2)."""
