// What a plugin imports from `plugport-sdk`. Written by hand, and tried by test/types.test.ts.

import type { Call } from "./call.js";
import type { Annotations, Content, Contents, Result } from "./content.js";
import type { Infer, Shape } from "./schema.js";

export type * from "./call.js";
export * as config from "./config.js";
export * as kv from "./kv.js";
export * as tasks from "./tasks.js";
export * from "./content.js";
export { s } from "./schema.js";
export type { Fields, Infer, JsonSchema, Schema, Shape, StandardSchema } from "./schema.js";

type Awaitable<T> = T | Promise<T>;

/** What a handler of a tool may return: text, structured content, content, or nothing. */
export type Returned =
  string | number | boolean | null | undefined | void | object | Content | (Content | string)[] | Result;

export interface Tool<I = any> {
  readonly name: string;
  /** Only for TypeScript. */
  readonly _input?: I;
}

export interface ToolOptions<I extends Shape, O extends Shape> {
  name: string;
  /** A name for people. */
  title?: string;
  /** What a model reads to decide when to call it. */
  description: string;
  /** The arguments: fields of `s`, a Standard Schema such as zod's, or a JSON Schema. None if it is missing. */
  input?: I;
  /** What `structured` content looks like. */
  output?: O;
  /** It changes nothing. */
  readOnly?: boolean;
  /** It may destroy something. */
  destructive?: boolean;
  /** Calling it again changes nothing more. */
  idempotent?: boolean;
  /** It reaches beyond the plugin, to the network for example. */
  openWorld?: boolean;
  /** While this returns false, the tool is not listed. */
  when?: () => boolean;
  /** Further MCP fields, such as `icons`. */
  extra?: Record<string, unknown>;
  handler(args: Infer<I>, call: Call): Awaitable<[Shape] extends [O] ? Returned : Infer<O> | Result>;
}

/** Describes a tool and what it does. */
export declare function tool<const I extends Shape = {}, const O extends Shape = Shape>(
  options: ToolOptions<I, O>,
): Tool<Infer<I>>;

type Suggestions = Iterable<string> | { values: Iterable<string>; total?: number; hasMore?: boolean };

/** Suggests completions of the text typed so far. */
export type Completer = (
  value: string,
  more: { context: Record<string, string>; call: Call },
) => Awaitable<Suggestions>;

export interface Resource {
  readonly uri?: string;
}

export interface ResourceFields {
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** For whom it is, how important, and when it was changed. */
  annotations?: Annotations;
  /** Further MCP fields, such as `size` or `icons`. */
  extra?: Record<string, unknown>;
}

/** Text, bytes, contents, anything else as JSON; and nothing if there is no such resource. */
export type ResourceReturned = string | Uint8Array | Contents | Contents[] | object | null | undefined;

export interface FixedResource extends ResourceFields {
  uri: string;
  handler(values: {}, call: Call): Awaitable<ResourceReturned>;
}

export interface TemplateResource extends ResourceFields {
  /** RFC 6570, such as `notes://note/{id}`. */
  template: string;
  /** Those that are known and shall be listed one by one. */
  list?: () => Iterable<ResourceFields & { uri: string }>;
  complete?: Record<string, Completer>;
  handler(values: Record<string, string>, call: Call): Awaitable<ResourceReturned>;
}

/** Describes a resource with a `uri`, or many with a `template`. */
export declare function resource(options: TemplateResource): Resource;
export declare function resource(options: FixedResource): Resource;

export interface Message {
  role: "user" | "assistant";
  content: Content | string;
}

export interface PromptArgument {
  title?: string;
  description?: string;
  /** True unless you say otherwise or there is a default. */
  required?: boolean;
  default?: string;
}

type Said = string | Content | Message;

