// What the SDK supplies to the engine, where it can be tried without one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { structuredClone as clone } from "../src/engine/structured_clone.js";
import { collectGarbage } from "../src/engine/collect_garbage.js";
import { begin, performance as measured } from "../src/engine/performance.js";
import { formatValue } from "../src/engine/format_value.js";
import { encode, TextDecoder as Decoder, TextEncoder as Encoder } from "../src/engine/text_encoding.js";

const texts = ["", "abc", "äöü €", "😀 \u0000", "\ud800x", "\ufeffbom"];

test("text is encoded as everywhere else, whether the engine reads base64 or not", () => {
  const native = Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64");
  let calls = 0;
  const fromBase64 = (text) => (calls += 1) && new Uint8Array(Buffer.from(text, "base64"));
  try {
    for (const value of [undefined, fromBase64]) {
      Object.defineProperty(Uint8Array, "fromBase64", { value, configurable: true });
      for (const text of texts) assert.deepEqual(encode(text), new TextEncoder().encode(text));
    }
  } finally {
    if (native) Object.defineProperty(Uint8Array, "fromBase64", native);
    else delete Uint8Array.fromBase64;
  }
  assert.equal(calls, texts.length);
  assert.deepEqual(new Encoder().encodeInto("a€", new Uint8Array(3)), { read: 1, written: 1 });
});

test("a long text is encoded in slices, which end between characters", () => {
  const native = Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64");
  let longest = 0;
  const fromBase64 = (text) => {
    longest = Math.max(longest, text.length);
    return new Uint8Array(Buffer.from(text, "base64"));
  };
  Object.defineProperty(Uint8Array, "fromBase64", { value: fromBase64, configurable: true });
  try {
    const half = 1 << 15;
    for (const text of ["x".repeat(2 * half), "世".repeat(10 * half), `x${"😀".repeat(3 * half)}`])
      assert.deepEqual(encode(text), new TextEncoder().encode(text));
  } finally {
    if (native) Object.defineProperty(Uint8Array, "fromBase64", native);
    else delete Uint8Array.fromBase64;
  }
  assert.equal(longest, 4 * (1 << 16)); // of 64 Ki characters of three bytes each
});

test("bytes are decoded as everywhere else, however broken they are", () => {
  for (let seed = 1; seed < 2000; seed += 1) {
    const bytes = Uint8Array.from(
      { length: 6 },
      (_, at) =>
        [0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xa0, 0xf0, 0x90, 0xf4, 0x8f, 0xff][
          (seed * (at + 3) * 2654435761) % 12
        ],
    );
    assert.equal(new Decoder().decode(bytes), new TextDecoder().decode(bytes), bytes.join());
  }
  for (const text of texts)
    assert.equal(new Decoder().decode(encode(text)), new TextDecoder().decode(encode(text)));
  assert.throws(() => new Decoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])), TypeError);
  assert.throws(() => new Decoder("latin1"), RangeError);
});

test("text may come in pieces", () => {
  const decoder = new Decoder();
  const bytes = encode("a€😀");
  const text = Array.from(bytes, (byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join("");
  assert.equal(text + decoder.decode(), "a€😀");
});

test("data is cloned, whatever refers to whatever", () => {
  const value = {
    list: [1, { a: new Date(5) }],
    map: new Map([["k", new Set([1])]]),
    bytes: new Uint8Array([1, 2]),
  };
  value.self = value;
  assert.deepEqual(clone(value), structuredClone(value));
  assert.equal(JSON.stringify(clone(JSON.parse('{"__proto__":{"a":1}}'))), '{"__proto__":{"a":1}}');
  assert.notEqual(clone(value).list, value.list);
  assert.throws(() => clone(() => {}), TypeError);
});

test("what holds itself is printed once", () => {
  const map = new Map([["a", 1]]);
  map.set("self", map);
  assert.equal(formatValue(map), '[["a",1],["self","[circular]"]]');
  const set = new Set();
  set.add([set]).add({ n: 1n });
  assert.equal(
    formatValue({ set, again: set }),
    '{"set":[["[circular]"],{"n":"1n"}],"again":[["[circular]"],{"n":"1n"}]}',
  );
  assert.equal(formatValue("text") + formatValue(undefined) + formatValue(Symbol("s")), "textundefinedSymbol(s)");
});

test("time begins with the first request", () => {
  assert.equal(measured.timeOrigin, performance.timeOrigin);
  begin();
  const { timeOrigin } = measured;
  const first = measured.now();
  assert.ok(first >= 0 && first < 1000, String(first));
  assert.ok(Math.abs(Date.now() - first - timeOrigin) < 100);
  begin();
  const { now } = measured;
  assert.ok(now() >= first);
  assert.equal(measured.timeOrigin, timeOrigin);
});

test("what is nested too deeply is printed as far as it goes", () => {
  let deep = 1;
  for (let at = 0; at < 20_000; at += 1) deep = [deep];
  assert.equal(formatValue(deep), `${"[".repeat(64)}"[too deep]"${"]".repeat(64)}`);
});

test("collecting ends where an engine keeps all objects until a job is done", () => {
  collectGarbage();
});
