// The settings that the host has.

import store from "wasi:config/store@0.2.0-rc.1";
import { checkLive } from "../engine/live.js";
import { HostError } from "../errors.js";

export const getOne = (key) => attempt(() => store.get(key));
export const getAll = () => attempt(() => store.getAll());

function attempt(run) {
  checkLive("`config`");
  try {
    return run();
  } catch (thrown) {
    const reason = thrown?.payload?.val;
    if (reason === undefined) throw thrown;
    throw new HostError("internal", `the configuration cannot be read: ${reason}`);
  }
}
