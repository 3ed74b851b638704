// `kv`: the plugin's key-value store, its only memory between calls. All functions return at once.

/** Opens the store. It is a `denied` `HostError` if the operator does not grant `kv` to the plugin. */
export declare function open(): Store;

/** Values by key. Without a value the getters return `undefined`. */
export interface Store {
  get(key: string): Uint8Array<ArrayBuffer> | undefined;
  getText(key: string): string | undefined;
  getJson<T = any>(key: string): T | undefined;
  set(key: string, value: string | Uint8Array | ArrayBuffer): void;
  setJson(key: string, value: unknown): void;
  /** Removes a key, if it is there. */
  delete(key: string): void;
  exists(key: string): boolean;
  /** All keys, in no fixed order. */
  keys(): string[];
  /** Adds to a number, 1 if nothing else is given, and returns the sum. Concurrent additions are not lost. */
  increment(key: string, by?: number): number;
  /** Replaces a value. If another call writes the key meanwhile, `change` is called again with what it wrote. */
  update<V extends string | Uint8Array | ArrayBuffer>(
    key: string,
    change: (old: Uint8Array<ArrayBuffer> | undefined) => V,
  ): V;
  /** The same for JSON. */
  updateJson<T>(key: string, change: (old: T | undefined) => T): T;
}
