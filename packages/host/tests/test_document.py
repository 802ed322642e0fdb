import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.values import thaw
from dsh_mnemon_host.settings import MISSING, Operation
from dsh_mnemon_host.settings.document import change, parse

_TYPO = "  nonsense: 'kept'   # a typo somebody may want back\n"

_DOCUMENT = """\
# My settings
writeEnabled: true   # keep this

# Working memory
runtimeMemory:
  # bytes
  memoryLimitBytes: 20480
  nonsense: 'kept'   # a typo somebody may want back
# Packs
customPacks:
    -   id: a
        name: "A"
        dataDir: ~/a
embedding: {enabled: false}  # inline
persistenceStrategy:
  prompt: |
    first line
    # no comment
# recallMode: off
"""


def _changed(text, *operations):
    return change(text, [Operation(path, value) for path, value in operations], "settings.yaml")


def test_reading():
    assert thaw(parse(_DOCUMENT, "f")) == {
        "writeEnabled": True,
        "runtimeMemory": {"memoryLimitBytes": 20480, "nonsense": "kept"},
        "customPacks": [{"id": "a", "name": "A", "dataDir": "~/a"}],
        "embedding": {"enabled": False},
        "persistenceStrategy": {"prompt": "first line\n# no comment\n"},
    }


@pytest.mark.parametrize("text", ["", "# only\n\n# comments", "---\n", "~"])
def test_an_empty_document(text):
    assert parse(text, "f") == {}


def test_odd_scalars_become_json():
    text = "a: 2026-01-02\nb: 0x1F\nc: !tag x\nd: 1_000\ne: off\n1: y\nf: !!set {p, q}\ng: 1.50\n"
    assert thaw(parse(text, "f")) == {
        "a": "2026-01-02", "b": 31, "c": "x", "d": 1000, "e": "off", "1": "y", "f": ["p", "q"],
        "g": 1.5,
    }  # fmt: skip
    assert thaw(parse("a: 2026-01-02T03:04:05Z", "f"))["a"].startswith("2026-01-02T03:04:05")
    assert isinstance(parse("a: !!binary aGk=", "f")["a"], str)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: [1\nc: 2\n", 3, 2),
        ("a: 1\n\ta: 2\n", 2, 1),
        ("a: 1\na: 2\n", 2, 1),
        ("a: 1\nb: *x\n", 2, 4),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("a: 1\nb: \x07\n", 2, 4),
        ("- 1\n", 1, 1),
        ("text", 1, 1),
        ("a: 2026-99-99\n", None, None),
        ('a: "\\ud800"\n', None, None),
        ("a: .nan\n", None, None),
        ("a: " + "[" * 1200, None, None),
    ],
)
def test_malformed_documents(text, line, column):
    with pytest.raises(ConfigurationError) as caught:
        parse(text, "settings.yaml")
    error = caught.value
    assert error.code == "settings-malformed"
    assert error.details["file"] == "settings.yaml"
    assert (error.details.get("line"), error.details.get("column")) == (line, column)
    assert error.details["problem"]


def test_a_bomb_of_aliases_is_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    with pytest.raises(ConfigurationError) as caught:
        parse("\n".join(lines), "f")
    assert caught.value.code == "settings-malformed"


@pytest.mark.parametrize(
    ("operation", "old", "new"),
    [
        ((("writeEnabled",), False), "writeEnabled: true ", "writeEnabled: false "),
        (
            (("runtimeMemory", "memoryLimitBytes"), 1),
            "  memoryLimitBytes: 20480\n",
            "  memoryLimitBytes: 1\n",
        ),
        (
            (("runtimeMemory", "userLimitBytes"), 5),
            "may want back\n",
            "may want back\n  userLimitBytes: 5\n",
        ),
        (
            (("runtimeMemory",), {"userLimitBytes": 5, "nonsense": "kept"}),
            f"  # bytes\n  memoryLimitBytes: 20480\n{_TYPO}",
            f"  # bytes\n{_TYPO}  userLimitBytes: 5\n",
        ),
        (
            (("runtimeMemory",), 7),
            "runtimeMemory:\n  # bytes\n  memoryLimitBytes: 20480\n"
            "  nonsense: 'kept'   # a typo somebody may want back\n",
            "runtimeMemory: 7\n",
        ),
        (
            (("customPacks",), []),
            'customPacks:\n    -   id: a\n        name: "A"\n        dataDir: ~/a\n',
            "customPacks: []\n",
        ),
        (
            (("customPacks",), [{"id": "b"}]),
            'customPacks:\n    -   id: a\n        name: "A"\n        dataDir: ~/a\n',
            "customPacks:\n  - id: b\n",
        ),
        (
            (("embedding", "model"), "m"),
            "embedding: {enabled: false}  # inline\n",
            "embedding:\n  enabled: false\n  model: m\n",
        ),
        (
            (("persistenceStrategy", "prompt"), "x"),
            "  prompt: |\n    first line\n    # no comment\n",
            "  prompt: x\n",
        ),
        (
            (("persistenceStrategy", "prompt"), MISSING),
            "persistenceStrategy:\n  prompt: |\n    first line\n    # no comment\n",
            "",
        ),
        (
            (("memoryTopology", "layers", "runtime", "enabled"), False),
            "# recallMode: off\n",
            "memoryTopology:\n  layers:\n    runtime:\n      enabled: false\n# recallMode: off\n",
        ),
        ((("nothing",), MISSING), "", ""),
        ((("nothing", "there"), MISSING), "", ""),
        ((("runtimeMemory", "gone"), MISSING), "", ""),
    ],
)
def test_only_the_lines_of_the_change_differ(operation, old, new):
    assert _changed(_DOCUMENT, operation) == _DOCUMENT.replace(old, new)


