import sys
import unittest
from unittest import mock

from plugport_sdk import completions, exports, prompts, resources, tool, tools


def published(*functions):
    with (
        mock.patch.object(tools, "found", [function.plugport for function in functions]),
        mock.patch.object(prompts, "found", []),
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


class Preloaded(unittest.TestCase):
    def test_encodings_that_components_have(self):
        for encoding in ("utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be", "iso8859_15"):
            self.assertIn(f"encodings.{encoding}", sys.modules)


if __name__ == "__main__":
    unittest.main()
