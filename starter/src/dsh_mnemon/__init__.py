"""The dsh-mnemon starter: the default composition and the command. It has no behaviour."""

from pathlib import Path

__all__ = ("DEFAULT_PROFILE",)

DEFAULT_PROFILE = Path(__file__).parent / "default_profile.yaml"
"""The profile that names the default composition."""
