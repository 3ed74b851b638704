// `fetch`, the store, the settings and tasks, as tests of plugins have them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { config, HttpError, kv, tasks, tool } from "plugport-sdk";
import { TestClient } from "plugport-sdk/testing";

import { AbortController as Controller, AbortSignal as Signal } from "../src/abort.js";
import { ReadableStream as Stream } from "../src/http/readable_stream.js";

const url = "https://a.test/";
const get = (init, where = url) => fetch(where, init);

test("requests are answered and seen", async () => {
  const client = new TestClient().answersHttp(
    async (request) => new Response(`got ${await request.text()}`, { status: 201, headers: { "X-A": "b" } }),
  );
  await client.run(async () => {
    const response = await get({ method: "post", body: "hällo", headers: { Accept: "text/plain" } });
    assert.deepEqual([response.status, response.ok, response.url], [201, true, url]);
    assert.deepEqual([response.headers.get("x-a"), await response.text()], ["b", "got hällo"]);
    await assert.rejects(response.text(), /read already/);
    const { status } = await get({ method: "PUT", body: Stream.from(["a", new Uint8Array([98])]) });
    assert.equal(status, 201);
  });
  const [first, second] = client.httpRequests;
  assert.deepEqual(
    [first.method, first.headers.get("accept"), await first.text()],
    ["POST", "text/plain", "hällo"],
  );
  assert.equal(first.headers.get("content-type"), "text/plain;charset=UTF-8");
  assert.deepEqual([second.headers.get("accept"), await second.text()], ["*/*", "ab"]);
});

test("without an answer requests are denied, and other failures are thrown by the answer", async () => {
  const fetchText = tool({
    name: "fetch-text",
    description: "Fetch.",
    handler: async () => (await fetch("https://b.test:8443/x")).text(),
  });
  const denied = new TestClient();
  const outcome = await denied.invoke(fetchText);
  const words = "this server does not grant the request GET https://b.test:8443 to the plugin";
  assert.deepEqual([outcome.isError, outcome.text], [true, `fetch failed\n${words}`]);
  assert.equal(denied.httpRequests.length, 1);
  const { cause } = await denied.run(() => get().catch((error) => error));
  assert.deepEqual([cause.kind, cause.grant], ["denied", 'http = ["GET https://a.test"]']);
  const limited = new TestClient().answersHttp(() => {
    throw new HttpError("over-limit", { limit: "http_requests" });
  });
  await assert.rejects(limited.run(get), ({ cause }) => cause.limit === "http_requests");
  assert.match((await new TestClient().answersHttp(() => "text").invoke(fetchText)).text, /^text$/);
});

test("options may be null", async () => {
  const client = new TestClient().answersHttp(({ method }) => method);
  assert.equal(await client.run(async () => (await fetch(url, null)).text()), "GET");
  assert.equal(new Request(url, null).url, url);
  assert.deepEqual([new Response("x", null).status, await Response.json([1], null).text()], [200, "[1]"]);
});

test("what cannot be sent is said", async () => {
  const client = new TestClient().answersHttp(() => "");
  await client.run(async () => {
    for (const [where, init, said] of [
      ["nowhere", {}, /no URL/],
      ["ftp://a.test/", {}, /fetch failed/],
      ["https://u:p@a.test/", {}, /password/],
      [url, { body: "x" }, /GET has no body/],
      [url, { headers: { "a b": "c" } }, /no name of a header/],
      [url, { headers: { a: "b\nc" } }, /may not be in it/],
      [url, { method: "a b" }, /no method/],
    ])
      await assert.rejects(get(init, where), { name: "TypeError", message: said });
  });
});

test("header fields of the connection are rejected, and the length is left out", async () => {
  const client = new TestClient().answersHttp(() => "");
  await client.run(async () => {
    for (const name of ["Connection", "host", "Proxy-Authorization", "transfer-encoding", "Upgrade"]) {
      const said = `the request cannot be sent: the header field \`${name.toLowerCase()}\` is not one that may be set`;
      await assert.rejects(
        get({ headers: { [name]: "x" } }),
        ({ cause }) => cause.kind === "invalid" && cause.message === said,
      );
    }
    await get({ headers: { "content-length": "7", "x-a": "b" } });
  });
  const [{ headers }] = client.httpRequests;
  assert.deepEqual([headers.has("content-length"), headers.get("x-a")], [false, "b"]);
});

test("header fields may have all characters, as hosts send them", async () => {
  const headers = { "x-name": "Ünï 日本 😀", "x-half": "\ud800" };
  const client = new TestClient().answersHttp(() => new Response("ok", { headers }));
  const response = await client.run(() => get({ headers }));
  for (const fields of [response.headers, client.httpRequests[0].headers])
    assert.deepEqual([fields.get("x-name"), fields.get("x-half")], ["Ünï 日本 😀", "\ufffd"]);
  assert.equal(await response.text(), "ok");
});

