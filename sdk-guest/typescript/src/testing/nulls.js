// Removes explicit nulls that stand for optional arguments, as the server does before it validates.

/** References followed one after the other, and levels of nested choices. */
const HOPS = 8;
const DEPTH = 16;

/** Removes members that are null and that the schema neither requires nor allows to be null. */
export function removeNulls(root, value) {
  walk(root, root, value);
  return value;
}

function walk(root, unresolved, value) {
  const schema = resolved(root, unresolved) ?? {};
  const { properties = {}, required = [], items } = schema;
  if (Array.isArray(value)) {
    for (const item of value) walk(root, items, item);
  } else if (value !== null && typeof value === "object") {
    // Which names `patternProperties` has is not found out, as in the server.
    const others = schema.patternProperties === undefined ? schema.additionalProperties : undefined;
    for (const [name, item] of Object.entries(value)) {
      const known = Object.hasOwn(properties, name);
      const isAbsent = item === null && known && !required.includes(name) && !mayBeNull(root, properties[name], DEPTH);
      if (isAbsent) delete value[name];
      else walk(root, known ? properties[name] : others, item);
    }
  }
}

/** Whether null fits, or may fit in a way that is not understood here. */
function mayBeNull(root, unresolved, depth) {
  if (depth === 0) return true;
  const schema = resolved(root, unresolved) ?? {};
  const typeAllows = schema.type === undefined || [schema.type].flat().includes("null");
  const valuesAllow = schema.enum ? schema.enum.includes(null) : (schema.const ?? null) === null;
  const choices = [schema.anyOf, schema.oneOf].filter(Array.isArray);
  const some = (all) => all.some((choice) => mayBeNull(root, choice, depth - 1));
  return typeAllows && valuesAllow && choices.every(some);
}

/** Follows references within the schema. */
export function resolved(root, schema) {
  let target = schema;
  for (let hop = 0; hop < HOPS && target?.$ref?.startsWith("#"); hop += 1) {
    const steps = target.$ref.slice(1).split("/").slice(1);
    const next = steps.reduce((one, step) => one?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    if (next === undefined) break;
    target = next;
  }
  return target;
}
