"""The pure rule of the action workflow."""

import pytest
from dsh_mnemon_strategy_default_three_tier import action_workflow


@pytest.mark.requirement("layered:workflow")
@pytest.mark.parametrize(
    ("strategy", "source", "action", "workflow"),
    [
        ("default-three-tier", "runtime", "mutate", "runtime-capacity"),
        ("general", "runtime", "mutate", None),
        ("default-three-tier", "documents", "mutate", None),
        ("default-three-tier", "runtime", "manage", None),
    ],
)
def test_only_a_runtime_write_under_layered_has_a_workflow(strategy, source, action, workflow):
    assert action_workflow(strategy, source, action) == workflow
