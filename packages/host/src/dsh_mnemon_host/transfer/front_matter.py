"""What stands before the text of a Markdown file, between two lines ``---``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import attrs
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dsh_mnemon_host.transfer.draft import short_tag
from dsh_mnemon_host.transfer.moments import moment

__all__ = ("MOST_TAGS", "FrontMatter", "read_front_matter")

_BLOCK: Final = re.compile(r"(?ms)---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_MOST_CHARACTERS: Final = 20_000
MOST_TAGS: Final = 20
"""Tags that one memory takes."""

_TIMES: Final = ("created", "date")
"""The keys that hold a time; the first that is there counts."""


@attrs.frozen(kw_only=True)
class FrontMatter:
    """What a file says about itself.

    Attributes:
        title: Its title; blank where it gives none.
        tags: Its tags, as every Space takes them.
        created: When it was written, ISO 8601 UTC.
        ignored: The keys that mean nothing here.
        notes: What could not be taken as it stands, a sentence each.
    """

    title: str = ""
    tags: tuple[str, ...] = ()
    created: str | None = None
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Part a text from its front matter.

    Nothing of a text is ever lost: what is no mapping in YAML belongs to the text.

    Returns:
        The front matter, and the rest of the text.
    """
    block = _BLOCK.match(text)
    if block is None or len(block[1]) > _MOST_CHARACTERS:
        return FrontMatter(), text
    try:
        # Every scalar stays the text it is: a tag `no` is no truth value, a title `2026` no number.
        yaml = cast("Any", YAML(typ="base", pure=True))
        yaml.composer.warn_double_anchors = False
        known = yaml.load(block[1])
    except (YAMLError, ValueError, RecursionError) as error:
        note = f"its front matter is no YAML, so it was kept as text: {_first_line(error)}"
        return FrontMatter(notes=(note,)), text
    if block[1].strip() and not isinstance(known, dict):
        return FrontMatter(), text
    values = cast("Mapping[Any, Any]", known or {})
    return _read({str(key).strip(): value for key, value in values.items()}), text[block.end() :]


def _first_line(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    where = "" if mark is None else f" (line {mark.line + 2})"
    return f"{str(problem).splitlines()[0] if str(problem) else 'unreadable'}{where}"


def _read(values: Mapping[str, Any]) -> FrontMatter:
    notes: list[str] = []
    title = values.get("title") or ""
    if not isinstance(title, str):
        notes.append("its title is no text, and was ignored")
        title = ""
    named = [tag for item in _tags(values.get("tags"), notes) if (tag := _tag(item))]
    tags = list(dict.fromkeys(named))
    if len(tags) > MOST_TAGS:
        notes.append(f"it has {len(tags)} tags; the first {MOST_TAGS} were kept")
    return FrontMatter(
        title=" ".join(title.split()),
        tags=tuple(tags[:MOST_TAGS]),
        created=_created(values, notes),
        ignored=tuple(key for key in values if key not in ("title", "tags", *_TIMES)),
        notes=tuple(notes),
    )


def _tags(value: Any, notes: list[str]) -> Iterator[str]:
    """Yield the tags of a list, or of a text with commas."""
    items: list[object] = [value] if value else []
    if isinstance(value, (str, list)):
        items = [*value.split(",")] if isinstance(value, str) else cast("list[object]", value)
    for item in items:
        if not isinstance(item, str):
            notes.append("one of its tags is no text, and was ignored")
        else:
            if len(item.strip().lstrip("#")) > len(_tag(item)):
                notes.append(f"its tag {item.strip()[:60]!r} was cut to {_tag(item)!r}")
            yield item


def _tag(item: str) -> str:
    return short_tag(item.strip().lstrip("#"))


def _created(values: Mapping[str, Any], notes: list[str]) -> str | None:
    for key in _TIMES:
        if values.get(key):
            read = moment(values[key])
            if read is not None:
                return read
            notes.append(f"its {key} is no ISO 8601 time, such as 2026-03-01, and was ignored")
    return None
