// Templates of URIs (RFC 6570), read backwards: which values make this URI of that template? `{x}` is a segment of a
// path, `{+x}` may hold `/` as well, and `{/x}`, `{#x}`, `{?x,y}` and `{&x,y}` may be left out.

export class Template {
  constructor(text) {
    this.text = text;
    this.names = [];
    const literals = text.split(/\{[^{}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const groups = [...text.matchAll(/\{([+/#?&]?)([^{}]*)\}/g)].map(([all, kind, names]) =>
      this.#group(all, kind, names),
    );
    const body = literals.map((literal, at) => literal + (groups[at]?.pattern ?? "")).join("");
    this.groups = groups;
    this.pattern = new RegExp(`^${body}$`);
  }

  #group(all, kind, list) {
    const names = list.split(",");
    for (const name of names) {
      if (!/^[A-Za-z0-9_]+$/.test(name))
        throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
      if (this.names.includes(name)) throw new TypeError(`\`${this.text}\` has \`${name}\` twice`);
      this.names.push(name);
    }
    const several = kind === "?" || kind === "&";
    if (!several && names.length > 1) throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
    return { kind, names, pattern: patterns[kind] };
  }

  /** The values, decoded, or nothing when the URI is none of this template. */
  match(uri) {
    const found = this.pattern.exec(uri);
    if (!found) return undefined;
    const values = {};
    try {
      this.groups.forEach((group, at) => take(values, group, found[at + 1]));
    } catch {
      return undefined; // a `%` that encodes nothing
    }
    return values;
  }
}

const patterns = {
  "": "([^/?#]+)",
  "+": "([^?#]+)",
  "/": "(?:/([^/?#]*))?",
  "#": "(?:#(.*))?",
  "?": "(?:\\?([^#]*))?",
  "&": "(?:&([^#]*))?",
};

function take(values, { kind, names }, text) {
  if (text === undefined) return;
  if (kind !== "?" && kind !== "&") {
    values[names[0]] = decodeURIComponent(text);
    return;
  }
  for (const pair of text.split("&")) {
    const [name, ...value] = pair.split("=");
    if (names.includes(name)) values[name] = decodeURIComponent(value.join("="));
  }
}
