// `structuredClone` for data: what JSON has, and dates, maps, sets, buffers and errors beside it.

export function structuredClone(value, seen = new Map()) {
  if (typeof value === "function" || typeof value === "symbol")
    throw new TypeError(`a ${typeof value} cannot be cloned`);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const copy = empty(value);
  seen.set(value, copy);
  if (value instanceof Map) {
    for (const [key, item] of value) copy.set(structuredClone(key, seen), structuredClone(item, seen));
  } else if (value instanceof Set) {
    for (const item of value) copy.add(structuredClone(item, seen));
  } else if (isPlain(value)) {
    for (const key of Object.keys(value)) put(copy, key, structuredClone(value[key], seen));
  }
  return copy;
}

/** Sets a member, also one called `__proto__`. */
const put = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

const isPlain = (value) =>
  !(ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Date);

function empty(value) {
  if (Array.isArray(value)) return new Array(value.length);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof DataView)
    return new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength);
  if (ArrayBuffer.isView(value)) return value.slice();
  if (value instanceof Error)
    return Object.assign(new Error(value.message), { name: value.name, stack: value.stack });
  return {};
}
