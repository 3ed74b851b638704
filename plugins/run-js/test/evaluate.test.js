import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { Failed, evaluate, inWords } from "../src/evaluate.js";

const outcome = (code, input) => evaluate(code, input);
const result = (code, input) => outcome(code, input).result;

function failure(code) {
  try {
    outcome(code);
  } catch (error) {
    assert.ok(error instanceof Failed, String(error?.stack));
    return error;
  }
  return assert.fail(`no failure of ${code}`);
}

test("the last expression is the result", () => {
  assert.equal(result("1 + 1"), 2);
  assert.equal(result("let a = 2; a * 21"), 42);
  assert.equal(result("if (input > 1) { 'many' } else { 'few' }", 2), "many");
  assert.deepEqual(result("({ a: [1, null, true] })"), { a: [1, null, true] });
  assert.equal("result" in outcome("let a = 1"), false);
});

test("a return ends the script", () => {
  assert.equal(result("if (input.n > 1) return 'many';\nreturn 'few'", { n: 1 }), "few");
  assert.equal(result("function f() { return 1 }\nf() + 1"), 2);
  assert.equal(result("if (false) return 1;\n(2 + 3);"), 5);
  assert.equal(result("// nothing but\nreturn 7 // seven"), 7);
  assert.equal(result("const o = { return: 1 };\nreturn o.return"), 1);
});

test("what is awaited is there", () => {
  assert.equal(result("await 5"), 5);
  assert.equal(result("const f = async (x) => (await x) + 1;\nawait f(Promise.resolve(1))"), 2);
  assert.equal(result("async function f(x) { return this.y + arguments.length + await x }\nf.call({ y: 1 }, 2)"), 4);
  assert.equal(result("const f = async x => await x; f(3)"), 3);
  assert.equal(result("return (async () => ({ a: await 1 }).a)()"), 1);
  assert.equal(result("class A { static async s() { return 1 } async m() { return (await A.s()) + 1 } }\nawait new A().m()"), 2);
  assert.equal(result("const o = { async m(a) { return await a }, async [`k`]() { return 4 } };\n(await o.m(1)) + await o.k()"), 5);
  assert.deepEqual(result("await Promise.all([1, Promise.resolve(2), (async () => 3)()])"), [1, 2, 3]);
  assert.equal(result("await Promise.any([Promise.reject(1), 2])"), 2);
  assert.equal(result("try { await Promise.reject(new Error('no')) } catch (e) { e.message }\nreturn 'on'"), "on");
  assert.deepEqual(result("await Promise.allSettled([Promise.reject(1)])"), [{ status: "rejected", reason: 1 }]);
  assert.equal(result("await (async () => await (async () => 9)())()"), 9);
});

test("lines need no semicolons", () => {
  assert.equal(result("const x = 1\nawait 5\nx"), 1);
  assert.equal(result("let a = [3]\nawait 5"), 5);
  assert.equal(result("const f = async () => {\n  let n = 1\n  await 2\n  return n\n}\nawait f()"), 1);
  assert.equal(result("if (input) await 1\nelse await 2\n;[7][0]", true), 7);
  assert.equal(result("const x = 1\nasync (y) => y\nx"), 1);
  assert.equal(result("class A {\n  x = 1\n  async ['m']() { return this.x }\n}\nawait new A().m()"), 1);
  assert.equal(result("await 1;;"), 1);
  assert.equal(result("#!/usr/bin/env node\nreturn 2"), 2);
});

test("the line after an async arrow function is not part of it", () => {
  assert.equal(result("const f = async () => { return 1 }\n(async () => 2)()"), 2);
  assert.deepEqual(result("const f = async () => { return 1 }\n[1, 2].map((x) => x)"), [1, 2]);
  assert.equal(result("const f = async () => { return 1 }\n`text`"), "text");
  assert.equal(result("const f = async () => { return 1 }\n-1"), -1);
  assert.equal(result("const f = async () => { return 1 }\n/x/.test('x')"), true);
  assert.equal(result("const f = async () => (x) => {}\n(1)"), 1);
  assert.equal(result("const f = async () => (x) => {}\ntypeof await f()"), "function");
});

test("the last statement may hold the last expression", () => {
  assert.equal(result("const f = async () => 3;\ntry { const r = await f(); r } catch (e) {}"), 3);
  assert.equal(result("try { await Promise.reject(new Error('no')) } catch (e) { e.message; }"), "no");
  assert.equal(result("if (await input) 'yes'; else if (1) { 'no' }", 1), "yes");
  assert.equal(result("if (await input) 'yes'; else if (1) { 'no' }", 0), "no");
  assert.equal(result("{ await 1; { async () => 1; 2 } }"), 2);
  assert.match(inWords(outcome("for (const x of [1]) await x")), /end with an expression or `return`/);
});

