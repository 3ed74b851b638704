// JSON that the host accepts, whatever a handler returns: the interface carries text, and half a surrogate pair is none.

/** The JSON of a value; `null` for what has none. */
export function json(value) {
  const text = JSON.stringify(value);
  if (text === undefined) return "null";
  if (!/\\ud[89a-f]/i.test(text)) return text;
  // Only halves without the other are escaped; a backslash of the text itself is doubled.
  return text.replace(/\\(?:(ud[89a-f]..)|.)/gi, (all, half) => (half ? "\ufffd" : all));
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
