// The globals of browsers that QuickJS lacks. `plugport build` injects this file where a name is used, so that a plugin
// without requests does not import the interface for them.

export { AbortController, AbortSignal } from "./abort.js";
export { fetch } from "./http/fetch.js";
export { Headers } from "./http/headers.js";
export { ReadableStream } from "./http/readable_stream.js";
export { Request } from "./http/request.js";
export { Response } from "./http/response.js";
export { URLSearchParams } from "./url/search_params.js";
export { URL } from "./url/url.js";
