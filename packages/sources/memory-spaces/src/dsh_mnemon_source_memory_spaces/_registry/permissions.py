"""Who else may look at the registry file that holds settings and keys (blocking)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ("exposed",)

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def exposed(file: Path) -> Iterator[dict[str, Any]]:
    """Yield ``{path, mode, wanted}`` of a file and of its folder, where others may use them.

    Modes are octal, such as ``0644``. Windows has none; what is not there is not exposed.

    Args:
        file: The file; its folder counts only together with it.
    """
    if os.name == "nt" or not os.path.exists(file):
        return
    for path, wanted in ((file, 0o600), (file.parent, 0o700)):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & _OTHERS:
            yield {"path": str(path), "mode": f"{mode:04o}", "wanted": f"{wanted:04o}"}
