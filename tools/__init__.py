"""Tools of the repository; each is run as ``python -m tools.<name>`` from its root."""
