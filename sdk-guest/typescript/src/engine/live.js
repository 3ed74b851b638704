// Whether a component runs, or is being built: nothing of the host is there while the modules are loaded.

import { HostError } from "../errors.js";

let live = false;

export const goLive = () => (live = true);
export const isLive = () => live;

/** Rejects what is at the top of a module and belongs into a handler. */
export function checkLive(what) {
  if (!live)
    throw new HostError("internal", `${what} cannot be used while the plugin is built; use it in a handler`);
}
