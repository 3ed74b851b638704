// `fetch`: sends a request, follows redirects, and returns when the response has begun. Each redirect is a request of
// its own, which the host checks like the first.

import { send } from "#http";
import { URL } from "../url/url.js";
import { takeBody, toBytes } from "./body.js";
import { HttpError, thrownFor } from "./failure.js";
import { Headers } from "./headers.js";
import { ReadableStream } from "./readable_stream.js";
import { Request } from "./request.js";
import { BODYLESS, Response } from "./response.js";

const MOST_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];

/** The longest piece that the host takes, bytes. */
const PIECE = 64 << 10;

export async function fetch(input, init) {
  const request = new Request(input, init);
  const { signal, redirect } = request;
  let next = { url: request.url, method: request.method, headers: request.headers, body: takeBody(request) };
  for (let hops = 0; ; hops += 1) {
    const { sent, head, settle } = await exchange(next, signal);
    const location = REDIRECTS.includes(head.status) && redirect !== "manual" && head.headers.get("location");
    if (!location)
      return responseOf(sent, head, settle, { url: next.url, redirected: hops > 0, method: next.method });
    settle();
    sent.drop();
    if (redirect === "error") throw failed(`${next.url} redirects to ${location}`);
    if (hops === MOST_REDIRECTS) throw failed("it redirects too often");
    next = redirected(next, head.status, location);
  }
}

const failed = (message) => thrownFor(new HttpError("invalid", { message }));

/** One request, until its response has begun. `settle` ends listening to the signal. */
async function exchange({ url, method, headers, body }, signal) {
  signal?.throwIfAborted();
  const fields = headers.has("accept") ? [...headers] : [...headers, ["accept", "*/*"]];
  const isWhole = body instanceof Uint8Array;
  const given = isWhole ? { tag: "bytes", val: body } : { tag: "pieces", val: undefined };
  let sent;
  const abort = () => sent?.drop(signal.reason);
  const settle = () => signal?.removeEventListener("abort", abort);
  try {
    sent = send({ method, url: url.replace(/#.*/, ""), headers: fields, body: given, timeoutMs: undefined });
    signal?.addEventListener("abort", abort);
    if (!isWhole) await write(sent, body, signal);
    const { status, headers: received } = await sent.head();
    return { sent, settle, head: { status, headers: new Headers(received) } };
  } catch (error) {
    settle();
    sent?.drop();
    throw thrownFor(error);
  }
}

/** Hands over a body until it ends, or the host takes no more; the response then says why. */
async function write(sent, body, signal) {
  const chunks = body.values();
  try {
    for (;;) {
      const { done, value } = await unlessAborted(() => chunks.next(), signal);
      if (done) return sent.finish();
      if (!(await unlessAborted(() => writeChunk(sent, toBytes(value)), signal))) return;
    }
  } finally {
    chunks.return().catch(() => {}); // nobody waits for a source that is stuck
  }
}

async function writeChunk(sent, bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (!(await sent.write(bytes.subarray(at, at + PIECE)))) return false;
  }
  return true;
}

/** What a job results in, or the signal's reason if that comes first. */
function unlessAborted(job, signal) {
  if (!signal) return job();
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    const settled = (settle) => (value) => {
      signal.removeEventListener("abort", abort);
      settle(value);
    };
    job().then(settled(resolve), settled(reject));
  });
}

function redirected({ url, method, headers, body }, status, location) {
  const target = URL.parse(location, url);
  if (!target) throw failed(`it redirects to \`${location}\`, which is no URL`);
  if (!/^https?:$/.test(target.protocol))
    throw failed(`it redirects to a URL that begins with \`${target.protocol}\``);
  if (!target.hash) target.hash = new URL(url).hash;
  const kept = new Headers(headers);
  if (target.origin !== new URL(url).origin)
    for (const name of ["authorization", "cookie"]) kept.delete(name);
  const becomesGet = status === 303 ? method !== "HEAD" : status < 303 && method === "POST";
  if (becomesGet) {
    for (const name of ["encoding", "language", "location", "type"]) kept.delete(`content-${name}`);
    return { url: target.href, method: "GET", headers: kept, body: new Uint8Array() };
  }
  if (!(body instanceof Uint8Array))
    throw failed("it redirects, and a body that came in pieces cannot be sent again");
  return { url: target.href, method, headers: kept, body };
}

function responseOf(sent, { status, headers }, settle, { url, redirected, method }) {
  const isEmpty = BODYLESS.includes(status) || method === "HEAD";
  const end = () => {
    settle();
    sent.drop();
  };
  if (isEmpty) end();
  const body = isEmpty ? null : bodyOf(sent, end);
  const init = { status, headers, url: url.replace(/#.*/, ""), redirected };
  return new Response(body, init);
}

function bodyOf(sent, end) {
  return new ReadableStream({
    async pull(controller) {
      try {
        const piece = await sent.read();
        if (piece.length > 0) return controller.enqueue(piece);
        controller.close();
      } catch (error) {
        controller.error(thrownFor(error));
      }
      end();
    },
    cancel: end,
  });
}
