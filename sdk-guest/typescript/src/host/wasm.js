// The only module that knows the host. It is chosen when a plugin is bundled for a component; Node.js gets `native.js`.

import hostChanges from "plugport:plugin/changes@0.1.0";
import elicitation from "plugport:plugin/elicitation@0.1.0";
import inputs from "plugport:plugin/inputs@0.1.0";
import roots from "plugport:plugin/roots@0.1.0";
import sampling from "plugport:plugin/sampling@0.1.0";
import { Call } from "../call.js";
import { collectGarbage } from "../engine/collect_garbage.js";
import { enter, leave } from "../engine/console.js";
import { install, start } from "../engine/index.js";
import { drain, forget } from "../engine/microtasks.js";

install();

export const changes = hostChanges;

/** Prepares the memory that each instance begins with, when the plugin's modules are loaded. */
export const prepare = collectGarbage;

/** Handles a request; `handle` is null where there is no call, as in lists. */
export function during(handle, run) {
  start();
  const call = handle === null ? null : new Call(portOf(handle));
  enter(call);
  try {
    return run(call);
  } finally {
    forget();
    leave();
  }
}

/** The value of a promise: whatever it waits for is done here and now, since the host's results do not come later. */
export const settle = (run) => drain(run());

function portOf(handle) {
  return {
    handle,
    client: () => handle.client(),
    principal: () => handle.principal(),
    meta: () => handle.meta(),
    cancelled: () => handle.cancelled(),
    log: (level, logger, data) => handle.log(level, logger, data),
    progress: (done, total, message) => handle.progress(done, total, message),
    createMessage: (key, params) => sampling.createMessage(handle, key, params),
    elicit: (key, params) => elicitation.elicit(handle, key, params),
    listRoots: (key) => roots.listRoots(handle, key),
    requestInputs: (requests) => inputs.requestInputs(handle, requests),
  };
}
