"""The bridge to the host: what componentize-py generates from the WIT, and this package's own types.

The generated modules exist only inside a component. Elsewhere they are missing, and so everything here is
reached by `exports` alone; editors and native tests never need it.
"""

# mypy: disable-error-code="no-any-return, import-not-found"

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import content as pieces
from . import errors, values
from .ask import Root
from .call import Client, Level
from .tools import Json

try:
    import componentize_py_types as component
    from wit_world.exports import completions, prompts, resources, tools
    from wit_world.imports import changes as changes
    from wit_world.imports import elicitation, request, roots, sampling
    from wit_world.imports import types as wit
except ImportError as missing:
    if "wit_world" not in str(missing) and "componentize_py" not in str(missing):
        raise
    component = completions = prompts = resources = tools = None
    changes = elicitation = request = roots = sampling = wit = None

T = TypeVar("T")

_PLAIN = {
    errors.NotFound: "Error_NotFound",
    errors.InvalidParams: "Error_InvalidParams",
    errors.Internal: "Error_Internal",
    errors.MissingCapability: "Error_MissingCapability",
    errors.Denied: "Error_Denied",
    errors.OverBudget: "Error_OverBudget",
    errors.Rejected: "Error_Rejected",
}
_BARE = {errors.TimedOut: "Error_TimedOut", errors.Cancelled: "Error_Cancelled"}


def inside() -> bool:
    """Whether this runs in a component."""
    return wit is not None


class HostPort:
    """The host's handle of one call."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def client(self) -> Client:
        found = self._handle.client()
        return Client(
            found.name, found.version, found.protocol, found.sampling, found.elicitation, found.roots
        )

    def principal(self) -> str | None:
        return self._handle.principal()

    def meta(self) -> str | None:
        return self._handle.meta()

    def cancelled(self) -> bool:
        return self._handle.cancelled()

    def log(self, level: Level, logger: str | None, data: str) -> None:
        self._handle.log(request.LogLevel[level.upper()], logger, data)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self._handle.progress(done, total, message)

    def create_message(self, key: str | None, body: str) -> str:
        return _asked(sampling.create_message, self._handle, key, body)

    def elicit(self, key: str | None, body: str) -> str:
        return _asked(elicitation.elicit, self._handle, key, body)

    def list_roots(self, key: str | None) -> list[Root]:
        return [Root(one.uri, one.name) for one in _asked(roots.list_roots, self._handle, key)]


def _asked(ask: Callable[..., T], *question: Any) -> T:
    try:
        return ask(*question)
    except component.Err as refused:
        error = _received(refused.value)
    raise error


def _received(value: Any) -> errors.Error:
    name = type(value).__name__
    if name == "Error_Rpc":
        found = value.value
        return errors.RpcError(found.code, found.message, found.data and json.loads(found.data))
    for kind, known in _PLAIN.items():
        if name == known:
            return kind(value.value)
    for kind, known in _BARE.items():
        if name == known:
            return kind()
    return errors.Internal(f"the host answered with an unknown error `{name}`")


def refusal(error: errors.Error) -> Exception:
    """The error as what a generated export raises."""
    kind = type(error)
    if isinstance(error, errors.RpcError):
        data = None if error.data is None else values.written(error.data, "the error's data")
        return component.Err(wit.Error_Rpc(wit.RpcError(error.code, error.message, data)))
    if kind in _BARE:
        return component.Err(getattr(wit, _BARE[kind])())
    name = next((known for one, known in _PLAIN.items() if isinstance(error, one)), "Error_Internal")
    return component.Err(getattr(wit, name)(error.message or str(error)))


def tool_result(result: pieces.ToolResult) -> Any:
    """A tool's result for the host."""
    data = result.structured
    if data is not None:
        data = data.text if isinstance(data, Json) else values.written(data, "structured content")
    content = [content_of(one) for one in result.content]
    return tools.ToolResult(content, data, result.is_error, _extra(result.extra))


def content_of(piece: pieces.Content) -> Any:
    """A piece of content for the host."""
    if isinstance(piece, pieces.Text):
        data = wit.ContentData_Text(piece.text)
    elif isinstance(piece, pieces.Image):
        data = wit.ContentData_Image(wit.Media(piece.data, piece.mime_type))
    elif isinstance(piece, pieces.Audio):
        data = wit.ContentData_Audio(wit.Media(piece.data, piece.mime_type))
    elif isinstance(piece, pieces.Embedded):
        data = wit.ContentData_Embedded(contents_of(piece.contents))
    else:
        # What is said of a link is said once, of the link itself.
        return wit.Content(wit.ContentData_Link(descriptor(piece)), None, None)
    return wit.Content(data, _annotations(piece), _extra(piece.extra))


def contents_of(contents: pieces.Contents) -> Any:
    """What a resource holds, for the host."""
    text = isinstance(contents.data, str)
    data = wit.ResourceData_Text(contents.data) if text else wit.ResourceData_Blob(contents.data)
    return wit.ResourceContents(contents.uri, contents.mime_type, data, _extra(contents.extra))


def descriptor(link: pieces.Link) -> Any:
    """A line of the list of resources, for the host."""
    about = _annotations(link)
    return wit.ResourceDescriptor(
        link.uri, link.name, link.title, link.description, link.mime_type, about, _extra(link.extra)
    )


def _annotations(piece: Any) -> Any:
    if not piece.audience and piece.priority is None and piece.last_modified is None:
        return None
    audience = [wit.Role[role.upper()] for role in piece.audience]
    return wit.Annotations(audience, piece.priority, piece.last_modified)


def _extra(extra: Mapping[str, Any] | None) -> str | None:
    return values.written(extra, "`extra`") if extra else None


def describe_tool(tool: Any) -> Any:
    """A line of the list of tools, for the host."""
    hints = (tool.read_only, tool.destructive, tool.idempotent, tool.open_world)
    about = None if hints == (None,) * 4 else tools.ToolAnnotations(*hints)
    return tools.Tool(
        tool.name,
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        about,
        _extra(tool.extra),
    )


def describe_resource(one: Any) -> Any:
    """A line of the list of resources or of templates, for the host."""
    text = one.signature.description or None
    kind = wit.ResourceDescriptor if one.template.plain else resources.ResourceTemplate
    return kind(one.uri, one.name, one.title, text, one.mime_type, None, _extra(one.extra))


def describe_prompt(prompt: Any) -> Any:
    """A line of the list of prompts, for the host."""
    arguments = []
    for name, one in prompt.signature.parameters.items():
        text = one.description or one.shape.schema.get("description")
        arguments.append(prompts.PromptArgument(name, one.shape.schema.get("title"), text, one.required))
    text = prompt.signature.description or None
    return prompts.Prompt(prompt.name, prompt.title, text, arguments, _extra(prompt.extra))


def prompt_result(messages: list[pieces.Message]) -> Any:
    """A prompt's messages for the host."""
    lines = [
        prompts.PromptMessage(wit.Role[one.role.upper()], content_of(pieces.piece(one.content)))
        for one in messages
    ]
    return prompts.PromptResult(None, lines, None)


def completion(found: Any) -> Any:
    """Suggestions for the host."""
    return completions.Completion(list(found.values), found.total, found.has_more)


def wake() -> None:
    """Makes a new instance its own: the snapshot froze the seed of `random`, if the plugin imports that."""
    if random := sys.modules.get("random"):
        random.seed(int.from_bytes(os.urandom(32)))


def settle() -> None:
    """Hands over what was printed, since the instance ends with the call."""
    sys.stdout.flush()
    sys.stderr.flush()
