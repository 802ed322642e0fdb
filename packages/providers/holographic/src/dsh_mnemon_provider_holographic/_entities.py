"""The entities a text names (providers specification §6.4).

`extract` is for what this Provider writes; `hermes_entities` gives what Hermes 0.19 would find.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from dsh_mnemon_provider_holographic._terms import STOP_WORDS

__all__ = ("MAX_ENTITIES", "distinct_names", "extract", "hermes_entities")

MAX_ENTITIES: Final = 50
"""Most entities one fact is linked to."""

_MIN_LENGTH: Final = 2
_MAX_GIVEN: Final = 100
_MAX_FOUND: Final = 80
_MAX_WORDS: Final = 8

_CAPITALIZED: Final = re.compile(r"\b([A-Z][a-z]+(?:\s+[A-Z][a-z]+)+)\b")

# A quotation mark counts where a quotation can begin and end, so that apostrophes do not pair up;
# Chinese is written without spaces, so its characters are no part of a word here.
_LETTER: Final = r"[^\W\u3040-\U0003ffff]"
_QUOTED: Final = (
    re.compile(rf'(?<!{_LETTER})"([^"\n]+)"(?!{_LETTER})'),
    re.compile(r"“([^“”\n]+)”"),
    re.compile(r"「([^「」\n]+)」"),
    re.compile(r"『([^『』\n]+)』"),
    re.compile(r"《([^《》\n]+)》"),
    re.compile(rf"(?<!{_LETTER})'([^'\n]+)'(?!{_LETTER})"),
    re.compile(rf"(?<!{_LETTER})‘([^‘’\n]+)’(?!{_LETTER})"),
    re.compile(r"`([^`\n]+)`"),
)
_NAME: Final = r"[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*"
_ALIAS: Final = re.compile(rf"({_NAME}|[\w-]+)\s+(?i:aka|also\s+known\s+as)\s+({_NAME}|[\w-]+)")
_HEADINGS: Final = frozenset(
    """
    action items|best practices|change log|code review|current status|design decisions|
    getting started|key decisions|key points|known issues|lessons learned|next steps|
    open questions|project overview|project status|quick start|release notes|table of contents
    """.replace("\n", "").split("|")
)

_HERMES_QUOTED: Final = (re.compile(r'"([^"]+)"'), re.compile(r"'([^']+)'"))
_HERMES_ALIAS: Final = re.compile(
    r"(\w+(?:\s+\w+)*)\s+(?:aka|also known as)\s+(\w+(?:\s+\w+)*)", re.IGNORECASE
)


def distinct_names(names: Iterable[str]) -> list[str]:
    """Strip names and drop empty and repeated ones; upper and lower case are the same."""
    found: dict[str, str] = {}
    for name in names:
        stripped = name.strip()
        if stripped:
            found.setdefault(stripped.lower(), stripped)
    return list(found.values())


def extract(content: str, given: Iterable[str] = ()) -> list[str]:
    """Return the entities of a fact: those given, then those its text names; at most 50.

    Args:
        content: The fact.
        given: What the caller says it is about; of these, names of 2..100 characters count.
    """
    chosen = [name for name in distinct_names(given) if _MIN_LENGTH <= len(name) <= _MAX_GIVEN]
    found = (_tidy(name) for name in _mentions(unicodedata.normalize("NFKC", content)))
    return distinct_names([*chosen, *(name for name in found if _is_name(name))])[:MAX_ENTITIES]


def _mentions(content: str) -> Iterator[str]:
    for match in _CAPITALIZED.finditer(content):
        yield _without_opening(match.group(1))
    for pattern in _QUOTED:
        yield from pattern.findall(content)
    for match in _ALIAS.finditer(content):
        yield from match.groups()


def _without_opening(run: str) -> str:
    """Drop a function word that is only capitalised because it begins the sentence."""
    words = run.split()
    while words and words[0].lower() in STOP_WORDS:
        words.pop(0)
    return " ".join(words) if len(words) > 1 else ""


def _tidy(name: str) -> str:
    return " ".join(name.split()).strip(".,;:!?")


def _is_name(name: str) -> bool:
    return (
        _MIN_LENGTH <= len(name) <= _MAX_FOUND
        and len(name.split()) <= _MAX_WORDS
        and name.lower() not in _HEADINGS | STOP_WORDS
    )


def hermes_entities(text: str) -> list[str]:
    """Return the entities that Hermes 0.19 finds in a text, in its order."""
    found = [match.group(1) for match in _CAPITALIZED.finditer(text)]
    for pattern in _HERMES_QUOTED:
        found += pattern.findall(text)
    for match in _HERMES_ALIAS.finditer(text):
        found += match.groups()
    return distinct_names(found)
