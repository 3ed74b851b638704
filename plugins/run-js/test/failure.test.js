import assert from "node:assert/strict";
import { test } from "node:test";

import { Failed, evaluate } from "../src/evaluate.js";

function failure(code) {
  try {
    evaluate(code);
  } catch (error) {
    assert.ok(error instanceof Failed, String(error?.stack));
    return error;
  }
  return assert.fail(`no failure of ${code}`);
}

test("what the code threw is not taken for an error in the code", () => {
  const thrown = "let n = 1;\nfunction f() { n += 1; return JSON.parse('{') }\nconsole.log(n);\nf()";
  assert.match(failure(thrown).message, /^SyntaxError: .*\n {2}at line 2: function f\(\)/);
  assert.deepEqual(failure(thrown).logs, ["1"]);
  const broken = failure("console.log(1);\nreturn 1 +");
  assert.match(broken.message, /^SyntaxError: .*\n {2}at line 2: return 1 \+$/);
  assert.deepEqual(broken.logs, []);
});

test("code that threw a SyntaxError is not run again", () => {
  const throwing = "throw new SyntaxError('no')";
  for (const [code, logs] of [
    [`'use strict';\nconsole.log((function () { return this })() === undefined);\n${throwing}`, ["true"]],
    [`let n = 1; const f = () => n; console.log(f());\n${throwing}`, ["1"]],
    [`{ console.log(1) }\n${throwing}`, ["1"]],
    [`console.log(1) // last\n;${throwing} // last`, ["1"]],
    [`console.log(1);\nObject.freeze(globalThis.Math);\n${throwing}`, ["1"]],
    [`console.log(1);\n(0, eval)('1 +')`, ["1"]],
  ]) {
    const failed = failure(code);
    assert.match(failed.message, /^SyntaxError: .*\n {2}at line/, code);
    assert.deepEqual(failed.logs, logs, code);
  }
});

test("the line is where an error was thrown, and not where it was made", () => {
  const classes = "class E extends Error { constructor(m) { super(m) } }\nclass F extends E { constructor(m) { super(m) } }\n";
  assert.match(failure(`${classes}throw new F('no')`).message, /^Error: no\n {2}at line 3: throw/);
  assert.match(failure(`${classes}await 1;\nthrow new F('no')`).message, /^Error: no\n {2}at line 4: throw/);
  assert.equal(failure("const e = new Error('a');\ne.stack = 5;\nthrow e").message, "Error: a");
  // As the engine writes it: the first is a place in the JSON.
  const stack = "    at <input>:4:1\n    at parse (native)\n    at g (<input>:2:14)\n    at <eval> (<input>:1:7)";
  const engine = `const e = new Error('a');\ne.stack = ${JSON.stringify(stack)};\nthrow e\n`;
  assert.match(failure(engine).message, /at line 2: e\.stack/);
});

test("`super` in an async method is rejected, in its arrow functions too", () => {
  const rejected = "class A {}\nclass B extends A {\n  async m() { return [1].map(() => super.m()) } }";
  assert.match(failure(rejected).message, /`super` is not supported in an async method\n {2}at line 3/);
  const allowed = "class A { m() { return 1 } }\nclass B extends A { m() { return [1].map(() => super.m()) } }";
  assert.deepEqual(evaluate(`${allowed}\nawait new B().m()`).result, [1]);
});

test("an exception is told with its reasons", () => {
  const chain = failure("throw new Error('a', { cause: new TypeError('b', { cause: 'c' }) })").message;
  assert.match(chain, /^Error: a\n {2}at line 1: .*\n {2}caused by TypeError: b\n {2}caused by c$/);
  const several = failure("await Promise.any([Promise.reject(new Error('a')), Promise.reject(2)])").message;
  assert.match(several, /^AggregateError: All promises were rejected\n {2}- Error: a\n {2}- 2$/);
  const itself = failure("const e = new Error('x'); e.cause = e; throw e").message;
  assert.equal(itself.match(/caused by/g).length, 10);
  const hidden = "const e = new Error('a'); Object.defineProperty(e, 'cause', { get() { throw 1 } }); throw e";
  assert.match(failure(hidden).message, /^Error: a\n {2}at line 1: .*$/);
});

test("an exception of any length leaves room for what was written", () => {
  const long = failure("console.log('kept'); throw new Error('x'.repeat(1e6))");
  assert.ok(long.message.length < 11_000);
  assert.match(long.message, /… \(\d+ more characters\)\n {2}at line 1/);
  assert.deepEqual(long.logs, ["kept"]);
  const many = failure("throw new AggregateError(Array.from({ length: 1e4 }, () => 'x'.repeat(1e4)), 'm')").message;
  assert.ok(many.length < 21_000 && many.endsWith("\n  - and 9990 more"));
});
