import unittest
from dataclasses import dataclass
from typing import Annotated, Literal

from plugport_sdk import Field, Image, Message, Root, errors, tasks
from plugport_sdk.elicitation import form
from plugport_sdk.testing import Log, Progress, TestClient

from .test_schemas import Place, Unit


@dataclass
class Wish:
    """A wish."""

    name: Annotated[str, Field("Whom to greet.", min_length=1, pattern="x")]
    tone: Literal["formal", "friendly"] | None = None
    unit: Unit = Unit.METRIC
    days: list[Literal["mon", "tue"]] | None = None
    count: Annotated[int, Field(minimum=1)] | None = None
    sure: bool = False


class LogsAndProgress(unittest.TestCase):
    def test_logs_and_progress_arrive(self):
        client = TestClient(meta={"a": 1}, principal="ada")
        call = client.call()
        call.info("one")
        call.log("warning", {"two": Unit.METRIC}, logger="x")
        call.log("debug", {1j: 2})
        call.progress(1, 4, "reading")
        call.progress(2)
        self.assertEqual(client.logs[:2], [Log("info", "one"), Log("warning", {"two": "metric"}, "x")])
        self.assertIn("keys must be", client.logs[2].data)
        self.assertEqual(client.reports, [Progress(1.0, 4.0, "reading"), Progress(2.0)])
        self.assertEqual((call.meta, call.principal, call.client.name), ({"a": 1}, "ada", "test"))
        self.assertFalse(call.cancelled())
        client.cancel()
        self.assertTrue(call.cancelled())


class Clients(unittest.TestCase):
    def test_a_client_declares_the_extensions_that_a_test_gives_it(self):
        self.assertEqual(TestClient().call().client.extensions, ())
        client = TestClient(extensions=["io.modelcontextprotocol/ui"]).call().client
        self.assertEqual(client.extensions, ("io.modelcontextprotocol/ui",))

    def test_a_client_of_a_test_waits_for_calls_that_detach(self):
        for call in (TestClient().call(), TestClient().async_call()):
            self.assertIs(tasks.detach(call, "rendering"), False)
            self.assertIs(tasks.detach(call), False)
        with self.assertRaisesRegex(errors.Internal, "the status of `detach`"):
            tasks.detach(TestClient().call(), 5)


class Sampling(unittest.TestCase):
    def test_a_request_and_its_result(self):
        client = TestClient().samples("Paris")
        answer = client.call().sample("The capital of France?")
        self.assertEqual((answer.text, answer.model, answer.stop_reason), ("Paris", "test", "endTurn"))
        message = {"role": "user", "content": {"type": "text", "text": "The capital of France?"}}
        self.assertEqual(client.requests[0].params, {"messages": [message], "maxTokens": 1000})

    def test_everything_that_can_be_said(self):
        client = TestClient().samples("x")
        client.call().sample(
            ["See:", Message.assistant(Image(b"\0\1", "image/png")), {"role": "user", "content": []}],
            max_tokens=5,
            system="Be short.",
            stop=["."],
            hints=["claude"],
            speed=0.5,
            extra={"tools": []},
            key="q",
        )
        asked = client.requests[0]
        self.assertEqual(asked.key, "q")
        image = {"type": "image", "data": "AAE=", "mimeType": "image/png"}
        self.assertEqual(asked.params["messages"][1], {"role": "assistant", "content": image})
        self.assertEqual(
            asked.params["modelPreferences"], {"speedPriority": 0.5, "hints": [{"name": "claude"}]}
        )
        self.assertEqual((asked.params["systemPrompt"], asked.params["tools"]), ("Be short.", []))

    def test_a_client_without_a_model(self):
        with self.assertRaises(errors.MissingCapability):
            TestClient().call().sample("?")
        with self.assertRaises(errors.Rejected):
            TestClient().fails_sampling(errors.Rejected("no")).call().sample("?")


