"""Middleware: functions around each tool, resource and prompt, for what all of them need, such as timing or a check.

One runs on the way to the function and on the way back, and sees what the function raises as it was raised. Plain
`def`s are enough: `call_next` runs what is `async` to its end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from . import coroutines
from .call import Call

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MiddlewareContext:
    """What is served: the method of MCP, the name of the tool or prompt or the URI of the resource, the arguments."""

    call: Call
    method: Literal["tools/call", "resources/read", "prompts/get"]
    name: str
    arguments: Mapping[str, Any]


CallNext = Callable[[MiddlewareContext], Any]
Function = Callable[[MiddlewareContext, CallNext], Any]

found: list[Function] = []


def middleware(function: F) -> F:
    """Puts a function around all others: `def log(context, call_next)`. The first one in the module is the outermost.

    `call_next(context)` gives the result: a `ToolResult`, a list of `Contents` or a list of `Message`s. A context with
    other arguments is made by `dataclasses.replace`.
    """
    role = f"the middleware `{function.__name__}`"
    coroutines.reject_async(function, role)
    if len(inspect.signature(function).parameters) != 2:
        raise TypeError(f"{role} must take two parameters: the context, and `call_next`")
    found.append(function)
    return function


def serve(around: Sequence[Function], context: MiddlewareContext, function: CallNext) -> Any:
    """Calls the function through those around it."""
    if not around:
        return function(context)
    first, *others = around
    return first(context, lambda context: serve(others, context, function))
