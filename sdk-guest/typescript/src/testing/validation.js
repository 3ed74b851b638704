// Validates arguments as the server does before it calls a tool, and results as it does afterwards, in its words. It
// knows the keywords that `s`, zod and most people write; the server validates the others too. Only tests import this,
// so no component has it.

import { HostError } from "../errors.js";
import { removeNulls, resolved } from "./nulls.js";

/** Faults that one message names, and the longest description of one in bytes. */
const FAULTS = 5;
const FAULT_LENGTH = 300;

/** The arguments that the server gives to the tool, or the words in which it rejects them. */
export function validated(schemaText, given = {}) {
  const schema = schemaOf(schemaText);
  const args = removeNulls(schema, JSON.parse(JSON.stringify(given)));
  const faults = mismatch(schema, args);
  return { args, rejected: faults && `the arguments do not fit the tool's schema: ${faults}` };
}

/** The words in which the server rejects the result of a tool with this output schema, if it does. */
export function resultFault(schemaText, { structured, isError }) {
  if (schemaText === undefined || isError) return undefined;
  const invalid = "the tool returned an invalid result: ";
  if (structured == null) return `${invalid}it promises structured content and gave none`;
  const faults = mismatch(JSON.parse(schemaText), JSON.parse(structured));
  return faults && `${invalid}its structured content does not fit its schema: ${faults}`;
}

/** What is wrong with a value, if anything is. */
function mismatch(schema, value) {
  const faults = faultsOf(schema, schema, value, "").slice(0, FAULTS).map(truncated);
  return faults.length > 0 ? faults.join("; ") : undefined;
}

function schemaOf(text) {
  const unusable = (why) => new HostError("internal", `the server would reject this tool: ${why}`);
  let schema;
  try {
    schema = JSON.parse(text);
  } catch {
    throw unusable("its schema is not a JSON object");
  }
  if (schema?.type !== "object") throw unusable('its input schema must have "type": "object"');
  return schema;
}

/** What is wrong with a value at a place, which is a JSON pointer. */
function faultsOf(root, unresolved, value, at) {
  const schema = resolved(root, unresolved);
  if (schema === false) return [`${at}: nothing is allowed here`];
  if (schema === null || typeof schema !== "object") return [];
  const own = Object.entries(assertions)
    .filter(([keyword]) => Object.hasOwn(schema, keyword))
    .map(([keyword, check]) => check(value, schema[keyword]))
    .filter((why) => why !== undefined)
    .map((why) => `${at || "/"}: ${why}`);
  const within = (inner, item, name) => faultsOf(root, inner, item, `${at}/${escaped(name)}`);
  const here = (inner) => faultsOf(root, inner, value, at);
  const inner = isObject(value) ? ofObject(schema, value, at, within) : [];
  const items = Array.isArray(value) ? ofItems(schema, value, within) : [];
  return [...own, ...inner, ...items, ...ofChoices(schema, value, at || "/", here)];
}