class Eliciting(unittest.TestCase):
    def test_a_form_has_what_mcp_allows(self):
        schema, _ = form(Wish)
        self.assertEqual(schema["required"], ["name"])
        expected = {
            "name": {"type": "string", "description": "Whom to greet.", "minLength": 1},
            "tone": {"type": "string", "enum": ["formal", "friendly"]},
            "unit": {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            "count": {"type": "integer", "minimum": 1},
            "sure": {"type": "boolean", "default": False},
        }
        self.assertEqual(schema["properties"], expected)

    def test_what_cannot_be_a_form_is_named(self):
        with self.assertRaisesRegex(errors.Internal, "the field `tags` must be a text, a number"):
            form(Place)
        with self.assertRaisesRegex(errors.Internal, "`dict` cannot be shown as a form: it must be a text"):
            form(dict[str, int])
        with self.assertRaisesRegex(
            errors.Internal, "`complex` cannot be shown as a form: `complex` has no place"
        ):
            form(complex)

    def test_a_value_alone_is_a_form_of_one_field(self):
        named = {"type": "string", "description": "Yours.", "minLength": 1}
        for kind, schema, given, value in (
            (str, {"type": "string"}, "Ada", "Ada"),
            (int, {"type": "integer"}, 3.0, 3),
            (float, {"type": "number"}, 3, 3.0),
            (bool, {"type": "boolean"}, False, False),
            (Unit, {"type": "string", "enum": ["metric", "imperial"]}, "metric", Unit.METRIC),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
            (Annotated[str, Field("Yours.", min_length=1)], named, "Ada", "Ada"),
            (
                list[Literal["a", "b"]],
                {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                ["b"],
                ["b"],
            ),
        ):
            with self.subTest(kind=kind):
                client = TestClient().accepts(value=given)
                self.assertEqual(client.call().elicit(kind, "?").accepted(), value)
                expected = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
                self.assertEqual(client.requests[0].params["requestedSchema"], expected)

    def test_a_value_alone_may_be_left_out_where_it_is_optional(self):
        self.assertNotIn("required", form(int | None)[0])
        self.assertIsNone(TestClient().accepts().call().elicit(int | None, "?").accepted())
        with self.assertRaisesRegex(errors.Internal, "`value` is missing"):
            form(int)[1]({})

    def test_the_three_answers(self):
        client = TestClient().accepts(name="Ada", unit="imperial").declines().closes()
        call = client.call()
        accepted = call.elicit(Wish, "Whom?")
        self.assertEqual(accepted.accepted(), Wish("Ada", None, Unit.IMPERIAL))
        self.assertEqual(client.requests[0].params["message"], "Whom?")
        declined, closed = call.elicit(Wish, "Whom?"), call.elicit(Wish, "Whom?")
        self.assertTrue(declined.declined and not declined.cancelled and closed.cancelled)
        self.assertIsNone(declined.value)
        with self.assertRaisesRegex(errors.Rejected, "declined"):
            declined.accepted()
        with self.assertRaisesRegex(errors.Rejected, "closed"):
            closed.accepted()

    def test_an_answer_that_does_not_fit(self):
        with self.assertRaisesRegex(errors.Internal, "cannot be read"):
            form(Wish)[1]({"name": 1})

    def test_a_form_that_does_not_fit_is_no_response_as_at_the_server(self):
        client = TestClient().accepts(name="Ada").accepts(more=True)
        self.assertEqual(client.call().elicit(Wish, "Whom?").accepted(), Wish("Ada"))  # Its pattern is a hint.
        self.assertEqual(client.call().elicit_form({"type": "object", "properties": {}}, "?").value, {"more": True})
        for content, why in (
            ({"name": 1}, "the field `name` does not fit the form"),
            ({"name": "Ada", "count": 0}, "the field `count` does not fit the form"),
            ({"count": 1}, "the field `name` is missing"),
            ({"name": "Ada", "more": {}}, "the field `more` is not part of the form"),
        ):
            with self.assertRaisesRegex(errors.RpcError, f"the client's response cannot be used: {why}"):
                TestClient().accepts(**content).call().elicit(Wish, "Whom?")
        with self.assertRaisesRegex(errors.RpcError, "`content` is missing"):
            TestClient().visits().call().elicit(Wish, "Whom?")

    def test_forms_and_pages_of_ones_own(self):
        client = TestClient().accepts(a=1).visits()
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        self.assertEqual(client.call().elicit_form(schema, "?").value, {"a": 1})
        self.assertEqual(client.call().elicit_url("https://example.com", "Log in").action, "accept")
        self.assertEqual(client.requests[1].params["mode"], "url")


class Roots(unittest.TestCase):
    def test_folders_are_listed(self):
        client = TestClient().has_roots("file:///a", Root("file:///b", "B"))
        self.assertEqual(client.call().roots(), [Root("file:///a"), Root("file:///b", "B")])
        with self.assertRaises(errors.MissingCapability):
            TestClient().call().roots()


if __name__ == "__main__":
    unittest.main()
