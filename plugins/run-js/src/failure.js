// How code failed, in words that help to mend it: what it threw, where, and why.

import { inline, text, thrown } from "./render.js";
import { Unusable } from "./rewrite.js";

/** Characters of what was thrown, and of the line that it came from. */
const WORDS = 10_000;
const LINE = 200;

/** How many of the reasons for a failure are told. */
const REASONS = 10;

/** An exception with the line of the code that it came from, and with what caused it. */
export function told(error, code) {
  const line = text(() => error instanceof Unusable) ? error.line : lineOf(error);
  const words = [cut(thrown(error), WORDS)];
  if (line !== undefined) words.push(`  at line ${line}: ${cut(code.split("\n")[line - 1]?.trim() ?? "", LINE)}`);
  return [...words, ...(text(() => reasons(error)) || [])].join("\n");
}

/**
 * The engine calls evaluated code `<input>`; Node.js, where the tests run, `<anonymous>`. So it calls a text of JSON too
 * that cannot be read, but only what has run is in brackets.
 */
function lineOf(error) {
  const stack = text(() => error.stack);
  const frames = typeof stack === "string" ? stack.split("\n") : [];
  // A class of the person's begins with its constructors, which are not where it was thrown.
  const made = constructors(error).map((name) => `at ${name} (`);
  const where = frames.filter((frame) => !made.some((begin) => frame.includes(begin))).join("\n");
  const found = /\(.*<(?:input|anonymous)>:(\d+)/.exec(where) ?? /<(?:input|anonymous)>:(\d+)/.exec(where);
  return found === null ? undefined : Number(found[1]);
}

/** The names of the classes that made it, as far as they can be asked. */
function constructors(error) {
  const names = [];
  text(() => {
    for (let made = error.constructor; typeof made === "function"; made = Object.getPrototypeOf(made)) {
      if (typeof made.name === "string" && made.name !== "") names.push(made.name);
    }
  });
  return names;
}

/** What it says of its causes, and what each of several promises failed with. */
function reasons(error) {
  const lines = [];
  for (let cause = part(error, "cause"); cause !== undefined && lines.length < REASONS; cause = part(cause, "cause")) {
    lines.push(`  caused by ${brief(cause)}`);
  }
  const errors = part(error, "errors");
  if (!Array.isArray(errors)) return lines;
  lines.push(...errors.slice(0, REASONS).map((one) => `  - ${brief(one)}`));
  if (errors.length > REASONS) lines.push(`  - and ${errors.length - REASONS} more`);
  return lines;
}

const brief = (reason) => cut(inline(reason), WORDS / REASONS);

/** What an error says of itself, and nothing else does. */
const part = (error, name) => (error instanceof Error ? error[name] : undefined);

const cut = (words, most) =>
  words.length > most ? `${words.slice(0, most)}… (${words.length - most} more characters)` : words;
