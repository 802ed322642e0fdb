"""The dsh-mnemon starter: the default composition and the command. It has no behaviour."""

from pathlib import Path

__all__ = ("DEFAULT_PROFILE", "__version__")

__version__ = "0.1.0"
"""The version, also in the metadata; here because reading that takes longer than all the rest."""

DEFAULT_PROFILE = Path(__file__).parent / "default_profile.yaml"
"""The profile that names the default composition."""
