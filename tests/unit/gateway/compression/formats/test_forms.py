from __future__ import annotations

from remora.gateway.compression.formats import forms, testrun


def test_hits_go_under_their_file() -> None:
    source = "\n".join(f"src/very/long/path/module.py:{i}:x = {i}" for i in range(20)) + "\n--\nsrc/b.py:1: y"
    shown = forms.encode(source, "grep")
    assert shown
    assert shown.count("src/very/long/path/module.py") == 1
    assert forms.decode(shown) == source


def test_equal_lines_and_common_beginnings_are_said_once() -> None:
    source = "\n".join(
        ["2026-05-01T10:00:00Z host app: ready"] * 30 + [f"2026-05-01T10:00:{i:02d}Z host app: {i}" for i in range(30)]
    )
    shown = forms.encode(source, "log")
    assert shown
    assert len(shown) < len(source) / 2
    assert forms.decode(shown) == source


def test_results_of_a_run_cost_less_than_half() -> None:
    lines = []
    for i in range(1, 201):
        percent = f"[{i * 100 // 200:>3}%]"
        lines.append(
            f"tests/unit/module_{i // 50}/test_things.py::TestThing::test_number_{i} PASSED ".ljust(100) + percent
        )
    source = "collected 200 items\n\n" + "\n".join(lines) + "\n\n=== 200 passed in 1.2s ==="
    shown = testrun.encode(source)
    assert len(shown) < len(source) / 2
    assert testrun.decode(shown) == source
    assert forms.encode(source, "test") == shown


def test_text_that_looks_like_a_form_is_left_alone() -> None:
    for source in ("# rem-runs\na ×3\na ×3", "a ×2\na\na", "# rem-grep\nx"):
        shown = forms.encode(source, "log")
        assert shown is None or forms.decode(shown) == source
