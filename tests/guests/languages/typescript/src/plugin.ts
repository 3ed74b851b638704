// Every feature of the SDK, behind the names that the test of all languages uses. Nothing is annotated that the schemas
// say already, so the type check tries what they are inferred to be.

import {
  config,
  HttpError,
  kv,
  plugin,
  prompt,
  resource,
  s,
  tasks,
  tool,
  ToolError,
  type Infer,
} from "plugport-sdk";

const factors = { a: s.integer(), b: s.integer() };
const results = { sum: s.integer(), product: s.integer() };

const log = tool({
  name: "log",
  description: "Log a text.",
  input: { text: s.string("What to log.") },
  handler({ text }, call) {
    call.log("info", text, "features");
    return "logged";
  },
});

const progress = tool({
  name: "progress",
  description: "Report some steps.",
  input: { steps: s.integer("How many.") },
  handler({ steps }, call) {
    for (let step = 1; step <= steps; step += 1) call.progress(step, steps, `step ${step}`);
    return "done";
  },
});

const sample = tool({
  name: "sample",
  description: "Ask the client's model.",
  input: { question: s.string("What to ask.") },
  async handler({ question }, call) {
    const answer = await call.sample({ text: question, maxTokens: 100 });
    return answer.text;
  },
});

const elicit = tool({
  name: "elicit",
  description: "Ask the person at the client.",
  input: { question: s.string("What to ask.") },
  async handler({ question }, call) {
    const { action, content } = await call.elicit(question, { answer: s.string() });
    if (action === "accept") return `accepted: ${content.answer}`;
    return action === "decline" ? "declined" : "cancelled";
  },
});

const roots = tool({
  name: "roots",
  description: "List the client's folders.",
  handler: (_, call) =>
    call
      .roots()
      .map(({ uri }) => uri)
      .join(", "),
});

const calculate = ({ a, b }: Infer<typeof factors>): Infer<typeof results> => ({
  sum: a + b,
  product: a * b,
});

const structured = tool({
  name: "structured",
  description: "Add and multiply.",
  input: factors,
  output: results,
  handler: calculate,
});

const nest = tool({
  name: "nest",
  description: "Answer with lists in lists.",
  input: { depth: s.integer("How deep.") },
  handler({ depth }) {
    let inner: unknown = "here";
    for (let at = 0; at < depth; at += 1) inner = [inner];
    return { inner };
  },
});

const fail = tool({
  name: "fail",
  description: "Fail.",
  input: { why: s.string("What to say.") },
  handler({ why }) {
    throw new ToolError(why);
  },
});

const refuse = tool({
  name: "refuse",
  description: "Ask the model without being allowed to.",
  handler: (_, call) => call.sample("May I?").text,
});

const print = tool({
  name: "print",
  description: "Print a text.",
  input: { text: s.string("What to print.") },
  handler({ text }) {
    console.log(text);
    console.error(new Error(text));
    return "printed";
  },
});

const draw = tool({
  name: "draw",
  description: "Draw a random number, and tell the time.",
  handler: () => `${Math.random()} ${Date.now() / 1000}`,
});

const throws = tool({
  name: "throw",
  description: "Throw what nobody catches, after a while.",
  async handler() {
    await new Promise<void>((resolve) => setTimeout(resolve, 5));
    const nobody: string[] = [];
    return nobody[0].length;
  },
});

async function textOf(url: string): Promise<string> {
  const response = await fetch(url);
  return response.text();
}

const fetchText = tool({
  name: "fetch-text",
  description: "Fetch a text.",
  input: { url: s.string("Where it is.") },
  async handler({ url }) {
    try {
      return await textOf(url);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof HttpError ? new ToolError(cause.message) : error;
    }
  },
});

const fetchAll = tool({
  name: "fetch-all",
  description: "Fetch several texts at once.",
  input: { urls: s.array(s.string(), "Where they are.") },
  handler: async ({ urls }) => (await Promise.all(urls.map(textOf))).join("\n"),
});

const countVisits = tool({
  name: "count-visits",
  description: "Count the visits of someone.",
  input: { name: s.string("Who visits.") },
  handler: ({ name }) => kv.open().increment(name),
});

const greetConfigured = tool({
  name: "greet-configured",
  description: "Say the greeting of the settings, and how long the secret is.",
  handler(_, call) {
    const token = config.require("token");
    // The client must not see it.
    call.log("info", token);
    return `${config.require("greeting")} ${token.length}`;
  },
});

const detach = tool({
  name: "detach",
  description: "Let the client go on without waiting, and say whether it does.",
  input: { status: s.string("What to tell people meanwhile.") },
  handler: ({ status }, call) => String(tasks.detach(call, status)),
});

const extensions = tool({
  name: "extensions",
  description: "Say which extensions the client declared.",
  handler: (_, call) => call.client.extensions.join(", "),
});

const sleep = tool({
  name: "sleep",
  description: "Sleep.",
  input: { ms: s.integer("How many milliseconds.") },
  async handler({ ms }) {
    await new Promise<void>((resolve) => setTimeout(resolve, ms));
    return "rested";
  },
});

const greeting = resource({
  uri: "features://greeting",
  name: "greeting",
  description: "A greeting.",
  mimeType: "text/plain",
  handler: () => "Hello from TypeScript",
});

const echo = resource({
  template: "features://echo/{word}",
  name: "echo",
  description: "Says a word again.",
  mimeType: "text/plain",
  handler: ({ word }) => word,
});

const NAMES = ["Ada", "Alan", "Grace"];

const greet = prompt({
  name: "greet",
  description: "Greet someone.",
  args: { name: "Whom to greet." },
  handler: ({ name }) => `Greet ${name} warmly.`,
  complete: { name: (value) => NAMES.filter((name) => name.startsWith(value)) },
});

export const { tools, resources, prompts, completions } = plugin({
  tools: [
    ...[log, progress, sample, elicit, roots, structured, nest, fail, refuse, print, draw, throws],
    ...[fetchText, fetchAll, countVisits, greetConfigured, detach, extensions, sleep],
  ],
  resources: [greeting, echo],
  prompts: [greet],
});
