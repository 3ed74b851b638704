// Tools: what clients are told of them, and what happens when one is called. A call never throws what the interface
// does not know: an error of the host is thrown on, and any other error becomes a result that a model can read.

import { maybeAwait } from "./maybe_await.js";
import { lowerContent, Result, resultOf } from "./content.js";
import { explain, HostError, ToolError } from "./errors.js";
import { extra, json, optional } from "./json.js";
import { through } from "./middleware.js";
import { toJsonSchema } from "./to_json_schema.js";

export class Tool {
  middleware = [];

  constructor(options) {
    const { name, description, input, output, handler, when = () => true } = options;
    if (typeof name !== "string") throw new TypeError("a tool needs a `name`");
    if (!description)
      throw new TypeError(`the tool \`${name}\` needs a \`description\`, which a model reads`);
    if (typeof handler !== "function") throw new TypeError(`the tool \`${name}\` needs a \`handler\``);
    Object.assign(this, { name, handler, when, input: toJsonSchema(input, `input of \`${name}\``) });
    this.output = output === undefined ? undefined : toJsonSchema(output, `output of \`${name}\``);
    this.described = describe(options, this);
  }

  /** Calls the handler: a result as the interface has it, or a promise of one. */
  call(call, args) {
    const context = { call, method: "tools/call", name: this.name, args };
    const run = () => through(this.middleware, context, (context) => this.#handle(context));
    return maybeAwait(run, lowerResult, (thrown) => this.failed(thrown, call));
  }

  #handle({ call, args }) {
    const parse = () => this.input.parse(args);
    return maybeAwait(
      () => maybeAwait(parse, (parsed) => this.handler(parsed, call)),
      resultOf,
    );
  }

  /** The result for a thrown error. An error of the host is thrown on. */
  failed(thrown, call) {
    if (thrown instanceof HostError) throw thrown;
    if (!(thrown instanceof ToolError)) {
      call.error(`${thrown?.name ?? "Error"}: ${explain(thrown)}\n${thrown?.stack ?? ""}`.trimEnd());
    }
    return lowerResult(new Result({ content: [explain(thrown)], isError: true }));
  }
}

/** Describes a tool and what it does. */
export const tool = (options) => new Tool(options);

function describe(options, { input, output }) {
  const { readOnly, destructive, idempotent, openWorld } = options;
  const flags = { readOnly, destructive, idempotent, openWorld };
  const known = Object.values(flags).some((flag) => flag !== undefined);
  const said = ([name, flag]) => [name, flag == null ? null : Boolean(flag)];
  return {
    name: options.name.toWellFormed(),
    title: optional(options.title),
    description: optional(options.description),
    inputSchema: input.json,
    outputSchema: output?.json ?? null,
    annotations: known ? Object.fromEntries(Object.entries(flags).map(said)) : null,
    extra: extra(options.extra),
  };
}

function lowerResult(value) {
  const { content, structured, isError, extra: fields } = resultOf(value);
  return {
    content: content.map(lowerContent),
    structured: structured === undefined ? null : json(structured),
    isError: Boolean(isError),
    extra: extra(fields),
  };
}
