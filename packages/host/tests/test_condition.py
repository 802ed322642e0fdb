"""Status and doctor tell what is so."""

import os

import pytest
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_core.profile import Profile, Row
from dsh_mnemon_host import condition
from dsh_mnemon_host.condition import diagnose, look_at, opening_failed, read_condition


def findings(found, check):
    return [item for item in diagnose(found) if item.check == check]


def worst(found):
    return {(item.check, item.code) for item in diagnose(found) if item.level == "error"}


async def test_a_healthy_host_has_no_complaint(home):
    async with home.open() as host:
        found = await read_condition(host)
    assert {item.level for item in diagnose(found)} == {"ok"}
    assert {item.check for item in diagnose(found)} == {
        "profile", "composition", "source", "storage",
    }  # fmt: skip
    assert found["runtime"] == {
        "targets": {
            "memory": {**_empty("memory", 10_240), "markdownPath": str(_file(home, "MEMORY.md"))},
            "user": {**_empty("user", 4096), "markdownPath": str(_file(home, "USER.md"))},
        },
        "edits": [],
    }


def _empty(target, limit):
    return {"target": target, "entryCount": 0, "used": 0, "limit": limit}


def _file(home, name):
    return home.data / "runtime" / name


# -- rows and composition -------------------------------------------------------------------------


@pytest.mark.requirement("host:status:truth")
async def test_rows_are_judged_one_by_one(home, told_rows):
    rows = (
        *told_rows(),
        Row(id="gone", module="dsh_mnemon_nonesuch"),
        Row(id="off", module="dsh_mnemon_nonesuch", enabled=False),
        Row(
            id="wrong",
            module="dsh_mnemon_source_runtime",
            config={"memoryLimitByte": 1},
        ),
    )
    async with home.open(*rows) as host:
        found = await read_condition(host)
    levels = {item.subject: item.level for item in findings(found, "profile")}
    assert levels == {
        "mnemon": "ok",
        "told": "ok",
        "plain": "ok",
        "gone": "warning",
        "off": "ok",
        "wrong": "error",
    }
    [wrong] = [item for item in findings(found, "profile") if item.subject == "wrong"]
    assert "memoryLimitBytes" in wrong.message
    assert wrong.remedy


async def test_without_the_hosts_row_the_others_wait(home, told_rows):
    async with home.open(profile=Profile(rows=told_rows())) as host:
        found = await read_condition(host)
    assert {item.level for item in findings(found, "profile")} == {"warning"}
    assert ("composition", "missing-source") in worst(found)
    assert ("composition", "missing-strategy") in worst(found)
    assert found["sources"] == []
    assert "runtime" not in found


async def test_a_fallback_is_a_warning(home, told_rows):
    async with home.open(*told_rows(), settings="memoryView: {strategyTypeId: other}\n") as host:
        found = await read_condition(host)
    [finding] = findings(found, "composition")
    assert (finding.level, finding.code) == ("warning", "strategy-fallback")


OTHER = "dsh_mnemon_strategy_other"


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("row", "cause", "remedy"),
    [
        (None, "no entry of the profile provides it", "Add the row"),
        (
            Row(id="o", module="dsh_mnemon_strategy_general", enabled=False),
            "its entry o is switched off",
            "`dsh-mnemon compose enable o`",
        ),
        (Row(id="o", module=OTHER), "is not installed", "Install dsh-mnemon-strategy-other"),
        (
            Row(id="o", module="dsh_mnemon_strategy_general", config={"no": 1}),
            "its entry o is failed",
            "Mend o",
        ),
    ],
    ids=["no row", "off", "absent", "failed"],
)
async def test_a_fallback_names_its_cause_and_what_to_do(home, told_rows, row, cause, remedy):
    chosen = "general" if row is not None and "general" in row.module else "other"
    rows = (*told_rows(), *((row,) if row else ()))
    settings = f"memoryView: {{strategyTypeId: {chosen}}}\n"
    async with home.open(*rows, settings=settings) as host:
        found = await read_condition(host)
    [finding] = findings(found, "composition")
    assert (finding.level, finding.code) == ("warning", "strategy-fallback")
    assert cause in finding.message
    assert finding.message.startswith(f"the main Strategy {chosen}")
    assert remedy in finding.remedy
    assert "`dsh-mnemon compose strategy plain`" in finding.remedy


