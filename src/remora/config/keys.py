"""Which configuration keys there are and what they take."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remora.config.model import Config


def annotation_at(path: Sequence[str | int], model: type[BaseModel] = Config) -> Any:
    """The type a key takes, or None if there is no such key."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(part))
            here = field.annotation if field else None
        else:
            here = get_args(here)[1] if get_origin(here) is dict else None
    return here


def fields(model: type[BaseModel] = Config, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Every key there is, tables left out; names that a user gives stand as NAME and TOOL."""
    for name, field in model.model_fields.items():
        kind, path = field.annotation, (*above, name)
        if get_origin(kind) is dict and _is_model(get_args(kind)[1]):
            yield from fields(get_args(kind)[1], (*path, "TOOL" if name == "tools" else "NAME"))
        elif _is_model(kind):
            yield from fields(kind, path)  # type: ignore[arg-type]
        else:
            yield path, field


def parse_value(path: Sequence[str], text: str) -> Any:
    """A value typed outside of a file: TOML if it is that, else the text itself."""
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = document["value"]
    if len(document) > 1 or (_takes_text(annotation_at(path)) and not isinstance(value, str)):
        return text
    return value


def flatten(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The leaves of nested tables; an empty table is a leaf."""
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, (*above, name))
        else:
            yield (*above, name), value


def nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    spelled = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), spelled, n=1, cutoff=0.6)
    return spelled[found[0]] if found else None


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _takes_text(kind: Any) -> bool:
    return kind is str or (get_origin(kind) is Literal and all(isinstance(word, str) for word in get_args(kind)))
