// `AbortController` and `AbortSignal`, which QuickJS lacks. A signal is the only thing in a component that has events,
// so there is no `EventTarget`.

const create = Symbol("create");

export class AbortSignal {
  #aborted = false;
  #reason;
  #listeners = new Map();
  onabort = null;

  constructor(key) {
    if (key !== create) throw new TypeError("signals come from an `AbortController`");
  }

  static #abort(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason === undefined ? new DOMException("it was aborted", "AbortError") : reason;
    signal.dispatchEvent({ type: "abort", target: signal, currentTarget: signal });
  }

  /** A signal, and the function that aborts it. */
  static [create]() {
    const signal = new AbortSignal(create);
    return { signal, abort: (reason) => AbortSignal.#abort(signal, reason) };
  }

  static abort(reason) {
    const { signal, abort } = AbortSignal[create]();
    abort(reason);
    return signal;
  }

  static timeout(ms) {
    const { signal, abort } = AbortSignal[create]();
    setTimeout(() => abort(new DOMException("it took too long", "TimeoutError")), ms);
    return signal;
  }

  static any(signals) {
    const { signal, abort } = AbortSignal[create]();
    for (const one of signals) {
      if (one.aborted) abort(one.reason);
      else one.addEventListener("abort", () => abort(one.reason), { once: true });
    }
    return signal;
  }

  get aborted() {
    return this.#aborted;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(type, listener, options) {
    if (type === "abort" && listener && !this.#listeners.has(listener)) {
      this.#listeners.set(listener, { once: Boolean(options?.once) });
    }
  }

  removeEventListener(type, listener) {
    if (type === "abort") this.#listeners.delete(listener);
  }

  dispatchEvent(event) {
    const listeners = [...this.#listeners];
    for (const [listener, { once }] of listeners) {
      if (once) this.#listeners.delete(listener);
      notify(this, listener, event);
    }
    if (typeof this.onabort === "function") notify(this, this.onabort, event);
    return true;
  }

  get [Symbol.toStringTag]() {
    return "AbortSignal";
  }
}

export class AbortController {
  #made = AbortSignal[create]();

  get signal() {
    return this.#made.signal;
  }

  abort(reason) {
    this.#made.abort(reason);
  }

  get [Symbol.toStringTag]() {
    return "AbortController";
  }
}

/** What a listener throws keeps no other from being told. */
function notify(signal, listener, event) {
  try {
    if (typeof listener === "function") listener.call(signal, event);
    else listener.handleEvent(event);
  } catch (error) {
    console.error(error);
  }
}
