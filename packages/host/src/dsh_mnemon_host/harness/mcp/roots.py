"""The workspace of a session: the client's first root, where it has any (D51)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from anyio import to_thread
from dsh_mnemon_core.checks import truncate
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import OperationScope
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from dsh_mnemon_host.harness.mcp.serving import Request, is_modern
from dsh_mnemon_host.harness.mcp.session import McpSession
from dsh_mnemon_host.workspace import canonical_workspace, read_workspace

__all__ = ("first_root", "place")

_log = logging.getLogger(__name__)

_KEY: Final = "roots"
_ANSWER_SECONDS: Final = 5.0


async def place(
    request: Request, session: McpSession, responses: types.InputResponses | None
) -> types.InputRequiredResult | None:
    """Settle the workspace of a session, once; where that fails it keeps the Host's.

    Args:
        request: The request that is about to open a turn.
        session: Its session.
        responses: What the client answered to the result of a former try.

    Returns:
        What to answer instead, when the client has to name its roots first; it then tries again.
    """
    if session.placed:
        return None
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        session.placed = True
        return None
    if not is_modern(request):
        session.place(await to_thread.run_sync(first_root, await _ask(request)))
    elif responses is None:
        return types.InputRequiredResult(input_requests={_KEY: types.ListRootsRequest()})
    else:
        answer = responses.get(_KEY)
        roots = answer.roots if isinstance(answer, types.ListRootsResult) else ()
        session.place(await to_thread.run_sync(first_root, roots))
    return None


async def _ask(request: Request) -> Sequence[types.Root]:
    try:
        answer = await request.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_ANSWER_SECONDS,
            metadata=ServerMessageMetadata(related_request_id=request.request_id),
        )
    except (MCPError, ValidationError) as error:
        _log.warning("the client did not name its roots: %s", error)
        return ()
    return answer.roots


def first_root(roots: Sequence[types.Root]) -> str | None:
    """Return the absolute path of the first root that is a local folder's address; looks at it.

    A root that cannot be a workspace is passed over: the session would be without memory in it.
    """
    for root in roots:
        try:
            address = urlsplit(str(root.uri))
            if address.hostname in (None, "localhost"):
                return _usable(url2pathname(address.path))
        except MnemonError as error:
            _log.warning("the root %s is no workspace: %s", truncate(str(root.uri), 300), error)
    return None


def _usable(path: str) -> str:
    """Return a workspace path that every storage scope can work with.

    Raises:
        InputError, StorageError: As `canonical_workspace`, or ``text-too-long``.
    """
    workspace = str(read_workspace(path))
    canonical_workspace(workspace)
    OperationScope(storage="workspaces", workspace_id=workspace)
    return workspace