async def test_a_chosen_strategy_that_went_away_beside_two_others_has_no_stand_in(home, told_rows):
    source, plain = told_rows()
    settings = "memoryView: {strategyTypeId: plain}\n"
    async with home.open(source, plain, settings=settings) as host:
        others = (
            Row(id="mnemon", module="dsh_mnemon_host"),
            source,
            Row(id="one", module="dsh_mnemon_strategy_general"),
            Row(id="two", module="dsh_mnemon_strategy_default_three_tier"),
        )
        await host.profile.apply(others)
        found = await read_condition(host)
    [finding] = findings(found, "composition")
    assert (finding.level, finding.code) == ("error", "strategy-type-unavailable")
    assert "instead" not in finding.message
    assert "`dsh-mnemon compose strategy NAME`" in finding.remedy


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("hints", "message", "remedy"),
    [
        ({}, "it does not say why", "status --json"),
        ({"activeCount": 2}, "it does not say why", "status --json"),
        ({"activeCount": 0}, "no Memory Space is active yet", "spaces create"),
        ({"reason": "one is slow"}, "one is slow", "status --json"),
        ({"reason": "one is slow", "remedy": "Wait."}, "one is slow", "Wait."),
    ],
)
async def test_a_degraded_source_is_a_warning_with_its_reason(
    home, told, told_rows, hints, message, remedy
):
    rows = told_rows()
    told.availability, told.hints = "degraded", hints
    async with home.open(*rows) as host:
        found = await read_condition(host)
    [finding] = findings(found, "source")
    assert (finding.level, finding.code) == ("warning", "source-degraded")
    assert finding.message == f"source:told is degraded: {message}"
    assert remedy in finding.remedy


