"""compress(): what comes out for each kind of text."""

from __future__ import annotations

import json
import random

import pytest

from remora import compress
from remora.errors import ConfigError


def log(n: int = 3000) -> str:
    lines = [
        f"2026-05-01T10:{i // 60 % 60:02d}:{i % 60:02d}Z INFO worker-{i % 7} GET /api/items/{i} 200 {i % 90}ms"
        for i in range(n)
    ]
    lines[n // 3] = "2026-05-01T10:20:00Z ERROR worker-3 payment gateway refused card for order 8841"
    lines[n // 2] = "2026-05-01T10:25:00Z WARN worker-1 disk /dev/sdb is 97% full"
    lines[2 * n // 3] = "2026-05-01T10:28:00Z ERROR worker-2 unhandled TypeError in invoice renderer"
    return "\n".join(lines)


def rows(n: int = 400) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {"id": i, "name": f"item {i}", "price": 10 + i % 7, "state": "ok", "owner": {"login": f"user{i % 5}"}}
        for i in range(n)
    ]
    if n < 400:
        return found
    found[77]["price"] = 99999
    found[200]["state"] = "recalled"
    found[311]["price"] = -5
    return found


def test_errors_in_the_middle_of_a_log_are_shown_with_and_without_a_question() -> None:
    for query in (None, "how is worker-5 doing?"):
        made = compress(log(), budget_chars=len(log()) // 10, query=query)
        assert made.strategy == "auto→log"
        for found in ("order 8841", "97% full", "invoice renderer"):
            assert found in made.text
        assert "similar" not in made.text


def test_odd_rows_of_an_array_are_shown_and_the_asked_one_too() -> None:
    source = json.dumps(rows(), indent=2)
    made = compress(source, budget_chars=len(source) // 10, query="what is the state of item 123?")
    shown = json.loads(made.text)
    index = shown["index"]
    assert {77, 200, 311, 123} <= set(index)
    assert shown["total"] == 400
    assert "_rem" in shown


def test_a_question_that_says_nothing_changes_nothing() -> None:
    source = log()
    assert compress(source, budget_chars=5000, query="tell me more").text == compress(source, budget_chars=5000).text


def test_csv_with_times_stays_csv_with_its_cells() -> None:
    source = "at,sensor,value\n" + "\n".join(f"2026-01-01 10:{i % 60:02d}:00,s{i % 9},{i}.5" for i in range(500))
    made = compress(source, budget_chars=3000)
    lines = made.text.split("\n")
    assert made.kind == "csv"
    assert lines[0] == "# rem-table total=500"
    assert lines[1] == "#,at,sensor,value"
    for line in lines[2:-1]:
        assert line.split(",", 1)[1] in source


def test_a_file_that_was_read_is_shown_line_by_line() -> None:
    source = "\r\n".join(f"def f{i}(x):\r\n    return x + {i}\r\n" for i in range(200))
    made = compress(source, budget_chars=2000, tool="fs__read_file", arguments={"path": "a.py"})
    known = set(source.split("\n"))
    for line in made.text.split("\n")[:-1]:
        assert line in known or (line.startswith("⋯ lines ") and line.endswith(" omitted ⋯"))


def test_the_body_of_the_function_asked_for_is_whole() -> None:
    source = "\n\n".join(
        f"def handle_{n}(x):\n" + "\n".join(f"    step_{n}_{i} = x + {i}" for i in range(12)) for n in range(40)
    )
    made = compress(source, budget_chars=len(source) // 5, query="what does handle_17 do?", kind="python")
    assert all(f"step_17_{i} = x + {i}" in made.text for i in range(12))


def test_everything_fits_or_has_a_shorter_form() -> None:
    source = json.dumps(rows(40), indent=2)
    assert compress(source, budget_chars=len(source)).strategy in ("none", "auto→lossless")
    packed = compress(source, budget_chars=len(source) // 2)
    assert packed.strategy == "auto→lossless"
    assert not packed.omitted


def test_token_budgets_hold_for_other_scripts() -> None:
    source = "\n".join(f"주문 {i}번이 실패했습니다: 결제 시간 초과 오류" for i in range(2000))
    made = compress(source, budget_tokens=800, model="claude-sonnet-4")
    assert made.tokens_out <= 800


def test_one_dominant_string_is_treated_by_its_own_kind() -> None:
    source = json.dumps({"ok": True, "stdout": log(400)})
    made = compress(source, budget_chars=6000)
    assert "order 8841" in json.loads(made.text)["stdout"]
    assert made.strategy.startswith("auto→string:")


def test_html_is_read_as_text() -> None:
    cells = "".join(f"<tr><td>name {i}</td><td>{i}</td></tr>" for i in range(300))
    made = compress(f"<!doctype html><html><body><h1>T</h1><table>{cells}</table></body></html>", budget_chars=2000)
    assert "name 0 | 0" in made.text


def test_what_was_left_out_comes_back_by_a_question() -> None:
    made = compress(log(), budget_chars=3000)
    assert "/api/items/1777 " in made.recover("what happened to /api/items/1777?", 2000)
    assert len(made.recover("items", 500)) <= 500


@pytest.mark.parametrize("budget", [60, 100, 200, 500])
def test_tiny_budgets_leave_at_least_the_marker(budget: int) -> None:
    for source in (log(), json.dumps(rows()), "x" * 100_000):
        made = compress(source, budget_chars=budget)
        assert made.handle in made.text
        assert len(made.text) <= max(budget, 150)


def test_unknown_strategies_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown compression strategy"):
        compress("x", strategy="magic")
    assert compress("x" * 10, strategy="passthrough").text == "x" * 10


def test_the_same_bytes_whatever_was_compressed_before() -> None:
    source = log(500)
    first = compress(source, budget_chars=2000, query="payment").text
    for seed in range(3):
        compress("\n".join(random.Random(seed).choices(source.split("\n"), k=50)), budget_chars=400)
    assert compress(source, budget_chars=2000, query="payment").text == first
