import asyncio
import io
import json
import math
import tracemalloc
import unittest
from types import SimpleNamespace
from unittest import mock

from plugport_sdk import ToolError, config, errors, from_json, host, http, testing, tool
from plugport_sdk.http import host as http_host
from plugport_sdk.http import round_trip
from plugport_sdk.testing import TestClient

URL = "https://a.test/x"


def answering(answer="hello"):
    return TestClient().answers_http(lambda request: answer)


class Requests(unittest.TestCase):
    def test_a_response_has_a_status_headers_and_a_body(self):
        client = answering(http.Response(404, '{"a": "ü"}', {"Content-Type": "application/json"}))
        response = client.run(http.get, URL, headers={"Accept": "*/*"})
        self.assertEqual((response.status, response.ok, response.truncated), (404, False, False))
        self.assertEqual(response.headers["CONTENT-type"], "application/json")
        self.assertEqual((response.body, response.text()), ('{"a": "ü"}'.encode(), '{"a": "ü"}'))
        self.assertEqual(response.json(), {"a": "ü"})
        (request,) = client.http_requests
        self.assertEqual((request.method, request.url, request.headers["accept"]), ("GET", URL, "*/*"))

    def test_bodies_are_texts_bytes_json_files_and_pieces(self):
        client = answering()
        for body in ("aü", "aü".encode(), bytearray("aü".encode()), io.BytesIO("aü".encode()), ["a", b"\xc3\xbc"]):
            client.run(http.post, URL, body)
        client.run(http.post, URL, json={"a": ["ü"]})
        client.run(http.request, "put", URL, body=iter(["a" * 100_000]), length=100_000)
        *same, encoded, long = client.http_requests
        self.assertEqual([one.text() for one in same], ["aü"] * 5)
        self.assertEqual((encoded.json(), encoded.headers["content-type"]), ({"a": ["ü"]}, "application/json"))
        self.assertEqual((long.method, len(long.body)), ("PUT", 100_000))

    def test_what_is_no_body_is_said(self):
        client = answering()
        for options, words in (
            ({"body": 5}, "the body must be a text, bytes, a file or pieces"),
            ({"body": {"a": 1}}, "of the type `dict`"),
            ({"body": [5]}, "a piece of the body must be a text or bytes"),
            ({"body": "a", "json": 1}, "either `body` or `json`"),
            ({"headers": {"a": 5}}, "the header field `a` must be a text"),
            ({"timeout": "long"}, "`timeout` must be a finite number"),
            ({"body": ["abc"], "length": 2}, "its body is longer than was said"),
            ({"body": ["abc"], "length": 4}, "its body is shorter than was said"),
        ):
            with self.subTest(options=options), self.assertRaisesRegex(errors.Internal, words):
                client.run(http.post, URL, **options)

    def test_a_body_is_read_up_to_a_maximum(self):
        read = lambda size: answering("0123456789" * 20_000).run(http.get, URL, max_body=size)
        self.assertEqual((read(4).body, read(4).truncated), (b"0123", True))
        self.assertEqual((len(read(200_000).body), read(200_000).truncated), (200_000, False))

    def test_a_text_is_of_its_charset(self):
        for kind, body, text in (
            ("text/plain; charset=ISO-8859-1", b"\xfc", "ü"),
            ('text/plain; a=b; Charset="latin-1"', b"\xfc", "ü"),
            ("text/plain", b"\xc3\xbc\xff", "ü\ufffd"),
            ("text/plain; charset=none", b"\xc3\xbc", "ü"),
            ("text/plain; charset=a\0b", b"a", "a"),
        ):
            self.assertEqual(http.Response(200, body, {"content-type": kind}).text(), text)

    def test_a_codec_that_is_no_charset_is_not_used(self):
        for charset in (
            "punycode", "PunyCode", "idna", "undefined", "raw_unicode_escape", "unicode-escape", "unicode_escape",
            "utf-7", "base64",
        ):
            with self.subTest(charset=charset):
                headers = {"content-type": f"text/plain; charset={charset}"}
                body = "a-ü\\ud800+2AA-"
                self.assertEqual(http.Response(200, body, headers).text(), body)

    def test_several_fields_of_one_name_are_joined(self):
        headers = http.Headers([("Set-Cookie", "a"), ("set-cookie", "b"), ("X", "y")])
        self.assertEqual((headers["SET-COOKIE"], headers.get_all("set-cookie")), ("a, b", ["a", "b"]))
        self.assertEqual((list(headers), len(headers), headers.get("z")), (["set-cookie", "x"], 2, None))
        self.assertIn("x", headers)

    def test_a_stream_is_read_as_it_comes(self):
        def read():
            with http.stream("GET", URL) as stream:
                start = stream.read(3)
                pieces = list(stream)
            return stream.status, start, pieces, stream.read()

        status, start, pieces, after = answering("x" * 100_000).run(read)
        self.assertEqual((status, start, [len(one) for one in pieces], after), (200, b"xxx", [65533, 34464], b""))

    def test_few_bytes_of_a_stream_are_read_many_times(self):
        body = bytes(number % 251 for number in range(150_000))

        def read():
            with http.stream("GET", URL) as stream:
                few = [stream.read(7) for _ in range(10_000)]
                some = [stream.read1(3), stream.read1(100_000), stream.read(0), stream.read(5)]
                return b"".join((*few, *some, next(iter(stream)), stream.read(), stream.read(1), stream.read1(1)))

        self.assertEqual(answering(http.Response(200, body)).run(read), body)

    def test_the_rest_of_a_piece_is_not_copied(self):
        sent = mock.Mock()
        sent.read.return_value = bytes(1 << 20)
        reader = round_trip.Reader(sent, round_trip.at_once)
        self.assertEqual(round_trip.now(reader.read(3)), bytes(3))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        round_trip.now(reader.read(3))
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 16)

    def test_a_stream_is_closed_in_any_case(self):
        def leave():
            with http.stream("GET", URL) as stream:
                raise ValueError("enough")

        with self.assertRaisesRegex(ValueError, "enough"):
            answering().run(leave)

    def test_several_are_sent_at_once(self):
        client = TestClient().answers_http(lambda request: request.url[-1])
        urls = [f"https://a.test/{number % 10}" for number in range(40)]
        found = client.run(http.fetch_all, [*urls, http.Request("POST", "https://b.test/p", body="x")])
        self.assertEqual("".join(one.text() for one in found), "0123456789" * 4 + "p")

    def test_the_first_failure_of_several_is_raised_or_returned(self):
        def answer(request):
            if request.url.endswith("no"):
                raise http.Failed("unreachable")
            return "yes"

        client = TestClient().answers_http(answer)
        urls = ["https://a.test/", "https://a.test/no", "ftp://a.test/"]
        with self.assertRaises(http.Failed):
            client.run(http.fetch_all, urls)
        found = client.run(http.fetch_all, urls, return_exceptions=True)
        self.assertEqual(found[0].text(), "yes")
        self.assertEqual([one.kind for one in found[1:]], ["unreachable", "invalid"])


