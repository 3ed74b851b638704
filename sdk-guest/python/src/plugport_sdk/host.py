"""The bridge to the host: what componentize-py generates from the WIT, and this package's own types.

The generated modules exist only inside a component. Elsewhere they are missing, and so everything here is
reached by `exports` alone; editors and native tests never need it.
"""

# mypy: disable-error-code="no-any-return, import-not-found"

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from . import content as pieces
from . import errors, to_json, to_wit
from .call import Client, Level
from .client_requests import ClientRequest, Root, roots_of
from .tools import Json

try:
    import componentize_py_types as component
    from wit_world.exports import completions, prompts, resources, tools
    from wit_world.imports import changes as changes
    from wit_world.imports import elicitation, inputs, request, roots, sampling
    from wit_world.imports import types as wit
except ImportError as missing:
    is_native = "wit_world" in str(missing) or "componentize_py" in str(missing)
    # In a component, a world that lacks an interface must end the build: a plugin without tools would be built.
    if not is_native or importlib.util.find_spec("wit_world"):
        raise
    component = completions = prompts = resources = tools = None
    changes = elicitation = inputs = request = roots = sampling = wit = None

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


_is_live = False
_is_built = False


def inside() -> bool:
    """Whether this runs in a component."""
    return wit is not None


def interface(module: str, world: str) -> Any:
    """The generated module of an interface that a component has only if its plugin uses it; `None` in a test."""
    if not inside():
        return None
    try:
        return importlib.import_module(f"wit_world.imports.{module}")
    except ImportError:
        raise MissingWorld(world) from None


class MissingWorld(ImportError):
    """The component is built without an interface."""

    def __init__(self, world: str) -> None:
        super().__init__(
            f"this component is built without the world `{world}`; "
            f'write worlds = ["{world}"] below [tool.plugport] in pyproject.toml'
        )


def go_live() -> None:
    """The plugin is built; what comes now are calls."""
    global _is_live
    _is_live = True


@contextmanager
def building_again() -> Iterator[None]:
    """While a plugin's modules are loaded in an instance: what may not be used at their top is not there either."""
    global _is_live, _is_built
    _is_live, _is_built = False, True
    try:
        yield
    finally:
        _is_live = True


def is_built() -> bool:
    """Whether the memory of the component is that of an instance, and no longer that of the build."""
    return _is_built


def check_live(what: str) -> None:
    """Rejects what stands at the top of a module and belongs into a function."""
    if inside() and not _is_live:
        raise errors.Internal(f"{what} cannot be used while the plugin is built; use it in a function")


class HostCallBackend:
    """The host's handle of one call."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._batched = 0

    def client(self) -> Client:
        found = self._handle.client()
        can = (found.sampling, found.elicitation, found.roots)
        return Client(found.name, found.version, found.protocol, *can, tuple(found.extensions))

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

    def detach(self, status: str | None) -> bool:
        return interface("tasks", "detaching").detach(self._handle, status)

    def create_message(self, key: str | None, body: str) -> str:
        return _requested(sampling.create_message, self._handle, key, body)

    def elicit(self, key: str | None, body: str) -> str:
        return _requested(elicitation.elicit, self._handle, key, body)

    def list_roots(self, key: str | None) -> list[Root]:
        return [Root(one.uri, one.name) for one in _requested(roots.list_roots, self._handle, key)]

    def request_inputs(self, requests: Sequence[ClientRequest[Any]]) -> list[Any]:
        sent = [inputs.InputRequest(self._named(one.key), _body(one)) for one in requests]
        responses = _requested(inputs.request_inputs, self._handle, sent)
        return [_outcome(request, one.outcome) for request, one in zip(requests, responses)]

    def _named(self, key: str | None) -> str:
        """A key that no other request of the call has, where the author gave none."""
        if key is not None:
            return key
        self._batched += 1
        return f"input-{self._batched}"


def _body(request: ClientRequest[Any]) -> Any:
    if request.kind == "sampling":
        return inputs.Body_CreateMessage(request.body)
    if request.kind == "elicitation":
        return inputs.Body_Elicit(request.body)
    return inputs.Body_ListRoots()


def _outcome(request: ClientRequest[Any], outcome: Any) -> Any:
    if isinstance(outcome, component.Err):
        return _received(outcome.value)
    return roots_of(outcome.value) if request.kind == "roots" else outcome.value


def _requested(send: Callable[..., T], *request: Any) -> T:
    return unwrapped(lambda: send(*request), _received)


def unwrapped(run: Callable[[], T], error: Callable[[Any], Exception]) -> T:
    """What a function of the host returns, or its error in the WIT as an exception."""
    try:
        return run()
    except component.Err as rejected:
        made = error(rejected.value)
    raise made


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


def wit_error(error: errors.Error) -> Exception:
    """Converts the error into one that a generated export raises. Never fails, even for an author's own class."""
    try:
        return _to_wit_error(error)
    except Exception:
        return component.Err(wit.Error_Internal(type(error).__name__))


