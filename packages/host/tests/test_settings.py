from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from dsh_mnemon_core.errors import (
    ConfigurationError,
    ConflictError,
    InputError,
    LifecycleError,
    StorageError,
)
from dsh_mnemon_host.config import (
    REDACTED,
    ConversationInteraction,
    HostConfig,
    MemoryView,
    UnknownKey,
)
from dsh_mnemon_host.settings import FileSettings, Operation

_TEXT = "# mine\nwriteEnabled: false  # for now\ntypo: 1\n"


def _set(path, value):
    return {"op": "set", "path": path, "value": value}


def _unset(path):
    return {"op": "unset", "path": path}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings.yaml"


async def _open(path, text=None, *, base=None, admit=None, read_only=False):
    if text is not None:
        path.write_text(text, encoding="utf-8")
    settings = await FileSettings.open(path, read_only=read_only)
    await settings.register("mnemon", HostConfig, base=base, admit=admit)
    return settings


def _mnemon(settings, **kwargs):
    return next(space for space in settings.describe(**kwargs) if space.ns == "mnemon")


async def _conflict(settings, *args):
    with pytest.raises(ConflictError) as caught:
        await settings.mutate(*args)
    assert caught.value.code == "SETTINGS_CONFLICT"
    return caught.value


# -- describing and registering -------------------------------------------------------------------


async def test_layers_and_defaults(path):
    settings = await _open(path, _TEXT, base={"recallMode": "off", "writeEnabled": True})
    space = _mnemon(settings)
    assert space.user == {"writeEnabled": False, "typo": 1}
    assert space.base == {"recallMode": "off", "writeEnabled": True}
    assert space.value["writeEnabled"] is False
    assert space.value["recallMode"] == "off"
    assert space.value["timeoutMs"] == 10_000
    assert space.applies == "live"
    assert settings.unknown == (UnknownKey("typo"),)
    assert settings.path == path


async def test_nothing_is_created_by_looking(path):
    settings = await _open(path)
    assert _mnemon(settings).revision == 0
    assert settings.writable
    assert not await settings.refresh()
    assert list(path.parent.iterdir()) == []


async def test_field_backed_namespaces(path):
    settings = await FileSettings.open(path)
    assert settings.unknown == ()
    ui = await settings.register("mnemon-ui", ConversationInteraction, base={"turnBar": False})
    view = await settings.register("mnemon-view", MemoryView)
    config = await settings.register("mnemon", HostConfig)
    assert (ui.turn_bar, ui.save_action) == (False, True)
    assert config.conversation_interaction == ui
    assert view == config.memory_view
    await settings.mutate("mnemon-ui", [_set("saveAction", False)])
    await settings.mutate("mnemon-view", [_set(["entries", "a.b"], {"enabled": True})])
    assert path.read_text(encoding="utf-8") == (
        "conversationInteraction:\n  saveAction: false\n"
        "memoryView:\n  entries:\n    a.b:\n      enabled: true\n"
    )
    described = {space.ns: space for space in settings.describe()}
    assert described["mnemon-ui"].user == {"saveAction": False}
    assert described["mnemon-ui"].base == {"turnBar": False}
    assert described["mnemon-view"].value["entries"]["a.b"] == {"enabled": True, "config": {}}
    assert len({space.revision for space in settings.describe()}) == 1


async def test_a_section_that_is_no_mapping_counts_as_absent_for_its_namespace(path):
    path.write_text("memoryView:\n", encoding="utf-8")
    settings = await FileSettings.open(path)
    assert await settings.register("mnemon-view", MemoryView) == MemoryView()


async def test_namespaces_are_registered_once_and_known(path):
    settings = await _open(path)
    with pytest.raises(ConflictError) as caught:
        await settings.register("mnemon", HostConfig)
    assert caught.value.code == "settings-namespace-taken"
    for wrong in (
        settings.register("else", HostConfig),
        settings.mutate("mnemon-ui", [_unset("x")]),
    ):
        with pytest.raises(InputError) as caught:
            await wrong
        assert caught.value.code == "settings-namespace-unknown"


