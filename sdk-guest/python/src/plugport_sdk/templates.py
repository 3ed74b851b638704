"""URI templates: RFC 6570 backwards, from a URI to the variables.

`{x}` is a segment, `{+x}` may hold `/`, and `{/x}`, `{#x}`, `{?x,y}` and `{&x,y}` may be left out. A template
becomes one regular expression when the plugin is built.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

_EXPRESSION = re.compile(r"\{([+#/?&]?)([\w.]+(?:,[\w.]+)*)\}")


class Template:
    """A template, ready to be compared with URIs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self._groups: dict[str, tuple[str, list[str]]] = {}
        pattern, end = "", 0
        for found in _EXPRESSION.finditer(text):
            pattern += _literal(text, end, found.start())
            pattern += self._expression(found[1], found[2].split(","))
            end = found.end()
        self._pattern = re.compile(pattern + _literal(text, end, len(text)))

    @property
    def plain(self) -> bool:
        """Whether it has no variables and so is a URI."""
        return not self.names

    def values(self, uri: str) -> dict[str, str] | None:
        """The values of the variables, if this is a URI of the template."""
        found = self._pattern.fullmatch(uri)
        if not found:
            return None
        values: dict[str, str] = {}
        for group, (kind, names) in self._groups.items():
            text = found[group]
            if text is None:
                continue
            if kind not in ("?", "&"):
                values[names[0]] = unquote(text)
                continue
            for name, value in parse_qsl(text, keep_blank_values=True):
                if name not in names:
                    return None
                values[name] = value
        return values

    def _expression(self, kind: str, names: list[str]) -> str:
        self.names += names
        if len(names) > 1 and kind not in ("?", "&"):
            raise ValueError(
                f"`{self.text}`: several variables in one expression need `?` or `&`; write {{a}}/{{b}}"
            )
        group = f"g{len(self._groups)}"
        self._groups[group] = (kind, names)
        if kind == "?" or kind == "&":
            return rf"(?:{re.escape(kind)}(?P<{group}>[^#]*))?"
        value = ".+" if kind in ("+", "#") else "[^/?#]+"
        if kind in ("/", "#"):
            return rf"(?:{kind}(?P<{group}>{value}))?"
        return f"(?P<{group}>{value})"


def _literal(text: str, start: int, end: int) -> str:
    literal = text[start:end]
    if "{" in literal or "}" in literal:
        raise ValueError(
            f"`{text}` is no URI template: `{literal}` has a bracket that is no expression like {{name}}"
        )
    return re.escape(literal)
