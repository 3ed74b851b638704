// What tool authors expect of a JavaScript engine and QuickJS alone does not have. Whatever is here already stays.

import { structuredClone } from "./structured_clone.js";
import { console } from "./console.js";
import { goLive } from "./live.js";
import { addTimer, clearTimer, queueJob } from "./microtasks.js";
import { begin, performance } from "./performance.js";
import { Promise } from "./promise.js";
import { crypto, mathRandom, reseed } from "./random.js";
import { TextDecoder, TextEncoder } from "./text_encoding.js";

/** Supplies the globals, once, when the plugin's modules are loaded. */
export function install() {
  const missing = { console, crypto, structuredClone, TextDecoder, TextEncoder };
  for (const [name, value] of Object.entries(missing))
    if (!(name in globalThis)) define(globalThis, name, value);
  define(globalThis, "Promise", Promise);
  define(globalThis, "performance", performance);
  define(globalThis, "queueMicrotask", queueJob);
  define(globalThis, "setTimeout", (callback, ms, ...args) => addTimer(callback, ms, args, false));
  define(globalThis, "setInterval", (callback, ms, ...args) => addTimer(callback, ms, args, true));
  define(globalThis, "clearTimeout", clearTimer);
  define(globalThis, "clearInterval", clearTimer);
  define(Math, "random", mathRandom);
  define(Array, "fromAsync", fromAsync);
}

/** Begins a request. */
export function start() {
  goLive();
  begin();
  reseed();
}

function define(target, name, value) {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}

async function fromAsync(items, map = (item) => item) {
  const all = [];
  for await (const item of items) all.push(await map(item, all.length));
  return all;
}
