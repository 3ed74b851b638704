// `Request`: what `fetch` sends, with the defaults filled in.

import { URL } from "../url/url.js";
import { Body, takeBody } from "./body.js";
import { Headers } from "./headers.js";

const METHOD = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/i;
const USUAL = /^(?:delete|get|head|options|post|put|patch)$/i;
const REDIRECTS = ["follow", "error", "manual"];

export class Request extends Body {
  constructor(input, init) {
    init ??= {};
    const given = input instanceof Request ? input : undefined;
    const headers = new Headers(init.headers ?? given?.headers ?? {});
    const method = methodOf(init.method ?? given?.method ?? "GET");
    const hasBody = init.body != null || (given !== undefined && given.hasBody && init.body !== null);
    if (hasBody && (method === "GET" || method === "HEAD")) throw new TypeError(`${method} has no body`);
    super(init.body ?? (hasBody ? takeBody(given) : null), headers);
    Object.assign(this, { method, headers, hasBody, redirect: init.redirect ?? given?.redirect ?? "follow" });
    if (!REDIRECTS.includes(this.redirect))
      throw new TypeError(`\`redirect\` is one of ${REDIRECTS.join(", ")}`);
    this.signal = init.signal === undefined ? (given?.signal ?? null) : init.signal;
    this.url = given?.url ?? urlOf(input);
  }
}

function methodOf(method) {
  const name = String(method);
  if (!METHOD.test(name)) throw new TypeError(`\`${name}\` is no method`);
  return USUAL.test(name) ? name.toUpperCase() : name;
}

function urlOf(input) {
  const url = new URL(input);
  if (url.username || url.password)
    throw new TypeError("a URL with a password cannot be fetched; set a header");
  return url.href;
}
