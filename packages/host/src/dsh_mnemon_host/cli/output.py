"""Printing: one JSON document, or text for people; errors never as a traceback."""

from __future__ import annotations

import json
import sys
from typing import Any

from dsh_mnemon_core.errors import MnemonError

__all__ = ("print_error", "print_json", "print_text")


def print_text(text: str) -> None:
    """Write text and a newline to stdout; what its encoding lacks is escaped."""
    _write(sys.stdout, text)


def print_json(value: Any) -> None:
    """Write a JSON document, indented by two."""
    print_text(json.dumps(value, ensure_ascii=False, indent=2))


def print_error(error: MnemonError, *, as_json: bool) -> None:
    """Report a failure: ``{"error": {code, message, details?}}`` on stdout, or text on stderr."""
    if as_json:
        print_json({"error": error.to_wire()})
    else:
        file = str(error.details.get("file", ""))
        where = f" ({file})" if file and file not in error.message else ""
        _write(sys.stderr, f"error: {error.message}{where} [{error.code}]")


def _write(stream: Any, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
