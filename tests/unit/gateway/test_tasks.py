from __future__ import annotations

import pytest

from remora.gateway import tasks as module
from remora.gateway.tasks import Tasks


@pytest.mark.parametrize("result", [{"task": {"taskId": "t1"}}, {"taskId": "t1"}, {"task": "odd", "taskId": "t1"}])
def test_a_task_is_found_by_whoever_began_it(result):
    tasks = Tasks()
    tasks.remember(result, "up", "ann")
    assert tasks.server_of("t1", "ann") == "up"
    assert tasks.server_of("t1", "eve") is None
    assert tasks.server_of("t2", "ann") is None


@pytest.mark.parametrize("task_id", [None, 5, ["t1"], {}])
def test_what_is_no_task_id_is_no_task(task_id):
    tasks = Tasks()
    tasks.remember({"task": {"taskId": task_id}}, "up", "ann")
    assert tasks.server_of(task_id, "ann") is None


def test_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    tasks = Tasks()
    for name in "abc":
        tasks.remember({"taskId": name}, "up", "ann")
    assert [tasks.server_of(name, "ann") for name in "abc"] == [None, "up", "up"]
