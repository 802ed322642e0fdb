"""Runtime memory Source of dsh-mnemon: USER.md and MEMORY.md."""