test("redirects are followed as everywhere else", async () => {
  const places = {
    "/1": [302, "/2?x"],
    "/2": [307, "https://b.test/3"],
    "/3": [303, "4"],
    "/loop": [301, "/loop"],
  };
  const client = new TestClient().answersHttp((request) => {
    const [status, location] = places[new URL(request.url).pathname] ?? [200];
    return new Response(null, { status, headers: location ? { location } : {} });
  });
  const headers = { authorization: "secret", "content-type": "a/b" };
  await client.run(async () => {
    const response = await get({ method: "POST", body: "x", headers }, "https://a.test/1");
    assert.deepEqual([response.url, response.redirected], ["https://b.test/4", true]);
    const seen = client.httpRequests.map(({ method, url, headers }) => [
      method,
      url,
      headers.has("authorization"),
    ]);
    assert.deepEqual(seen, [
      ["POST", "https://a.test/1", true],
      ["GET", "https://a.test/2?x", true],
      ["GET", "https://b.test/3", false],
      ["GET", "https://b.test/4", false],
    ]);
    assert.equal(client.httpRequests[1].headers.has("content-type"), false);
    assert.equal((await get({ redirect: "manual" }, "https://a.test/1")).status, 302);
    await assert.rejects(get({ redirect: "error" }, "https://a.test/1"), /fetch failed/);
    const put = { method: "PUT", body: Stream.from(["x"]) };
    await assert.rejects(get(put, "https://a.test/2"), ({ cause }) => /in pieces/.test(cause.message));
    client.httpRequests.length = 0;
    await assert.rejects(get({}, "https://a.test/loop"), ({ cause }) => /too often/.test(cause.message));
    assert.equal(client.httpRequests.length, 21);
  });
});

test("a signal ends a request and a body", async () => {
  const never = new Promise(() => {});
  const client = new TestClient().answersHttp(({ url }) =>
    url.endsWith("body") ? new Response(new Stream({ pull: () => never })) : never,
  );
  await client.run(async () => {
    const controller = new Controller();
    const started = get({ signal: controller.signal });
    controller.abort();
    await assert.rejects(started, { name: "AbortError" });
    await assert.rejects(get({ signal: Signal.timeout(1) }), { name: "TimeoutError" });
    await assert.rejects(get({ signal: Signal.abort("no") }), (reason) => reason === "no");
    const any = new Controller();
    const response = await get({ signal: Signal.any([any.signal, new Controller().signal]) }, `${url}body`);
    const text = response.text();
    any.abort("enough");
    await assert.rejects(text, (reason) => reason === "enough");
  });
});

test("a signal ends an upload whose source is stuck, and the source is told", async () => {
  const client = new TestClient().answersHttp(() => "ok");
  await client.run(async () => {
    const controller = new Controller();
    let cancelled = 0;
    let pulls = 0;
    const pull = (stream) => {
      pulls += 1;
      if (pulls === 1) return stream.enqueue("a");
      setTimeout(() => controller.abort("enough"), 1);
      return new Promise(() => {});
    };
    const body = new Stream({ pull, cancel: () => (cancelled += 1) });
    const sent = get({ method: "PUT", body, signal: controller.signal });
    await assert.rejects(sent, (reason) => reason === "enough");
    assert.deepEqual([pulls, cancelled], [2, 1]);
    async function* stuck() {
      yield "a";
      await new Promise(() => {});
    }
    const late = get({ method: "PUT", body: stuck(), signal: Signal.timeout(5) });
    await assert.rejects(late, { name: "TimeoutError" });
    async function* failing() {
      yield "a";
      throw new Error("no more");
    }
    const { signal } = new Controller();
    await assert.rejects(get({ method: "PUT", body: failing(), signal }), /no more/);
    const whole = await get({ method: "PUT", body: Stream.from(["a", "b"]), signal });
    assert.equal(await whole.text(), "ok");
    assert.equal(await client.httpRequests.at(-1).text(), "ab");
  });
});

test("a stream is read in pieces, and its source is told when nobody reads on", async () => {
  const asked = [];
  const source = {
    pull(controller) {
      asked.push("pull");
      controller.enqueue(asked.length);
    },
    cancel: (reason) => asked.push(reason),
  };
  const read = [];
  for await (const chunk of new Stream(source)) {
    read.push(chunk);
    if (chunk === 2) break;
  }
  assert.deepEqual(
    [read, asked],
    [
      [1, 2],
      ["pull", "pull", undefined],
    ],
  );
  const failing = new Stream({ start: (controller) => controller.error(new Error("no")) });
  await assert.rejects(failing.getReader().read(), /no/);
  assert.throws(() => failing.getReader(), /a reader already/);
  const pushed = new Stream({
    start(controller) {
      setTimeout(() => {
        controller.enqueue("late");
        controller.close();
      }, 1);
    },
  });
  assert.deepEqual((await Array.fromAsync?.(pushed)) ?? ["late"], ["late"]);
});

