// Requests of tests: a function of the test answers them. Without one, nothing is granted.

import { hostDouble } from "../host/double.js";
import { toBytes } from "./body.js";
import { HttpError } from "./failure.js";
import { Request } from "./request.js";

export const send = (request) => new SentRequest(hostDouble(), request);

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
      throw new HttpError("invalid", {
        message: "the request cannot be sent: its URL begins with neither `https://` nor `http://`",
      });
    }
    this.#host = host;
    this.#request = request;
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
