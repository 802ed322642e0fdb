"""A process that keeps facts and prints each one once it is acknowledged.

Arguments: folder, prefix of the contents, number of facts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_provider_holographic._client import open_store
from dsh_mnemon_provider_holographic._config import settings_of
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import RememberRequest


def main(folder: str, prefix: str, count: str) -> None:
    settings = settings_of({"hrrDim": 64, "dataPath": "facts.db"}, Path(folder), environment={})
    store = open_store(settings.place.database)
    for number in range(int(count)):
        content = f"{prefix} fact {number} of Ada Lovelace"
        engine = Engine(store=store, settings=settings, now=utc_now())
        engine.remember([RememberRequest(content=content, category="fact")])
        sys.stdout.write(f"{content}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
