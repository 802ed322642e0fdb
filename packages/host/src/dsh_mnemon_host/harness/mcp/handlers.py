"""What the MCP server answers: tools, the context resource, the context prompt (§23.2 B, D51)."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from dsh_mnemon_core.errors import MnemonError
from mcp import types
from mcp.shared.exceptions import MCPError

from dsh_mnemon_host.harness.mcp.harness import McpHarness
from dsh_mnemon_host.harness.mcp.own_tools import (
    CONTEXT,
    CONTEXT_URI,
    END_TURN,
    OWN_TOOLS,
    PROMPT_DESCRIPTION,
    RESOURCE_DESCRIPTION,
    read_nothing,
)
from dsh_mnemon_host.harness.mcp.results import (
    INTERNAL_ERROR,
    answered,
    described,
    listed,
    refused,
)
from dsh_mnemon_host.harness.mcp.roots import place
from dsh_mnemon_host.harness.mcp.serving import Request

__all__ = ("Handlers",)

_log = logging.getLogger(__name__)

_TITLE = "Memory context"


class Handlers:
    """Request handlers over an attached harness.

    Args:
        harness: The adapter.
    """

    def __init__(self, harness: McpHarness) -> None:
        self._harness = harness

    async def list_tools(
        self, request: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools of the configuration in force, on one page."""
        request.lifespan_context.meet(request)
        tools = await self._harness.tools()
        return types.ListToolsResult(tools=[*map(listed, OWN_TOOLS), *map(listed, tools)])

    async def call_tool(
        self, request: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool; whatever goes wrong in it is an answer that the model can read."""
        try:
            return await self._call(request, params)
        except MnemonError as error:
            return refused(error)
        except Exception:
            _log.exception("tool %s failed", params.name)
            return refused(INTERNAL_ERROR)

    async def _call(
        self, request: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        session = await request.lifespan_context.session(request)
        missing = await place(request, session, params.input_responses)
        if missing is not None:
            return missing
        arguments = params.arguments or {}
        if params.name == CONTEXT:
            read_nothing(arguments, CONTEXT)
            async with session.call(fresh=True):
                return described(await self._harness.report(session))
        if params.name == END_TURN:
            read_nothing(arguments, END_TURN)
            return answered({"ended": await session.end() is not None})
        call_id = str(request.request_id)
        return answered(await self._harness.call_tool(session, params.name, arguments, call_id))

    async def list_resources(
        self, request: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the one resource."""
        request.lifespan_context.meet(request)
        context = types.Resource(
            uri=CONTEXT_URI,
            name=CONTEXT,
            title=_TITLE,
            description=RESOURCE_DESCRIPTION,
            mime_type="text/markdown",
        )
        return types.ListResourcesResult(resources=[context])

    async def list_templates(
        self, _request: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List no templates; clients ask for them wherever there are resources."""
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Show the open turn's context; a turn opens only when there is none."""
        _check_uri(params.uri)
        text = await self._context(request, params.input_responses)
        if isinstance(text, types.InputRequiredResult):
            return text
        content = types.TextResourceContents(uri=CONTEXT_URI, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[content])

    async def subscribe(
        self, request: Request, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell this connection from now on when the context changes."""
        _check_uri(params.uri)
        with _readable_errors():
            session = await request.lifespan_context.session(request)
            session.watchers.add(CONTEXT_URI)
        return types.EmptyResult()

    async def unsubscribe(
        self, request: Request, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Stop telling."""
        _check_uri(params.uri)
        session = request.lifespan_context.known(request)
        if session is not None:
            session.watchers.discard(CONTEXT_URI)
        return types.EmptyResult()

    async def listen(
        self, request: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Stream changes to a client without a connection, until it goes."""
        serving = request.lifespan_context
        watched: set[object] = set()
        if CONTEXT_URI in (params.notifications.resource_subscriptions or ()):
            with _readable_errors():
                watched = (await serving.session(request)).watchers
        token = object()
        watched.add(token)
        try:
            return await serving.listener(request, params)
        finally:
            watched.discard(token)

    async def list_prompts(
        self, request: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """List the one prompt."""
        request.lifespan_context.meet(request)
        prompt = types.Prompt(name=CONTEXT, title=_TITLE, description=PROMPT_DESCRIPTION)
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(
        self, request: Request, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Give the open turn's context as a message; a turn opens only when there is none."""
        if params.name != CONTEXT:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no prompt {params.name!r}; there is {CONTEXT}"
            )
        text = await self._context(request, params.input_responses)
        if isinstance(text, types.InputRequiredResult):
            return text
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=PROMPT_DESCRIPTION, messages=[message])

    async def _context(
        self, request: Request, responses: types.InputResponses | None
    ) -> str | types.InputRequiredResult:
        with _readable_errors():
            session = await request.lifespan_context.session(request)
            missing = await place(request, session, responses)
            if missing is not None:
                return missing
            async with session.call():
                return (await self._harness.report(session)).text()

    async def roots_changed(self, request: Request, _params: types.NotificationParams) -> None:
        """Ask the client for its roots again before the next call."""
        session = request.lifespan_context.known(request)
        if session is not None and request.lifespan_context.workspace is None:
            session.placed = False


def _check_uri(uri: str) -> None:
    if uri != CONTEXT_URI:
        message = f"there is no resource {uri!r}; there is {CONTEXT_URI}"
        raise MCPError(types.INVALID_PARAMS, message)


@contextmanager
def _readable_errors() -> Generator[None]:
    """Say what went wrong where no tool result can: one sentence, never a traceback."""
    try:
        yield
    except MnemonError as error:
        text = f"{error.message} ({error.code})"
        raise MCPError(types.INTERNAL_ERROR, text, refused(error).structured_content) from error
    except Exception as error:
        _log.exception("the memory context could not be given")
        raise MCPError(types.INTERNAL_ERROR, INTERNAL_ERROR.message) from error
