import assert from "node:assert/strict";
import { test } from "node:test";

import {
  HostError,
  image,
  notify,
  plugin,
  prompt,
  rank,
  resource,
  result,
  s,
  tool,
  user,
} from "plugport-sdk";
import { call, changes, describe, invoke, TestClient } from "plugport-sdk/testing";

import { complete } from "../src/completions.js";
import { lowered } from "../src/errors.js";
import { Template } from "../src/uri_template.js";

const hello = tool({
  name: "hello",
  description: "Greet.",
  input: { name: s.string("Who.").min(1), times: s.integer().default(1), loud: s.boolean().optional() },
  readOnly: true,
  handler({ name, times }, call) {
    call.info("greeting");
    return `Hello, ${name}! `.repeat(times).trim();
  },
});

const returning = (value, more) => tool({ name: "t", description: "d", handler: () => value, ...more });
const throwing = (error) =>
  tool({
    name: "t",
    description: "d",
    handler() {
      throw error;
    },
  });

test("a tool's schema comes from its fields", () => {
  assert.deepEqual(describe(hello), {
    name: "hello",
    title: null,
    description: "Greet.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", description: "Who.", minLength: 1 },
        times: { type: "integer", default: 1 },
        loud: { type: "boolean" },
      },
      required: ["name"],
      additionalProperties: false,
    },
    outputSchema: undefined,
    annotations: { readOnly: true, destructive: null, idempotent: null, openWorld: null },
    extra: null,
  });
});

test("defaults are filled in and the log is kept", async () => {
  const outcome = await invoke(hello, { name: "Ada" });
  assert.equal(outcome.text, "Hello, Ada!");
  assert.deepEqual(outcome.logs, [{ level: "info", logger: null, data: "greeting" }]);
});

test("unknown and missing arguments are rejected", async () => {
  const unknown = await invoke(hello, { name: "Ada", nmae: "" });
  assert.ok(unknown.isError);
  const prefix = "the arguments do not fit the tool's schema: ";
  assert.equal(unknown.text, `${prefix}/nmae: not a known property`);
  assert.equal((await invoke(hello)).text, `${prefix}/name: is required and missing`);
});

test("whatever a tool returns becomes a result", async () => {
  assert.deepEqual((await invoke(returning(undefined))).content, []);
  assert.equal((await invoke(returning(7))).text, "7");
  assert.equal((await invoke(returning([1, 2]))).text, "[1,2]");
  const structured = await invoke(returning({ a: "\ud800" }));
  assert.deepEqual([structured.structured, structured.text], [{ a: "\ufffd" }, '{"a":"\ufffd"}']);
  const picture = await invoke(returning([image("AAE=", "image/png"), "a picture"]));
  assert.deepEqual(picture.content[0], {
    type: "image",
    data: new Uint8Array([0, 1]),
    mimeType: "image/png",
  });
  const own = await invoke(returning(result({ content: ["no"], isError: true })));
  assert.deepEqual([own.text, own.isError], ["no", true]);
});

test("what is nested too deeply is a tool error", async () => {
  const nested = (depth, wrap) => {
    let value = 1;
    for (let at = 0; at < depth; at += 1) value = wrap(value);
    return { value };
  };
  const wraps = [(value) => [value], (a) => ({ a }), (value) => ({ toJSON: () => ({ value }) })];
  for (const wrap of wraps) {
    // The result itself is the first level.
    assert.equal((await invoke(returning(nested(63, wrap)))).isError, false);
    for (const depth of [64, 500, 2_000, 20_000]) {
      const outcome = await invoke(returning(nested(depth, wrap)));
      assert.equal(outcome.isError, true);
      assert.match(outcome.text, /nested more than 64 deep/);
    }
    const extra = { _meta: nested(2_000, wrap) };
    assert.match((await invoke(returning(result({ extra })))).text, /nested more than 64 deep/);
  }
  const shared = [[1]];
  const wide = { rows: Array.from({ length: 100 }, () => ({ shared, again: shared })) };
  assert.equal((await invoke(returning(wide))).structured.rows.length, 100);
});

