"""The ranking of the command line tool."""

from dsh_mnemon_provider_mnemon_native._compatible.ranking import CompatibleRanking

__all__ = ("CompatibleRanking",)
