// Tried by `tsc --noEmit`: what must be right is used, what must be wrong stands below `@ts-expect-error`.

import {
  config,
  HostError,
  HttpError,
  kv,
  embedded,
  image,
  plugin,
  prompt,
  rank,
  resource,
  result,
  s,
  tasks,
  text,
  tool,
  ToolError,
} from "plugport-sdk";
import type { Call, Infer, Middleware } from "plugport-sdk";
import { TestClient, invoke } from "plugport-sdk/testing";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

const fields = {
  name: s.string("Who.").optional(),
  times: s.integer().min(1).default(3),
  unit: s.enum(["metric", "imperial"]),
  tags: s.array(s.string()),
  place: s.object({ lat: s.number(), lon: s.number(), label: s.string().optional() }),
};
same<
  Infer<typeof fields>,
  {
    times: number;
    unit: "metric" | "imperial";
    tags: string[];
    place: { lat: number; lon: number; label?: string };
    name?: string;
  }
>(true);

const hello = tool({
  name: "hello",
  description: "Greet.",
  input: fields,
  readOnly: true,
  async handler({ name, times, unit }, call) {
    same<typeof name, string | undefined>(true);
    same<typeof times, number>(true);
    same<typeof call, Call>(true);
    // @ts-expect-error there is no such unit
    if (unit === "other") return "";
    same<typeof call.client.extensions, string[]>(true);
    const isTask: boolean = tasks.detach(call, "greeting") || tasks.detach(call);
    // @ts-expect-error the status is a text
    tasks.detach(call, 5);
    if (isTask) return "";
    const answer = call.elicit("Who?", { name: s.string(), age: s.integer().optional() });
    if (answer.action === "accept") same<typeof answer.content, { name: string; age?: number }>(true);
    const { title, where } = await call.requestInputs({
      title: { sample: "A title?" },
      where: { elicit: { message: "Where?", form: { city: s.string() } } },
    });
    same<ReturnType<typeof where.accepted>, { city: string }>(true);
    return [text(title.text), image(new Uint8Array(), "image/png"), embedded({ uri: "a:b", text: "" })];
  },
});

const sum = tool({
  name: "sum",
  description: "Add.",
  input: { a: s.integer() },
  output: { sum: s.integer() },
  handler: ({ a }) => (a > 0 ? { sum: a } : result({ content: ["no"], isError: true })),
});

tool({
  name: "wrong",
  description: "Returns what its output does not say.",
  output: { sum: s.integer() },
  // @ts-expect-error a sum is a number
  handler: () => ({ sum: "1" }),
});

// @ts-expect-error a tool needs a description
tool({ name: "wrong", handler: () => "" });

const raw = tool({
  name: "raw",
  description: "Takes a JSON Schema.",
  input: { type: "object", properties: { a: { type: "string" } } },
  handler: (args) => args.a,
});

interface Zodish {
  readonly "~standard": {
    version: 1;
    vendor: "zod";
    validate: (value: unknown) => unknown;
    types?: { input: { a: string }; output: { a: number } };
  };
}
declare const zodish: Zodish;
tool({
  name: "standard",
  description: "Takes a Standard Schema.",
  input: zodish,
  handler: ({ a }) => a.toFixed(),
});

const note = resource({
  template: "notes://note/{id}",
  annotations: { audience: ["user"], priority: 1, lastModified: "2026-01-01T00:00:00Z" },
  list: () => [{ uri: "notes://note/1", name: "first", annotations: { priority: 0.5 } }],
  complete: { id: (value, { context }) => rank(value, Object.keys(context)) },
  handler: ({ id }, call) => (call.cancelled ? null : { text: `Note ${id}` }),
});

const greet = prompt({
  name: "greet",
  args: { name: "Whom.", tone: { description: "How.", required: false } },
  complete: { name: () => ["Ada"] },
  handler({ name, tone }) {
    same<typeof name, string>(true);
    same<typeof tone, string | undefined>(true);
    return `Greet ${name}.`;
  },
});

prompt({
  name: "wrong",
  args: { name: "Whom." },
  // @ts-expect-error there is no such argument
  complete: { nmae: () => [] },
  handler: () => "",
});

const timed: Middleware = async ({ call, name, args }, next) => {
  same<typeof name, string>(true);
  call.debug(args);
  // @ts-expect-error a context is no text
  if (name === "") return next("");
  return (await next()) ?? next({ call, method: "tools/call", name, args: {} });
};

export const { tools, resources, prompts, completions } = plugin({
  tools: [hello, sum, raw],
  resources: [note],
  prompts: [greet],
  middleware: [timed],
});

export async function host() {
  const store = kv.open();
  same<ReturnType<typeof store.updateJson<number[]>>, number[]>(true);
  const visits: number = store.increment("visits");
  const region: string = config.get("region") ?? config.require("fallback");
  // @ts-expect-error an object is not set as it is
  store.set("a", { region, visits });
  const url = new URL("?a=1", "https://example.com");
  url.searchParams.set("b", "2");
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(1000),
      headers: { accept: "text/plain" },
    });
    if (!response.body) return "";
    let length = 0;
    for await (const piece of response.body) length += piece.length;
    return `${length} ${response.headers.get("content-type")}`;
  } catch (error) {
    const { cause } = error as Error;
    return cause instanceof HttpError && cause.kind === "denied" ? cause.grant : undefined;
  }
}

export async function tests() {
  const client = new TestClient()
    .hasConfig({ region: "eu" }, { token: "secret" })
    .answersHttp(async (request) => new Response(await request.text(), { status: 201 }));
  same<Awaited<ReturnType<typeof client.run<Promise<string | undefined>>>>, string | undefined>(true);
  await client.run(host);
  const outcome = await new TestClient().samples("42").invoke(hello, { unit: "metric" });
  same<typeof outcome.text, string>(true);
  await invoke(sum, { a: 1 });
  console.log(new ToolError("no", { cause: new HostError("denied", "no") }).message);
}
