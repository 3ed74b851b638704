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

  var performance: { now(): number; readonly timeOrigin: number };
}

export {};
