// The types of `s`, and of whatever else describes a value.

/** A value's JSON Schema. Each method returns a new one. `Q` says whether the value must be given. */
export interface Schema<T, Q extends "required" | "optional" | "default" = "required"> {
  readonly json: Record<string, unknown>;
  /** Only for TypeScript. */
  readonly _type?: [T, Q];
  describe(description: string): Schema<T, Q>;
  title(title: string): Schema<T, Q>;
  /** Makes the value optional. */
  optional(): Schema<T, "optional">;
  /** Makes the value optional, with `value` as its default. */
  default(value: T): Schema<T, "default">;
  /** The least number, the shortest text or the fewest items. */
  min(least: number): Schema<T, Q>;
  /** The greatest number, the longest text or the most items. */
  max(most: number): Schema<T, Q>;
  pattern(pattern: string | RegExp): Schema<T, Q>;
  /** What the text is, such as `email`, `uri`, `date` or `date-time`. */
  format(format: string): Schema<T, Q>;
  /** Further keywords of JSON Schema. */
  also(keywords: Record<string, unknown>): Schema<T, Q>;
  /** The value with defaults where nothing was given. */
  parse(value: unknown): T;
}

type AnySchema = Schema<any, any>;

/** Fields by their names. */
export type Fields = Record<string, AnySchema>;

type ValueOf<S> = S extends Schema<infer T, any> ? T : never;
type OptionalOf<F extends Fields> = {
  [K in keyof F]: F[K] extends Schema<any, "optional"> ? K : never;
}[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };

/** The object that has these fields. */
export type ObjectOf<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalOf<F>>]: ValueOf<F[K]> } & { [K in OptionalOf<F>]?: ValueOf<F[K]> }
>;

/** What zod (4.2 or newer) and other libraries have: https://standardschema.dev */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: any, ...rest: any[]) => unknown;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** A JSON Schema of your own, as an object or as text that goes out byte for byte. */
export type JsonSchema = string | { readonly [keyword: string]: unknown };

/** Whatever describes an object: fields of `s`, a Standard Schema, or a JSON Schema. */
export type Shape = Fields | AnySchema | StandardSchema | JsonSchema;

/** The type that a shape describes. */
export type Infer<S> =
  S extends Schema<infer T, any>
    ? T
    : S extends StandardSchema<infer T>
      ? T
      : S extends Fields
        ? ObjectOf<S>
        : Record<string, any>;

export declare const s: {
  string(description?: string): Schema<string>;
  number(description?: string): Schema<number>;
  integer(description?: string): Schema<number>;
  boolean(description?: string): Schema<boolean>;
  enum<const T extends string>(values: readonly T[], description?: string): Schema<T>;
  array<T>(items: Schema<T, any>, description?: string): Schema<T[]>;
  object<F extends Fields>(fields: F, description?: string): Schema<ObjectOf<F>>;
  /** An object with any keys and values of one kind. */
  record<T>(values: Schema<T, any>, description?: string): Schema<Record<string, T>>;
  /** A JSON Schema of your own. */
  json<T = any>(schema: Record<string, unknown>, description?: string): Schema<T>;
};
