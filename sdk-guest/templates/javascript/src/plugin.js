import { plugin, s, tool } from "plugport-sdk";

/** Greets someone, and asks whom when it was not told. */
export const hello = tool({
  name: "hello",
  description: "Greet someone by name.",
  readOnly: true,
  input: {
    name: s.string("Who to greet; the person at the client is asked if it is missing.").optional(),
    shout: s.boolean("Whether to greet loudly.").default(false),
  },
  async handler({ name, shout }, call) {
    call.info("greeting someone");
    const known =
      name ?? (await call.elicit("Whom shall I greet?", { name: s.string("A name.") })).content?.name;
    const greeting = known === undefined ? "Hello, whoever you are!" : `Hello, ${known}!`;
    return shout ? greeting.toUpperCase() : greeting;
  },
});

export const { tools, resources, prompts, completions } = plugin({ tools: [hello] });
