// The plugin's settings, from its operator, and its secrets, which are read by name in the same way. A setting that the
// operator did not make is `undefined`.

import { getAll, getOne } from "#config";
import { HostError } from "../errors.js";

export const get = (key) => getOne(String(key).toWellFormed()) ?? undefined;

/** A setting that the plugin cannot do without. */
export function require(key) {
  const value = get(key);
  if (value !== undefined) return value;
  throw new HostError(
    "internal",
    `this plugin needs the setting \`${key}\`, which its operator has not made`,
  );
}

/** All settings that are no secrets. */
export const all = () => Object.fromEntries(getAll());
