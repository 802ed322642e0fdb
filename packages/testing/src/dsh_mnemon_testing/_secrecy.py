"""What in a configuration is secret, and which texts a value holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

_SECRET_KEY: Final = re.compile(r"(api_?key|token|password|secret|authorization)", re.IGNORECASE)


def strings(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield key
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from strings(item)


def named_secrets(value: Any, named: bool = False) -> Iterator[str]:
    """Yield the texts of a configuration whose key says that they are secret."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from named_secrets(item, named or bool(_SECRET_KEY.search(key)))
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from named_secrets(item, named)
    elif isinstance(value, str) and named:
        yield value