async def test_a_candidate_that_was_rejected_later_is_an_error(home, told_rows, strategy_row):
    rows = told_rows()
    async with home.open(*rows, settings="memoryView: {strategyTypeId: plain}\n") as host:
        second = strategy_row("second")  # the same type once more is ambiguous
        await host.profile.apply((Row(id="mnemon", module="dsh_mnemon_host"), *rows, second))
        found = await read_condition(host)
        assert found["composition"]["servingGenerationId"]
        async with host.agent().turn() as turn:
            assert turn.problem is None
    [finding] = findings(found, "composition")
    assert (finding.level, finding.code) == ("error", "strategy-type-ambiguous")
    assert finding.remedy


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.requirement("host:status:truth")
async def test_a_damaged_store_is_named_with_file_and_reason(home):
    folder = home.data / "runtime"
    folder.mkdir(parents=True)
    (folder / "memories.json").write_text('{"version": 1, "entries": [7]}', encoding="utf-8")
    async with home.open() as host:
        found = await read_condition(host)
    [finding] = findings(found, "source")
    assert finding.level == "error"
    assert finding.subject == str(folder / "memories.json")
    assert finding.code == "source-unavailable"
    assert finding.message.endswith("invalid-entry at entry 0")
    assert finding.remedy.endswith("Repair it by hand, or move it away to start empty.")
    assert "runtime" not in found
    assert found["stores"] == [
        {
            "file": str(folder / "memories.json"),
            "readable": False,
            "reason": "invalid-entry",
            "firstBadIndex": 0,
        }
    ]


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize("names", [("USER.md",), ("USER.md", "MEMORY.md")])
async def test_text_beside_a_damaged_store_is_named_with_the_way_to_keep_it(home, names):
    async with home.open() as host:
        for target in ("user", "memory"):
            content = {"action": "add", "target": target, "content": f"Tea for {target}"}
            await host.people.write_runtime(content)
    folder = home.data / "runtime"
    if "MEMORY.md" not in names:
        (folder / "MEMORY.md").write_text("", encoding="utf-8")
    (folder / "memories.json").write_text("{", encoding="utf-8")
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "source")
    for name in ("USER.md", "MEMORY.md"):
        said = f"`dsh-mnemon runtime adopt {folder / name}`" in finding.remedy
        assert said is (name in names)
    (folder / "memories.json").unlink()
    async with home.open() as host:
        found = await read_condition(host)
    assert {item.message for item in findings(found, "source")} == {"ready"}
    kept = {path.read_text(encoding="utf-8") for path in (folder / "edited").iterdir()}
    assert kept == {f"Tea for {name[:-3].lower()}\n" for name in names}
    assert len(findings(found, "edits")) == len(names)


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("newer-version", "upgrade"),
        ("dangling-link", "link"),
        ("not-a-regular-file", "Move away"),
        ("too-large", "Shorten"),
        ("not-json", "Repair"),
    ],
)
async def test_the_remedy_fits_the_reason(home, reason, words):
    folder = home.data / "runtime"
    folder.mkdir(parents=True)
    file = folder / "memories.json"
    if reason == "newer-version":
        file.write_text('{"version": 2, "entries": []}', encoding="utf-8")
    elif reason == "dangling-link":
        file.symlink_to(folder / "nowhere.json")
    elif reason == "not-a-regular-file":
        os.mkfifo(file)
    elif reason == "too-large":
        file.touch()
        os.truncate(file, 256 * 1024 * 1024 + 1)
    else:
        file.write_text("{", encoding="utf-8")
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "source")
    assert reason in finding.message
    assert words in finding.remedy
    assert ".md" not in finding.remedy


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("writes", "level"), [("true", "error"), ("false", "warning")], ids=["writing", "read-only"]
)
async def test_what_keeps_memory_from_being_written_is_reported(home, writes, level):
    _file(home, "MEMORY.md").mkdir(parents=True)
    async with home.open(settings=f"writeEnabled: {writes}\n") as host:
        found = await read_condition(host)
    [finding] = findings(found, "files")
    assert (finding.level, finding.code) == (level, "store-blocked")
    assert finding.subject == str(_file(home, "MEMORY.md"))


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("state", "level"), [("held", "warning"), ("future", "error"), ("folder", "error")]
)
async def test_a_lock_that_blocks_writing_is_reported_with_its_time(home, state, level):
    lock = _file(home, ".memories.lock")
    lock.parent.mkdir(parents=True)
    if state == "folder":
        lock.mkdir()
    else:
        lock.touch()
    if state == "future":
        os.utime(lock, (4_102_444_800, 4_102_444_800))
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "files")
    assert (finding.level, finding.code, finding.subject) == (level, "store-locked", str(lock))
    assert ("2100-01-01" in finding.message) is (state == "future")


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(("lines", "words"), [(1, "1 line is"), (2, "2 lines are")])
async def test_odd_lines_of_the_archive_are_counted(home, lines, words):
    archived = _file(home, "archived")
    archived.mkdir(parents=True)
    (archived / "MEMORY.jsonl").write_text('{"x": 1}\n' * lines, encoding="utf-8")
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "files")
    assert (finding.level, finding.code) == ("warning", "archive-unreadable-lines")
    assert finding.message.startswith(words)


@pytest.mark.requirement("host:status:truth")
async def test_more_than_is_allowed_is_a_warning(home):
    async with home.open() as host:
        await host.people.write_runtime({"action": "add", "target": "user", "content": "Green tea"})
    async with home.open(settings="runtimeMemory: {userLimitBytes: 8}\n") as host:
        [finding] = findings(await read_condition(host), "capacity")
    assert (finding.level, finding.code) == ("warning", "over-limit")
    assert (finding.subject, "9 bytes" in finding.message) == (str(_file(home, "USER.md")), True)


async def test_a_source_that_does_not_answer_is_named_by_its_outage(home, told, told_rows):
    told.failures["facts"] = OSError("/secret")
    async with home.open(*told_rows()) as host:
        found = await read_condition(host)
    [finding] = findings(found, "source")
    assert (finding.level, finding.subject) == ("error", "source:told")
    assert finding.code == "source-facts-failed"
    assert "secret" not in finding.message
    assert finding.remedy == "Look at the log, then start again."


async def test_a_source_without_a_plane_that_does_not_answer_is_named_too(home, told, told_rows):
    told.failures["facts"] = OSError("/secret")
    async with home.open(*told_rows(source={"management": False})) as host:
        found = await read_condition(host)
    [finding] = findings(found, "source")
    assert (finding.level, finding.subject) == ("error", "source:told")
    assert finding.code == "source-facts-failed"
    assert "secret" not in finding.message


