"""What recall is measured on: LoCoMo where it is at hand, and a Chinese set of our own."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs

CHINESE: Final = Path(__file__).parent / "data" / "chinese.json"
"""203 memories of one person and 68 questions in other words, written by hand for this project."""

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's categories that have evidence; the fifth asks for what was never said."""


@attrs.frozen
class Question:
    """A question, its category, and the names of the memories that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@attrs.frozen
class Collection:
    """Memories in order of time, with names of their own and dates, and questions about them."""

    name: str
    memories: tuple[tuple[str, str, str], ...]
    questions: tuple[Question, ...]


def _instant(text: str) -> str:
    """Read ``1:56 pm on 8 May, 2023``."""
    read = datetime.strptime(text, "%I:%M %p on %d %B, %Y")
    return read.strftime("%Y-%m-%dT%H:%M:%SZ")


def _conversation(sample: dict[str, Any]) -> Collection:
    talk = sample["conversation"]
    numbers = sorted(
        int(key.removeprefix("session_"))
        for key in talk
        if key.startswith("session_") and key.removeprefix("session_").isdecimal()
    )
    memories = tuple(
        (
            turn["dia_id"],
            f"{turn['speaker']}: {turn['text']}",
            _instant(talk[f"session_{n}_date_time"]),
        )
        for n in numbers
        for turn in talk[f"session_{n}"]
    )
    questions = tuple(
        Question(item["question"], item["category"], frozenset(item["evidence"]))
        for item in sample["qa"]
        if item["category"] in CATEGORIES and item.get("evidence")
    )
    return Collection(sample["sample_id"], memories, questions)


def locomo(path: Path) -> tuple[str, list[Collection]]:
    """Read a LoCoMo file: the head of its SHA-256, and its conversations."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()[:12]
    return digest, [_conversation(sample) for sample in json.loads(data)]


def chinese() -> Collection:
    """Read the Chinese set."""
    data = json.loads(CHINESE.read_text(encoding="utf-8"))
    memories = tuple(
        # One an hour, so that every run has the same order of time.
        (str(n), text, f"2025-01-{n // 24 + 1:02d}T{n % 24:02d}:00:00Z")
        for n, text in enumerate(data["memories"])
    )
    questions = tuple(
        Question(item["question"], 0, frozenset(map(str, item["evidence"])))
        for item in data["questions"]
    )
    return Collection("chinese", memories, questions)
