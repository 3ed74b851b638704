// Prompts: a text, or a conversation, that people choose by its name. Their arguments are texts, as MCP has them.

import { maybeAwait } from "./maybe_await.js";
import { Content, lowerContent } from "./content.js";
import { HostError } from "./errors.js";
import { extra, optional } from "./json.js";
import { through } from "./middleware.js";

export class Prompt {
  middleware = [];

  constructor(options) {
    const { name, args = {}, handler, complete = {}, when = () => true } = options;
    if (typeof name !== "string") throw new TypeError("a prompt needs a `name`");
    if (typeof handler !== "function") throw new TypeError(`the prompt \`${name}\` needs a \`handler\``);
    for (const argument of Object.keys(complete)) {
      if (!Object.hasOwn(args, argument))
        throw new TypeError(`the prompt \`${name}\` has no argument \`${argument}\``);
    }
    Object.assign(this, { name, args, handler, complete, when, description: optional(options.description) });
    this.described = {
      name: name.toWellFormed(),
      title: optional(options.title),
      description: this.description,
      arguments: Object.entries(args).map(describe),
      extra: extra(options.extra),
    };
  }

  /** The messages as the interface has them, or a promise of them. */
  get(call, pairs) {
    const context = { call, method: "prompts/get", name: this.name, args: Object.fromEntries(pairs) };
    const handle = ({ call, args }) => maybeAwait(() => this.handler(this.#given(args), call), resultOf);
    return maybeAwait(
      () => through(this.middleware, context, handle),
      (value) => this.#lower(resultOf(value)),
    );
  }

  #given(args) {
    const given = { ...args };
    for (const [name, argument] of Object.entries(this.args)) {
      if (Object.hasOwn(given, name) && given[name] !== undefined) continue;
      if (argument?.default !== undefined) given[name] = argument.default;
      else if (isRequired(argument)) {
        throw HostError.invalid(`the prompt \`${this.name}\` needs the argument \`${name}\``);
      }
    }
    return given;
  }

  #lower({ messages, description, extra: fields }) {
    return {
      description: optional(description ?? this.description),
      messages: messages.map(lower),
      extra: extra(fields),
    };
  }
}

/** What a handler returned, as a result. */
function resultOf(value) {
  const isResult = value !== null && typeof value === "object" && Array.isArray(value.messages);
  return isResult ? value : { messages: [].concat(value) };
}

/** Describes a prompt. */
export const prompt = (options) => new Prompt(options);

/** A message of the user. */
export const user = (content) => ({ role: "user", content });

/** A message of the model. */
export const assistant = (content) => ({ role: "assistant", content });

function describe([name, given]) {
  const { title, description } = typeof given === "string" ? { description: given } : (given ?? {});
  return {
    name: optional(name),
    title: optional(title),
    description: optional(description),
    required: isRequired(given),
  };
}

function isRequired(given) {
  return given?.default === undefined && given?.required !== false;
}

function lower(given) {
  if (typeof given === "string" || given instanceof Content)
    return { role: "user", content: lowerContent(given) };
  return { role: given.role === "assistant" ? "assistant" : "user", content: lowerContent(given.content) };
}
