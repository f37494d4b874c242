from __future__ import annotations

import json

import pytest

from remora.gateway.stash.read import BadRequest, Request, inferred, read

TEXT = "\n".join(f"line {i} of the text" for i in range(1, 501))
DOCUMENT = json.dumps({"a": {"b": [1, 2, 3]}, "items": [{"id": i, "name": f"n{i}"} for i in range(20)], "x.y": 1.0})
NOTES = "before\n# Notes\none\n# Notes\ntwo\n# Other\nthree\n# Notes\nfour"


def ask(text: str, kind: str = "unknown", **more: object) -> str:
    return read(text, kind, Request("h", **more)).text  # type: ignore[arg-type]


def test_a_missing_mode_follows_from_the_question() -> None:
    assert [inferred(q) for q in ("", "12-14", "3-", "$..id", "which error?", "7")] == [
        "range", "lines", "lines", "jsonpath", "search", "lines",
    ]  # fmt: skip


def test_lines_are_byte_equal_and_gaps_are_marked() -> None:
    assert ask(TEXT, q="2-3,5").split("\n") == [
        "line 2 of the text", "line 3 of the text", "⋯ lines 4-4 omitted ⋯", "line 5 of the text",
    ]  # fmt: skip
    assert "next: read_more(" in ask(TEXT, q="1-400", limit=200)
    assert ask(TEXT, q="490-900").count("\n") == 10


def test_ranges_end_at_borders_and_join() -> None:
    first = ask(TEXT, limit=100)
    assert first.split("\n[rem: ")[0].endswith("\n")
    assert ask(TEXT, offset=10**6) == "(no more content)"


def test_equal_titles_are_separate_sections() -> None:
    assert ask(NOTES, "markdown", mode="section", q="Notes") == "# Notes\none\n"
    assert ask(NOTES, "markdown", mode="section", q="Notes#3") == "# Notes\nfour"
    assert ask(NOTES, "markdown", mode="section", q="Preamble,Other") == "before\n# Other\nthree\n"
    assert "Notes#2" in ask(NOTES, "markdown", mode="section", q="?")
    assert "nearest" in ask(NOTES, "markdown", mode="section", q="Nots")


def test_values_by_key_are_json() -> None:
    assert json.loads(ask(DOCUMENT, "json", mode="section", q="a.b")) == [1, 2, 3]
    assert json.loads(ask(DOCUMENT, "json", mode="section", q="items[2..3]")) == [
        {"id": 2, "name": "n2"},
        {"id": 3, "name": "n3"},
    ]


def test_grep_gives_numbers_context_and_totals() -> None:
    made = ask(TEXT, mode="grep", q="line 1?00 of", context=1)
    assert "100:line 100 of the text" in made
    assert "99-line 99 of the text" in made
    assert made.endswith("of 1]")
    assert "no match" in ask(TEXT, mode="grep", q="absent")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|b)*c", r"(x)\1", "(", "a" * 301])
def test_dangerous_or_broken_patterns_are_refused(pattern: str) -> None:
    assert read(TEXT, "unknown", Request("h", "grep", pattern)).error


def test_paths_page_whole_matches() -> None:
    made = json.loads(ask(DOCUMENT, "json", q="$.items[?@.id >= 18 && @.name != 'n19'].name"))
    assert made == {"matches": ["n18"], "total": 1}
    page = json.loads(ask(DOCUMENT, "json", q="$.items[*]", limit=150))
    assert page["next_offset"] == len(page["matches"])
    assert json.loads(ask(DOCUMENT, "json", q="$..b[-1:]"))["matches"] == [3]
    assert json.loads(ask(DOCUMENT, "json", q="$['x.y']")) == {"matches": [1.0], "total": 1}
    assert read(TEXT, "unknown", Request("h", "jsonpath", "$.a")).error
    assert read(DOCUMENT, "json", Request("h", "jsonpath", "$.items[")).error


def test_search_finds_what_was_asked() -> None:
    made = ask(TEXT, q="which line is number 321?")
    assert made.index("321:line 321 of the text") < 200


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(BadRequest):
        read(TEXT, "unknown", Request("h", "backwards"))
    with pytest.raises(BadRequest):
        read(TEXT, "unknown", Request("h", offset=-1))
