// `URLSearchParams`: the names and values of a query, which may repeat.

import { percentDecode, percentEncode, SETS } from "./percent.js";

const decode = (text) => percentDecode(text.replaceAll("+", " "));
const encode = (text) => percentEncode(text, SETS.form).replaceAll("%20", "+");

export class URLSearchParams {
  #pairs = [];
  #changed = () => {};

  constructor(init = "") {
    this.#pairs = pairsOf(init);
  }

  /** Those of a URL, which is told of every change. */
  static of(query, changed) {
    const params = new URLSearchParams(query);
    params.#changed = changed;
    return params;
  }

  /** Begins anew with another query, without telling the URL. */
  static reset(params, query) {
    params.#pairs = pairsOf(query);
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([text(name), text(value)]);
    this.#changed(this);
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter((pair) => !matches(pair, name, value));
    this.#changed(this);
  }

  get(name) {
    return this.#pairs.find((pair) => matches(pair, name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter((pair) => matches(pair, name)).map(([, value]) => value);
  }

  has(name, value) {
    return this.#pairs.some((pair) => matches(pair, name, value));
  }

  set(name, value) {
    const first = this.#pairs.find((pair) => matches(pair, name));
    if (!first) return this.append(name, value);
    first[1] = text(value);
    this.#pairs = this.#pairs.filter((pair) => pair === first || !matches(pair, name));
    this.#changed(this);
  }

  sort() {
    this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
    this.#changed(this);
  }

  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }

  *keys() {
    for (const [name] of this) yield name;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  *entries() {
    for (let at = 0; at < this.#pairs.length; at += 1) yield [...this.#pairs[at]];
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  }

  get [Symbol.toStringTag]() {
    return "URLSearchParams";
  }
}

const text = (value) => String(value).toWellFormed();

const matches = ([name, value], wanted, its) =>
  name === String(wanted) && (its === undefined || value === String(its));

function pairsOf(init) {
  if (init === null || typeof init !== "object") return parsed(text(init));
  if (typeof init[Symbol.iterator] !== "function")
    return Object.entries(init).map(([name, value]) => [name, text(value)]);
  return Array.from(init, (pair) => {
    const [name, value, ...more] = pair;
    if (value === undefined || more.length > 0) throw new TypeError("each parameter is a name and a value");
    return [text(name), text(value)];
  });
}

function parsed(query) {
  const parts = query.replace(/^\?/, "").split("&");
  return parts.filter(Boolean).map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
  });
}
