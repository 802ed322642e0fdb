"""The history of a git repository: shown as a short log, searched and read on demand.

A grant pins the commit that was checked out when the View was made. What a commit reaches never
changes, so reads under a grant answer from exactly that snapshot.
"""

from pathlib import Path

from dsh_mnemon_core.errors import ConflictError, InputError, MnemonError
from dsh_mnemon_core.sdk import (
    Contribution,
    Evidence,
    EvidenceItem,
    FactsRequest,
    Fragment,
    ProjectRequest,
    QueryRequest,
    ReadGrant,
    RouteManifest,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    SourceManifest,
    digest,
    truncate,
)

from acme_git_log._git import COMMIT, Commit, Repository

__all__ = ("MANIFEST", "git_log_source")

MANIFEST = SourceManifest(
    type_id="git-log",
    package_name="acme-mnemon-git-log",
    role="durable-evidence",
    capabilities=("project", "search", "read"),
    consistency="exact-snapshot",
    routes=(
        RouteManifest(
            id="search",
            description="Find commits whose message contains a text, newest first.",
            capability="search",
            input_schema={
                "type": "object",
                "properties": {"text": {"type": "string", "minLength": 1, "maxLength": 200}},
                "required": ["text"],
                "additionalProperties": False,
            },
            max_calls=4,
            max_results=20,
        ),
        RouteManifest(
            id="read",
            description="Read one commit, its whole message and which files it changed.",
            capability="read",
            input_schema={
                "type": "object",
                "properties": {"commit": {"type": "string", "pattern": "^[0-9a-f]{7,64}$"}},
                "required": ["commit"],
                "additionalProperties": False,
            },
            max_calls=8,
            max_results=1,
        ),
    ),
)

_NO_COMMIT = "no-commit"
_SHOWN = 200


class GitLog:
    """One repository as a Source."""

    def __init__(self, context: SourceContext, repository: Repository) -> None:
        self._key = context.source_instance_key
        self._repository = repository

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Say which commit is checked out; unavailable where there is no repository."""
        try:
            revision = await self._repository.head() or _NO_COMMIT
        except MnemonError:
            return self._facts("unavailable", "none", hints={"reason": "no git repository"})
        return self._facts(
            "ready",
            revision,
            capabilities=MANIFEST.capabilities,
            route_ids=tuple(route.id for route in MANIFEST.routes),
        )

    def _facts(self, availability, revision, **more) -> SourceFacts:
        return SourceFacts(
            source_instance_key=self._key,
            source_type_id=MANIFEST.type_id,
            role=MANIFEST.role,
            availability=availability,
            revision=revision,
            **more,
        )

    async def project(self, request: ProjectRequest) -> Contribution:
        """Show the latest commits that fit, and pin the commit they start from."""
        head = request.expected_revision
        if head != _NO_COMMIT and not COMMIT.fullmatch(head):
            raise ConflictError("git-log-revision", f"{head!r} is no commit of this repository")
        grant = ReadGrant(
            id=f"{self._key}/{head}",
            source_instance_key=self._key,
            schema="acme.git-log/v1",
            value={} if head == _NO_COMMIT else {"head": head},
            revision=head,
            consistency=MANIFEST.consistency,
        )
        if not request.include_projection:
            return Contribution(read_grant=grant)
        fragment = Fragment(
            id=f"{self._key}/log",
            source_instance_key=self._key,
            mode=request.mode,
            text=truncate(await self._short_log(head), request.max_characters),
            revision=head,
            provenance={"sourceTypeId": MANIFEST.type_id},
        )
        return Contribution(fragments=(fragment,), read_grant=grant)

    async def _short_log(self, head: str) -> str:
        if head == _NO_COMMIT:
            return "GIT HISTORY\nNo commit yet."
        commits = await self._repository.log(head, _SHOWN)
        lines = [f"{commit.id[:12]} {commit.time[:10]} {commit.subject}" for commit in commits]
        return "\n".join(["GIT HISTORY, newest first", *lines])

    async def query(self, request: QueryRequest) -> Evidence:
        """Answer ``search`` and ``read`` from what the granted commit reaches."""
        head = request.grant.value.get("head")
        if head is None:
            return self._evidence(request, [], truncated=False)
        if request.route.source_route_id == "read":
            return await self._read(request, head)
        limit = request.route.max_results
        commits = await self._repository.log(head, limit + 1, request.input["text"])
        items = [self._item(commit, str(commit)) for commit in commits[:limit]]
        return self._evidence(request, items, truncated=len(commits) > limit)

    async def _read(self, request: QueryRequest, head: str) -> Evidence:
        commit = await self._repository.commit(head, request.input["commit"])
        if commit is None:
            raise InputError("git-log-unknown", "no commit of this history has that id")
        text = f"{commit}\n\n{await self._repository.changes(commit.id)}"
        return self._evidence(request, [self._item(commit, text)], truncated=False)

    def _item(self, commit: Commit, text: str) -> EvidenceItem:
        return EvidenceItem(
            id=commit.id, text=text, provenance={"source": self._key, "createdAt": commit.time}
        )

    def _evidence(
        self, request: QueryRequest, found: list[EvidenceItem], *, truncated: bool
    ) -> Evidence:
        """Keep the items that fit whole."""
        items: list[EvidenceItem] = []
        left = request.route.max_characters
        for item in found:
            if len(item.text) <= left:
                items.append(item)
                left -= len(item.text)
        return Evidence(
            id=digest([request.route.id, request.grant.revision, request.input]),
            view_id=request.view.id,
            route_id=request.route.id,
            source_instance_key=self._key,
            items=tuple(items),
            truncated=truncated or len(items) < len(found),
        )


def git_log_source(repository: Path) -> SourceDefinition:
    """Return the Source over the repository in, or above, a folder."""

    def create(context: SourceContext) -> GitLog:
        return GitLog(context, Repository(repository))

    return SourceDefinition(manifest=MANIFEST, create=create)
