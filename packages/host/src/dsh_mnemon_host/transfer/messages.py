"""The messages of a chat export, whichever way it holds them; one that is odd is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs
from dsh_mnemon_core.errors import InputError

__all__ = ("Message", "Odd", "check_unicode", "known_object", "read_messages")

_SAID: Final = {
    "user": "User",
    "human": "User",
    "assistant": "Assistant",
    "model": "Assistant",
    "ai": "Assistant",
}
_UNSAID: Final = frozenset({"developer", "function", "system", "tool"})
"""Roles of messages that nobody said."""

_WORDS: Final = frozenset({"content", "text", "tool_calls"})
"""What a message has instead of words, or them; one without any of these is of another shape."""

Odd: TypeAlias = tuple[str, InputError]
"""Where something is that cannot be read, and why; the place is blank for a whole conversation."""


@attrs.frozen
class Message:
    """One message: who wrote it, its words, and when, as the export writes it."""

    who: str
    text: str
    time: Any


def known_object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object.

    Raises:
        InputError: ``draft-invalid``.
    """
    if not isinstance(value, dict):
        raise InputError("draft-invalid", "it is no object")
    return cast("Mapping[str, Any]", value)


def check_unicode(text: str) -> None:
    """Refuse half characters.

    Raises:
        InputError: ``text-not-unicode``.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        message = "it holds half a character (a lone surrogate)"
        raise InputError("text-not-unicode", message) from error


def read_messages(chat: Mapping[str, Any], odd: list[Odd]) -> Iterator[Message]:
    """Yield what persons and assistants wrote, in order; empty messages are left out.

    Args:
        chat: The conversation.
        odd: Takes what cannot be read.

    Raises:
        InputError: ``draft-invalid``: it is no conversation.
    """
    for place, value in _listed(chat):
        try:
            message = _message(known_object(value))
        except InputError as error:
            odd.append((f", {place}", error))
        except RecursionError:
            deep = InputError("draft-invalid", "it is nested too deeply to be read")
            odd.append((f", {place}", deep))
        else:
            if message.who and message.text:
                yield message


def _listed(chat: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """Return where each message stands, and what stands there.

    Raises:
        InputError: ``draft-invalid``: it is no conversation.
    """
    if "mapping" in chat:
        return _tree(chat["mapping"])
    known: list[Any] = [chat[key] for key in ("chat_messages", "messages") if key in chat]
    if not known:
        raise InputError("draft-invalid", "it is no conversation; it has no messages")
    # An export may have both lists, one of them empty.
    listed = next((value for value in known if value), None)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise InputError("draft-invalid", "its messages are no list")
    return [(f"message {n}", item) for n, item in enumerate(cast("Sequence[Any]", listed), 1)]


def _tree(mapping: Any) -> Sequence[tuple[str, Any]]:
    """Return the messages of ChatGPT's tree in the order of time; a node may have none."""
    if not isinstance(mapping, dict):
        raise InputError("draft-invalid", "its mapping is no object")
    told: list[tuple[str, Any]] = []
    for name, node in cast("Mapping[str, Any]", mapping).items():
        message: Any = cast("Any", node).get("message") if isinstance(node, dict) else node
        if message is not None:
            told.append((f"message {name!r}", message))
    return sorted(told, key=lambda item: _seconds(item[1]))


def _seconds(message: Any) -> float:
    known = cast("Mapping[str, Any]", message if isinstance(message, dict) else {})
    time = known.get("create_time")
    return time if isinstance(time, (int, float)) else 0


def _message(message: Mapping[str, Any]) -> Message:
    """Read a message; nobody wrote one of a tool or of the system.

    Raises:
        InputError: ``draft-invalid``, ``text-not-unicode``.
    """
    author: Any = message.get("author")
    role: Any = message.get("sender") or message.get("role")
    if isinstance(author, dict):
        role = cast("Mapping[str, Any]", author).get("role")
    if not isinstance(role, str):
        raise InputError("draft-invalid", "it does not say who wrote it")
    who = _SAID.get(role.lower(), "")
    if not who and role.lower() not in _UNSAID:
        raise InputError("draft-invalid", f"who wrote it, {role[:60]!r}, is not known here")
    if who and not _WORDS & message.keys():
        raise InputError("draft-invalid", "it has no content")
    text = _text(message.get("text") or message.get("content")).strip() if who else ""
    check_unicode(text)
    times = (message.get(key) for key in ("created_at", "timestamp", "create_time"))
    return Message(who, text, next(filter(None, times), None))


def _text(content: Any) -> str:
    """Return the words of a message, whichever way it holds them.

    Raises:
        InputError: ``draft-invalid``: it holds something that is neither words nor an attachment.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        known = cast("Mapping[str, Any]", content)
        return _text(known.get("parts") or known.get("text"))
    if isinstance(content, list):
        parts = (_text(part) for part in cast("Sequence[Any]", content))
        return "\n\n".join(part for part in parts if part)
    raise InputError("draft-invalid", "its content is no text")
