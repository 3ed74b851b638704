// The globals that a component has beyond the language, for projects without the types of a browser or of Node.js:
// `"types": ["plugport-sdk/globals"]` in tsconfig.json.

declare global {
  var console: Record<
    "log" | "info" | "warn" | "error" | "debug" | "dir" | "table" | "trace",
    (...values: unknown[]) => void
  > & { assert(holds: unknown, ...values: unknown[]): void };

  function setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
  function setInterval<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
  function clearTimeout(id: number | undefined): void;
  function clearInterval(id: number | undefined): void;
  function queueMicrotask(job: () => void): void;
  function structuredClone<T>(value: T): T;
  function atob(base64: string): string;
  function btoa(bytes: string): string;

  class TextEncoder {
    readonly encoding: "utf-8";
    encode(text?: string): Uint8Array<ArrayBuffer>;
    encodeInto(text: string, target: Uint8Array): { read: number; written: number };
  }

  class TextDecoder {
    constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
    readonly encoding: "utf-8";
    decode(data?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
  }

  var crypto: {
    getRandomValues<T extends ArrayBufferView>(array: T): T;
    randomUUID(): string;
  };

  interface HeadersInit extends Iterable<readonly [string, string]> {}
  type BodyInit =
    string | ArrayBuffer | ArrayBufferView | URLSearchParams | AsyncIterable<string | Uint8Array>;

  interface RequestInit {
    method?: string;
    headers?: HeadersInit | Record<string, string>;
    body?: BodyInit | null;
    redirect?: "follow" | "error" | "manual";
    signal?: AbortSignal | null;
  }

  interface ResponseInit {
    status?: number;
    statusText?: string;
    headers?: HeadersInit | Record<string, string>;
  }

  /** Sends a request to another host, which the operator has to grant. */
  function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;

  class Headers implements HeadersInit {
    constructor(init?: HeadersInit | Record<string, string>);
    append(name: string, value: string): void;
    delete(name: string): void;
    get(name: string): string | null;
    getSetCookie(): string[];
    has(name: string): boolean;
    set(name: string, value: string): void;
    forEach(callback: (value: string, name: string, headers: Headers) => void): void;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    entries(): IterableIterator<[string, string]>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
  }

  interface Body {
    readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
    readonly bodyUsed: boolean;
    text(): Promise<string>;
    json(): Promise<any>;
    bytes(): Promise<Uint8Array<ArrayBuffer>>;
    arrayBuffer(): Promise<ArrayBuffer>;
  }

  interface Request extends Body {}
  class Request {
    constructor(input: string | URL | Request, init?: RequestInit);
    readonly method: string;
    readonly url: string;
    readonly headers: Headers;
    readonly redirect: "follow" | "error" | "manual";
    readonly signal: AbortSignal | null;
  }

  interface Response extends Body {}
  class Response {
    constructor(body?: BodyInit | null, init?: ResponseInit);
    static json(value: unknown, init?: ResponseInit): Response;
    readonly status: number;
    readonly statusText: string;
    readonly ok: boolean;
    readonly url: string;
    readonly redirected: boolean;
    readonly headers: Headers;
  }

  interface ReadableStreamSource<T> {
    start?(controller: ReadableStreamController<T>): unknown;
    pull?(controller: ReadableStreamController<T>): unknown;
    cancel?(reason?: unknown): unknown;
  }

  interface ReadableStreamController<T> {
    enqueue(chunk: T): void;
    close(): void;
    error(error: unknown): void;
  }

  class ReadableStream<T = any> implements AsyncIterable<T> {
    constructor(source?: ReadableStreamSource<T>);
    static from<T>(items: Iterable<T> | AsyncIterable<T>): ReadableStream<T>;
    readonly locked: boolean;
    cancel(reason?: unknown): Promise<void>;
    getReader(): {
      read(): Promise<{ done: false; value: T } | { done: true; value: undefined }>;
      cancel(reason?: unknown): Promise<void>;
      releaseLock(): void;
    };
    [Symbol.asyncIterator](): AsyncIterableIterator<T>;
  }

  class AbortController {
    readonly signal: AbortSignal;
    abort(reason?: unknown): void;
  }

  class AbortSignal {
    private constructor();
    static abort(reason?: unknown): AbortSignal;
    static any(signals: Iterable<AbortSignal>): AbortSignal;
    static timeout(ms: number): AbortSignal;
    readonly aborted: boolean;
    readonly reason: any;
    onabort: (() => void) | null;
    throwIfAborted(): void;
    addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
    removeEventListener(type: "abort", listener: () => void): void;
  }

  class URL {
    constructor(url: string | URL, base?: string | URL);
    static canParse(url: string | URL, base?: string | URL): boolean;
    static parse(url: string | URL, base?: string | URL): URL | null;
    href: string;
    readonly origin: string;
    protocol: string;
    username: string;
    password: string;
    host: string;
    hostname: string;
    port: string;
    pathname: string;
    search: string;
    readonly searchParams: URLSearchParams;
    hash: string;
    toString(): string;
    toJSON(): string;
  }

  class URLSearchParams {
    constructor(init?: string | Iterable<readonly [string, string]> | Record<string, string>);
    readonly size: number;
    append(name: string, value: string): void;
    delete(name: string, value?: string): void;
    get(name: string): string | null;
    getAll(name: string): string[];
    has(name: string, value?: string): boolean;
    set(name: string, value: string): void;
    sort(): void;
    forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    entries(): IterableIterator<[string, string]>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
    toString(): string;
  }

  class DOMException extends Error {
    constructor(message?: string, name?: string);
  }

  var performance: { now(): number; readonly timeOrigin: number };
}

export {};
