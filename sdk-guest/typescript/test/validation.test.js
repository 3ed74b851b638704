// Tests get the words of the server. The cases are those of all SDKs; the Rust SDK compares them with the server's own
// validator.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { kv, result, s, tool } from "plugport-sdk";
import { invoke, TestClient } from "plugport-sdk/testing";

const folder = new URL("../../tests/validation/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const prefix = "the arguments do not fit the tool's schema: ";
const echo = (input) => tool({ name: "echo", description: "d", input, handler: (args) => JSON.stringify(args) });
const faultsOf = ({ text, isError }) => (isError ? text.slice(prefix.length).split("; ") : []);

test("arguments are rejected in the words of the server", { skip: !existsSync(folder) }, async () => {
  const book = echo(read("schema.json"));
  for (const { args, faults, reaches } of read("cases.json")) {
    const outcome = await invoke(book, args);
    assert.deepEqual(faultsOf(outcome).toSorted(), faults.toSorted(), JSON.stringify(args));
    if (outcome.isError) assert.ok(outcome.text.startsWith(prefix));
    else assert.deepEqual(JSON.parse(outcome.text), reaches ?? args);
  }
});

// Written by `cargo run -p plugport-tests --bin argument_types`.
const generated = process.env.PLUGPORT_VALIDATION_CASES;

test("generated arguments are accepted where the server accepts them", { skip: !generated }, async () => {
  // JavaScript rounds other numbers before the double sees them.
  const isExact = (value) =>
    typeof value === "object" && value !== null
      ? Object.values(value).every(isExact)
      : typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  const lines = readFileSync(generated, "utf8").trim().split("\n");
  for (const { schema, args, accepted } of lines.map((line) => JSON.parse(line))) {
    const given = JSON.parse(args);
    if (!isExact(given)) continue;
    const { text, isError } = await invoke(echo(schema), given);
    assert.equal(!(isError && text.startsWith(prefix)), accepted, `${args} of ${schema}: ${text}`);
  }
});

test("a message names five faults, and cuts a long one", async () => {
  const many = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`a${at}`, s.integer()]));
  assert.equal(faultsOf(await invoke(echo(many))).length, 5);
  const [long] = faultsOf(await invoke(echo({ word: s.integer() }), { word: "é".repeat(1_000) }));
  assert.ok(Buffer.byteLength(long) <= 303 && long.endsWith("é…"), long);
});

test("limits of the builders are those of tests too", async () => {
  const booked = echo({ nights: s.integer().min(1).max(30), board: s.enum(["full", "half"]).optional() });
  assert.equal((await invoke(booked, { nights: 99 })).text, `${prefix}/nights: 99 is greater than the maximum of 30`);
  assert.equal((await invoke(booked, { nights: 3, board: null })).text, '{"nights":3}');
});

test("a schema that the server would reject is told", async () => {
  await assert.rejects(invoke(echo({ type: "array" }), {}), { message: /the server would reject this tool/ });
  await assert.rejects(invoke(echo("no JSON"), {}), { message: /its schema is not a JSON object/ });
});

test("what the operator does not grant is denied in the words of the server", async () => {
  const handler = (_, call) => [call.sample("?"), call.roots(), kv.open()];
  const asks = tool({ name: "asks", description: "d", handler });
  const client = new TestClient().samples("!").hasRoots("file:///a");
  await client.invoke(asks);
  await assert.rejects(client.denies().invoke(asks), { kind: "denied", message: /not grant `sampling` to the plugin$/ });
  assert.throws(() => client.run(() => kv.open()), { kind: "denied", message: /does not grant `kv` to the plugin/ });
  assert.throws(() => client.call().roots(), { kind: "denied", message: /does not grant `roots` to the plugin$/ });
});

test("a result that does not fit the tool's schema is rejected in the words of the server", async () => {
  const output = { sum: s.integer().max(9) };
  const giving = (value) => tool({ name: "t", description: "d", output, handler: () => value });
  const invalid = "the tool returned an invalid result: ";
  for (const [value, words] of [
    [{ sum: 10 }, "its structured content does not fit its schema: /sum: 10 is greater than the maximum of 9"],
    [{}, "its structured content does not fit its schema: /sum: is required and missing"],
    ["10", "it promises structured content and gave none"],
  ]) {
    const outcome = await invoke(giving(value));
    assert.deepEqual([outcome.isError, outcome.text], [true, invalid + words]);
  }
  assert.deepEqual((await invoke(giving({ sum: 9 }))).structured, { sum: 9 });
  assert.equal((await invoke(giving(result({ content: ["no"], isError: true })))).text, "no");
});

test("a form that does not fit is no response, as at the server", () => {
  const form = { nights: s.integer().max(30), code: s.string().pattern("^[A-Z]$").optional() };
  const filled = (content) => new TestClient().accepts(content).call().elicit("Stay?", form).accepted();
  assert.deepEqual(filled({ nights: 3, code: "lower", more: true }), { nights: 3, code: "lower", more: true });
  for (const [content, why] of [
    [{ nights: 99 }, "the field `nights` does not fit the form"],
    [{ code: "A" }, "the field `nights` is missing"],
    [{ nights: 3, more: {} }, "the field `more` is not part of the form"],
    [undefined, "`content` is missing"],
  ]) {
    const message = `the client's response cannot be used: ${why}`;
    assert.throws(() => filled(content), { kind: "rpc", message });
  }
});

test("a form is checked as JSON has it", () => {
  const form = { type: "object", properties: { name: { type: "string" }, note: { type: "string" } } };
  const filled = (content) => new TestClient().accepts(content).call().elicit("?", form).accepted();
  assert.deepEqual(filled({ name: "A", note: undefined, more: undefined }), { name: "A" });
  assert.deepEqual(filled({ name: { toJSON: () => "A" } }), { name: "A" });
  assert.throws(() => filled({ name: NaN }), { kind: "rpc", message: /`name` does not fit/ });
});

test("a bound that is no number is none", () => {
  for (const field of [
    { type: "integer", minimum: "5", maximum: null },
    { type: "integer", minimum: true, maximum: "0" },
  ]) {
    const form = { type: "object", properties: { count: field } };
    assert.deepEqual(new TestClient().accepts({ count: 1 }).call().elicit("?", form).accepted(), { count: 1 });
    assert.deepEqual(new TestClient().accepts({ count: -1 }).call().elicit("?", form).accepted(), { count: -1 });
  }
});

test("a form is checked as the server checks it", { skip: !existsSync(folder) }, () => {
  const { form, cases } = read("forms.json");
  for (const { content, fault } of cases) {
    const filled = () => new TestClient().accepts(content).call().elicit("?", form).accepted();
    if (fault === undefined) assert.deepEqual(filled(), content);
    else assert.throws(filled, { kind: "rpc", message: `the client's response cannot be used: ${fault}` });
  }
});

test("a client whose responses have run out has the capability still", () => {
  const client = new TestClient().visits();
  const asking = client.call();
  assert.equal(asking.elicitUrl("Pay.", "https://example.com").action, "accept");
  assert.equal(asking.client.elicitation, true);
  const message = "the test has no more responses for elicitation";
  assert.throws(() => asking.elicitUrl("Pay.", "https://example.com"), { kind: "internal", message });
  assert.throws(() => asking.sample("?"), { kind: "missing-capability" });
});
