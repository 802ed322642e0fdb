"""The ``mnemon`` command line tool as a client: one process a call (spec/mnemon-native.md §13)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anyio.to_thread import run_sync
from dsh_mnemon_core.files import in_turn
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EmbeddingSettings,
    NativeSettings,
    ProviderError,
    ProviderNotFound,
    ProviderProtocol,
    ProviderRejected,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.process import Finished, run_process
from dsh_mnemon_source_memory_spaces.provider_sdk.redaction import redact

from dsh_mnemon_provider_mnemon_native.errors import StoreLocked, StoreMissing

__all__ = ("Client", "find_binary")

_LABEL: Final = "mnemon"
_USUAL_PLACES: Final = (
    "~/.local/bin/mnemon",
    "/opt/homebrew/bin/mnemon",
    "/usr/local/bin/mnemon",
    "/usr/bin/mnemon",
)

# What the tool says, and which error of ours it is.
_SAYINGS: Final[tuple[tuple[str, type[ProviderError]], ...]] = (
    ("database not found", StoreMissing),
    ("database is locked", StoreLocked),
    ("not found", ProviderNotFound),
)


def find_binary(configured: str | None, env: Mapping[str, str]) -> Path | None:
    """Return the tool: the configured one, else the environment's, else where it usually is."""
    named = configured or env.get("MNEMON_CLI_PATH")
    if named:
        found = shutil.which(os.path.expanduser(named), path=env.get("PATH"))
        return Path(found) if found else None
    for place in ("mnemon", *map(os.path.expanduser, _USUAL_PLACES)):
        found = shutil.which(place, path=env.get("PATH"))
        if found:
            return Path(found)
    return None


class Client:
    """Runs the tool over one base folder, one call at a time.

    Args:
        native: Base folder, path of the tool, embedding settings.
        max_insights: What the tool prunes above; 0 = never.
        timeout_ms: Milliseconds a call may take.
        env: The environment the tool inherits.
    """

    def __init__(
        self,
        native: NativeSettings,
        *,
        max_insights: int,
        timeout_ms: int,
        env: Callable[[], Mapping[str, str]] = lambda: os.environ,
    ) -> None:
        self._native, self._timeout_ms, self._env = native, timeout_ms, env
        self._own = {"MNEMON_MAX_INSIGHTS": str(max_insights), **_embedding(native.embedding)}

    def binary(self) -> Path | None:
        """Return the tool, where it is there; looks at several places on the disk."""
        return find_binary(self._native.cli_path, self._env())

    async def text(self, store: str, *arguments: str, write: bool = False) -> str:
        """Run a command on a store and return what it printed.

        Raises:
            ProviderError: It is not there, did not end in time, or refused.
        """
        binary = await run_sync(self.binary)
        if binary is None:
            raise ProviderUnavailable("the mnemon command line tool was not found")
        base = self._native.data_dir
        command: list[str | Path] = [binary, "--data-dir", base, "--store", store, *arguments]
        async with in_turn(base / ".mnemon-cli"):
            finished = await run_process(
                command,
                label=_LABEL,
                timeout_ms=self._timeout_ms,
                write=write,
                env={**self._env(), **self._own},
            )
        if finished.code:
            raise self._error(arguments, finished)
        return finished.output

    async def json(self, store: str, *arguments: str, write: bool = False) -> Any:
        """Run a command and read its answer as JSON.

        Raises:
            ProviderError: As `text`, or the answer is no JSON.
        """
        output = await self.text(store, *arguments, write=write)
        try:
            return json.loads(output)
        except ValueError:
            message = f"{_LABEL} {arguments[0]} did not answer with JSON"
            raise (WriteOutcomeUnknown if write else ProviderProtocol)(message) from None

    def _error(self, arguments: Sequence[str], finished: Finished) -> ProviderError:
        said = finished.errors.strip() or finished.output.strip()
        first = (said.splitlines() or [""])[0].removeprefix("Error: ")
        key = self._native.embedding.api_key.get_secret_value()
        message = f"{_LABEL} {arguments[0]} exited {finished.code}: {first}"
        kinds = (kind for saying, kind in _SAYINGS if saying in first)
        return next(kinds, ProviderRejected)(redact(message, (key,) if key else ()))


def _embedding(settings: EmbeddingSettings) -> dict[str, str]:
    """Return the tool's own variables; without embeddings here it keeps those it inherits."""
    if not settings.enabled:
        return {}
    return {
        "MNEMON_EMBED_ENDPOINT": settings.endpoint,
        "MNEMON_EMBED_MODEL": settings.model,
        "MNEMON_EMBED_API_KEY": settings.api_key.get_secret_value(),
        "MNEMON_EMBED_PROTOCOL": "" if settings.protocol == "auto" else settings.protocol,
    }
