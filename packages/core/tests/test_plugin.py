import pytest
from dsh_mnemon_core.errors import DefinitionError, InputError
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin
from dsh_mnemon_core.wire import from_wire, to_wire

PLUGIN = {
    "packageName": "notes",
    "label": {"en": "Notes", "zh-CN": "笔记"},
    "description": {"en": "Keeps notes.", "zh-CN": "保存笔记。"},
    "roles": ["source"],
    "provides": [{"id": "source.narrative"}],
}


def test_descriptor_on_the_wire():
    made = from_wire(MemoryPlugin, PLUGIN)
    assert to_wire(made) == {"apiVersion": "dsh-mnemon/plugin/v1", **PLUGIN}


@pytest.mark.parametrize("exclusive", [False, None, 1, "yes"])
def test_only_true_is_exclusive(exclusive):
    made = from_wire(MemoryPlugin, {**PLUGIN, "provides": [{"id": "a", "exclusive": exclusive}]})
    assert to_wire(made.provides) == [{"id": "a"}]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"apiVersion": "dsh-mnemon/v1"}, "api-version-unsupported"),
        ({"label": "Notes"}, "not-an-object"),
        ({"label": {"en": "x" * 4001, "zh-CN": "x"}}, "text-too-long"),
        ({"description": {"en": "a"}}, "text-not-string"),
        ({"roles": None}, "plugin-roles-invalid"),
        ({"roles": ["provider"]}, "plugin-roles-invalid"),
        ({"roles": [["source"]]}, "plugin-roles-invalid"),
        ({"roles": "source"}, "not-an-array"),
        ({"roles": ["source", "source"]}, "id-duplicated"),
        ({"provides": None}, "plugin-provides-empty"),
        ({"provides": [{"id": "A"}]}, "id-format"),
        ({"provides": [{"id": "a"}, {"id": "a"}]}, "id-duplicated"),
        ({"requires": "ab"}, "not-an-array"),
        ({"requires": ["a", "a"]}, "id-duplicated"),
        ({"requires": ["source.narrative"]}, "plugin-self-requirement"),
        ({"require": []}, "key-unknown"),
    ],
)
def test_descriptor_refuses(changes, code):
    with pytest.raises((DefinitionError, InputError)) as caught:
        from_wire(MemoryPlugin, {**PLUGIN, **changes})
    assert caught.value.code == code


def test_contributions_are_empty_by_default():
    assert to_wire(Contributions()) == {"sources": [], "strategies": [], "strategyExtensions": []}
