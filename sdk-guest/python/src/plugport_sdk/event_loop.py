"""Runs an `async def` to its end within the call that it serves.

The loops of asyncio wait for sockets, which a component lacks: making one fails. What a coroutine waits for here is
another coroutine, a timer, a request to another host, or a request to the client. So this loop waits for the next timer
and for news of the hosts, and sends all requests to the client together once nothing else can go on: those of one
`asyncio.gather` are one round trip. A client may take minutes, in which a host would close its connection, so hosts
come first.

asyncio is large, and a plugin without `async def` should not carry it: only `coroutines` imports this module, while
the plugin is built.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Protocol, TypeVar, TypeVarTuple, Unpack

from .call import CallBackend
from .client_requests import ClientRequest, send, send_together
from .errors import Error, Internal

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# The longest that the loop waits at once, seconds; the host counts milliseconds in 32 bits.
_LONGEST = 1e6


class _Stuck(Internal):
    """Nothing can go on."""


class NewsSource(Protocol):
    """A request to another host."""

    def wait(self, requests: Any, seconds: float | None, /) -> list[int]:
        """Waits until one of the requests has news, or the time is up: the positions of those with news."""
        ...


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of the coroutine. Tasks that it leaves behind are cancelled."""
    return EventLoop().run(coroutine)  # type: ignore[abstract]


async def answer(backend: CallBackend, request: ClientRequest[T]) -> T:
    """The result of a request to the client. In another loop, that of a test for example, it is sent at once."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, EventLoop):
        return send(backend, request)
    return request.read(await loop.request(backend, request))


async def news(source: NewsSource) -> None:
    """Lets others run until there is news. In another loop nothing does, and reading from the source waits."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, EventLoop):
        await loop.news(source)


async def together(coroutines: list[Coroutine[Any, Any, T]]) -> list[T]:
    """Their results."""
    return await asyncio.gather(*coroutines)


class EventLoop(asyncio.AbstractEventLoop):
    """What asyncio needs to run tasks: timers and callbacks, but neither files, sockets nor threads."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[asyncio.TimerHandle] = []
        self._requests: list[tuple[CallBackend, ClientRequest[Any], asyncio.Future[Any]]] = []
        self._sources: list[tuple[NewsSource, asyncio.Future[None]]] = []
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs it to its end."""
        if asyncio._get_running_loop() is not None:
            coroutine.close()
            raise Internal("an `async` function runs already; `await` this one in it")
        asyncio._set_running_loop(self)
        try:
            task: asyncio.Task[T] = self.create_task(coroutine)
            while not task.done():
                self._step()
            return task.result()
        finally:
            self._cancel_all()
            self._closed = True
            asyncio._set_running_loop(None)

    def request(self, backend: CallBackend, request: ClientRequest[Any]) -> asyncio.Future[Any]:
        """The client's answer, which the loop requests when nothing else can go on."""
        future = self.create_future()
        self._requests.append((backend, request, future))
        return future

    def news(self, source: NewsSource) -> asyncio.Future[None]:
        """Done when the source has news."""
        future = self.create_future()
        self._sources.append((source, future))
        return future

    def _step(self) -> None:
        # Those that nobody awaits any more may have ended, and have no news.
        self._sources = [one for one in self._sources if not one[1].done()]
        if self._sources:
            self._take_news()
        elif not self._ready:
            self._wait()
        while (timer := self._next_timer()) and timer.when() <= self.time():
            self._ready.append(heapq.heappop(self._timers))
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _take_news(self) -> None:
        """Waits for news or for a timer, unless something else can go on."""
        seconds = None
        if self._ready:
            seconds = 0.0
        elif timer := self._next_timer():
            seconds = self._until(timer)
        first, _ = self._sources[0]
        for at in first.wait([source for source, _ in self._sources], seconds):
            self._sources[at][1].set_result(None)

    def _wait(self) -> None:
        waiting = [one for one in self._requests if not one[2].done()]
        self._requests.clear()
        if waiting:
            self._send(waiting)
        elif timer := self._next_timer():
            time.sleep(self._until(timer))
        else:
            raise _Stuck("it waits for something that never happens: no task, timer or request is left")

    def _until(self, timer: asyncio.TimerHandle) -> float:
        """Seconds until it, or fewer: one that is far away, or never comes, is waited for in several steps."""
        return min(max(0.0, timer.when() - self.time()), _LONGEST)

    def _next_timer(self) -> asyncio.TimerHandle | None:
        while self._timers and self._timers[0].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0] if self._timers else None

    def _send(self, waiting: list[tuple[CallBackend, ClientRequest[Any], asyncio.Future[Any]]]) -> None:
        outcomes = send_together(waiting[0][0], [request for _, request, _ in waiting])
        for (_, _, future), outcome in zip(waiting, outcomes):
            if isinstance(outcome, Error):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _cancel_all(self) -> None:
        """Lets the tasks that are left clean up, unless they wait for what never happens."""
        left = asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        try:
            while not all(task.done() for task in left):
                self._step()
        except _Stuck:
            pass

    # What asyncio calls.

    def time(self) -> float:
        return time.monotonic()

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: Unpack[Ts],
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: Unpack[Ts],
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It leaves the heap when it is the first."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, **options)

    def get_task_factory(self) -> None:
        return None

    def run_in_executor(
        self, executor: Any, func: Callable[[Unpack[Ts]], T], *args: Unpack[Ts]
    ) -> asyncio.Future[T]:
        """Runs it at once: there are no threads."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def is_running(self) -> bool:
        return not self._closed

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Reports what nobody awaits, on stderr."""
        print(context.get("message"), file=sys.stderr)
        if error := context.get("exception"):
            traceback.print_exception(error, file=sys.stderr)