def _to_wit_error(error: errors.Error) -> Exception:
    kind = type(error)
    # A subclass need not have called `__init__` of this package's class.
    found = getattr(error, "message", None)
    message = to_wit.sound(found if found and isinstance(found, str) else errors.words(error))
    if isinstance(error, errors.RpcError):
        code, data = to_wit.code(getattr(error, "code", None)), _error_data(getattr(error, "data", None))
        return component.Err(wit.Error_Rpc(wit.RpcError(code, message, data)))
    if kind in _BARE:
        return component.Err(getattr(wit, _BARE[kind])())
    name = next((known for one, known in _PLAIN.items() if isinstance(error, one)), "Error_Internal")
    return component.Err(getattr(wit, name)(message))


def _error_data(data: Any) -> str | None:
    """An error's data; what cannot be JSON is sent as the reason why not."""
    try:
        return None if data is None else to_json.dumps(data)
    except Exception as error:
        return to_json.dumps(errors.words(error))


def tool_result(result: pieces.ToolResult) -> Any:
    """A tool's result for the host."""
    data = result.structured
    if data is not None:
        data = (
            to_wit.sound(data.text) if isinstance(data, Json) else to_json.written(data, "structured content")
        )
    content = [content_of(one) for one in result.content]
    return tools.ToolResult(content, data, bool(result.is_error), _extra(result.extra))


def content_of(piece: pieces.Content) -> Any:
    """A piece of content for the host."""
    if isinstance(piece, pieces.Text):
        data = wit.ContentData_Text(to_wit.text(piece.text, "the text of a `Text`"))
    elif isinstance(piece, pieces.Image):
        data = wit.ContentData_Image(_media(piece))
    elif isinstance(piece, pieces.Audio):
        data = wit.ContentData_Audio(_media(piece))
    elif isinstance(piece, pieces.Embedded):
        data = wit.ContentData_Embedded(contents_of(piece.contents))
    elif isinstance(piece, pieces.Link):
        # What is said of a link is said once, of the link itself.
        return wit.Content(wit.ContentData_Link(descriptor(piece)), None, None)
    else:
        kind = type(piece).__name__
        raise errors.Internal(f"`{kind}` is no content; use Text, Image, Audio, Embedded or Link")
    return wit.Content(data, _annotations(piece), _extra(piece.extra))


def _media(piece: pieces.Image | pieces.Audio) -> Any:
    kind = type(piece).__name__
    data = to_wit.octets(piece.data, f"the data of `{kind}`")
    return wit.Media(data, to_wit.text(piece.mime_type, f"the `mime_type` of `{kind}`"))


def contents_of(contents: pieces.Contents) -> Any:
    """What a resource holds, for the host."""
    if isinstance(contents.data, str):
        data = wit.ResourceData_Text(to_wit.sound(contents.data))
    else:
        data = wit.ResourceData_Blob(
            to_wit.octets(contents.data, "the data of `Contents`", "a text or bytes")
        )
    uri = to_wit.text(contents.uri, "the `uri` of `Contents`")
    kind = to_wit.text_or_none(contents.mime_type, "the `mime_type` of `Contents`")
    return wit.ResourceContents(uri, kind, data, _extra(contents.extra))


