// The tasks that the host has.

import tasks from "plugport:plugin/tasks@0.1.0";

export const detachFrom = ({ handle }, status) => tasks.detach(handle, status);
