"""Values on their way to the host, made to fit what the WIT has there.

The bindings end the instance without a word at a text that has no UTF-8, and at a value of another type. So
whatever goes out passes here first: half of a surrogate pair becomes U+FFFD, and a value of another type an
error that says what was expected.
"""

from __future__ import annotations

import sys
from typing import Any

from .errors import Internal

_INTERNAL = -32603
_MOST_S32 = 2**31 - 1
_MOST_U32 = 2**32 - 1


def sound(text: str) -> str:
    """The text, with U+FFFD in the place of what has no UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves beside each other become the character that they are.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def text(value: Any, what: str) -> str:
    """A text; `what` is its name in messages."""
    if isinstance(value, str):
        return sound(value)
    raise _wrong(what, "a text", value)


def text_or_none(value: Any, what: str) -> str | None:
    """An optional text."""
    return None if value is None else text(value, what)


def octets(value: Any, what: str, wanted: str = "bytes") -> bytes:
    """Bytes, of whichever of Python's types for them."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _wrong(what, wanted, value)


def number_or_none(value: Any, what: str) -> float | None:
    """An optional number."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max:
        return float(value)
    raise _wrong(what, "a finite number", value)


def count_or_none(value: Any, what: str) -> int | None:
    """The number of values, if it is known. A number that is too large is cut: it only says that there are many."""
    if value is None:
        return None
    if isinstance(value, int) and value >= 0:
        return min(int(value), _MOST_U32)
    raise _wrong(what, "a whole number that is not negative", value)


def flag_or_none(value: Any) -> bool | None:
    """Whether something holds, where it is known."""
    return None if value is None else bool(value)


def code(value: Any) -> int:
    """The code of a JSON-RPC error. It rejects nothing, since it is of an error already."""
    return max(-_MOST_S32 - 1, min(int(value), _MOST_S32)) if isinstance(value, int) else _INTERNAL


def _wrong(what: str, wanted: str, value: Any) -> Internal:
    return Internal(f"{what} must be {wanted}, but it is of the type `{type(value).__name__}`")
