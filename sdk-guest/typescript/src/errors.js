// Two kinds of failure, since clients tell them apart: a tool error is an answer that a model reads and may mend, and
// a HostError is the one error of the interface, with a code of its own for the client. Everything else that is thrown
// becomes a tool error, so that nothing a handler does can end its component.

/** What the host answers when it cannot do something. Thrown on by a handler, it reaches the client as it is. */
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

/** Ends a tool with an answer that says what went wrong. */
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
    // what cannot be read says nothing
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

/** What the interface gets for an error that is no answer of a tool. */
export function lowered(thrown) {
  if (thrown instanceof HostError) return thrown.lower();
  return { tag: "internal", val: explain(thrown).toWellFormed() };
}
