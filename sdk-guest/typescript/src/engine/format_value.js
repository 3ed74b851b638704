// A value as `console` prints it: text unchanged, errors with their stack, anything else as JSON.

import { DEEPEST } from "../json.js";

export function formatValue(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}\n${value.stack ?? ""}`.trimEnd();
  if (typeof value !== "object" || value === null) return String(value);
  return JSON.stringify(value, bounded()) ?? String(value);
}

/** What `JSON.stringify` takes to leave out whatever would make it go on until the stack is exhausted. */
function bounded() {
  const open = []; // what is around the item, from the outside in
  return function (_, item) {
    if (typeof item === "bigint") return `${item}n`;
    if (typeof item !== "object" || item === null) return item;
    while (open.length > 0 && open.at(-1) !== this) open.pop();
    if (open.includes(item)) return "[circular]";
    if (open.length >= DEEPEST) return "[too deep]";
    open.push(item);
    if (!(item instanceof Map || item instanceof Set)) return item;
    const list = [...item];
    open.push(list); // what stands in it is held by the list, and the list by the item
    return list;
  };
}
