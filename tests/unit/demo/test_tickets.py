from __future__ import annotations

import copy
from typing import Any

import pytest

from remora.demo import tickets
from remora.demo.server import ToolError


def silent(*_: Any) -> None:
    """Nobody asked for progress."""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "_TICKETS", copy.deepcopy(tickets._TICKETS))


def test_tickets_are_found_by_state() -> None:
    assert [each["id"] for each in tickets._find({}, silent)["tickets"]] == ["T-7", "T-8", "T-9"]
    assert [each["id"] for each in tickets._find({"state": "closed"}, silent)["tickets"]] == ["T-9"]


def test_a_ticket_is_closed_once() -> None:
    assert tickets._close({"id": "T-7"}, silent)["state"] == "closed"
    for ticket, told in (("T-7", "is closed already"), ("T-1", "there is no ticket")):
        with pytest.raises(ToolError, match=told):
            tickets._close({"id": ticket}, silent)


def test_waiting_takes_the_time_asked_for_but_no_more_than_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(tickets.time, "sleep", slept.append)
    tickets._wait({"ms": 50}, silent)
    tickets._wait({"ms": 10**9}, silent)
    assert slept == [0.05, 10.0]


def test_it_is_a_server_of_the_modern_era() -> None:
    made = tickets.server()
    assert made._era == "modern"
    assert list(made._tools) == ["find_tickets", "close_ticket", "wait_for_reply"]
