"""The pytest plugin of dsh-mnemon-testing."""
