// Outside a component there is no host: tests have a call of their own, and `notify` records changes for them.

import { HostError } from "../errors.js";

const told = [];

export const changes = {
  listChanged: (listing) => void told.push(listing),
  resourceUpdated: (uri) => void told.push(uri),
};

/** What was told since the last time. */
export const takeChanges = () => told.splice(0);

export function during(handle, run) {
  if (handle !== null) throw new HostError("internal", "there is no host here; use plugport-sdk/testing");
  return run();
}

/** There is no memory image to prepare. */
export const prepare = () => {};

export const settle = (run) => run();