test("whatever is given becomes what the interface takes", async () => {
  const odd = await invoke(
    returning(result({ content: [image("", "a/\ud800")], structured: { "\udc00": "\\ud800" } })),
  );
  assert.deepEqual([odd.content[0].mimeType, odd.structured], ["a/\ufffd", { "\ufffd": "\\ud800" }]);
  assert.deepEqual(
    complete(() => ({ values: [1, 2], total: -3.5, hasMore: "yes" }), "", [], call()),
    {
      values: ["1", "2"],
      total: 2,
      hasMore: true,
    },
  );
  assert.equal(complete(() => ({ values: [], total: 7 }), "", [], call()).total, 7);
  assert.deepEqual(new HostError("toString", "a\ud800").lower(), { tag: "internal", val: "a\ufffd" });
  assert.deepEqual(new HostError("rpc", "m", { code: 1e12, message: Symbol("s"), data: "\ud800" }).lower(), {
    tag: "rpc",
    val: { code: -32603, message: "Symbol(s)", data: "\ufffd" },
  });
  assert.deepEqual(lowered(Object.create(null)), { tag: "internal", val: "it failed without saying why" });
  assert.equal(describe(returning(1, { readOnly: "yes" })).annotations.readOnly, true);
});

test("what every object has is no argument and no completer", async () => {
  const input = { toString: s.string().optional(), of: s.record(s.object({ a: s.string().default("x") })) };
  const named = tool({ name: "t", description: "d", input, handler: (args) => args });
  assert.deepEqual((await invoke(named, { of: { k: {} } })).structured, { of: { k: { a: "x" } } });
  assert.equal((await invoke(named, { of: {}, valueOf: 1 })).isError, true);
  const asks = prompt({ name: "p", args: { constructor: "c" }, handler: () => "" });
  await assert.rejects(new TestClient().get(asks), { kind: "invalid-params" });
  assert.deepEqual(await new TestClient().complete(asks, "constructor", ""), []);
});

test("a null is nothing where something may be missing", async () => {
  const inner = s.object({ n: s.integer().default(3), word: s.string().optional() });
  const input = { n: s.integer().default(7), inner: inner.optional(), any: s.json({}).optional() };
  const named = tool({ name: "t", description: "d", input, handler: (args) => args });
  const { structured } = await invoke(named, { n: null, inner: { n: null, word: null }, any: null });
  assert.deepEqual(structured, { n: 7, inner: { n: 3 }, any: null });
});

test("a default of null is null", async () => {
  const input = { word: s.string().default(null), inner: s.object({ n: s.integer().default(null) }).default({}) };
  const named = tool({ name: "t", description: "d", input, handler: (args) => args });
  for (const args of [{}, { word: null }, { inner: { n: null } }]) {
    assert.deepEqual((await invoke(named, args)).structured, { word: null, inner: { n: null } });
  }
});

test("integers that JavaScript would round are rejected", async () => {
  const input = { n: s.integer(), more: s.array(s.integer()).optional(), real: s.number().optional() };
  const exact = tool({ name: "t", description: "d", input, handler: (args) => args });
  const most = Number.MAX_SAFE_INTEGER;
  assert.deepEqual((await invoke(exact, { n: most, real: 1e300 })).structured, { n: most, real: 1e300 });
  for (const args of [{ n: most + 1 }, { n: 0, more: [1, -1e20] }]) {
    const outcome = await invoke(exact, args);
    assert.equal(outcome.isError, true);
    assert.match(outcome.text, /is too large: whole numbers are exact from -9007199254740991 to/);
  }
});

