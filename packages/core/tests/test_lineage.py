"""Reading migration lineage (spec/core.md §18)."""

from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.lineage import migration_lineage
from dsh_mnemon_core.wire import to_wire


def end(**changes: Any) -> dict[str, Any]:
    return {"layerId": "runtime", "reference": "runtime:r:memory:1", "digest": "d", **changes}


def record(**changes: Any) -> dict[str, Any]:
    return {"source": end(), "destination": end(layerId="memory-spaces"), **changes}


def test_lineage_round_trips() -> None:
    value = [record(), record(source=end(reference="r" * 2000))]
    assert to_wire(migration_lineage(value)) == value
    assert migration_lineage(None) == ()
    assert migration_lineage([]) == ()
    assert len(migration_lineage([record()] * 1000)) == 1000


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("text", "lineage-invalid"),
        ([record()] * 1001, "lineage-invalid"),
        ([{"source": end()}], "not-an-object"),
        ([record(more=1)], "key-unknown"),
        ([record(source=end(digest=""))], "text-required"),
        ([record(source=end(layerId="l" * 301))], "text-too-long"),
        ([record(source=end(reference="r" * 2001))], "text-too-long"),
        ([record(source=end(digest=5))], "text-not-string"),
    ],
)
def test_malformed_lineage_is_refused(value: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        migration_lineage(value)
    assert caught.value.code == code
