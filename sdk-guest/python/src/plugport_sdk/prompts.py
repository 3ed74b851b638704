"""Prompts: what `@prompt` notes of a function, and how its messages are made.

Arguments are texts for MCP, and for the function any type that a text can say: text, number, bool, choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

from .call import Call
from .content import Content, Message
from .errors import Internal, NotFound
from .signature import Signature

F = TypeVar("F", bound=Callable[..., Any])

found: list[Prompt] = []


@dataclass
class Prompt:
    """A function that is a prompt."""

    function: Callable[..., Any]
    name: str
    title: str | None = None
    extra: Mapping[str, Any] | None = None

    @cached_property
    def signature(self) -> Signature:
        """Its parameters."""
        return Signature.of(self.function, f"the prompt `{self.name}`")

    def get(self, call: Call, given: Mapping[str, str]) -> list[Message]:
        """The messages for these arguments."""
        value = self.function(**self.signature.texts(given, call))
        return [_message(one) for one in (value if isinstance(value, (list, tuple)) else [value])]


def _message(value: Any) -> Message:
    if isinstance(value, Message):
        return value
    if isinstance(value, (str, Content)):
        return Message("user", value)
    raise Internal(
        f"a prompt returned `{type(value).__name__}`; return text, content, a Message or a list of these"
    )


@overload
def prompt(function: F) -> F: ...
@overload
def prompt(
    *, name: str | None = None, title: str | None = None, extra: Mapping[str, Any] | None = None
) -> Callable[[F], F]: ...
def prompt(function: Any = None, *, name: str | None = None, **said: Any) -> Any:
    """Makes a function a prompt: `@prompt`, or `@prompt(title="Review")`."""

    def note(function: Any) -> Any:
        noted = Prompt(function, name or function.__name__, **said)
        function.plugport = noted
        found.append(noted)
        return function

    return note if function is None else note(function)


def find(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """The prompt of this name."""
    try:
        return prompts[name]
    except KeyError:
        raise NotFound(f"there is no prompt `{name}`") from None
