// `Promise`, as the language has it, over a queue that the SDK can work off. See `jobs.js`.

import { queueJob, unhandled } from "./microtasks.js";

export class Promise {
  #state = "pending";
  #value;
  #handled = false;
  #waiting = [];

  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("a promise needs a function");
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  #resolvers() {
    let called = false;
    const once = (settle) => (value) => {
      if (called) return;
      called = true;
      settle(value);
    };
    return {
      resolve: once((value) => this.#resolve(value)),
      reject: once((why) => this.#settle("rejected", why)),
    };
  }

  #resolve(value) {
    if (value === this) return this.#settle("rejected", new TypeError("a promise cannot wait for itself"));
    if (value === null || (typeof value !== "object" && typeof value !== "function")) {
      return this.#settle("fulfilled", value);
    }
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#settle("rejected", error);
    }
    if (typeof then !== "function") return this.#settle("fulfilled", value);
    queueJob(() => {
      const { resolve, reject } = this.#resolvers();
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
    if (state === "rejected" && !this.#handled) unhandled.add(this);
    for (const waiting of this.#waiting) queueJob(waiting);
    this.#waiting = [];
  }

  then(done, failed) {
    this.#handled = true;
    unhandled.delete(this);
    return new Promise((resolve, reject) => {
      const react = () => {
        const handler = this.#state === "fulfilled" ? done : failed;
        try {
          if (typeof handler === "function") resolve(handler(this.#value));
          else if (this.#state === "fulfilled") resolve(this.#value);
          else reject(this.#value);
        } catch (error) {
          reject(error);
        }
      };
      if (this.#state === "pending") this.#waiting.push(react);
      else queueJob(react);
    });
  }

  catch(failed) {
    return this.then(undefined, failed);
  }

  finally(last) {
    if (typeof last !== "function") return this.then(last, last);
    return this.then(
      (value) => Promise.resolve(last()).then(() => value),
      (error) =>
        Promise.resolve(last()).then(() => {
          throw error;
        }),
    );
  }

  /** Why it failed, for the log. */
  failure() {
    return this.#value;
  }

  get [Symbol.toStringTag]() {
    return "Promise";
  }

  static resolve(value) {
    return value instanceof Promise ? value : new Promise((resolve) => resolve(value));
  }

  static reject(error) {
    return new Promise((_, reject) => reject(error));
  }

  static try(run, ...args) {
    return new Promise((resolve) => resolve(run(...args)));
  }

  static withResolvers() {
    let resolvers;
    const promise = new Promise((resolve, reject) => {
      resolvers = { resolve, reject };
    });
    return { promise, ...resolvers };
  }

  static all(values) {
    return gather(values, (at, count, reject) => [(value) => count(at, value), reject]);
  }

  static allSettled(values) {
    return gather(values, (at, count, reject) => [
      (value) => count(at, { status: "fulfilled", value }),
      (reason) => count(at, { status: "rejected", reason }),
    ]);
  }

  static any(values) {
    const all = gather(values, (at, count, reject) => [reject, (error) => count(at, error)]);
    return all.then(
      (errors) => {
        throw new AggregateError(errors, "all promises failed");
      },
      (value) => value,
    );
  }

  static race(values) {
    return new Promise((resolve, reject) => {
      for (const value of values) Promise.resolve(value).then(resolve, reject);
    });
  }
}

/** Waits for several promises; `handlers` say how each of them affects the whole. */
function gather(values, handlers) {
  return new Promise((resolve, reject) => {
    const settled = [];
    let left = 1;
    const one = () => {
      left -= 1;
      if (left === 0) resolve(settled);
    };
    const count = (at, value) => {
      settled[at] = value;
      one();
    };
    let at = 0;
    for (const value of values) {
      left += 1;
      Promise.resolve(value).then(...handlers(at, count, reject));
      at += 1;
    }
    one();
  });
}
