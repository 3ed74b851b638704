// Content of results, prompts and resources.

export type Role = "user" | "assistant";

export interface Annotations {
  audience?: Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

export interface ContentOptions extends Annotations {
  /** Further MCP fields, such as `_meta`. */
  extra?: Record<string, unknown>;
}

/** One piece of a tool's result or of a prompt. Make it with `text`, `image`, `audio`, `link` or `embedded`. */
export declare class Content {
  readonly type: "text" | "image" | "audio" | "resource_link" | "resource";
  private constructor();
}

/** Bytes, or base64. */
export type Bytes = Uint8Array | ArrayBuffer | string;

export declare function text(words: string, options?: ContentOptions): Content;
export declare function image(data: Bytes, mimeType: string, options?: ContentOptions): Content;
export declare function audio(data: Bytes, mimeType: string, options?: ContentOptions): Content;
/** A resource that the client may read. */
export declare function link(
  uri: string,
  name: string,
  fields?: ContentOptions & { title?: string; description?: string; mimeType?: string },
): Content;
/** A resource with its content. */
export declare function embedded(resource: Contents & { uri: string }, options?: ContentOptions): Content;

export interface ResultFields {
  content?: (Content | string)[];
  structured?: object;
  isError?: boolean;
  extra?: Record<string, unknown>;
}

/** A result with more than its content. */
export declare function result(fields: ResultFields): Result;

export declare class Result {
  private constructor();
  readonly content: (Content | string)[];
  readonly isError: boolean;
}

/** Contents of a resource: `text`, or `blob` for bytes. */
export type Contents = { uri?: string; mimeType?: string; extra?: Record<string, unknown> } & (
  { text: string } | { blob: Bytes }
);
