// Calls that become tasks. This is no method of the call, so that only a bundle that uses it imports the interface.

import { detachFrom } from "#tasks";
import { Call } from "../call.js";
import { optional } from "../json.js";

/** Lets a client that knows tasks go on without waiting for the call. Whether the call is a task now. */
export const detach = (call, status) => detachFrom(Call.backendOf(call), optional(status));
