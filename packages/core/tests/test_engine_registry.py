import contextlib

import attrs
import pytest
from dsh_mnemon_core._engine.registry import (
    InstalledSource,
    Registry,
    Snapshot,
    check_snapshot,
    merge,
    records,
)
from dsh_mnemon_core.errors import LifecycleError, MnemonError, RegistrationError
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin, ProvidedCapability


def plugin(package="bench-alpha", roles=("source",)):
    text = {"en": "x", "zh-CN": "x"}
    return MemoryPlugin(
        package_name=package,
        label=text,
        description=text,
        roles=roles,
        provides=(ProvidedCapability(id="a"),),
    )


def refusal(call, *args, **more):
    with pytest.raises(MnemonError) as caught:
        call(*args, **more)
    return caught.value.code


@pytest.fixture
def batch(bench):
    """Return a factory of batches: ``batch("row")`` installs one Source ``alpha``."""

    def make(entry="row", **more):
        return records(entry, bench.batch(bench.source()), **more)

    return make


def keys(items):
    return [item.instance_key for item in items]


class TestRecords:
    def test_one_contribution_of_a_kind_is_named_by_its_row(self, bench):
        made = records(
            "team:row",
            Contributions(
                plugin=plugin(roles=("source", "strategy")),
                sources=(bench.source(),),
                strategies=(bench.strategy(),),
            ),
        )
        assert keys(made.contributors) == ["source:team:row", "strategy:team:row"]
        assert keys(made.plugins) == ["plugin:team:row"]

    def test_several_of_a_kind_carry_their_types(self, bench):
        made = records(
            "row",
            Contributions(
                sources=(bench.source("alpha"), bench.source("beta")),
                strategies=(bench.strategy(),),
            ),
        )
        assert keys(made.contributors) == ["source:row/alpha", "source:row/beta", "strategy:row"]

    def test_provenance_comes_from_the_manifest_and_the_row(self, batch):
        (source,) = batch(artifact_digest="sha", effective_digest=" providers:1 ").sources
        assert source.provenance == Provenance(
            package_name="bench-alpha", entry_id="row", artifact_digest="sha"
        )
        assert source.effective_digest == "providers:1"

    @pytest.mark.parametrize(
        ("entry", "more", "code"),
        [
            ("", {}, "instance-key-format"),
            ("a b", {}, "instance-key-format"),
            ("x" * 300, {}, "instance-key-format"),
            ("row", {"artifact_digest": "x" * 501}, "text-too-long"),
            ("row", {"effective_digest": "x" * 501}, "text-too-long"),
        ],
    )
    def test_malformed_identities(self, batch, entry, more, code):
        assert refusal(batch, entry, **more) == code


class TestSnapshot:
    def test_order_is_of_installation_for_sources_and_of_keys_for_extensions(self, bench):
        snapshot = Snapshot()
        for entry in ("b", "a"):
            extension = bench.extension(contribute=bool, slot=f"own-{entry}", target="plain")
            given = Contributions(
                plugin=plugin(), sources=(bench.source(),), strategy_extensions=(extension,)
            )
            snapshot = merge(snapshot, records(entry, given), 1)
        assert keys(snapshot.sources) == ["source:b", "source:a"]
        assert keys(snapshot.extensions) == ["strategy-extension:a", "strategy-extension:b"]
        assert keys(snapshot.plugins) == ["plugin:a", "plugin:b"]

    @pytest.mark.parametrize("revision", [-1, True, 1.0, "1"])
    def test_revision_is_a_count(self, revision):
        assert refusal(check_snapshot, Snapshot(revision=revision)) == "revision-invalid"

    def test_records_must_be_what_they_say(self, batch):
        (source,) = batch().sources
        foreign = attrs.evolve(source.provenance, package_name="other")
        for changes, code in (
            ({"provenance": foreign}, "provenance-mismatch"),
            ({"instance_key": "strategy:row"}, "instance-key-format"),
        ):
            wrong = InstalledSource(
                **{
                    "instance_key": source.instance_key,
                    "definition": source.definition,
                    "provenance": source.provenance,
                    **changes,
                }
            )
            assert refusal(check_snapshot, Snapshot(sources=(wrong,))) == code

    def test_a_key_is_there_once(self, bench):
        twice = Contributions(sources=(bench.source(), bench.source()))
        assert refusal(check_snapshot, records("row", twice)) == "instance-key-duplicated"

    def test_a_plugin_key_is_there_once(self, bench):
        both = merge(
            records("row", bench.batch(bench.source(), plugin=plugin())),
            records("row", bench.batch(bench.strategy(), plugin=plugin())),
            1,
        )
        assert refusal(check_snapshot, both) == "instance-key-duplicated"

    @pytest.mark.requirement("core:slots:conflict")
    @pytest.mark.parametrize(
        ("first", "second", "conflict"),
        [
            (("capture", "*"), ("capture", "*"), True),
            (("capture", "*"), ("capture", "unselected"), True),
            (("capture", "plain"), ("capture", "plain"), True),
            (("capture", "plain"), ("capture", "other"), False),
            (("capture", "*"), ("selection", "*"), False),
        ],
    )
    def test_a_slot_is_filled_once_for_a_target(self, bench, first, second, conflict):
        snapshot = bench.snapshot(
            *(
                bench.extension(name, contribute=bool, slot=slot, target=target)
                for name, (slot, target) in (("one", first), ("two", second))
            )
        )
        if conflict:
            assert refusal(check_snapshot, snapshot) == "slot-conflict"
        else:
            check_snapshot(snapshot)

    @pytest.mark.parametrize(
        ("described", "code"),
        [
            (plugin(package="other"), "plugin-package-mismatch"),
            (plugin(roles=("strategy",)), "plugin-role-undeclared"),
        ],
    )
    def test_a_descriptor_must_fit_its_contributions(self, bench, described, code):
        snapshot = records("row", bench.batch(bench.source(), plugin=described))
        assert refusal(check_snapshot, snapshot) == code

    def test_a_descriptor_needs_a_contribution(self, bench):
        orphan = records("row", Contributions(plugin=plugin()))
        others = records("other", bench.batch(bench.source()))
        assert refusal(check_snapshot, merge(others, orphan, 1)) == "plugin-descriptor-orphan"