def descriptor(link: pieces.Link) -> Any:
    """A line of the list of resources, for the host."""
    return wit.ResourceDescriptor(
        to_wit.text(link.uri, "the `uri` of a link"),
        to_wit.text(link.name, "the `name` of a link"),
        to_wit.text_or_none(link.title, "the `title` of a link"),
        to_wit.text_or_none(link.description, "the `description` of a link"),
        to_wit.text_or_none(link.mime_type, "the `mime_type` of a link"),
        _annotations(link),
        _extra(link.extra),
    )


def _annotations(piece: Any) -> Any:
    if not piece.audience and piece.priority is None and piece.last_modified is None:
        return None
    priority = to_wit.number_or_none(piece.priority, "`priority`")
    modified = to_wit.text_or_none(piece.last_modified, "`last_modified`")
    return wit.Annotations([_role(role) for role in piece.audience], priority, modified)


def _role(role: Any) -> Any:
    if role not in ("user", "assistant"):
        raise errors.Internal(f"a role must be `user` or `assistant`, not {role!r}")
    return wit.Role[role.upper()]


def _extra(extra: Mapping[str, Any] | None) -> str | None:
    return to_json.written(extra, "`extra`") if extra else None


def describe_tool(tool: Any) -> Any:
    """A line of the list of tools, for the host."""
    said = (tool.read_only, tool.destructive, tool.idempotent, tool.open_world)
    hints = tuple(map(to_wit.flag_or_none, said))
    about = None if hints == (None,) * 4 else tools.ToolAnnotations(*hints)
    return tools.Tool(
        to_wit.text(tool.name, "a tool's `name`"),
        to_wit.text_or_none(tool.title, "a tool's `title`"),
        to_wit.sound(tool.description),
        tool.input_schema,
        tool.output_schema,
        about,
        _extra(tool.extra),
    )


def describe_resource(one: Any) -> Any:
    """A line of the list of resources or of templates, for the host."""
    kind = wit.ResourceDescriptor if one.template.plain else resources.ResourceTemplate
    return kind(
        to_wit.sound(one.uri),
        to_wit.text(one.name, "a resource's `name`"),
        to_wit.text_or_none(one.title, "a resource's `title`"),
        to_wit.sound(one.signature.description) or None,
        to_wit.text_or_none(one.mime_type, "a resource's `mime_type`"),
        None,
        _extra(one.extra),
    )


def describe_prompt(prompt: Any) -> Any:
    """A line of the list of prompts, for the host."""
    arguments = []
    for name, one in prompt.signature.parameters.items():
        title = to_wit.text_or_none(one.shape.schema.get("title"), f"the `title` of `{name}`")
        said = one.description or one.shape.schema.get("description")
        text = to_wit.text_or_none(said, f"the description of `{name}`")
        arguments.append(prompts.PromptArgument(name, title, text, one.required))
    return prompts.Prompt(
        to_wit.text(prompt.name, "a prompt's `name`"),
        to_wit.text_or_none(prompt.title, "a prompt's `title`"),
        to_wit.sound(prompt.signature.description) or None,
        arguments,
        _extra(prompt.extra),
    )


def prompt_result(messages: list[pieces.Message]) -> Any:
    """A prompt's messages for the host."""
    lines = [
        prompts.PromptMessage(_role(one.role), content_of(pieces.piece(one.content))) for one in messages
    ]
    return prompts.PromptResult(None, lines, None)


def completion(found: Any) -> Any:
    """Suggestions for the host."""
    suggested = [to_wit.text(one, "a suggestion") for one in found.values]
    total = to_wit.count_or_none(found.total, "the `total` of a `Completion`")
    return completions.Completion(suggested, total, bool(found.has_more))


def loosen() -> None:
    """Lets every text be printed while the component is built: stdout would reject text without a UTF-8 form."""
    if inside():
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def wake() -> None:
    """Makes a new instance its own: the snapshot froze the seed of `random`, if the plugin imports that."""
    if random := sys.modules.get("random"):
        random.seed(int.from_bytes(os.urandom(32)))


def settle() -> None:
    """Flushes stdout, since the instance ends with the call. The plugin may have closed stdout."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
