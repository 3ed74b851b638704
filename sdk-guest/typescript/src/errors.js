// Two kinds of failure, since clients tell them apart: a tool error is a result that a model reads and may correct, and
// a HostError is the one error of the interface, with a code of its own for the client. Everything else that is thrown
// becomes a tool error, so that nothing a handler does can end its component.

/** An error of the host. If a handler throws it on, the client gets it unchanged. */
export class HostError extends Error {
  constructor(kind, message, rpc) {
    super(message ?? kind);
    this.name = "HostError";
    this.kind = kind;
    this.rpc = rpc;
  }

  static notFound(what) {
    return new HostError("not-found", what);
  }

  static invalid(why) {
    return new HostError("invalid-params", why);
  }

  /** From what an import threw, or from the error of one of several responses. */
  static from(thrown) {
    const error = thrown?.payload ?? thrown;
    if (typeof error?.tag !== "string") return thrown;
    if (error.tag === "rpc") return new HostError("rpc", error.val.message, error.val);
    return new HostError(error.tag, error.val ?? wordless[error.tag]);
  }

  /** As the interface has it. */
  lower() {
    if (this.kind === "rpc") return { tag: "rpc", val: this.#rpc() };
    if (Object.hasOwn(wordless, this.kind)) return { tag: this.kind };
    return { tag: kinds.has(this.kind) ? this.kind : "internal", val: said(this.message).toWellFormed() };
  }

  #rpc() {
    const { code = -32603, message = this.message, data } = this.rpc ?? {};
    return {
      code: Number.isInteger(code) && code === (code | 0) ? code : -32603,
      message: said(message).toWellFormed(),
      data: data == null ? null : said(data).toWellFormed(),
    };
  }
}

const wordless = { "timed-out": "it took too long", cancelled: "the request was cancelled" };
const kinds = new Set([
  "not-found",
  "invalid-params",
  "internal",
  "missing-capability",
  "denied",
  "over-budget",
  "rejected",
]);

/** Ends a tool with a result that has the error's message. */
export class ToolError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "ToolError";
  }
}

/** The message of whatever was thrown, with its causes in a line each. */
export function explain(thrown) {
  const lines = [];
  try {
    for (let error = thrown; error != null && lines.length < 10; error = error.cause) {
      lines.push(error instanceof Error ? String(error.message || error.name) : String(error));
    }
  } catch {
    // an unreadable value has no message
  }
  return lines.join("\n") || "it failed without saying why";
}

/** The text of a value, also of one that has none. */
function said(value) {
  try {
    return String(value);
  } catch {
    return "";
  }
}

/** The error in the form of the interface, for errors that are no tool results. */
export function lowered(thrown) {
  if (thrown instanceof HostError) return thrown.lower();
  return { tag: "internal", val: explain(thrown).toWellFormed() };
}
