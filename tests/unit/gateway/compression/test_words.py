from __future__ import annotations

import hashlib
from importlib import resources

from remora.gateway.compression import words


def test_identifiers_are_taken_apart() -> None:
    assert words.parts("requestTimeout") == ["request", "timeout"]
    assert words.parts("HTTPServer_v2") == ["http", "server", "v", "2"]
    assert words.parts("東京都") == ["東京", "京都"]
    assert "connect" in words.forms("connecting")


def test_the_shipped_table_is_the_known_one() -> None:
    raw = (resources.files("remora.gateway.compression") / "data" / "words.npz").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == words.SHA256
    known = words.table()
    assert known is not None
    assert known.id("zoning") >= 0
    assert known.id("squeezed") == known.id("squeeze") or known.id("squeezed") >= 0
    assert known.id("qqzzqq") == -1
