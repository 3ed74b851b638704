// Completion of an argument of a prompt or a variable of a template, and the order in which
// candidates fit.

import { maybeAwait } from "./maybe_await.js";

const MOST = 100; // as MCP allows

/** What completes this argument or variable, if anything does. */
export function completerOf({ complete }, argument) {
  return Object.hasOwn(complete, argument) ? complete[argument] : undefined;
}

/** What a completer returned, as the interface has it. */
export function complete(completer, value, context, call) {
  if (!completer) return lower([]);
  return maybeAwait(() => completer(value, { context: Object.fromEntries(context), call }), lower);
}

function lower(given) {
  const { values, total, hasMore } =
    Symbol.iterator in Object(given) ? { values: [...given] } : (given ?? {});
  const all = [...(values ?? [])].map((value) => String(value).toWellFormed());
  return {
    values: all.slice(0, MOST),
    total: isCount(total) ? total : values && all.length <= MOST ? all.length : null,
    hasMore: Boolean(hasMore ?? all.length > MOST),
  };
}

const isCount = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32;

/**
 * The candidates that fit, the best ones first, without regard to upper and lower case: what equals `value`, then what
 * begins with it, then what has a word that begins with it, and at last what has its letters in this order.
 */
export function rank(value, candidates) {
  const wanted = value.toLowerCase();
  return [...candidates]
    .map((candidate) => ({ candidate, fit: fit(wanted, candidate.toLowerCase()) }))
    .filter(({ fit }) => fit !== undefined)
    .sort((one, other) => one.fit - other.fit)
    .map(({ candidate }) => candidate);
}

function fit(wanted, candidate) {
  if (wanted === candidate) return 0;
  if (candidate.startsWith(wanted)) return 1;
  if (candidate.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) return 2;
  let at = -1;
  let first;
  for (const letter of wanted) {
    at = candidate.indexOf(letter, at + 1);
    if (at < 0) return undefined;
    first ??= at;
  }
  return 3 + at - first - wanted.length + 1;
}
