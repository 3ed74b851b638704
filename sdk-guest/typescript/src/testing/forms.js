// Checks what a person filled in as the server does before a plugin gets it, in its words. MCP has few keywords for the
// fields of a form, and the server checks those. Formats, and keywords that MCP does not have, are for the client.

/** Why the server does not pass on what a person filled in, if it does not. */
export function formFault({ properties = {}, required = [] }, content) {
  if (content === null || typeof content !== "object" || Array.isArray(content)) return "`content` is missing";
  const missing = required.find((name) => !Object.hasOwn(content, name));
  if (missing !== undefined) return `the field \`${missing}\` is missing`;
  for (const [name, value] of Object.entries(content)) {
    const isKnown = Object.hasOwn(properties, name);
    if (!isKnown && !isPlain(value)) return `the field \`${name}\` is not part of the form`;
    if (isKnown && !fits(properties[name], value)) return `the field \`${name}\` does not fit the form`;
  }
  return undefined;
}

const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number";

/** Whether a client may add a field with this value. */
const isPlain = (value) =>
  Array.isArray(value) ? value.every(isText) : ["string", "number", "boolean"].includes(typeof value);

function fits(field, value) {
  switch (field.type) {
    case "string":
      return isText(value) && within([...value].length, field.minLength, field.maxLength) && isChosen(field, value);
    case "number":
      return isNumber(value) && within(value, field.minimum, field.maximum);
    case "integer":
      return Number.isInteger(value) && within(value, field.minimum, field.maximum);
    case "boolean":
      return typeof value === "boolean";
    case "array": {
      if (!Array.isArray(value) || !within(value.length, field.minItems, field.maxItems)) return false;
      const choices = choicesOf(field.items ?? {});
      return value.every((item) => isText(item) && choices.includes(item));
    }
    default:
      return false;
  }
}

const within = (size, least, most) =>
  size >= (isNumber(least) ? least : -Infinity) && size <= (isNumber(most) ? most : Infinity);

function isChosen(field, value) {
  const choices = choicesOf(field);
  return choices.length === 0 || choices.includes(value);
}

/** The values that a field lets a person choose from; empty for any other field. */
function choicesOf(field) {
  if (Array.isArray(field.enum)) return field.enum;
  const titled = field.oneOf !== undefined ? field.oneOf : field.anyOf;
  const choices = Array.isArray(titled) ? titled : [];
  return choices.map((choice) => choice?.const).filter((choice) => choice !== undefined);
}
