import sys
import unittest
from types import SimpleNamespace
from unittest import mock

from plugport_sdk import completions, errors, exports, host, prompt, resources, tool, tools, warm_up
from plugport_sdk import prompts as prompting


def published(*functions, prompts=()):
    with (
        mock.patch.object(tools, "found", [function.plugport for function in functions]),
        mock.patch.object(prompting, "found", [function.plugport for function in prompts]),
        mock.patch.object(resources, "found", []),
        mock.patch.object(completions, "found", []),
    ):
        return exports()


@tool
def fine(name: str) -> str:
    """Be fine."""
    return name


class Exports(unittest.TestCase):
    def test_there_are_the_four_classes_that_the_server_calls(self):
        names = [one.__name__ for one in published(fine)]
        self.assertEqual(names, ["Tools", "Resources", "Prompts", "Completions"])
        for one, functions in zip(
            published(fine),
            (
                ("list_tools", "call_tool"),
                ("list_resources", "list_resource_templates", "read_resource"),
                ("list_prompts", "get_prompt"),
                ("complete",),
            ),
        ):
            for function in functions:
                self.assertTrue(callable(getattr(one(), function)))

    def test_names_are_given_once(self):
        with self.assertRaisesRegex(
            TypeError, "there are two tools with the name `fine`; give one of them another"
        ):
            published(fine, tool(name="fine")(fine))

    def test_mistakes_stop_the_build(self):
        @tool
        def untyped(x):
            """Text."""

        with self.assertRaisesRegex(TypeError, "the parameter `x` of the tool `untyped` has no type"):
            published(untyped)


class Conditional(unittest.TestCase):
    def test_what_is_not_there_is_neither_listed_nor_called(self):
        there = []

        @tool(when=lambda: bool(there))
        def hidden() -> str:
            """Be there at times."""
            return "here"

        @prompt(when=lambda: bool(there))
        def asked() -> str:
            """Be there at times."""
            return "here"

        with (
            mock.patch.object(host, "wit", SimpleNamespace()),
            mock.patch.multiple(
                host, describe_tool=lambda one: one.name, describe_prompt=lambda one: one.name
            ),
            mock.patch.multiple(host, loosen=mock.DEFAULT, tool_result=lambda one: one.content[0].text),
            mock.patch.multiple(host, prompt_result=len, wit_error=lambda error: error),
            mock.patch.multiple(warm_up, serve_samples=mock.DEFAULT, settle_memory=mock.DEFAULT),
        ):
            tools, _, prompts, _ = (one() for one in published(fine, hidden, prompts=[asked]))
        with mock.patch.multiple(
            host, wit_error=lambda error: error, tool_result=lambda one: one.content[0].text
        ):
            self.assertEqual((tools.list_tools(), prompts.list_prompts()), (["fine"], []))
            for call in (
                lambda: tools.call_tool(None, "hidden", "{}"),
                lambda: prompts.get_prompt(None, "asked", []),
            ):
                with self.assertRaisesRegex(errors.NotFound, "there is no (tool|prompt)"):
                    call()
            there.append(True)
            self.assertEqual((tools.list_tools(), prompts.list_prompts()), (["fine", "hidden"], ["asked"]))
            self.assertEqual(tools.call_tool(None, "hidden", "{}"), "here")

    def test_it_is_asked_at_once(self):
        async def later():
            return True

        @tool(when=later)
        def hidden() -> str:
            """Be hidden."""
            return "here"

        with self.assertRaisesRegex(TypeError, "`when` of the tool `hidden` is `async`; write `def`"):
            published(hidden)


class Preloaded(unittest.TestCase):
    def test_encodings_that_components_have(self):
        for encoding in ("utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be", "iso8859_2", "iso8859_15"):
            self.assertIn(f"encodings.{encoding}", sys.modules)
        for encoding in ("cp1250", "cp1251", "cp1252", "koi8_r"):
            self.assertIn(f"encodings.{encoding}", sys.modules)


if __name__ == "__main__":
    unittest.main()
