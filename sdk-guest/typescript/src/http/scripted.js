// Requests of tests: a function of the test answers them. Without one, nothing is granted.

import { hostDouble } from "../host/double.js";
import { toBytes } from "./body.js";
import { HttpError } from "./failure.js";
import { Request } from "./request.js";

/** The header fields that the server does not let a plugin set. */
const REJECTED = [
  "connection",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
];

export const send = (request) => new SentRequest(hostDouble(), request);

const invalid = (why) => new HttpError("invalid", { message: `the request cannot be sent: ${why}` });

class SentRequest {
  #host;
  #request;
  #pieces = [];
  #body;
  #dropped;
  #onDrop;

  constructor(host, request) {
    const { method, url, body } = request;
    const { protocol, origin } = new URL(url);
    if (!/^https?:$/.test(protocol)) {
      throw invalid("its URL begins with neither `https://` nor `http://`");
    }
    for (const [name] of request.headers) {
      if (REJECTED.includes(name)) throw invalid(`the header field \`${name}\` is not one that may be set`);
    }
    this.#host = host;
    this.#request = { ...request, headers: request.headers.filter(([name]) => name !== "content-length") };
    if (body.tag === "bytes") this.#pieces = [body.val];
    if (!host.answer) {
      host.requests.push(this.#recorded());
      throw HttpError.denied(`${method} ${origin}`);
    }
  }

  write(piece) {
    this.#pieces.push(piece.slice());
    return true;
  }

  finish() {}

  async head() {
    this.#host.requests.push(this.#recorded());
    const answer = await Promise.race([this.#host.answer(this.#recorded()), this.#untilDropped()]);
    const { status, headers, body } = typeof answer === "string" ? new globalThis.Response(answer) : answer;
    this.#body = body?.[Symbol.asyncIterator]();
    return { status, headers: [...headers] };
  }

  async read() {
    const { done, value } = (await Promise.race([this.#body?.next(), this.#untilDropped()])) ?? {
      done: true,
    };
    return done ? new Uint8Array() : toBytes(value);
  }

  drop(reason) {
    this.#dropped ??= { reason };
    this.#onDrop?.();
  }

  #untilDropped() {
    return new Promise((_, reject) => {
      const drop = () => reject(this.#dropped.reason);
      if (this.#dropped) drop();
      else this.#onDrop = drop;
    });
  }

  /** The request as it arrives, which can be read once. */
  #recorded() {
    const { method, url, headers } = this.#request;
    const isEmpty = this.#pieces.every((piece) => piece.length === 0);
    const body = isEmpty ? null : Buffer.concat(this.#pieces);
    return new Request(url, { method, headers, body });
  }
}