async def test_a_bad_value_at_registration_names_file_and_key(path):
    path.write_text("timeoutMs: 5\n", encoding="utf-8")
    settings = await FileSettings.open(path)
    with pytest.raises(ConfigurationError) as caught:
        await settings.register("mnemon", HostConfig)
    assert caught.value.details["key"] == "timeoutMs"
    assert str(path) in caught.value.message
    assert settings.describe() == ()


async def test_secrets_are_masked_in_every_layer(path):
    text = "embedding:\n  apiKey: sk-user\nembeding:\n  apiKey: sk-typo\n"
    settings = await _open(path, text, base={"embedding": {"apiKey": "sk-base"}})
    space = _mnemon(settings)
    assert space.user["embedding"]["apiKey"] == REDACTED
    assert "sk-" not in repr(space)
    assert "sk-user" in repr(_mnemon(settings, redact_secrets=False))
    assert _mnemon(settings, redact_secrets=False).base["embedding"]["apiKey"] == "sk-base"


# -- changing -------------------------------------------------------------------------------------


@pytest.mark.requirement("host:settings:comments")
async def test_a_change_keeps_comments_and_unknown_keys(path):
    settings = await _open(path, _TEXT)
    before = _mnemon(settings).revision
    after = await settings.mutate("mnemon", [_set("writeEnabled", True), _set("timeoutMs", 500)])
    assert path.read_text(encoding="utf-8") == (
        "# mine\nwriteEnabled: true  # for now\ntypo: 1\ntimeoutMs: 500\n"
    )
    assert after == _mnemon(settings)
    assert after.value["timeoutMs"] == 500
    assert after.revision != before
    assert path.stat().st_mode & 0o777 == 0o600
    await settings.mutate("mnemon", [_unset("timeoutMs")])
    assert _mnemon(settings).value["timeoutMs"] == 10_000


async def test_a_change_to_what_is_there_writes_nothing(path):
    settings = await _open(path, _TEXT)
    status = path.stat()
    await settings.mutate("mnemon", [_set("writeEnabled", False), _unset("gone")])
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert path.stat().st_ino == status.st_ino


async def test_one_is_not_true(path):
    path.write_text("timeoutMs: 1000\nlegacySettingsImported: true\nx: 1\n", encoding="utf-8")
    settings = await FileSettings.open(path)
    await settings.register("mnemon", HostConfig)
    await settings.mutate("mnemon", [_set("x", True)])
    assert "x: true" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("op", "code"),
    [
        (_set("timeoutMs", 5), "setting-range"),
        (_set("storageScope", "custom"), "rejected"),
        (_set("embedding", {"endpoint": "x"}), "setting-format"),
    ],
)
async def test_a_refused_change_leaves_file_and_value(path, op, code):
    @asynccontextmanager
    async def admit(config):
        if config.storage_scope == "custom":
            raise ConfigurationError("rejected", "no")
        yield

    settings = await _open(path, _TEXT, admit=admit)
    before = _mnemon(settings)
    with pytest.raises(ConfigurationError) as caught:
        await settings.mutate("mnemon", [op])
    assert caught.value.code == code
    assert path.read_text(encoding="utf-8") == _TEXT
    assert _mnemon(settings) == before


async def test_a_masked_secret_and_an_unknown_key_survive_a_round_trip_through_a_page(path):
    settings = await _open(path, "embedding:\n  apiKey: sk-1\n  modle: x\n")
    section = dict(_mnemon(settings).value["embedding"])
    assert section["apiKey"] == REDACTED
    await settings.mutate("mnemon", [_set("embedding", section | {"enabled": True})])
    stored = _mnemon(settings, redact_secrets=False).user["embedding"]
    assert stored["apiKey"] == "sk-1"
    assert stored["modle"] == "x"
    assert stored["enabled"] is True


async def test_a_masked_secret_that_never_was_stays_empty(path):
    settings = await _open(path)
    await settings.mutate("mnemon", [_set("embedding.apiKey", REDACTED)])
    assert _mnemon(settings, redact_secrets=False).user == {"embedding": {"apiKey": ""}}


async def test_closed_and_read_only_settings_refuse(path):
    settings = await _open(path, _TEXT, read_only=True)
    assert not settings.writable
    with pytest.raises(StorageError) as caught:
        await settings.mutate("mnemon", [_set("writeEnabled", True)])
    assert caught.value.code == "settings-read-only"
    settings = await _open(path)
    settings.close()
    assert not settings.writable
    with pytest.raises(LifecycleError) as caught:
        await settings.mutate("mnemon", [_set("writeEnabled", True)])
    assert caught.value.code == "settings-closed"
    assert path.read_text(encoding="utf-8") == _TEXT


