from __future__ import annotations

import pytest

from remora.gateway.llm.providers import Question, is_loopback, reply, request


@pytest.mark.parametrize(
    ("url", "here"),
    [("http://127.0.0.1:11434", True), ("http://localhost/v1", True), ("http://[::1]:1", True),
     ("http://10.0.0.2:11434", False), ("https://api.openai.com/v1", False), ("http://localhost.example.org", False),
     ("", False)],
)  # fmt: skip
def test_what_stays_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_the_limit_has_the_name_that_the_place_knows() -> None:
    own = request(Question("openai", "m", "s", "t", 9, "k"))
    other = request(Question("openai", "m", "s", "t", 9, "k", "http://localhost/v1"))
    assert (own[2]["max_completion_tokens"], other[2]["max_tokens"]) == (9, 9)


@pytest.mark.parametrize(
    "base", ["https://gate.example.org", "https://gate.example.org/v1", "https://gate.example.org/"]
)
def test_the_path_of_messages_is_the_same_with_and_without_the_version(base: str) -> None:
    question = Question("anthropic", "m", "s", "t", 9, "k", base)
    assert question.root + request(question)[0] == "https://gate.example.org/v1/messages"


def test_only_text_parts_are_text() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said = reply("anthropic", {"content": parts, "stop_reason": "end_turn"})
    assert (said.text, said.complete, said.refused) == ("ab", True, False)
