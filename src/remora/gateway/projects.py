"""Project files of open sessions, read once and again when they change."""

from __future__ import annotations

import logging
from pathlib import Path

from remora.config.files import Stamp, stamp
from remora.config.project import PROJECT_FILE, Project, read_project

log = logging.getLogger(__name__)
KEPT = 256


class Projects:
    def __init__(self) -> None:
        self._read: dict[Path, tuple[Stamp | None, Project]] = {}

    def of(self, root: Path) -> Project:
        if root not in self._read:
            while len(self._read) >= KEPT:
                del self._read[next(iter(self._read))]
            mark, project = stamp(root / PROJECT_FILE), read_project(root)
            self._read[root] = (mark, project)
            for remark in (*project.problems, *project.notes):
                log.warning("project file: %s", remark)
        return self._read[root][1]

    def forget_edited(self) -> bool:
        """Whether a file that was read is another one now; it is read anew when it is asked for."""
        edited = [root for root, (mark, _) in self._read.items() if stamp(root / PROJECT_FILE) != mark]
        for root in edited:
            del self._read[root]
        return bool(edited)
