"""The request that a function serves, as the function sees it.

A tool should run on its author's machine as it runs in the host, so a `Call` knows neither: it speaks to a
`CallBackend`, which is the host's handle inside a plugin and a `TestClient` in a test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from . import to_json, to_wit
from .client_requests import CreateMessageResult, ElicitResult, Root, form, params
from .content import Message

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
T = TypeVar("T")


@dataclass(frozen=True)
class Client:
    """The client: its name and version, its MCP revision and its capabilities."""

    name: str
    version: str
    protocol: str
    sampling: bool = False
    elicitation: bool = False
    roots: bool = False


class CallBackend(Protocol):
    """What stands behind a call. Data, meta and bodies are JSON."""

    def client(self) -> Client: ...
    def principal(self) -> str | None: ...
    def meta(self) -> str | None: ...
    def cancelled(self) -> bool: ...
    def log(self, level: Level, logger: str | None, data: str) -> None: ...
    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def create_message(self, key: str | None, body: str) -> str: ...
    def elicit(self, key: str | None, body: str) -> str: ...
    def list_roots(self, key: str | None) -> list[Root]: ...


class Call:
    """The request being served: its client, whether it was cancelled, its log and progress, and client requests.

    A function gets it by having a parameter of this type. It ends with the call: keep it no longer.
    """

    def __init__(self, backend: CallBackend) -> None:
        self._backend = backend

    @cached_property
    def client(self) -> Client:
        """The client. `sampling`, `elicitation` and `roots` are its capabilities."""
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

    def sample(
        self,
        messages: str | Sequence[str | Message | Mapping[str, Any]],
        *,
        max_tokens: int = 1000,
        system: str | None = None,
        temperature: float | None = None,
        stop: Sequence[str] = (),
        hints: Sequence[str] = (),
        intelligence: float | None = None,
        speed: float | None = None,
        cost: float | None = None,
        extra: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> CreateMessageResult:
        """Asks the client's model: a text, or a conversation. `extra` has further fields, such as `tools`.

        Raises `MissingCapability` when the client has no model to ask, `Denied` when the plugin may not ask,
        `OverBudget` when it asked too much, `Rejected` when a person said no.
        """
        preferences = {"costPriority": cost, "speedPriority": speed, "intelligencePriority": intelligence}
        given = {"systemPrompt": system, "temperature": temperature, "stopSequences": list(stop) or None}
        body = params(messages, max_tokens, given, preferences, hints, extra)
        key = to_wit.text_or_none(key, "`key`")
        return CreateMessageResult.read(self._backend.create_message(key, to_json.written(body, "the request")))

    def elicit(self, kind: type[T], message: str, *, key: str | None = None) -> ElicitResult[T]:
        """Shows a form to the person at the client. The fields of the dataclass are those of the form.

        A field is a text, a number, a bool, an Enum or Literal of texts, a list of such choices, or one
        of these `| None`.
        """
        schema, read = form(kind)  # type: ignore[arg-type]
        body = {"mode": "form", "message": message, "requestedSchema": schema}
        return self._elicit(key, body, read)

    def elicit_form(
        self, schema: Mapping[str, Any], message: str, *, key: str | None = None
    ) -> ElicitResult[dict[str, Any]]:
        """The same with a JSON Schema of your own, for forms that no dataclass describes."""
        body = {"mode": "form", "message": message, "requestedSchema": schema}
        return self._elicit(key, body, lambda content: content)

    def elicit_url(self, url: str, message: str, *, key: str | None = None) -> ElicitResult[None]:
        """Sends the person to a web page. Accepted means that they went there, not that they are done."""
        body = {"mode": "url", "message": message, "url": url}
        return self._elicit(key, body, lambda content: None)

    def roots(self, *, key: str | None = None) -> list[Root]:
        """Asks the client for its user's folders, which are `file://` URIs with or without names."""
        return self._backend.list_roots(to_wit.text_or_none(key, "`key`"))

    def _elicit(self, key: str | None, body: dict[str, Any], read: Any) -> ElicitResult[Any]:
        key = to_wit.text_or_none(key, "`key`")
        return ElicitResult.read(self._backend.elicit(key, to_json.written(body, "the request")), read)
