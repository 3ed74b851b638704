// JSON that the host accepts, whatever a handler returns: the interface carries text, and half a surrogate pair is none.
// What is nested too deeply would exhaust the stack of the component, which nothing in it survives.

/** How deep the host takes it. Common parsers give up between this and twice as much. */
export const DEEPEST = 64;

/** The JSON of a value; `null` for what has none. */
export function json(value) {
  const text = JSON.stringify(value, bounded());
  if (text === undefined) return "null";
  if (!/\\ud[89a-f]/i.test(text)) return text;
  // Only halves without the other are escaped; a backslash of the text itself is doubled.
  return text.replace(/\\(?:(ud[89a-f]..)|.)/gi, (all, half) => (half ? "\ufffd" : all));
}

/** What `JSON.stringify` takes to reject what is too deep before it goes there. */
function bounded() {
  const depths = new Map();
  return function (_, item) {
    if (typeof item !== "object" || item === null) return item;
    const depth = (depths.get(this) ?? 0) + 1;
    if (depth > DEEPEST) {
      throw new TypeError(
        `a value that is nested more than ${DEEPEST} deep cannot be sent; make it flatter, or parts of it a text`,
      );
    }
    depths.set(item, depth);
    return item;
  };
}

/** The JSON of an object of further MCP fields, or nothing when there are none. */
export function extra(...parts) {
  const fields = Object.assign({}, ...parts.filter((part) => part != null));
  for (const key of Object.keys(fields)) if (fields[key] === undefined) delete fields[key];
  return Object.keys(fields).length > 0 ? json(fields) : null;
}

/** Text as the interface takes it, or nothing. */
export function optional(text) {
  return text == null ? null : String(text).toWellFormed();
}
