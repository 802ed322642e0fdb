"""Many texts taken in at once, by their titles: one lock and one commit (§3.8; pure)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import ConflictError, InputError, MnemonError

from dsh_mnemon_source_documents import _fields
from dsh_mnemon_source_documents._changes import Change, Reader, Steps
from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents.contracts import DocumentRecord

_NAMED = 5

Given: TypeAlias = Mutation | InputError
"""A document to create, or why what was given is none."""


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of one text.

    Attributes:
        action: What was done, or would be.
        document: The document as it is afterwards; a refused one as it stays, where there is one.
        error: Why it was refused.
    """

    action: Literal["created", "updated", "unchanged", "refused"]
    document: DocumentRecord | None = None
    error: MnemonError | None = None

    def planned(self) -> Outcome:
        """Return it as a plan tells it: what would be created is no document yet."""
        return attrs.evolve(self, document=None) if self.action == "created" else self

    def to_json(self) -> dict[str, Any]:
        """Return ``{action, document?, error?}``."""
        told: dict[str, Any] = {"action": self.action}
        if self.document is not None:
            told["document"] = self.document.to_json()
        if self.error is not None:
            told["error"] = self.error.to_wire()
        return told


@attrs.frozen(kw_only=True)
class Intake:
    """What is to be written, each change on top of the one before, and every text's outcome."""

    changes: tuple[Change, ...]
    outcomes: tuple[Outcome, ...]


Judge: TypeAlias = Callable[[State, Reader], Intake]
"""Decides under the lock, from the index just reloaded."""


def taking_in(steps: Steps, given: Sequence[Given]) -> Judge:
    """Return the judge that makes a document of every text, or brings the one there up to date.

    The active document with exactly its title is the one it belongs to. One that is refused harms
    no other. Bodies are compared in the form in which they are stored.

    Args:
        steps: The steps of this moment.
        given: The texts, or why they are none.
    """

    def judge(state: State, reader: Reader) -> Intake:
        taken = _Taken(steps=steps, state=state, reader=reader)
        outcomes = tuple(taken.take(item) for item in given)
        return Intake(changes=tuple(taken.changes), outcomes=outcomes)

    return judge


@attrs.define(kw_only=True)
class _Taken:
    """The index as it will be, as far as texts were taken in; its revision is that of before."""

    steps: Steps
    state: State
    reader: Reader
    changes: list[Change] = attrs.field(factory=list[Change])
    titles: dict[str, list[DocumentRecord]] = attrs.field(init=False)
    touched: set[str] = attrs.field(factory=set[str])

    def __attrs_post_init__(self) -> None:
        self.titles = {}
        for record in self.state.records:
            if record.is_active:
                self.titles.setdefault(record.title, []).append(record)

    def take(self, given: Given) -> Outcome:
        """Take one text in."""
        if isinstance(given, InputError):
            return Outcome(action="refused", error=given)
        there: list[DocumentRecord] = []
        try:
            title, body = _fields.title(given.title), _fields.body(given.content)
            there = self.titles.get(title, [])
            if title in self.touched:
                raise _repeated(title)
            same = next((item for item in there if self._says(item, body)), None)
            if same is not None:
                return Outcome(action="unchanged", document=same)
            change = self.steps.fitting(_mutation(title, body, there))(self.state, self.reader)
        except MnemonError as error:
            return Outcome(
                action="refused", document=there[0] if len(there) == 1 else None, error=error
            )
        self.touched.add(title)
        self.changes.append(change)
        self.state = attrs.evolve(self.state, records=change.records)
        action: Literal["created", "updated"] = "updated" if there else "created"
        return Outcome(action=action, document=change.document)

    def _says(self, record: DocumentRecord, body: str) -> bool:
        return self.reader.look(record).require(record) == body


def _mutation(title: str, body: str, there: Sequence[DocumentRecord]) -> Mutation:
    if not there:
        return Mutation(action="create", title=title, content=body)
    if len(there) > 1:
        ids = [record.id for record in there]
        raise ConflictError(
            "document-title-ambiguous",
            f"{len(ids)} documents are called {title!r}, and none says this; update one of them by"
            f" its id: {', '.join(ids[:_NAMED])}",
            details={"documentIds": ids[:_NAMED]},
        )
    return Mutation(action="update", id=there[0].id, content=body)


def _repeated(title: str) -> InputError:
    return InputError(
        "document-repeated",
        f"{title!r} is there twice; give each text a title of its own",
        details={"title": title},
    )