class TestInstall:
    @pytest.mark.parametrize("given", [Contributions(), Contributions(plugin=plugin())])
    def test_a_batch_contributes_something(self, given):
        assert refusal(Registry().install, records("row", given)) == "contribution-empty"

    def test_a_key_is_installed_once(self, batch):
        registry = Registry()
        registry.install(batch())
        assert refusal(registry.install, batch()) == "instance-already-installed"

    def test_a_plugin_key_is_installed_once(self, bench):
        registry = Registry()
        registry.install(records("row", bench.batch(bench.source(), plugin=plugin())))
        other = records("row", bench.batch(bench.strategy(), plugin=plugin()))
        assert refusal(registry.install, other) == "instance-already-installed"

    def test_a_refused_batch_leaves_no_trace(self, bench, batch):
        registry = Registry()
        registry.install(batch())
        before, seen = registry.snapshot, []
        registry.subscribe(seen.append)
        bad = records("bad", bench.batch(bench.source(), plugin=plugin(package="other")))
        with pytest.raises(RegistrationError):
            registry.install(bad)
        assert registry.snapshot is before
        assert seen == []

    def test_every_change_has_its_revision_and_notification(self, batch):
        registry, seen = Registry(), []
        registry.subscribe(lambda snapshot: seen.append(("first", snapshot.revision)))
        registry.subscribe(lambda snapshot: seen.append(("second", snapshot.revision)))
        remove = registry.install(batch())
        assert keys(registry.snapshot.sources) == ["source:row"]
        remove()
        remove()
        assert registry.snapshot.sources == ()
        assert seen == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]

    def test_a_disposer_removes_only_its_own_records(self, batch):
        registry = Registry()
        remove = registry.install(batch())
        remove()
        registry.install(batch())
        remove()
        assert keys(registry.snapshot.sources) == ["source:row"]

    def test_a_batch_goes_as_it_came(self, bench):
        registry = Registry()
        whole = Contributions(
            plugin=plugin(roles=("source", "strategy", "strategy-extension")),
            sources=(bench.source(),),
            strategies=(bench.strategy(manifest={"package_name": "bench-alpha"}),),
        )
        remove = registry.install(records("row", whole))
        assert len(registry.snapshot.contributors) == 2
        remove()
        assert registry.snapshot == Snapshot(revision=2)

    def test_a_failing_follower_loses_neither_the_batch_nor_its_disposer(self, batch, caplog):
        registry, seen = Registry(), []

        def fail(_snapshot):
            raise RuntimeError("follower")

        registry.subscribe(fail)
        registry.subscribe(seen.append)
        remove = registry.install(batch())
        assert "a follower of the registry failed" in caplog.text
        remove()
        assert [snapshot.revision for snapshot in seen] == [1, 2]

    def test_an_unsubscribed_follower_hears_nothing(self, batch):
        registry, seen = Registry(), []
        unsubscribe = registry.subscribe(seen.append)
        unsubscribe()
        unsubscribe()
        registry.install(batch())
        assert seen == []

    def test_a_closed_registry_only_removes(self, batch):
        registry = Registry()
        remove = registry.install(batch())
        registry.closed = True
        with pytest.raises(LifecycleError) as caught:
            registry.install(batch("other"))
        assert caught.value.code == "runtime-disposed"
        remove()
        assert registry.snapshot.sources == ()


@pytest.mark.requirement("core:batch:once")
class TestBatch:
    def test_the_outermost_batch_notifies_once(self, batch):
        registry, seen = Registry(), []
        registry.subscribe(seen.append)
        with registry.batch():
            registry.install(batch("a"))
            with registry.batch():
                registry.install(batch("b"))()
            assert seen == []
        assert [snapshot.revision for snapshot in seen] == [3]

    def test_a_failed_batch_notifies_too(self, batch):
        registry, seen = Registry(), []
        registry.subscribe(seen.append)
        with contextlib.suppress(RuntimeError), registry.batch():
            registry.install(batch())
            raise RuntimeError
        assert [snapshot.revision for snapshot in seen] == [1]

    def test_an_idle_batch_notifies_once_too(self):
        registry, seen = Registry(), []
        registry.subscribe(seen.append)
        with registry.batch():
            pass
        assert seen == [Snapshot()]

    def test_the_settled_snapshot_is_the_one_before_the_batch(self, batch):
        registry = Registry()
        registry.install(batch("a"))
        with registry.batch():
            registry.install(batch("b"))
            assert keys(registry.settled.sources) == ["source:a"]
        assert registry.settled is registry.snapshot