class Failures(unittest.TestCase):
    def test_without_an_answer_requests_are_denied(self):
        @tool
        def fetch() -> str:
            """Fetch."""
            return http.get("https://B.test:8443/x?y").text()

        client = TestClient()
        outcome = client.invoke(fetch)
        said = "this server does not grant the request GET https://b.test:8443 to the plugin"
        self.assertEqual((outcome.is_error, outcome.text), (True, said))
        self.assertEqual(outcome.error.grant, 'http = ["GET https://b.test:8443"]')
        self.assertEqual(outcome.error.request, "GET https://b.test:8443")
        self.assertIsInstance(outcome.error, errors.Denied)
        self.assertEqual(len(client.http_requests), 1)

    def test_what_cannot_be_sent_is_said(self):
        for url in ("nowhere", "ftp://a.test/", "https://", "https://u:p@a.test/", "https://a.test/ü", "http://[/"):
            with self.subTest(url=url), self.assertRaisesRegex(http.Failed, "^the request cannot be sent: "):
                answering().run(http.get, url)

    def test_an_answer_may_fail(self):
        for failure, words in (
            (http.OverLimit("http_requests"), "beyond what this server allows (limit `http_requests`)"),
            (http.PrivateAddress(), "leads to an address that is not public"),
            (http.TimedOut(), "the host took too long to answer"),
            (http.Failed("broken", "it broke off"), "the answer is broken: it broke off"),
        ):
            def fail(request, failure=failure):
                raise failure

            with self.assertRaises(type(failure)) as caught:
                TestClient().answers_http(fail).run(http.get, URL)
            self.assertIn(words, str(caught.exception))
        self.assertIsInstance(http.TimedOut(), TimeoutError)

    def test_there_is_no_host_beside_a_client(self):
        for use in (lambda: http.get(URL), lambda: config.get("a")):
            with self.assertRaisesRegex(errors.Internal, "through a `TestClient`"):
                use()


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_a_test_may_await_the_function_itself(self):
        async def fetch(*urls):
            return await asyncio.gather(*(http.async_get(url) for url in urls))

        client = TestClient().answers_http(lambda request: request.url[-1])
        found = await client.run(fetch, "https://a.test/1", "https://a.test/2")
        self.assertEqual([one.text() for one in found], ["1", "2"])

    async def test_each_client_answers_its_own(self):
        async def fetch():
            await asyncio.sleep(0)
            return (await http.async_post(URL, "x")).text()

        clients = [answering(name) for name in ("a", "b")]
        self.assertEqual(await asyncio.gather(*(one.run(fetch) for one in clients)), ["a", "b"])

    async def test_bodies_go_and_come_in_pieces(self):
        async def pieces():
            for piece in ("a", b"b"):
                await asyncio.sleep(0)
                yield piece

        async def send():
            async with http.async_stream("POST", URL, body=pieces()) as stream:
                return stream.status, await stream.read(2), [piece async for piece in stream]

        client = answering(http.Response(201, "hello"))
        self.assertEqual(await client.run(send), (201, b"he", [b"llo"]))
        self.assertEqual(client.http_requests[0].body, b"ab")
        with self.assertRaisesRegex(errors.Internal, "`async_request`"):
            client.run(http.post, URL, pieces())


