"""Completion: suggestions for an argument of a prompt or a variable of a resource template."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from . import coroutines
from .call import AsyncCall, Call
from .signature import CALLS, check_call

F = TypeVar("F", bound=Callable[..., Any])

MOST = 100

found: list[Completer] = []


@dataclass(frozen=True)
class Completion:
    """Suggestions, and how many there are in all."""

    values: list[str]
    total: int | None = None
    has_more: bool = False


@dataclass
class Completer:
    """A function that suggests values for one argument."""

    function: Callable[..., Any]
    kind: str
    target: str
    argument: str

    @cached_property
    def _extras(self) -> tuple[str | None, type[Call] | type[AsyncCall], str | None]:
        hints = typing.get_type_hints(self.function)
        _, *others = inspect.signature(self.function).parameters
        call = next((name for name in others if hints.get(name) in CALLS), None)
        context = next((name for name in others if name != call), None)
        return call, hints[call] if call else Call, context

    def prepare(self) -> None:
        """Looks at the types while there is time."""
        role = f"what completes `{self.argument}`"
        coroutines.prepare(self.function, role)
        check_call(self.function, self._extras[1], role)

    def complete(self, call: Call, value: str, context: Mapping[str, str]) -> Completion:
        """What it suggests, cut to what MCP allows."""
        wants_call, kind, wants_context = self._extras
        others: dict[str, Any] = {wants_call: kind.of(call)} if wants_call else {}
        if wants_context:
            others[wants_context] = dict(context)
        answer = coroutines.finish(self.function(value, **others))
        if isinstance(answer, Completion):
            return answer
        values = [str(one) for one in answer]
        return Completion(values[:MOST], len(values), len(values) > MOST)


def complete(*, argument: str, prompt: Any = None, template: Any = None) -> Callable[[F], F]:
    """Makes a function suggest values: `@complete(prompt=review, argument="language")`.

    `prompt` or `template` is the decorated function, or the prompt's name or the template's text. The
    function takes what is typed so far, and if it likes the other arguments as a `dict[str, str]` and the
    `Call`. It returns texts.
    """
    if (prompt is None) == (template is None):
        raise TypeError("say either prompt=... or template=... of what is completed")
    target = prompt if template is None else template
    noted = getattr(target, "plugport", None)
    if noted is not None:
        target = noted.name if template is None else noted.uri
    kind = "prompt" if template is None else "resource"

    def note(function: F) -> F:
        completer = Completer(function, kind, target, argument)
        function.plugport = completer  # type: ignore[attr-defined]
        found.append(completer)
        return function

    return note


def rank(value: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that fit, the best ones first, without regard to upper and lower case.

    First comes the same text, then what begins with it, then words that do, then the letters in order.
    """
    wanted = value.casefold()
    fitting = [(fit, one) for one in candidates if (fit := _fit(wanted, one.casefold())) is not None]
    return [one for _, one in sorted(fitting, key=lambda pair: pair[0])]


def _fit(wanted: str, candidate: str) -> int | None:
    if candidate == wanted:
        return 0
    if candidate.startswith(wanted):
        return 1
    if any(word.startswith(wanted) for word in re.split(r"\W+", candidate)):
        return 2
    start, end = -1, -1
    for letter in wanted:
        end = candidate.find(letter, end + 1)
        if end < 0:
            return None
        start = end if start < 0 else start
    return 3 + end - start
