// Content has the shape that MCP gives it, except that bytes are bytes: `lower` turns it into what the interface takes,
// and does so strictly, since a value of another type would end the component.

import { extra, json, optional } from "./json.js";

/** One piece of a tool's result or of a prompt. */
export class Content {
  constructor(fields) {
    Object.assign(this, fields);
  }
}

const annotated = (fields, { audience, priority, lastModified, ...more } = {}) => {
  const given = audience !== undefined || priority !== undefined || lastModified !== undefined;
  return new Content({
    ...fields,
    ...(given && { annotations: { audience, priority, lastModified } }),
    ...more,
  });
};

export const text = (words, options) => annotated({ type: "text", text: String(words) }, options);

/** A picture: its bytes (or base64) and its type, such as `image/png`. */
export const image = (data, mimeType, options) => annotated({ type: "image", data, mimeType }, options);

/** A sound: its bytes (or base64) and its type, such as `audio/wav`. */
export const audio = (data, mimeType, options) => annotated({ type: "audio", data, mimeType }, options);

/** A resource that the client may read. */
export const link = (uri, name, fields) => annotated({ type: "resource_link", uri, name }, fields);

/** A resource with its content: `text`, or `blob` for bytes. */
export const embedded = (resource, options) => annotated({ type: "resource", resource }, options);

/** A result with more than its content: `structured`, `isError` and further fields in `extra`. */
export function result(fields) {
  return new Result(fields);
}

export class Result {
  constructor({ content = [], structured, isError = false, extra } = {}) {
    Object.assign(this, { content, structured, isError, extra });
  }
}

/** Bytes of what may also be base64. */
export function bytes(data) {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data === "string") return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  throw new TypeError("give the bytes as a Uint8Array, or as base64");
}

export function lowerAnnotations(given) {
  if (given == null) return null;
  return {
    audience: (given.audience ?? []).filter((role) => role === "user" || role === "assistant"),
    priority: typeof given.priority === "number" ? given.priority : null,
    lastModified: optional(given.lastModified),
  };
}

/** Contents of a resource, as the interface has them. */
export function lowerContents({ uri, mimeType, text, blob, extra: fields, ...more }) {
  const data =
    blob != null
      ? { tag: "blob", val: bytes(blob) }
      : { tag: "text", val: String(text ?? "").toWellFormed() };
  return { uri: String(uri).toWellFormed(), mimeType: optional(mimeType), data, extra: extra(more, fields) };
}

/** A resource as lists and links have it. */
export function lowerResource({
  uri,
  name,
  title,
  description,
  mimeType,
  annotations,
  extra: fields,
  ...more
}) {
  return {
    uri: String(uri).toWellFormed(),
    name: String(name ?? uri).toWellFormed(),
    title: optional(title),
    description: optional(description),
    mimeType: optional(mimeType),
    annotations: lowerAnnotations(annotations),
    extra: extra(more, fields),
  };
}

/** A piece of content, or text, as the interface has it. */
export function lowerContent(given) {
  if (!(given instanceof Content)) {
    const words = typeof given === "string" ? given : given?.type === "text" ? given.text : json(given);
    return { data: { tag: "text", val: String(words).toWellFormed() }, annotations: null, extra: null };
  }
  const { type, annotations, extra: fields, ...rest } = given;
  const { data, more } = lowerData(type, rest);
  return { data, annotations: lowerAnnotations(annotations), extra: extra(more, fields) };
}

function lowerData(type, rest) {
  if (type === "text") {
    const { text, ...more } = rest;
    return { data: { tag: "text", val: text.toWellFormed() }, more };
  }
  if (type === "image" || type === "audio") {
    const { data, mimeType, ...more } = rest;
    const val = { data: bytes(data), mimeType: String(mimeType).toWellFormed() };
    return { data: { tag: type, val }, more };
  }
  if (type === "resource_link") return { data: { tag: "link", val: lowerResource(rest) }, more: {} };
  if (type === "resource") {
    const { resource, ...more } = rest;
    return { data: { tag: "embedded", val: lowerContents(resource) }, more };
  }
  throw new TypeError(`there is no content of type \`${type}\`; use text, image, audio, link or embedded`);
}

/** What a tool returned, as a result. */
export function resultOf(value) {
  if (value instanceof Result) return value;
  if (value == null) return new Result();
  if (value instanceof Content) return new Result({ content: [value] });
  if (Array.isArray(value) && value.some((item) => item instanceof Content))
    return new Result({ content: value });
  if (typeof value === "object" && !Array.isArray(value)) {
    return new Result({ content: [json(value)], structured: value });
  }
  return new Result({ content: [typeof value === "object" ? json(value) : String(value)] });
}
