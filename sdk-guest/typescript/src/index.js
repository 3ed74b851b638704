// What a plugin imports. The host comes first: inside a component it supplies what the engine lacks, such as `console`,
// before anything else runs.

import "#host";

export { plugin } from "./plugin.js";
export { tool } from "./tools.js";
export { resource } from "./resources.js";
export { prompt, user, assistant } from "./prompts.js";
export { rank } from "./completions.js";
export { s } from "./schema.js";
export { Content, text, image, audio, link, embedded, result } from "./content.js";
export { HostError, ToolError } from "./errors.js";
export { notify } from "./notify.js";
export { HttpError } from "./http/failure.js";
export * as kv from "./kv/index.js";
export * as config from "./config/index.js";
export * as tasks from "./tasks/index.js";
