import assert from "node:assert/strict";
import { test } from "node:test";

import { invoke, TestClient } from "plugport-sdk/testing";

import { hello } from "../src/plugin";

test("someone is greeted by name", async () => {
  const outcome = await invoke(hello, { name: "Ada" });
  assert.equal(outcome.text, "Hello, Ada!");
  assert.equal(outcome.logs[0]?.data, "greeting someone");
});

test("someone is greeted loudly", async () => {
  assert.equal((await invoke(hello, { name: "Ada", shout: true })).text, "HELLO, ADA!");
});

test("without a name the person is asked", async () => {
  assert.equal((await new TestClient().accepts({ name: "Bob" }).invoke(hello)).text, "Hello, Bob!");
  assert.equal((await new TestClient().declines().invoke(hello)).text, "Hello, whoever you are!");
});
