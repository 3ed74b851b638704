// Evaluates code in this very engine, within one call.
//
// The engine is the sandbox's and the instance is fresh, so there is nothing here that the code could break for anyone
// else. What belongs to the plugin and not to the language is taken away for the time of the evaluation, and given back
// after it, since the plugin still has to say what came out.

import { makeConsole } from "./console.js";
import { makeLoop } from "./promises.js";
import { inline, render, text, thrown } from "./render.js";
import { RUN_ASYNC, Unusable, rewrite } from "./rewrite.js";

/** What the runtime puts beside the language: its bindings to the host. */
const HIDDEN = ["wit", "__cqjs"];

/** Indirect, so that the code sees the globals and none of these names. */
const run = globalThis.eval;

/** Code that failed: what it said, and what it had written to its console. */
export class Failed extends Error {
  constructor(message, logs) {
    super(message);
    this.logs = logs;
  }
}

/** Evaluates `code` with `input`, and gives `{ result, logs, cut }`; `result` is missing when there is none. */
export function evaluate(code, input) {
  const { console, write, written } = makeConsole();
  const loop = makeLoop();
  const globals = { ...loop.globals, console, input, [RUN_ASYNC]: loop.runAsync };
  const restore = replaceGlobals(globals);
  try {
    const value = loop.finish(start(code, loop));
    for (const reason of loop.lost()) write(`a promise failed and nobody looked at it: ${thrown(reason)}`);
    const logs = written();
    if (value === undefined) return { logs, cut: false };
    const { value: result, cut } = render(value);
    return { result, logs, cut };
  } catch (error) {
    throw new Failed(told(error, code), written());
  } finally {
    restore();
  }
}

function start(code, loop) {
  const rewritten = rewrite(code);
  const value = run(rewritten.code);
  return rewritten.isFunction ? loop.runAsync(undefined, [], value) : value;
}

/** Sets what the code sees; the function that is returned undoes it. */
function replaceGlobals(globals) {
  const before = [...Object.keys(globals), ...HIDDEN].map((name) => [
    name,
    Object.getOwnPropertyDescriptor(globalThis, name),
  ]);
  const random = Math.random;
  for (const name of HIDDEN) delete globalThis[name];
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, enumerable: false, writable: true });
  }
  return () => {
    Math.random = random;
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) delete globalThis[name];
      else Object.defineProperty(globalThis, name, descriptor);
    }
  };
}

/** An exception with the line of the code that it came from. */
function told(error, code) {
  const line = text(() => error instanceof Unusable) ? error.line : lineOf(error);
  const words = thrown(error);
  if (line === undefined) return words;
  const source = code.split("\n")[line - 1]?.trim() ?? "";
  return `${words}\n  at line ${line}: ${source.length > 200 ? `${source.slice(0, 200)}…` : source}`;
}

/** The engine calls evaluated code `<input>`; Node.js, where the tests run, `<anonymous>`. */
function lineOf(error) {
  const stack = text(() => error.stack);
  const found = /<(?:input|anonymous)>:(\d+)/.exec(typeof stack === "string" ? stack : "");
  return found === null ? undefined : Number(found[1]);
}

/** A result in words, for those who read no structure. */
export function inWords({ result, logs, cut }) {
  const lines = logs.length > 0 ? [...logs, ""] : [];
  lines.push(result === undefined ? "(no result)" : inline(result));
  if (cut) lines.push("(the result was too large and is not shown whole)");
  return lines.join("\n");
}
