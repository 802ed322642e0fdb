"""Steps: what is archived, written and answered (spec/sources.md §2.8, §2.9)."""

from __future__ import annotations

from typing import Any

import pytest
from dsh_mnemon_core.errors import CapacityError, InputError
from dsh_mnemon_core.sdk import migration_lineage
from dsh_mnemon_source_runtime._capacity import Candidate
from dsh_mnemon_source_runtime._changes import State, Steps
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Entry, Limits
from dsh_mnemon_source_runtime.errors import RuntimeConflictError
from dsh_mnemon_source_runtime.lineage import entry_digest

NOW = "2026-03-01T12:00:00.000Z"
STEPS = Steps(limits=Limits(memory=120, user=60), now=NOW)


def entry(content: str, importance: Any = "normal", **fields: Any) -> Entry:
    return Entry(
        **{
            "content": content,
            "created_at": "c",
            "updated_at": "u",
            "target": "memory",
            "importance": importance,
            **fields,
        }
    )


CRITICAL = entry("critical 关键规则 one", "critical")
TWO = entry("normal entry two", branches=("main",))
LOW = entry("low entry three", "low")
FOUR = entry("normal entry four")
STATE = State((CRITICAL, TWO, LOW, FOUR))
ADD = {"action": "add", "target": "memory", "content": "新条目"}


def archive(state: State = STATE, request: dict[str, Any] | None = None, **options: Any) -> Any:
    given = {"revision": state.revision, "run_id": "host-1", **options}
    return STEPS.archive(read_mutation(request or ADD), **given)(state)


@pytest.mark.requirement("runtime:archive:step")
class TestArchive:
    def test_what_does_not_fit_is_archived_and_the_rest_kept_exactly(self) -> None:
        change = archive(max_bytes=70)
        assert change.entries[:-1] == (CRITICAL, TWO, FOUR)
        assert change.entries[-1].content == "新条目"
        assert change.answer["maintenance"] == {
            "kind": "local-archive",
            "runId": "host-1",
            "provider": "host",
            "summary": change.answer["maintenance"]["summary"],
            "memoryBodyIds": [],
        }
        assert change.answer["added"] == "新条目"
        assert change.answer["usage"] == {"used": 79, "limit": 120}

    def test_a_line_has_the_keys_of_the_format_in_order(self) -> None:
        (two,) = archive(max_bytes=44).archived[:1]
        assert list(two.items()) == [
            ("version", 1),
            ("archived_at", NOW),
            ("revision", STATE.revision),
            ("target", "memory"),
            ("content", "normal entry two"),
            ("created_at", "c"),
            ("updated_at", "u"),
            ("importance", "normal"),
            ("branches", ["main"]),
            ("digest", entry_digest(TWO)),
        ]

    def test_the_default_budget_is_seven_tenths_less_the_pending_entry(self) -> None:
        # 84 - 9 - 4 = 71 bytes: as with 70.
        assert archive().entries == archive(max_bytes=71).entries
        assert [line["content"] for line in archive().archived] == ["low entry three"]

    def test_the_replaced_entry_is_neither_kept_nor_archived(self) -> None:
        change = archive(
            request={
                "action": "replace",
                "target": "memory",
                "oldText": "two",
                "content": "new two",
            },
            max_bytes=0,
        )
        assert [item.content for item in change.entries] == ["new two"]
        assert [line["content"] for line in change.archived] == [
            CRITICAL.content,
            LOW.content,
            FOUR.content,
        ]

    def test_equal_duplicates_are_packed_one_by_one(self) -> None:
        state = State((entry("same"), entry("same")))
        change = archive(state, max_bytes=4)
        assert [item.content for item in change.entries] == ["same", "新条目"]
        assert [line["content"] for line in change.archived] == ["same"]

    def test_a_duplicate_add_changes_nothing(self) -> None:
        change = archive(request={**ADD, "content": "low entry three"})
        assert (change.entries, change.archived) == (None, ())
        assert "maintenance" not in change.answer

    def test_profile_entries_are_never_archived(self) -> None:
        with pytest.raises(InputError) as caught:
            archive(request={"action": "add", "target": "user", "content": "x"})
        assert caught.value.code == "archive-memory-only"

    def test_a_moved_revision_stops_it(self) -> None:
        with pytest.raises(RuntimeConflictError) as caught:
            archive(revision="0" * 64)
        assert caught.value.code == "revision-conflict"
        assert caught.value.details["current"] == STATE.revision

    def test_a_pending_entry_too_large_for_any_room_is_refused(self) -> None:
        with pytest.raises(CapacityError):
            archive(request={**ADD, "content": "x" * 121})

    @pytest.mark.parametrize(("budget", "words"), [(70, "1 entry moved"), (0, "4 entries moved")])
    def test_the_summary_counts_and_tells_the_rule(self, budget: int, words: str) -> None:
        summary = archive(max_bytes=budget).answer["maintenance"]["summary"]
        assert summary.startswith(words)
        assert "important" in summary


END = {"layerId": "runtime", "reference": "runtime:r:memory:1", "digest": "d"}
PLACE = {"layerId": "memory-spaces", "reference": "memory-space:s/item:1", "digest": "e"}


@pytest.mark.requirement("runtime:lineage:kept")
class TestCompact:
    def compact(self, request: dict[str, Any] = ADD, **options: Any) -> Any:
        kept = (Candidate(content=CRITICAL.content, importance="critical"),)
        return STEPS.compact(read_mutation(request), kept, revision=STATE.revision, **options)(
            STATE
        )

    def test_lineage_is_stamped_for_the_audit_file(self) -> None:
        lineage = migration_lineage([{"source": END, "destination": PLACE}])
        (line,) = self.compact(lineage=lineage).lineage
        assert list(line.items()) == [
            ("version", 1),
            ("archived_at", NOW),
            ("revision", STATE.revision),
            ("source", END),
            ("destination", PLACE),
        ]

    def test_a_duplicate_add_changes_nothing(self) -> None:
        change = self.compact({**ADD, "content": "low entry three"})
        assert (change.entries, change.lineage) == (None, ())

    def test_the_budget_is_the_limit_by_default(self) -> None:
        assert [item.content for item in self.compact().entries] == [CRITICAL.content, "新条目"]


@pytest.mark.requirement("runtime:mutation:recorded")
def test_the_digest_of_an_entry_ignores_its_times() -> None:
    assert entry_digest(TWO) == entry_digest(entry("normal entry two", branches=("main",)))
    assert entry_digest(TWO) != entry_digest(entry("normal entry two"))
