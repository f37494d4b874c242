"""Which server a task belongs to and whose it is, so that `tasks/*` finds its way."""

from __future__ import annotations

from typing import Any

KEPT = 1000


class Tasks:
    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str]] = {}

    def remember(self, result: dict[str, Any], server: str, principal: str) -> None:
        """A result may name a task that was begun."""
        task = result.get("task")
        task_id = (task if isinstance(task, dict) else result).get("taskId")
        if isinstance(task_id, str):
            self._owners[task_id] = (server, principal)
            while len(self._owners) > KEPT:
                del self._owners[next(iter(self._owners))]

    def server_of(self, task_id: Any, principal: str) -> str | None:
        server, owner = self._owners.get(task_id, ("", "")) if isinstance(task_id, str) else ("", "")
        return server if server and owner == principal else None
