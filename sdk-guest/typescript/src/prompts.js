// Prompts: a text, or a conversation, that people choose by its name. Their arguments are texts, as MCP has them.

import { maybeAwait } from "./maybe_await.js";
import { Content, lowerContent } from "./content.js";
import { HostError } from "./errors.js";
import { extra, optional } from "./json.js";

export class Prompt {
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
    return maybeAwait(
      () => this.handler(this.#given(pairs), call),
      (value) => this.#result(value),
    );
  }

  #given(pairs) {
    const given = Object.fromEntries(pairs);
    for (const [name, argument] of Object.entries(this.args)) {
      if (Object.hasOwn(given, name) && given[name] !== undefined) continue;
      if (argument?.default !== undefined) given[name] = argument.default;
      else if (isRequired(argument)) {
        throw HostError.invalid(`the prompt \`${this.name}\` needs the argument \`${name}\``);
      }
    }
    return given;
  }

  #result(value) {
    const isResult = value !== null && typeof value === "object" && Array.isArray(value.messages);
    const { messages, description, extra: fields } = isResult ? value : { messages: [].concat(value) };
    return {
      description: optional(description ?? this.description),
      messages: messages.map(lower),
      extra: extra(fields),
    };
  }
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