# -- the fence ------------------------------------------------------------------------------------


@pytest.mark.requirement("host:settings:fence")
async def test_different_keys_of_two_writers_both_succeed(path):
    one, two = await _open(path, _TEXT), await _open(path)
    await one.mutate("mnemon", [_set("timeoutMs", 500)])
    await two.mutate("mnemon", [_set("defaultRecallLimit", 7)])
    assert _mnemon(two).value["timeoutMs"] == 500
    assert path.read_text(encoding="utf-8") == _TEXT + "timeoutMs: 500\ndefaultRecallLimit: 7\n"


@pytest.mark.requirement("host:settings:fence")
async def test_the_same_key_of_two_writers_conflicts(path):
    one, two = await _open(path, _TEXT), await _open(path)
    await one.mutate("mnemon", [_set("timeoutMs", 500)])
    error = await _conflict(two, "mnemon", [_set("timeoutMs", 600)])
    assert error.details["keys"] == ["timeoutMs"]
    assert error.details["revision"] == _mnemon(one).revision
    assert _mnemon(two).value["timeoutMs"] == 500
    await two.mutate("mnemon", [_set("timeoutMs", 600)])
    assert "timeoutMs: 600" in path.read_text(encoding="utf-8")


async def test_a_section_and_a_key_inside_it_conflict(path):
    one, two = await _open(path, _TEXT), await _open(path)
    await one.mutate("mnemon", [_set("embedding.enabled", True)])
    await _conflict(two, "mnemon", [_set("embedding", {"model": "m"})])


async def test_an_expected_revision_that_is_remembered(path):
    settings = await _open(path, _TEXT)
    seen = _mnemon(settings).revision
    await settings.mutate("mnemon", [_set("timeoutMs", 500)], seen)
    await settings.mutate("mnemon", [_set("defaultRecallLimit", 7)], seen)
    error = await _conflict(settings, "mnemon", [_set("timeoutMs", 600)], seen)
    assert error.details["expectedRevision"] == seen


async def test_an_expected_revision_that_nobody_remembers(path):
    settings = await _open(path, _TEXT)
    await _conflict(settings, "mnemon", [_set("timeoutMs", 500)], 12345)
    assert path.read_text(encoding="utf-8") == _TEXT


async def test_only_the_latest_revisions_are_remembered(path):
    settings = await _open(path)
    seen = _mnemon(settings).revision
    for number in range(100, 164):
        await settings.mutate("mnemon", [_set("timeoutMs", number)])
    await _conflict(settings, "mnemon", [_set("writeEnabled", True)], seen)


async def test_an_editor_saving_in_the_last_moment_is_noticed(path):
    """The fence holds against programs that know no lock."""
    edits = iter(["# one\n", "# two\n"])

    @asynccontextmanager
    async def admit(config):
        text = next(edits, None)
        if config.timeout_ms != 10_000 and text:
            path.write_text(_TEXT + text, encoding="utf-8")
        yield

    settings = await _open(path, _TEXT)
    other = await FileSettings.open(path)
    await other.register("mnemon", HostConfig, admit=lambda config: admit(config))
    edits = iter(["# one\n", "# two\n"])
    await other.mutate("mnemon", [_set("timeoutMs", 500)])
    assert path.read_text(encoding="utf-8") == _TEXT + "timeoutMs: 500\n# two\n"
    assert await settings.refresh()


async def test_a_file_that_never_rests_is_given_up(path):
    count = 0

    @asynccontextmanager
    async def admit(config):
        nonlocal count
        count += 1
        path.write_text(f"{_TEXT}# {count}\n", encoding="utf-8")
        yield

    settings = await _open(path, _TEXT, admit=admit)
    count = 0
    await _conflict(settings, "mnemon", [_set("timeoutMs", 500)])
    assert count == 3
    assert path.read_text(encoding="utf-8") == f"{_TEXT}# 3\n"


# -- admission and listeners ----------------------------------------------------------------------


