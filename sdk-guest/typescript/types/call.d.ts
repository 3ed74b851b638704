// The request being served, and the requests that it may send to the client.

import type { Content } from "./content.js";
import type { Infer, Shape } from "./schema.js";

export type Level = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

export interface ClientInfo {
  name: string;
  version: string;
  /** The revision of MCP, such as 2026-07-28. */
  protocol: string;
  sampling: boolean;
  elicitation: boolean;
  roots: boolean;
  /** The names of the extensions of MCP that it declared, such as io.modelcontextprotocol/ui. */
  extensions: string[];
}

export interface Root {
  uri: string;
  name?: string;
}

/** The params of sampling/createMessage, and short forms for what is requested most. */
export interface CreateMessageRequest {
  /** The user's last message. */
  text?: string;
  messages?: (string | Content | { role: "user" | "assistant"; content: unknown })[];
  system?: string;
  /** 1000 unless you say otherwise. */
  maxTokens?: number;
  temperature?: number;
  stop?: string | string[];
  modelPreferences?: {
    hints?: { name: string }[];
    intelligencePriority?: number;
    speedPriority?: number;
    costPriority?: number;
  };
  tools?: { name: string; description?: string; inputSchema: object }[];
  toolChoice?: { mode: "auto" | "required" | "none" };
  metadata?: object;
}

/** The message of the client's model. */
export interface CreateMessageResult {
  readonly text: string;
  readonly content: any[];
  readonly model: string;
  readonly stopReason?: string;
  /** The tools that it wants called. */
  readonly toolUses: { id: string; name: string; input: any }[];
}

/** The outcome of a form or page. */
export type ElicitResult<T> = (
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined }
) & {
  /** What they filled in, for those who cannot go on without it: throws when they declined or went away. */
  accepted(): T;
};

export type InputRequest =
  | { sample: string | CreateMessageRequest }
  | { elicit: { message: string; form: Shape } }
  | { elicit: { message: string; url: string; elicitationId?: string } }
  | { roots: true };

export type InputResult<Q> = Q extends { sample: any }
  ? CreateMessageResult
  : Q extends { elicit: { form: infer S } }
    ? ElicitResult<Infer<S>>
    : Q extends { elicit: any }
      ? ElicitResult<undefined>
      : Root[];

/** The request being served. Requests wait for their results, so `await` is welcome before them but not needed. */
export interface Call {
  readonly client: ClientInfo;
  /** Who calls, when the server authenticates its callers. */
  readonly principal: string | undefined;
  /** The request's `_meta`. */
  readonly meta: Record<string, any>;
  /** Whether the client no longer waits. */
  readonly cancelled: boolean;
  /** Any value for the client's log, under the name of a logger if there is one. */
  log(level: Level, data: unknown, logger?: string): void;
  debug(data: unknown): void;
  info(data: unknown): void;
  notice(data: unknown): void;
  warning(data: unknown): void;
  error(data: unknown): void;
  /** How far the handler is. */
  progress(done: number, total?: number, message?: string): void;
  /** Asks the client's model. */
  sample(request: string | Content | CreateMessageRequest): CreateMessageResult;
  /** Shows a form to the person at the client. */
  elicit<const S extends Shape>(message: string, form: S): ElicitResult<Infer<S>>;
  /** Sends the person to a web page. */
  elicitUrl(message: string, url: string, elicitationId?: string): ElicitResult<undefined>;
  /** The folders that the client works in. */
  roots(): Root[];
  /** Several requests in one round trip; the results have the same keys. */
  requestInputs<const Q extends Record<string, InputRequest>>(requests: Q): { [K in keyof Q]: InputResult<Q[K]> };
  /** The same call, whose next request has this key. */
  keyed(key: string): Call;
}
