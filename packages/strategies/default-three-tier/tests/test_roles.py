"""Which Sources take part."""

import pytest
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.slots import Selection
from dsh_mnemon_strategy_default_three_tier._roles import by_role, by_selection


def keys(sources):
    return [source.source_instance_key for source in sources]


@pytest.mark.requirement("layered:order")
def test_roles_come_hottest_first_whatever_the_input_order(make_source):
    sources = [make_source("memory-spaces"), make_source("documents"), make_source("runtime")]
    expected = ["source:runtime", "source:documents", "source:memory-spaces"]
    assert keys(by_role(sources)) == keys(by_role(sources[::-1])) == expected


@pytest.mark.requirement("layered:roles:ambiguous")
def test_two_available_sources_of_a_role_are_refused_and_named(make_source):
    with pytest.raises(ViewRejected, match="source:a, source:b") as caught:
        by_role([make_source("runtime", "source:b"), make_source("runtime", "source:a")])
    assert caught.value.code == "layered-ambiguous-role"


@pytest.mark.requirement("layered:roles:ambiguous")
def test_an_unavailable_duplicate_does_not_count(make_source):
    spare = make_source("runtime", "source:spare", availability="unavailable")
    assert keys(by_role([spare, make_source("runtime")])) == ["source:runtime"]


@pytest.mark.requirement("layered:roles:foreign")
def test_other_roles_are_left_out(make_source):
    tasks = make_source("tasks", role="tasks")
    assert by_role([tasks]) == ()
    with pytest.raises(ViewRejected) as caught:
        by_selection([tasks], Selection(source_keys=("source:tasks",)))
    assert caught.value.code == "selection-role-unsupported"


@pytest.mark.requirement("layered:selection")
def test_a_selection_sets_order_and_allows_repeated_roles(make_source):
    sources = [make_source("runtime"), make_source("runtime", "source:global")]
    chosen = by_selection(sources, Selection(source_keys=("source:global", "source:runtime")))
    assert keys(chosen) == ["source:global", "source:runtime"]
    assert by_selection(sources, Selection(source_keys=())) == ()


@pytest.mark.requirement("layered:selection")
def test_a_selected_source_that_is_unavailable_is_dropped(make_source):
    sources = [make_source("runtime", availability="unavailable"), make_source("documents")]
    selection = Selection(source_keys=("source:runtime", "source:documents"))
    assert keys(by_selection(sources, selection)) == ["source:documents"]


@pytest.mark.requirement("layered:selection")
def test_a_selected_source_that_is_not_installed_is_refused(make_source):
    with pytest.raises(ViewRejected, match="source:ghost") as caught:
        by_selection([make_source("runtime")], Selection(source_keys=("source:ghost",)))
    assert caught.value.code == "selection-source-not-installed"