def _recorder(log):
    @asynccontextmanager
    async def admit(config):
        log.append(("built", config.timeout_ms))
        try:
            yield
        except BaseException:
            log.append(("discarded", config.timeout_ms))
            raise
        log.append(("in force", config.timeout_ms))

    return admit


async def test_an_admission_lives_through_the_commit(path):
    log = []
    settings = await _open(path, _TEXT, admit=_recorder(log))

    async def listen(ns, value):
        log.append((ns, value.timeout_ms))

    stop = settings.subscribe(listen)
    await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert log == [
        ("built", 10_000), ("in force", 10_000),
        ("built", 500), ("in force", 500), ("mnemon", 500),
    ]  # fmt: skip
    stop()
    log.clear()
    await settings.mutate("mnemon", [_set("timeoutMs", 600)])
    assert log == [("built", 600), ("in force", 600)]


async def test_a_candidate_is_discarded_when_the_file_moved(path):
    log = []
    settings = await _open(path, _TEXT, admit=_recorder(log))
    log.clear()
    replace = settings._file.replace

    def once(text, expected, **kwargs):
        settings._file.replace = replace
        path.write_text(_TEXT + "defaultRecallLimit: 7\n", encoding="utf-8")
        return replace(text, expected, **kwargs)

    settings._file.replace = once
    await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert log == [("built", 500), ("discarded", 500), ("built", 500), ("in force", 500)]
    assert _mnemon(settings).value["defaultRecallLimit"] == 7


async def test_only_namespaces_whose_value_changed_are_told(path):
    settings = await _open(path)
    await settings.register("mnemon-ui", ConversationInteraction)
    told = []

    async def listen(ns, value):
        told.append(ns)

    settings.subscribe(listen)
    await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    await settings.mutate("mnemon-ui", [_set("turnBar", False)])
    await settings.mutate("mnemon", [_set("typo", 1)])
    assert told == ["mnemon", "mnemon", "mnemon-ui"]