class Interface:
    """Stands in for the host's interface: each request has news when its time has come."""

    def __init__(self, **bodies):
        self.bodies = bodies
        self.time = 0
        self.waits = []
        self.open = set()
        self.Request = lambda *given: SimpleNamespace(**dict(zip(("method", "url", "headers", "body", "ms"), given)))
        self.Body_Bytes = lambda value: value
        self.Body_Pieces = lambda length: ("pieces", length)

    def send(self, request):
        self.open.add(request.url)
        return Handle(self, request.url)

    def wait(self, handles, ms):
        self.waits.append(([handle.url for handle in handles], ms))
        for handle in handles:
            assert handle.url in self.open, "a handle that was dropped ends the instance"
        if ms == 0:
            return []
        self.time += 1
        return [at for at, handle in enumerate(handles) if handle.due <= self.time]


class Handle:
    def __init__(self, interface, url):
        self.interface, self.url = interface, url
        self.due, *self.pieces = interface.bodies[url]

    def response(self):
        assert self.due <= self.interface.time, "it would wait, and nothing else could go on"
        return SimpleNamespace(status=200, headers=[])

    def read(self):
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, type):
            raise Err(piece())
        return piece

    def __exit__(self, *_):
        self.interface.open.remove(self.url)


class Err(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


class Failure_TimedOut:
    pass


def inside(interface):
    """As in a component."""
    return (
        mock.patch.object(round_trip, "backend", http_host),
        mock.patch.object(http_host, "wit", interface),
        mock.patch.object(host, "component", SimpleNamespace(Err=Err)),
    )


def running(function, interface, **arguments):
    first, second, third = inside(interface)
    with first, second, third:
        return testing.invoke(tool(function), arguments)


class InComponents(unittest.TestCase):
    def test_what_is_awaited_together_is_under_way_together(self):
        async def fetch() -> str:
            """Fetch."""
            found = await asyncio.gather(*(http.async_get(url) for url in ("late", "soon")))
            return " ".join(one.text() for one in found)

        interface = Interface(late=(2, b"l", b"ate"), soon=(1, b"soon"))
        self.assertEqual(running(fetch, interface).text, "late soon")
        self.assertEqual(interface.waits[0], (["late", "soon"], None))
        self.assertEqual(interface.open, set())

    def test_a_list_is_under_way_together_without_a_loop(self):
        def fetch(urls: list[str]) -> str:
            """Fetch."""
            return " ".join(one.text() for one in http.fetch_all(urls))

        interface = Interface(late=(3, b"l", b"ate"), soon=(1, b"soon"))
        self.assertEqual(running(fetch, interface, urls=["late", "soon"]).text, "late soon")
        self.assertEqual(interface.waits[:2], [(["late", "soon"], None)] * 2)
        self.assertEqual(interface.open, set())

        many = Interface(**{str(number): (0, b"x") for number in range(100)})
        self.assertEqual(running(fetch, many, urls=[*many.bodies]).text, "x " * 99 + "x")
        self.assertEqual(max(len(urls) for urls, _ in many.waits), 32)

    def test_the_first_failure_ends_the_others(self):
        def fetch() -> str:
            """Fetch."""
            return str(http.fetch_all(["late", "fails", "never"]))

        interface = Interface(late=(5, b"late"), fails=(1, Failure_TimedOut), never=(99,))
        self.assertIsInstance(running(fetch, interface).error, http.TimedOut)
        self.assertEqual(interface.open, set())

    def test_timers_and_busy_tasks_go_on(self):
        async def fetch() -> str:
            """Fetch."""
            turns = 0
            task = asyncio.create_task(http.async_get("a"))
            asyncio.get_running_loop().call_later(60, print)
            while turns < 3:
                await asyncio.sleep(0)
                turns += 1
            return (await task).text()

        interface = Interface(a=(1, b"text"))
        self.assertEqual(running(fetch, interface).text, "text")
        times = [ms for _, ms in interface.waits]
        self.assertIn(0, times)
        self.assertTrue(50_000 < max(times) <= 60_000, times)

    def test_timers_may_be_far_away(self):
        for pause in (1e8, math.inf):

            async def fetch() -> str:
                """Fetch."""
                task = asyncio.create_task(asyncio.sleep(pause))
                found = await http.async_get("a")
                task.cancel()
                return found.text()

            interface = Interface(a=(3, b"text"))
            with self.subTest(pause=pause):
                self.assertEqual(running(fetch, interface).text, "text")
                self.assertEqual(max(ms for _, ms in interface.waits), 10**9)

        with mock.patch.object(http_host, "wit", Interface()) as interface:
            http_host.Sent.wait([], math.inf)
        self.assertEqual(interface.waits, [([], 10**9)])

    def test_a_stream_may_be_closed_while_another_task_reads_it(self):
        async def fetch() -> str:
            """Fetch."""
            other = asyncio.create_task(http.async_get("b"))
            async with http.async_stream("GET", "a") as stream:
                reading = asyncio.create_task(stream.read())
                await asyncio.sleep(0)
                stream.close()
                try:
                    await reading
                except http.Failure as failure:
                    return f"{failure}; {(await other).text()}"
            return "?"

        interface = Interface(a=(1, b"never"), b=(3, b"text"))
        self.assertEqual(running(fetch, interface).text, "the answer is broken: its body was closed; text")
        self.assertEqual(interface.open, set())

    def test_a_stream_that_was_closed_between_two_pieces_does_not_look_whole(self):
        async def fetch() -> str:
            """Fetch."""
            found = []
            async with http.async_stream("GET", "a") as stream:
                try:
                    async for piece in stream:
                        found.append(piece.decode())
                        stream.close()
                except http.Failure as failure:
                    return f"{found}; {failure}"
            return f"{found} looks whole"

        interface = Interface(a=(1, b"begin", b"end"))
        self.assertEqual(running(fetch, interface).text, "['begin']; the answer is broken: its body was closed")
        self.assertEqual(interface.open, set())

    def test_two_tasks_that_wait_for_one_stream_see_its_end(self):
        async def fetch() -> str:
            """Fetch."""
            other = asyncio.create_task(http.async_get("b"))
            async with http.async_stream("GET", "a") as stream:
                found = await asyncio.gather(stream.read(), stream.read())
            return f"{found} {(await other).text()}"

        interface = Interface(a=(1,), b=(3, b"text"))
        self.assertEqual(running(fetch, interface).text, "[b'', b''] text")
        self.assertEqual(interface.open, set())

    def test_a_time_out_ends_the_request(self):
        async def fetch() -> str:
            """Fetch."""
            try:
                async with asyncio.timeout(0):
                    await http.async_get("a")
            except TimeoutError:
                return "too late"
            return "?"

        interface = Interface(a=(100,))
        self.assertEqual((running(fetch, interface).text, interface.open), ("too late", set()))

    def test_a_failure_is_of_its_type(self):
        def fetch() -> str:
            """Fetch."""
            try:
                return http.get("a").text()
            except TimeoutError as error:
                raise ToolError(f"sorry: {error}") from None

        interface = Interface(a=(0, b"half", Failure_TimedOut))
        self.assertEqual(running(fetch, interface).text, "sorry: the host took too long to answer")
        self.assertEqual(interface.open, set())

    def test_every_failure_of_the_host_is_known(self):
        for name, value, kind in (
            ("Failure_Denied", SimpleNamespace(request="GET https://a", grant="x"), "denied"),
            ("Failure_PrivateAddress", None, "private-address"),
            ("Failure_Invalid", "why", "invalid"),
            ("Failure_UnknownHost", None, "unknown-host"),
            ("Failure_Unreachable", None, "unreachable"),
            ("Failure_Tls", None, "tls"),
            ("Failure_TimedOut", None, "timed-out"),
            ("Failure_OverLimit", "http_ms", "over-limit"),
            ("Failure_Unsent", "why", "unsent"),
            ("Failure_Broken", "why", "broken"),
        ):
            failure = http_host._received(type(name, (), {"value": value})())
            self.assertEqual(failure.kind, kind)

    def test_a_component_without_the_interface_says_what_to_write(self):
        with mock.patch.object(host, "wit", SimpleNamespace()), self.assertRaises(ImportError) as missing:
            host.interface("http_client", "http")
        self.assertIn('worlds = ["http"] below [tool.plugport] in pyproject.toml', str(missing.exception))

    def test_nothing_is_sent_while_the_plugin_is_built(self):
        with mock.patch.multiple(host, wit=SimpleNamespace(), _is_live=False):
            with self.assertRaisesRegex(errors.Internal, "while the plugin is built"):
                http_host.send(http.Request("GET", URL))


class Json(unittest.TestCase):
    def test_what_is_nested_too_deeply_is_no_json(self):
        for text in ("[" * 201 + "]" * 201, '{"a":' * 5000 + "1" + "}" * 5000, "[" * 5000, '["\\"' * 300 + '"'):
            with self.subTest(text=text[:9]), self.assertRaises(ValueError):
                from_json.loads(text)
        self.assertIn("nested more than 200", self.message("[" * 100_000))

    def test_brackets_in_texts_and_beside_each_other_are_none_too_deep(self):
        for value in (["[" * 500, '"[\\'], [[]] * 500, {"a\\": '\\"' + "{" * 500}, [{"ü": [1, {}]}] * 300):
            for ascii in (True, False):
                text = json.dumps(value, ensure_ascii=ascii)
                self.assertEqual(from_json.loads(text), value)
        deep = "[" * 200 + "]" * 200
        self.assertEqual(json.dumps(from_json.loads(deep)), deep)

    def message(self, text):
        with self.assertRaises(ValueError) as caught:
            http.Response(200, text).json()
        return str(caught.exception)


if __name__ == "__main__":
    unittest.main()
