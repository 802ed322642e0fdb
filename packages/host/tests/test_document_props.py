"""Editing YAML documents: whatever the document, only what was asked for changes."""

from dsh_mnemon_core.values import json_equal
from dsh_mnemon_host.settings._yaml import dump
from dsh_mnemon_host.settings.document import change, parse
from dsh_mnemon_host.settings.operations import MISSING, Operation, apply
from hypothesis import given, settings
from hypothesis import strategies as st

_words = st.text(alphabet="abcXYZ09-_", min_size=1, max_size=6)
_texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        ["off", "yes", "null", "1e3", "# no", "a: b", "- x", "  ", "x\ny\n", "\u2028", "0x1"]
    ),
)
_scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), _texts)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_words, inner, max_size=3)
    ),
    max_leaves=8,
)
_documents = st.dictionaries(_words, _values, max_size=4)


def _paths(document):
    """Return every place a change may go to: existing keys, and new ones inside mappings."""
    found = [("new",)]
    for key, value in document.items():
        found.append((key,))
        if isinstance(value, dict):
            found += [(key, *rest) for rest in _paths(value)]
    return found


@st.composite
def _edits(draw):
    document = draw(_documents)
    path = draw(st.sampled_from(_paths(document)))
    value = draw(st.one_of(st.just(MISSING), _values))
    return document, Operation(path, value)


@settings(max_examples=400, deadline=None)
@given(_edits())
def test_change_reads_back_as_the_edited_document(edit):
    document, operation = edit
    text = dump(document) if document else ""
    changed = change(text, [operation], "settings.yaml")
    assert json_equal(parse(changed, "settings.yaml"), apply(document, [operation]))


def _written(shape):
    """Write a commented document, every line of it unique.

    Args:
        shape: Per top-level key the number of keys inside, 0 for a plain value.

    Returns:
        Lines, and for each path the numbers of its first and last line.
    """
    lines, spans = [], {}
    for number, inner in enumerate(shape):
        lines.append(f"# about k{number}")
        first = len(lines)
        lines.append(f"k{number}:" if inner else f"k{number}: {number}  # behind k{number}")
        for child in range(inner):
            lines.append(f"  # about k{number}.c{child}")
            spans[f"k{number}", f"c{child}"] = (len(lines), len(lines))
            lines.append(f"  c{child}: {number}{child}  # behind k{number}.c{child}")
        spans[(f"k{number}",)] = (first, len(lines) - 1)
        lines.append("")
    return [*lines, "# the end"], spans


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_change_keeps_every_other_line_and_its_place(shape, data):
    lines, spans = _written(shape)
    path = data.draw(st.sampled_from(sorted(spans)))
    value = data.draw(st.sampled_from([99, MISSING]))
    removed = path
    if value is MISSING and len(path) == 2 and shape[int(path[0][1:])] == 1:
        removed = path[:1]  # an emptied section goes as a whole
    first, last = spans[removed]
    new = [] if value is MISSING else [lines[first].partition(":")[0] + ": 99"]
    if new and first == last:
        new[0] += "  # behind" + lines[first].partition("  # behind")[2]
    expected = lines[:first] + new + lines[last + 1 :]
    changed = change("\n".join(lines), [Operation(path, value)], "settings.yaml")
    assert changed.split("\n") == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_a_new_key_lands_behind_the_last_one_of_its_section(shape, data):
    lines, spans = _written(shape)
    sections = [(), *(path for path in spans if len(path) == 1 and shape[int(path[0][1:])])]
    section = data.draw(st.sampled_from(sections))
    last = spans[section][1] if section else max(end for _, end in spans.values())
    indent = "  " if section else ""
    expected = [*lines[: last + 1], f"{indent}new: 1", *lines[last + 1 :]]
    changed = change("\n".join(lines), [Operation((*section, "new"), 1)], "settings.yaml")
    assert changed.split("\n") == expected
