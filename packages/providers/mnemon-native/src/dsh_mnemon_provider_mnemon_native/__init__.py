"""The embedded memory engine of dsh-mnemon, sharing its files with the mnemon tool."""

from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native.descriptor import MANIFEST
from dsh_mnemon_provider_mnemon_native.provider import provider

__all__ = ("MANIFEST", "Config", "provider")
