// What a TestClient has in place of the host's interfaces: each client its own, so that tests need not clean up. Code
// finds that of the client which called it, also when several calls are under way.

import { AsyncLocalStorage } from "node:async_hooks";

import { HostError } from "../errors.js";

const current = new AsyncLocalStorage();

export class HostDouble {
  values = new Map(); // of the store, as bytes
  settings = new Map();
  secrets = new Map();
  requests = [];
  answer = null;
  denies = false; // client requests and the store

  run(job) {
    return current.run(this, job);
  }
}

/** That of the client whose call this is. */
export function hostDouble() {
  const double = current.getStore();
  if (!double) {
    throw new HostError(
      "internal",
      "there is no host here; call this through a TestClient of plugport-sdk/testing",
    );
  }
  return double;
}
