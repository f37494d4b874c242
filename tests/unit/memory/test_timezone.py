from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remora.errors import Invalid
from remora.memory.timezone import zone_of


def test_zones_by_name_and_by_offset() -> None:
    noon = datetime(2026, 7, 1, 12)
    assert zone_of("utc") is UTC
    assert zone_of("Europe/Berlin").utcoffset(noon) == timedelta(hours=2)
    assert zone_of("-03:30").utcoffset(noon) == -timedelta(hours=3, minutes=30)
    assert zone_of(None).utcoffset(noon) is not None
    for bad in ("Mars/Phobos", "../etc/passwd", ""):
        with pytest.raises(Invalid):
            zone_of(bad)
