"""The contract of Memory Space Providers as a test class to subclass (sources.md §4.4, D28)."""

from __future__ import annotations

from dsh_mnemon_source_memory_spaces.testing._definition import ProviderDefinitions
from dsh_mnemon_source_memory_spaces.testing._faults import ProviderFaults
from dsh_mnemon_source_memory_spaces.testing._hooks import RunningProvider, SampleSearch
from dsh_mnemon_source_memory_spaces.testing._native import NativeStores
from dsh_mnemon_source_memory_spaces.testing._reads import ProviderReads
from dsh_mnemon_source_memory_spaces.testing._writes import ProviderWrites

__all__ = ("ProviderContract", "RunningProvider", "SampleSearch")


class ProviderContract(
    ProviderDefinitions, ProviderReads, ProviderWrites, ProviderFaults, NativeStores, contract=True
):
    """Checks that a Provider keeps its promises; subclass it as ``class TestMyProvider``.

    Factories: `make_provider` (required), `child_config`, `service`, `spaces`, `native`. A Provider
    that talks to a service gets, from `make_provider`, a transport that answers in its place.

    Content: `samples` and `sample_searches`, which have defaults.

    Flags, all True unless set to False: `is_durable`, `is_lexical`, `has_damage`. What the manifest
    does not declare is not asked for.

    Adaptation: `prepare`, `settle`, `damage` (required with ``has_damage``), `patience`.

    Tests are left alone; one that cannot hold is replaced by one marked
    ``@dsh_mnemon_testing.deviates("why")``. Each one's docstring says what to check if it fails.
    """
