"""Printing: one JSON document, or text for people; errors never as a traceback."""

from __future__ import annotations

import codecs
import json
import re
import sys
from typing import Any

from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_host.cli.streams import answers

__all__ = (
    "Unwritable",
    "print_document",
    "print_error",
    "print_json",
    "print_question",
    "print_text",
    "print_warning",
)


class Unwritable(Exception):
    """Raised when an answer cannot be written; says what the system says about it."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_text(text: str) -> None:
    r"""Write text and a newline to stdout.

    Control characters, which could command a terminal, are shown as ``\x1b``; what the encoding
    lacks is escaped. The JSON forms hold every text exactly.
    """
    _write(answers(), _CONTROL.sub(_shown, text) + "\n")


def print_question(text: str) -> None:
    """Write text to stdout, as `print_text` does, and stay on its line for the reply."""
    _write(answers(), _CONTROL.sub(_shown, text))


def print_json(value: Any) -> None:
    """Write a JSON document, indented by two."""
    print_document(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_document(text: str) -> None:
    r"""Write a whole document of JSON, or of JSON Lines, to stdout as it is.

    What the encoding lacks is written as ``\u00ef``, so that it stays the same JSON.
    """
    _write(answers(), text, errors=_AS_JSON)


def _shown(control: re.Match[str]) -> str:
    return f"\\x{ord(control[0]):02x}"


def print_error(error: MnemonError, *, as_json: bool) -> None:
    """Report a failure: ``{"error": {code, message, details?}}`` on stdout, or text on stderr."""
    if as_json:
        print_json({"error": error.to_wire()})
    else:
        file = str(error.details.get("file", ""))
        where = f" ({file})" if file and file not in error.message else ""
        text = f"error: {error.message}{where} [{error.code}]"
        _write(sys.stderr, _CONTROL.sub(_shown, text) + "\n")


def print_warning(text: str) -> None:
    """Write a line to stderr, which no JSON document is written to."""
    _write(sys.stderr, _CONTROL.sub(_shown, f"warning: {text}") + "\n")


_AS_JSON = "dsh-mnemon.json"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Escape as JSON does; outside its strings JSON has nothing that an encoding could lack."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_AS_JSON, _escaped)


def _write(stream: Any, text: str, errors: str = "backslashreplace") -> None:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, errors).decode(encoding))
        stream.flush()
    except BrokenPipeError:
        raise  # the reader had enough; that is no failure to tell
    except OSError as error:
        raise Unwritable(error.strerror or str(error)) from error
