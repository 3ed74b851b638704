import assert from "node:assert/strict";
import { test } from "node:test";

import { evaluate } from "../src/evaluate.js";

const result = (code) => evaluate(code).result;
const logs = (code) => evaluate(code).logs;

const SLEEP = "const sleep = (ms) => new Promise((r) => setTimeout(r, ms));\n";

test("many timers come in the order of their times", () => {
  const code = `
    const at = [];
    let last;
    for (let n = 0; n < 5000; n++) {
      last = setTimeout(() => at.push(n % 97), (n % 97) * 10);
      if (n % 3 === 0) clearTimeout(last);
      if (n % 3 === 1) clearTimeout(+last);
    }
    await new Promise((r) => setTimeout(r, 5000));
    [at.length, at.every((n, i) => i === 0 || at[i - 1] <= n), typeof +last]`;
  assert.deepEqual(result(code), [1666, true, "number"]);
  assert.equal(result("await new Promise((r) => setTimeout(r, Infinity)); 1"), 1);
});

test("timers that set timers do not keep the result", () => {
  const endless = evaluate("const tick = () => setTimeout(tick, 1000); tick(); 5");
  assert.equal(endless.result, 5);
  assert.deepEqual(endless.logs, ["1 timers were left when the result was there; await what they do"]);
  assert.deepEqual(logs("for (let n = 0; n < 900; n++) setTimeout(() => n === 899 && console.log(n)); 1"), ["899"]);
});

test("what code for Node.js does with a timer does no harm", () => {
  assert.equal(result("setTimeout(() => {}, 1).unref().ref().hasRef()"), true);
  assert.equal(result("setTimeout(() => {}, 1)"), 1);
  assert.deepEqual(logs("clearTimeout(undefined); clearTimeout(null); clearTimeout({})"), []);
});

test("clocks show the time that timers jump", () => {
  const code = `${SLEEP}
    const [t, p] = [Date.now(), performance.now()];
    await sleep(60_000);
    [Date.now() - t, new Date() - t, performance.now() - p].map((ms) => Math.round(ms / 1000))`;
  assert.deepEqual(result(code), [60, 60, 60]);
  const until = "const t = Date.now(); let n = 0; while (Date.now() - t < 1000) { await sleep(100); n++ } n";
  assert.equal(result(SLEEP + until), 10);
});

test("dates are those of the language", () => {
  const code = `
    class Later extends Date {}
    const [now, later] = [new Date(), new Later(5)];
    [now instanceof Date, now.constructor === Date, later instanceof Later, later.getTime(), typeof Date(), Date.length,
     Date.name, Date.UTC(1970, 0), Date.parse("1970-01-01"), Number.isInteger(Date.now())]`;
  assert.deepEqual(result(code), [true, true, true, 5, "string", 7, "Date", 0, 0, true]);
  const born = [globalThis.Date, Date.prototype.constructor];
  result("Date = 5");
  assert.deepEqual([globalThis.Date, Date.prototype.constructor], born);
});
