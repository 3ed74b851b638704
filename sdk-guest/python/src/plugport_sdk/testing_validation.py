"""Validates arguments as the server does before it calls a tool, and results afterwards, in its words.

It knows the keywords that schemas of types have, and those that most people write; the server validates the others
too. Only `testing` imports this, so no component has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sized
from fractions import Fraction
from typing import Any

from .errors import Internal
from .testing_nulls import remove_nulls, resolved

# Faults that one message names, and the longest description of one in bytes.
FAULTS = 5
FAULT_LENGTH = 300

Check = Callable[[Any, Any], "str | None"]
Within = Callable[[Any, Any, Any], Iterator[str]]


class Rejected(Exception):
    """The server does not call the tool, and the client reads why."""


def validated(schema_text: str, args: str) -> str:
    """The arguments that the server gives to the tool, as JSON."""
    schema, given = _schema(schema_text), json.loads(args)
    changed = remove_nulls(schema, given)
    faults = _mismatch(schema, given)
    if faults:
        raise Rejected(f"the arguments do not fit the tool's schema: {faults}")
    return _said(given) if changed else args


def check_result(schema_text: str | None, structured: str | None, is_error: bool) -> None:
    """Rejects the result of a tool with this output schema, where the server does."""
    if schema_text is None or is_error:
        return
    invalid = "the tool returned an invalid result"
    if structured is None:
        raise Rejected(f"{invalid}: it promises structured content and gave none")
    faults = _mismatch(json.loads(schema_text), json.loads(structured))
    if faults:
        raise Rejected(f"{invalid}: its structured content does not fit its schema: {faults}")


def _mismatch(schema: Any, value: Any) -> str:
    """What is wrong with a value; empty if nothing is."""
    faults = list(_faults(schema, schema, value, ""))[:FAULTS]
    return "; ".join(map(_truncated, faults))


def _schema(text: str) -> Any:
    schema = json.loads(text)
    if schema.get("type") != "object":
        raise Internal('the server would reject this tool: its input schema must have "type": "object"')
    return schema


def _faults(root: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    """What is wrong with a value at a place, which is a JSON pointer."""
    schema = resolved(root, schema)
    if schema is False:
        yield f"{at}: nothing is allowed here"
    if not isinstance(schema, dict):
        return
    for keyword, check in _CHECKS.items():
        why = check(value, schema[keyword]) if keyword in schema else None
        if why:
            yield f"{at or '/'}: {why}"

    def within(inner: Any, item: Any, name: Any) -> Iterator[str]:
        return _faults(root, inner, item, f"{at}/{_escaped(name)}")

    if isinstance(value, dict):
        yield from _of_object(schema, value, at, within)
    if isinstance(value, list):
        yield from _of_items(schema, value, within)
    yield from _of_choices(schema, value, at or "/", lambda inner: list(_faults(root, inner, value, at)))


def _of_object(schema: Any, value: dict[str, Any], at: str, within: Within) -> Iterator[str]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}/{_escaped(name)}: is required and missing"
    unknown = []
    for name, item in value.items():
        if name in properties:
            yield from within(properties[name], item, name)
        elif "patternProperties" in schema:
            continue  # Which names it has is for the server to find out.
        elif others is False:
            unknown.append(f"{at}/{_escaped(name)}")
        else:
            yield from within(others, item, name)
    if unknown:
        yield f"{', '.join(unknown[:FAULTS])}: not a known property"


def _of_items(schema: Any, value: list[Any], within: Within) -> Iterator[str]:
    prefix, items = schema.get("prefixItems", ()), schema.get("items", True)
    for index, item in enumerate(value):
        yield from within(prefix[index] if index < len(prefix) else items, item, index)


def _of_choices(schema: Any, value: Any, at: str, here: Callable[[Any], list[str]]) -> Iterator[str]:
    for every in schema.get("allOf", ()):
        yield from here(every)
    for word in ("anyOf", "oneOf"):
        fitting = sum(not here(choice) for choice in schema[word]) if word in schema else 1
        if fitting == 0:
            yield f"{at}: {_said(value)} is not valid under any of the schemas listed in the '{word}' keyword"
        elif fitting > 1 and word == "oneOf":
            yield f"{at}: {_said(value)} is valid under more than one of the schemas listed in the 'oneOf' keyword"


def _said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _limit(kind: Any, size: Callable[[Any], Any], is_over: Callable[[Any, Any], bool], words: Any) -> Check:
    """A keyword for values of one kind."""

    def check(value: Any, bound: Any) -> str | None:
        is_number = kind is not float or _is_a(value, "number")
        over = is_number and (kind is float or isinstance(value, kind)) and is_over(size(value), bound)
        return f"{_said(value)} {words(bound)}" if over else None

    return check


def _number(is_over: Callable[[Any, Any], bool], words: str) -> Check:
    return _limit(float, lambda value: value, is_over, lambda bound: f"{words} {_said(bound)}")


def _is_no_multiple(value: float, step: float) -> bool:
    # The server divides the decimals as they are written.
    return bool(step) and Fraction(str(value)) % Fraction(str(step)) != 0


def _least(kind: type[Sized], one: str, many: str, words: str = "has less than") -> Check:
    return _limit(kind, len, lambda size, least: size < least, lambda least: f"{words} {_counted(least, one, many)}")


def _most(kind: type[Sized], one: str, many: str, words: str = "has more than") -> Check:
    return _limit(kind, len, lambda size, most: size > most, lambda most: f"{words} {_counted(most, one, many)}")


def _type(value: Any, kinds: Any) -> str | None:
    names = [kinds] if isinstance(kinds, str) else sorted(kinds)
    if any(_is_a(value, name) for name in names):
        return None
    listed = ", ".join(map(_said, names))
    return f"{_said(value)} is not of type{'' if len(names) == 1 else 's'} {listed}"


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or value is None:
        return kind == ("null" if value is None else "boolean")
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    wanted = {"string": str, "number": (int, float), "array": list, "object": dict}.get(kind, ())
    return isinstance(value, wanted)


def _enum(value: Any, choices: list[Any]) -> str | None:
    if any(_equal(value, choice) for choice in choices):
        return None
    shown = [_said(choice) for choice in choices]
    if len(shown) > 3:
        shown[2:] = [f"{len(shown) - 2} other candidates"]
    listed = f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)
    return f"{_said(value)} is not one of {listed}"


def _equal(left: Any, right: Any) -> bool:
    """As JSON has it: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[name], right[name]) for name in left)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _unique(value: Any, wanted: bool) -> str | None:
    if not wanted or not isinstance(value, list):
        return None
    double = any(_equal(one, other) for at, one in enumerate(value) for other in value[:at])
    return f"{_said(value)} has non-unique elements" if double else None


