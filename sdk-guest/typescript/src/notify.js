// Tells the server that something it lists has changed, so that it lists again.

import { changes } from "#host";

export const notify = {
  toolsChanged: () => changes.listChanged("tools"),
  resourcesChanged: () => changes.listChanged("resources"),
  promptsChanged: () => changes.listChanged("prompts"),
  /** Tells those who subscribed to this resource. */
  resourceUpdated: (uri) => changes.resourceUpdated(String(uri).toWellFormed()),
};
