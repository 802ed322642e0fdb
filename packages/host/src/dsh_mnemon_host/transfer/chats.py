"""Chat exports as memories: one an exchange, what a person wrote and the reply to it.

Known are the exports of ChatGPT (``mapping``) and of Claude (``chat_messages``), and plain lists
of ``{role, content, timestamp?}``, alone or as ``{title, messages}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.transfer.draft import ACCEPTED, Draft, DraftMemory, short_tag
from dsh_mnemon_host.transfer.found import Failure, Found
from dsh_mnemon_host.transfer.messages import (
    Message,
    Odd,
    check_unicode,
    known_object,
    read_messages,
)
from dsh_mnemon_host.transfer.moments import moment
from dsh_mnemon_host.transfer.pieces import MAX_BYTES, pieces

__all__ = ("is_chat", "read_chats")

_TITLE_CHARACTERS: Final = 200
_BEGIN_CHARACTERS: Final = 300
"""As much of a question as each piece of a long exchange repeats."""


def is_chat(value: Any) -> bool:
    """Tell whether a JSON document looks like a chat export."""
    items = cast("Sequence[Any]", value) if isinstance(value, list) else (value,)
    return any(_is_conversation(item) or _is_message(item) for item in items)


def _is_conversation(item: Any) -> bool:
    return isinstance(item, dict) and any(
        key in item for key in ("mapping", "chat_messages", "messages")
    )


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and "role" in item and "content" in item


def read_chats(value: Any, file: str) -> Found:
    """Read a chat export; what a tool or the system said is left out.

    A conversation or a message of a shape that is not known is named, and the rest is read.

    Args:
        value: The parsed JSON.
        file: What to call it.

    Raises:
        InputError: ``draft-invalid``: it is no chat export.
    """
    if not is_chat(value):
        raise InputError(
            "draft-invalid",
            f"it is no chat export that is known here. What can be read: {ACCEPTED}",
        )
    items = cast("Sequence[Any]", value) if isinstance(value, list) else (value,)
    chats = items if any(map(_is_conversation, items)) else ({"messages": [*items]},)
    memories: list[DraftMemory] = []
    empty: list[str] = []
    failed: list[Failure] = []
    for number, chat in enumerate(chats, 1):
        label = f"conversation {number}"
        found, odd = _conversation(chat)
        memories += found
        for place, error in odd:
            message = f"{label}{_named(chat)}{place}: {error.message}"
            failed.append(Failure(file=file, code=error.code, message=message))
        if not found and not odd:
            empty.append(f"{file}: {_title(chat) or label}")
    draft = Draft(memories=tuple(memories))
    return Found.of(draft, file, empty=tuple(empty), failed=tuple(failed))


def _named(chat: Any) -> str:
    title = _title(chat)
    return f" ({title!r})" if title else ""


def _conversation(chat: Any) -> tuple[list[DraftMemory], list[Odd]]:
    """Return the memories of a conversation, and what of it cannot be read."""
    odd: list[Odd] = []
    try:
        known = known_object(chat)
        check_unicode(_title(known))
        return list(_memories(known, odd)), odd
    except InputError as error:
        return [], [("", error)]


def _title(chat: Any) -> str:
    known = cast("Mapping[str, Any]", chat if isinstance(chat, dict) else {})
    title = known.get("title") or known.get("name")
    return " ".join(title.split())[:_TITLE_CHARACTERS] if isinstance(title, str) else ""


def _memories(chat: Mapping[str, Any], odd: list[Odd]) -> Iterator[DraftMemory]:
    title = _title(chat)
    tag = short_tag(title)
    started = moment(chat.get("create_time") or chat.get("created_at"))
    for exchange in _exchanges(read_messages(chat, odd)):
        time = next(filter(None, (moment(message.time) for message in exchange)), started)
        day = f"({time[:10]})" if time else ""
        head = " ".join(filter(None, (title or "Chat", day))) + "\n\n"
        for content in _told(head, exchange):
            yield DraftMemory(
                content=content,
                category="context",
                source="external",
                tags=["chat", *([tag] if tag else [])],
                created_at=time,
            )


def _exchanges(messages: Iterator[Message]) -> Iterator[list[Message]]:
    """Part a conversation where a person writes again after a reply.

    A greeting that comes before the first question belongs to it.
    """
    exchange: list[Message] = []
    for message in messages:
        asked = any(said.who == "User" for said in exchange)
        if message.who == "User" and asked and exchange[-1].who != "User":
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


def _told(head: str, exchange: Sequence[Message]) -> Iterator[str]:
    """Return an exchange as one text; a long one as several, which all repeat its beginning."""
    text = "\n\n".join(f"{message.who}: {message.text}" for message in exchange)
    if len((head + text).encode("utf-8")) > MAX_BYTES:
        first = next((said for said in exchange if said.who == "User"), exchange[0])
        begun = " ".join(first.text[:_BEGIN_CHARACTERS].split())
        head = f"{head}(part of what began with: {begun} …)\n\n"
    return pieces(text, head=head)
