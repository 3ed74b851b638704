// Evaluates code in this very engine, within one call.
//
// The engine is the sandbox's and the instance is fresh, so there is nothing here that the code could break for anyone
// else. What belongs to the plugin and not to the language is taken away for the time of the evaluation, and given back
// after it, since the plugin still has to say what came out.

import { makeConsole } from "./console.js";
import { told } from "./failure.js";
import { makeLoop } from "./promises.js";
import { inline, render, text, thrown } from "./render.js";
import { RUN_ASYNC, rewrite } from "./rewrite.js";

/** What the runtime puts beside the language: its bindings to the host. */
const HIDDEN = ["wit", "__cqjs"];

/** What the engine itself cannot run within a call. A `return` outside of functions it refuses by itself. */
const REWRITTEN = /\b(?:async|await|import|export)\b|^#!/;

/** As they were before any code could change them. */
const { defineProperty, deleteProperty, set } = Reflect;

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
    if (loop.left() > 0) write(`${loop.left()} timers were left when the result was there; await what they do`);
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

/** To read code costs many times as much as to run it, so it is only read when something may have to be rewritten. */
function start(code, loop) {
  if (REWRITTEN.test(code)) return startRewritten(code, loop);
  try {
    return run(code);
  } catch (error) {
    if (!text(() => error instanceof SyntaxError) || isReadable(code)) throw error;
    return startRewritten(code, loop, () => {
      throw error; // what the engine alone had against it
    });
  }
}

/** Whether the engine can read it, and so has run it. It is not run once more: what stands before it ends it. */
function isReadable(code) {
  try {
    return run(`throw 0;${code}`);
  } catch (stop) {
    return stop === 0;
  }
}

/** `otherwise` is for code that need not be rewritten after all. */
function startRewritten(code, loop, otherwise = run) {
  const rewritten = rewrite(code);
  return rewritten.isFunction ? loop.runAsync(undefined, [], run(rewritten.code)) : otherwise(rewritten.code);
}

/** Sets what the code sees; the function that is returned undoes it. */
function replaceGlobals(globals) {
  const before = [...Object.keys(globals), ...HIDDEN].map((name) => [
    name,
    Object.getOwnPropertyDescriptor(globalThis, name),
  ]);
  const [random, born] = [Math.random, Date.prototype.constructor];
  for (const name of HIDDEN) delete globalThis[name];
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, enumerable: false, writable: true });
  }
  const { prototype } = Date;
  // What earlier code has frozen stays as it is.
  set(prototype, "constructor", Date);
  return () => {
    set(Math, "random", random);
    set(prototype, "constructor", born);
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) deleteProperty(globalThis, name);
      else defineProperty(globalThis, name, descriptor);
    }
  };
}

/** A result in words, for those who read no structure. */
export function inWords({ result, logs, cut }) {
  const lines = logs.length > 0 ? [...logs, ""] : [];
  lines.push(result === undefined ? "(no result; end with an expression or `return`)" : inline(result));
  if (cut) lines.push("(the result was too large and is not shown whole)");
  return lines.join("\n");
}
