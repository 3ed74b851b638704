"""Tests get the words of the server.

The cases are those of all SDKs; the Rust SDK compares them with the server's own validator.
"""

import json
import os
import unittest
from pathlib import Path
from typing import Annotated, Any, Literal

from plugport_sdk import Field, ToolResult, errors, kv, testing, tool
from plugport_sdk.testing_forms import form_fault

CASES = Path(__file__).parents[2] / "tests" / "validation"
# Written by `cargo run -p plugport-tests --bin argument_types`.
GENERATED = os.environ.get("PLUGPORT_VALIDATION_CASES")
PREFIX = "the arguments do not fit the tool's schema: "


def faults_of(outcome):
    return outcome.text.removeprefix(PREFIX).split("; ") if outcome.is_error else []


@tool
def book(
    nights: Annotated[int, Field(minimum=1, maximum=30)],
    board: Literal["full", "half"] | None = None,
    guests: Annotated[list[str], Field(max_length=2)] = [],
) -> str:
    """Book a room."""
    return f"{nights} {board} {guests}"


class Validation(unittest.TestCase):
    @unittest.skipUnless(CASES.is_dir(), "the cases are in the repository")
    def test_arguments_are_rejected_in_the_words_of_the_server(self):
        @tool(input_schema=(CASES / "schema.json").read_text())
        def echo(**given: Any) -> str:
            """Say what came."""
            return json.dumps(given)

        for case in json.loads((CASES / "cases.json").read_text()):
            with self.subTest(case["args"]):
                outcome = testing.invoke(echo, case["args"])
                self.assertEqual(sorted(faults_of(outcome)), sorted(case["faults"]))
                if outcome.is_error:
                    self.assertTrue(outcome.text.startswith(PREFIX))
                else:
                    self.assertEqual(json.loads(outcome.text), case.get("reaches", case["args"]))

    @unittest.skipUnless(GENERATED, "there are no generated cases")
    def test_generated_arguments_are_accepted_where_the_server_accepts_them(self):
        for line in Path(GENERATED).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)

            @tool(input_schema=case["schema"])
            def echo(**given: Any) -> str:
                """Say what came."""
                return json.dumps(given)

            outcome = testing.invoke(echo, json.loads(case["args"]))
            rejected = outcome.is_error and outcome.text.startswith(PREFIX)
            self.assertNotEqual(rejected, case["accepted"], (case, outcome.text))

    def test_limits_of_types_are_those_of_tests_too(self):
        for arguments, fault in (
            ({"nights": 99}, "/nights: 99 is greater than the maximum of 30"),
            ({"nights": 1, "board": "none"}, '/board: "none" is not one of "full" or "half"'),
            ({"nights": 1, "guests": ["a", "b", "c"]}, '/guests: ["a","b","c"] has more than 2 items'),
            ({"nights": 1, "night": 1}, "/night: not a known property"),
        ):
            self.assertEqual(faults_of(testing.invoke(book, arguments)), [fault])
        self.assertEqual(testing.invoke(book, nights=3, guests=None).text, "3 None []")

    def test_a_message_names_five_faults_and_cuts_a_long_one(self):
        many = {f"a{at}": {"type": "integer"} for at in range(7)}

        @tool(input_schema={"type": "object", "properties": many})
        def echo(**given: Any) -> str:
            """Say what came."""
            return json.dumps(given)

        self.assertEqual(len(faults_of(testing.invoke(echo, dict.fromkeys(many, "x")))), 5)
        (long,) = faults_of(testing.invoke(echo, a0="é" * 1_000))
        self.assertTrue(len(long.encode()) <= 303 and long.endswith("é…"), long)

    def test_a_schema_that_the_server_would_reject_is_told(self):
        @tool(input_schema={"type": "array"})
        def wrong() -> None:
            """Be wrong."""

        outcome = testing.invoke(wrong)
        self.assertIsInstance(outcome.error, errors.Internal)
        self.assertIn("the server would reject this tool", outcome.text)

    def test_a_result_that_does_not_fit_is_rejected_in_the_words_of_the_server(self):
        most = {"type": "object", "properties": {"sum": {"maximum": 9}}, "required": ["sum"]}

        @tool(output_schema=most)
        def add(a: int, by_hand: bool = False) -> Any:
            """Add."""
            return ToolResult() if by_hand else {"sum": a} if a else {}

        self.assertEqual(testing.invoke(add, a=9).structured, {"sum": 9})
        unfit = "its structured content does not fit its schema: /sum: "
        for arguments, why in (
            ({"a": 10}, f"{unfit}10 is greater than the maximum of 9"),
            ({"a": 0}, f"{unfit}is required and missing"),
            ({"a": 1, "by_hand": True}, "it promises structured content and gave none"),
        ):
            outcome = testing.invoke(add, arguments)
            self.assertEqual(outcome.text, f"the tool returned an invalid result: {why}")
            self.assertTrue(outcome.is_error)

    @unittest.skipUnless(CASES.is_dir(), "the cases are in the repository")
    def test_a_form_is_checked_as_the_server_checks_it(self):
        forms = json.loads((CASES / "forms.json").read_text(encoding="utf-8"))
        for case in forms["cases"]:
            with self.subTest(case):
                self.assertEqual(form_fault(forms["form"], case.get("content")), case.get("fault"))

    def test_a_bound_of_a_form_that_is_no_number_is_none(self):
        field = {"type": "integer", "minimum": "5", "maximum": None}
        self.assertIsNone(form_fault({"properties": {"count": field}}, {"count": 1}))
        field = {"type": "integer", "minimum": True, "maximum": "0"}
        for count in (-1, 1):
            self.assertIsNone(form_fault({"properties": {"count": field}}, {"count": count}))

    def test_what_the_operator_does_not_grant_is_denied_in_the_words_of_the_server(self):
        client = testing.TestClient().samples("!").has_roots("file:///a").denies()
        for capability, ask in (
            ("sampling", lambda: client.call().sample("?")),
            ("roots", lambda: client.call().roots()),
            ("kv", lambda: client.run(kv.open)),
        ):
            with self.assertRaisesRegex(errors.Denied, f"this server does not grant `{capability}` to the plugin"):
                ask()