test("a body that someone began to read is used", async () => {
  const client = new TestClient().answersHttp(() => "text");
  await client.run(async () => {
    for (const [made, read] of [
      [get, async ({ body }) => assert.equal(await body.getReader().read().then(({ done }) => done), false)],
      [get, ({ body }) => body.cancel()],
      [() => new Response("text"), async ({ body }) => assert.equal((await body.values().next()).done, false)],
      [() => new Response("text"), async ({ body }) => void (await body.getReader().cancel())],
      [() => new Response("text"), async (response) => assert.equal(await response.text(), "text")],
      [
        get,
        async ({ body }) => {
          const reader = body.getReader();
          await reader.read();
          reader.releaseLock();
        },
      ],
    ]) {
      const response = await made();
      assert.equal(response.bodyUsed, false);
      assert.ok(response instanceof Response);
      await read(response);
      assert.equal(response.bodyUsed, true);
      await assert.rejects(response.text(), /read already/);
    }
    const whole = new Response("text");
    await whole.text();
    assert.equal(whole.body, null);
    const looked = new Response("text");
    assert.ok(looked.body && !looked.bodyUsed);
    assert.equal(await looked.text(), "text");
  });
});

test("each client has a store of its own", async () => {
  const client = new TestClient();
  const count = tool({
    name: "count",
    description: "Count.",
    handler: () => kv.open().increment("n"),
  });
  assert.deepEqual([(await client.invoke(count)).text, (await client.invoke(count)).text], ["1", "2"]);
  assert.deepEqual([client.store.getText("n"), new TestClient().store.keys()], ["2", []]);
  assert.throws(() => kv.open(), /TestClient/);
});

test("values of the store are text, bytes or JSON", () => {
  const { store } = new TestClient();
  store.set("a", new Uint8Array([0xff]));
  store.set("t", "ü");
  store.setJson("j", [1, { b: "ü" }]);
  assert.deepEqual(
    [[...store.get("a")], store.getText("t"), store.getJson("j")],
    [[0xff], "ü", [1, { b: "ü" }]],
  );
  assert.throws(() => store.getText("a"), /`a` is not text/);
  assert.throws(() => store.getJson("t"), /`t` is not JSON/);
  assert.throws(() => store.set("a", {}), /setJson/);
  assert.throws(() => store.setJson("a", undefined), /cannot be written/);
  assert.throws(() => store.updateJson("a", async () => 1), /`a` is not JSON/);
  assert.throws(() => store.updateJson("none", async () => 1), /cannot be written/);
  store.delete("a");
  assert.deepEqual([store.exists("a"), store.get("a"), store.getJson("a")], [false, undefined, undefined]);
  assert.deepEqual([store.increment("n", 5), store.increment("n", -7)], [5, -2]);
  store.set("n", String(2n ** 53n));
  assert.throws(() => store.increment("n"), /2\^53/);
  assert.equal(BigInt(store.getText("n")), 2n ** 53n + 1n, "the sum was stored");
  assert.throws(() => store.increment("t"), { kind: "internal" });
  assert.throws(() => store.increment("n", 0.5), RangeError);
});

test("an update is made again on what another wrote meanwhile, and gives up in the end", () => {
  const { store } = new TestClient();
  let disturbed = false;
  const sum = store.updateJson("n", (old = 0) => {
    if (!disturbed) store.set("n", "10");
    disturbed = true;
    return old + 1;
  });
  assert.deepEqual([sum, store.getJson("n")], [11, 11]);
  let n = 0;
  assert.throws(
    () => store.update("n", () => store.set("n", String((n += 1))) ?? "mine"),
    /others kept writing/,
  );
  assert.equal(n, 100);
});

test("settings and secrets are read by name", () => {
  const client = new TestClient().hasConfig({ region: "eu", retries: 3 }, { token: "secret" });
  client.run(() => {
    assert.deepEqual(
      [config.get("region"), config.get("token"), config.get("x")],
      ["eu", "secret", undefined],
    );
    assert.deepEqual(config.all(), { region: "eu", retries: "3" });
    assert.throws(() => config.require("x"), /`x`, which its operator has not made/);
  });
});

test("a client declares the extensions that a test gives it", () => {
  assert.deepEqual(new TestClient().call().client.extensions, []);
  const { client } = new TestClient({ extensions: ["io.modelcontextprotocol/ui"] }).call();
  assert.ok(client.extensions.includes("io.modelcontextprotocol/ui"));
});

test("a client of a test waits for calls that detach", () => {
  const call = new TestClient().call();
  assert.deepEqual([tasks.detach(call, "rendering"), tasks.detach(call)], [false, false]);
  assert.throws(() => tasks.detach({}), TypeError);
});
