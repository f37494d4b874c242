from __future__ import annotations

from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import skeleton

BODY = "\n".join(f"    value_{i} = compute(value_{i})" for i in range(20))
CODE = "\n\n".join(f"def function_{i}(argument):\n{BODY}" for i in range(20))


def test_signatures_come_first() -> None:
    draft = skeleton.run(Job(CODE, "python", 3_000))
    assert draft.label == "skeleton"
    assert all(f"def function_{i}(argument):" in draft.body for i in range(20))
    assert len(draft.body) <= 3_000


def test_what_the_question_names_is_shown_whole() -> None:
    draft = skeleton.run(Job(CODE, "python", 1_500, "what does function_13 do?"))
    assert f"def function_13(argument):\n{BODY}" in draft.body


def test_headings_are_the_outline_of_a_text() -> None:
    text = "\n".join(f"# Title {i}\n\n" + "some words in a line\n" * 20 for i in range(10))
    draft = skeleton.run(Job(text, "markdown", 1_500))
    assert all(f"# Title {i}" in draft.body for i in range(10))


def test_without_an_outline_lines_are_chosen() -> None:
    assert skeleton.run(Job("words\n" * 100, "prose", 300)).label == "skeleton→truncate:prose"
