import importlib
import json
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from plugport_sdk import completions, dev_sources, host, middlewares, prompts, resources, tools

PLUGIN = """
from lib.words import GREETING
from plugport_sdk import tool

@tool
def hello() -> str:
    '''Greet.'''
    return GREETING

class Tools:
    def list_tools(self):
        return [GREETING]
    call_tool = None

Resources = Prompts = Completions = Tools
"""


class Reload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.files = {"plugin_x.py": PLUGIN, "lib/words.py": "GREETING = 'built'"}
        for name, text in self.files.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        self.data = None
        store = SimpleNamespace(get=lambda key: self.data if key == "plugport:dev-sources" else None)
        for registry in (tools, resources, prompts, completions, middlewares):
            self.enter(mock.patch.object(registry, "found", []))
        self.enter(mock.patch.object(host, "interface", lambda *_: store))
        self.enter(mock.patch.object(host, "wit_error", lambda error: error))
        self.enter(mock.patch.multiple(host, _is_live=False, _is_built=False))
        self.enter(mock.patch.object(sys, "path", [str(self.root), *sys.path]))
        self.enter(mock.patch.object(sys, "meta_path", list(sys.meta_path)))
        self.enter(mock.patch.dict(sys.modules))

    def enter(self, patch):
        patch.start()
        self.addCleanup(patch.stop)

    def listed(self, **changed):
        """What an instance lists that finds these files among its data."""
        self.data = json.dumps({**self.files, **changed}) if changed else ""
        return dev_sources.exports("plugin_x")[0]().list_tools()

    def failure(self, **changed):
        with self.assertRaises(Exception) as failed:
            self.listed(**changed)
        return failed.exception.message

    def test_without_data_the_modules_are_those_that_were_built(self):
        self.assertEqual(self.listed(), ["built"])

    def test_data_replaces_the_modules_of_the_plugin_and_what_they_published(self):
        self.assertEqual(self.listed(**{"lib/words.py": "GREETING = 'new'"}), ["new"])
        self.assertEqual([one.name for one in tools.found], ["hello"])
        self.assertTrue(host.is_built())

    def test_a_package_is_found_with_its_modules(self):
        files = {"lib/words.py": "from .more import GREETING", "lib/more/__init__.py": "from .x import *"}
        self.assertEqual(self.listed(**files, **{"lib/more/x.py": "GREETING = 'deep'"}), ["deep"])

    def test_an_error_of_syntax_is_told_as_python_tells_it(self):
        told = self.failure(**{"lib/words.py": "GREETING = ("})
        self.assertTrue(told.startswith("the sources cannot be loaded:\n"), told)
        for part in ('File "plugin_x.py", line 2, in <module>', 'File "lib/words.py", line 1', "SyntaxError"):
            self.assertIn(part, told)
        self.assertNotIn("dev_sources.py", told)
        self.assertNotIn("importlib", told)

    def test_an_exception_has_its_line(self):
        told = self.failure(**{"lib/words.py": "GREETING = 1 / 0"})
        self.assertIn("    GREETING = 1 / 0", told)
        self.assertIn("ZeroDivisionError", told)

    def test_a_module_that_the_component_lacks_has_to_be_built(self):
        told = self.failure(**{"lib/words.py": "import no_such_module"})
        self.assertTrue(told.startswith("the plugin has to be built again:\n"), told)

    def test_a_module_of_a_package_that_the_component_lacks_has_to_be_built(self):
        told = self.failure(**{"lib/words.py": "from xml import no_such_module"})
        self.assertTrue(told.startswith("the plugin has to be built again:\n"), told)
        self.assertIn("cannot import name 'no_such_module' from 'xml'", told)

    def test_a_module_of_the_sdk_that_the_component_lacks_has_to_be_built(self):
        told = self.failure(**{"lib/words.py": "from plugport_sdk import no_such_module"})
        self.assertTrue(told.startswith("the plugin has to be built again:\n"), told)

    def test_a_module_that_was_deleted_is_missing(self):
        (self.root / "gone.py").write_text("GREETING = 'built'")
        (self.root / "lib/words.py").write_text("from gone import GREETING")
        importing = dev_sources.exports("plugin_x")[0]()
        (self.root / "gone.py").unlink()
        importlib.invalidate_caches()
        self.data = json.dumps({**self.files, "lib/words.py": "from gone import GREETING"})
        with self.assertRaises(Exception) as failed:
            importing.list_tools()
        self.assertIn("No module named 'gone'", failed.exception.message)

    def test_a_call_cannot_import_what_was_not_imported_before(self):
        late = PLUGIN.replace("        return [GREETING]", "        import late_x\n        return [late_x.X]")
        with self.assertRaises(ModuleNotFoundError):
            self.listed(**{"plugin_x.py": late, "late_x.py": "X = 1"})

    def test_a_file_that_is_read_when_the_plugin_is_built_has_to_be_built(self):
        told = self.failure(**{"lib/words.py": "open('/no/such/file')"})
        self.assertTrue(told.startswith("the plugin has to be built again:\n"), told)


if __name__ == "__main__":
    unittest.main()
