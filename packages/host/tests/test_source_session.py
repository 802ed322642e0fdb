import pytest
from dsh_mnemon_core.errors import (
    AuthorityError,
    CompositionUnavailable,
    InputError,
    ManagementError,
)
from dsh_mnemon_host.source_session import chosen_instance, open_source

ADD = {"action": "add", "target": "memory", "content": "Build with nox"}


@pytest.mark.parametrize(
    ("instances", "chosen"),
    [
        ([], None),
        (["source:notes"], "source:notes"),
        (["source:notes", "source:more"], None),
        (["source:notes", "source:mnemon-source-runtime"], "source:mnemon-source-runtime"),
        (["source:a:mnemon-source-runtime", "source:b:mnemon-source-runtime"], None),
    ],
)
def test_default_instance_wins_then_the_only_one(instances, chosen):
    assert chosen_instance(instances, "runtime") == chosen


async def test_reads_and_changes_go_to_the_management_plane(home):
    async with home.open() as host:
        source = await host.people.source("runtime")
        assert source.key == "source:mnemon-source-runtime"
        before = await source.revision()
        result = await source.mutate("mutate", ADD)
        assert result.value["added"] == "Build with nox"
        assert result.revision == await source.revision() != before
        assert (await source.read("snapshot"))["entries"][0]["content"] == "Build with nox"


async def test_a_fenced_change_is_refused_when_the_revision_moved(home):
    async with home.open() as host:
        source = await host.people.source("runtime")
        before = await source.revision()
        await source.mutate("mutate", ADD, before)
        with pytest.raises(ManagementError) as caught:
            await source.mutate("mutate", {**ADD, "content": "Other"}, before)
        assert caught.value.code == "management-revision-conflict"
        assert len(home.stored()) == 1


async def test_a_change_that_expects_nothing_is_prepared_again(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        source = await host.people.source("runtime")
        left = [3]

        class Moving(dict):
            def __contains__(self, phase):
                if phase == "manage mutate":
                    left[0] -= 1
                    return left[0] > 0
                return False

            def __missing__(self, phase):
                return ManagementError("management-revision-conflict", "moved")

        told.failures = Moving()
        await source.mutate("mutate", {})
        assert sum(phase == "manage mutate" for phase, _ in told.calls) == 3


async def test_it_gives_up_at_some_point(home, told, told_rows):
    told.failures["manage mutate"] = ManagementError("management-revision-conflict", "moved")
    async with home.open(*told_rows()) as host:
        source = await host.people.source("runtime")
        with pytest.raises(ManagementError):
            await source.mutate("mutate", {})
    assert sum(phase == "manage mutate" for phase, _ in told.calls) == 21


async def test_other_refusals_are_not_repeated(home, told, told_rows):
    told.failures["manage mutate"] = ManagementError("management-unsupported", "no")
    async with home.open(*told_rows()) as host:
        source = await host.people.source("runtime")
        with pytest.raises(ManagementError):
            await source.mutate("mutate", {})
    assert sum(phase == "manage mutate" for phase, _ in told.calls) == 1


async def test_unknown_operations_are_refused_by_the_source(home):
    async with home.open() as host:
        source = await host.people.source("runtime")
        with pytest.raises(InputError):
            await source.read("nonesuch")


async def test_a_type_without_an_instance_is_named(home):
    async with home.open() as host:
        with pytest.raises(AuthorityError) as caught:
            await host.people.source("documents")
        assert caught.value.code == "source-not-installed"


async def test_several_instances_without_a_default_are_ambiguous(
    home, told_rows, source_row, make_told
):
    async with home.open(*told_rows(), source_row("more", make_told())) as host:
        with pytest.raises(AuthorityError) as caught:
            await host.people.source("runtime")
        assert caught.value.code == "source-ambiguous"
        assert "source:told" in caught.value.message
        assert "source:more" in caught.value.message


async def test_nothing_composed_is_said_so(home):
    from dsh_mnemon_core.profile import Profile

    async with home.open(profile=Profile(rows=())) as host:
        graph = await host.graph()
        with pytest.raises(CompositionUnavailable):
            open_source(graph, "runtime", graph.scope(None))
