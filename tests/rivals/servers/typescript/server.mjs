// The tools of `tests/rivals` in a server of the official TypeScript SDK: `server.mjs PORT|stdio COUNT`.
//
// COUNT tools are listed instead of the four; 0 means the four. Requests of 2026-07-28 get a server each, as the SDK
// does it; a session has one of its own.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [how, count] = [process.argv[2], Number(process.argv[3])];

const object = (name, type) =>
    fromJsonSchema({ type: 'object', properties: { [name]: { type } }, required: [name] });
const MESSAGE = object('message', 'string');
const STEPS = object('steps', 'integer');
const NOTHING = fromJsonSchema({ type: 'object' });
const text = (text) => ({ content: [{ type: 'text', text }] });
const echo = ({ message }) => text(message);

function work({ steps }) {
    let value = 2463534242;
    for (let step = 0; step < steps; step++) {
        value ^= value << 13;
        value ^= value >>> 17;
        value ^= value << 5;
    }
    return text(String(value >>> 0));
}

async function narrate(_, context) {
    const notify = (method, params) => context.mcpReq.notify({ method, params });
    await notify('notifications/message', { level: 'info', data: 'working' });
    const progressToken = context.mcpReq._meta?.progressToken;
    if (progressToken) await notify('notifications/progress', { progressToken, progress: 1, total: 1 });
    return text('told');
}

const tools = count
    ? Array.from({ length: count }, (_, number) => [`tool-${String(number).padStart(4, '0')}`, MESSAGE, echo])
    : [['echo', MESSAGE, echo], ['work', STEPS, work], ['narrate', NOTHING, narrate]];

function make() {
    const server = new McpServer({ name: 'typescript', version: '1.0.0' }, { capabilities: { logging: {} } });
    for (const [name, inputSchema, run] of tools) {
        server.registerTool(`rivals-${name}`, { description: `The tool ${name}.`, inputSchema }, run);
    }
    return server;
}

const stateless = toNodeHandler(createMcpHandler(make, { legacy: 'reject' }));
const sessions = new Map();

async function session(request, response) {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => void sessions.set(id, transport),
        onsessionclosed: (id) => void sessions.delete(id),
    });
    await make().connect(transport);
    return transport.handleRequest(request, response);
}

if (how === 'stdio') {
    serveStdio(make);
} else {
    const isStateless = (request) => request.headers['mcp-protocol-version'] === '2026-07-28';
    createServer((request, response) => (isStateless(request) ? stateless : session)(request, response)).listen(
        Number(how),
        '127.0.0.1',
    );
}
