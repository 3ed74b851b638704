"""Requests to the client: sampling, elicitation and roots.

Bodies are the JSON objects of MCP's newest revision; the host adapts them to the client's. A request is a value that
knows how its result is read, so that `Call` sends it and waits, and an event loop sends several of them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import to_json, to_wit
from .elicitation import ElicitResult, form
from .errors import Error, Internal
from .sampling import CreateMessageResult, params

if TYPE_CHECKING:
    from .call import CallBackend

T = TypeVar("T")


@dataclass(frozen=True)
class Root:
    """A folder in which the client's user works."""

    uri: str
    name: str | None = None


@dataclass(frozen=True)
class ClientRequest(Generic[T]):
    """A request with its body as JSON, and the reader of its result."""

    kind: Literal["sampling", "elicitation", "roots"]
    key: str | None
    body: str
    read: Callable[[Any], T]


def sample(messages: Any, key: str | None, options: Mapping[str, Any]) -> ClientRequest[CreateMessageResult]:
    """A request to the client's model."""
    body = to_json.written(params(messages, **options), "the request")
    return ClientRequest("sampling", _key(key), body, CreateMessageResult.read)


def elicit(kind: Any, message: str, key: str | None) -> ClientRequest[ElicitResult[Any]]:
    """A form for a type."""
    schema, read = form(kind)
    return elicit_form(schema, message, key, read)


def elicit_form(
    schema: Mapping[str, Any],
    message: str,
    key: str | None,
    read: Callable[[Any], Any] = lambda content: content,
) -> ClientRequest[ElicitResult[Any]]:
    """A form with a schema."""
    return _elicit({"mode": "form", "message": message, "requestedSchema": schema}, key, read)


def elicit_url(url: str, message: str, key: str | None) -> ClientRequest[ElicitResult[None]]:
    """A web page."""
    return _elicit({"mode": "url", "message": message, "url": url}, key, lambda content: None)


def list_roots(key: str | None) -> ClientRequest[list[Root]]:
    """The user's folders."""
    return ClientRequest("roots", _key(key), "{}", list)


def send(backend: CallBackend, request: ClientRequest[T]) -> T:
    """Sends it, and waits for its result."""
    return request.read(answer(backend, request))


def send_together(backend: CallBackend, requests: Sequence[ClientRequest[Any]]) -> Sequence[Any | Error]:
    """Sends them in one round trip. Each has its result, which is not read yet, or its error."""
    try:
        if len(requests) == 1:
            return [answer(backend, requests[0])]
        return backend.request_inputs(requests)
    except Error as error:
        return [error] * len(requests)


def roots_of(text: str) -> list[Root]:
    """From the result of `roots/list`."""
    try:
        return [Root(one["uri"], one.get("name")) for one in json.loads(text)["roots"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Internal(f"the client's answer cannot be read: {error!r}") from None


def answer(backend: CallBackend, request: ClientRequest[Any]) -> Any:
    """Its result, which is not read yet."""
    if request.kind == "sampling":
        return backend.create_message(request.key, request.body)
    if request.kind == "elicitation":
        return backend.elicit(request.key, request.body)
    return backend.list_roots(request.key)


def _elicit(
    body: dict[str, Any], key: str | None, read: Callable[[Any], T]
) -> ClientRequest[ElicitResult[T]]:
    text = to_json.written(body, "the request")
    return ClientRequest("elicitation", _key(key), text, lambda answer: ElicitResult.read(answer, read))


def _key(key: str | None) -> str | None:
    return to_wit.text_or_none(key, "`key`")
