"""The request that a function serves, as the function sees it.

A tool should run on its author's machine as it runs in the host, so a `Call` knows neither: it speaks to a
`CallBackend`, which is the host's handle inside a plugin and a `TestClient` in a test. A `Call` waits for what it
requests of the client, an `AsyncCall` is awaited; all else they share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeVar, Unpack, overload

from . import client_requests, to_json, to_wit
from .client_requests import ClientRequest, Root
from .content import Message, ToolResult
from .elicitation import ElicitResult
from .errors import Error
from .sampling import CreateMessageResult, SampleOptions

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
T = TypeVar("T")
Messages = str | Sequence[str | Message | Mapping[str, Any]]


@dataclass(frozen=True)
class Client:
    """The client: its name and version, its MCP revision, its capabilities and the extensions that it declared."""

    name: str
    version: str
    protocol: str
    sampling: bool = False
    elicitation: bool = False
    roots: bool = False
    extensions: tuple[str, ...] = ()


class CallBackend(Protocol):
    """What stands behind a call. Data, meta and bodies are JSON."""

    def client(self) -> Client: ...
    def principal(self) -> str | None: ...
    def meta(self) -> str | None: ...
    def cancelled(self) -> bool: ...
    def log(self, level: Level, logger: str | None, data: str) -> None: ...
    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def detach(self, status: str | None) -> bool: ...
    def create_message(self, key: str | None, body: str) -> str: ...
    def elicit(self, key: str | None, body: str) -> str: ...
    def list_roots(self, key: str | None) -> list[Root]: ...
    def request_inputs(self, requests: Sequence[ClientRequest[Any]]) -> Sequence[Any | Error]: ...


class _CallBase:
    """The client, whether the call was cancelled, its log and progress."""

    def __init__(self, backend: CallBackend) -> None:
        self._backend = backend

    @classmethod
    def of(cls, call: _CallBase) -> Self:
        """The same call, of this kind."""
        return call if isinstance(call, cls) else cls(call._backend)

    @cached_property
    def client(self) -> Client:
        """The client. `sampling`, `elicitation` and `roots` are its capabilities, `extensions` those of MCP."""
        return self._backend.client()

    @property
    def principal(self) -> str | None:
        """Who makes the request, when the server authenticates its callers."""
        return self._backend.principal()

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The request's `_meta` without the keys that MCP reserves; empty when there is none."""
        text = self._backend.meta()
        return json.loads(text) if text else {}

    def cancelled(self) -> bool:
        """Whether the client no longer waits. A long-running tool asks now and then and returns early."""
        return self._backend.cancelled()

    def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Sends any JSON to the client's log. What cannot be JSON is logged as the reason why not."""
        try:
            text = to_json.dumps(data)
        except (TypeError, ValueError) as error:
            text = to_json.dumps(str(error))
        self._backend.log(level, to_wit.text_or_none(logger, "`logger`"), text)

    def debug(self, message: object, logger: str | None = None) -> None:
        """Logs a line at level debug."""
        self.log("debug", str(message), logger)

    def info(self, message: object, logger: str | None = None) -> None:
        """Logs a line at level info."""
        self.log("info", str(message), logger)

    def notice(self, message: object, logger: str | None = None) -> None:
        """Logs a line at level notice."""
        self.log("notice", str(message), logger)

    def warning(self, message: object, logger: str | None = None) -> None:
        """Logs a line at level warning."""
        self.log("warning", str(message), logger)

    def error(self, message: object, logger: str | None = None) -> None:
        """Logs a line at level error. The call goes on; to fail it, raise."""
        self.log("error", str(message), logger)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the client how far the tool is. `done` must grow from one report to the next."""
        said = to_wit.text_or_none(message, "the message of `progress`")
        self._backend.progress(float(done), None if total is None else float(total), said)


class Call(_CallBase):
    """The request being served: its client, whether it was cancelled, its log and progress, and client requests.

    A function gets it by having a parameter of this type. It ends with the call: keep it no longer.
    """

    def sample(
        self, messages: Messages, *, key: str | None = None, **options: Unpack[SampleOptions]
    ) -> CreateMessageResult:
        """Asks the client's model: a text, or a conversation. `extra` has further fields of MCP.

        Raises `MissingCapability` when the client has no model to ask, `Denied` when the plugin may not ask,
        `OverBudget` when it asked too much, `Rejected` when a person said no.
        """
        return self._send(client_requests.sample(messages, key, options))

    def tool_results(
        self, answer: CreateMessageResult, tools: Iterable[Callable[..., Any]]
    ) -> dict[str, Any]:
        """Runs the tools that the model wants to use: the message that tells it what came of them."""
        from .tools import use

        known = list(tools)
        return _message_of(answer, [use(self, known, one) for one in answer.tool_uses])

    @overload
    def elicit(self, kind: type[T], message: str, *, key: str | None = None) -> ElicitResult[T]: ...
    @overload
    def elicit(self, kind: Any, message: str, *, key: str | None = None) -> ElicitResult[Any]: ...
    def elicit(self, kind: Any, message: str, *, key: str | None = None) -> ElicitResult[Any]:
        """Shows a form to the person at the client. The fields of a dataclass are those of the form.

        A field is a text, a number, a bool, an Enum or Literal of texts, a list of such choices, or one
        of these `| None`. Any of these alone is a form of one field.
        """
        return self._send(client_requests.elicit(kind, message, key))

    def elicit_form(
        self, schema: Mapping[str, Any], message: str, *, key: str | None = None
    ) -> ElicitResult[dict[str, Any]]:
        """The same with a JSON Schema of your own, for forms that no dataclass describes."""
        return self._send(client_requests.elicit_form(schema, message, key))

    def elicit_url(self, url: str, message: str, *, key: str | None = None) -> ElicitResult[None]:
        """Sends the person to a web page. Accepted means that they went there, not that they are done."""
        return self._send(client_requests.elicit_url(url, message, key))

    def roots(self, *, key: str | None = None) -> list[Root]:
        """Asks the client for its user's folders, which are `file://` URIs with or without names."""
        return self._send(client_requests.list_roots(key))

    def _send(self, request: ClientRequest[T]) -> T:
        return client_requests.send(self._backend, request)


