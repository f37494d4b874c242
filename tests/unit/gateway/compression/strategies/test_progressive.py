from __future__ import annotations

import json

import pytest

from remora.gateway.compression.job import Job, Options
from remora.gateway.compression.strategies.progressive import TOKEN, page

TEXTS = {
    "markdown": "\n\n".join(f"## Part {i}\n\nSome words about part {i}." for i in range(200)),
    "json": json.dumps([{"id": i, "name": f"n{i}"} for i in range(500)]),
    "log": "\n".join(f"line {i}" for i in range(2_000)),
}


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_pages_join_to_the_text(kind: str) -> None:
    source = TEXTS[kind]
    job = Job(source, kind, 100_000, handle="h", options=Options(chunk_size=1_500))
    joined = ""
    while len(joined) < len(source):
        made = page(job, len(joined))
        body, _, footer = made.partition(TOKEN)
        joined += body
        assert ("has_more=True" in footer) == (len(joined) < len(source))
    assert joined == source


def test_borders_of_json_lie_between_elements_and_headings_are_announced() -> None:
    job = Job(TEXTS["json"], "json", 100_000, handle="h", options=Options(chunk_size=1_500))
    assert page(job, 0).split(TOKEN)[0].endswith("},")
    marked = page(Job(TEXTS["markdown"], "markdown", 100_000, handle="h"), 0)
    assert '\n[Remaining: "Part ' in marked
    assert marked.endswith(f'[-> read_more("h", offset={len(marked.split(TOKEN)[0])})]')


def test_what_fits_one_page_has_no_footer() -> None:
    assert page(Job("short", "log", 1_000), 0) == "short"
