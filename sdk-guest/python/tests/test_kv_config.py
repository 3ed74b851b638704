import unittest
from types import SimpleNamespace
from unittest import mock

from plugport_sdk import config, errors, host, kv, tool
from plugport_sdk.kv import host as kv_host
from plugport_sdk.testing import TestClient


class Stores(unittest.TestCase):
    def test_each_client_has_a_store_of_its_own(self):
        @tool
        def count() -> int:
            """Count."""
            return kv.open().increment("n")

        client = TestClient()
        self.assertEqual([client.invoke(count).structured for _ in range(2)], [1, 2])
        self.assertEqual((client.store.get_text("n"), TestClient().store.keys()), ("2", []))
        with self.assertRaisesRegex(errors.Internal, "through a `TestClient`"):
            kv.open()

    def test_values_are_texts_bytes_or_json(self):
        store = TestClient().store
        store.set("a", b"\xff")
        store.set("t", "ü")
        store.set_json("j", [1, {"b": "ü"}])
        self.assertEqual((store.get("a"), store.get_text("t")), (b"\xff", "ü"))
        self.assertEqual(store.get_json("j"), [1, {"b": "ü"}])
        for use, words in (
            (lambda: store.get_text("a"), "`a` is not text"),
            (lambda: store.get_json("t"), "`t` is not JSON"),
            (lambda: store.set("a", {}), "must be a text or bytes"),
            (lambda: store.get(5), "a key of the store must be a text"),
            (lambda: store.increment("t"), "`t` is no number"),
            (lambda: store.increment("n", 0.5), "no whole number of 64 bits"),
            (lambda: store.increment("n", 2**63), "no whole number of 64 bits"),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(errors.Internal, words):
                use()
        store.delete("a")
        store.delete("a")
        self.assertEqual((store.exists("a"), store.get("a"), store.get_json("a")), (False, None, None))
        self.assertEqual((store.increment("n", 5), store.increment("n", -7)), (5, -2))
        store.set("n", str(2**63 - 1))
        with self.assertRaisesRegex(errors.Internal, "no room"):
            store.increment("n")

    def test_a_store_is_used_like_a_dict(self):
        store = TestClient().store
        store["a"] = "b"
        self.assertEqual((store["a"], "a" in store, 5 in store, list(store)), (b"b", True, False, ["a"]))
        self.assertEqual((store.get("a", b"c"), store.get("c", b"c"), store.get("c")), (b"b", b"c", None))
        del store["a"]
        for missing in (lambda: store["a"], lambda: store.__delitem__("a")):
            self.assertRaises(KeyError, missing)

    def test_an_update_is_made_again_on_what_another_wrote_meanwhile(self):
        store = TestClient().store
        disturbed = []

        def more(old):
            if not disturbed:
                disturbed.append(True)
                store.set("n", "10")
            return (old or 0) + 1

        self.assertEqual((store.update_json("n", more), store.get_json("n")), (11, 11))
        self.assertEqual(store.update("n", lambda old: old + b"!"), b"11!")

    def test_an_update_gives_up_when_others_keep_writing(self):
        store = TestClient().store
        tries = []

        def mine(old):
            tries.append(old)
            store.set("n", str(len(tries)))
            return "mine"

        with self.assertRaisesRegex(errors.Internal, "others kept writing"):
            store.update("n", mine)
        self.assertEqual(len(tries), 100)


class Err(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


def named(name, value=None):
    return type(name, (), {"value": value})()


class HostStores(unittest.TestCase):
    def setUp(self):
        patched = mock.patch.object(host, "component", SimpleNamespace(Err=Err))
        patched.start()
        self.addCleanup(patched.stop)

    def test_keys_come_in_pages(self):
        pages = {None: (["a"], "a"), "a": (["b"], None)}
        handle = SimpleNamespace(
            list_keys=lambda at: SimpleNamespace(keys=pages[at][0], cursor=pages[at][1])
        )
        self.assertEqual(kv_host.Bucket(handle).keys(), ["a", "b"])

    def test_errors_of_the_host_are_in_words(self):
        for error, kind, words in (
            (named("Error_AccessDenied"), errors.Denied, "does not grant `kv`"),
            (named("Error_NoSuchStore"), errors.Internal, "no key-value store"),
            (named("Error_Other", "full"), errors.Internal, "failed: full"),
        ):
            handle = SimpleNamespace(get=mock.Mock(side_effect=Err(error)))
            with self.assertRaisesRegex(kind, words):
                kv_host.Bucket(handle).get("a")

    def test_a_swap_that_came_too_late_is_the_next_attempt(self):
        outcomes = [Err(named("CasError_CasFailed", "again")), None]
        swap = mock.Mock(side_effect=outcomes)
        with mock.patch.object(kv_host, "atomics", SimpleNamespace(swap=swap)):
            again = kv_host.Swap("first").finish(b"x")
            self.assertIsNone(again.finish(b"y"))
        self.assertEqual(swap.mock_calls, [mock.call("first", b"x"), mock.call("again", b"y")])
        swap = mock.Mock(side_effect=Err(named("CasError_StoreError", named("Error_Other", "full"))))
        with mock.patch.object(kv_host, "atomics", SimpleNamespace(swap=swap)):
            with self.assertRaisesRegex(errors.Internal, "failed: full"):
                kv_host.Swap("first").finish(b"x")


class Settings(unittest.TestCase):
    def test_settings_and_secrets_are_read_by_name(self):
        client = TestClient().has_config({"region": "eu", "retries": 3, "loud": True}, {"token": "hunter2"})

        def read():
            self.assertEqual((config.get("region"), config.get("token"), config.get("x")), ("eu", "hunter2", None))
            self.assertEqual((config.get("x", "y"), config.require("token")), ("y", "hunter2"))
            self.assertEqual(config.all(), {"region": "eu", "retries": "3", "loud": "true"})
            found = config.parse("retries", int), config.parse("loud", bool), config.parse("x", int)
            self.assertEqual(found, (3, True, None))
            with self.assertRaisesRegex(errors.Internal, "`x`, which its operator has not made"):
                config.require("x")
            with self.assertRaises(errors.Internal) as unfit:
                config.parse("token", int)
            self.assertNotIn("hunter2", str(unfit.exception))

        client.run(read)

    def test_the_host_may_fail(self):
        def fail(key):
            raise Err(named("Error_Io", "no file"))

        with (
            mock.patch.object(config, "_store", SimpleNamespace(get=fail)),
            mock.patch.object(host, "component", SimpleNamespace(Err=Err)),
            self.assertRaisesRegex(errors.Internal, "cannot be read: no file"),
        ):
            config.get("a")


if __name__ == "__main__":
    unittest.main()
