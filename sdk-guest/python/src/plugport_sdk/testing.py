"""Runs tools in ordinary unit tests, without a host and without WebAssembly.

    outcome = testing.invoke(hello, name="Bob")
    assert outcome.text == "Hello, Bob!"

A `TestClient` records what it is told and what it is asked, and responds as the test scripts it. It stands in for the
server too: requests to other hosts, the store and the settings are the client's own, and empty at first.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import notify, to_json
from .call import AsyncCall, Call, Client, Level
from .client_requests import ClientRequest, Root, answer
from .completions import Completion
from .content import Content, Contents, Message, ToolResult, texts
from .errors import Denied, Error, Internal, MissingCapability, RpcError
from .host_double import HostDouble
from .testing_forms import form_fault
from .testing_validation import Rejected, check_result, validated
from .tools import Json, failed

if TYPE_CHECKING:
    from .http import Response
    from .http.scripted import HttpRequest
    from .kv import Store

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Log:
    """A log message: `data` is a text, or any JSON."""

    level: Level
    data: Any
    logger: str | None = None


@dataclass(frozen=True)
class Progress:
    """A report of progress."""

    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True)
class RecordedRequest:
    """A request that the client got: `sampling/createMessage`, `elicitation/create` or `roots/list`."""

    method: str
    params: dict[str, Any]
    key: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of calling a tool: its result, or the error by which the call was rejected."""

    result: ToolResult
    error: Error | None
    client: TestClient

    @property
    def is_error(self) -> bool:
        """Whether the tool failed or the call was rejected."""
        return self.error is not None or self.result.is_error

    @property
    def text(self) -> str:
        """The text of the result, or the error's message when there is no result."""
        return str(self.error) if self.error else texts(self.result.content)

    @property
    def content(self) -> list[Content]:
        """The content of the result."""
        return list(self.result.content)

    @property
    def structured(self) -> Any:
        """The structured content."""
        data = self.result.structured
        return json.loads(data.text) if isinstance(data, Json) else data

    @property
    def logs(self) -> list[Log]:
        """What was logged."""
        return self.client.logs

    @property
    def progress(self) -> list[Progress]:
        """The progress that was reported."""
        return self.client.reports


