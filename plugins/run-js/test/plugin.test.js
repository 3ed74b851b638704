import assert from "node:assert/strict";
import { test } from "node:test";
import { TestClient, describe } from "plugport-sdk/testing";

import { run } from "../src/plugin.js";

const invoke = (args) => new TestClient().invoke(run, args);

test("a result has its structure and its words", async () => {
  const outcome = await invoke({ code: "console.log('adding'); input.a + input.b", input: { a: 1, b: 2 } });
  assert.deepEqual(outcome.structured, { result: 3, logs: ["adding"] });
  assert.equal(outcome.text, "adding\n\n3");
  assert.equal(outcome.isError, false);
});

test("what has no result says so", async () => {
  const outcome = await invoke({ code: "let a = 1" });
  assert.deepEqual([outcome.structured, outcome.text], [{}, "(no result; end with an expression or `return`)"]);
});

test("a failure is a tool error with what was written before", async () => {
  const outcome = await invoke({ code: "console.log('here');\nfoo()" });
  assert.equal(outcome.isError, true);
  assert.equal(outcome.text, "ReferenceError: foo is not defined\n  at line 2: foo()\n\nIt had written:\nhere");
});

test("the tool says what the code lacks", () => {
  const { description, inputSchema } = describe(run);
  for (const word of ["Intl", "UTC", "code unit", "Recursion", "clock"]) assert.match(description, new RegExp(word));
  assert.match(inputSchema.properties.input.description, /for data/);
});
