// Why there is no response, in messages that a tool may show to a model. They leave out the line that would grant the
// request, which is for the plugin's operator.

/** The `cause` of the `TypeError` that `fetch` throws. */
export class HttpError extends Error {
  constructor(kind, { message, request, grant, limit } = {}) {
    super(message ?? (words[kind] ?? words.unsent)({ request, limit }));
    Object.assign(this, { name: "HttpError", kind, request, grant, limit });
  }

  /** The error of a request that is not granted, such as `GET https://example.com`; for tests. */
  static denied(request) {
    return new HttpError("denied", { request, grant: `http = ["${request}"]` });
  }

  /** From what the host threw. */
  static from(thrown) {
    const { tag, val } = thrown?.payload ?? thrown ?? {};
    if (typeof tag !== "string") return thrown;
    if (tag === "denied") return new HttpError(tag, val);
    if (tag === "over-limit") return new HttpError(tag, { limit: val });
    return new HttpError(tag, { message: explained[tag]?.(val) });
  }
}

const words = {
  denied: ({ request }) => `this server does not grant the request ${request} to the plugin`,
  "private-address": () =>
    "the name leads to an address that is not public, and this server does not grant that",
  invalid: () => "the request cannot be sent",
  "unknown-host": () => "there is no host of this name",
  unreachable: () => "the host cannot be reached",
  tls: () => "the host did not prove who it is, or does not speak TLS",
  "timed-out": () => "the host took too long to answer",
  "over-limit": ({ limit }) => `the request is beyond what this server allows (limit \`${limit}\`)`,
  unsent: () => "the request could not be sent",
  broken: () => "the answer is broken",
};

const explained = {
  invalid: (why) => `${words.invalid()}: ${why}`,
  unsent: (why) => `${words.unsent()}: ${why}`,
  broken: (why) => `${words.broken()}: ${why}`,
};

/** A failure as `fetch` and bodies throw it. Anything else is thrown as it is. */
export const thrownFor = (error) =>
  error instanceof HttpError ? new TypeError("fetch failed", { cause: error }) : error;
