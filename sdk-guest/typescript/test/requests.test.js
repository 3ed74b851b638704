// Requests in a component, over a host that the test plays: news come when its clock says so, for four requests at a
// time.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

const played = `
  let time = 0;
  const all = [];
  export const host = { all, get time() { return time; } };
  const alarm = (nanoseconds) => ({ block: () => (time += nanoseconds), [Symbol.dispose]() {} });
  const PARALLEL = 4;
  const comes = (one) => (all.indexOf(one) < PARALLEL && one.news.length > 0 ? one.news[0].at * 1e6 : Infinity);
  const next = (one) => { const { value } = one.news.shift(); if (value.payload) throw value; return value; };
  export default {
    now: () => time, subscribeDuration: alarm,
    send({ url }) {
      if (url.includes("denied")) throw { payload: { tag: "denied", val: { request: "GET x", grant: "line" } } };
      const [head, ...pieces] = url.split("/").at(-1).split(",").map(Number);
      const news = [{ at: head, value: { status: 200, headers: [] } }];
      for (const at of pieces) news.push({ at, value: new Uint8Array(40000) });
      const broken = { payload: { tag: "broken", val: "it broke off" } };
      news.push({ at: pieces.at(-1) ?? head, value: url.includes("broken") ? broken : new Uint8Array() });
      const one = { news, pieces: 0, response: () => next(one), read: () => next(one) };
      one.write = () => {
        one.pieces += 1;
        if (one.pieces > 1 && all.indexOf(one) >= PARALLEL) throw new Error("it would wait for itself");
        return true;
      };
      one[Symbol.dispose] = () => all.splice(all.indexOf(one), 1);
      all.push(one);
      return one;
    },
    wait(list, ms) {
      const end = ms === undefined ? Infinity : time + ms * 1e6;
      const first = Math.min(end, ...list.map(comes));
      if (first === Infinity) throw new Error("there will be no news");
      time = Math.max(time, first);
      return list.flatMap((one, at) => (comes(one) <= time ? [at] : []));
    },
  };`;
const page = JSON.stringify(`data:text/javascript,${encodeURIComponent(played)}`);
const hooks = `const names = /^(?:wasi:clocks|plugport:plugin.http-client)/;
  export const resolve = (name, context, next) =>
    names.test(name) ? { url: ${page}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const { drain, forget } = await import("../src/engine/microtasks.js");
const { goLive } = await import("../src/engine/live.js");
const { send } = await import("../src/http/host.js");
const { Promise: Later } = await import("../src/engine/promise.js");
const { addTimer } = await import("../src/engine/microtasks.js");
const { host } = await import(JSON.parse(page));

globalThis.Promise = Later; // as in a component
const start = (url) => send({ url });
const ms = () => host.time / 1e6;

test("nothing is sent while the plugin is built", () => {
  assert.throws(() => start("1"), /in a handler/);
  goLive();
});

test("several requests are waited for at once, and timers beside them", () => {
  const begun = ms();
  const order = [];
  const heads = [`${begun + 30}`, `${begun + 10}`].map((url) =>
    start(url)
      .head()
      .then(() => order.push(url)),
  );
  addTimer(() => order.push("timer"), 20, [], false);
  drain(Later.all(heads));
  assert.deepEqual(order, [`${begun + 10}`, "timer", `${begun + 30}`]);
  assert.equal(ms(), begun + 30);
  forget();
  assert.equal(host.all.length, 0);
});

test("bodies that nobody reads yet are read ahead, but not far", () => {
  const begun = ms();
  const slow = start(`${begun},${begun + 50}`);
  drain(slow.head());
  const large = start([1, 2, 3, 4, 5].map((at) => begun + at).join());
  drain(large.head());
  drain(slow.read());
  // The head, and pieces of 40,000 bytes until there are 64 KiB.
  assert.equal(host.all[1].news.length, 3);
  let length = 0;
  for (let piece = drain(large.read()); piece.length > 0; piece = drain(large.read())) length += piece.length;
  assert.equal(length, 160_000);
  assert.equal(drain(large.read()).length, 0);
  assert.equal(drain(slow.read()).length, 0);
  assert.equal(host.all.length, 0, "a body that has ended has no handle");
});

test("bodies are read ahead far enough that requests which wait for permits are sent", () => {
  const begun = ms();
  const pieces = [...Array(10).keys()].map((at) => begun + at).join();
  const all = [...Array(9).keys()].map(() => start(pieces));
  drain(Later.all(all.map((one) => one.head())));
  for (const one of all) {
    let length = 0;
    for (let piece = drain(one.read()); piece.length > 0; piece = drain(one.read())) length += piece.length;
    assert.equal(length, 360_000);
  }
  const huge = [...Array(30).keys()].map((at) => ms() + at).join();
  const more = [...Array(5).keys()].map(() => start(huge));
  assert.throws(() => drain(Later.all(more.map((one) => one.head()))), /no news/);
  forget();
});

const upload = (one, pieces) => {
  for (let at = 0; at < pieces; at += 1) assert.ok(drain(one.write(new Uint8Array(1))));
};

test("before its second piece an upload waits until unread bodies have given back their permits", () => {
  const begun = ms();
  const all = [20, 30, 40, 50].map((end) => start(`${begun},${begun + end}`));
  drain(Later.all(all.map((one) => one.head())));
  const sent = start(`${begun + 60}`);
  upload(sent, 1);
  assert.equal(ms(), begun, "the first piece waits for nothing");
  upload(sent, 2);
  assert.equal(ms(), begun + 50);
  for (const one of all) assert.equal(drain(one.read()).length, 40_000);
  forget();
});

test("an upload waits a second at most for bodies that end late, and not once they are closed", () => {
  const begun = ms();
  const late = start(`${begun},${begun + 5000}`);
  drain(late.head());
  upload(start(`${begun}`), 3);
  assert.equal(ms(), begun + 1000);
  addTimer(() => late.drop("enough"), 10, [], false);
  upload(start(`${begun}`), 3);
  assert.equal(ms(), begun + 1010);
  forget();
});

test("failures reach who waits, and who reads on", () => {
  assert.throws(() => start("denied"), { kind: "denied", grant: "line" });
  const broken = start(`broken/${ms() + 1},${ms() + 2}`);
  drain(broken.head());
  assert.equal(drain(broken.read()).length, 40_000);
  assert.throws(() => drain(broken.read()), {
    kind: "broken",
    message: "the answer is broken: it broke off",
  });
  const dropped = start(`${ms() + 5}`);
  const head = dropped.head();
  dropped.drop("enough");
  assert.throws(
    () => drain(head),
    (reason) => reason === "enough",
  );
  assert.equal(host.all.length, 0);
});

test("a body that was read ahead to its end is not there after its request was dropped", () => {
  const begun = ms();
  const ended = start(`${begun},${begun + 1}`);
  drain(ended.head());
  drain(start(`${begun + 5}`).head());
  ended.drop("enough");
  assert.throws(
    () => drain(ended.read()),
    (reason) => reason === "enough",
  );
  forget();
});

test("a request that nobody awaits keeps no call from ending", () => {
  const open = start(`${ms() + 1},${ms() + 1000}`);
  drain(open.head());
  assert.throws(() => drain(new Later(() => {})), /never happens/);
  forget();
  assert.equal(host.all.length, 0);
});
