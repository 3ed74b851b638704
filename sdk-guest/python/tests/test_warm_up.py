import gc
import unittest
from unittest import mock

from plugport_sdk import host, tools, warm_up


def publish(served):
    """As `exports` does, without a host."""

    class Tools:
        calls = []

        def call_tool(self, handle, name, args):
            self.calls.append((name, served[name].run(warm_up.Call(host.HostCallBackend(handle)), args)))

    return Tools


class Log:
    """Stands in for the generated module with the levels of a log."""

    LogLevel = {"INFO": "info"}


class Samples(unittest.TestCase):
    def test_they_are_served_as_calls_are(self):
        with mock.patch.object(host, "request", Log):
            made = []
            warm_up.serve_samples(lambda served: made.append(publish(served)) or made[0])
        results = dict(made[0].calls)
        self.assertEqual(results["text"].content[0].text, "a 1 False")
        self.assertEqual(results["values"].structured.text, '{"values":[1,2]}')
        self.assertFalse(any(result.is_error for result in results.values()))

    def test_they_are_no_tools_of_the_plugin(self):
        self.assertFalse({"text", "values"} & {tool.name for tool in tools.found})


class Memory(unittest.TestCase):
    def setUp(self):
        self.addCleanup(gc.set_threshold, *gc.get_threshold())

    def test_collections_are_put_off_unless_the_author_decided(self):
        with mock.patch.multiple(warm_up, _MAX_FILLERS=1, _fillers=[]):
            for before, after in ((2000, 20_000), (50_000, 50_000), (0, 0)):
                gc.set_threshold(before)
                warm_up.settle_memory()
                self.assertEqual(gc.get_threshold()[0], after)

    def test_filling_ends_where_gaps_are_never_full(self):
        with mock.patch.multiple(warm_up, _MAX_FILLERS=100, _ROOM=2, _fillers=[]):
            warm_up.settle_memory()
            self.assertLessEqual(len(warm_up._fillers), 100 * len(warm_up._SIZES))


if __name__ == "__main__":
    unittest.main()