def _pattern(value: Any, pattern: str) -> str | None:
    if not isinstance(value, str):
        return None
    # Python alone lets `$` match before a line's end.
    parts = re.sub(r"\\.|\[(?:\\.|[^\]])*\]|\$", lambda part: r"\Z" if part[0] == "$" else part[0], pattern)
    try:
        fits = re.search(parts, value, re.ASCII)
    except re.error:
        return None  # A pattern that Python does not know is for the server to validate.
    return None if fits else f'{_said(value)} does not match "{pattern}"'


# By keyword, in the order in which the server names faults: why a value does not fit, if it does not.
_CHECKS: dict[str, Check] = {
    "type": _type,
    "const": lambda value, wanted: None if _equal(value, wanted) else f"{_said(wanted)} was expected",
    "enum": _enum,
    "minimum": _number(lambda value, least: value < least, "is less than the minimum of"),
    "maximum": _number(lambda value, most: value > most, "is greater than the maximum of"),
    "exclusiveMinimum": _number(lambda value, least: value <= least, "is less than or equal to the minimum of"),
    "exclusiveMaximum": _number(lambda value, most: value >= most, "is greater than or equal to the maximum of"),
    "multipleOf": _number(_is_no_multiple, "is not a multiple of"),
    "minLength": _least(str, "character", "characters", "is shorter than"),
    "maxLength": _most(str, "character", "characters", "is longer than"),
    "minItems": _least(list, "item", "items"),
    "maxItems": _most(list, "item", "items"),
    "minProperties": _least(dict, "property", "properties"),
    "maxProperties": _most(dict, "property", "properties"),
    "pattern": _pattern,
    "uniqueItems": _unique,
}


def _escaped(name: Any) -> str:
    """A name as a step of a JSON pointer (RFC 6901)."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _truncated(text: str) -> str:
    start = text.encode(errors="replace")[:FAULT_LENGTH]
    return text if len(text.encode(errors="replace")) <= FAULT_LENGTH else f"{start.decode(errors='ignore')}…"
