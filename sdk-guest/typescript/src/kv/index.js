// The plugin's key-value store: its only memory between calls, since each call has a fresh instance. All functions
// return at once.

import { openBucket } from "#kv";
import { encode, TextDecoder } from "../engine/text_encoding.js";
import { HostError } from "../errors.js";
import { isThenable } from "../maybe_await.js";

/** How often an update is tried when other calls write the same key. */
const ATTEMPTS = 100;

/** Opens the store. It is denied without the grant `kv`, or if that is for callers with credentials. */
export const open = () => new Store(openBucket());

export class Store {
  #bucket;

  constructor(bucket) {
    this.#bucket = bucket;
  }

  get(key) {
    return this.#bucket.get(key);
  }

  getText(key) {
    return decoded(key, this.get(key));
  }

  getJson(key) {
    return parsed(key, this.get(key));
  }

  set(key, value) {
    this.#bucket.set(key, toBytes(key, value));
  }

  setJson(key, value) {
    this.#bucket.set(key, toJson(key, value));
  }

  delete(key) {
    this.#bucket.delete(key);
  }

  exists(key) {
    return this.#bucket.exists(key);
  }

  /** All keys, in no fixed order. */
  keys() {
    const all = [];
    let cursor;
    do {
      const page = this.#bucket.keys(cursor);
      all.push(...page.keys);
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    return all;
  }

  /** Adds to a number, of which no addition is lost, and returns the sum. */
  increment(key, by = 1) {
    if (!Number.isSafeInteger(by)) throw new RangeError(`${by} cannot be added; it is no integer below 2^53`);
    const sum = Number(this.#bucket.increment(key, by));
    if (!Number.isSafeInteger(sum)) throw internal(`\`${key}\` is beyond 2^53, where numbers are not exact`);
    return sum;
  }

  /** Replaces a value by what `change` makes of it, once more if another call writes the key meanwhile. */
  update(key, change) {
    return this.#update(key, change, (value) => toBytes(key, value));
  }

  /** The same for JSON. */
  updateJson(key, change) {
    return this.#update(
      key,
      (old) => change(parsed(key, old)),
      (value) => toJson(key, value),
    );
  }

  #update(key, change, lower) {
    let swap = this.#bucket.swap(key);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const value = change(swap.current());
      swap = swap.finish(lower(value));
      if (!swap) return value;
    }
    throw internal(`\`${key}\` could not be updated, since others kept writing it`);
  }
}

const internal = (message) => new HostError("internal", message);

function decoded(key, bytes) {
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw internal(`what is stored under \`${key}\` is not text`);
  }
}

function parsed(key, bytes) {
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(decoded(key, bytes));
  } catch {
    throw internal(`what is stored under \`${key}\` is not JSON`);
  }
}

function toBytes(key, value) {
  if (typeof value === "string") return encode(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(`the value for \`${key}\` is neither text nor bytes; use setJson or updateJson`);
}

function toJson(key, value) {
  const text = isThenable(value) ? undefined : JSON.stringify(value);
  if (text === undefined) throw new TypeError(`the value for \`${key}\` cannot be written as JSON`);
  return encode(text);
}
