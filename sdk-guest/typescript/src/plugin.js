// What a component exports. Each function gives back what the interface takes or throws its error; nothing else leaves,
// since the engine ends the component for a value of another type.

import { during, prepare, settle } from "#host";
import { complete, completerOf } from "./completions.js";
import { HostError, lowered } from "./errors.js";
import { surround } from "./middleware.js";
import { Prompt } from "./prompts.js";
import { Resource, read } from "./resources.js";
import { Tool } from "./tools.js";

/** Makes the exports of a plugin: `export const { tools, resources, prompts, completions } = plugin({ ... })`. */
export function plugin({ tools = [], resources = [], prompts = [], middleware = [] }) {
  check(tools, Tool, "tool", ({ name }) => name);
  check(resources, Resource, "resource", ({ uri, template }) => uri ?? template.text);
  check(prompts, Prompt, "prompt", ({ name }) => name);
  surround([...tools, ...resources, ...prompts], middleware);
  const exported = {
    tools: toolsOf(tools),
    resources: resourcesOf(resources),
    prompts: promptsOf(prompts),
    completions: completionsOf(resources, prompts),
  };
  prepare();
  return exported;
}

function toolsOf(all) {
  return {
    listTools: () => listing(() => all.filter(({ when }) => when()).map(({ described }) => described)),
    callTool: (handle, name, args) =>
      guarded(() => during(handle, (call) => callTool(find(all, name, "tool"), call, args))),
  };
}

/** A handler that never settles is as much its tool's failure as one that throws. */
function callTool(tool, call, args) {
  try {
    return settle(() => tool.call(call, JSON.parse(args)));
  } catch (thrown) {
    return tool.failed(thrown, call);
  }
}

function resourcesOf(all) {
  return {
    listResources: () => listing(() => all.flatMap((one) => one.listed())),
    listResourceTemplates: () =>
      listing(() => all.filter(({ template }) => template).map((one) => one.describedTemplate())),
    readResource: (handle, uri, matched) => serving(handle, (call) => read(all, call, uri, matched)),
  };
}

function promptsOf(all) {
  return {
    listPrompts: () => listing(() => all.filter(({ when }) => when()).map(({ described }) => described)),
    getPrompt: (handle, name, args) => serving(handle, (call) => find(all, name, "prompt").get(call, args)),
  };
}

function completionsOf(resources, prompts) {
  return {
    complete: (handle, target, argument, value, context) =>
      serving(handle, (call) => {
        const isPrompt = target.tag === "prompt";
        const one = isPrompt
          ? find(prompts, target.val, "prompt")
          : resources.find(({ uri, template }) => target.val === (template?.text ?? uri));
        if (!one) throw HostError.notFound(`there is no resource ${target.val}`);
        return complete(completerOf(one, argument), value, context, call);
      }),
  };
}

function listing(run) {
  return guarded(() => during(null, () => settle(run)));
}

function serving(handle, run) {
  return guarded(() => during(handle, (call) => settle(() => run(call))));
}

function guarded(run) {
  try {
    return run();
  } catch (thrown) {
    throw lowered(thrown);
  }
}

function find(all, name, what) {
  const one = all.find((candidate) => candidate.name === name);
  if (!one) throw HostError.notFound(`there is no ${what} \`${name}\``);
  return one;
}

function check(all, Kind, what, nameOf) {
  const seen = new Set();
  for (const one of all) {
    if (!(one instanceof Kind))
      throw new TypeError(`each of the ${what}s must be made with \`${what}({ ... })\``);
    if (seen.has(nameOf(one))) throw new TypeError(`there are two ${what}s \`${nameOf(one)}\`; rename one`);
    seen.add(nameOf(one));
  }
}
