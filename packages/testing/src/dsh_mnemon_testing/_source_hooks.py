"""What a subclass of the Source contract supplies, and what its tests build from that."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.evidence import Completion, Receipt
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import SourceDefinition

from dsh_mnemon_testing.guard import Contract
from dsh_mnemon_testing.running import RunningSource, start_source

DURABLE: tuple[Completion, ...] = ("committed", "accepted", "candidate")
"""Completions of a change that did what was asked, or will."""


@attrs.frozen
class SampleQuery:
    """A read that finds at least one item in a filled store: route id and input."""

    route: str
    input: Any


@attrs.frozen
class SampleMutation:
    """A change and how it ends when the samples before it were made.

    Attributes:
        action: Action id of the Source.
        input: JSON input.
        completion: What the Receipt says; ``failed`` also stands for a raised `MnemonError`.
    """

    action: str
    input: Any
    completion: Completion = "committed"


@attrs.frozen
class SampleOperation:
    """A management mutation that succeeds on a filled store: operation id and input."""

    operation: str
    input: Any = None


class SourceHooks(Contract):
    """Factories, hooks and flags of the Source contract; see `SourceContract`."""

    has_projection: ClassVar[bool] = True
    """Declares capability ``project`` and shows text."""

    has_routes: ClassVar[bool] = True
    """Declares routes and answers them."""

    has_actions: ClassVar[bool] = True
    """Declares actions and executes them."""

    has_management: ClassVar[bool] = True
    """Has a management plane that can change something."""

    is_durable: ClassVar[bool] = True
    """What was committed is there for the next instance over the same folder."""

    unsampled: ClassVar[tuple[str, ...]] = ()
    """Declared routes and actions for which the subclass gives no sample."""

    ignored_files: ClassVar[tuple[str, ...]] = ("*.guard", "*.lock", "*-shm")
    """Files that reading may touch: locks, and SQLite's shared memory."""

    patience: ClassVar[float] = 5.0
    """Seconds within which a cancelled call must have ended."""

    # -- what a subclass supplies ------------------------------------------------------------------

    def make_source(self, tmp_path: Path) -> SourceDefinition:
        """Return the Source under test; called once an instance.

        Args:
            tmp_path: An empty folder of that instance. A Source that is told where to store by the
                Host takes it from `configuration` instead.
        """
        raise NotImplementedError(f"{type(self).__name__} needs make_source(tmp_path)")

    def configuration(self, tmp_path: Path) -> Mapping[str, Any]:
        """Return what the Host configures for an instance; nothing by default."""
        del tmp_path
        return {}

    def secrets(self, tmp_path: Path) -> Mapping[str, str]:
        """Return the secret settings of an instance; none by default."""
        del tmp_path
        return {}

    def scopes(self, tmp_path: Path) -> tuple[OperationScope, OperationScope]:
        """Return two scopes that one instance is asked for; two workspaces by default."""
        first, second = (
            OperationScope(
                storage="custom",
                workspace_id=str(new_folder(tmp_path / f"workspace-{name}")),
                session_id=f"session-{name}",
                agent_id=f"agent-{name}",
            )
            for name in ("one", "two")
        )
        return first, second

    async def seed(self, source: RunningSource) -> None:
        """Put into a new store what the samples build upon; nothing by default."""

    async def writes(self, source: RunningSource) -> None:
        """Add to a filled store something that every sample query finds.

        Needed only of a Source with routes whose consistency is ``exact-snapshot``.
        """
        raise NotImplementedError(f"{type(self).__name__} needs writes(source)")

    def sample_queries(self) -> Sequence[SampleQuery]:
        """Return at least one read of every route; needed of a Source with routes."""
        return ()

    def sample_mutations(self) -> Sequence[SampleMutation]:
        """Return changes of every action, made in this order on a seeded store.

        One or more succeed and one or more fail; give a ``partial`` one if there is such a thing.
        """
        return ()

    def sample_operations(self) -> Sequence[SampleOperation]:
        """Return management mutations, each made on a filled store of its own."""
        return ()

    def stored(self, tmp_path: Path) -> object:
        """Return what an instance has stored, to be compared; the files of its folder by default.

        A Source with another backend returns that backend's content.
        """
        return {
            path.relative_to(tmp_path).as_posix(): _file_state(path)
            for path in sorted(tmp_path.rglob("*"))
            if not any(fnmatch(path.name, pattern) for pattern in self.ignored_files)
        }

    # -- what the tests build ----------------------------------------------------------------------

    @pytest.fixture(autouse=True)
    async def dispose_started(self, anyio_backend: Any) -> AsyncGenerator[None]:
        """Dispose, at the end of a test, every instance it started and did not dispose itself."""
        del anyio_backend  # asked for, so that anyio runs this fixture
        self._started: list[RunningSource] = []
        yield
        for source in reversed(self._started):
            if not source.disposed:
                await source.dispose()

    def started(
        self, tmp_path: Path, name: str = "one", definition: SourceDefinition | None = None
    ) -> RunningSource:
        """Start an instance over the folder ``<tmp_path>/<name>``, which is made if missing."""
        folder = new_folder(tmp_path / name)
        source = start_source(
            definition or self.make_source(folder),
            key=f"source:contract-{name}",
            folder=folder,
            scope=self.scopes(new_folder(tmp_path / "scopes"))[0],
            configuration=self.configuration(folder),
            secrets=self.secrets(folder),
        )
        self._started.append(source)
        return source

    async def filled(
        self, tmp_path: Path, name: str = "one", definition: SourceDefinition | None = None
    ) -> RunningSource:
        """Start an instance, seed it and make every sample change that succeeds."""
        source = self.started(tmp_path, name, definition)
        await self.fill(source)
        return source

    async def fill(self, source: RunningSource) -> None:
        """Seed an instance and make every sample change that succeeds."""
        await self.seed(source)
        for sample in self.sample_mutations():
            if sample.completion in DURABLE:
                await source.mutate(sample.action, sample.input)

    async def perform(self, source: RunningSource, sample: SampleMutation) -> Receipt | MnemonError:
        """Make one sample change; a refusal is an answer too."""
        try:
            return await source.mutate(sample.action, sample.input)
        except MnemonError as error:
            return error

    async def shown(self, source: RunningSource) -> dict[str, Any]:
        """Return all that an instance shows now: revision, projected text, items of the samples."""
        shown: dict[str, Any] = {"revision": (await source.facts()).revision}
        if self.has_projection:
            shown["text"] = [item.text for item in (await source.project()).fragments]
        if self.has_routes:
            shown["items"] = [
                [item.text for item in (await source.query(sample.route, sample.input)).items]
                for sample in self.sample_queries()
            ]
        return shown

    def needs(self, flag: str) -> None:
        """Skip a test that asks for something the subclass says its Source does not have."""
        if not getattr(self, flag):
            pytest.skip(f"{type(self).__name__} says {flag} = False")


def new_folder(path: Path) -> Path:
    """Make a folder unless it is there, and return it."""
    path.mkdir(parents=True, exist_ok=True)
    return path


def _file_state(path: Path) -> tuple[object, ...]:
    if path.is_symlink() or not path.is_file():
        return ("link", str(path.readlink())) if path.is_symlink() else ("folder",)
    stat = path.stat()
    # The time shows that a file was written again with the bytes it had; an empty one is a lock.
    written = stat.st_mtime_ns if stat.st_size else 0
    return ("file", stat.st_mode, written, sha256(path.read_bytes()).hexdigest())
