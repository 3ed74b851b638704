// The request being served, as handlers see it. It knows no host: a backend stands behind it, in a component the host's
// handle and in a test the test's client. Requests wait for their results, so `await` is welcome but not needed.

import { formParams, inputRequestOf, pageParams, resultOf, sampleParams } from "./client_requests.js";
import { HostError } from "./errors.js";
import { json, optional } from "./json.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export class Call {
  #backend;
  #key;

  constructor(backend, key) {
    this.#backend = backend;
    this.#key = key ?? null;
  }

  /** What stands behind a call, for functions of the SDK that are not methods. */
  static backendOf(call) {
    return call.#backend;
  }

  /** The client's name and version, its MCP revision, its capabilities and the extensions that it declared. */
  get client() {
    return this.#backend.client();
  }

  /** Who calls, when the server authenticates its callers. */
  get principal() {
    return this.#backend.principal() ?? undefined;
  }

  /** The request's `_meta`. */
  get meta() {
    return JSON.parse(this.#backend.meta() ?? "{}");
  }

  /** Whether the client no longer waits. */
  get cancelled() {
    return this.#backend.cancelled();
  }

  /** Any value for the client's log, under the name of a logger if there is one. */
  log(level, data, logger) {
    if (!LEVELS.includes(level))
      throw new TypeError(`\`${level}\` is no level; use one of ${LEVELS.join(", ")}`);
    this.#backend.log(level, optional(logger), json(data));
  }

  debug(data) {
    this.log("debug", data);
  }

  info(data) {
    this.log("info", data);
  }

  notice(data) {
    this.log("notice", data);
  }

  warning(data) {
    this.log("warning", data);
  }

  error(data) {
    this.log("error", data);
  }

  /** How far the handler is. */
  progress(done, total, message) {
    this.#backend.progress(Number(done), total == null ? null : Number(total), optional(message));
  }

  /** Asks the client's model: a text, or an object with more. */
  sample(request) {
    const params = sampleParams(request);
    return resultOf(
      "sample",
      this.#send((key) => this.#backend.createMessage(key, params)),
    );
  }

  /** Shows a form to the person at the client. */
  elicit(message, form) {
    const params = formParams(message, form);
    return resultOf(
      "elicit",
      this.#send((key) => this.#backend.elicit(key, params)),
    );
  }

  /** Sends the person to a web page. */
  elicitUrl(message, url, elicitationId) {
    const params = pageParams(message, url, elicitationId);
    return resultOf(
      "elicit",
      this.#send((key) => this.#backend.elicit(key, params)),
    );
  }

  /** The folders that the client works in. */
  roots() {
    const roots = this.#send((key) => this.#backend.listRoots(key));
    return roots.map(({ uri, name }) => (name == null ? { uri } : { uri, name }));
  }

  /** Several requests in one round trip, each under a key of its own; the results have the same keys. */
  requestInputs(requests) {
    const all = Object.entries(requests).map(([key, request]) => inputRequestOf(optional(key), request));
    const responses = this.#send(() => this.#backend.requestInputs(all.map(({ key, body }) => ({ key, body }))));
    const kinds = new Map(all.map(({ key, kind }) => [key, kind]));
    return Object.fromEntries(
      responses.map(({ key, outcome }) => {
        if (outcome.tag === "err") throw HostError.from(outcome.val);
        return [key, resultOf(kinds.get(key), outcome.val)];
      }),
    );
  }

  /** The same call, whose next request has this key. */
  keyed(key) {
    return new Call(this.#backend, optional(key));
  }

  #send(request) {
    try {
      return request(this.#key);
    } catch (thrown) {
      throw HostError.from(thrown);
    }
  }
}
