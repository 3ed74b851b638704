// What `Request` and `Response` have in common: a body that is read once, as a whole or as it comes.

import { encode, joined, TextDecoder } from "../engine/text_encoding.js";
import { ReadableStream } from "./readable_stream.js";

const take = Symbol("take");

export class Body {
  #bytes = null; // all of it
  #stream = null; // or what it comes from
  #used = false;

  /** Sets the body, and its type unless there is one. */
  constructor(body, headers) {
    if (body == null) return;
    if (isIterable(body)) {
      this.#stream = body instanceof ReadableStream ? body : ReadableStream.from(body);
      return;
    }
    const { bytes, type } = wholeBody(body);
    this.#bytes = bytes;
    if (type && !headers.has("content-type")) headers.set("content-type", type);
  }

  get body() {
    if (this.#bytes !== null && !this.#used) {
      this.#stream = ReadableStream.from(this.#bytes.length > 0 ? [this.#bytes] : []);
      this.#bytes = null;
    }
    return this.#stream;
  }

  get bodyUsed() {
    return this.#used || Boolean(this.#stream?.disturbed);
  }

  /** The body as bytes or as a stream, for those who read it here. */
  [take]() {
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError("the body was read already");
    this.#used = this.#bytes !== null || this.#stream !== null;
    return this.#stream ?? this.#bytes ?? new Uint8Array();
  }

  async bytes() {
    const body = this[take]();
    if (body instanceof Uint8Array) return body;
    const pieces = [];
    for await (const piece of body) pieces.push(toBytes(piece));
    return joined(pieces);
  }

  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }

  async text() {
    return new TextDecoder().decode(await this.bytes());
  }

  async json() {
    return JSON.parse(await this.text());
  }
}

/** Takes the body out of a request or a response: bytes, or a stream. */
export const takeBody = (message) => message[take]();

/** A chunk of a body as bytes. */
export function toBytes(chunk) {
  if (typeof chunk === "string") return encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError("a body is made of text and bytes");
}

/** Bytes and strings have iterators too, and are no streams. */
const isIterable = (body) => typeof body === "object" && typeof body[Symbol.asyncIterator] === "function";

function wholeBody(body) {
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return { bytes: toBytes(body).slice() };
  const isForm = Object.prototype.toString.call(body) === "[object URLSearchParams]";
  const type = isForm ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
  return { bytes: encode(String(body)), type };
}
