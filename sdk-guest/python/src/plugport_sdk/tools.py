"""Tools: what `@tool` notes of a function, and how a call of it runs.

The decorated function stays what it was, so that tests and other functions call it as ever. What is noted
hangs on it as an attribute, and in the list that `exports()` publishes.
"""

from __future__ import annotations

import json
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

from . import coroutines, middlewares, to_json
from .call import AsyncCall, Call
from .content import Audio, Embedded, Image, Link, Text, ToolResult
from .errors import Error, InvalidParams, MissingCapability, NotFound, ToolError, explain, handed_on
from .json_types import Shapes, Unsupported
from .middlewares import MiddlewareContext
from .sampling import ToolUse
from .signature import Signature, arguments_of

F = TypeVar("F", bound=Callable[..., Any])

PIECES = (Text, Image, Audio, Embedded, Link)

found: list[Tool] = []


@dataclass
class Tool:
    """A function that is a tool."""

    function: Callable[..., Any]
    name: str
    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    extra: Mapping[str, Any] | None = None
    when: Callable[[], bool] | None = None
    own_input: str | None = None
    own_output: str | None = None
    middleware: Sequence[middlewares.Function] = ()

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Tool:
        """What is noted of a function, or would be."""
        noted = getattr(function, "plugport", None)
        return noted if isinstance(noted, Tool) else cls(function, function.__name__)

    @cached_property
    def signature(self) -> Signature:
        """Its parameters."""
        if self.when:
            coroutines.reject_async(self.when, f"`when` of the tool `{self.name}`")
        return Signature.of(self.function, f"the tool `{self.name}`", takes_rest=self.own_input is not None)

    @cached_property
    def description(self) -> str:
        """What a model reads to decide when to call it."""
        if not self.signature.description:
            raise TypeError(
                f"the tool `{self.name}` has no description; write a docstring that says what it is for"
            )
        return self.signature.description

    @cached_property
    def input_schema(self) -> str:
        """JSON Schema of the arguments."""
        return self.own_input or to_json.dumps(self.signature.input_schema())

    @cached_property
    def output_schema(self) -> str | None:
        """JSON Schema of the structured content, where the annotation or the author tells."""
        returns = self.signature.returns
        if self.own_output or returns in (..., None, Any, object) or _is_content(returns):
            return self.own_output
        shapes = Shapes(giving=True)
        try:
            schema = shapes.finish(shapes.of(returns).schema)
        except Unsupported as error:
            raise TypeError(f"the tool `{self.name}` cannot return this: {error}") from None
        _learn(returns)
        return to_json.dumps(schema) if schema else None

    @property
    def listed(self) -> bool:
        """Whether there is such a tool at this moment."""
        return self.when is None or bool(self.when())

    def run(self, call: Call, args: str) -> ToolResult:
        """Serves a call. Only what the host has to be told of is raised, as an `Error`."""
        given = arguments_of(args)
        try:
            context = MiddlewareContext(call, "tools/call", self.name, given)
            return self.result(middlewares.serve(self.middleware, context, self._called))
        except ToolError as error:
            return failed(explain(error))
        except BaseException as error:
            own = handed_on(error)
            if own is error or isinstance(own, MissingCapability):
                raise own from None
            call.error(_traceback(error), "traceback")
            return failed(explain(error))

    def _called(self, context: MiddlewareContext) -> ToolResult:
        return self.result(coroutines.finish(self.called(context.call, context.arguments)))

    def called(self, call: Call | AsyncCall, given: Mapping[str, Any]) -> Any:
        """What the function returns for these arguments: a coroutine where it is `async`."""
        return self.function(**self.signature.arguments(given, call))

    def result(self, value: Any) -> ToolResult:
        """What a client gets for what the function returned."""
        if value is None and self.output_schema is None:
            return ToolResult()
        if isinstance(value, str) and self.output_schema is None:
            return ToolResult((Text(value),))
        if isinstance(value, ToolResult):
            return value
        if isinstance(value, PIECES):
            return ToolResult((value,))
        if isinstance(value, (list, tuple)) and value and all(isinstance(one, PIECES) for one in value):
            return ToolResult(value)
        if value == [] and self.output_schema is None and _is_content(self.signature.returns):
            return ToolResult()
        return structured(to_json.written(value, f"the result of the tool `{self.name}`"))


