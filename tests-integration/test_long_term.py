"""Long-term memory as a real MCP client uses it: create, remember, recall, follow, forget."""

from pathlib import Path
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

FACTS = [
    "We chose PostgreSQL over MySQL because row-level security was required by the audit.",
    "The nightly export to the warehouse starts at 02:30 UTC and takes about forty minutes.",
    "Maria owns the billing service; she prefers written proposals over meetings.",
    "The payment gateway rejects card tokens older than ninety days.",
    "Feature flags are stored in Redis and mirrored to S3 every ten minutes.",
    "Deployments to production are frozen on Fridays after the incident in March.",
    "The mobile app still talks to version two of the login endpoint.",
    "Invoices are numbered per country since the tax reform of 2025.",
    "Search relevance dropped when the synonyms file was truncated by a failing disk.",
    "The staging cluster has half the memory of production, so load tests run elsewhere.",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def contents(answer: dict[str, Any]) -> list[str]:
    return [row["content"] for row in answer["results"]]


async def filled(me: Any) -> str:
    """Create a Space with the facts in it, and return its id."""
    await me.turn()
    created = await me("mnemon_memory_body_create", name="Shop", description="How the shop works.")
    space = str(created["memoryBodyId"])
    for fact in FACTS:
        kept = await me("mnemon_remember", content=fact, memoryBodyId=space)
        assert kept["memoryReceipt"]["completion"] == "committed"
    return space


async def test_facts_are_remembered_recalled_followed_and_forgotten(
    environment: dict[str, str], workspace: Path, person: Any
) -> None:
    with anyio.fail_after(90):
        async with person(environment, workspace) as me:
            space = await filled(me)
            wake = await me.turn()
            assert "1 active of 1 configured Memory Space available" in wake
            found = await me("mnemon_recall", query="why was Postgres chosen for the database")
            row = next(row for row in found["results"] if row["content"] == FACTS[0])
            assert row["memoryBodyId"] == space
            assert row["memoryProviderId"] == "mnemon-native"
            near = await me("mnemon_related", id=row["id"], memoryBodyId=space)
            assert near["results"]
            assert row["id"] not in {item["id"] for item in near["results"]}
            gone = await me("mnemon_forget", id=row["id"], memoryBodyId=space)
            assert gone["memoryReceipt"]["completion"] == "committed"
            await me.turn()
            again = await me("mnemon_recall", query="why was Postgres chosen for the database")
            assert FACTS[0] not in contents(again)
            refusal = await me.refused("mnemon_forget", id=row["id"], memoryBodyId=space)
            assert "recall" in refusal.lower()


async def test_the_envelope_of_a_turn_holds(
    environment: dict[str, str], workspace: Path, person: Any
) -> None:
    with anyio.fail_after(90):
        async with person(environment, workspace) as me:
            space = await filled(me)
            for number in range(8):
                text = f"Postgres note {number}: " + "vacuum settings and replication lag. " * 30
                await me("mnemon_remember", content=text, memoryBodyId=space)
            await me.turn()
            first = await me("mnemon_recall", query="Postgres vacuum settings", limit=20)
            assert 1 <= len(first["results"]) <= 4
            assert sum(map(len, contents(first))) <= 3_600
            second = await me("mnemon_recall", query="nightly export warehouse start", limit=20)
            both = [*contents(first), *contents(second)]
            assert len(both) <= 6
            assert sum(map(len, both)) <= 4_800
            assert len(set(both)) == len(both)
            third = await me("mnemon_recall", query="who owns billing")
            assert third["query"] == "nightly export warehouse start"
            assert third["results"] == second["results"]
            repeated = await me("mnemon_recall", query="postgres  VACUUM settings!")
            assert repeated["results"] == first["results"]


HANGING = """
import anyio
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderAdapter, ProviderCapabilities, ProviderDefinition, ProviderManifest, ProviderModule,
    ExternalSpace, SpaceStatus,
)

MANIFEST = ProviderManifest(
    type_id="hanging", package_name="hanging", version="1", label="Hanging",
    summary="Never answers.",
    origin="third-party", locality="remote", workspace_binding="provider-global",
    capabilities=ProviderCapabilities(search=True), score_semantics="none",
)


class Hanging(ProviderAdapter):
    id = "hanging"

    async def discover(self, connection):
        return [ExternalSpace(external_id="one", name="Void", description="Nothing comes back.")]

    async def status(self, space):
        return SpaceStatus(healthy=True)

    async def search(self, space, request):
        await anyio.sleep_forever()


def apply(ctx, host, config):
    host.install(ctx, ProviderDefinition(manifest=MANIFEST, create=lambda context: Hanging()))


provider = ProviderModule(id="hanging", apply=apply)
"""

PROFILE = """
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host, config: {timeoutMs: 1500}}
  - id: mnemon-source-memory-spaces
    module: dsh_mnemon_source_memory_spaces
    config:
      providers: [dsh_mnemon_provider_mnemon_native, dsh_mnemon_provider_holographic, hanging]
  - {id: mnemon-strategy-default-three-tier, module: dsh_mnemon_strategy_default_three_tier}
"""


async def test_two_providers_answer_together_while_a_third_hangs(
    environment: dict[str, str], workspace: Path, person: Any, run: Any, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "hanging.py").write_text(HANGING, encoding="utf-8")
    profile = tmp_path / "profile.yaml"
    profile.write_text(PROFILE, encoding="utf-8")
    env = {
        **environment,
        "PYTHONPATH": str(tmp_path / "plugins"),
        "MNEMON_PROFILE": str(profile),
    }
    own = {key: env[key] for key in ("PYTHONPATH", "MNEMON_PROFILE")}
    for arguments in (
        ("spaces", "create", "Native"),
        ("spaces", "connect", "holographic"),
        ("spaces", "create", "Local", "--provider", "holographic"),
        ("spaces", "connect", "hanging"),
        ("remember", "The release train leaves on Tuesday.", "--space", "Native"),
        ("remember", "The release train is driven by Otto.", "--space", "Local"),
    ):
        done = run(*arguments, **own)
        assert done.returncode == 0, (arguments, done.stderr)
    with anyio.fail_after(60):
        async with person(env, workspace) as me:
            await me.turn()
            with anyio.fail_after(8):
                found = await me("mnemon_recall", query="release train")
            rows = {row["memoryProviderId"]: row["content"] for row in found["results"]}
            assert rows == {
                "mnemon-native": "The release train leaves on Tuesday.",
                "holographic": "The release train is driven by Otto.",
            }
    done = run("recall", "release train", "--json", **own)
    assert done.returncode == 0
    assert "Void" in done.stdout
    assert "unavailable" in done.stdout