async def test_other_processes_need_not_wait_for_listeners(path):
    settings, other = await _open(path, _TEXT), await _open(path)
    told = []

    async def listen(ns, value):
        await other.mutate("mnemon", [_set("defaultRecallLimit", value.timeout_ms // 100)])
        told.append(ns)

    settings.subscribe(listen)
    await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert told == ["mnemon"]
    assert path.read_text(encoding="utf-8") == _TEXT + "timeoutMs: 500\ndefaultRecallLimit: 5\n"


async def test_a_failing_listener_or_exit_does_not_undo_the_commit(path, caplog):
    @asynccontextmanager
    async def admit(config):
        yield
        if config.timeout_ms == 500:
            raise ValueError("late")

    settings = await _open(path, _TEXT, admit=admit)
    told = []

    async def bad(ns, value):
        raise ValueError("listener")

    async def good(ns, value):
        told.append(value.timeout_ms)

    settings.subscribe(bad)
    settings.subscribe(good)
    await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert told == [500]
    assert _mnemon(settings).value["timeoutMs"] == 500
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


async def test_a_cancelled_change_either_happens_whole_or_not_at_all(path):
    log = []
    settings = await _open(path, _TEXT, admit=_recorder(log))
    replace = settings._file.replace
    scope = anyio.CancelScope()

    def cancelling(text, expected, **kwargs):
        stored = replace(text, expected, **kwargs)
        anyio.from_thread.run_sync(scope.cancel)
        return stored

    settings._file.replace = cancelling

    async def listen(ns, value):
        await anyio.lowlevel.checkpoint()
        log.append((ns, value.timeout_ms))

    settings.subscribe(listen)
    log.clear()
    with scope:
        await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert log == [("built", 500), ("in force", 500), ("mnemon", 500)]
    assert _mnemon(settings).value["timeoutMs"] == 500


async def test_a_change_cancelled_before_it_is_written_leaves_the_file(path):
    log = []

    @asynccontextmanager
    async def admit(config):
        async with _recorder(log)(config):
            if config.timeout_ms == 500:
                scope.cancel()
            yield

    settings = await _open(path, _TEXT, admit=admit)
    scope = anyio.CancelScope()
    log.clear()
    with scope:
        await settings.mutate("mnemon", [_set("timeoutMs", 500)])
    assert scope.cancelled_caught
    assert log == [("built", 500), ("discarded", 500)]
    assert path.read_text(encoding="utf-8") == _TEXT


# -- what others write ----------------------------------------------------------------------------


async def test_refresh_takes_over_what_an_editor_saved(path):
    settings = await _open(path, _TEXT)
    told = []

    async def listen(ns, value):
        told.append(value.write_enabled)

    settings.subscribe(listen)
    assert not await settings.refresh()
    path.write_text("writeEnabled: true\n", encoding="utf-8")
    assert await settings.refresh()
    assert told == [True]
    assert settings.unknown == ()
    path.write_text("writeEnabled: true   # same\n", encoding="utf-8")
    assert not await settings.refresh()
    assert told == [True]


@pytest.mark.requirement("host:settings:bad-file")
@pytest.mark.parametrize("text", [None, _TEXT], ids=["none", "some"])
async def test_what_cannot_be_read_is_told_once_and_forgotten_when_it_is_gone(
    path, tmp_path, text, caplog
):
    settings = await _open(path, text)
    before = tmp_path / "before.yaml"
    if text is not None:
        path.rename(before)
    path.mkdir()
    for _ in range(2):
        assert not await settings.refresh()
        assert isinstance(settings.problem, StorageError)
    assert len(caplog.records) == 1
    path.rmdir()
    if text is not None:
        before.rename(path)  # with its former size and time
    assert not await settings.refresh()
    assert settings.problem is None


@pytest.mark.requirement("host:settings:bad-file")
@pytest.mark.parametrize("text", ["writeEnabled: [\n", "timeoutMs: 5\n", "- 1\n"])
async def test_bad_content_stays_outside_and_is_never_overwritten(path, text, caplog):
    settings = await _open(path, _TEXT)
    path.write_text(text, encoding="utf-8")
    assert not await settings.refresh()
    assert isinstance(settings.problem, ConfigurationError)
    assert _mnemon(settings).value["writeEnabled"] is False
    assert not await settings.refresh()
    assert len(caplog.records) == 1
    with pytest.raises(ConfigurationError):
        await settings.mutate("mnemon", [_set("defaultRecallLimit", 7)])
    assert path.read_text(encoding="utf-8") == text
    path.write_text("timeoutMs: 500\n", encoding="utf-8")
    assert await settings.refresh()
    assert settings.problem is None


async def test_a_change_may_heal_a_bad_value(path):
    settings = await _open(path, "timeoutMs: 500\n")
    path.write_text("timeoutMs: 5\n", encoding="utf-8")
    await settings.refresh()
    await _conflict(settings, "mnemon", [_set("timeoutMs", 600)])
    with pytest.raises(ConfigurationError):
        await settings.mutate("mnemon", [_set("defaultRecallLimit", 7)])
    path.write_text("timeoutMs: 500\n", encoding="utf-8")
    await settings.mutate("mnemon", [_set("timeoutMs", 600)])
    assert settings.problem is None


async def test_a_malformed_file_is_a_typed_error_at_the_start(path):
    path.write_text("a: 1\nb: [\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        await FileSettings.open(path)
    assert caught.value.code == "settings-malformed"
    assert caught.value.details["line"] == 3


async def test_operations_can_be_values(path):
    settings = await _open(path)
    await settings.mutate("mnemon", [Operation(("timeoutMs",), 500)])
    assert path.read_text(encoding="utf-8") == "timeoutMs: 500\n"


@pytest.mark.requirement("host:settings:unknown")
async def test_an_unknown_key_that_comes_while_memory_is_open_is_logged_once(tmp_path, caplog):
    file = tmp_path / "settings.yaml"
    settings = await FileSettings.open(file)
    await settings.register("mnemon", HostConfig)
    file.write_text("storageScop: workspace\n", encoding="utf-8")
    await settings.refresh()
    assert settings.unknown_keys is not None
    assert caplog.messages == [settings.unknown_keys]
    assert "storageScop (did you mean storageScope?)" in caplog.text
    file.write_text("storageScop: workspace\ntimeoutMs: 5000\n", encoding="utf-8")
    await settings.refresh()
    assert len(caplog.messages) == 1, "it is known by now"
    file.write_text("timeoutMs: 5000\n", encoding="utf-8")
    await settings.refresh()
    assert settings.unknown_keys is None
    assert len(caplog.messages) == 1
