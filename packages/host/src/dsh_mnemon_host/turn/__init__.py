"""One Agent's turns: pinned View, sections, Wake, cues, delegation (host.md §6, §7)."""
