// The `console` of evaluated code: its lines, in order, and only so many.

import { inline } from "./render.js";

const LINES = 500;
const CHARACTERS = 30_000;

/** A console and what was written to it. */
export function makeConsole() {
  const lines = [];
  const counts = new Map();
  let [left, dropped, depth] = [CHARACTERS, 0, 0];

  const write = (...values) => {
    if (lines.length >= LINES || left <= 0) {
      dropped += 1;
      return;
    }
    const line = "  ".repeat(depth) + format(values);
    lines.push(line.length > left ? `${line.slice(0, left)}…` : line);
    left -= line.length;
  };
  const group = (...values) => {
    if (values.length > 0) write(...values);
    depth = Math.min(depth + 1, 20);
  };
  const count = (label = "default") => {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    write(`${label}: ${counts.get(label)}`);
  };
  const console = {
    assert: (holds, ...values) => void (holds || write("Assertion failed:", ...values)),
    count,
    countReset: (label = "default") => void counts.delete(label),
    dir: (value) => write(value), // not how to show it
    group,
    groupCollapsed: group,
    groupEnd: () => void (depth = Math.max(0, depth - 1)),
  };
  for (const name of ["debug", "dirxml", "error", "info", "log", "table", "trace", "warn"]) console[name] = write;
  for (const name of ["clear", "time", "timeEnd", "timeLog", "timeStamp"]) console[name] = () => {};
  /** Every line, and that some are missing. */
  const written = () => (dropped > 0 ? [...lines, `… ${dropped} more lines were left out`] : lines);
  return { console, write, written };
}

/** The values beside each other; a first text may have places for the others. */
function format(values) {
  const [first, ...rest] = values;
  if (typeof first !== "string" || !/%[sdifjoOc%]/.test(first)) return values.map(inline).join(" ");
  const filled = first.replace(/%[sdifjoOc%]/g, (place) => {
    if (place === "%%") return "%";
    if (rest.length === 0) return place;
    const value = rest.shift();
    if (place === "%c") return "";
    if (place === "%d" || place === "%i") return String(Math.trunc(number(value)));
    if (place === "%f") return String(number(value));
    return inline(value);
  });
  return [filled, ...rest.map(inline)].join(" ");
}

/** Not every value has a number, and asking for it may throw. */
function number(value) {
  try {
    return Number(value);
  } catch {
    return NaN;
  }
}
