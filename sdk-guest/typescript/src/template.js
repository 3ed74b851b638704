// Templates of URIs (RFC 6570), read backwards: which values make this URI of that template? `{x}` is a segment of a
// path, `{+x}` may hold `/` as well, and `{/x}`, `{#x}`, `{?x,y}` and `{&x,y}` may be left out. The pieces of a template
// are laid along a URI from left to right, each as long as it can be, and not by one regular expression, since that
// would never give up.

/** A template, ready to be compared with URIs. */
export class Template {
  constructor(text) {
    this.text = text;
    this.names = [];
    this.pieces = [];
    let end = 0;
    for (const found of text.matchAll(/\{([+/#?&]?)([^{}]*)\}/g)) {
      this.#literal(text.slice(end, found.index));
      this.#variables(...found);
      end = found.index + found[0].length;
    }
    this.#literal(text.slice(end));
  }

  #literal(literal) {
    if (literal) this.pieces.push({ literal });
  }

  #variables(all, kind, list) {
    const names = list.split(",");
    for (const name of names) {
      if (!/^[A-Za-z0-9_]+$/.test(name))
        throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
      if (this.names.includes(name)) throw new TypeError(`\`${this.text}\` has \`${name}\` twice`);
      this.names.push(name);
    }
    const query = kind === "?" || kind === "&";
    if (!query && names.length > 1) throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
    const reserved = kind === "+" || kind === "#";
    this.pieces.push({ names, query, reserved, prefix: kind === "+" ? "" : kind });
  }

  /** The values, decoded, or nothing when the URI is none of this template. */
  match(uri) {
    const search = new Search(this.pieces, uri);
    if (!search.fits(0, 0)) return undefined;
    const given = this.names.filter((name) => search.values.has(name));
    return Object.fromEntries(given.map((name) => [name, search.values.get(name)]));
  }
}

/**
 * How many beginnings of what is left of a URI are looked at. No sensible URI needs a tenth of it, and one that was made
 * to cost much costs a small part of a call.
 */
export const mostTries = 10_000;

/** Lays pieces along a URI. What led nowhere is remembered. */
export class Search {
  #dead; // one byte for each piece and place, since a `Set` of thousands costs more than all else here
  #letters = [];

  constructor(pieces, uri) {
    Object.assign(this, { pieces, uri, values: new Map(), tries: 0 });
    this.#dead = new Uint8Array(pieces.length * (uri.length + 1));
  }

  /** Whether the pieces from this one on fit what stands there. */
  fits(index, at) {
    if (index === this.pieces.length) return at === this.uri.length;
    const place = index * (this.uri.length + 1) + at;
    if (++this.tries > mostTries || this.#dead[place]) return false;
    if (this.#first(this.pieces[index], index, at)) return true;
    this.#dead[place] = 1;
    return false;
  }

  #first(piece, index, at) {
    const { literal, prefix, query } = piece;
    if (literal) return this.uri.startsWith(literal, at) && this.fits(index + 1, at + literal.length);
    if (this.uri.startsWith(prefix, at)) {
      const after = at + prefix.length;
      if (query) return this.#query(piece, index, after);
      if (this.#value(piece, index, after)) return true;
    }
    return prefix !== "" && this.fits(index + 1, at);
  }

  /** Tries the longest value first. */
  #value({ names, reserved }, index, at) {
    const end = this.#ends(at, reserved ? "" : "/?#").findLast((end) => this.fits(index + 1, end));
    if (end === undefined) return false;
    this.values.set(names[0], decoded(this.uri.slice(at, end)));
    return true;
  }

  /** Where a value may end: behind each letter, and never inside of %41. What cannot be decoded is in no value. */
  #ends(at, stops) {
    const found = [];
    for (let end = at; end < this.uri.length && !stops.includes(this.uri[end]); found.push(end)) {
      end = this.#letters[end] ??= letterEnd(this.uri, end);
      if (!end) break;
    }
    return found;
  }

  /** A query ends where the URI or its fragment does, so there is only one way to read it. A long one counts as much. */
  #query({ names }, index, at) {
    const fragment = this.uri.indexOf("#", at);
    const end = fragment < 0 ? this.uri.length : fragment;
    this.tries += end - at;
    const values = new Map();
    for (const pair of this.uri.slice(at, end).split("&")) {
      const equals = pair.includes("=") ? pair.indexOf("=") : pair.length;
      const name = pair.slice(0, equals);
      const value = decoded(pair.slice(equals + 1));
      if (value === undefined || !names.includes(name)) return false;
      values.set(name, value);
    }
    if (!this.fits(index + 1, end)) return false;
    values.forEach((value, name) => this.values.set(name, value));
    return true;
  }
}

const hex = "[\\da-f]";
const more = `%[89ab]${hex}`;
const letter = new RegExp(
  `%[0-7]${hex}|%[cd]${hex}${more}|%e${hex}(?:${more}){2}|%f${hex}(?:${more}){3}`,
  "iy",
);

/** Where the letter ends that begins there, or nothing when it cannot be decoded. */
function letterEnd(uri, at) {
  if (uri[at] !== "%") return at + String.fromCodePoint(uri.codePointAt(at)).length;
  letter.lastIndex = at;
  const sound = letter.test(uri) && decoded(uri.slice(at, letter.lastIndex)) !== undefined;
  return sound ? letter.lastIndex : undefined;
}

/** Nothing for a `%` that encodes nothing. */
function decoded(text) {
  try {
    return text.includes("%") ? decodeURIComponent(text) : text;
  } catch {
    return undefined;
  }
}
