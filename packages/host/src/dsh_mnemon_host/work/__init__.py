"""Jobs of the Host, one module each (host.md §13-§16)."""
