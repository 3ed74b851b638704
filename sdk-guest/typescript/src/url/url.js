// `URL`, which QuickJS lacks. What a setter cannot read is ignored, as everywhere.

import * as parts from "./parse.js";
import { percentEncode, SETS } from "./percent.js";
import { URLSearchParams } from "./search_params.js";

/** A host that a colon follows, and one with a port. */
const COLON = /^(?:\[[^\]]*\]|[^:[/?#\\]*):/;
const PORT = new RegExp(`${COLON.source}[0-9]`);

export class URL {
  #parts;
  #params;

  constructor(url, base) {
    this.#parts = read(url, base === undefined ? undefined : read(base));
  }

  static canParse(url, base) {
    return URL.parse(url, base) !== null;
  }

  static parse(url, base) {
    try {
      return new URL(url, base);
    } catch {
      return null;
    }
  }

  get href() {
    return parts.serialize(this.#parts);
  }

  set href(url) {
    this.#change(read(url));
  }

  get origin() {
    const { scheme, host } = this.#parts;
    return parts.isSpecial(scheme) && scheme !== "file" ? `${scheme}://${parts.place(this.#parts)}` : "null";
  }

  get protocol() {
    return `${this.#parts.scheme}:`;
  }

  set protocol(value) {
    const [, scheme] = /^([a-z][a-z0-9+.-]*)(?::|$)/i.exec(stripped(value)) ?? [];
    const now = this.#parts;
    if (scheme === undefined || parts.isSpecial(scheme.toLowerCase()) !== parts.isSpecial(now.scheme)) return;
    if ([scheme.toLowerCase(), now.scheme].includes("file")) return;
    this.#change({ scheme: scheme.toLowerCase(), port: parts.parsePort(now.port, scheme.toLowerCase()) });
  }

  get username() {
    return this.#parts.username;
  }

  set username(value) {
    if (this.#parts.host) this.#change({ username: percentEncode(String(value), SETS.user) });
  }

  get password() {
    return this.#parts.password;
  }

  set password(value) {
    if (this.#parts.host) this.#change({ password: percentEncode(String(value), SETS.user) });
  }

  get host() {
    return this.#parts.host === null ? "" : parts.place(this.#parts);
  }

  set host(value) {
    const text = stripped(value);
    this.#place(text, ({ host, port }) => (PORT.test(text) ? { host, port } : { host }));
  }

  get hostname() {
    return this.#parts.host ?? "";
  }

  set hostname(value) {
    const text = stripped(value);
    if (!COLON.test(text)) this.#place(text, ({ host }) => ({ host }));
  }

  get port() {
    return this.#parts.port;
  }

  set port(value) {
    const digits = /^[0-9]*/.exec(stripped(value))[0];
    if (this.#parts.host && (digits !== "" || value === ""))
      attempt(() => this.#change({ port: parts.parsePort(digits, this.#parts.scheme) }));
  }

  get pathname() {
    return parts.pathname(this.#parts);
  }

  set pathname(value) {
    const { scheme, path } = this.#parts;
    if (typeof path === "string") return;
    const start = parts.isSpecial(scheme) ? /^[/\\]/ : /^\//;
    this.#change({ path: parts.segments(stripped(value).replace(start, ""), scheme) });
  }

  get search() {
    return this.#parts.query ? `?${this.#parts.query}` : "";
  }

  set search(value) {
    const query = stripped(String(value).replace(/^\?/, ""));
    const set = parts.isSpecial(this.#parts.scheme) ? SETS.specialQuery : SETS.query;
    this.#change({ query: String(value) === "" ? null : percentEncode(query, set) });
  }

  get searchParams() {
    const write = (params) => (this.#parts.query = params.size > 0 ? params.toString() : null);
    return (this.#params ??= URLSearchParams.of(this.#parts.query ?? "", write));
  }

  get hash() {
    return this.#parts.fragment ? `#${this.#parts.fragment}` : "";
  }

  set hash(value) {
    const fragment = percentEncode(stripped(String(value).replace(/^#/, "")), SETS.fragment);
    this.#change({ fragment: String(value) === "" ? null : fragment });
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  get [Symbol.toStringTag]() {
    return "URL";
  }

  #change(changed) {
    Object.assign(this.#parts, changed);
    if (this.#params && "query" in changed) URLSearchParams.reset(this.#params, changed.query ?? "");
  }

  #place(value, chosen) {
    const { scheme, host, path } = this.#parts;
    if (typeof path === "string" || host === null) return;
    const [text] = /^[^/?#\\]*/.exec(value);
    if (text !== "") attempt(() => this.#change(chosen(parts.parsePlace(text, scheme))));
  }
}

function read(url, base) {
  const text = String(url).toWellFormed();
  try {
    return parts.parse(text, base);
  } catch ({ message }) {
    throw new TypeError(`\`${text}\` is no URL: ${message}`);
  }
}

/** What setters read; names and passwords alone keep tabs and ends of lines. */
const stripped = (value) => String(value).replace(/[\t\n\r]/g, "");

function attempt(change) {
  try {
    change();
  } catch {
    // what cannot be read changes nothing
  }
}
