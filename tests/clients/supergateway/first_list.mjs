// Prints the names of the tools in the first list that comes through supergateway, as one line of JSON: over HTTP in
// front of a server on stdio, or over stdio in front of one on HTTP. It does not speak MCP itself, so neither does more
// than a client has to.

import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

const [, , , transport, , , , ...target] = process.argv;
const program = new URL("node_modules/supergateway/dist/index.js", import.meta.url).pathname;
const begin = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "first-contact", version: "1" },
};
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

const quoted = (words) => words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
const request = (id, method, params) => ({ jsonrpc: "2.0", id, method, params });

async function listed(ask) {
  const tools = [];
  for (let cursor; ; ) {
    const { result } = await ask("tools/list", cursor ? { cursor } : {});
    tools.push(...result.tools.map((tool) => tool.name));
    cursor = result.nextCursor;
    if (!cursor) return tools;
  }
}

/** A server on HTTP, seen over stdio. */
async function overPipe(gateway) {
  const waiting = new Map();
  createInterface({ input: gateway.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let id = 0;
  const send = (message) => gateway.stdin.write(`${JSON.stringify(message)}\n`);
  const ask = (method, params) =>
    new Promise((resolve) => {
      waiting.set(++id, resolve);
      send(request(id, method, params));
    });
  await ask("initialize", begin);
  send(initialized);
  return listed(ask);
}

/** A server on stdio, seen over HTTP. */
async function overHttp(url) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = (message) => fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  let id = 0;
  const ask = async (method, params) => {
    const answer = await post(request(++id, method, params));
    headers["mcp-session-id"] ??= answer.headers.get("mcp-session-id") ?? undefined;
    const text = await answer.text();
    const data = text.split("\n").filter((line) => line.startsWith("data: "));
    return JSON.parse(data.length ? data.at(-1).slice(6) : text);
  };
  for (let tries = 0; ; tries++) {
    try {
      await ask("initialize", begin);
      break;
    } catch (error) {
      if (tries > 100 || error.cause?.code !== "ECONNREFUSED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  await post(initialized);
  return listed(ask);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Whatever hangs is told as what it is.
setTimeout(() => process.exit(1), 150_000).unref();

const start = (words, stdio) => spawn(process.execPath, [program, ...words], { stdio });
let gateway, tools;
if (transport === "http") {
  gateway = start(["--streamableHttp", target[0], "--logLevel", "none"], ["pipe", "pipe", "inherit"]);
  tools = await overPipe(gateway);
} else {
  const port = await freePort();
  const how = ["--outputTransport", "streamableHttp", "--stateful", "--port", `${port}`, "--logLevel", "none"];
  gateway = start(["--stdio", quoted(target), ...how], ["ignore", "ignore", "inherit"]);
  tools = await overHttp(`http://127.0.0.1:${port}/mcp`);
}
gateway.kill();
console.log(JSON.stringify({ tools }));
process.exit(0);
