// Any value as JSON that a model can read.
//
// What JSON has goes out as it is. What it lacks becomes the text that a console would show, rather than the `null` or
// nothing that `JSON.stringify` makes of it. All of it is bounded: a value that is too large is cut, and says so.

/** Characters of a whole value, and of one text in it; what stands around the fields of an object counts too. */
const WHOLE = 60_000;
const TEXT = 20_000;
const AROUND = 12;

/** How deep a value is shown. */
const DEPTH = 20;

/** The value as JSON can hold it; `cut` says whether something is missing. */
export function render(value, room = WHOLE) {
  const rendering = { left: room, cut: false, open: new Set() };
  return { value: any(value, rendering, 0), cut: rendering.cut };
}

/** The value in one line, as a console shows it. */
export function inline(value) {
  if (typeof value === "string") return value;
  if (value === undefined) return "undefined";
  if (isError(value)) return thrown(value);
  const shown = render(value).value;
  return typeof shown === "string" ? shown : JSON.stringify(shown);
}

/** An exception in words. */
export function thrown(error) {
  if (!isError(error)) return `threw ${inline(error)}`;
  const said = text(() => String(error.message));
  const name = text(() => String(error.name)) || "Error";
  return said === "" ? name : `${name}: ${said}`;
}

function any(value, rendering, depth) {
  switch (typeof value) {
    case "string":
      return cutText(value, rendering, depth === 0 ? WHOLE : TEXT);
    case "boolean":
      return spent(value, 5, rendering);
    case "number":
      return spent(Number.isFinite(value) ? value : String(value), 8, rendering);
    case "bigint":
      return cutText(`${value}n`, rendering);
    case "symbol":
      return cutText(String(value), rendering);
    case "undefined":
      return spent(null, 4, rendering);
    case "function":
      return cutText(functionName(value), rendering);
    default:
      return value === null ? spent(null, 4, rendering) : object(value, rendering, depth);
  }
}

function object(value, rendering, depth) {
  if (rendering.open.has(value)) return spent("[Circular]", 12, rendering);
  if (depth >= DEPTH) {
    rendering.cut = true;
    return spent("[too deep]", 12, rendering);
  }
  rendering.left -= AROUND;
  rendering.open.add(value);
  try {
    return known(value, rendering, depth + 1);
  } catch (error) {
    return cutText(`[cannot be shown: ${thrown(error)}]`, rendering);
  } finally {
    rendering.open.delete(value);
  }
}

function known(value, rendering, depth) {
  if (Array.isArray(value)) return list(value, rendering, depth); // first, since there are most of them
  if (value instanceof Date) {
    return cutText(Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString(), rendering);
  }
  if (value instanceof Error) return cutText(thrown(value), rendering);
  if (value instanceof RegExp) return cutText(String(value), rendering);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return any(value.valueOf(), rendering, depth);
  }
  if (value instanceof Map) return map(value, rendering, depth);
  if (value instanceof Set) return list(value, rendering, depth);
  if (value instanceof ArrayBuffer) return list(new Uint8Array(value), rendering, depth);
  if (ArrayBuffer.isView(value)) {
    return list(value instanceof DataView ? new Uint8Array(value.buffer) : value, rendering, depth);
  }
  if (typeof value.toJSON === "function") return any(value.toJSON(), rendering, depth);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (["Promise", "WeakMap", "WeakSet", "WeakRef", "Generator"].includes(tag)) {
    return cutText(`[${tag}]`, rendering);
  }
  return fields(Object.keys(value), (key) => value[key], rendering, depth);
}

function list(values, rendering, depth) {
  const shown = [];
  const count = values.size ?? values.length;
  for (const value of values) {
    if (rendering.left <= 0) {
      rendering.cut = true;
      shown.push(`… and ${count - shown.length} more`);
      break;
    }
    shown.push(any(value, rendering, depth));
  }
  return shown;
}

/** An object where the keys are texts, and pairs otherwise. */
function map(value, rendering, depth) {
  if (![...value.keys()].every((key) => typeof key === "string")) {
    return list([...value.entries()], rendering, depth);
  }
  return fields([...value.keys()], (key) => value.get(key), rendering, depth);
}

function fields(keys, read, rendering, depth) {
  const shown = {};
  for (const [index, key] of keys.entries()) {
    if (rendering.left <= 0) {
      rendering.cut = true;
      shown["…"] = `and ${keys.length - index} more`;
      break;
    }
    const value = read(key);
    if (value === undefined) continue;
    rendering.left -= key.length + 4;
    // A key such as `__proto__` is a field like any other here.
    Object.defineProperty(shown, key, {
      value: any(value, rendering, depth),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return shown;
}

function functionName(value) {
  const source = text(() => Function.prototype.toString.call(value));
  const kind = source.startsWith("class") ? "class" : "function";
  return `[${kind} ${text(() => String(value.name)) || "without a name"}]`;
}

function cutText(whole, rendering, most = TEXT) {
  const room = Math.max(0, Math.min(most, rendering.left));
  rendering.left -= whole.length + 2;
  if (whole.length <= room) return whole;
  rendering.cut = true;
  return `${whole.slice(0, room)}… (${whole.length - room} more characters)`;
}

function spent(value, characters, rendering) {
  rendering.left -= characters;
  return value;
}

/** A proxy may throw even here. */
function isError(value) {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** What a getter of the person's says, unless it throws. */
export function text(read) {
  try {
    return read();
  } catch {
    return "";
  }
}
