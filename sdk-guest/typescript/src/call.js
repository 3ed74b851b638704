// The request being served, as handlers see it. It knows no host: a port answers, in a component the host's handle and
// in a test whatever the test says. Questions wait for their answers, so `await` before them is welcome but not needed.

import { answered, formParams, pageParams, questionOf, sampleParams } from "./ask.js";
import { HostError } from "./errors.js";
import { json, optional } from "./json.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export class Call {
  #port;
  #key;

  constructor(port, key) {
    this.#port = port;
    this.#key = key ?? null;
  }

  /** The client's name and version, its revision of MCP, and what it can be asked. */
  get client() {
    return this.#port.client();
  }

  /** Who calls, when the server authenticates its callers. */
  get principal() {
    return this.#port.principal() ?? undefined;
  }

  /** The request's `_meta`. */
  get meta() {
    return JSON.parse(this.#port.meta() ?? "{}");
  }

  /** Whether the client no longer waits. */
  get cancelled() {
    return this.#port.cancelled();
  }

  /** Any value for the client's log, under the name of a logger if there is one. */
  log(level, data, logger) {
    if (!LEVELS.includes(level))
      throw new TypeError(`\`${level}\` is no level; use one of ${LEVELS.join(", ")}`);
    this.#port.log(level, optional(logger), json(data));
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
    this.#port.progress(Number(done), total == null ? null : Number(total), optional(message));
  }

  /** Asks the client's model: a text, or an object with more. */
  sample(question) {
    const params = sampleParams(question);
    return answered(
      "sample",
      this.#ask((key) => this.#port.createMessage(key, params)),
    );
  }

  /** Shows a form to the person at the client. */
  elicit(message, form) {
    const params = formParams(message, form);
    return answered(
      "elicit",
      this.#ask((key) => this.#port.elicit(key, params)),
    );
  }

  /** Sends the person to a web page. */
  elicitUrl(message, url, elicitationId) {
    const params = pageParams(message, url, elicitationId);
    return answered(
      "elicit",
      this.#ask((key) => this.#port.elicit(key, params)),
    );
  }

  /** The folders that the client works in. */
  roots() {
    const roots = this.#ask((key) => this.#port.listRoots(key));
    return roots.map(({ uri, name }) => (name == null ? { uri } : { uri, name }));
  }

  /** Several questions in one round trip, each under a name of its own; the answers have the same names. */
  gather(questions) {
    const all = Object.entries(questions).map(([key, question]) => questionOf(optional(key), question));
    const answers = this.#ask(() => this.#port.requestInputs(all.map(({ key, body }) => ({ key, body }))));
    const kinds = new Map(all.map(({ key, kind }) => [key, kind]));
    return Object.fromEntries(
      answers.map(({ key, outcome }) => {
        if (outcome.tag === "err") throw HostError.from(outcome.val);
        return [key, answered(kinds.get(key), outcome.val)];
      }),
    );
  }

  /** The same call, whose next question has this name. */
  keyed(key) {
    return new Call(this.#port, optional(key));
  }

  #ask(question) {
    try {
      return question(this.#key);
    } catch (thrown) {
      throw HostError.from(thrown);
    }
  }
}