@dataclass(frozen=True)
class Json:
    """JSON that is written already."""

    text: str


def structured(text: str) -> ToolResult:
    """JSON, as structured content for programs and as text for clients that know no structured content."""
    return ToolResult((Text(text),), Json(text))


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error)).rstrip()
    except Exception:  # The words of the error matter more than where it came from.
        return explain(error)


def failed(text: str) -> ToolResult:
    """A failure in words."""
    return ToolResult((Text(text),), is_error=True)


def use(call: Call, tools: Iterable[Any], wanted: ToolUse) -> ToolResult:
    """What comes of the use of a tool that a model wants."""
    try:
        tool = _among(tools, wanted.name)
        return tool.result(coroutines.finish(tool.called(call, wanted.input)))
    except Exception as error:
        return _told(error)


async def use_async(call: AsyncCall, tools: Iterable[Any], wanted: ToolUse) -> ToolResult:
    """The same within an `async def`."""
    try:
        tool = _among(tools, wanted.name)
        value = tool.called(call, wanted.input)
        return tool.result(await value if isinstance(value, types.CoroutineType) else value)
    except Exception as error:
        return _told(error)


def _among(tools: Iterable[Any], name: str) -> Tool:
    known = {tool.name: tool for tool in map(Tool.of, filter(callable, tools))}
    if name in known:
        return known[name]
    raise NotFound(f"there is no tool `{name}`; use one of {', '.join(known)}")


def _told(error: Exception) -> ToolResult:
    """A failure that the model can correct. What the host says ends the call."""
    if isinstance(error, Error) and not isinstance(error, (InvalidParams, NotFound)):
        raise error
    return failed(explain(error))


def _is_content(kind: Any) -> bool:
    """Whether an annotation promises texts or content, which have no schema."""
    if kind in (str, None, type(None), ToolResult) or _is_piece(kind):
        return True
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _is_content(args[0])
    if origin in (list, tuple):
        return bool(args) and all(one is Ellipsis or _is_piece(one) for one in args)
    return origin in (typing.Union, types.UnionType) and all(_is_content(one) for one in args)


def _is_piece(kind: Any) -> bool:
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return kind in PIECES or (union and all(one in PIECES for one in typing.get_args(kind)))


def _learn(kind: Any) -> None:
    """Looks at the dataclasses in an annotation while there is time."""
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__") and not to_json.knows(kind):
        to_json.learn(kind)
        for hint in typing.get_type_hints(kind, include_extras=True).values():
            _learn(hint)
    for one in typing.get_args(kind):
        _learn(one)


@overload
def tool(function: F) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    when: Callable[[], bool] | None = None,
    input_schema: Mapping[str, Any] | str | None = None,
    output_schema: Mapping[str, Any] | str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    *,
    name: str | None = None,
    input_schema: Mapping[str, Any] | str | None = None,
    output_schema: Mapping[str, Any] | str | None = None,
    **said: Any,
) -> Any:
    """Makes a function a tool: `@tool`, or `@tool(read_only=True)`.

    The docstring becomes the description that a model reads, the parameters become the schema of the
    arguments, and what is returned the result: text, content, or anything that JSON can hold as structured
    content.
    """
    said["own_input"] = _schema_text(input_schema, "input_schema")
    said["own_output"] = _schema_text(output_schema, "output_schema")

    def note(function: Any) -> Any:
        noted = Tool(function, name or function.__name__, middleware=middlewares.found, **said)
        function.plugport = noted
        found.append(noted)
        return function

    return note if function is None else note(function)


def _schema_text(schema: Mapping[str, Any] | str | None, key: str) -> str | None:
    """A schema of the author's own. A text stays as it is, byte for byte."""
    if schema is None:
        return None
    try:
        text = schema if isinstance(schema, str) else to_json.dumps(schema)
        if isinstance(json.loads(text), dict):
            return text
    except (TypeError, ValueError) as error:
        raise TypeError(f"the `{key}` is not JSON: {error}") from None
    raise TypeError(f"the `{key}` must be an object")


def find(tools: Mapping[str, Tool], name: str) -> Tool:
    """The tool of this name, if it is there at this moment."""
    one = tools.get(name)
    if one and one.listed:
        return one
    raise NotFound(f"there is no tool `{name}`")
