import asyncio
import math
import subprocess
import sys
import time
import unittest
from unittest import mock
from typing import Any

from plugport_sdk import AsyncCall, Call, ToolError, errors, host, prompt, resource, testing, tool
from plugport_sdk.testing import TestClient


def running(function, client=None, **arguments):
    return (client or TestClient()).invoke(tool(function), arguments)


@tool
async def survey(call: AsyncCall) -> str:
    """Ask for several things at once."""
    title, name, folders = await asyncio.gather(
        call.sample("A title?"), call.elicit(str, "Your name?", key="who"), call.roots()
    )
    return f"{title.text} by {name.accepted()}: {len(folders)}"


class Batches(TestClient):
    """Notes what is sent together."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def request_inputs(self, requests):
        self.batches.append([request.key for request in requests])
        return super().request_inputs(requests)


class Tools(unittest.TestCase):
    def test_a_coroutine_runs_to_its_end(self):
        async def add(a: int, b: int) -> int:
            """Add."""
            await asyncio.sleep(0)
            return a + b

        self.assertEqual(running(add, a=1, b=2).structured, 3)

    def test_tasks_run_side_by_side(self):
        said = []

        async def say(word, pause):
            await asyncio.sleep(pause)
            said.append(word)
            return word

        async def all_of_them() -> list[str]:
            """Say all."""
            late = asyncio.create_task(say("late", 0.02))
            async with asyncio.timeout(5), asyncio.TaskGroup() as group:
                group.create_task(say("second", 0.01))
                group.create_task(say("first", 0))
            return [await late, *await asyncio.gather(say("a", 0.01), say("b", 0))]

        start = time.monotonic()
        self.assertEqual(running(all_of_them).structured, ["late", "a", "b"])
        self.assertEqual(said, ["first", "second", "late", "b", "a"])
        self.assertLess(time.monotonic() - start, 2)

    def test_queues_locks_and_timeouts(self):
        async def work() -> str:
            """Work."""
            queue: asyncio.Queue[int] = asyncio.Queue(1)

            async def fill():
                for number in range(3):
                    await queue.put(number)

            task = asyncio.ensure_future(fill())
            found = [await queue.get() for _ in range(3)]
            await task
            async with asyncio.Lock():
                try:
                    await asyncio.wait_for(queue.get(), 0.01)
                except TimeoutError:
                    found.append("late")
            return f"{found} {await asyncio.to_thread(sum, [1, 2])}"

        self.assertEqual(running(work).text, "[0, 1, 2, 'late'] 3")

    def test_timers_come_while_tasks_are_busy(self):
        async def spin() -> int:
            """Spin until a timer comes."""
            rang = []
            asyncio.get_running_loop().call_later(0.01, rang.append, 1)
            turns = 0
            while not rang:
                await asyncio.sleep(0)
                turns += 1
            return turns

        self.assertGreater(running(spin).structured, 1)

    def test_timers_may_be_far_away(self):
        pauses = []

        async def wait(seconds: float) -> str:
            """Wait for long."""
            await asyncio.sleep(math.inf if seconds < 0 else seconds)
            return "?"

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) % 2 == 0:
                raise ToolError("enough")

        with mock.patch.object(time, "sleep", pause):
            self.assertEqual([running(wait, seconds=one).text for one in (1e12, -1)], ["enough"] * 2)
        self.assertTrue(pauses and all(one == 1e6 for one in pauses), pauses)

    def test_what_never_happens_is_said(self):
        ended = []

        async def wait() -> str:
            """Wait."""
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        outcome = running(wait)
        self.assertIsInstance(outcome.error, errors.Internal)
        self.assertIn("waits for something that never happens", outcome.text)
        self.assertEqual(ended, [True])

    def test_tasks_that_are_left_are_cancelled(self):
        cancelled = []

        async def leave() -> str:
            """Leave a task behind."""

            async def rest():
                try:
                    await asyncio.sleep(100)
                except asyncio.CancelledError:
                    cancelled.append(True)
                    raise

            asyncio.ensure_future(rest())
            await asyncio.sleep(0)
            return "done"

        self.assertEqual((running(leave).text, cancelled), ("done", [True]))

    def test_failures_are_those_of_other_tools(self):
        async def fail(how: str) -> str:
            """Fail."""
            await asyncio.sleep(0)
            if how == "told":
                raise ToolError("Say a city.")
            return str(1 // 0)

        self.assertEqual(running(fail, how="told").text, "Say a city.")
        self.assertEqual(running(fail, how="").text, "integer division or modulo by zero")
        self.assertIn("Traceback", running(fail, how="").logs[0].data)

    def test_one_loop_runs_at_a_time(self):
        @tool
        async def inner() -> str:
            """Be inside."""
            return "inside"

        async def outer() -> str:
            """Run another as the host does."""
            return testing.invoke(inner).text

        self.assertIn("`await` this one in it", running(outer).text)
        self.assertEqual(testing.invoke(inner).text, "inside")


class Requests(unittest.TestCase):
    def test_those_of_one_gather_are_sent_together(self):
        client = Batches().samples("Folders").accepts(value="Ada").has_roots("file:///a")
        self.assertEqual(client.invoke(survey).text, "Folders by Ada: 1")
        self.assertEqual(client.batches, [[None, "who", None]])

    def test_one_alone_is_sent_alone(self):
        async def ask(call: AsyncCall) -> str:
            """Ask one after the other."""
            first = await call.sample("1?")
            return f"{first.text} {(await call.sample('2?', key='two')).text}"

        client = Batches().samples("1").samples("2")
        self.assertEqual(running(ask, client).text, "1 2")
        self.assertEqual((client.batches, [one.key for one in client.requests]), ([], [None, "two"]))

    def test_each_has_its_own_error(self):
        async def ask(call: AsyncCall) -> list[str]:
            """Ask for what the client lacks."""
            answers = await asyncio.gather(call.sample("?"), call.roots(), return_exceptions=True)
            return [type(one).__name__ for one in answers]

        self.assertEqual(
            running(ask, Batches().samples("a")).structured, ["CreateMessageResult", "MissingCapability"]
        )
        self.assertIsInstance(testing.invoke(survey).error, errors.MissingCapability)

    def test_a_request_that_nobody_awaits_any_more_is_not_sent(self):
        async def leave(call: AsyncCall) -> str:
            """Ask, and think better of it."""
            task = asyncio.ensure_future(call.sample("?"))
            await asyncio.sleep(0)
            task.cancel()
            return "done"

        client = TestClient().samples("a")
        self.assertEqual((running(leave, client).text, client.requests), ("done", []))

    def test_a_call_that_waits_may_be_used_too(self):
        async def ask(call: Call) -> str:
            """Ask and wait."""
            return call.sample("?").text

        self.assertEqual(running(ask, TestClient().samples("a")).text, "a")

    def test_the_host_gets_them_as_it_wants_them(self):
        made: dict[str, Any] = {}

        class Inputs:
            InputRequest = staticmethod(lambda key, body: (key, body))
            Body_CreateMessage = staticmethod(lambda body: "create-message")
            Body_Elicit = staticmethod(lambda body: "elicit")
            Body_ListRoots = staticmethod(lambda: "list-roots")

            @staticmethod
            def request_inputs(handle, requests):
                made["sent"] = requests
                answers = [
                    '{"role":"assistant","content":{"type":"text","text":"T"},"model":"m"}',
                    '{"action":"accept","content":{"value":"Ada"}}',
                    '{"roots":[{"uri":"file:///a"}]}',
                ]
                return [mock.Mock(outcome=mock.Mock(value=one)) for one in answers]

        class Err(Exception):
            pass

        with mock.patch.multiple(host, inputs=Inputs, component=mock.Mock(Err=Err)):
            text = survey.plugport.run(Call(host.HostCallBackend(None)), "{}").content[0].text
        self.assertEqual(text, "T by Ada: 1")
        self.assertEqual(
            made["sent"], [("input-1", "create-message"), ("who", "elicit"), ("input-2", "list-roots")]
        )


class Others(unittest.IsolatedAsyncioTestCase):
    async def test_a_test_may_await_the_function_itself(self):
        client = TestClient().samples("Folders").accepts(value="Ada").has_roots()
        self.assertEqual(await survey(client.async_call()), "Folders by Ada: 0")

    def test_resources_and_prompts_may_be_async(self):
        @resource("async://{word}")
        async def word(word: str) -> str:
            return word

        @prompt
        async def greet(call: AsyncCall, name: str) -> str:
            """Greet."""
            return f"Greet {name} in {(await call.roots())[0].uri}."

        self.assertEqual(testing.read(word, "async://a", word="a")[0].data, "a")
        self.assertEqual(
            TestClient().has_roots("x:").get_prompt(greet, name="Ada")[0].content, "Greet Ada in x:."
        )


class Loops(unittest.TestCase):
    def test_nobody_hears_of_an_error_but_the_servers_log(self):
        async def lose() -> str:
            """Lose an error."""
            asyncio.get_running_loop().call_soon(lambda: 1 // 0)
            await asyncio.sleep(0)
            return "done"

        with mock.patch("sys.stderr") as stderr:
            self.assertEqual(running(lose).text, "done")
        self.assertIn("ZeroDivisionError", str(stderr.write.mock_calls))

    def test_a_plugin_without_async_need_not_carry_asyncio(self):
        program = "import sys, plugport_sdk; assert 'asyncio' not in sys.modules"
        subprocess.run([sys.executable, "-B", "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


if __name__ == "__main__":
    unittest.main()