export interface PromptOptions<A extends Record<string, string | PromptArgument>> {
  name: string;
  title?: string;
  description?: string;
  /** Each argument with its description, or with more. */
  args?: A;
  when?: () => boolean;
  extra?: Record<string, unknown>;
  complete?: { [K in keyof A]?: Completer };
  handler(
    args: { [K in keyof A]: A[K] extends { required: false } ? string | undefined : string },
    call: Call,
  ): Awaitable<Said | Said[] | { description?: string; messages: Said[] }>;
}

export interface Prompt {
  readonly name: string;
}

/** Describes a prompt. */
export declare function prompt<const A extends Record<string, string | PromptArgument> = {}>(
  options: PromptOptions<A>,
): Prompt;

/** A message of the user. */
export declare function user(content: Content | string): Message;

/** A message of the model. */
export declare function assistant(content: Content | string): Message;

/** The candidates that fit the text, the best ones first. */
export declare function rank(value: string, candidates: Iterable<string>): string[];

/** What a middleware sees of the request being served. */
export interface MiddlewareContext {
  readonly call: Call;
  readonly method: "tools/call" | "resources/read" | "prompts/get";
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string;
  /** The arguments before defaults are filled in, or the variables of the URI. */
  readonly args: Record<string, any>;
}

/**
 * A function around each tool, resource and prompt. `next` runs what is within, with another context if it gets one. It
 * returns a `Result`, an array of `Contents`, or `{ messages, description }`; or a promise of one.
 */
export type Middleware = (
  context: MiddlewareContext,
  next: (context?: MiddlewareContext) => any,
) => Awaitable<Returned>;

/** What a component exports. */
export interface Exports {
  tools: object;
  resources: object;
  prompts: object;
  completions: object;
}

/** Makes the exports: `export const { tools, resources, prompts, completions } = plugin({ ... })`. */
export declare function plugin(offered: {
  tools?: Tool[];
  resources?: Resource[];
  prompts?: Prompt[];
  /** Functions around all of these, the outermost first. */
  middleware?: Middleware[];
}): Exports;

export type ErrorKind =
  | "not-found"
  | "invalid-params"
  | "internal"
  | "missing-capability"
  | "denied"
  | "over-budget"
  | "timed-out"
  | "cancelled"
  | "rejected"
  | "rpc";

/** An error of the host. If a handler throws it on, the client gets it unchanged. */
export declare class HostError extends Error {
  constructor(
    kind: ErrorKind,
    message?: string,
    rpc?: { code: number; message: string; data: string | null },
  );
  readonly kind: ErrorKind;
  readonly rpc?: { code: number; message: string; data: string | null };
  static notFound(what: string): HostError;
  static invalid(why: string): HostError;
}

/** Ends a tool with a result that has the error's message. */
export declare class ToolError extends Error {
  constructor(message: string, options?: { cause?: unknown });
}

/** Why there is no response: the `cause` of the `TypeError` that `fetch` throws. */
export declare class HttpError extends Error {
  constructor(
    kind: HttpErrorKind,
    more?: { message?: string; request?: string; grant?: string; limit?: string },
  );
  /** The error of a request that is not granted, such as `GET https://example.com`; for tests. */
  static denied(request: string): HttpError;
  readonly kind: HttpErrorKind;
  /** What was denied, such as `GET https://example.com`. */
  readonly request?: string;
  /** The line of the configuration that would grant it, for the operator. */
  readonly grant?: string;
  /** The name of the operator's limit that was reached. */
  readonly limit?: string;
}

export type HttpErrorKind =
  | "denied"
  | "private-address"
  | "invalid"
  | "unknown-host"
  | "unreachable"
  | "tls"
  | "timed-out"
  | "over-limit"
  | "unsent"
  | "broken";

/** Tells the server that something has changed, so that it lists again. */
export declare const notify: {
  toolsChanged(): void;
  resourcesChanged(): void;
  promptsChanged(): void;
  /** Tells those who subscribed to this resource. */
  resourceUpdated(uri: string): void;
};
