// Runs JavaScript for those who ask. The sandbox that this plugin runs in is all there is to keep the code in; grant it
// nothing, since whatever it is granted is granted to all code.

import { plugin, result, s, tool, ToolError } from "plugport-sdk";
import { evaluate, Failed, inWords } from "./evaluate.js";

export const run = tool({
  name: "run",
  title: "Run JavaScript",
  description: `\
Run JavaScript and get its result: to calculate, to count, to sort, to parse, to try an algorithm.

The result is the value of the last expression, or of a \`return\`, which code with \`await\` needs that ends with a loop.
\`input\` is a variable with the value that was given: data belongs there, since code is costly to read. \`console.log\` is
kept and returned. \`await\` and promises work, and timers make nobody wait: the clock jumps. There are no modules, no
network, no files and nothing that is kept between calls. There is no \`Intl\`, \`URL\` or \`Buffer\`: locales, currencies
and time zones are ignored, the time is UTC and texts sort by code unit. Recursion deeper than some hundred calls ends
the call; use a loop and a stack of your own.`,
  readOnly: true,
  openWorld: false,
  input: {
    code: s.string("A script, or the body of a function.").max(200_000),
    input: s.json({}, "Any JSON, which the code sees as `input`; for data rather than `code`.").optional(),
  },
  output: s.object({
    result: s.json({}, "The value; what JSON lacks is shown as text.").optional(),
    logs: s.array(s.string(), "Lines that the code wrote to its console.").optional(),
    cut: s.boolean("Whether the result was too large to be shown whole.").optional(),
  }),
  handler({ code, input }) {
    const { result: value, logs, cut } = attempt(code, input);
    const structured = {
      ...(value !== undefined && { result: value }),
      ...(logs.length > 0 && { logs }),
      ...(cut && { cut }),
    };
    return result({ content: [inWords({ result: value, logs, cut })], structured });
  },
});

function attempt(code, input) {
  try {
    return evaluate(code, input);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    throw new ToolError([error.message, ...printed(error.logs)].join("\n"));
  }
}

/** What the code wrote before it failed. */
const printed = (logs) => (logs.length > 0 ? ["", "It had written:", ...logs] : []);

export const { tools, resources, prompts, completions } = plugin({ tools: [run] });
