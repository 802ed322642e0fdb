"""For tests of Providers and of what uses them: contract suite, mounting, a Provider in memory.

Needs the extra ``testing``: pytest and ``dsh-mnemon-testing``. Nothing else of the package imports
this one.
"""

from __future__ import annotations

import pytest

# Before the modules are imported: their assertions then explain themselves.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in (
            "_definition",
            "_faults",
            "_hooks",
            "_judgement",
            "_native",
            "_reads",
            "_writes",
        )
    )
)

from dsh_mnemon_source_memory_spaces.testing.fixture import (  # noqa: E402 - see above
    FixtureAuthority,
    ProviderFixture,
    SpaceSetup,
    provider_fixture,
)
from dsh_mnemon_source_memory_spaces.testing.mounting import (  # noqa: E402
    MountedProvider,
    mount_provider,
)
from dsh_mnemon_source_memory_spaces.testing.provider_contract import (  # noqa: E402
    ProviderContract,
    RunningProvider,
    SampleSearch,
)
from dsh_mnemon_source_memory_spaces.testing.reference import (  # noqa: E402
    EVERYTHING,
    NativeReferenceAdapter,
    ReferenceAdapter,
    reference_manifest,
    reference_provider,
)
from dsh_mnemon_source_memory_spaces.testing.service import (  # noqa: E402
    Namespace,
    ReferenceService,
)

__all__ = (
    "EVERYTHING",
    "FixtureAuthority",
    "MountedProvider",
    "Namespace",
    "NativeReferenceAdapter",
    "ProviderContract",
    "ProviderFixture",
    "ReferenceAdapter",
    "ReferenceService",
    "RunningProvider",
    "SampleSearch",
    "SpaceSetup",
    "mount_provider",
    "provider_fixture",
    "reference_manifest",
    "reference_provider",
)
