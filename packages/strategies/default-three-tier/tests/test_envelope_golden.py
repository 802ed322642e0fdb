"""Golden admission and query identity (recorded for the Sources, applied by this Strategy)."""

import re
from pathlib import Path

import pytest
from dsh_mnemon_core.evidence import EvidenceItem
from dsh_mnemon_strategy_default_three_tier._documents import LIMITS
from dsh_mnemon_strategy_default_three_tier._envelope import (
    ITEM_CHARACTERS,
    Ceilings,
    admit,
    query_identity,
)
from dsh_mnemon_strategy_default_three_tier._recall import FIRST, TOGETHER
from dsh_mnemon_strategy_default_three_tier._related import CEILINGS
from dsh_mnemon_testing.golden import golden

GOLDEN = golden(Path(__file__).parent / "golden", "layered-envelope")


def content(result, results):
    """Rebuild a content: its id padded with x, or another's stretched with white space."""
    name = result.get("sameAs", result["id"]).partition(" ")[0]
    model = next((other for other in results if other["id"] == name), result)
    text = f"{name} ".ljust(model["length"], "x")[: model["length"]]
    return text.replace(" ", " " * (1 + result["length"] - len(text)), 1)


def item(result, results):
    keys = {"memoryBodyId": "memoryBodyId", "tier": "relevanceTier"}
    provenance = {shown: result[key] for key, shown in keys.items() if key in result}
    return EvidenceItem(id=result["id"], text=content(result, results), provenance=provenance)


@pytest.mark.requirement("layered:golden:envelope")
@pytest.mark.parametrize("case", GOLDEN.cases, ids=GOLDEN.ids())
def test_golden_admission(case):
    ceilings = Ceilings(
        results=case["input"]["admission"]["resultLimit"],
        characters=case["input"]["admission"]["totalContentLimit"],
        medium=case["input"]["admission"].get("medium", 1),
        unknown=case["input"]["admission"].get("unknown", 1),
    )
    results = case["input"]["results"]
    items = [item(result, results) for result in results]
    assert [len(made.text) for made in items] == [result["length"] for result in results]
    admitted = [entry.item for entry in admit(items, ceilings).admitted]
    assert [
        {"id": made.id, "length": len(made.text), "ellipsis": made.text.endswith("…")}
        for made in admitted
    ] == case["expected"]


@pytest.mark.requirement("layered:golden:envelope")
@pytest.mark.parametrize("case", GOLDEN.data["queryDigest"])
def test_golden_query_identity(case):
    given = case["input"]
    spaces = given.get("memoryBodyIds") or ()
    found = query_identity(given["sourceInstanceKey"], given["query"], spaces)
    # A sign directly after a letter or digit tells queries apart here (D58).
    signed = re.search(r"[^\W_][+#]", given["query"]) is not None
    assert (found == case["expected"]) is not signed


@pytest.mark.requirement("layered:golden:envelope")
def test_golden_defaults():
    given = GOLDEN.data["defaults"]
    doubtful = {"medium": given["mediumPerAttempt"], "unknown": given["unknownPerAttempt"]}
    assert given["contentLimit"] == ITEM_CHARACTERS
    assert (
        Ceilings(results=given["resultLimit"], characters=given["totalContentLimit"], **doubtful)
        == TOGETHER
    )
    first, related = given["firstAttempt"], given["related"]
    assert (
        Ceilings(results=first["resultLimit"], characters=first["totalContentLimit"], **doubtful)
        == FIRST
    )
    assert (
        Ceilings(
            results=related["resultLimit"],
            characters=related["totalContentLimit"],
            medium=related["medium"],
            unknown=related["unknown"],
        )
        == CEILINGS
    )
    assert (LIMITS.max_results, LIMITS.max_characters) == (4, 6000)
