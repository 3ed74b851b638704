"""Reads docstrings: the descriptions of a function and of each of its parameters.

Of the customs for naming parameters only the `Args:` section is read (`Arguments:` and `Parameters:` mean the
same), one `name: text` line each, with indented lines going on. Sections about results and exceptions are for
programmers and stay out of the description, which every listed tool pays for in tokens.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

_PARAMETERS = {"args:", "arguments:", "parameters:"}
_OTHERS = {"returns:", "return:", "raises:", "yields:", "example:", "examples:", "note:", "notes:"}
_DROPPED = {"returns:", "return:", "raises:", "yields:"}
_ENTRY = re.compile(r"^(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)$")


def read(function: Any) -> tuple[str, dict[str, str]]:
    """The description and the descriptions of the parameters."""
    text = inspect.cleandoc(function.__doc__ or "")
    kept: list[str] = []
    entries: list[str] = []
    target: list[str] | None = kept
    for line in text.splitlines():
        heading = line.strip().lower() if line[:1].strip() else ""
        if heading in _PARAMETERS:
            target = entries
            continue
        if heading in _OTHERS:
            target = None if heading in _DROPPED else kept
        elif target is not kept and line[:1].strip():
            target = kept
        if target is not None:
            target.append(line)
    return joined(kept), _parameters(entries)


def joined(lines: list[str]) -> str:
    """Paragraphs as single lines; indented text and lists stay unchanged."""
    out: list[str] = []
    for line in lines:
        flowing = line[:1].strip() and not re.match(r"([-*+>|#`]|\d+[.)])", line)
        if flowing and out and out[-1][:1].strip() and not out[-1].startswith(("`", "#", "|")):
            out[-1] += " " + line.strip()
        else:
            out.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, depth = "", None
    for line in inspect.cleandoc("\n" + "\n".join(lines)).splitlines():
        indent = len(line) - len(line.lstrip())
        entry = _ENTRY.match(line) if indent == 0 else None
        if entry:
            name, depth = entry[1], indent
            found[name] = entry[2].strip()
        elif name and depth is not None and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
