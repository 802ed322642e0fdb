"""File names, front matter and what people add to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dsh_mnemon_source_documents._format import carried, excerpt, filename, render, split
from dsh_mnemon_source_documents.contracts import DocumentRecord
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.mark.requirement("documents:file:name")
@pytest.mark.parametrize("title", ["../..", "CON", "a" * 500, "\0", "。。", "", "-"])
def test_names_are_plain(title: str) -> None:
    name = filename(title, "12345678-9")
    assert name.endswith("-12345678.md")
    assert len(name) <= 60
    assert not set(name) & set("/\\:*?\0 ")


@pytest.mark.requirement("documents:file:excerpt")
def test_an_excerpt_looks_past_markup() -> None:
    assert excerpt("#" * 5000 + " end") == "end"
    assert excerpt("word " * 1000) == ("word " * 44)[:219] + "…"


FOREIGN = """# on top
tags:
  - a
  # about b
  - b
aliases: [x,
  y]
note: |
  one

  two
"""


@pytest.mark.requirement("documents:file:carried")
def test_what_people_add_survives(make_record: Callable[..., DocumentRecord]) -> None:
    record = make_record("id", title="T")
    front, _ = split(render(record, "Body").decode())
    assert carried(front) == ""
    data = render(record, "Body", carried(front + FOREIGN)).decode()
    front, body = split(data)
    assert body == "Body"
    assert front.endswith(FOREIGN)
    # Once more, it stays where it is.
    assert render(record, "Body", carried(front)).decode() == data


@pytest.mark.requirement("documents:file:carried")
def test_managed_lines_never_survive() -> None:
    front = (
        'id: "x"\n\n# mine\n"title": >\n  long\n  title\nsource_paths:\n- a\n  # why\n- b\nx: 1\n'
    )
    assert carried(front) == "# mine\n  # why\nx: 1\n"
    assert carried("not yaml at all [\n\ttab\n") == "not yaml at all [\n\ttab\n"
    assert carried("x: 1\n\n# end\n\n") == "x: 1\n# end\n"


@pytest.mark.requirement("documents:file:rendering")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.text(), st.text())
def test_whatever_is_rendered_is_split_again(
    make_record: Callable[..., DocumentRecord], title: str, body: str, description: str
) -> None:
    record = make_record("id", title=title, description=description, filename="x.md")
    front, found = split(render(record, body).decode())
    assert found == split(body if not body.startswith("---\n") else "\n" + body)[1]
    assert carried(front) == ""
