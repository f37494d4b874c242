"""The tools the suite calls by name, each written once for both eras: `Call.ask` hides how a client is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
PAUSE = 0.05  # the suite wants notifications to arrive apart from each other
LEVELS = get_args(types.LoggingLevel)
POLLED = 0.3  # how long a call goes on after its stream was closed

Content: TypeAlias = list[types.ContentBlock]

CAPABILITY = {
    "elicitation/create": ("elicitation", types.ElicitResult),
    "sampling/createMessage": ("sampling", types.CreateMessageResult),
    "roots/list": ("roots", types.ListRootsResult),
}


class InputNeeded(Exception):
    """The call cannot finish before the client has answered these requests."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        self.result = result


@dataclass(frozen=True, slots=True)
class Call:
    """One `tools/call` or `prompts/get` and what its handler may do meanwhile."""

    ctx: ServerRequestContext[Any, Any]
    params: types.CallToolRequestParams | types.GetPromptRequestParams
    publish: Callable[[ServerEvent], Awaitable[None]]

    @property
    def modern(self) -> bool:
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.params.arguments or {}

    @property
    def state(self) -> dict[str, Any]:
        """What the last round put into `requestState` (its seal was checked before we are called)."""
        return json.loads(self.params.request_state) if self.params.request_state else {}

    def supports(self, request: types.InputRequest) -> bool:
        capability, _ = CAPABILITY[request.method]
        return getattr(self.ctx.session.client_capabilities, capability, None) is not None

    async def ask(
        self, requests: Mapping[str, types.InputRequest], state: dict[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """The client's answers by key: asked on the wire in the handshake era, by another round in the modern one."""
        for request in requests.values():
            if not self.supports(request):
                missing = {"requiredCapabilities": {CAPABILITY[request.method][0]: {}}}
                raise MCPError(
                    types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"{request.method} needs a client capability", missing
                )
        if not self.modern:
            return {key: await self._send(request) for key, request in requests.items()}
        answers = self.params.input_responses or {}
        complete = all(isinstance(answers.get(key), CAPABILITY[r.method][1]) for key, r in requests.items())
        if not complete or (state is not None and not self.state):
            sealed = None if state is None else json.dumps(state)
            raise InputNeeded(types.InputRequiredResult(input_requests=dict(requests), request_state=sealed))
        return answers

    async def _send(self, request: types.InputRequest) -> Any:
        related = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        return await self.ctx.session.send_request(request, CAPABILITY[request.method][1], metadata=related)

    async def log(self, text: str) -> None:
        """One message at level info; the SDK applies a modern request's own level, we a handshake session's."""
        lowest = self.ctx.session._connection.state.get("level", "debug")
        if LEVELS.index("info") < LEVELS.index(lowest):
            return
        await self.ctx.session.send_log_message("info", text, "reference", related_request_id=self.ctx.request_id)

    async def close_stream(self) -> None:
        """Make the client poll for the result, where transport and revision have that."""
        if self.ctx.close_sse_stream is not None:
            await self.ctx.close_sse_stream()


Handler: TypeAlias = Callable[[Call], Awaitable[Content]]

HANDLERS: dict[str, Handler] = {}
DEFINITIONS: list[types.Tool] = []


def tool(name: str, description: str, schema: dict[str, Any] | None = None) -> Callable[[Handler], Handler]:
    """Define a tool; without a schema it takes no arguments."""

    def define(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        empty: dict[str, Any] = {"type": "object", "properties": {}}
        DEFINITIONS.append(types.Tool(name=name, description=description, input_schema=schema or empty))
        return handler

    return define


def fields(**properties: dict[str, Any]) -> dict[str, Any]:
    """An object schema that requires all its properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def elicit(message: str, **properties: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=fields(**properties))
    )


def sample(prompt: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def text(value: str) -> types.TextContent:
    return types.TextContent(text=value)


def embedded(uri: str, value: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=value))


def image() -> types.ImageContent:
    return types.ImageContent(data=PNG, mime_type="image/png")


def spoken(answer: types.ElicitResult) -> str:
    return f"action={answer.action}, content={json.dumps(answer.content)}"


STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}


@tool("test_simple_text", "Returns one line of text.")
async def simple_text(call: Call) -> Content:
    return [text("This is a simple text response for testing.")]


@tool("test_image_content", "Returns a one pixel image.")
async def image_content(call: Call) -> Content:
    return [image()]


@tool("test_audio_content", "Returns one sample of silence.")
async def audio_content(call: Call) -> Content:
    return [types.AudioContent(data=WAV, mime_type="audio/wav")]


@tool("test_embedded_resource", "Returns an embedded resource.")
async def embedded_resource(call: Call) -> Content:
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@tool("test_multiple_content_types", "Returns text, an image and a resource.")
async def multiple_content_types(call: Call) -> Content:
    resource = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [text("Multiple content types test:"), image(), resource]


@tool("test_error_handling", "Always fails.")
async def error_handling(call: Call) -> Content:
    raise ValueError("This tool intentionally returns an error for testing")


@tool("test_tool_with_logging", "Sends three log messages while it works.")
async def tool_with_logging(call: Call) -> Content:
    await call.log("Tool execution started")
    await asyncio.sleep(PAUSE)
    await call.log("Tool processing data")
    await asyncio.sleep(PAUSE)
    await call.log("Tool execution completed")
    return [text("Logged three messages.")]


@tool("test_logging_tool", "Sends a log message, if the caller asked for them.")
async def logging_tool(call: Call) -> Content:
    await call.log("One message for those who asked")
    return [text("Logged one message.")]


@tool("test_tool_with_progress", "Reports its progress three times.")
async def tool_with_progress(call: Call) -> Content:
    for progress in (0, 50, 100):
        await call.ctx.session.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return [text("Reported progress three times.")]


@tool("test_reconnection", "Closes its event stream before it has finished.")
async def reconnection(call: Call) -> Content:
    await call.close_stream()
    await asyncio.sleep(POLLED)
    return [text("Finished while nobody was listening.")]


@tool("test_sampling", "Asks the client's model.", fields(prompt=STRING))
async def sampling(call: Call) -> Content:
    answers = await call.ask({"answer": sample(str(call.arguments["prompt"]))})
    return [text(f"LLM response: {answers['answer'].content.text}")]


@tool("test_elicitation", "Asks the user for name and address.", fields(message=STRING))
async def elicitation(call: Call) -> Content:
    username = {"type": "string", "description": "User's response"}
    email = {"type": "string", "description": "User's email address"}
    answers = await call.ask({"user": elicit(str(call.arguments["message"]), username=username, email=email)})
    return [text(f"User response: {spoken(answers['user'])}")]


@tool("test_elicitation_sep1034_defaults", "Asks the user with default values.")
async def elicitation_defaults(call: Call) -> Content:
    request = elicit(
        "Please check the defaults",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    answers = await call.ask({"defaults": request})
    return [text(f"Elicitation completed: {spoken(answers['defaults'])}")]


@tool("test_elicitation_sep1330_enums", "Asks the user to choose from every kind of enumeration.")
async def elicitation_enums(call: Call) -> Content:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    request = elicit(
        "Please choose",
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", **legacy},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    answers = await call.ask({"choice": request})
    return [text(f"Elicitation completed: {spoken(answers['choice'])}")]


JSON_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", JSON_SCHEMA_2020_12)
async def json_schema_2020_12(call: Call) -> Content:
    return [text(json.dumps(dict(call.arguments)))]


REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
    },
    "required": ["region"],
}


@tool("test_header_parameters", "Takes parameters that are mirrored in HTTP headers.", REGION)
async def header_parameters(call: Call) -> Content:
    return [text(json.dumps(dict(call.arguments)))]


@tool("test_missing_capability", "Needs a client that offers sampling.")
async def missing_capability(call: Call) -> Content:
    await call.ask({"answer": sample("Are you there?")})
    return [text("The client offers sampling.")]


@tool("test_streaming_elicitation", "Asks the user on the call's own stream.")
async def streaming_elicitation(call: Call) -> Content:
    answers = await call.ask({"go_on": elicit("Go on?", ok=BOOLEAN)})
    return [text(spoken(answers["go_on"]))]


@tool("test_trigger_tool_change", "Adds a tool to the list, or takes it away again.")
async def trigger_tool_change(call: Call) -> Content:
    await call.publish(ToolsListChanged())
    return [text("The tool list has changed.")]


@tool("test_trigger_prompt_change", "Adds a prompt to the list, or takes it away again.")
async def trigger_prompt_change(call: Call) -> Content:
    await call.publish(PromptsListChanged())
    return [text("The prompt list has changed.")]


@tool("test_input_required_result_elicitation", "Greets the user by the name they give.")
async def input_elicitation(call: Call) -> Content:
    answers = await call.ask({"user_name": elicit("What is your name?", name=STRING)})
    return [text(f"Hello, {(answers['user_name'].content or {}).get('name')}!")]


@tool("test_input_required_result_sampling", "Lets the client's model answer.")
async def input_sampling(call: Call) -> Content:
    answers = await call.ask({"capital_question": sample("What is the capital of France?")})
    return [text(f"The model says: {answers['capital_question'].content.text}")]


@tool("test_input_required_result_list_roots", "Lists the client's roots.")
async def input_roots(call: Call) -> Content:
    answers = await call.ask({"client_roots": types.ListRootsRequest()})
    return [text(", ".join(str(root.uri) for root in answers["client_roots"].roots))]


@tool("test_input_required_result_request_state", "Asks once and checks that its state came back.")
async def input_request_state(call: Call) -> Content:
    await call.ask({"confirm": elicit("Please confirm", ok=BOOLEAN)}, state={"asked": True})
    return [text("state-ok")]


@tool("test_input_required_result_tampered_state", "Refuses a state that was altered.")
async def input_tampered_state(call: Call) -> Content:
    await call.ask({"confirm": elicit("Please confirm", ok=BOOLEAN)}, state={"asked": True})
    return [text("The state is the one we gave out.")]


@tool("test_input_required_result_multiple_inputs", "Asks for three things at once.")
async def input_multiple(call: Call) -> Content:
    requests: dict[str, types.InputRequest] = {
        "user_name": elicit("What is your name?", name=STRING),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    answers = await call.ask(requests, state={"asked": True})
    return [text(f"{answers['greeting'].content.text} ({len(answers['client_roots'].roots)} roots)")]


@tool("test_input_required_result_multi_round", "Asks twice, one question after the other.")
async def input_multi_round(call: Call) -> Content:
    name = call.state.get("name")
    if name is None:
        first = await call.ask({"step1": elicit("Step 1: What is your name?", name=STRING)}, state={"round": 1})
        name = (first["step1"].content or {}).get("name")
    second = await call.ask({"step2": elicit("Step 2: What is your favorite color?", color=STRING)}, {"name": name})
    return [text(f"{name} likes {(second['step2'].content or {}).get('color')}.")]


@tool("test_input_required_result_capabilities", "Asks only for what the client can give.")
async def input_capabilities(call: Call) -> Content:
    wanted: dict[str, types.InputRequest] = {
        "user_name": elicit("What is your name?", name=STRING),
        "greeting": sample("Generate a greeting", 50),
    }
    answers = await call.ask({key: request for key, request in wanted.items() if call.supports(request)})
    return [text(f"The client answered {', '.join(answers) or 'nothing'}.")]
