// The interface is written once, at the root of the repository; the copies that travel in the package are the same.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const here = new URL("../wit/deps/", import.meta.url);
const root = new URL("../../../wit/", import.meta.url);
const copies = {
  "plugport/plugin.wit": "plugin.wit",
  "config/store.wit": "deps/config/store.wit",
  "config/world.wit": "deps/config/world.wit",
  "keyvalue/atomic.wit": "deps/keyvalue/atomic.wit",
  "keyvalue/batch.wit": "deps/keyvalue/batch.wit",
  "keyvalue/store.wit": "deps/keyvalue/store.wit",
  "keyvalue/world.wit": "deps/keyvalue/world.wit",
};

test("the interface in the package is that of the repository", { skip: !existsSync(root) }, () => {
  for (const [copy, original] of Object.entries(copies)) {
    assert.equal(
      readFileSync(new URL(copy, here), "utf8"),
      readFileSync(new URL(original, root), "utf8"),
      copy,
    );
  }
});

test("of WASI the package imports only what the SDK calls, since every function costs time in every instance", () => {
  const functions = ["cli", "clocks", "io", "random"].flatMap((folder) => {
    const files = readdirSync(new URL(`${folder}/`, here));
    const text = files.map((file) => readFileSync(new URL(`${folder}/${file}`, here), "utf8")).join();
    return [...text.matchAll(/^ *([a-z0-9-]+): func\(/gm)].map(([, name]) => name);
  });
  assert.deepEqual(functions.sort(), [
    "block",
    "blocking-write-and-flush",
    "get-random-bytes",
    "get-stderr",
    "now",
    "subscribe-duration",
  ]);
});