test("functions may stand behind the last expression", () => {
  assert.equal(result("const x = await f();\nx;\nasync function f() { return 4 }"), 4);
  assert.equal(result("await f();\nfunction f() { return 5 }\nfunction* g() {};"), 5);
  assert.equal(result("if (await 1) { f(); function f() { return 6 } }\nfunction g() {}"), 6);
  assert.equal("result" in outcome("let x = await 1;\nfunction f() {}"), false);
});

test("gaps of any length are read at once", () => {
  const [spaces, comments] = [" ".repeat(20_000), "/* a */ // b => (\n".repeat(2000)];
  assert.equal(result(`const f = async${spaces}(a${comments})${spaces}=> a\nawait f(1)`), 1);
  assert.equal(result(`const f = async${spaces}function${comments}(a) { return a }\nawait f(2)`), 2);
  assert.equal(result(`const f = async${" /* a */".repeat(400)} x => x\nawait f(3)`), 3);
});

test("parameters are those of the async function", () => {
  assert.equal(result("async function f(o) { var o = o || {}; return o.a }\nawait f({ a: 1 })"), 1);
  assert.equal(result("const f = async (o) => { var o = o || 5; return o }\nawait f()"), 5);
  assert.equal(result("const f = async ({ a } = null) => a\nawait f().catch((e) => e.name)"), "TypeError");
  assert.equal(result("const f = async function (a, b = async () => a, ...c) { return (await b()) + c.length }\nawait f(1, undefined, 3, 4)"), 3);
  assert.equal(result("const o = { async m /* ( */ (a = (2), ) { return a } }\nawait o.m()"), 2);
  assert.equal(result("const f = async (a, b = (x => x), /* => */) => (a, b(a))\nawait f(4)"), 4);
  assert.equal(result("await async function /* ( */ (x) { return x }(6)"), 6);
  assert.equal(result("const f = async t => t.arguments\nawait f({ arguments: 8 })"), 8);
  assert.match(failure("function f() { return async () => arguments }").message, /put it into a variable before/);
  assert.equal(result("async function f() { 'use strict'; return this === undefined }\nawait f()"), true);
});

test("the order is that of the language", () => {
  const code = `
    console.log(1);
    setTimeout(() => console.log(6), 20);
    setTimeout(() => console.log(5), 10);
    queueMicrotask(() => console.log(3));
    (async () => { console.log(2); await null; console.log(4) })();
  `;
  assert.deepEqual(outcome(code).logs, ["1", "2", "3", "4", "5", "6"]);
  assert.equal(result("await new Promise((r) => setTimeout(r, 3_600_000, 'late'))"), "late");
  assert.equal(result("let n = 0; const t = setInterval(() => { if (++n === 3) clearInterval(t) }, 5); await new Promise(r => setTimeout(r, 50)); n"), 3);
  assert.deepEqual(outcome("setInterval(() => console.log('x'), 1); 1").logs, []);
});

test("a `finally` takes as many steps as in the language", () => {
  const code = `
    const order = [];
    Promise.reject(1).finally(() => {}).catch(() => order.push("failed"));
    let steps = Promise.resolve();
    for (let n = 1; n <= 8; n++) steps = steps.then(() => order.push(n));
    steps.then(() => console.log(order));`;
  const { logs } = outcome(code);
  assert.deepEqual(JSON.parse(logs[0]), [1, 2, 3, "failed", 4, 5, 6, 7, 8]);
});

test("a promise that nothing settles is not waited for", () => {
  assert.match(failure("await new Promise(() => {})").message, /nothing will ever settle/);
  assert.match(outcome("Promise.reject(new Error('lost')); 1").logs[0], /nobody looked at it: Error: lost/);
});

