"""Host of dsh-mnemon: turns, storage, settings, tools, command line and MCP."""
