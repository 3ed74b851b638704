// Resources and templates of resources. Both are one thing with a URI or a template of URIs, so that a plugin lists
// them together and a handler has the same shape as a tool's: first the values, then the call.

import { maybeAwait } from "./maybe_await.js";
import { lowerAnnotations, lowerContents, lowerResource } from "./content.js";
import { HostError } from "./errors.js";
import { extra, json, optional } from "./json.js";
import { through } from "./middleware.js";
import { Template } from "./uri_template.js";

export class Resource {
  middleware = [];

  constructor(options) {
    const { uri, template, name, handler, list, complete = {} } = options;
    const where = uri ?? template;
    if (typeof where !== "string" || (uri && template))
      throw new TypeError("a resource needs a `uri` or a `template`");
    if (typeof handler !== "function") throw new TypeError(`the resource \`${where}\` needs a \`handler\``);
    this.options = { ...options, name: name ?? where };
    this.uri = uri;
    this.template = template === undefined ? undefined : new Template(template);
    Object.assign(this, { handler, list, complete });
    for (const variable of Object.keys(complete)) {
      if (!this.template?.names.includes(variable))
        throw new TypeError(`\`${where}\` has no variable \`${variable}\``);
    }
  }

  /** What stands in the list of resources: itself, or those of its template that are known. */
  listed() {
    if (!this.template) return [lowerResource(fieldsOf(this.options))];
    const { mimeType } = this.options;
    return (this.list?.() ?? []).map((one) => lowerResource({ mimeType, ...one }));
  }

  /** What stands in the list of templates. */
  describedTemplate() {
    const { name, title, description, mimeType, annotations, extra: fields } = this.options;
    return {
      uriTemplate: optional(this.template.text),
      name: optional(name),
      title: optional(title),
      description: optional(description),
      mimeType: optional(mimeType),
      annotations: lowerAnnotations(annotations),
      extra: extra(fields),
    };
  }

  /** The contents as the interface has them, or a promise of them. */
  read(call, uri, values) {
    const context = { call, method: "resources/read", name: uri, args: values };
    const { mimeType } = this.options;
    const handle = ({ call, args }) =>
      maybeAwait(
        () => this.handler(args, call),
        (value) => contentsOf(value, uri, mimeType),
      );
    return maybeAwait(
      () => through(this.middleware, context, handle),
      (value) => contentsOf(value, uri, mimeType).map(lowerContents),
    );
  }
}

/** What the fixed resource of this URI holds, or else one of the template that the host found for it. */
export function read(all, call, uri, matched) {
  const fixed = all.find((one) => one.uri === uri);
  if (fixed) return fixed.read(call, uri, {});
  const resource = matched && all.find(({ template }) => template?.text === matched.uriTemplate);
  if (!resource) throw HostError.notFound(`there is no resource ${uri}`);
  return resource.read(call, uri, Object.fromEntries(matched.variables));
}

/** Describes a resource with a `uri`, or many with a `template`. */
export const resource = (options) => new Resource(options);

const fieldsOf = ({ handler, template, list, complete, ...fields }) => fields;

function contentsOf(value, uri, mimeType) {
  if (value == null) throw HostError.notFound(`there is no resource ${uri}`);
  const all = Array.isArray(value) && value.every(isContents) ? value : [value];
  return all.map((one) => ({ uri, mimeType, ...contents(one, mimeType) }));
}

function isContents(value) {
  return typeof value === "object" && value !== null && ("text" in value || "blob" in value);
}

function contents(value, mimeType) {
  if (typeof value === "string") return { text: value, mimeType: mimeType ?? "text/plain" };
  if (value instanceof Uint8Array) return { blob: value, mimeType: mimeType ?? "application/octet-stream" };
  if (isContents(value)) return value;
  return { text: json(value), mimeType: mimeType ?? "application/json" };
}