test("a default lacks what its own fields have as defaults, whatever they are called", async () => {
  const place = s.object({ ["__proto__"]: s.integer().default(7), unit: s.enum(["m", "ft"]).default("m") });
  const input = { to: place.default({}), ["__proto__"]: place.optional() };
  const named = tool({ name: "t", description: "d", input, handler: (args) => JSON.stringify(args) });
  assert.equal((await invoke(named, {})).text, '{"to":{"__proto__":7,"unit":"m"}}');
});

test("what nobody catches is a tool error, and its stack is in the log", async () => {
  const outcome = await invoke(throwing(new TypeError("boo", { cause: new Error("why") })));
  assert.deepEqual([outcome.text, outcome.isError], ["boo\nwhy", true]);
  assert.match(outcome.logs[0].data, /^TypeError: boo\nwhy\n[^]*handlers\.test\.js/);
  assert.equal((await invoke(throwing(undefined))).text, "it failed without saying why");
});

test("an error of the host is handed on", async () => {
  const asks = tool({ name: "asks", description: "d", handler: (_, call) => call.sample("?").text });
  await assert.rejects(invoke(asks), { name: "HostError", kind: "missing-capability" });
  assert.equal((await new TestClient().samples("42").invoke(asks)).text, "42");
  assert.deepEqual(new HostError("timed-out").lower(), { tag: "timed-out" });
});

test("a request has the shape that MCP gives it", () => {
  const client = new TestClient().samples("a").accepts({ city: "Oslo" }).hasRoots("file:///a");
  const asking = client.call();
  asking.keyed("k").sample({ system: "s", text: "q", stop: "END", temperature: 0.5 });
  assert.equal(asking.elicit("Where?", { city: s.string() }).accepted().city, "Oslo");
  assert.deepEqual(asking.roots(), [{ uri: "file:///a" }]);
  assert.deepEqual(client.requests[0], {
    kind: "sample",
    key: "k",
    params: {
      temperature: 0.5,
      messages: [{ role: "user", content: { type: "text", text: "q" } }],
      systemPrompt: "s",
      stopSequences: ["END"],
      maxTokens: 1000,
    },
  });
  assert.deepEqual(client.requests[1].params, {
    mode: "form",
    message: "Where?",
    requestedSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  });
});

test("a person may refuse", () => {
  const asking = new TestClient().declines().call();
  assert.throws(() => asking.elicit("?", {}).accepted(), { kind: "rejected" });
});

test("several requests are sent at once", () => {
  const asking = new TestClient().samples("T").closes().hasRoots("file:///a").call();
  const results = asking.requestInputs({
    title: { sample: "A title?" },
    form: { elicit: { message: "Where?", form: {} } },
    folders: { roots: true },
  });
  assert.deepEqual([results.title.text, results.form.action, results.folders.length], ["T", "cancel", 1]);
});

test("a Standard Schema checks and makes the arguments", async () => {
  const validate = ({ a }) =>
    a > 0 ? { value: { a: a * 2 } } : { issues: [{ path: ["a"], message: "too small" }] };
  const jsonSchema = { input: () => ({ type: "object", properties: { a: {} } }) };
  const input = { "~standard": { version: 1, vendor: "test", validate, jsonSchema } };
  const double = tool({ name: "double", description: "d", input, handler: ({ a }) => a });
  assert.equal((await invoke(double, { a: 2 })).text, "4");
  const rejected = await invoke(double, { a: -1 });
  assert.deepEqual([rejected.text, rejected.isError], ["a: too small", true]);
});

const note = resource({
  template: "notes://note/{id}{?part}",
  list: () => [{ uri: "notes://note/1", name: "first" }],
  complete: { id: (value) => rank(value, ["1", "12"]) },
  handler: ({ id, part }) => (id === "9" ? null : `Note ${id}, ${part ?? "whole"}`),
});

