"""The directory names of the ``workspaces`` layout, as recorded from the original."""

import json
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.workspace import canonical_workspace, workspace_id

_GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "workspace-hash.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", _GOLDEN["cases"])
def test_workspace_id_golden(case):
    if "error" in case:
        with pytest.raises(InputError):
            workspace_id(case["input"])
    else:
        assert str(canonical_workspace(case["input"])) == case["expected"]["canonical"]
        assert workspace_id(case["input"]) == case["expected"]["id"]
