"""Reads JSON that others wrote.

Python's reader recurses for each level, and a text that is nested a thousand deep would exhaust the stack of a
component and so end the call. Whoever wrote the text could choose that.
"""

from __future__ import annotations

import json
from typing import Any

_MOST_LEVELS = 200
_OTHERS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def loads(text: str) -> Any:
    """The value; a `ValueError` if it is none, or is nested more than 200 deep."""
    if _is_deep(text):
        raise ValueError(f"the JSON is nested more than {_MOST_LEVELS} deep")
    return json.loads(text)


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= _MOST_LEVELS:
        return False
    # What stands between quotes is every second part, once there are no quotes within texts.
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    brackets = outside.encode("utf-8", "replace").translate(None, _OTHERS)
    for _ in range(_MOST_LEVELS):
        # The innermost level at a time; a loop over characters would take far longer.
        fewer = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    # Without partners these are no JSON, but the reader would go as deep before it knows.
    return len(brackets) > _MOST_LEVELS
