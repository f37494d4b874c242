"""The one authorisation layer: who a caller is, and what that entitles to."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Literal

from remora.gateway.session import LOCAL_USER, Principal

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


@dataclass(frozen=True, slots=True)
class Policy:
    """Default deny: without the token there is only what `auth.anonymous` grants, and only on loopback."""

    token: str
    anonymous: Literal["off", "read", "write"]
    host: str

    def principal(self, authorization: str | None) -> Principal | None:
        scheme, _, presented = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(presented.strip().encode(), self.token.encode()):
            return LOCAL_USER
        if authorization is None and self.anonymous != "off" and self.host in LOOPBACK:
            return Principal("anonymous", self.anonymous)
        return None
