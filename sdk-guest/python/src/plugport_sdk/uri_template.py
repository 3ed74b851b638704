"""URI templates (RFC 6570): which variables one has.

The host compares URIs with templates and brings the values. `{x}` is a segment, `{+x}` may hold `/`, and `{/x}`,
`{#x}`, `{?x,y}` and `{&x,y}` may be left out.
"""

from __future__ import annotations

import re

_EXPRESSION = re.compile(r"\{([+#/?&]?)([\w.]+(?:,[\w.]+)*)\}", re.ASCII)


class Template:
    """A template and its variables, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        end = 0
        for found in _EXPRESSION.finditer(text):
            self._check_literal(text[end : found.start()])
            self.names += self._variables(found[1], found[2].split(","))
            end = found.end()
        self._check_literal(text[end:])

    @property
    def plain(self) -> bool:
        """Whether it has no variables and so is a URI."""
        return not self.names

    def _check_literal(self, literal: str) -> None:
        if "{" in literal or "}" in literal:
            raise ValueError(
                f"`{self.text}` is no URI template: `{literal}` has a bracket that is no expression like {{name}}"
            )

    def _variables(self, kind: str, names: list[str]) -> list[str]:
        if len(names) > 1 and kind not in ("?", "&"):
            raise ValueError(
                f"`{self.text}`: several variables in one expression need `?` or `&`; write {{a}}/{{b}}"
            )
        return names