async def test_an_unavailable_source_without_a_word_is_still_named(home, told, told_rows):
    told.availability = "unavailable"
    async with home.open(*told_rows()) as host:
        found = await read_condition(host)
    [finding] = findings(found, "source")
    assert "it cannot be read" in finding.message


async def test_sources_that_break_their_contract_cost_the_catalogue_only(home, told, told_rows):
    told.availability = "perhaps"
    async with home.open(*told_rows()) as host:
        found = await read_condition(host)
    assert found["sources"] == []
    assert found["composition"]["problem"]["code"] == "facts-availability-unsupported"
    assert ("composition", "facts-availability-unsupported") in worst(found)


@pytest.mark.requirement("host:status:truth")
async def test_hand_edits_are_named_with_the_command_that_takes_them_over(home):
    async with home.open() as host:
        await host.people.write_runtime({"action": "add", "target": "user", "content": "Tea"})
        _file(home, "USER.md").write_text("Tea\n§\nCoffee\n", encoding="utf-8")
        found = await read_condition(host)
    [finding] = findings(found, "edits")
    assert finding.level == "warning"
    assert finding.subject == str(_file(home, "USER.md"))
    assert "kept" not in finding.message
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "edits")
    assert finding.subject.startswith(str(home.data / "runtime" / "edited" / "USER-"))
    assert f"dsh-mnemon runtime adopt {finding.subject}" in finding.remedy
    assert "kept" in finding.message


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("type_id", "operation", "area"),
    [
        ("runtime", "snapshot", "runtime"),
        ("runtime", "diagnose", "stores"),
        ("memory-spaces", "provider-services", "spaces"),
        ("memory-spaces", "status", "spaces"),
        ("documents", "diagnose", "documents"),
    ],
)
async def test_a_source_that_cannot_tell_its_condition_is_an_error(
    home, told, told_rows, type_id, operation, area
):
    rows = told_rows(source={"type_id": type_id})
    failure = StorageError("registry-damaged", "it is damaged", details={"file": "/x/registry"})
    told.failures[f"manage {operation}"] = failure
    told.answer = {"diagnose": (), "edits": (), "snapshot": {"targets": {}}}
    told.answer |= {"status": {}, "provider-services": {"services": ()}}
    async with home.open(*rows) as host:
        found = await read_condition(host, thorough=True)
        told.hints = {"file": "/x/registry"}
        named = await read_condition(host, thorough=True)
    (finding,) = [item for item in findings(found, area) if item.code == "registry-damaged"]
    assert (finding.level, finding.subject) == ("error", "/x/registry")
    assert finding.message == "its condition cannot be told: it is damaged"
    assert findings(named, area) == [], "the Source itself has named the file"
    assert "/x/registry" in {item.subject for item in findings(named, "source")}


@pytest.mark.requirement("host:status:truth")
async def test_a_source_of_another_make_is_a_warning_and_an_absent_one_is_nothing(
    home, told, told_rows
):
    async with home.open(*told_rows()) as host:
        found = await read_condition(host, thorough=True)
        told.failures["manage snapshot"] = InputError("operation-unsupported", "no")
        less = await read_condition(host, thorough=True)
    assert {item["area"] for item in found["silent"]} == {"runtime", "stores"}
    for item in findings(found, "runtime"):
        assert (item.level, item.code) == ("warning", "answer-unexpected")
    assert [item["area"] for item in less["silent"]] == ["stores"]


# -- settings and harnesses -----------------------------------------------------------------------


@pytest.mark.requirement("host:status:truth")
async def test_unknown_keys_get_the_nearest_or_none(home):
    settings = "writeEnabeld: true\nqqqqqq: 1\n"
    async with home.open(settings=settings) as host:
        found = await read_condition(host)
    remedies = {item.subject: item.remedy for item in findings(found, "settings")}
    assert remedies == {
        "writeEnabeld": "Did you mean writeEnabled?",
        "qqqqqq": "Remove the key.",
    }
    assert {item.level for item in findings(found, "settings")} == {"warning"}


