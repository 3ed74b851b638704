// The `Promise` of components, and the queue beneath it, over a clock that the test moves.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

// There is no host clock here. Its replacement advances only while code sleeps.
const clock = `let time = 0;
  const alarm = (nanoseconds) => ({ block: () => (time += nanoseconds), [Symbol.dispose]() {} });
  export default { now: () => time, subscribeDuration: alarm };`;
const hooks = `export const resolve = (name, context, next) =>
  name.startsWith("wasi:clocks/") ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(clock)}`)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const { addTimer, clearTimer, drain, forget } = await import("../src/engine/microtasks.js");
const { Promise: Later } = await import("../src/engine/promise.js");

const sleep = (ms, value) => new Later((resolve) => addTimer(() => resolve(value), ms, [], false));

test("what a promise waits for is done before its value is there", () => {
  const order = [];
  const value = drain(
    Later.resolve(1)
      .then((one) => sleep(50, one + 1))
      .finally(() => order.push("finally"))
      .then((two) => order.push("then") && two),
  );
  assert.equal(value, 2);
  assert.deepEqual(order, ["finally", "then"]);
});

test("failures arrive where they are caught", () => {
  const failed = () => Later.reject(new Error("no"));
  assert.throws(() => drain(failed()), /no/);
  assert.equal(drain(failed().catch(({ message }) => message)), "no");
  assert.equal(
    drain(
      Later.try(() => JSON.parse("{")).then(
        () => "no",
        () => "yes",
      ),
    ),
    "yes",
  );
  assert.throws(() => drain(Later.resolve().then(() => ({ then: () => JSON.parse("{") }))), SyntaxError);
});

test("several are waited for", () => {
  assert.deepEqual(drain(Later.all([sleep(20, "a"), sleep(10, "b"), "c"])), ["a", "b", "c"]);
  assert.deepEqual(drain(Later.all([])), []);
  assert.equal(drain(Later.race([sleep(20, "slow"), sleep(10, "fast")])), "fast");
  assert.equal(drain(Later.any([Later.reject(1), sleep(1, "one")])), "one");
  assert.throws(() => drain(Later.any([Later.reject(1)])), AggregateError);
  const [done, failed] = drain(Later.allSettled([1, Later.reject(2)]));
  assert.deepEqual(
    [done, failed],
    [
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: 2 },
    ],
  );
});

test("what never happens is an error, and a promise of the engine too", () => {
  assert.throws(() => drain(new Later(() => {})), /never happens/);
  assert.throws(() => drain(Promise.resolve(1)), /plugport build/);
  const itself = Later.withResolvers();
  itself.resolve(itself.promise);
  assert.throws(() => drain(itself.promise), /wait for itself/);
});

test("a promise is settled once, and long chains do not nest", () => {
  const { promise, resolve, reject } = Later.withResolvers();
  resolve(1);
  reject(2);
  resolve(3);
  assert.equal(drain(promise), 1);
  let chain = Later.resolve(0);
  for (let at = 0; at < 5000; at += 1) chain = chain.then((value) => value + 1);
  assert.equal(drain(chain), 5000);
});

test("many timers come in the order of their times, without those that were cleared", () => {
  const ticks = [];
  for (let at = 0; at < 3000; at += 1) {
    const id = addTimer(() => ticks.push(at % 97), (at % 97) * 10, [], false);
    if (at % 3 === 0) clearTimer(id);
  }
  drain(sleep(5000));
  assert.equal(ticks.length, 2000);
  assert.deepEqual(
    ticks,
    ticks.toSorted((one, other) => one - other),
  );
});

test("timers come in their order, repeat, and end with the call", () => {
  const ticks = [];
  const id = addTimer(() => ticks.push("tick"), 10, [], true);
  drain(sleep(35).then(() => clearTimer(id)));
  assert.deepEqual(ticks, ["tick", "tick", "tick"]);
  assert.equal(drain(Later.race([sleep(Infinity), sleep(1e15), sleep(2 ** 31 - 2, "first")])), "first");
  addTimer(() => ticks.push("late"), 1, [], false);
  forget();
  assert.throws(() => drain(new Later(() => {})), /never happens/);
  assert.equal(ticks.length, 3);
});