function ofObject(schema, value, at, within) {
  const { properties = {}, required = [], additionalProperties: others = true } = schema;
  const faults = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at}/${escaped(name)}: is required and missing`);
  const unknown = [];
  for (const [name, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) faults.push(...within(properties[name], item, name));
    // Which names `patternProperties` has is for the server to find out.
    else if (schema.patternProperties) continue;
    else if (others === false) unknown.push(`${at}/${escaped(name)}`);
    else faults.push(...within(others, item, name));
  }
  if (unknown.length > 0) faults.push(`${unknown.slice(0, FAULTS).join(", ")}: not a known property`);
  return faults;
}

function ofItems({ prefixItems = [], items = true }, value, within) {
  return value.flatMap((item, at) => within(at < prefixItems.length ? prefixItems[at] : items, item, at));
}

function ofChoices({ allOf = [], anyOf, oneOf }, value, at, here) {
  const faults = allOf.flatMap(here);
  const fitting = (choices) => choices.filter((choice) => here(choice).length === 0).length;
  const none = (word) => `${at}: ${said(value)} is not valid under any of the schemas listed in the '${word}' keyword`;
  if (anyOf && fitting(anyOf) === 0) faults.push(none("anyOf"));
  const ones = oneOf ? fitting(oneOf) : 1;
  if (ones === 0) faults.push(none("oneOf"));
  if (ones > 1) {
    faults.push(`${at}: ${said(value)} is valid under more than one of the schemas listed in the 'oneOf' keyword`);
  }
  return faults;
}

const said = (value) => JSON.stringify(value);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

/** A keyword for values of one kind: `size` is undefined for others. */
const limit = (size, isOver, words) => (value, bound) =>
  size(value) !== undefined && isOver(size(value), bound) ? `${said(value)} ${words(bound)}` : undefined;
const number = (value) => (typeof value === "number" ? value : undefined);
const letters = (value) => (typeof value === "string" ? [...value].length : undefined);
const items = (value) => (Array.isArray(value) ? value.length : undefined);
const members = (value) => (isObject(value) ? Object.keys(value).length : undefined);
const above = (size, most) => size > most;
const below = (size, least) => size < least;
/** The server divides the decimals as they are written; here the quotient may differ in its last bits. */
const isNoMultiple = (value, step) => {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) > 2 * Number.EPSILON * Math.abs(quotient);
};

/** By keyword, in the order in which the server names faults: why a value does not fit, if it does not. */
const assertions = {
  type: (value, types) => (isOneOf(value, [types].flat()) ? undefined : `${said(value)} ${notOf(types)}`),
  const: (value, wanted) => (equal(value, wanted) ? undefined : `${said(wanted)} was expected`),
  enum: (value, choices) =>
    choices.some((choice) => equal(value, choice)) ? undefined : `${said(value)} is not one of ${listed(choices)}`,
  minimum: limit(number, below, (least) => `is less than the minimum of ${least}`),
  maximum: limit(number, above, (most) => `is greater than the maximum of ${most}`),
  exclusiveMinimum: limit(
    number,
    (value, least) => value <= least,
    (least) => `is less than or equal to the minimum of ${least}`,
  ),
  exclusiveMaximum: limit(
    number,
    (value, most) => value >= most,
    (most) => `is greater than or equal to the maximum of ${most}`,
  ),
  multipleOf: limit(
    number,
    isNoMultiple,
    (step) => `is not a multiple of ${step}`,
  ),
  minLength: limit(letters, below, (least) => `is shorter than ${plural(least, "character", "characters")}`),
  maxLength: limit(letters, above, (most) => `is longer than ${plural(most, "character", "characters")}`),
  minItems: limit(items, below, (least) => `has less than ${plural(least, "item", "items")}`),
  maxItems: limit(items, above, (most) => `has more than ${plural(most, "item", "items")}`),
  minProperties: limit(members, below, (least) => `has less than ${plural(least, "property", "properties")}`),
  maxProperties: limit(members, above, (most) => `has more than ${plural(most, "property", "properties")}`),
  pattern: (value, pattern) =>
    typeof value !== "string" || matches(value, pattern) ? undefined : `${said(value)} does not match "${pattern}"`,
  uniqueItems: (value, wanted) =>
    wanted && Array.isArray(value) && value.some((item, at) => value.slice(0, at).some((one) => equal(one, item)))
      ? `${said(value)} has non-unique elements`
      : undefined,
};

const isOneOf = (value, types) =>
  types.some((type) => {
    if (type === "integer") return Number.isInteger(value);
    if (type === "array") return Array.isArray(value);
    if (type === "object") return isObject(value);
    return type === "null" ? value === null : typeof value === type;
  });

function notOf(types) {
  const names = [types].flat().toSorted().map(said);
  return names.length === 1 ? `is not of type ${names}` : `is not of types ${names.join(", ")}`;
}

function listed(choices) {
  const shown = choices.map(said);
  if (shown.length > 3) shown.splice(2, shown.length, `${choices.length - 2} other candidates`);
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}` : String(shown);
}

function equal(left, right) {
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return left === right;
  const [names, others] = [Object.keys(left), Object.keys(right)];
  const same = Array.isArray(left) === Array.isArray(right) && names.length === others.length;
  return same && names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name]));
}

/** A pattern that this engine does not know is for the server to reject. */
function matches(text, pattern) {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags).test(text);
    } catch {
      // without `u`, more escapes are allowed
    }
  }
  return true;
}

/** A name as a step of a JSON pointer (RFC 6901). */
const escaped = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

function truncated(text) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= FAULT_LENGTH) return text;
  let end = FAULT_LENGTH;
  // The bytes of one character stay together.
  while ((bytes[end] & 0xc0) === 0x80) end -= 1;
  return `${new TextDecoder().decode(bytes.subarray(0, end))}…`;
}
