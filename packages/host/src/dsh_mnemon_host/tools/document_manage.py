"""``mnemon_document_manage``: documents created, updated, archived, restored (host.md §8.5)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from dsh_mnemon_core.errors import AuthorityError, InputError
from pydantic import BaseModel, ConfigDict, Field

from dsh_mnemon_host.bindings import DOCUMENTS_MANAGE
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.tools.documents import Body, Id, Paths, Summary, Title, for_model
from dsh_mnemon_host.tools.operation import offer_of, receipt_result
from dsh_mnemon_host.work.actions import Actions
from dsh_mnemon_host.work.document_work import DocumentWork

__all__ = ("DESCRIPTION", "ManageInput", "manage_document")

DESCRIPTION: Final = (
    "Create, update, archive or restore a working document. update replaces what is given; new "
    "content needs the revision that mnemon_document_read showed, after reading the whole. archive "
    "takes a finished document out of the working set, its index goes to long-term memory; restore "
    "makes a new active document from an archived one."
)


class ManageInput(BaseModel):
    """Arguments of ``mnemon_document_manage``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    action: Annotated[
        Literal["create", "update", "archive", "restore"], Field(description="What to do.")
    ]
    id: Annotated[Id | None, Field(description="The document; for all but create.")] = None
    revision: Annotated[
        int | None,
        Field(ge=1, description="The revision you read; required to update content."),
    ] = None
    title: Annotated[Title | None, Field(description="Title; required to create.")] = None
    description: Annotated[Summary | None, Field(description="One or two sentences.")] = None
    content: Annotated[Body | None, Field(description="The whole body, Markdown.")] = None
    source_paths: Paths = None

    def mutation(self) -> dict[str, Any]:
        """Return the input of the Source's ``manage`` action; unset fields are absent.

        Raises:
            InputError: ``input-invalid``: a field that the action needs is missing;
                ``revision-required``: new content without the revision it replaces (D56).
        """
        needed = {"create": ("title", "content")}.get(self.action, ("id",))
        for field in needed:
            if getattr(self, field) is None:
                raise InputError(
                    "input-invalid",
                    f"mnemon_document_manage: {field} is required for action={self.action}",
                    details={"field": field},
                )
        foreign = {"title", "description", "content", "source_paths"} & self.model_fields_set
        given = sorted(name for name in foreign if getattr(self, name) is not None)
        if self.action in ("archive", "restore") and given:
            raise InputError(
                "input-invalid",
                f"mnemon_document_manage: {given[0]} does not go with action={self.action}",
                details={"field": given[0]},
            )
        if self.action == "update" and self.content is not None and self.revision is None:
            raise InputError(
                "revision-required",
                "an update of content needs the revision it replaces: read the document whole with "
                "mnemon_document_read, and give the revision that it shows",
                details={"field": "revision"},
            )
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


async def manage_document(
    work: DocumentWork, actions: Actions, execution: Execution, arguments: ManageInput
) -> dict[str, Any]:
    """Change a document, with the workflow of a root Agent (host.md §8.5, §16).

    Returns:
        ``{success, action, document, snapshot, lineage?, maintenance?, memoryReceipt}``; of the
        snapshot what `for_model` leaves.

    Raises:
        AuthorityError: ``writes-disabled``, ``action-unavailable``; ``child-may-not-archive``.
        InputError: ``input-invalid``, ``revision-required``.
        ConflictError: ``revision-conflict``.
    """
    actions.check_writable(execution)
    mutation = arguments.mutation()
    offer = offer_of(execution, DOCUMENTS_MANAGE)
    session = SourceSession(
        graph=execution.graph, key=offer.source_instance_key, scope=execution.context.scope
    )
    writes = arguments.action in ("create", "update")
    if execution.child and not writes:
        raise AuthorityError(
            "child-may-not-archive", "an Agent that another one started may not archive or restore"
        )

    change = {**mutation, "sessionIds": [execution.agent_id]}

    async def commit() -> dict[str, Any]:
        return receipt_result(await actions.execute(execution, offer.id, change))

    if execution.child:
        return for_model(await commit())
    view = execution.context.view
    async with execution.work():
        if writes:
            return for_model(await work.write(session, change, commit, view))
        document, revision = mutation["id"], arguments.revision
        bring = work.archive if arguments.action == "archive" else work.restore
        answer = await bring(session, document, revision, view)
        return {**for_model(answer), **actions.proof()}
