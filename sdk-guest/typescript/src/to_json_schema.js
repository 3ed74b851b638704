// Whatever describes a value (fields of `s`, a JSON Schema, a schema of zod or of another library that keeps to
// Standard Schema) is brought to one form here: JSON for clients, and a function that makes the value.

import { ToolError } from "./errors.js";
import { json } from "./json.js";
import { s, Schema } from "./schema.js";

/** `json` is the JSON Schema as text, `parse` makes the value that a handler gets; it may return a promise. */
export function toJsonSchema(given = {}, what = "schema") {
  if (typeof given === "string") return { json: given.toWellFormed(), parse: asItIs };
  if (given instanceof Schema) return { json: json(given.json), parse: (value) => given.parse(value) };
  if (given?.["~standard"]) return standard(given, what);
  if (given === null || typeof given !== "object") {
    throw new TypeError(`the ${what} must be fields of \`s\`, a JSON Schema or a Standard Schema`);
  }
  if (Object.values(given).every((field) => field instanceof Schema)) return toJsonSchema(s.object(given));
  if (Object.values(given).some((field) => field instanceof Schema)) {
    throw new TypeError(`each field of the ${what} must be made with \`s\`, such as s.string()`);
  }
  return { json: json(given), parse: asItIs };
}

function standard(given, what) {
  const { validate, jsonSchema } = given["~standard"];
  const schema = jsonSchema?.input({ target: "draft-2020-12" }) ?? given.toJSONSchema?.();
  if (!schema) {
    throw new TypeError(
      `the ${what} cannot be written as JSON Schema; use zod 4.2 or newer, \`s\`, or a JSON Schema`,
    );
  }
  const made = (outcome) => {
    if (outcome.issues) throw new ToolError(outcome.issues.map(line).join("\n"));
    return outcome.value;
  };
  const parse = (value) => {
    const outcome = validate(value);
    return typeof outcome?.then === "function" ? outcome.then(made) : made(outcome);
  };
  return { json: json(schema), parse };
}

function line({ path = [], message }) {
  const place = path.map((part) => String(part?.key ?? part)).join(".");
  return place ? `${place}: ${message}` : message;
}

const asItIs = (value) => value;