test("resources are read by their URI", async () => {
  const client = new TestClient();
  assert.deepEqual(await client.read(note, "notes://note/a%20b?part=2", { id: "a b", part: "2" }), [
    { uri: "notes://note/a%20b?part=2", mimeType: "text/plain", text: "Note a b, 2" },
  ]);
  await assert.rejects(client.read(note, "notes://note/9", { id: "9" }), { kind: "not-found" });
  assert.deepEqual(await client.complete(note, "id", "1"), ["1", "12"]);
  const bytes = resource({ uri: "a:b", handler: () => new Uint8Array([1]) });
  assert.deepEqual((await client.read(bytes))[0].blob, new Uint8Array([1]));
});

test("a template has its variables in order", () => {
  for (const [template, names] of [
    ["a:b", []],
    ["a:{x}/{y}", ["x", "y"]],
    ["a:{+x}{/y}{?p,q}{&r}{#f}", ["x", "y", "p", "q", "r", "f"]],
  ])
    assert.deepEqual(new Template(template).names, names);
  for (const template of ["a:{x*}", "a:{x,y}", "a:{x}{x}", "a:{;x}"])
    assert.throws(() => new Template(template), TypeError);
});

test("listed resources have annotations", () => {
  const annotations = { audience: ["user"], priority: 1, lastModified: "2026-01-01T00:00:00Z" };
  const fixed = resource({ uri: "a:b", annotations, handler: () => "" });
  const list = () => [{ uri: "a:1", annotations }, { uri: "a:2" }];
  const many = resource({ template: "a:{x}", annotations, list, handler: () => "" });
  const { resources } = plugin({ resources: [fixed, many] });
  const [, first, second] = resources.listResources();
  assert.deepEqual([resources.listResources()[0].annotations, first.annotations], [annotations, annotations]);
  assert.equal(second.annotations, null);
  assert.deepEqual(resources.listResourceTemplates()[0].annotations, annotations);
});

test("a plugin reads what the host matched, and a fixed resource before a template", () => {
  const first = resource({ uri: "notes://note/1", handler: () => "first" });
  const { resources } = plugin({ resources: [note, first] });
  const text = (uri, matched) => resources.readResource(null, uri, matched)[0].data.val;
  const matched = { uriTemplate: "notes://note/{id}{?part}", variables: [["id", "1"]] };
  assert.equal(text("notes://note/1", matched), "first");
  assert.equal(text("notes://note/%31", matched), "Note 1, whole");
  for (const other of [undefined, null, { uriTemplate: "notes://{x}", variables: [] }])
    assert.throws(() => text("notes://note/%31", other));
});

test("prompts are texts or conversations", async () => {
  const review = prompt({
    name: "review",
    args: { code: "The code.", language: { default: "Rust" } },
    handler: ({ code, language }) => [`Review this ${language}:`, user(code)],
  });
  const { messages } = await new TestClient().get(review, { code: "x" });
  assert.deepEqual(
    messages.map(({ content }) => content.text),
    ["Review this Rust:", "x"],
  );
  await assert.rejects(new TestClient().get(review), { kind: "invalid-params" });
});

test("a plugin says what is wrong with it when it is built", () => {
  assert.throws(() => plugin({ tools: [hello, hello] }), /two tools `hello`/);
  assert.throws(() => plugin({ tools: [{}] }), /made with `tool/);
  assert.throws(() => tool({ name: "x", handler() {} }), /needs a `description`/);
  assert.deepEqual(Object.keys(plugin({ tools: [hello] })), ["tools", "resources", "prompts", "completions"]);
});

test("changes are told", () => {
  notify.toolsChanged();
  notify.resourceUpdated("a:b");
  assert.deepEqual(changes(), ["tools", "a:b"]);
  assert.equal(call().cancelled, false);
});

test("candidates are ordered by how well they fit", () => {
  assert.deepEqual(rank("pa", ["Las Palmas", "Paris", "Aspar", "Pa", "Oslo"]), [
    "Pa",
    "Paris",
    "Las Palmas",
    "Aspar",
  ]);
});
