"""What the tests of this package share: Sources described by a few words."""

from collections.abc import Sequence

import pytest
from dsh_mnemon_core.source import ActionManifest, AvailableSource, RouteManifest

ROLES = {
    "runtime": "working-context",
    "documents": "narrative",
    "memory-spaces": "durable-evidence",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def make_source():
    """Return a factory of available Sources; the type gives the role unless one is named."""

    def make(
        type_id: str,
        key: str | None = None,
        *,
        role: str | None = None,
        routes: Sequence[str] = (),
        actions: Sequence[str] = (),
        project: bool = True,
        availability: str = "ready",
    ) -> AvailableSource:
        schema = {"type": "object"}
        return AvailableSource(
            source_instance_key=key or f"source:{type_id}",
            source_type_id=type_id,
            role=role or ROLES[type_id],
            availability=availability,
            revision="r1",
            capabilities=("project", "search", "write") if project else ("search", "write"),
            routes=tuple(
                RouteManifest(
                    id=id_, description=id_, capability="search", input_schema=schema, max_calls=4
                )
                for id_ in routes
            ),
            actions=tuple(
                ActionManifest(id=id_, description=id_, capability="write", input_schema=schema)
                for id_ in actions
            ),
        )

    return make
