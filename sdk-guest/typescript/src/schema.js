// A few builders that write JSON Schema and tell TypeScript the type. They only describe: the host checks arguments
// against the schema before a handler runs, so all that is left to do here is to put defaults where nothing was given.

import { ToolError } from "./errors.js";

/** A value's JSON Schema. Each method returns a new one. */
export class Schema {
  constructor(json, { required = true, fallback, fields, items, values } = {}) {
    this.json = json;
    this.required = required;
    this.fallback = fallback;
    this.fields = fields;
    this.items = items;
    this.values = values;
  }

  #with(json, options) {
    return new Schema({ ...this.json, ...json }, { ...this, ...options });
  }

  describe(description) {
    return this.#with({ description });
  }

  title(title) {
    return this.#with({ title });
  }

  /** Makes the value optional. */
  optional() {
    return this.#with({}, { required: false });
  }

  /** Makes the value optional, with `value` as its default. */
  default(value) {
    return this.#with({ default: value }, { required: false, fallback: value });
  }

  /** The least number, the shortest text or the fewest items. */
  min(least) {
    return this.#with({ [bounds(this.json.type)[0]]: least });
  }

  /** The greatest number, the longest text or the most items. */
  max(most) {
    return this.#with({ [bounds(this.json.type)[1]]: most });
  }

  pattern(pattern) {
    return this.#with({ pattern: pattern instanceof RegExp ? pattern.source : pattern });
  }

  /** What the text is, such as `email`, `uri`, `date` or `date-time`. */
  format(format) {
    return this.#with({ format });
  }

  /** Further keywords of JSON Schema. */
  also(keywords) {
    return this.#with(keywords);
  }

  /** The value with defaults where nothing was given. */
  parse(value) {
    if (value === undefined || this.#isAbsent(value)) {
      // A default of null is the value itself: as an argument it would be taken for a missing one again.
      return (this.fallback ?? null) === null ? this.fallback : this.parse(structuredClone(this.fallback));
    }
    if (this.json.type === "integer") return exact(value);
    if (this.items && Array.isArray(value)) return value.map((item) => this.items.parse(item));
    if (value === null || typeof value !== "object") return value;
    if (this.values) return mapped(value, (item) => this.values.parse(item));
    if (!this.fields) return value;
    const filled = { ...value };
    for (const [name, field] of Object.entries(this.fields)) {
      const given = field.parse(Object.hasOwn(value, name) ? value[name] : undefined);
      if (given !== undefined) put(filled, name, given);
      else delete filled[name];
    }
    return filled;
  }

  /** Whether this is a null that stands for nothing, as the host has it. */
  #isAbsent(value) {
    const { type } = this.json;
    return value === null && !this.required && type !== undefined && ![type].flat().includes("null");
  }
}

/** An integer that JSON.parse has read without rounding it. */
function exact(value) {
  if (!Number.isInteger(value)) return value;
  if (!Number.isSafeInteger(value)) {
    throw new ToolError(
      `${value} is too large: whole numbers are exact from ${-Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`,
    );
  }
  // -0 is 0.
  return value + 0;
}

/** Sets a member, also one called `__proto__`. */
const put = (object, name, value) =>
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });

const mapped = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

function bounds(type) {
  if (type === "string") return ["minLength", "maxLength"];
  if (type === "array") return ["minItems", "maxItems"];
  return ["minimum", "maximum"];
}

const described = (json, description) => (description === undefined ? json : { ...json, description });

export const s = {
  string: (description) => new Schema(described({ type: "string" }, description)),
  number: (description) => new Schema(described({ type: "number" }, description)),
  integer: (description) => new Schema(described({ type: "integer" }, description)),
  boolean: (description) => new Schema(described({ type: "boolean" }, description)),
  enum: (values, description) => new Schema(described({ type: "string", enum: [...values] }, description)),
  array: (items, description) =>
    new Schema(described({ type: "array", items: items.json }, description), { items }),
  object: (fields, description) => new Schema(described(objectOf(fields), description), { fields }),
  /** An object with any keys and values of one kind. */
  record: (values, description) =>
    new Schema(described({ type: "object", additionalProperties: values.json }, description), { values }),
  /** A JSON Schema of your own. */
  json: (schema, description) => new Schema(described({ ...schema }, description)),
};

function objectOf(fields) {
  const names = Object.keys(fields);
  const required = names.filter((name) => fields[name].required);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, fields[name].json])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
