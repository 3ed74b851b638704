import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from plugport_sdk import (
    Call,
    Client,
    Completion,
    Contents,
    Embedded,
    Image,
    Link,
    Message,
    Text,
    ToolResult,
    errors,
    host,
    notify,
    tasks,
    testing,
)
from plugport_sdk.exports import _guarded

HALF = "\ud83d"


class Bindings:
    """Stands in for a generated module: whatever is made of it is its name and what it was given."""

    Role = {"USER": "user", "ASSISTANT": "assistant"}

    def __getattr__(self, name):
        return lambda *given: (name, *given)


class Err(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


def inside():
    """As in a component."""
    made = {name: Bindings() for name in ("completions", "prompts", "resources", "tools", "wit")}
    return mock.patch.multiple(host, component=SimpleNamespace(Err=Err), **made)


def flat(value):
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from flat(one)
    else:
        yield value


class Worlds(unittest.TestCase):
    def test_a_world_that_lacks_an_interface_is_an_error(self):
        exported = "completions = prompts = resources = tools = None\n"
        imported = "changes = elicitation = inputs = request = roots = sampling = types = None\n"
        self.assertEqual(self.imported(exported, imported), "")
        self.assertIn("cannot import name 'roots'", self.imported(exported, imported.replace("roots = ", "")))

    def imported(self, exports, imports):
        """What an import of the SDK says, in a component with these generated modules."""
        with tempfile.TemporaryDirectory() as folder:
            world = Path(folder) / "wit_world"
            world.mkdir()
            (world / "__init__.py").touch()
            (world / "exports.py").write_text(exports)
            (world / "imports.py").write_text(imports)
            (Path(folder) / "componentize_py_types.py").touch()
            paths = os.pathsep.join([folder, *filter(None, sys.path)])
            command = [sys.executable, "-c", "import plugport_sdk.host"]
            ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
            return ran.stderr


class Clients(unittest.TestCase):
    def test_a_client_is_what_the_host_says(self):
        said = SimpleNamespace(
            name="ide", version="1", protocol="2026-07-28", sampling=True, elicitation=False, roots=True,
            extensions=["io.modelcontextprotocol/ui"],
        )  # fmt: skip
        found = host.HostCallBackend(SimpleNamespace(client=lambda: said)).client()
        expected = Client("ide", "1", "2026-07-28", True, False, True, ("io.modelcontextprotocol/ui",))
        self.assertEqual(found, expected)

    def test_a_call_detaches_by_the_interface_that_its_component_has(self):
        detached = []
        interface = SimpleNamespace(detach=lambda *given: detached.append(given) or True)
        call = Call(host.HostCallBackend("handle"))
        with mock.patch.object(host, "interface", lambda *_: interface):
            self.assertIs(tasks.detach(call, HALF), True)
            self.assertIs(tasks.detach(call), True)
        self.assertEqual(detached, [("handle", "\ufffd"), ("handle", None)])


class Results(unittest.TestCase):
    def test_halves_of_a_surrogate_pair_are_replaced_wherever_they_stand(self):
        pieces = [
            Text(HALF, last_modified=HALF, extra={HALF: HALF}),
            Image(b"", HALF),
            Link(HALF, HALF, HALF, HALF, HALF),
            Embedded(Contents(HALF, HALF, HALF)),
        ]
        with inside():
            made = [
                host.tool_result(ToolResult(pieces, {HALF: HALF}, extra={HALF: HALF})),
                host.prompt_result([Message.user(HALF)]),
                host.completion(Completion([HALF])),
            ]
        texts = [one for one in flat(made) if isinstance(one, str)]
        self.assertEqual("".join(texts).count("\ufffd"), 19)
        for one in texts:
            one.encode()

    def test_two_halves_are_the_character_that_they_make(self):
        with inside():
            made = host.content_of(Text("\ufeffü \ud83d\ude00 \ude00"))
        self.assertEqual(made[1], ("ContentData_Text", "\ufeffü \U0001f600 \ufffd"))

    def test_other_types_are_said_in_words(self):
        for piece, words in (
            (Text(5), "the text of a `Text` must be a text, but it is of the type `int`"),
            (Image("abc", "image/png"), "the data of `Image` must be bytes, but it is of the type `str`"),
            (Image(b"", 5), "the `mime_type` of `Image` must be a text"),
            (Text("a", priority="high"), "`priority` must be a finite number"),
            (Text("a", priority=float("nan")), "`priority` must be a finite number"),
            (Text("a", audience=["me"]), "a role must be `user` or `assistant`, not 'me'"),
            (Text("a", last_modified=5), "`last_modified` must be a text"),
            (Link("a:b", 5), "the `name` of a link must be a text"),
            (Embedded(Contents(5)), "the data of `Contents` must be a text or bytes"),
            (5, "`int` is no content"),
        ):
            with self.subTest(piece=piece), inside(), self.assertRaises(errors.Internal) as caught:
                host.content_of(piece)
            self.assertIn(words, str(caught.exception))

    def test_what_can_be_meant_is_taken(self):
        with inside():
            self.assertEqual(host.content_of(Image(bytearray(b"a"), "a/b"))[1][1], ("Media", b"a", "a/b"))
            self.assertIs(host.tool_result(ToolResult(is_error="yes"))[3], True)
            found = host.completion(Completion(["a"], 2**40, "yes"))
            self.assertEqual(found, ("Completion", ["a"], 2**32 - 1, True))
            for wrong in (Completion([1]), Completion([], -3.5), Completion([], -1)):
                with self.assertRaises(errors.Internal):
                    host.completion(wrong)


class Lazy(errors.NotFound):
    def __init__(self):
        pass


class LazyRpc(errors.RpcError):
    def __init__(self):
        pass


class Broken(errors.NotFound):
    @property
    def message(self):
        raise ValueError("no message")

    @message.setter
    def message(self, _):
        pass


class Doubtful(errors.NotFound):
    def __bool__(self):
        raise ValueError("neither")


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words")


def rejected(error):
    def fail():
        raise error

    with inside(), unittest.TestCase().assertRaises(Err) as caught:
        _guarded(fail)
    return caught.exception.value


class HostErrors(unittest.TestCase):
    def test_no_error_is_too_strange_to_be_sent(self):
        for error, expected in (
            (errors.NotFound(HALF), ("Error_NotFound", "\ufffd")),
            (errors.NotFound(5), ("Error_NotFound", "5")),
            (Lazy(), ("Error_NotFound", "Lazy")),
            (Broken("a"), ("Error_Internal", "Broken")),
            (Doubtful("a"), ("Error_NotFound", "a")),
            (Wordless(), ("Error_Internal", "Wordless")),
            (ValueError(HALF), ("Error_Internal", "\ufffd")),
            (errors.TimedOut(), ("Error_TimedOut",)),
        ):
            with self.subTest(error=type(error)):
                self.assertEqual(rejected(error), expected)

    def test_json_rpc_errors_are_made_to_fit(self):
        for error, expected in (
            (errors.RpcError(1, "m", {"a": HALF}), (1, "m", '{"a":"\ufffd"}')),
            (errors.RpcError(2**40, "m"), (2**31 - 1, "m", None)),
            (errors.RpcError(-(2**40), "m"), (-(2**31), "m", None)),
            (errors.RpcError("1", 5), (-32603, "5", None)),
            (
                errors.RpcError(1, "m", object()),
                (1, "m", '"a value of the type `object` has no place in JSON"'),
            ),
            (LazyRpc(), (-32603, "LazyRpc", None)),
        ):
            with self.subTest(error=type(error)):
                self.assertEqual(rejected(error), ("Error_Rpc", ("RpcError", *expected)))

    def test_streams_may_be_closed(self):
        closed = SimpleNamespace(flush=mock.Mock(side_effect=ValueError("I/O operation on closed file")))
        with mock.patch.object(sys, "stdout", closed), mock.patch.object(sys, "stderr", None):
            self.assertEqual(_guarded(lambda: 3), 3)


class Calls(unittest.TestCase):
    def test_what_is_told_must_be_texts(self):
        client = testing.TestClient().has_roots()
        call = client.call()
        for tell in (
            lambda: call.info("x", logger=5),
            lambda: call.progress(1, None, 5),
            lambda: call.roots(key=5),
            lambda: call.sample("x", key=5),
            lambda: call.elicit_url("a:b", "x", key=5),
            lambda: notify.resource_updated(5),
        ):
            with self.assertRaisesRegex(errors.Internal, "must be a text, but it is of the type `int`"):
                tell()
        call.info(HALF, HALF)
        self.assertEqual((client.logs[0].data, client.logs[0].logger), ("\ufffd", "\ufffd"))


if __name__ == "__main__":
    unittest.main()
