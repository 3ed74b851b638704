// Prints the names of the tools that the Inspector's command line lists, as one line of JSON.

import { spawnSync } from "node:child_process";

const [, , , transport, , , , ...target] = process.argv;
const program = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const script = new URL(program, import.meta.url).pathname;
const how = ["--transport", transport, "--method", "tools/list"];
const words = transport === "http" ? ["--cli", ...target, ...how] : ["--cli", ...how, "--", ...target];
const output = spawnSync(process.execPath, [script, ...words], { encoding: "utf8", maxBuffer: 1 << 28 });
if (output.status !== 0) {
  console.error(output.stdout, output.stderr);
  process.exit(1);
}
const listed = JSON.parse(output.stdout);
console.log(JSON.stringify({ tools: listed.tools.map((tool) => tool.name) }));