test("what JSON lacks is shown as text", () => {
  for (const [code, shown] of [
    ["[undefined, NaN, -Infinity, 10n, Symbol('s')]", [null, "NaN", "-Infinity", "10n", "Symbol(s)"]],
    ["[function f() {}, class A {}, () => 1]", ["[function f]", "[class A]", "[function without a name]"]],
    ["new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["new Date(NaN)", "Invalid Date"],
    ["new Map([['a', 1], ['b', new Set([1, 2])]])", { a: 1, b: [1, 2] }],
    ["new Map([[1, 'a']])", [[1, "a"]]],
    ["/a+/g", "/a+/g"],
    ["new TypeError('no')", "TypeError: no"],
    ["new Uint8Array([1, 2])", [1, 2]],
    ["const a = { b: {} }; a.b.a = a; a", { b: { a: "[Circular]" } }],
    ["const a = {}; [a, a]", [{}, {}]],
    ["({ get x() { throw new Error('no') } })", "[cannot be shown: Error: no]"],
    ["({ toJSON() { return { shown: 1 } } })", { shown: 1 }],
    ["Object.create(null)", {}],
    ["[new Promise(() => {})]", ["[Promise]"]],
    ["JSON.parse('{\"__proto__\": 1}')", JSON.parse('{"__proto__": 1}')],
  ]) {
    assert.deepEqual(result(code), shown, code);
  }
});

test("what is too large is cut and says so", () => {
  const text = outcome("'x'.repeat(1e6)");
  assert.ok(text.cut && text.result.endsWith("x… (940000 more characters)"));
  const within = outcome("['x'.repeat(1e6)]");
  assert.ok(within.cut && within.result[0].endsWith("x… (980000 more characters)"));
  assert.equal(outcome("'x'.repeat(60_000)").cut, false);
  for (const code of ["Array.from({ length: 1e5 }, () => [])", "let a = []; for (let i = 0; i < 16; i++) a = [a, a]; a"]) {
    const empty = outcome(code);
    assert.ok(empty.cut && JSON.stringify(empty.result).length < 60_000, code);
  }
  const list = outcome("Array.from({ length: 1e6 }, (_, i) => i)");
  assert.ok(list.cut && list.result.length < 20_000 && /^… and \d+ more$/.test(list.result.at(-1)));
  const deep = outcome("let a = {}; for (let i = 0; i < 1e4; i++) a = { a }; a");
  assert.ok(deep.cut && JSON.stringify(deep.result).includes("[too deep]"));
  const { logs } = outcome("for (let i = 0; i < 1e4; i++) console.log(i)");
  assert.equal(logs.length, 501);
  assert.equal(logs.at(-1), "… 9500 more lines were left out");
  assert.match(inWords(text), /too large and is not shown whole/);
});

test("the console is kept in order", () => {
  const { logs } = outcome("console.log('a', 1, { b: [2n] }); console.warn('%s is %d%%', 'x', 5.7, 'y'); console.error(new Error('e'))");
  assert.deepEqual(logs, ['a 1 {"b":["2n"]}', "x is 5% y", "Error: e"]);
  assert.deepEqual(failure("console.log('before'); throw 1").logs, ["before"]);
  assert.deepEqual(failure("console.log(1); throw { get stack() { throw 2 } }").logs, ["1"]);
  assert.deepEqual(failure("console.log(1); throw new Proxy({}, { getPrototypeOf() { throw 2 } })").logs, ["1"]);
  assert.deepEqual(outcome("console.log('%d %f', Symbol(), { valueOf() { throw 1 } })").logs, ["NaN NaN"]);
  const others = "console.groupCollapsed('a'); console.count(); console.countReset(); console.count(); console.groupEnd();";
  assert.deepEqual(outcome(others).logs, ["a", "  default: 1", "  default: 1"]);
  assert.deepEqual(outcome("console.dir({ a: 1 }, { depth: null }); console.dirxml(2)").logs, ['{"a":1}', "2"]);
  assert.deepEqual(outcome("console.clear(); console.time('t'); console.timeLog('t'); console.timeStamp()").logs, []);
});

test("an exception has its name, its message and the line", () => {
  assert.equal(failure("let a = 1;\n\nfoo.bar()").message, "ReferenceError: foo is not defined\n  at line 3: foo.bar()");
  assert.match(failure("const x = await 1;\nnull.x").message, /^TypeError: .*\n {2}at line 2: null\.x$/);
  assert.match(failure("1 +\n+ )").message, /^SyntaxError: Unexpected token\n {2}at line 2: \+ \)$/);
  assert.equal(failure("throw 'text'").message, "threw text");
  assert.equal(failure("throw { code: 5 }").message, 'threw {"code":5}');
  assert.match(failure("import x from 'y'").message, /there are no modules here/);
  assert.match(failure("await import('node:fs')").message, /there are no modules here/);
  assert.match(failure("for await (const x of []) {}").message, /`for await` is not supported.*\n {2}at line 1/s);
  assert.match(failure("class B { m() {} }\nclass A extends B { async m() { super.m() } }").message, /line 2/);
});

test("code sees no more than the language", () => {
  globalThis.wit = { host: true };
  assert.deepEqual(result("[typeof wit, typeof __cqjs, typeof evaluate, typeof globalThis.wit]"), Array(4).fill("undefined"));
  assert.deepEqual(globalThis.wit, { host: true });
  delete globalThis.wit;
});

test("what an evaluation replaced is as before", () => {
  const before = [globalThis.Promise, globalThis.console, Math.random, globalThis.setTimeout];
  result("Math.random = () => 4; console = 5; globalThis.Promise = 6");
  failure("throw new Error()");
  assert.deepEqual([globalThis.Promise, globalThis.console, Math.random, globalThis.setTimeout], before);
});

test("what an evaluation froze stops no later one", () => {
  // In a realm of its own: it stays frozen.
  const code = `
    import { evaluate } from ${JSON.stringify(new URL("../src/evaluate.js", import.meta.url).href)};
    const before = globalThis.Promise;
    evaluate("Object.freeze(Date.prototype)");
    process.stdout.write(String(evaluate("new Date(0).getTime() + 1").result + (globalThis.Promise === before)));`;
  const node = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
  assert.equal(node.stdout, "2", node.stderr);
});
