// `tasks`: calls whose client need not wait, and fetches the result later.

import type { Call } from "./call.js";

/**
 * Lets a client that knows tasks go on without waiting for the call. Returns whether the call is a task now; if not,
 * everything goes on as before. `status` is for people; the messages of `progress` replace it.
 */
export declare function detach(call: Call, status?: string): boolean;
