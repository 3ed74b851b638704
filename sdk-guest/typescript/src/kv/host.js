// The store that the host keeps.

import atomics from "wasi:keyvalue/atomics@0.2.0-draft2";
import store from "wasi:keyvalue/store@0.2.0-draft2";
import { checkLive } from "../engine/live.js";
import { HostError } from "../errors.js";

export function openBucket() {
  checkLive("`kv`");
  const bucket = attempt(() => store.open("default"));
  return {
    get: (key) => attempt(() => bucket.get(named(key))) ?? undefined,
    set: (key, value) => attempt(() => bucket.set(named(key), value)),
    delete: (key) => attempt(() => bucket.delete(named(key))),
    exists: (key) => attempt(() => bucket.exists(named(key))),
    keys: (cursor) => attempt(() => bucket.listKeys(cursor)),
    increment: (key, by) => attempt(() => atomics.increment(bucket, named(key), by)),
    swap: (key) => swapOf(attempt(() => atomics.Cas.new(bucket, named(key)))),
  };
}

/** The interface takes text, and half a surrogate pair is none. */
const named = (key) => String(key).toWellFormed();

/** One attempt to replace a value; `finish` returns the next one if another call wrote the key meanwhile. */
function swapOf(cas) {
  return {
    current: () => attempt(() => cas.current()) ?? undefined,
    finish(value) {
      try {
        atomics.swap(cas, value);
        return undefined;
      } catch (thrown) {
        const { tag, val } = thrown?.payload ?? {};
        if (tag === "cas-failed") return swapOf(val);
        throw tag === "store-error" ? failed(val) : thrown;
      }
    },
  };
}

function attempt(run) {
  try {
    return run();
  } catch (thrown) {
    throw thrown?.payload?.tag ? failed(thrown.payload) : thrown;
  }
}

function failed({ tag, val }) {
  if (tag === "access-denied") {
    return new HostError(
      "denied",
      "this server does not grant `kv` to the plugin, or only for callers with credentials",
    );
  }
  if (tag === "no-such-store") return new HostError("internal", "this server has no key-value store");
  return new HostError("internal", `the key-value store failed: ${val}`);
}
