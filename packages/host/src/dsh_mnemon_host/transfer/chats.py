"""Chat exports as memories: one a message, with its time.

Known are the exports of ChatGPT (``mapping``) and of Claude (``chat_messages``), and plain lists
of ``{role, content, timestamp?}``, alone or as ``{title, messages}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc, parse_utc

from dsh_mnemon_host.transfer.draft import Draft, DraftMemory, short_tag
from dsh_mnemon_host.transfer.pieces import pieces

__all__ = ("is_chat", "read_chats")

_SAID = {"user": "user", "human": "user", "assistant": "agent", "model": "agent", "ai": "agent"}


@attrs.frozen
class _Message:
    role: str
    text: str
    time: Any


def is_chat(value: Any) -> bool:
    """Tell whether a JSON document looks like a chat export."""
    items = cast("Sequence[Any]", value) if isinstance(value, list) else (value,)
    first = items[0] if items else None
    if not isinstance(first, dict):
        return False
    keys = cast("Mapping[str, Any]", first)
    return any(key in keys for key in ("mapping", "chat_messages", "messages")) or (
        "role" in keys and "content" in keys
    )


def read_chats(value: Any, name: str) -> Draft:
    """Read a chat export; what a tool or the system said is left out.

    Raises:
        InputError: ``draft-invalid``: it is no chat export; ``import-empty``.
    """
    if not is_chat(value):
        raise InputError("draft-invalid", f"{name} is no chat export that is known here")
    listed = cast("list[Mapping[str, Any]]", value if isinstance(value, list) else [value])
    chats = [{"messages": listed}] if listed and "role" in listed[0] else listed
    memories = [memory for chat in chats for memory in _chat(chat)]
    if not memories:
        raise InputError("import-empty", f"{name} holds no message of a person or an assistant")
    return Draft(memories=tuple(memories))


def _chat(chat: Mapping[str, Any]) -> Iterator[DraftMemory]:
    title = short_tag(str(chat.get("title") or chat.get("name") or ""))
    tags = ["chat", *([title] if title else [])]
    started = _instant(chat.get("create_time") or chat.get("created_at"))
    for message in _messages(chat):
        said = _SAID.get(message.role.lower())
        if said is None:
            continue
        who = "User" if said == "user" else "Assistant"
        for content in pieces(message.text, head=f"{who}: "):
            yield DraftMemory(
                content=content,
                category="context",
                source=said,
                tags=tags,
                created_at=_instant(message.time) or started,
            )


def _messages(chat: Mapping[str, Any]) -> Iterator[_Message]:
    if "mapping" in chat:
        yield from _tree(cast("Mapping[str, Any]", chat["mapping"] or {}))
        return
    listed = cast("Sequence[Any]", chat.get("chat_messages") or chat.get("messages") or ())
    for item in listed:
        if not isinstance(item, dict):
            continue
        message = cast("Mapping[str, Any]", item)
        time = message.get("created_at") or message.get("timestamp") or message.get("create_time")
        role = str(message.get("sender") or message.get("role") or "")
        yield _Message(role, _text(message.get("text") or message.get("content")), time)


def _tree(mapping: Mapping[str, Any]) -> Iterator[_Message]:
    """Walk ChatGPT's message tree in the order of time."""
    nodes = [cast("Mapping[str, Any]", n).get("message") for n in mapping.values() if n]
    told = [cast("Mapping[str, Any]", message) for message in nodes if message]
    for message in sorted(told, key=lambda item: item.get("create_time") or 0):
        role = str(cast("Mapping[str, Any]", message.get("author") or {}).get("role", ""))
        yield _Message(role, _text(message.get("content")), message.get("create_time"))


def _text(content: Any) -> str:
    """Return the words of a message, whichever way it holds them."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        known = cast("Mapping[str, Any]", content)
        return _text(known.get("parts") or known.get("text") or "")
    if isinstance(content, list):
        parts = (_text(part) for part in cast("Sequence[Any]", content))
        return "\n\n".join(part for part in parts if part)
    return ""


def _instant(value: Any) -> str | None:
    """Return a time as ISO 8601 UTC, from seconds since 1970 or from text; none if it is bad."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return iso_utc(datetime.fromtimestamp(value, UTC))
        except (ValueError, OverflowError, OSError):
            return None
    parsed = parse_utc(value) if isinstance(value, str) else None
    return None if parsed is None else iso_utc(parsed)
