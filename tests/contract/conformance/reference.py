"""The reference server: what the suite calls by fixed names, on the official SDK's low-level server."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from tests.contract.conformance.tools import (
    DEFINITIONS,
    HANDLERS,
    PNG,
    STRING,
    Call,
    InputNeeded,
    elicit,
    embedded,
    image,
    text,
)

Context: TypeAlias = ServerRequestContext[Any, Any]

NAME = "conformance-reference"
COMES_AND_GOES = types.Tool(
    name="test_comes_and_goes", description="Is listed every other time.", input_schema={"type": "object"}
)
TEMPLATE = "test://template/{id}/data"
RESOURCES = [
    types.Resource(uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="static-binary", description="An image.", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="watched", description="Watch it.", mime_type="text/plain"),
]


def argument(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=True)


PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="A prompt without arguments."),
    types.Prompt(
        name="test_prompt_with_arguments",
        description="A prompt that repeats its arguments.",
        arguments=[argument("arg1", "First test argument"), argument("arg2", "Second test argument")],
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource",
        description="A prompt around a resource.",
        arguments=[argument("resourceUri", "URI of the resource to embed")],
    ),
    types.Prompt(name="test_prompt_with_image", description="A prompt with an image."),
    types.Prompt(name="test_input_required_result_prompt", description="A prompt that asks before it answers."),
]
PROMPT_COMES_AND_GOES = types.Prompt(name="test_prompt_comes_and_goes", description="Is listed every other time.")


def unknown(what: str, name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {name}", {"name": name})


class Reference(Server[Any]):
    """One server for both eras; its lists change when a tool is asked to change them."""

    def __init__(self) -> None:
        super().__init__(
            NAME,
            version="1.0.0",
            instructions="Reference server of the conformance tests.",
            cache_hints={method: CacheHint(ttl_ms=5000, scope="public") for method in CACHEABLE_METHODS},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._watch,
            on_unsubscribe_resource=self._watch,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_set_logging_level=self._set_level,
            on_subscriptions_listen=ListenHandler(bus := InMemorySubscriptionBus()),
        )
        self._bus = bus
        self._more_tools = False
        self._more_prompts = False
        self._sessions: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        security = RequestStateSecurity.ephemeral()
        self.middleware.append(RequestStateBoundary(security, default_audience=NAME))

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Announce list changes in the handshake era too; the HTTP manager gives no way to say so."""
        return super().create_initialization_options(NotificationOptions(prompts_changed=True, tools_changed=True))

    async def _initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        self._sessions.add(ctx.session._connection)

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        ctx.session._connection.state["level"] = params.level
        return types.EmptyResult()

    async def _publish(self, event: ServerEvent) -> None:
        """Change a list, then tell every listen stream and every handshake session."""
        tools = isinstance(event, ToolsListChanged)
        if tools:
            self._more_tools = not self._more_tools
        else:
            self._more_prompts = not self._more_prompts
        await self._bus.publish(event)
        for session in list(self._sessions):
            await (session.send_tool_list_changed() if tools else session.send_prompt_list_changed())

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*DEFINITIONS, *([COMES_AND_GOES] if self._more_tools else [])])

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        handler = HANDLERS.get(params.name)
        if handler is None:
            raise unknown("tool", params.name)
        try:
            return types.CallToolResult(content=await handler(Call(ctx, params, self._publish)))
        except InputNeeded as needed:
            return needed.result
        except ValueError as error:
            return types.CallToolResult(content=[text(str(error))], is_error=True)

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=RESOURCES)

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=TEMPLATE, name="template", description="Data by id.", mime_type="application/json"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[contents(ctx, str(params.uri))])

    async def _watch(
        self, ctx: Context, params: types.SubscribeRequestParams | types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        contents(ctx, str(params.uri))
        return types.EmptyResult()

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[*PROMPTS, *([PROMPT_COMES_AND_GOES] if self._more_prompts else [])])

    async def _get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        try:
            messages = await prompt_contents(Call(ctx, params, self._publish))
        except InputNeeded as needed:
            return needed.result
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=item) for item in messages])

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        values = [word for word in ("testing", "paris", "park", "party") if word.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


def contents(ctx: Context, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    """What stands under an URI; an unknown one is the error its era has for it."""
    filled = re.fullmatch(re.escape(TEMPLATE).replace(r"\{id\}", "([^/]+)"), uri)
    if filled is not None:
        data = {"id": filled[1], "templateTest": True, "data": f"Data for ID: {filled[1]}"}
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    texts: Mapping[str, str] = {
        "test://static-text": "This is the content of the static text resource.",
        "test://watched-resource": "This resource can be watched.",
    }
    if uri not in texts:
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if modern else -32002  # the handshake revisions' own code for it
        raise MCPError(code, "Resource not found", {"uri": uri})
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=texts[uri])


async def prompt_contents(call: Call) -> list[types.ContentBlock]:
    match call.params.name:
        case "test_simple_prompt" | PROMPT_COMES_AND_GOES.name:
            return [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            given = call.arguments
            return [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(str(call.arguments["resourceUri"]), "Embedded resource content for testing.")
            return [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [image(), text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            answers = await call.ask({"user_context": elicit("What context should the prompt use?", context=STRING)})
            return [text(f"Use this context: {(answers['user_context'].content or {}).get('context')}")]
        case other:
            raise unknown("prompt", other)