class AsyncCall(_CallBase):
    """A `Call` for `async def`. Requests that are awaited together, with `asyncio.gather`, are sent together."""

    async def sample(
        self, messages: Messages, *, key: str | None = None, **options: Unpack[SampleOptions]
    ) -> CreateMessageResult:
        """As `Call.sample`."""
        return await self._send(client_requests.sample(messages, key, options))

    async def tool_results(
        self, answer: CreateMessageResult, tools: Iterable[Callable[..., Any]]
    ) -> dict[str, Any]:
        """As `Call.tool_results`. Tools that are `async` run side by side."""
        from . import event_loop
        from .tools import use_async

        known = list(tools)
        running = [use_async(self, known, one) for one in answer.tool_uses]
        return _message_of(answer, await event_loop.together(running))

    @overload
    async def elicit(self, kind: type[T], message: str, *, key: str | None = None) -> ElicitResult[T]: ...
    @overload
    async def elicit(self, kind: Any, message: str, *, key: str | None = None) -> ElicitResult[Any]: ...
    async def elicit(self, kind: Any, message: str, *, key: str | None = None) -> ElicitResult[Any]:
        """As `Call.elicit`."""
        return await self._send(client_requests.elicit(kind, message, key))

    async def elicit_form(
        self, schema: Mapping[str, Any], message: str, *, key: str | None = None
    ) -> ElicitResult[dict[str, Any]]:
        """As `Call.elicit_form`."""
        return await self._send(client_requests.elicit_form(schema, message, key))

    async def elicit_url(self, url: str, message: str, *, key: str | None = None) -> ElicitResult[None]:
        """As `Call.elicit_url`."""
        return await self._send(client_requests.elicit_url(url, message, key))

    async def roots(self, *, key: str | None = None) -> list[Root]:
        """As `Call.roots`."""
        return await self._send(client_requests.list_roots(key))

    async def _send(self, request: ClientRequest[T]) -> T:
        from . import event_loop

        return await event_loop.answer(self._backend, request)


def _message_of(answer: CreateMessageResult, results: Sequence[ToolResult]) -> dict[str, Any]:
    pairs = zip(answer.tool_uses, results)
    return {"role": "user", "content": [use.results_of(result) for use, result in pairs]}
