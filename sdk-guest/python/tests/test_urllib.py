import sys
import unittest
from unittest import mock
from urllib import request as urllib_request
from urllib.error import HTTPError, URLError

from plugport_sdk import completions, errors, exports, host, http, prompts, resources, tools, urllib_opener
from plugport_sdk.http.urllib_handler import HostHandler
from plugport_sdk.testing import TestClient

URL = "https://a.test/x"


class Urllib(unittest.TestCase):
    def setUp(self):
        patched = [mock.patch.object(one, "found", []) for one in (tools, resources, prompts, completions)]
        for patch in (*patched, mock.patch.object(urllib_request, "_opener", None)):
            patch.start()
            self.addCleanup(patch.stop)

    def open(self, client, *given, **options):
        exports()
        return client.run(urllib_request.urlopen, *given, **options)

    def test_a_page_is_opened(self):
        client = TestClient().answers_http(lambda _: http.Response(200, "a\nb\n", {"Content-Type": "text/x"}))
        with self.open(client, URL, timeout=2) as page:
            self.assertEqual((page.status, page.reason, page.url), (200, "OK", URL))
            self.assertEqual((page.headers["content-type"], page.getheader("content-TYPE")), ("text/x", "text/x"))
            self.assertEqual(([*page], page.read()), ([b"a\n", b"b\n"], b""))
        (request,) = client.http_requests
        self.assertIn("Python-urllib", request.headers["user-agent"])
        self.assertEqual({"host", "connection", "content-length"} & set(request.headers), set())

    def test_data_is_posted(self):
        client = TestClient().answers_http(lambda request: request.body)
        request = urllib_request.Request(URL, data=b"a=b", headers={"X-A": "b"})
        self.assertEqual(self.open(client, request).read(), b"a=b")
        self.assertEqual(self.open(client, URL, data=iter([b"a", b"b"])).read(), b"ab")
        first, _ = client.http_requests
        self.assertEqual((first.method, first.headers["x-a"]), ("POST", "b"))
        self.assertEqual(first.headers["content-type"], "application/x-www-form-urlencoded")

    def test_redirects_are_followed_and_errors_are_those_of_urllib(self):
        def answer(request):
            if request.url == URL:
                return http.Response(302, headers={"location": "/y"})
            return http.Response(404, "gone")

        client = TestClient().answers_http(answer)
        with self.assertRaises(HTTPError) as caught:
            self.open(client, URL)
        error = caught.exception
        self.assertEqual((error.code, error.reason, error.url), (404, "Not Found", "https://a.test/y"))
        self.assertEqual(error.read(), b"gone")

    def test_a_redirect_may_have_any_characters(self):
        for location, url in (
            ("/日本", "https://a.test/%E6%97%A5%E6%9C%AC"),
            ("/é?a=%20&b=[1]#c", "https://a.test/%C3%A9?a=%20&b=[1]#c"),
        ):
            answers = iter([http.Response(302, headers={"Location": location}), http.Response(200)])
            client = TestClient().answers_http(lambda _: next(answers))
            with self.subTest(location=location):
                self.assertEqual(self.open(client, URL).url, url)

    def test_a_failure_is_the_reason(self):
        with self.assertRaises(URLError) as caught:
            self.open(TestClient(), URL)
        self.assertEqual(caught.exception.reason.grant, 'http = ["GET https://a.test"]')
        self.assertIsInstance(errors.handed_on(caught.exception), http.Denied)
        with self.assertRaisesRegex(URLError, "unknown url type"):
            self.open(TestClient(), "gopher://a.test/")

    def test_an_opener_of_the_authors_own_may_have_the_handler(self):
        client = TestClient().answers_http(lambda _: "hello")
        opener = urllib_request.build_opener(HostHandler)
        urllib_request.install_opener(opener)
        exports()
        self.assertIs(urllib_request._opener, opener)
        self.assertEqual(client.run(opener.open, URL).read(), b"hello")

    def test_without_the_world_the_error_says_what_to_write(self):
        def missing(name, world):
            raise host.MissingWorld(world)

        kept = {name: module for name, module in sys.modules.items() if name.startswith("plugport_sdk.http")}
        with (
            mock.patch.dict(sys.modules, dict.fromkeys(kept)),
            mock.patch.object(host, "interface", missing),
            mock.patch.object(host, "wit", object()),
        ):
            for name in kept:
                del sys.modules[name]
            urllib_opener.install()
        with self.assertRaisesRegex(URLError, 'worlds = \\["http"\\]'):
            urllib_request.urlopen(URL)


if __name__ == "__main__":
    unittest.main()
