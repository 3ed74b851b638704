// `plugport-sdk/testing`: handlers in ordinary tests, without a host and without WebAssembly.

import type { Call, Level } from "./call.js";
import type { Prompt, Resource, Tool } from "./index.js";
import type { Store } from "./kv.js";

/** A request that a plugin sent with `fetch`. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null; has(name: string): boolean };
  text(): Promise<string>;
  json(): Promise<any>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

/** A `Response`, that of Node.js too. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Iterable<[string, string]>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface Logged {
  level: Level;
  logger: string | null;
  data: any;
}

export interface Progress {
  done: number;
  total: number | null;
  message: string | null;
}

/** A tool's result, with its log and its progress. */
export interface Outcome {
  readonly text: string;
  readonly content: any[];
  readonly structured: any;
  readonly isError: boolean;
  readonly logs: Logged[];
  readonly progress: Progress[];
}

/** A client that responds as its test scripts it; one without responses lacks the capability. */
export declare class TestClient {
  constructor(facts?: {
    meta?: object;
    principal?: string;
    cancelled?: boolean;
    name?: string;
    version?: string;
    protocol?: string;
    extensions?: string[];
  });
  readonly logs: Logged[];
  readonly progress: Progress[];
  readonly requests: { kind: "sample" | "elicit" | "roots"; key?: string; params?: any }[];
  /** The model's next response: a text, or a result of sampling/createMessage. */
  samples(answer: string | object): this;
  /** The person fills in the next form. */
  accepts(content?: object): this;
  /** The person goes to the next page. */
  visits(): this;
  declines(): this;
  /** The person closes the form or page. */
  closes(): this;
  hasRoots(...uris: (string | { uri: string; name: string | null })[]): this;
  /** The operator grants neither client requests nor the store. */
  denies(): this;
  /** Answers requests to other hosts, which are denied without it: with a `Response` or a text, or by throwing. */
  answersHttp(answer: (request: HttpRequest) => HttpResponse | string | Promise<HttpResponse | string>): this;
  /** The requests to other hosts. Each body can be read once. */
  readonly httpRequests: HttpRequest[];
  /** The plugin's store. */
  readonly store: Store;
  /** What the operator sets for the plugin. */
  hasConfig(settings: Record<string, string | number | boolean>, secrets?: Record<string, string>): this;
  /** Runs any code of a plugin, with the store, the settings and the responses of this client. */
  run<T>(job: () => T): T;
  call(): Call;
  invoke<I>(tool: Tool<I>, args?: Record<string, unknown>): Promise<Outcome>;
  /** Reads a resource. One of a template needs its URI and the decoded values that the URI has for the variables. */
  read(
    resource: Resource,
    uri?: string,
    variables?: Record<string, string>,
  ): Promise<{ uri: string; mimeType: string; text?: string; blob?: Uint8Array }[]>;
  get(
    prompt: Prompt,
    args?: Record<string, string>,
  ): Promise<{ description: string | null; messages: { role: string; content: any }[] }>;
  complete(
    one: Prompt | Resource,
    argument: string,
    value: string,
    context?: Record<string, string>,
  ): Promise<string[]>;
}

/** A call for tests that do not read its log or its progress. */
export declare function call(): Call;

/** Calls a tool as a client without capabilities. */
export declare function invoke<I>(tool: Tool<I>, args?: Record<string, unknown>): Promise<Outcome>;

/** What clients are told of a tool or a prompt. */
export declare function describe(one: Tool | Prompt): any;

/** What was told to `notify` since the last time. */
export declare function changes(): string[];
