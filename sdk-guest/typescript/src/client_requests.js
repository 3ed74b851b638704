// The bodies of requests to the client, and how their results are read. They are the JSON objects of MCP, so that
// every MCP parameter can be set, with short forms for the most common ones.

import { bytes, Content } from "./content.js";
import { HostError } from "./errors.js";
import { json } from "./json.js";
import { toJsonSchema } from "./to_json_schema.js";

/** The params of sampling/createMessage: a text alone is one message of the user. */
export function sampleParams(request) {
  const given =
    typeof request === "string" || request instanceof Content ? { messages: [request] } : request;
  const { text, messages = [], system, stop, key, ...more } = given;
  const all = text === undefined ? messages : [...messages, text];
  return json({
    ...more,
    messages: all.map(message),
    ...(system !== undefined && { systemPrompt: system }),
    ...(stop !== undefined && { stopSequences: [].concat(stop) }),
    maxTokens: more.maxTokens ?? 1000,
  });
}

function message(given) {
  if (typeof given === "string" || given instanceof Content) return { role: "user", content: block(given) };
  const { content } = given;
  return { ...given, content: Array.isArray(content) ? content.map(block) : block(content) };
}

function block(given) {
  if (typeof given === "string") return { type: "text", text: given };
  if (given.type !== "image" && given.type !== "audio") return given;
  return typeof given.data === "string" ? given : { ...given, data: base64(bytes(given.data)) };
}

function base64(data) {
  let chars = "";
  for (const byte of data) chars += String.fromCharCode(byte);
  return btoa(chars);
}

/** The message of the client's model. */
export class CreateMessageResult {
  constructor({ content, ...fields }) {
    Object.assign(this, fields, { content: [].concat(content ?? []) });
  }

  /** The text of the message. */
  get text() {
    return this.content
      .filter((part) => part.type === "text")
      .map((part) => part.text)
      .join("\n");
  }

  /** The tools that it wants called. */
  get toolUses() {
    return this.content.filter((part) => part.type === "tool_use");
  }
}

/** The params of elicitation/create with a form. */
export function formParams(message, form) {
  return json({ mode: "form", message: String(message), requestedSchema: formSchema(form) });
}

function formSchema(form) {
  const { additionalProperties, $schema, ...schema } = JSON.parse(toJsonSchema(form, "form").json);
  return { properties: {}, ...schema, type: "object" };
}

/** The params of elicitation/create that send the person to a page. */
export function pageParams(message, url, elicitationId) {
  return json({ mode: "url", message: String(message), url: String(url), elicitationId });
}

/** The outcome of a form: `accept` with its content, `decline` or `cancel`. */
export class ElicitResult {
  constructor({ action, content }) {
    this.action = action;
    this.content = content;
  }

  /** What they filled in, for those who cannot go on without it. */
  accepted() {
    if (this.action === "accept") return this.content;
    const did = this.action === "decline" ? "declined to answer" : "closed the question";
    throw new HostError("rejected", `the person ${did}`);
  }
}

/** Reads a result in JSON. */
export function resultOf(kind, text) {
  const value = JSON.parse(text);
  if (kind === "sample") return new CreateMessageResult(value);
  if (kind === "elicit") return new ElicitResult(value);
  return value.roots ?? value;
}

/** A request of `requestInputs` for the interface. */
export function inputRequestOf(key, { sample, elicit, roots }) {
  if (sample !== undefined)
    return { kind: "sample", key, body: { tag: "create-message", val: sampleParams(sample) } };
  if (elicit?.url !== undefined) {
    const params = pageParams(elicit.message, elicit.url, elicit.elicitationId);
    return { kind: "elicit", key, body: { tag: "elicit", val: params } };
  }
  if (elicit !== undefined) {
    return { kind: "elicit", key, body: { tag: "elicit", val: formParams(elicit.message, elicit.form) } };
  }
  if (roots) return { kind: "roots", key, body: { tag: "list-roots" } };
  throw new TypeError(`the request \`${key}\` must have one of sample, elicit and roots`);
}
