"""The configuration as one frozen model: names, defaults, ranges and the text the documentation is made from."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from remora.config.expand import dangerous
from remora.config.learning import Compat, CompatOptions, TunerConfig
from remora.config.memory import EmbeddingConfig, MemoryConfig, TimeConfig
from remora.config.results import CacheConfig, PipelineConfig, ResultOverrides, StashConfig, Structured
from remora.config.section import Section, Words
from remora.config.section import fault as _fault

LogLevel = Literal["trace", "debug", "info", "warning", "error"]
CatalogMode = Literal["slim", "full", "lazy"]
Transport = Literal["stdio", "http", "sse"]

OWN_TOOLS = frozenset({"remora", "read_more", "feedback", "find_tools", "call_read_tool", "call_tool"})
PREFIX = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,23}\Z")


def _env_policy(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return tuple(value)
    if value in ("safe", "all"):
        return value
    raise PydanticCustomError("env_policy", 'should be "safe", "all" or a list of variable names')


def _transport(value: Any) -> Any:
    return "http" if value in ("streamable_http", "streamable-http") else value


class HttpConfig(Section):
    """The HTTP door."""

    enabled: bool = Field(default=True, description="Serve HTTP beside stdio.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to bind.")
    port: int = Field(default=7437, ge=0, le=65535, description="Port to bind; 0 = any free port.")
    allow_remote: bool = Field(
        default=False, description="Permit an address other than loopback; needs a login method too."
    )
    allowed_hosts: Words = Field(
        default=(), description="Names accepted in Host and Origin besides the loopback names."
    )
    max_body_bytes: int = Field(default=8388608, gt=0, description="Largest request body.")
    session_idle_seconds: int = Field(
        default=1800, gt=0, description="A session without requests ends after this time."
    )
    max_sessions: int = Field(default=1000, gt=0, description="Sessions at one time; more are answered 503.")


class _Limits(Section):
    """What [gateway] sets for all servers and [servers.NAME] may set for one."""

    connect_timeout_seconds: float = Field(
        default=30.0, gt=0, description="Time to start or reach a server and list its tools."
    )
    call_timeout_seconds: float = Field(default=90.0, gt=0, description="Time for one attempt of a call.")
    overall_deadline_seconds: float = Field(
        default=180.0, gt=0, description="Time for all attempts of a call together."
    )
    progress_extends: bool = Field(
        default=True, description="A progress notification restarts the clock of the attempt."
    )
    max_retries: int = Field(default=3, ge=0, description="Extra attempts for calls that may be repeated without harm.")
    reconnect_delay_seconds: float = Field(
        default=1.0, gt=0, description="Pause before the first reconnect; doubles each time."
    )
    max_reconnect_delay_seconds: float = Field(default=30.0, gt=0, description="Longest pause between reconnects.")
    max_in_flight: int = Field(default=32, ge=0, description="Calls at one time; more wait in line. 0 = no limit.")
    breaker_failures: int = Field(
        default=5, gt=0, description="Failures in a row after which calls fail at once for a while."
    )
    breaker_reset_seconds: float = Field(
        default=60.0, gt=0, description="How long calls fail at once before one is tried."
    )
    max_message_bytes: int = Field(default=41943040, gt=0, description="Largest message accepted from a server.")
    env_inherit: Annotated[Literal["safe", "all"] | Words, BeforeValidator(_env_policy)] = Field(
        default="safe", description='Environment a server inherits: "safe" basics, "all", or a list of names.'
    )
    trust_annotations: bool = Field(
        default=True, description="Believe a tool that calls itself read-only or idempotent."
    )


class GatewayConfig(_Limits):
    """Behaviour towards servers; every key but `client_names` may be repeated in [servers.NAME]."""

    client_names: Words = Field(
        default=("rem",),
        min_length=1,
        description="Labels that clients know us by; the longest one limits tool name lengths.",
    )

    @model_validator(mode="after")
    def _deadlines(self) -> Self:
        if self.call_timeout_seconds > self.overall_deadline_seconds:
            raise _too_long(self, self)
        return self


class CatalogConfig(Section):
    """How tools, resources and prompts are listed."""

    mode: CatalogMode = Field(
        default="slim", description="slim = trimmed definitions, full = verbatim, lazy = search on demand."
    )
    max_description_chars: int = Field(default=2000, ge=0, description="slim cuts longer descriptions; 0 = no limit.")
    advertise_context_query: bool = Field(
        default=False, description="Offer the optional argument `_context_query` on every tool."
    )
    description_tag: str = Field(default="", description="Text put before every description.")
    title_tag: bool = Field(default=False, description="Put the server's prefix before every title.")
    always_load: Words = Field(
        default=("recall", "remember", "read_more"),
        description="Tools that clients with deferred loading should load at once.",
    )
    first_list_wait_seconds: float = Field(
        default=8.0, ge=0, description="How long the first listing ever waits for new servers."
    )
    page_size: int = Field(default=0, ge=0, description="Entries per page of a list; 0 = one page.")
    ttl_ms: int = Field(default=60000, ge=0, description="How long a modern client may keep a list.")


class ObservabilityConfig(Section):
    """Metrics and traces."""

    metrics: bool = Field(default=True, description="Record every call in state.db.")
    metrics_max_rows: int = Field(default=100000, gt=0, description="Calls kept.")
    metrics_days: int = Field(default=30, gt=0, description="Days that calls are kept.")
    latency_window: int = Field(default=10000, gt=0, description="Calls over which latency percentiles are taken.")
    capture_content: bool = Field(default=False, description="Put arguments and results, redacted, into traces.")
    sampling_rate: float = Field(default=1.0, ge=0, le=1, description="Share of requests that are traced.")
    otlp_endpoint: str = Field(default="", description="Where traces go (needs the extra `otel`); empty = nowhere.")
    otlp_headers: dict[str, str] = Field(default={}, repr=False, description="Headers sent to that endpoint.")


class AuthConfig(Section):
    """Who may use the HTTP door."""

    anonymous: Literal["off", "read", "write"] = Field(
        default="off", description="What a caller without a token may do; only while bound to loopback."
    )


class ProfileConfig(Section):
    """A named view of the catalog, chosen by --profile, REMORA_PROFILE or ?profile=."""

    servers: Words = Field(default=("*",), description="Servers seen; names or patterns with `*`.")
    hidden: Words = Field(default=(), description="Served tool names not seen; patterns with `*`.")
    catalog_mode: Literal["", "slim", "full", "lazy"] = Field(
        default="", description="Catalog mode; empty = that of [catalog]."
    )
    compat: Compat = Field(default=(), description="Others whose tools are offered too, beside `compat`.")


class UpstreamAuth(Section):
    """How we log in to a server."""

    type: Literal["none", "bearer"] = Field(default="none", description="none, or a bearer token.")
    token: str = Field(default="", repr=False, description="The token, best as a reference such as ${GITHUB_TOKEN}.")

    @model_validator(mode="after")
    def _token_fits(self) -> Self:
        if self.type == "bearer" and not self.token:
            raise _fault("token", "a bearer login needs a token", 'add token = "${NAME}"')
        if self.type == "none" and self.token:
            raise _fault("token", "a token is given, but the login type is none", 'set type = "bearer"')
        return self


class ToolConfig(ResultOverrides):
    """Overrides for one tool of a server."""

    hidden: bool = Field(default=False, description="Neither list nor call the tool.")
    description: str = Field(default="", description="Replaces the description; empty = the server's.")
    title: str = Field(default="", description="Replaces the title; empty = the server's.")
    annotations: dict[str, Any] = Field(default={}, description="Merged over the server's annotations.")
    safe: bool | None = Field(default=None, description="Whether a call may be sent twice; overrides annotations.")
    structured: Structured | None = Field(default=None, description="Overrides the server's `structured`.")
    verbatim: bool | None = Field(
        default=None, description="Its results are files, to be passed on byte for byte; unset = by its name."
    )
    cache: Literal["auto", "on", "off"] = Field(
        default="auto", description="Keep its answers: by the policy, always, or never."
    )


class ServerConfig(_Limits, ResultOverrides):
    """One proxied server. Keys of [gateway] may be repeated here; what is left out is inherited."""

    enabled: bool = Field(default=True, description="Serve it.")
    prefix: str = Field(
        default="", description="First part of its tools' names; empty = derived from the server's name."
    )
    bare_names: bool = Field(default=False, description="Serve tools and prompts without prefix; one server at most.")
    transport: Annotated[Literal["", "stdio", "http", "sse"], BeforeValidator(_transport)] = Field(
        default="", description="stdio, http or sse; empty = by what is given: command or url."
    )
    command: str = Field(default="", description="Program to start.")
    args: Words = Field(default=(), description="Its arguments.")
    env: dict[str, str] = Field(default={}, repr=False, description="Variables added to the inherited environment.")
    cwd: str = Field(default="", description="Its working directory; empty = ours, or the project's root.")
    url: str = Field(default="", description="Address of a server reached over HTTP.")
    headers: dict[str, str] = Field(default={}, repr=False, description="Headers sent to it.")
    auth: UpstreamAuth = Field(default=UpstreamAuth.model_construct(), description="How we log in to it.")
    tls_verify: bool = Field(default=True, description="Check its certificate.")
    ca_file: str = Field(default="", description="Certificates to trust, in a PEM file; empty = the system's.")
    era: Literal["auto", "modern", "legacy"] = Field(
        default="auto", description="Protocol generation; auto asks the server."
    )
    start: Literal["lazy", "eager"] = Field(default="lazy", description="Start at the first call, or with the gateway.")
    scope: Literal["auto", "shared", "project", "session"] = Field(
        default="auto",
        description="One connection for all, per project or per session; auto chooses by what the server uses.",
    )
    back_channel: bool = Field(
        default=False, description="The server asks its client questions: gives each session its own."
    )
    idle_stop_minutes: int = Field(default=0, ge=0, description="Stop it after this time without calls; 0 = never.")
    projects: Words = Field(default=("*",), description="Project folders it is served in; paths or patterns with `*`.")
    resources: bool = Field(default=True, description="Serve its resources.")
    prompts: bool = Field(default=True, description="Serve its prompts.")
    instructions: bool = Field(default=True, description="Pass its instructions on to clients.")
    allow_dangerous_env: bool = Field(
        default=False, description="Accept variables such as LD_PRELOAD or PYTHONPATH in env."
    )
    catalog_mode: CatalogMode = Field(default="slim", description="Overrides catalog.mode.")
    max_description_chars: int = Field(default=2000, ge=0, description="Overrides catalog.max_description_chars.")
    structured: Structured = Field(default="auto", description="Overrides pipeline.structured.")
    invalidates: Words = Field(default=(), description="Servers whose cached answers a write to this one makes stale.")
    local: bool | None = Field(
        default=None, description="It works on this machine's files; unset = yes if it is a program started here."
    )
    tools: dict[str, ToolConfig] = Field(default={}, description="Overrides per tool, by the server's own tool name.")

    @property
    def kind(self) -> Transport:
        if self.transport:
            return self.transport
        return "stdio" if self.command else "http"

    @property
    def is_local(self) -> bool:
        return self.kind == "stdio" if self.local is None else self.local

    @model_validator(mode="after")
    def _connection(self) -> Self:
        command, url = self.command.strip(), self.url.strip()
        if command and url:
            raise _fault("broken_server", "has both command and url", "keep one of them")
        if not command and not url:
            raise _fault("broken_server", "has neither command nor url", 'add command = "…" or url = "https://…"')
        if self.transport and (self.transport == "stdio") != bool(command):
            wanted = "command" if self.transport == "stdio" else "url"
            raise _fault("broken_server", f'transport = "{self.transport}" needs {wanted}', "drop transport")
        if url and not url.startswith(("http://", "https://", "${")):
            raise _fault("broken_server", "url must begin with http:// or https://")
        if (found := dangerous(self.env)) and not self.allow_dangerous_env:
            hint = "set allow_dangerous_env = true if you mean it"
            raise _fault("broken_server", f"env sets {', '.join(found)}, which can run foreign code", hint)
        return self

    @model_validator(mode="after")
    def _prefix_fits(self) -> Self:
        if self.prefix and not PREFIX.match(self.prefix):
            hint = "letters, digits, - and single _, at most 24, beginning with a letter or digit"
            raise _fault("prefix", f'prefix "{self.prefix}" is not usable in tool names', hint, ("prefix",))
        return self


# Keys of a server that come from elsewhere when it leaves them unset: the table and the key there.
INHERITED = {key: ("gateway", key) for key in _Limits.model_fields} | {
    "catalog_mode": ("catalog", "mode"),
    "max_description_chars": ("catalog", "max_description_chars"),
    "structured": ("pipeline", "structured"),
}


class Config(Section):
    """Everything that config.toml can say."""

    schema_version: Literal[1] = Field(default=1, description="Version of this file's layout.")
    log_level: LogLevel = Field(default="info", description="Least severity that is logged.")
    consumer_model: str = Field(
        default="", description="The model that reads the results, such as claude-sonnet-4; empty = unknown."
    )
    model_windows: dict[str, int] = Field(
        default={}, description="Context windows in tokens, by the first letters of a model's name."
    )
    http: HttpConfig = Field(default=HttpConfig.model_construct(), description="The HTTP door.")
    gateway: GatewayConfig = Field(default=GatewayConfig.model_construct(), description="Behaviour towards servers.")
    catalog: CatalogConfig = Field(default=CatalogConfig.model_construct(), description="How tools are listed.")
    pipeline: PipelineConfig = Field(default=PipelineConfig.model_construct(), description="What happens to results.")
    stash: StashConfig = Field(default=StashConfig.model_construct(), description="Originals that can be read on.")
    cache: CacheConfig = Field(default=CacheConfig.model_construct(), description="Answers that are kept.")
    observability: ObservabilityConfig = Field(
        default=ObservabilityConfig.model_construct(), description="Metrics and traces."
    )
    auth: AuthConfig = Field(default=AuthConfig.model_construct(), description="Who may use the HTTP door.")
    tuner: TunerConfig = Field(default=TunerConfig.model_construct(), description="Learning better settings.")
    compat: Compat = Field(default=(), description="Others whose tools are offered too: memtomem-stm, memento.")
    compat_options: CompatOptions = Field(
        default=CompatOptions.model_construct(), description="Settings of compatibility profiles."
    )
    memory: MemoryConfig = Field(default=MemoryConfig.model_construct(), description="The long-term memory.")
    embedding: EmbeddingConfig = Field(
        default=EmbeddingConfig.model_construct(), description="What finds memories by meaning."
    )
    time: TimeConfig = Field(default=TimeConfig.model_construct(), description="How times are meant.")
    profiles: dict[str, ProfileConfig] = Field(default={}, description="Named views of the catalog.")
    servers: dict[str, ServerConfig] = Field(
        default={}, description="The proxied servers, in the order they are listed."
    )

    def server(self, name: str) -> ServerConfig:
        """The server as it runs: what it leaves unset comes from [gateway], [catalog] and [pipeline]."""
        server = self.servers[name]
        left = {key: place for key, place in INHERITED.items() if key not in server.model_fields_set}
        return server.model_copy(update={key: getattr(getattr(self, table), own) for key, (table, own) in left.items()})

    def prefixes(self) -> dict[str, str]:
        """The first part of tool names, per server, in config order."""
        return {name: server.prefix or derived_prefix(name) for name, server in self.servers.items()}

    @model_validator(mode="after")
    def _servers_fit_together(self) -> Self:
        owners: dict[str, str] = {}
        for name, prefix in self.prefixes().items():
            at = ("servers", name, "prefix")
            if not PREFIX.match(prefix):
                raise _fault("prefix", f'no prefix can be derived from the name "{name}"', 'add prefix = "…"', at)
            if prefix.lower() in OWN_TOOLS:
                raise _fault("prefix", f'prefix "{prefix}" is the name of a tool of our own', "choose another", at)
            if owner := owners.get(prefix.lower()):
                message = f'servers "{owner}" and "{name}" have the same prefix "{prefix}"'
                raise _fault("prefix", message, "set another prefix on one of them", at)
            owners[prefix.lower()] = name
        if len(bare := [name for name, server in self.servers.items() if server.bare_names]) > 1:
            message = f'servers "{bare[0]}" and "{bare[1]}" both set bare_names'
            raise _fault(
                "bare_names", message, "only one server may go without prefix", ("servers", bare[1], "bare_names")
            )
        for name in self.servers:
            server = self.server(name)
            if server.call_timeout_seconds > server.overall_deadline_seconds:
                raise _too_long(server, self.servers[name], ("servers", name))
        return self


def derived_prefix(name: str) -> str:
    """A prefix from a server's name; empty if no letter or digit is in it."""
    valid = re.sub(r"__+", "_", re.sub(r"[^A-Za-z0-9_-]", "-", name))
    return valid.lstrip("-_")[:24]


def _too_long(effective: _Limits, written: _Limits, above: tuple[str, ...] = ()) -> PydanticCustomError:
    call, overall = effective.call_timeout_seconds, effective.overall_deadline_seconds
    message = f"call_timeout_seconds ({call:g}) is longer than overall_deadline_seconds ({overall:g})"
    key = "call_timeout_seconds" if "call_timeout_seconds" in written.model_fields_set else "overall_deadline_seconds"
    return _fault("deadline", message, "raise overall_deadline_seconds or lower call_timeout_seconds", (*above, key))
