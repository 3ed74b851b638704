// `Response`: what `fetch` returns, and what a test answers with.

import { Body } from "./body.js";
import { Headers } from "./headers.js";

/** Statuses of responses that have no body. */
export const BODYLESS = [101, 204, 205, 304];

export class Response extends Body {
  constructor(body = null, init = {}) {
    const { status = 200, statusText = "", headers = {}, url = "", redirected = false } = init ?? {};
    if (!Number.isInteger(status) || status < 100 || status > 999)
      throw new RangeError(`${status} is no status`);
    if (body !== null && BODYLESS.includes(status)) throw new TypeError(`a response ${status} has no body`);
    const fields = new Headers(headers);
    super(body, fields);
    Object.assign(this, { status, statusText, headers: fields, url, redirected, type: "default" });
    this.ok = status >= 200 && status < 300;
  }

  static json(value, init = {}) {
    const headers = new Headers(init?.headers ?? {});
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(value), { ...init, headers });
  }
}
