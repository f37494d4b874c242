"""What every table of the configuration is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

# TOML has arrays only: they become tuples, while everything else must have the very type.
Words = Annotated[tuple[str, ...], Field(strict=False)]


def fault(kind: str, message: str, hint: str = "", at: tuple[str, ...] = ()) -> PydanticCustomError:
    """An error with a cure; `at` is the key below the model that is to blame."""
    return PydanticCustomError(kind, "{message}", {"message": message, "hint": hint, "at": at})


class Section(BaseModel):
    """A table of the file: exact types, no unknown keys, never changed in place."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