@pytest.mark.requirement("host:status:truth")
async def test_settings_that_are_not_in_force_are_an_error(home):
    async with home.open(settings="timeoutMs: 500\n") as host:
        home.settings.write_text("timeoutMs: soon\n", encoding="utf-8")
        await host.settings.refresh()
        found = await read_condition(host)
        assert host.live.config.config.timeout_ms == 500
    [finding] = findings(found, "settings")
    assert (finding.level, finding.code) == ("error", "settings-not-in-force")
    assert "timeoutMs" in finding.message


async def test_what_a_harness_lacks_is_named_with_what_it_needs(home, told_rows):
    async with home.open(*told_rows()) as host:
        host.agent()
        [harness] = (await read_condition(host))["harnesses"]
    assert harness == {
        "name": "python",
        "disabled": [{"feature": "idle review", "needs": ["idle", "worker_tools", "guard"]}],
    }


def test_what_keeps_a_host_from_opening_is_one_finding():
    for details, subject in (
        ({"file": "/x"}, "/x"),
        ({"key": "timeoutMs"}, "timeoutMs"),
        ({}, "the Host"),
    ):
        finding = opening_failed(InputError("some-code", "Something.", details=details))
        assert (finding.level, finding.subject, finding.code) == ("error", subject, "some-code")


# -- storage --------------------------------------------------------------------------------------


@pytest.fixture
def permissions(monkeypatch):
    """Decide what the file system permits, since root may do everything."""
    denied = {}

    def access(path, mode, **_):
        return not denied.get(os.fspath(path), 0) & mode

    monkeypatch.setattr(condition.os, "access", access)
    return lambda path, mode: denied.__setitem__(str(path), mode)


def test_folders_are_looked_at_without_touching_them(tmp_path, permissions):
    folder, file, link = tmp_path / "folder", tmp_path / "file", tmp_path / "link"
    folder.mkdir()
    file.touch()
    link.symlink_to(tmp_path / "nowhere")
    assert look_at(folder) == "ready"
    assert look_at(folder / "a" / "b") == "missing"
    assert look_at(file) == look_at(file / "a") == look_at(link) == "blocked"
    permissions(folder, os.W_OK)
    assert look_at(folder) == look_at(folder / "a" / "b") == "read-only"
    permissions(folder, os.R_OK)
    assert look_at(folder) == "unreadable"
    assert not (folder / "a").exists()


@pytest.mark.requirement("host:status:storage")
@pytest.mark.parametrize(
    ("writes", "level"), [("true", "error"), ("false", "warning")], ids=["writing", "read-only"]
)
async def test_a_root_that_cannot_be_written_is_reported(home, permissions, writes, level):
    home.data.mkdir()
    permissions(home.data, os.W_OK)
    async with home.open(settings=f"writeEnabled: {writes}\n") as host:
        found = await read_condition(host)
    [finding] = findings(found, "storage")
    assert (finding.level, finding.code) == (level, "storage-read-only")
    assert finding.subject == str(home.data)
    assert finding.remedy


@pytest.mark.requirement("host:status:storage")
@pytest.mark.parametrize("state", ["unreadable", "blocked"])
async def test_a_root_that_cannot_be_used_is_reported(home, permissions, state):
    if state == "blocked":
        home.data.write_text("in the way", encoding="utf-8")
    else:
        home.data.mkdir()
        permissions(home.data, os.R_OK)
    async with home.open() as host:
        found = await read_condition(host)
    code = {"unreadable": "storage-unreadable", "blocked": "storage-invalid"}[state]
    assert ("storage", code) in worst(found)


@pytest.mark.requirement("host:status:storage")
async def test_both_roots_and_existing_areas_are_looked_at(home, tmp_path, permissions):
    settings = "storageScope: workspace\nruntimeUserScope: global\n"
    (home.workspace / ".mnemon" / "runtime").mkdir(parents=True)
    permissions(home.workspace / ".mnemon" / "runtime", os.W_OK)
    async with home.open(settings=settings) as host:
        found = await read_condition(host)
    root = home.workspace / ".mnemon"
    assert found["storage"]["places"] == [
        {"path": str(root), "state": "ready"},
        {"path": str(home.data), "state": "missing"},
        {"path": str(root / "runtime"), "state": "read-only"},
    ]
    assert worst(found) == {("storage", "storage-read-only")}
