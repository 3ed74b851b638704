// Loads a plugin anew in each instance, while `plugport dev` serves it.
//
// Building a component takes a second, and so does compiling it. So `plugport dev` builds one of this file, and gives
// bundles of the plugin to it as data, under a key of `wasi:config` that no operator can set. A bundle has its own SDK;
// what it imports from the host is imported here for it.

import changes from "plugport:plugin/changes@0.1.0";
import elicitation from "plugport:plugin/elicitation@0.1.0";
import http from "plugport:plugin/http-client@0.1.0";
import inputs from "plugport:plugin/inputs@0.1.0";
import roots from "plugport:plugin/roots@0.1.0";
import sampling from "plugport:plugin/sampling@0.1.0";
import tasks from "plugport:plugin/tasks@0.1.0";
import stderr from "wasi:cli/stderr@0.2.12";
import clock from "wasi:clocks/monotonic-clock@0.2.12";
import config from "wasi:config/store@0.2.0-rc.1";
import atomics from "wasi:keyvalue/atomics@0.2.0-draft2";
import store from "wasi:keyvalue/store@0.2.0-draft2";
import random from "wasi:random/random@0.2.12";

const host = {
  "plugport:plugin/changes@0.1.0": changes,
  "plugport:plugin/elicitation@0.1.0": elicitation,
  "plugport:plugin/http-client@0.1.0": http,
  "plugport:plugin/inputs@0.1.0": inputs,
  "plugport:plugin/roots@0.1.0": roots,
  "plugport:plugin/sampling@0.1.0": sampling,
  "plugport:plugin/tasks@0.1.0": tasks,
  "wasi:cli/stderr@0.2.12": stderr,
  "wasi:clocks/monotonic-clock@0.2.12": clock,
  "wasi:config/store@0.2.0-rc.1": config,
  "wasi:keyvalue/atomics@0.2.0-draft2": atomics,
  "wasi:keyvalue/store@0.2.0-draft2": store,
  "wasi:random/random@0.2.12": random,
};

const functions = {
  tools: ["listTools", "callTool"],
  resources: ["listResources", "listResourceTemplates", "readResource"],
  prompts: ["listPrompts", "getPrompt"],
  completions: ["complete"],
};

let present = null;

export const tools = forwarding("tools");
export const resources = forwarding("resources");
export const prompts = forwarding("prompts");
export const completions = forwarding("completions");

function forwarding(name) {
  return Object.fromEntries(
    functions[name].map((one) => [one, (...args) => (present ??= load())[name][one](...args)]),
  );
}

function load() {
  try {
    const module = { exports: {} };
    const bundle = config.get("plugport:dev-sources");
    new Function("require", "module", "exports", `"use strict";${bundle}`)(required, module, module.exports);
    for (const name in functions)
      if (!module.exports[name]) throw new TypeError(`the plugin does not export \`${name}\``);
    return module.exports;
  } catch (thrown) {
    // `plugport dev` reads the first line.
    throw { tag: "internal", val: `the sources cannot be loaded:\n${told(thrown)}`.toWellFormed() };
  }
}

function required(name) {
  if (!Object.hasOwn(host, name)) throw new Error(`there is no module ${name}`);
  return host[name];
}

function told(thrown) {
  try {
    return thrown instanceof Error ? `${thrown}\n${thrown.stack ?? ""}`.trimEnd() : String(thrown);
  } catch {
    return "something was thrown that has no text";
  }
}
