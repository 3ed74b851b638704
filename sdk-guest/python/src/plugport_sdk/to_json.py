"""From Python values to JSON.

`json` does the walk; only what it does not know comes here: dataclasses, enums and sets. What JSON cannot
hold is reported in words, since it is the author who has to mend it. That includes what is nested too deeply:
the walk of `json` has no end but that of the stack, and with the stack ends the instance.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import typing
from collections.abc import Collection, Mapping
from typing import Any

from .errors import Internal
from .field import Field
from .to_wit import sound

# The host's bound on nesting: common parsers give up between this and twice as much.
DEEPEST = 64

_FLAT = frozenset((str, int, float, bool, type(None)))

_kept: list[Any] = []
_names: dict[type, list[tuple[str, str]]] = {}


def dumps(value: Any) -> str:
    """The value as JSON text."""
    if _is_too_deep(value):
        # Python would walk down it once more to let go of it. Not many pile up: it is a mistake of the plugin.
        _kept.append(value)
        raise ValueError(
            f"it is nested more than {DEEPEST} deep, or holds itself; make it flatter, or parts of it a text"
        )
    return sound(_ENCODER.encode(value))


def written(value: Any, what: str) -> str:
    """The same, with a sentence for what cannot be written."""
    try:
        return dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Internal(f"{what} cannot be written as JSON: {error}") from error


def plain(value: Any) -> Any:
    """The value made of what JSON has."""
    return json.loads(dumps(value))


def default(value: Any) -> Any:
    """A default as its schema has it: without the null of members that a client leaves out."""
    return plain(_without_absent(value))


def _without_absent(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        absent = {
            field.name
            for field in dataclasses.fields(value)
            if field.default in (None, dataclasses.MISSING) and getattr(value, field.name) is None
        }
        members = [(attribute, name) for attribute, name in learn(type(value)) if attribute not in absent]
        return {name: _without_absent(getattr(value, attribute)) for attribute, name in members}
    if isinstance(value, (list, tuple)):
        return [_without_absent(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _without_absent(one) for key, one in value.items()}
    return value


def short(value: Any) -> str:
    """A value for a message: what it is, and its beginning."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def knows(kind: type) -> bool:
    """Whether the fields of a dataclass were looked at."""
    return kind in _names


def learn(kind: type) -> list[tuple[str, str]]:
    """The fields of a dataclass and their names in JSON, cached."""
    if kind not in _names:
        hints = typing.get_type_hints(kind, include_extras=True)
        names = [
            (field.name, _renamed(hints[field.name]) or field.name) for field in dataclasses.fields(kind)
        ]
        _names[kind] = names
    return _names[kind]


def _renamed(hint: Any) -> str | None:
    notes = getattr(hint, "__metadata__", ())
    return next((note.name for note in notes if isinstance(note, Field) and note.name), None)


def _is_too_deep(value: Any) -> bool:
    """Looks at one level after the other, at each value of a level once: what holds itself is endless."""
    level = _nesting((value,))
    for _ in range(DEEPEST):
        found = {id(inner): inner for one in level for inner in _nesting(_inside(one))}
        if not found:
            return False
        level = list(found.values())
    return any(_is_level(one) for one in level)


def _is_level(value: Any) -> bool:
    """Whether it takes one more level: an enum of texts, or an author's own kind of text, does not."""
    held = value.value if isinstance(value, enum.Enum) else value
    return not isinstance(held, (str, int, float, type(None)))


def _nesting(values: Collection[Any]) -> Collection[Any]:
    """Those that may hold others. Most lists and objects have none, which is seen at the speed of C."""
    return () if _FLAT.issuperset(map(type, values)) else [one for one in values if type(one) not in _FLAT]


def _inside(value: Any) -> Collection[Any]:
    """What it will hold as a list or an object of JSON, if it will be one."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, attribute) for attribute, _ in learn(type(value))]
    if isinstance(value, enum.Enum):
        return (value.value,)
    return value.values() if isinstance(value, Mapping) else ()


def _known(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, attribute) for attribute, name in learn(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise TypeError(f"a value of the type `{type(value).__name__}` has no place in JSON")


# Made once: `json.dumps` makes one for every call that is not of the usual kind.
_ENCODER = json.JSONEncoder(default=_known, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
