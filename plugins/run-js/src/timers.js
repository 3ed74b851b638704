// Timers on a clock that jumps, and the clocks that show it.
//
// Nothing happens elsewhere in the sandbox that anyone could wait for, so time is not waited for: the next timer runs as
// soon as nothing else is to do, and the clock then shows the time that it was set for.

/** As in browsers; what lies beyond would never come. */
const LONGEST = 2 ** 31 - 1;

/** The functions of one evaluation that set timers, and how they are run. */
export function makeTimers() {
  const waiting = new Map();
  const queue = []; // those of `waiting` and some that were stopped, by their times
  let [now, last] = [0, 0];

  /** Behind those of the same time; no other is moved but those that are later. */
  function enqueue(timer) {
    let [low, high] = [0, queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (queue[middle].at <= timer.at) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, timer);
  }

  const start = (repeats) => (job, delay, ...args) => {
    const wait = Math.min(Math.max(1, Math.trunc(Number(delay)) || 0), LONGEST);
    last += 1;
    const timer = { id: last, at: now + wait, wait, repeats, job: () => job(...args) };
    waiting.set(last, timer);
    enqueue(timer);
    return new Timer(last);
  };
  const stop = (timer) => void waiting.delete(timer?.id ?? timer);

  /** Runs the next timer; those that repeat only while somebody waits. Says whether there was one. */
  function fire(someoneWaits) {
    for (let timer = queue.shift(); timer !== undefined; timer = queue.shift()) {
      if (!waiting.has(timer.id) || (timer.repeats && !someoneWaits)) continue;
      now = timer.at;
      if (timer.repeats) enqueue(Object.assign(timer, { at: timer.at + timer.wait }));
      else waiting.delete(timer.id);
      timer.job();
      return true;
    }
    return false;
  }

  const setTimeout = start(false);
  const globals = {
    setTimeout,
    setInterval: start(true),
    setImmediate: (job, ...args) => setTimeout(job, 0, ...args),
    clearTimeout: stop,
    clearInterval: stop,
    clearImmediate: stop,
  };
  /** How many are still to run, without those that repeat. */
  const left = () => [...waiting.values()].filter(({ repeats }) => !repeats).length;
  return { fire, left, globals: { ...globals, ...makeClocks(() => now) } };
}

/** What a browser has a number for; code for Node.js calls methods of it. */
class Timer {
  constructor(id) {
    Object.defineProperty(this, "id", { value: id });
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  hasRef() {
    return true;
  }

  toJSON() {
    return this.id;
  }

  [Symbol.toPrimitive]() {
    return this.id;
  }
}

/** The clocks of the language, with what the timers have jumped. */
function makeClocks(jumped) {
  const [Real, real] = [globalThis.Date, globalThis.performance];
  const now = () => Real.now() + jumped();
  function Date(...args) {
    if (new.target === undefined) return new Real(now()).toString();
    return Reflect.construct(Real, args.length > 0 ? args : [now()], new.target);
  }
  // Dates are still those of the language: it is one prototype.
  Object.defineProperties(Date, Object.getOwnPropertyDescriptors(Real));
  Object.defineProperty(Date, "now", { value: now, configurable: true, writable: true });
  const performance = { now: () => real.now() + jumped(), timeOrigin: real.timeOrigin };
  return { Date, performance };
}
