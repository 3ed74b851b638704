// Runs tools, resources and prompts in ordinary tests, without a host and without WebAssembly. A TestClient is the
// client: it records logs, progress and requests, and responds as the test scripts it. It stands in for the server too:
// requests to other hosts, the store and the settings are the client's own, and empty at first.

import { Call } from "./call.js";
import { complete, completerOf } from "./completions.js";
import { HostError } from "./errors.js";
import { HostDouble } from "./host/double.js";
import { takeChanges } from "./host/native.js";
import { fetch } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { Request } from "./http/request.js";
import { Response } from "./http/response.js";
import { Store } from "./kv/index.js";
import { bucketOf } from "./kv/memory.js";
import { formFault } from "./testing/forms.js";
import { resultFault, validated } from "./testing/validation.js";

// Those of Node.js would really send requests.
for (const [name, value] of Object.entries({ fetch, Headers, Request, Response })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** A client that responds as its test scripts it; one without responses lacks the capability. */
export class TestClient {
  #responses = {};
  #roots;
  #facts;
  #host = new HostDouble();
  logs = [];
  progress = [];
  requests = [];

  constructor({
    meta,
    principal,
    cancelled = false,
    name = "test",
    version = "0",
    protocol = "2026-07-28",
    extensions = [],
  } = {}) {
    this.#facts = { meta, principal, cancelled, name, version, protocol, extensions };
  }

  /** The model's next response: a text, or a result of sampling/createMessage. */
  samples(answer) {
    const content = { type: "text", text: answer };
    const fields = typeof answer === "string" ? { role: "assistant", content, model: "test" } : answer;
    return this.#will("sample", fields);
  }

  /** The person fills in the next form. */
  accepts(content) {
    return this.#elicits({ action: "accept", content });
  }

  /** The person goes to the next page. */
  visits() {
    return this.#elicits({ action: "accept" });
  }

  declines() {
    return this.#elicits({ action: "decline" });
  }

  /** The person closes the form or page. */
  closes() {
    return this.#elicits({ action: "cancel" });
  }

  hasRoots(...uris) {
    this.#roots = uris.map((root) => (typeof root === "string" ? { uri: root, name: null } : root));
    return this;
  }

  /** The operator grants neither client requests nor the store. */
  denies() {
    this.#host.denies = true;
    return this;
  }

  /** Answers requests to other hosts, which are denied otherwise. */
  answersHttp(answer) {
    this.#host.answer = answer;
    return this;
  }

  /** The requests to other hosts. Each body can be read once. */
  get httpRequests() {
    return this.#host.requests;
  }

  /** The plugin's store. */
  get store() {
    return new Store(bucketOf(this.#host.values));
  }

  /** What the operator sets for the plugin. */
  hasConfig(settings, secrets = {}) {
    for (const [key, value] of Object.entries(settings)) this.#host.settings.set(key, String(value));
    for (const [key, value] of Object.entries(secrets)) this.#host.secrets.set(key, String(value));
    return this;
  }

  /** Runs any code of a plugin, with the store, the settings and the responses of this client. */
  run(job) {
    return this.#host.run(job);
  }

  #elicits(result) {
    return this.#will("elicit", result);
  }

  #will(kind, result) {
    (this.#responses[kind] ??= []).push(result);
    return this;
  }

  /** A call by this client. */
  call() {
    const { meta, principal, cancelled, name, version, protocol, extensions } = this.#facts;
    const can = {
      sampling: this.#has("sample"),
      elicitation: this.#has("elicit"),
      roots: Boolean(this.#roots),
    };
    return new Call({
      client: () => ({ name, version, protocol, ...can, extensions: [...extensions] }),
      principal: () => principal,
      meta: () => (meta === undefined ? undefined : JSON.stringify(meta)),
      cancelled: () => cancelled,
      log: (level, logger, data) => this.logs.push({ level, logger, data: JSON.parse(data) }),
      progress: (done, total, message) => this.progress.push({ done, total, message }),
      createMessage: (key, params) => this.#respond("sample", "sampling", key, params),
      elicit: (key, params) => this.#respond("elicit", "elicitation", key, params),
      listRoots: (key) => this.#listRoots(key),
      requestInputs: (requests) => requests.map((request) => this.#response(request)),
    });
  }

  #has(kind) {
    return this.#responses[kind] !== undefined;
  }

  #respond(kind, capability, key, params) {
    const request = { kind, key: key ?? undefined, params: JSON.parse(params) };
    this.requests.push(request);
    this.#grants(capability);
    if (!this.#has(kind)) throw new HostError("missing-capability", capability);
    const result = this.#responses[kind].shift();
    if (!result) throw new HostError("internal", `the test has no more responses for ${capability}`);
    const { requestedSchema: form } = request.params;
    // What JSON leaves out, such as an undefined field, does not get to the server either.
    const text = JSON.stringify(result);
    const why = form && result.action === "accept" ? formFault(form, JSON.parse(text).content) : undefined;
    if (why) throw unusable(`the client's response cannot be used: ${why}`);
    return text;
  }

  #grants(capability) {
    if (!this.#host.denies) return;
    throw new HostError("denied", `this server does not grant \`${capability}\` to the plugin`);
  }

  #listRoots(key) {
    this.requests.push({ kind: "roots", key: key ?? undefined });
    this.#grants("roots");
    if (!this.#roots) throw new HostError("missing-capability", "roots");
    return this.#roots;
  }

  #response({ key, body }) {
    const outcomes = {
      "create-message": () => this.#respond("sample", "sampling", key, body.val),
      elicit: () => this.#respond("elicit", "elicitation", key, body.val),
      "list-roots": () => JSON.stringify({ roots: this.#listRoots(key) }),
    };
    try {
      return { key, outcome: { tag: "ok", val: outcomes[body.tag]() } };
    } catch (error) {
      return { key, outcome: { tag: "err", val: error.lower() } };
    }
  }

  /** Calls a tool as the server does, which rejects arguments and results that do not fit their schemas. */
  async invoke(tool, given) {
    const { args, rejected } = validated(tool.input.json, given);
    if (rejected) return new Outcome({ content: [lowText(rejected)], isError: true }, this);
    const result = await this.run(() => tool.call(this.call(), args));
    const fault = resultFault(tool.output?.json, result);
    return new Outcome(fault ? { content: [lowText(fault)], isError: true } : result, this);
  }

  /** Reads a resource. One of a template needs its URI and the decoded values that the URI has for the variables. */
  async read(resource, uri = resource.uri, variables = {}) {
    const contents = await this.run(() => resource.read(this.call(), uri, variables));
    return contents.map(({ uri, mimeType, data }) => ({ uri, mimeType, [data.tag]: data.val }));
  }

  /** The messages of a prompt. */
  async get(prompt, args = {}) {
    const { description, messages } = await this.run(() => prompt.get(this.call(), Object.entries(args)));
    return {
      description,
      messages: messages.map(({ role, content }) => ({ role, content: raised(content) })),
    };
  }

  /** The values that a prompt or a template suggests. */
  async complete(one, argument, value, context = {}) {
    const completer = completerOf(one, argument);
    return (await this.run(() => complete(completer, value, Object.entries(context), this.call()))).values;
  }
}

/** A tool's result, with its log and its progress. */
export class Outcome {
  constructor({ content, structured, isError }, recorder) {
    this.content = content.map(raised);
    this.structured = structured == null ? undefined : JSON.parse(structured);
    this.isError = isError;
    this.logs = recorder.logs;
    this.progress = recorder.progress;
  }

  get text() {
    return this.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  }
}

/** A call for tests that do not read its log or its progress. */
export const call = () => new TestClient().call();

/** Calls a tool as a client without capabilities. */
export const invoke = (tool, args) => new TestClient().invoke(tool, args);

/** What clients are told of a tool or a prompt. */
export function describe({ described }) {
  const { inputSchema, outputSchema, ...fields } = described;
  const parsed = (schema) => (schema == null ? undefined : JSON.parse(schema));
  return { ...fields, inputSchema: parsed(inputSchema), outputSchema: parsed(outputSchema) };
}

/** What was told to `notify` since the last time. */
export const changes = () => takeChanges();

const unusable = (message) => new HostError("rpc", message, { code: -32603, message, data: null });

const lowText = (text) => ({ data: { tag: "text", val: text } });

function raised({ data: { tag, val } }) {
  if (tag === "text") return { type: "text", text: val };
  if (tag === "link") return { type: "resource_link", ...val };
  if (tag !== "embedded") return { type: tag, ...val };
  return {
    type: "resource",
    resource: { uri: val.uri, mimeType: val.mimeType, [val.data.tag]: val.data.val },
  };
}
