// A queue of jobs that can be worked off when it must be: the engine runs promises only after an export has returned,
// which is too late for its result. `await` is bundled into generators over `Promise`, and `Promise` uses this queue.

import clock from "wasi:clocks/monotonic-clock@0.2.12";

const jobs = [];
const waiting = new Map();
const timers = []; // those of `waiting` and some that were cleared, by their times
let lastTimer = 0;
let scheduled = false;
let requests = null; // what is waited for beside timers
const nativeQueue = globalThis.queueMicrotask;
const rejections = new Set();

const LONGEST = 2 ** 31 - 1; // milliseconds, as in browsers; the host's clock knows no Infinity

/** The promises that the engine has by itself. Nobody can wait for them. */
export const NativePromise = globalThis.Promise;

export function queueJob(job) {
  jobs.push(job);
  if (scheduled) return;
  scheduled = true; // while the plugin is built, the engine itself works off what its modules begin
  nativeQueue(() => {
    scheduled = false;
    runJobs();
  });
}

/** Records an unhandled rejection, or removes it when a handler is attached. */
export const unhandled = {
  add: (promise) => rejections.add(promise),
  delete: (promise) => rejections.delete(promise),
};

export function addTimer(callback, ms, args, every) {
  const delay = Math.min(Math.max(0, Number(ms) || 0), LONGEST);
  lastTimer += 1;
  const timer = { id: lastTimer, at: clock.now() + delay * 1e6, delay, run: () => callback(...args), every };
  waiting.set(lastTimer, timer);
  enqueue(timer);
  return lastTimer;
}

/** Behind those of the same time; no other is moved but those that are later. */
function enqueue(timer) {
  let [low, high] = [0, timers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timers[middle].at <= timer.at) low = middle + 1;
    else high = middle;
  }
  timers.splice(low, 0, timer);
}

/** Waits for requests too. They are a module of their own, which a plugin without requests does not have. */
export const waitBeside = (others) => (requests = others);

export function clearTimer(id) {
  waiting.delete(id);
}

function runJobs() {
  for (let at = 0; at < jobs.length; at += 1) {
    const job = jobs[at];
    if (at === 1000) at -= jobs.splice(0, 1000).length; // the queue must not grow with the work
    job();
  }
  jobs.length = 0;
}

/** The value of what may be a promise, after whatever it waits for. */
export function drain(value) {
  if (typeof value?.then !== "function") {
    runJobs();
    return value;
  }
  if (value instanceof NativePromise) {
    throw new Error(
      "nobody can wait for this promise: build the plugin with `plugport build`, so that `async` works",
    );
  }
  const outcome = {};
  value.then(
    (done) => Object.assign(outcome, { settled: true, done }),
    (failed) => Object.assign(outcome, { settled: true, rejected: true, failed }),
  );
  runJobs();
  while (!outcome.settled && waitOnce()) runJobs();
  if (!outcome.settled) throw new Error("the handler waits for something that never happens");
  if (outcome.rejected) throw outcome.failed;
  return outcome.done;
}

/** Waits for the next timer or for news of a request; `false` if there is nothing to wait for. */
function waitOnce() {
  const next = nextTimer();
  const left = next && Math.max(0, next.at - clock.now());
  if (requests?.isAwaited()) requests.wait(next && Math.ceil(left / 1e6));
  else if (!next) return false;
  else if (left > 0) sleep(left);
  if (next && next.at <= clock.now()) runTimer(next);
  return true;
}

/** The first timer that was not cleared. */
function nextTimer() {
  while (timers.length > 0 && !waiting.has(timers[0].id)) timers.shift();
  return timers[0];
}

function runTimer(timer) {
  timers.shift();
  if (timer.every) enqueue(Object.assign(timer, { at: clock.now() + Math.max(timer.delay, 1) * 1e6 }));
  else waiting.delete(timer.id);
  timer.run();
}

function sleep(nanoseconds) {
  const alarm = clock.subscribeDuration(Math.ceil(nanoseconds));
  alarm.block();
  alarm[Symbol.dispose]();
}

/** Ends a call: none of its tasks run in the next one. */
export function forget() {
  for (const promise of rejections) console.error("nobody handled this failure:", promise.failure());
  requests?.forget();
  rejections.clear();
  jobs.length = 0;
  timers.length = 0;
  waiting.clear();
}
