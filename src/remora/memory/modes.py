"""May this actor write now: the memory mode of the session, and incognito."""

from __future__ import annotations

from typing import Literal

from remora.errors import ModeError
from remora.memory.engine import Engine, Mode
from remora.model.ops import Actor

Action = Literal["recall", "write", "forget", "automatic"]


def mode_of(engine: Engine, actor: Actor) -> Mode:
    return engine.modes.get(actor.session or "", engine.settings.mode)


def permit(engine: Engine, actor: Actor, action: Action) -> Literal["yes", "pending"]:
    """Raise when the mode forbids it; "pending" = a person must approve first. A user's own doors are never bound."""
    if actor.session is not None and actor.session in engine.incognito and action != "recall":
        raise ModeError("this session is incognito; nothing was stored")
    if actor.user and action != "automatic":
        return "yes"
    mode = mode_of(engine, actor)
    if mode == "off" and action == "recall":
        raise ModeError('memory is off in this session (mode "off")', hint="remora mem mode auto")
    if action == "recall" or mode == "auto":
        return "yes"
    if mode == "confirm":
        return "pending"
    raise ModeError(
        f'memory is read-only in this session (mode "{mode}"); nothing was stored', hint="remora mem mode auto"
    )