class TestClient:
    """A client called `test`, without any capability until it has responses.

    `samples`, `accepts`, `declines`, `closes`, `visits` and `has_roots` script the responses, each to the next
    request of its kind. A response may be an `Error` too: `fails_sampling`, `fails_elicitation`.
    """

    __test__ = False  # for pytest, which would take the class for a test

    def __init__(
        self,
        *,
        client: str = "test",
        principal: str | None = None,
        meta: Mapping[str, Any] | None = None,
        extensions: Iterable[str] = (),
    ) -> None:
        self.logs: list[Log] = []
        self.reports: list[Progress] = []
        self.requests: list[RecordedRequest] = []
        self._name, self._principal, self._meta = client, principal, meta
        self._extensions = tuple(extensions)
        self._cancelled = False
        self._samples: list[dict[str, Any] | Error] | None = None
        self._elicits: list[dict[str, Any] | Error] | None = None
        self._roots: list[Root] | None = None
        self._host = HostDouble()

    def samples(self, text: str, **more: Any) -> TestClient:
        """Lets the model respond with this text."""
        answer = {"role": "assistant", "content": {"type": "text", "text": text}, "model": "test"}
        self._samples = [*(self._samples or []), {**answer, "stopReason": "endTurn", **more}]
        return self

    def uses_tool(self, name: str, **arguments: Any) -> TestClient:
        """Lets the model want to use a tool."""
        count = len(self._samples or [])
        use = {"type": "tool_use", "id": f"use-{count + 1}", "name": name, "input": arguments}
        return self.samples("", content=[use], stopReason="toolUse")

    def fails_sampling(self, error: Error) -> TestClient:
        """Lets sampling fail like this."""
        self._samples = [*(self._samples or []), error]
        return self

    def accepts(self, **content: Any) -> TestClient:
        """Lets the person fill in the form like this."""
        return self._answers({"action": "accept", "content": content})

    def visits(self) -> TestClient:
        """Lets the person go to a web page."""
        return self._answers({"action": "accept"})

    def declines(self) -> TestClient:
        """Lets the person decline."""
        return self._answers({"action": "decline"})

    def closes(self) -> TestClient:
        """Lets the person go away."""
        return self._answers({"action": "cancel"})

    def fails_elicitation(self, error: Error) -> TestClient:
        """Lets elicitation fail like this."""
        return self._answers(error)

    def has_roots(self, *roots: str | Root) -> TestClient:
        """Lets the user have these folders."""
        self._roots = [Root(one) if isinstance(one, str) else one for one in roots]
        return self

    def denies(self) -> TestClient:
        """Lets the operator grant neither client requests nor the store."""
        self._host.denies = True
        return self

    def answers_http(self, answer: Callable[[HttpRequest], Response | str | bytes]) -> TestClient:
        """Answers requests to other hosts, which are denied otherwise: with a response or its body, or by raising."""
        self._host.answer = answer
        return self

    @property
    def http_requests(self) -> list[HttpRequest]:
        """The requests to other hosts, each with `method`, `url`, `headers`, `body`, `text()` and `json()`."""
        return self._host.requests

    @property
    def store(self) -> Store:
        """The plugin's store."""
        from .kv import Store, memory

        return Store(memory.Bucket(self._host.values))

    def has_config(
        self, settings: Mapping[str, object], secrets: Mapping[str, object] | None = None
    ) -> TestClient:
        """Sets settings and secrets of the plugin, as its operator does."""
        self._host.settings.update({key: _setting(value) for key, value in settings.items()})
        self._host.secrets.update({key: _setting(value) for key, value in (secrets or {}).items()})
        return self

    def run(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs any code of a plugin, with the store, the settings and the answers of this client."""
        with self._host.current():
            made = job(*args, **kwargs)
        return self._awaited(made) if inspect.iscoroutine(made) else made  # type: ignore[return-value]

    async def _awaited(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._host.current():
            return await coroutine

    def cancel(self) -> TestClient:
        """Lets the client lose interest, from now on."""
        self._cancelled = True
        return self

    def call(self) -> Call:
        """A call by this client."""
        return Call(self)

    def async_call(self) -> AsyncCall:
        """The same for an `async def`."""
        return AsyncCall(self)

    def invoke(self, tool: Any, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Outcome:
        """Calls a tool through JSON, as the server does.

        Arguments and structured results that do not fit the tool's schemas are rejected.
        """
        args = to_json.dumps({**(arguments or {}), **more})
        try:
            args = validated(tool.plugport.input_schema, args)
            result = self.run(tool.plugport.run, self.call(), args)
            check_result(tool.plugport.output_schema, _json(result.structured), result.is_error)
            return Outcome(result, None, self)
        except Rejected as rejected:
            return Outcome(failed(str(rejected)), None, self)
        except Error as error:
            return Outcome(ToolResult(), error, self)

    def read(self, resource: Any, uri: str | None = None, /, **variables: str) -> list[Contents]:
        """Reads a resource. One of a template needs its URI and the decoded values that the URI has for the variables."""
        return self.run(resource.plugport.read, self.call(), uri or resource.plugport.uri, variables)

    def get_prompt(self, prompt: Any, **arguments: str) -> list[Message]:
        """Gets a prompt."""
        return self.run(prompt.plugport.get, self.call(), arguments)

    def complete(self, completer: Any, value: str, **context: str) -> Completion:
        """Completes the text typed so far."""
        return self.run(completer.plugport.complete, self.call(), value, context)

    def _answers(self, answer: dict[str, Any] | Error) -> TestClient:
        self._elicits = [*(self._elicits or []), answer]
        return self

    # What a call sees.

    def client(self) -> Client:
        can = [answers is not None for answers in (self._samples, self._elicits, self._roots)]
        return Client(self._name, "0", "2026-07-28", *can, self._extensions)

    def principal(self) -> str | None:
        return self._principal

    def meta(self) -> str | None:
        return to_json.dumps(self._meta) if self._meta else None

    def cancelled(self) -> bool:
        return self._cancelled

    def log(self, level: Level, logger: str | None, data: str) -> None:
        self.logs.append(Log(level, json.loads(data), logger))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.reports.append(Progress(done, total, message))

    def detach(self, status: str | None) -> bool:
        return False  # It knows no tasks, so it waits.

    def create_message(self, key: str | None, body: str) -> str:
        self.requests.append(RecordedRequest("sampling/createMessage", json.loads(body), key))
        return self._next("sampling", self._samples)

    def elicit(self, key: str | None, body: str) -> str:
        params = json.loads(body)
        self.requests.append(RecordedRequest("elicitation/create", params, key))
        result = self._next("elicitation", self._elicits)
        self._fits(params.get("requestedSchema"), json.loads(result))
        return result

    def list_roots(self, key: str | None) -> list[Root]:
        self.requests.append(RecordedRequest("roots/list", {}, key))
        self._grants("roots")
        if self._roots is None:
            raise MissingCapability("roots")
        return list(self._roots)

    def request_inputs(self, requests: Sequence[ClientRequest[Any]]) -> list[Any]:
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: ClientRequest[Any]) -> Any:
        try:
            return answer(self, request)
        except Error as error:
            return error

    def _grants(self, capability: str) -> None:
        if self._host.denies:
            raise Denied(f"this server does not grant `{capability}` to the plugin")

    def _fits(self, form: Any, result: dict[str, Any]) -> None:
        why = form_fault(form, result.get("content")) if form and result.get("action") == "accept" else None
        if why:
            raise RpcError(-32603, f"the client's response cannot be used: {why}")

    def _next(self, capability: str, answers: list[dict[str, Any] | Error] | None) -> str:
        self._grants(capability)
        if answers is None:
            raise MissingCapability(capability)
        if not answers:
            raise Internal(f"the test has no more responses for {capability}")
        answer = answers.pop(0)
        if isinstance(answer, Error):
            raise answer
        return to_json.dumps(answer)


def _json(structured: Any) -> str | None:
    if isinstance(structured, Json):
        return structured.text
    return None if structured is None else to_json.written(structured, "structured content")


def _setting(value: object) -> str:
    """As the host has it, where all values are texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def call() -> Call:
    """A call for tests that do not read its log or its progress."""
    return TestClient().call()


def invoke(tool: Any, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Outcome:
    """Calls a tool through JSON, as the host does."""
    return TestClient().invoke(tool, arguments, **more)


def read(resource: Any, uri: str | None = None, /, **variables: str) -> list[Contents]:
    """Reads a resource as the host does."""
    return TestClient().read(resource, uri, **variables)


def get_prompt(prompt: Any, **arguments: str) -> list[Message]:
    """Gets a prompt for these arguments, as the host does."""
    return TestClient().get_prompt(prompt, **arguments)


def complete(completer: Any, value: str, **context: str) -> Completion:
    """Completes the text typed so far; `context` has the other arguments."""
    return TestClient().complete(completer, value, **context)


def changes() -> list[str]:
    """The changes given to `notify` since the last call: `tools`, for example, or the URI of a resource."""
    said = list(notify.said)
    notify.said.clear()
    return said
