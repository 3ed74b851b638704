"""Prompts: what `@prompt` notes of a function, and how its messages are made.

Arguments are texts for MCP, and for the function any type that a text can say: text, number, bool, choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

from . import coroutines, middlewares
from .call import Call
from .content import Content, Message
from .errors import Internal, NotFound
from .middlewares import MiddlewareContext
from .signature import Signature

F = TypeVar("F", bound=Callable[..., Any])

found: list[Prompt] = []


@dataclass
class Prompt:
    """A function that is a prompt."""

    function: Callable[..., Any]
    name: str
    title: str | None = None
    when: Callable[[], bool] | None = None
    extra: Mapping[str, Any] | None = None
    middleware: Sequence[middlewares.Function] = ()

    @cached_property
    def signature(self) -> Signature:
        """Its parameters."""
        if self.when:
            coroutines.reject_async(self.when, f"`when` of the prompt `{self.name}`")
        return Signature.of(self.function, f"the prompt `{self.name}`")

    @property
    def listed(self) -> bool:
        """Whether there is such a prompt at this moment."""
        return self.when is None or bool(self.when())

    def get(self, call: Call, given: Mapping[str, str]) -> list[Message]:
        """The messages for these arguments."""
        context = MiddlewareContext(call, "prompts/get", self.name, given)
        return _messages(middlewares.serve(self.middleware, context, self._called))

    def _called(self, context: MiddlewareContext) -> list[Message]:
        arguments = self.signature.texts(context.arguments, context.call)
        return _messages(coroutines.finish(self.function(**arguments)))


def _messages(value: Any) -> list[Message]:
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
    *,
    name: str | None = None,
    title: str | None = None,
    when: Callable[[], bool] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...
def prompt(function: Any = None, *, name: str | None = None, **said: Any) -> Any:
    """Makes a function a prompt: `@prompt`, or `@prompt(title="Review")`."""

    def note(function: Any) -> Any:
        noted = Prompt(function, name or function.__name__, middleware=middlewares.found, **said)
        function.plugport = noted
        found.append(noted)
        return function

    return note if function is None else note(function)


def find(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """The prompt of this name, if it is there at this moment."""
    one = prompts.get(name)
    if one and one.listed:
        return one
    raise NotFound(f"there is no prompt `{name}`")
