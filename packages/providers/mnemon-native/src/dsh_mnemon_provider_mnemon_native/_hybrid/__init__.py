"""The ranking `hybrid`: words, neighbours, entities, graph, time, importance and vectors, fused.

Each signal is one module and can be switched off by its name in `signals.SIGNALS`.
"""

from __future__ import annotations

from dsh_mnemon_provider_mnemon_native._hybrid.ranking import HybridRanking
from dsh_mnemon_provider_mnemon_native._hybrid.signals import SIGNALS, Signal

__all__ = ("SIGNALS", "HybridRanking", "Signal")
