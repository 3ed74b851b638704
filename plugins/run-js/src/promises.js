// Promises, microtasks and timers that run to their end within one call.
//
// A call of a component is synchronous, and the engine's own queue is never served during it. So evaluated code gets
// promises of its own kind, whose queue is served here.

import { makeTimers } from "./timers.js";

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;

/** How many timers still run when the result is there: some code sets the next one in each. */
const AFTERWARDS = 1000;

/** The queues of one evaluation, and the `Promise` whose jobs are in them. */
export function makeLoop() {
  const jobs = [];
  const unhandled = new Set();
  const timers = makeTimers();

  class Promise {
    #state = PENDING;
    #value;
    #waiting = [];

    constructor(executor) {
      if (typeof executor !== "function") throw new TypeError("Promise resolver is not a function");
      const { resolve, reject } = this.#settlers();
      try {
        executor(resolve, reject);
      } catch (error) {
        reject(error);
      }
    }

    /** Both functions of one promise; the first that is called counts. */
    #settlers() {
      let called = false;
      const once = (settle) => (value) => {
        if (called) return;
        called = true;
        settle(value);
      };
      return {
        resolve: once((value) => this.#resolve(value)),
        reject: once((reason) => this.#settle(REJECTED, reason)),
      };
    }

    #resolve(value) {
      if (value === this) return this.#settle(REJECTED, new TypeError("a promise cannot wait for itself"));
      if (value === null || (typeof value !== "object" && typeof value !== "function")) {
        return this.#settle(FULFILLED, value);
      }
      let then;
      try {
        then = value.then;
      } catch (error) {
        return this.#settle(REJECTED, error);
      }
      if (typeof then !== "function") return this.#settle(FULFILLED, value);
      const { resolve, reject } = this.#settlers();
      jobs.push(() => {
        try {
          then.call(value, resolve, reject);
        } catch (error) {
          reject(error);
        }
      });
    }

    #settle(state, value) {
      this.#state = state;
      this.#value = value;
      if (state === REJECTED && this.#waiting.length === 0) unhandled.add(this);
      for (const reaction of this.#waiting) jobs.push(reaction);
      this.#waiting = [];
    }

    then(onFulfilled, onRejected) {
      unhandled.delete(this);
      return new Promise((resolve, reject) => {
        const react = () => {
          const fulfilled = this.#state === FULFILLED;
          const handler = fulfilled ? onFulfilled : onRejected;
          if (typeof handler !== "function") return fulfilled ? resolve(this.#value) : reject(this.#value);
          try {
            resolve(handler(this.#value));
          } catch (error) {
            reject(error);
          }
        };
        if (this.#state === PENDING) this.#waiting.push(react);
        else jobs.push(react);
      });
    }

    catch(onRejected) {
      return this.then(undefined, onRejected);
    }

    finally(after) {
      if (typeof after !== "function") return this.then(after, after);
      return this.then(
        (value) => Promise.resolve(after()).then(() => value),
        (reason) =>
          Promise.resolve(after()).then(() => {
            throw reason;
          }),
      );
    }

    get [Symbol.toStringTag]() {
      return "Promise";
    }

    static resolve(value) {
      return value instanceof Promise ? value : new Promise((resolve) => resolve(value));
    }

    static reject(reason) {
      return new Promise((_, reject) => reject(reason));
    }

    static withResolvers() {
      const made = {};
      made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
      return made;
    }

    static try(f, ...args) {
      return new Promise((resolve) => resolve(f(...args)));
    }

    static race(values) {
      return new Promise((resolve, reject) => {
        for (const value of values) Promise.resolve(value).then(resolve, reject);
      });
    }

    static all(values) {
      return gather(values, (found) => ({ fulfilled: found.set, rejected: found.fail }));
    }

    static allSettled(values) {
      return gather(values, (found) => ({
        fulfilled: (value) => found.set({ status: "fulfilled", value }),
        rejected: (reason) => found.set({ status: "rejected", reason }),
      }));
    }

    static any(values) {
      return new Promise((resolve, reject) => {
        const turned = gather(values, (found) => ({ fulfilled: resolve, rejected: found.set }));
        turned.then((reasons) => reject(new AggregateError(reasons, "All promises were rejected")), reject);
      });
    }

    /** What it settled to: `[state, value]`. */
    static settled(promise) {
      return [promise.#state, promise.#value];
    }
  }

  function gather(values, handlers) {
    return new Promise((resolve, reject) => {
      const found = [];
      let missing = 1;
      const arrived = () => {
        missing -= 1;
        if (missing === 0) resolve(found);
      };
      let index = 0;
      for (const value of values) {
        const at = index++;
        missing += 1;
        const set = (result) => {
          found[at] = result;
          arrived();
        };
        const { fulfilled, rejected } = handlers({ set, fail: reject });
        Promise.resolve(value).then(fulfilled, rejected);
      }
      arrived();
    });
  }

  const { settled } = Promise;
  delete Promise.settled;

  /** Runs a generator that yields what it awaits. This is what an async function becomes. */
  function runAsync(self, args, generator) {
    return new Promise((resolve, reject) => {
      const steps = generator.apply(self, args);
      const step = (how, value) => {
        let next;
        try {
          next = steps[how](value);
        } catch (error) {
          return reject(error);
        }
        if (next.done) return resolve(next.value);
        Promise.resolve(next.value).then(
          (value) => step("next", value),
          (reason) => step("throw", reason),
        );
      };
      step("next");
    });
  }

  function serve() {
    for (let at = 0; at < jobs.length; at += 1) {
      jobs[at]();
      // What is done is let go, a part at a time.
      if (at === 1023) at -= jobs.splice(0, 1024).length;
    }
    jobs.length = 0;
  }

  /** Runs everything that is to do, and gives what `value` became; what it threw is thrown. */
  function finish(value) {
    const main = Promise.resolve(value);
    main.then(undefined, () => {});
    serve();
    const pending = () => settled(main)[0] === PENDING;
    let further = AFTERWARDS;
    while ((pending() || further-- > 0) && timers.fire(pending())) serve();
    const [state, result] = settled(main);
    if (state === REJECTED) throw result;
    if (state === PENDING) throw new Error("the result is a promise that nothing will ever settle");
    return result;
  }

  /** Why promises failed that nobody looked at. */
  const lost = () => [...unhandled].map((promise) => settled(promise)[1]);

  const queueMicrotask = (job) => void jobs.push(() => job());
  return { finish, lost, left: timers.left, globals: { Promise, queueMicrotask, ...timers.globals }, runAsync };
}
