from __future__ import annotations

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats.forms import decode
from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import lossless

TEXT = "\n".join(["2026-05-01T10:00:00Z host app: ready"] * 50 + ["end"])


def test_everything_in_fewer_characters() -> None:
    draft = lossless.run(Job(TEXT, "log", 1_000))
    assert (draft.label, draft.complete) == ("lossless", True)
    assert len(draft.body) < len(TEXT) / 4
    assert decode(draft.body) == TEXT


def test_what_is_still_too_long_comes_in_pages() -> None:
    text = "\n".join(f"{i * 7919 % 1009} words {i * 31 % 97}" for i in range(500))
    assert lossless.run(Job(text, "log", 400)).label == "lossless→progressive"


def test_files_that_were_read_and_what_saves_nothing_have_no_other_form() -> None:
    read = Hints("", "read_file", {"path": "/x.log"})
    assert lossless.form(Job(TEXT, "log", 100, hints=read)) is None
    assert lossless.form(Job("one line", "log", 100)) is None
