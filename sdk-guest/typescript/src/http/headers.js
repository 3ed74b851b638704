// `Headers`: names in small letters, and the values of one name together.

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export class Headers {
  #fields = [];

  constructor(init = {}) {
    if (init === null || typeof init !== "object")
      throw new TypeError("headers are pairs, or an object of them");
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value, ...more] of pairs) {
      if (value === undefined || more.length > 0) throw new TypeError("each header is a name and a value");
      this.append(name, value);
    }
  }

  append(name, value) {
    this.#fields.push([checkedName(name), checkedValue(value)]);
  }

  set(name, value) {
    const field = [checkedName(name), checkedValue(value)];
    const at = this.#fields.findIndex(([other]) => other === field[0]);
    this.delete(name);
    this.#fields.splice(at < 0 ? this.#fields.length : at, 0, field);
  }

  delete(name) {
    const deleted = checkedName(name);
    this.#fields = this.#fields.filter(([other]) => other !== deleted);
  }

  get(name) {
    const values = this.#values(checkedName(name));
    return values.length > 0 ? values.join(", ") : null;
  }

  has(name) {
    return this.#values(checkedName(name)).length > 0;
  }

  getSetCookie() {
    return this.#values("set-cookie");
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

  /** Each name once, in alphabetical order, but for cookies, which cannot be joined. */
  *entries() {
    for (const name of [...new Set(this.#fields.map(([name]) => name))].sort()) {
      if (name !== "set-cookie") yield [name, this.get(name)];
      else for (const cookie of this.getSetCookie()) yield [name, cookie];
    }
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  get [Symbol.toStringTag]() {
    return "Headers";
  }

  #values(name) {
    return this.#fields.filter(([other]) => other === name).map(([, value]) => value);
  }
}

function checkedName(name) {
  const small = String(name).toLowerCase();
  if (!NAME.test(small)) throw new TypeError(`\`${small}\` is no name of a header`);
  return small;
}

/** Any text: the interface takes and gives fields as UTF-8, so half a surrogate pair is replaced. */
function checkedValue(value) {
  const text = String(value).toWellFormed().replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\n\r]/.test(text)) throw new TypeError("a header has a character that may not be in it");
  return text;
}
