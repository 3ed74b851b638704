"""URI templates: RFC 6570 backwards, from a URI to the variables.

`{x}` is a segment, `{+x}` may hold `/`, and `{/x}`, `{#x}`, `{?x,y}` and `{&x,y}` may be left out. A template is
taken apart when the plugin is built. Its pieces are laid along a URI from left to right, each as long as it can
be, and not by one regular expression, since that would never give up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

MOST_TRIES = 10_000
"""How many beginnings of what is left of a URI are looked at.

No sensible URI needs a tenth of it, and one that was made to cost much costs a small part of a call.
"""

_EXPRESSION = re.compile(r"\{([+#/?&]?)([\w.]+(?:,[\w.]+)*)\}")
_SEGMENT = re.compile(r"[^/?#]*")
_MORE = r"%[89ab][\da-f]"
_LETTER = re.compile(
    rf"[^%]|%[0-7][\da-f]|%[cd][\da-f]{_MORE}|%e[\da-f](?:{_MORE}){{2}}|%f[\da-f](?:{_MORE}){{3}}",
    re.ASCII | re.IGNORECASE,
)
_NO_BYTE = re.compile(r"%(?![\dA-Fa-f]{2})", re.ASCII)


@dataclass(frozen=True)
class Piece:
    """A part of a template: text as it stands, one variable, or a query."""

    literal: str = ""
    kind: str = ""
    names: tuple[str, ...] = ()

    @property
    def query(self) -> bool:
        """Whether it is `{?x,y}` or `{&x,y}`."""
        return self.kind in ("?", "&") and not self.literal

    @property
    def prefix(self) -> str:
        """What stands before a variable, which may be left out together with it."""
        return "" if self.kind == "+" else self.kind


class Template:
    """A template, ready to be compared with URIs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces: list[Piece] = []
        end = 0
        for found in _EXPRESSION.finditer(text):
            self._literal(text[end : found.start()])
            self._expression(found[1], found[2].split(","))
            end = found.end()
        self._literal(text[end:])
        self.names = [name for piece in self._pieces for name in piece.names]

    @property
    def plain(self) -> bool:
        """Whether it has no variables and so is a URI."""
        return not self.names

    def values(self, uri: str) -> dict[str, str] | None:
        """The values of the variables, if this is a URI of the template."""
        search = Search(self._pieces, uri)
        if not search.fits(0, 0):
            return None
        return {name: search.values[name] for name in self.names if name in search.values}

    def _literal(self, literal: str) -> None:
        if "{" in literal or "}" in literal:
            raise ValueError(
                f"`{self.text}` is no URI template: `{literal}` has a bracket that is no expression like {{name}}"
            )
        if literal:
            self._pieces.append(Piece(literal=literal))

    def _expression(self, kind: str, names: list[str]) -> None:
        if len(names) > 1 and kind not in ("?", "&"):
            raise ValueError(
                f"`{self.text}`: several variables in one expression need `?` or `&`; write {{a}}/{{b}}"
            )
        self._pieces.append(Piece(kind=kind, names=tuple(names)))


class Search:
    """Lays pieces along a URI. What led nowhere is remembered."""

    def __init__(self, pieces: list[Piece], uri: str) -> None:
        self.values: dict[str, str] = {}
        self.tries = 0
        self._pieces, self._uri = pieces, uri
        self._dead: set[tuple[int, int]] = set()
        self._letters: dict[int, int | None] = {}

    def fits(self, index: int, at: int) -> bool:
        """Whether the pieces from this one on fit what stands there."""
        if index == len(self._pieces):
            return at == len(self._uri)
        self.tries += 1
        if self.tries > MOST_TRIES or (index, at) in self._dead:
            return False
        if self._first(self._pieces[index], index, at):
            return True
        self._dead.add((index, at))
        return False

    def _first(self, piece: Piece, index: int, at: int) -> bool:
        if piece.literal:
            return self._uri.startswith(piece.literal, at) and self.fits(index + 1, at + len(piece.literal))
        if self._uri.startswith(piece.prefix, at):
            after = at + len(piece.prefix)
            if piece.query:
                return self._query(piece, index, after)
            if self._value(piece, index, after):
                return True
        return bool(piece.prefix) and self.fits(index + 1, at)

    def _value(self, piece: Piece, index: int, at: int) -> bool:
        """Tries the longest value first."""
        longest = len(self._uri)
        if piece.kind not in ("+", "#"):
            longest = _SEGMENT.match(self._uri, at).end()
        for end in reversed(self._ends(at, longest)):
            if self.fits(index + 1, end):
                self.values[piece.names[0]] = unquote(self._uri[at:end])
                return True
        return False

    def _ends(self, at: int, longest: int) -> list[int]:
        """Where a value may end: behind each letter, and never inside of %41.

        What cannot be decoded is in no value.
        """
        ends: list[int] = []
        while at < longest:
            if at not in self._letters:
                letter = _LETTER.match(self._uri, at)
                sound = letter and _decoded(letter[0]) is not None
                self._letters[at] = letter.end() if sound else None
            end = self._letters[at]
            if end is None:
                break
            ends.append(end)
            at = end
        return ends

    def _query(self, piece: Piece, index: int, at: int) -> bool:
        """A query ends where the URI or its fragment does, so there is only one way to read it.

        A long one counts as much.
        """
        end = self._uri.find("#", at)
        end = len(self._uri) if end < 0 else end
        self.tries += end - at
        values = {}
        for pair in self._uri[at:end].split("&"):
            name, _, text = pair.partition("=")
            value = _decoded(text)
            if value is None or name not in piece.names:
                return False
            values[name] = value
        if not self.fits(index + 1, end):
            return False
        self.values |= values
        return True


def _decoded(text: str) -> str | None:
    if "%" not in text:
        return text
    try:
        return None if _NO_BYTE.search(text) else unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None
