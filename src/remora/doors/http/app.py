"""The ASGI application: host and origin, login, size; then the path decides."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from remora.config.model import HttpConfig
from remora.config.project import project_root
from remora.doors.http.wire import BodyTooLarge, Disconnected, Receive, Request, Scope, Send
from remora.doors.mcp.http import McpDoor
from remora.doors.policy import LOOPBACK, Policy
from remora.gateway.session import Principal, ViewKey

log = logging.getLogger(__name__)


class HttpApp:
    """`http` and `policy` are asked anew for each request: they may change while we run."""

    def __init__(
        self,
        mcp: McpDoor,
        http: Callable[[], HttpConfig],
        policy: Callable[[], Policy],
        port: Callable[[], int],
        home: Path,
    ) -> None:
        self._mcp = mcp
        self._http = http
        self._policy = policy
        self._port = port
        self._home = home

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send)
        try:
            await self._route(request)
        except BodyTooLarge:
            await request.problem(413, f"the body is larger than http.max_body_bytes ({self._http().max_body_bytes})")
        except Disconnected:
            pass

    async def _route(self, request: Request) -> None:
        if not self._is_ours(request.header("host")):
            await request.problem(403, "this Host is not served here; add it to http.allowed_hosts if it is yours")
            return
        origin = request.header("origin")
        if origin is not None and not self._is_ours(origin.partition("://")[2]):
            await request.problem(
                403, "this Origin is not served here; add its host to http.allowed_hosts if it is yours"
            )
            return
        if request.path == "/health":
            await request.reply(200, b'{"status":"ok"}')
            return
        principal = self._policy().principal(request.header("authorization"))
        if principal is None:
            await request.problem(
                401, "a bearer token is needed: see run/token in the home folder", {"www-authenticate": "Bearer"}
            )
        elif request.path.rstrip("/") == "/mcp":
            await self._serve_mcp(request, principal)
        else:
            await request.problem(404, f"there is nothing at {request.path}")

    async def _serve_mcp(self, request: Request, principal: Principal) -> None:
        catalog = request.query.get("catalog", "")
        if catalog not in ("", "slim", "full", "lazy"):
            await request.problem(400, "catalog must be slim, full or lazy")
            return
        wanted = request.query.get("project")
        if wanted is not None and not Path(wanted).is_absolute():
            await request.problem(400, "project must be an absolute path")
            return
        project = project_root(Path(wanted), self._home) if wanted else None
        view = ViewKey(request.query.get("profile", ""), project, catalog)
        await self._mcp.handle(request, principal, view, self._http())

    def _is_ours(self, netloc: str | None) -> bool:
        if not netloc:
            return False
        name, _, port = netloc.rpartition(":") if ":" in netloc.rsplit("]", 1)[-1] else (netloc, "", "")
        allowed = self._http().allowed_hosts
        if netloc in allowed or name in allowed:
            return True
        return name.lower() in LOOPBACK and port == str(self._port())
