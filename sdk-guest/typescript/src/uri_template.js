// Templates of URIs (RFC 6570): which variables one has. The host compares URIs with templates and brings the values. `{x}`
// is a segment of a path, `{+x}` may hold `/` as well, and `{/x}`, `{#x}`, `{?x,y}` and `{&x,y}` may be left out.

/** A template and its variables, in order. */
export class Template {
  constructor(text) {
    this.text = text;
    this.names = [];
    for (const [all, kind, list] of text.matchAll(/\{([+#/?&]?)([^{}]*)\}/g))
      this.#variables(all, kind, list.split(","));
  }

  #variables(all, kind, names) {
    const query = kind === "?" || kind === "&";
    if (!query && names.length > 1) throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
    for (const name of names) {
      if (!/^[A-Za-z0-9_]+$/.test(name))
        throw new TypeError(`\`${all}\` of \`${this.text}\` is not supported`);
      if (this.names.includes(name)) throw new TypeError(`\`${this.text}\` has \`${name}\` twice`);
      this.names.push(name);
    }
  }
}
