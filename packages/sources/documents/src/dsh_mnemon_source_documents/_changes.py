"""Steps from one index to the next: what to write, what to answer (spec/sources.md §3.7; pure)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import Lineage, to_wire

from dsh_mnemon_source_documents import _capacity, _fields
from dsh_mnemon_source_documents._files import MISSING, NOT_REGULAR
from dsh_mnemon_source_documents._folder import UNSAFE, Found
from dsh_mnemon_source_documents._format import carried, filename, render
from dsh_mnemon_source_documents._history import Kept, kept_place
from dsh_mnemon_source_documents._index import State, place, split_place
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_source_documents.errors import (
    DocumentConflictError,
    DocumentNotFound,
    UnreadableDocument,
)

ARCHIVED_LOCALLY: Final = "Archived locally by the user."

_NAMED: Final = 5
"""Other documents of the same title that an answer names."""

_HEALED: Final = (MISSING, NOT_REGULAR, UNSAFE)
"""Bodies that new content replaces though they could not be kept: there is nothing to lose."""


class Reader(Protocol):
    """What a step may look at on disk."""

    def look(self, record: DocumentRecord) -> Found:
        """Read the body of a document as it is."""
        ...

    def former(self, record: DocumentRecord) -> dict[int, Kept]:
        """Read the kept former bodies of a document by revision."""
        ...


@attrs.frozen(kw_only=True)
class Former:
    """A file that is about to be replaced: bytes to keep, and their revision."""

    record: DocumentRecord
    data: bytes


@attrs.frozen(kw_only=True)
class Change:
    """What a step decided.

    Attributes:
        records: The new index.
        document: The document as it is afterwards.
        body: Its body.
        data: Its file.
        action: What happened to it.
        former: The file to keep in the history.
        leaving: The record whose active file goes after the commit.
        more: Further keys of the answer.
    """

    records: tuple[DocumentRecord, ...]
    document: DocumentRecord
    body: str
    data: bytes
    action: Literal["created", "updated", "archived"]
    former: Former | None = None
    leaving: DocumentRecord | None = None
    more: dict[str, Any] = attrs.field(factory=dict[str, Any])


Step: TypeAlias = Callable[[State, Reader], Change]
"""Decides under the lock, from the index just reloaded; raises to refuse."""


def find(state: State, document_id: str) -> DocumentRecord:
    """Return the record of a document.

    Raises:
        DocumentNotFound: ``document-not-found``.
    """
    record = state.by_id.get(document_id)
    if record is None:
        raise DocumentNotFound(document_id)
    return record


def check_revision(record: DocumentRecord, expected: int | None) -> None:
    """Refuse a change that was prepared for another revision of the document.

    Raises:
        DocumentConflictError: ``revision-conflict``.
    """
    if expected is not None and expected != record.revision:
        raise DocumentConflictError(
            f"{record.title!r} is at revision {record.revision}, not {expected}; read it again and"
            " apply your change to what it says now",
            documentId=record.id,
            expected=expected,
            current=record.revision,
        )


@attrs.frozen(kw_only=True)
class Steps:
    """The steps of one moment.

    Attributes:
        limit: Capacity of active documents in bytes.
        now: The time that records get.
        workspace: Absolute path that source paths are relative to.
        root: Root of the store.
        new_id: Makes the id of a new document.
    """

    limit: int
    now: str
    workspace: str
    root: Path
    new_id: Callable[[], str]

    def mutate(self, mutation: Mutation) -> Step:
        """Create or update a document that has room, and tell of others with its title."""
        return _telling(self.fitting(mutation))

    def fitting(self, mutation: Mutation) -> Step:
        """Create or update a document that has room."""
        return self._with_room(self.prepare(mutation))

    def prepare(self, mutation: Mutation) -> Step:
        """Say what a mutation would change, capacity aside."""
        if mutation.action == "create":
            return lambda state, _reader: self._create(state, mutation)
        return lambda state, reader: self._update(state, reader, mutation)

    def plan(self, state: State, change: Change) -> dict[str, Any]:
        """Describe the room that a prepared change needs; see `_capacity.plan`."""
        before = state.by_id.get(change.document.id)
        return _capacity.plan(state, before, change.document.size_bytes, self.limit)

    def _with_room(self, prepared: Step) -> Step:
        def step(state: State, reader: Reader) -> Change:
            change = prepared(state, reader)
            before = state.by_id.get(change.document.id)
            _capacity.require_room(state, before, change.document.size_bytes, self.limit)
            return change

        return step

    def archive(
        self,
        document_id: str,
        *,
        expected: int | None,
        summary: str,
        memory_bodies: Sequence[str] = (),
        lineage: Sequence[Lineage] = (),
    ) -> Step:
        """Put an active document away."""
        text = _fields.summary(summary)
        spaces = _fields.memory_bodies(memory_bodies)

        def step(state: State, reader: Reader) -> Change:
            before = _active(find(state, document_id))
            check_revision(before, expected)
            found = reader.look(before)
            body = found.require(before)
            record = attrs.evolve(
                before,
                status="archived",
                relative_path=place("archived", before.filename),
                revision=before.revision + 1,
                updated_at=self.now,
                last_accessed_at=self.now,
                archived_at=self.now,
                archive_summary=text,
                memory_body_ids=spaces,
            )
            change = _written(state, record, body, carried(found.front), action="archived")
            more = {"lineage": [to_wire(link) for link in lineage]} if lineage else {}
            moves = before.relative_path != record.relative_path
            return attrs.evolve(change, leaving=before if moves else None, more=more)

        return step

    def restore(self, document_id: str, revision: int | None) -> Step:
        """Bring a body back (D42, D56).

        A former body of an active document becomes its body again. From an archived document,
        which stays as it is, a new one is made.

        Args:
            document_id: The document.
            revision: Which of its revisions; the current one by default.
        """
        return _telling(self._with_room(self.prepare_restore(document_id, revision)))

    def prepare_restore(self, document_id: str, revision: int | None) -> Step:
        """Say what `restore` would change, capacity aside."""

        def step(state: State, reader: Reader) -> Change:
            record = find(state, document_id)
            if revision in (None, record.revision):
                if record.is_active:
                    raise InputError(
                        "document-active",
                        f"{record.title!r} is in use; name one of its former revisions",
                        details={"documentId": record.id},
                    )
                body = reader.look(record).require(record)
            else:
                body = _kept(record, reader.former(record), revision)
            if record.is_active:
                mutation = Mutation(action="update", id=record.id, content=body)
                return self._update(state, reader, mutation)
            extra = carried(reader.look(record).front)
            return self._new(state, attrs.evolve(record, memory_body_ids=()), body, extra)

        return step

    def _create(self, state: State, mutation: Mutation) -> Change:
        model = DocumentRecord(
            id="",
            title=_fields.title(mutation.title),
            description=_fields.description(mutation.description),
            status="active",
            filename="",
            relative_path="",
            source_paths=self._source_paths(mutation.source_paths or ()),
            session_ids=_fields.sessions(mutation.session_ids or ()),
            created_at=self.now,
            updated_at=self.now,
            last_accessed_at=self.now,
            revision=1,
            content_hash="",
            size_bytes=0,
        )
        return self._new(state, model, _fields.body(mutation.content))

    def _new(self, state: State, model: DocumentRecord, body: str, extra: str = "") -> Change:
        """Make an active document with the title, description and origins of a record."""
        taken = {record.filename for record in state.records}
        document_id = self.new_id()
        # Titles in other scripts share one slug, and eight digits are soon not enough for them.
        while filename(model.title, document_id) in taken or document_id in state.by_id:
            document_id = self.new_id()
        name = filename(model.title, document_id)
        record = attrs.evolve(
            model,
            id=document_id,
            status="active",
            filename=name,
            relative_path=place("active", name),
            created_at=self.now,
            updated_at=self.now,
            last_accessed_at=self.now,
            revision=1,
            archived_at=None,
            archive_summary=None,
        )
        return _written(state, record, body, extra, action="created")

    def _update(self, state: State, reader: Reader, mutation: Mutation) -> Change:
        if not mutation.id:
            raise InputError("text-required", "id is required", details={"field": "id"})
        before = _active(find(state, mutation.id))
        check_revision(before, mutation.revision)
        found = reader.look(before)
        if mutation.content is None or (found.data is None and found.reason not in _HEALED):
            given = found.require(before)
        else:
            given = mutation.content
        body = _fields.body(given)
        record = attrs.evolve(
            before,
            title=before.title if mutation.title is None else _fields.title(mutation.title),
            description=(
                before.description
                if mutation.description is None
                else _fields.description(mutation.description)
            ),
            source_paths=(
                before.source_paths
                if mutation.source_paths is None
                else self._source_paths(mutation.source_paths)
            ),
            session_ids=_fields.sessions(before.session_ids, mutation.session_ids or ()),
            updated_at=self.now,
            last_accessed_at=self.now,
            revision=before.revision + 1,
        )
        change = _written(state, record, body, carried(found.front), action="updated")
        if found.data is None or found.text == body:
            return change
        former = Former(record=before, data=found.data)
        return attrs.evolve(change, former=former, more=_unreadable(before, found))

    def _source_paths(self, values: Sequence[str]) -> tuple[str, ...]:
        return _fields.source_paths(values, self.workspace, str(self.root))


def _telling(taken: Step) -> Step:
    """Let the answer name other active documents of a title that a step gives."""

    def step(state: State, reader: Reader) -> Change:
        change = taken(state, reader)
        document, before = change.document, state.by_id.get(change.document.id)
        if before is not None and before.title == document.title:
            return change
        title = document.title.casefold()
        same = [
            record.id
            for record in state.records
            if record.is_active and record.title.casefold() == title and record.id != document.id
        ]
        more = {"sameTitle": same[:_NAMED]} if same else {}
        return attrs.evolve(change, more={**change.more, **more})

    return step


def _active(record: DocumentRecord) -> DocumentRecord:
    if not record.is_active:
        raise DocumentConflictError(
            f"{record.title!r} is archived and stays as it is; restore it to go on with a copy",
            code="document-archived",
            documentId=record.id,
        )
    return record


def _unreadable(before: DocumentRecord, found: Found) -> dict[str, Any]:
    """Tell of a body that nobody could read before it was replaced, and where it lies now."""
    if found.text is not None:
        return {}
    place = kept_place(before.id, before.revision)
    told = {"revision": before.revision, "reason": found.reason, "file": place}
    return {"replacedUnreadable": told}


def _kept(record: DocumentRecord, former: dict[int, Kept], revision: int | None) -> str:
    found = former.get(revision or 0)
    if found is None:
        kept = ", ".join(map(str, sorted(former))) or "none"
        raise DocumentConflictError(
            f"revision {revision} of {record.title!r} is not kept; these are: {kept}",
            documentId=record.id,
            expected=revision,
            current=record.revision,
            kept=sorted(former),
        )
    return found.require()


def _written(
    state: State,
    record: DocumentRecord,
    body: str,
    extra: str,
    *,
    action: Literal["created", "updated", "archived"],
) -> Change:
    """Complete a record with hash and size, and put it into the index."""
    if split_place(record.relative_path) is None:
        raise UnreadableDocument(record, UNSAFE)
    hashed = attrs.evolve(record, content_hash=sha256(body))
    data = render(hashed, body, extra)
    document = attrs.evolve(hashed, size_bytes=len(data))
    records = (
        tuple(document if item.id == document.id else item for item in state.records)
        if document.id in state.by_id
        else (*state.records, document)
    )
    return Change(records=records, document=document, body=body, data=data, action=action)
