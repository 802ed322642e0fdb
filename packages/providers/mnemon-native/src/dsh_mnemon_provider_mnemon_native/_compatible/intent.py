"""What a query is after, read from its words (spec/mnemon-native.md §7.1). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._ranking import IntentName
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

__all__ = ("PLANS", "Plan", "intent_of", "intent_override")


@attrs.frozen(kw_only=True)
class Plan:
    """How far a search goes for one intent, and what each kind of edge is worth to it."""

    weights: Mapping[str, float]
    beam: int
    depth: int
    max_visited: int


def _plan(causal: float, temporal: float, entity: float, semantic: float, *reach: int) -> Plan:
    weights = {"causal": causal, "temporal": temporal, "entity": entity, "semantic": semantic}
    weights["supersedes"] = 0.0
    beam, depth, max_visited = reach
    return Plan(weights=weights, beam=beam, depth=depth, max_visited=max_visited)


PLANS: Final[Mapping[IntentName, Plan]] = {
    "WHY": _plan(0.70, 0.20, 0.05, 0.05, 15, 5, 500),
    "WHEN": _plan(0.15, 0.65, 0.10, 0.10, 10, 5, 400),
    "ENTITY": _plan(0.10, 0.05, 0.55, 0.30, 10, 4, 400),
    "GENERAL": _plan(0.25, 0.25, 0.25, 0.25, 10, 4, 500),
}
"""Edges that supersede are followed and worth nothing."""

_CUES: Final[Mapping[IntentName, re.Pattern[str]]] = {
    "WHY": re.compile(
        r"\b(?:why|reason|because|cause|motivation|rationale)\b|为什么|原因|理由", re.ASCII
    ),
    "WHEN": re.compile(
        r"\b(?:when|time|date|before|after|during|timeline|history|sequence)\b"
        r"|什么时候|何时|时间|之前|之后",
        re.ASCII,
    ),
    "ENTITY": re.compile(
        r"\b(?:what is|who is|tell me about|describe|about)\b|是什么|谁是|关于|介绍", re.ASCII
    ),
}

# Questions in other languages; words of a script without blanks count anywhere.
_FOREIGN: Final[Mapping[IntentName, tuple[str, ...]]] = {
    "WHY": (
        "क्यों|क्यूँ|por qué|لماذا|pourquoi|কেন|por que|por quê|mengapa|kenapa|почему|зачем|warum|wieso",
        "為什麼|為甚麼",
    ),
    "WHEN": (
        "कब|cuándo|متى|quand|কখন|quando|kapan|когда|wann",
        "什麼時候",
    ),
    "ENTITY": (
        "क्या है|qué es|ما هو|qu['’]est-ce que|o que é|apa itu|что такое|was ist",
        "是什麼",
    ),
}
_BENGALI_QUESTION: Final = re.compile(r"(?:কী|কি|কে)\W*\Z")
_QUOTES: Final = {'"': '"', "`": "`", "“": "”", "«": "»", "「": "」", "'": "'"}
_OPENING: Final = re.compile(r"[\"`“«「]|'(?=[^'\w])")

# Combining marks belong to the word they follow, in Devanagari, Bengali and Arabic above all.
_MARK: Final = (
    r"\u0300-\u036f\u0610-\u061a\u064b-\u065f"
    r"\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd"
)
_FOREIGN_CUES: Final[Mapping[IntentName, re.Pattern[str]]] = {
    intent: re.compile(f"(?<![\\w{_MARK}])(?:{words})(?![\\w{_MARK}])|{anywhere}")
    for intent, (words, anywhere) in _FOREIGN.items()
}


def intent_override(text: str | None) -> IntentName | None:
    """Read a given intent, in any case; none stays none.

    Raises:
        InvalidInput: There is no such intent.
    """
    if not text:
        return None
    for intent in PLANS:
        if text.upper() == intent:
            return intent
    raise InvalidInput("intent", f"the intent is one of {', '.join(PLANS)}")


def intent_of(query: str) -> IntentName:
    """Read the intent from a query's cues; cues that disagree across languages give GENERAL."""
    text = query.lower()
    foreign = _foreign_cues(_unquoted(text))
    counts: list[tuple[IntentName, int]] = [
        (intent, len(cue.findall(text))) for intent, cue in _CUES.items()
    ]
    if foreign:
        cued: list[IntentName] = [intent for intent, count in counts if count or intent in foreign]
        return cued[0] if len(cued) == 1 else "GENERAL"
    for intent, count in counts:
        if all(count > other for name, other in counts if name != intent):
            return intent
    return "ENTITY" if dict(counts)["ENTITY"] else "GENERAL"


def _unquoted(text: str) -> str:
    """Return a text without what stands in quotes; a mark that nothing closes opens nothing."""
    last = {opening: text.rfind(closing) for opening, closing in _QUOTES.items()}
    kept: list[str] = []
    begin = at = 0
    while (match := _OPENING.search(text, at)) is not None:
        at = match.end()
        # Looking for a mark that is not there, from each one before, would take long.
        if last[match.group()] >= at:
            kept.append(text[begin : match.start()])
            begin = at = text.index(_QUOTES[match.group()], at) + 1
    return " ".join([*kept, text[begin:]])


def _foreign_cues(text: str) -> frozenset[str]:
    found = [name for name, cue in _FOREIGN_CUES.items() if cue.search(text)]
    return frozenset([*found, "ENTITY"] if _BENGALI_QUESTION.search(text) else found)