def test_several_operations_in_order():
    text = _changed("a: 1\n", (("b",), 2), (("a",), MISSING), (("b",), 3))
    assert text == "b: 3\n"
    assert _changed("# c\n", (("a",), MISSING), (("b",), 1)) == "# c\nb: 1\n"
    assert _changed("a: 1\n# c\n", (("a",), MISSING), (("b",), 1)) == "# c\nb: 1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a:\n  b: 1\n"),
        ("# head", "# head\na:\n  b: 1\n"),
        ("# head\n", "# head\na:\n  b: 1\n"),
        ("a:\n", "a:\n  b: 1\n"),
        ("a: {}\n", "a:\n  b: 1\n"),
        ("x: 1", "x: 1\na:\n  b: 1"),
        ("a:   # why\n  c: 1\n", "a:   # why\n  c: 1\n  b: 1\n"),
        ("x:\n- 1\n-\n  y: 2\n\n# end\n", "x:\n- 1\n-\n  y: 2\na:\n  b: 1\n\n# end\n"),
        ("a: {c: 1}\n", "a:\n  c: 1\n  b: 1\n"),
    ],
)
def test_where_a_new_key_goes(text, expected):
    assert _changed(text, (("a", "b"), 1)) == expected


def test_windows_line_ends_stay():
    text = "# head\r\na: 1\r\nb: 2\r\n"
    assert _changed(text, (("a",), 3), (("c",), 4)) == "# head\r\na: 3\r\nb: 2\r\nc: 4\r\n"


@pytest.mark.parametrize(
    "value",
    ["off", "null", "1", "# x", "a: b", " lead", "two\nlines", "\u2028", "\x85\ufeff", "\x07", "😀",
     "x" * 500, "", "~", "2026-01-01", "- x"],
)  # fmt: skip
def test_awkward_texts_survive(value):
    text = _changed("b: 1\n", (("a",), value), (("c",), {"d": [value]}))
    assert thaw(parse(text, "f")) == {"b": 1, "a": value, "c": {"d": [value]}}


@pytest.mark.parametrize(
    ("text", "operation", "expected"),
    [
        ("{a: 1, b: 2}\n", (("a",), 3), {"a": 3, "b": 2}),
        ("{a: 1, b: 2}\n", (("a",), MISSING), {"b": 2}),
        ("{}\n", (("a",), 3), {"a": 3}),
        ("x: &x {k: 1}\ny: *x\n", (("y", "k"), 2), {"x": {"k": 1}, "y": {"k": 2}}),
        ("x: &x\n  k: 1\ny: *x\n", (("y", "k"), 2), {"x": {"k": 1}, "y": {"k": 2}}),
        (
            "x: &x\n  k: 1\ny:\n  <<: *x\n  l: 1\n",
            (("y", "k"), 2),
            {"x": {"k": 1}, "y": {"k": 2, "l": 1}},
        ),
        ("? a\n: 1\nb: 2\n", (("a",), 3), {"a": 3, "b": 2}),
        ("? a\n: 1\n", (("b",), 3), {"a": 1, "b": 3}),
        ("? a\n: 1\nb: 2\n", (("a",), MISSING), {"b": 2}),
        ("? s\n: k: 1\n", (("s",), {"k": 2, "l": 3}), {"s": {"k": 2, "l": 3}}),
        ("a: 'x\x85y'\nb: 2\n", (("b",), 3), {"a": "x y", "b": 3}),
        ("1: a\nb: 2\n", (("b",), 3), {"1": "a", "b": 3}),
        ("a: {\n x: 1\n}\nb: 2\n", (("a", "x"), 3), {"a": {"x": 3}, "b": 2}),
    ],
)  # fmt: skip
def test_what_lines_cannot_do_the_tree_does(text, operation, expected):
    assert thaw(parse(_changed(text, operation), "f")) == expected


def test_a_document_that_cannot_be_changed_safely_is_left_alone():
    with pytest.raises(ConfigurationError) as caught:
        _changed("x: &x\n  k: 1\n<<: *x\n", (("k",), MISSING))
    assert caught.value.code == "settings-uneditable"
    with pytest.raises(ConfigurationError) as caught:
        _changed("~\n", (("k",), 1))
    assert caught.value.code == "settings-uneditable"
