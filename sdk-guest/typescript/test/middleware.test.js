import assert from "node:assert/strict";
import { test } from "node:test";

import { HostError, plugin, prompt, resource, result, s, tool } from "plugport-sdk";
import { TestClient } from "plugport-sdk/testing";

const add = tool({
  name: "add",
  description: "Add.",
  input: { a: s.integer(), b: s.integer().default(1) },
  handler: ({ a, b }) => ({ sum: a + b }),
});
const say = tool({
  name: "say",
  description: "Say.",
  input: { word: s.string() },
  handler: async ({ word }) => word,
});
const item = resource({ template: "m://{id}", handler: ({ id }) => `item ${id}` });
const greet = prompt({ name: "greet", args: { name: "Whom." }, handler: ({ name }) => name });

const around = (...middleware) => {
  plugin({ tools: [add, say], resources: [item], prompts: [greet], middleware });
  return new TestClient();
};

test("the first middleware is the outermost", async () => {
  const said = [];
  const noting = (name) => (context, next) => {
    said.push(`${name} ${context.method} ${context.name} ${JSON.stringify(context.args)}`);
    const made = next();
    said.push(`end of ${name}`);
    return made;
  };
  const client = around(noting("one"), noting("two"));
  assert.deepEqual((await client.invoke(add, { a: 1 })).structured, { sum: 2 });
  const about = 'tools/call add {"a":1}';
  assert.deepEqual(said, [`one ${about}`, `two ${about}`, "end of two", "end of one"]);
});

test("resources and prompts have it too", async () => {
  const said = [];
  const client = around((context, next) => {
    said.push([context.method, context.name, context.args, next()]);
    return said.at(-1).at(-1);
  });
  assert.equal((await client.read(item, "m://7", { id: "7" }))[0].text, "item 7");
  assert.equal((await client.get(greet, { name: "Ada" })).messages[0].content.text, "Ada");
  assert.deepEqual(said, [
    ["resources/read", "m://7", { id: "7" }, [{ uri: "m://7", mimeType: "text/plain", text: "item 7" }]],
    ["prompts/get", "greet", { name: "Ada" }, { messages: ["Ada"] }],
  ]);
});

test("it may change arguments and results", async () => {
  const client = around(async (context, next) => {
    const { content } = await next({ ...context, args: { word: context.args.word.toUpperCase() } });
    return result({ content: [...content, "!"] });
  });
  assert.equal((await client.invoke(say, { word: "a" })).text, "A\n!");
});

test("it may answer itself, or throw", async () => {
  const client = around(({ name }) => {
    if (name === "say") return "kept";
    throw new HostError("denied", "not on Sundays");
  });
  assert.equal((await client.invoke(say, { word: "a" })).text, "kept");
  await assert.rejects(client.invoke(add, { a: 1 }), { kind: "denied" });
  await assert.rejects(client.get(greet, { name: "Ada" }), { kind: "denied" });
});

test("it sees what the handler throws", async () => {
  const fail = tool({
    name: "fail",
    description: "Fail.",
    async handler() {
      throw new RangeError("boo");
    },
  });
  const caught = async (_, next) => {
    try {
      return await next();
    } catch (error) {
      return `caught ${error.name}`;
    }
  };
  plugin({ tools: [fail], middleware: [caught] });
  const outcome = await new TestClient().invoke(fail);
  assert.deepEqual([outcome.text, outcome.isError, outcome.logs], ["caught RangeError", false, []]);
});

test("what is no function stops the build", () => {
  assert.throws(() => around("log"), /must be a function/);
});
