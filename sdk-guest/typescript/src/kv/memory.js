// A store in memory, for tests: each TestClient has its own.

import { HostError } from "../errors.js";
import { hostDouble } from "../host/double.js";

export function openBucket() {
  const { denies, values } = hostDouble();
  if (denies) {
    throw new HostError(
      "denied",
      "this server does not grant `kv` to the plugin, or only for callers with credentials",
    );
  }
  return bucketOf(values);
}

export function bucketOf(values) {
  const get = (key) => values.get(String(key))?.slice();
  const set = (key, value) => void values.set(String(key), value.slice());
  return {
    get,
    set,
    delete: (key) => void values.delete(String(key)),
    exists: (key) => values.has(String(key)),
    keys: () => ({ keys: [...values.keys()] }),
    increment: (key, by) => increment({ get, set }, key, by),
    swap: (key) => swapOf({ get, set }, key, get(key)),
  };
}

/** The host counts in 64 bits. */
function increment({ get, set }, key, by) {
  const text = new TextDecoder().decode(get(key) ?? Buffer.from("0"));
  const sum = /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace(/^\+/, "")) + BigInt(by) : undefined;
  if (sum === undefined || BigInt.asIntN(64, sum) !== sum) {
    throw new HostError("internal", `\`${key}\` is no number, or has no room for the sum`);
  }
  set(key, new TextEncoder().encode(String(sum)));
  return sum;
}

function swapOf(bucket, key, current) {
  return {
    current: () => current,
    finish(value) {
      const now = bucket.get(key);
      if (String(now) !== String(current)) return swapOf(bucket, key, now);
      bucket.set(key, value);
      return undefined;
    },
  };
}
