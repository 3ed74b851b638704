// Drives a server with the official TypeScript client and checks every answer.
//
// The server is taken for what it says on the wire: this file knows the test guest `polite` and nothing of Plugport.
// Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODERN = '2026-07-28';
const REVISIONS = { legacy: '2025-11-25', modern: MODERN, auto: MODERN };
const MODES = { legacy: 'legacy', modern: { pin: MODERN }, auto: 'auto' };
const TOOLS = ['polite-echo', 'polite-add', 'polite-fail', 'polite-narrate'];
const STEPS = 3;
const DEADLINE_MS = 120_000;
const ARRIVAL_MS = 5_000;

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

async function checkResults(client) {
    const echo = await client.callTool({ name: 'polite-echo', arguments: { message: 'héllo ✓' } });
    expect(!echo.isError && text(echo) === 'héllo ✓', 'echo returns the message', echo);

    const added = await client.callTool({ name: 'polite-add', arguments: { a: 2, b: 40 } });
    expect(added.structuredContent?.sum === 42, 'add returns a structured sum', added);

    const failed = await client.callTool({ name: 'polite-fail', arguments: { reason: 'no luck' } });
    const chain = text(failed).includes('no luck') && text(failed).includes('caused by: ');
    expect(failed.isError && chain, 'fail is a tool error with its causes', failed);
}

async function checkRefusals(client) {
    const wrong = await client.callTool({ name: 'polite-add', arguments: { a: 'two', b: 40 } });
    expect(wrong.isError && text(wrong).includes('/a'), 'a wrong argument is a tool error naming /a', wrong);

    const call = client.callTool({ name: 'polite-missing', arguments: {} });
    const outcome = await call.then((answer) => ({ answer }), (error) => ({ code: error.code, message: error.message }));
    expect(outcome.code === -32602, 'an unknown tool is error -32602', outcome);
}

// Progress is collected by a handler of its own and not by `onprogress`: the client forgets that callback as soon as
// it reads the answer, even when progress that came before it still waits to be handed over.
function listen(client) {
    const heard = { progress: [], logs: [] };
    client.setNotificationHandler('notifications/progress', ({ params }) => void heard.progress.push(params.progress));
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.logs.push(params.level));
    return heard;
}

async function checkNotifications(client, heard, mode) {
    const _meta = { progressToken: 'narration' };
    if (mode === 'legacy') await client.setLoggingLevel('info');
    else _meta[LOG_LEVEL_META_KEY] = 'info';
    await client.callTool({ name: 'polite-narrate', arguments: { steps: STEPS }, _meta });
    const end = Date.now() + ARRIVAL_MS;
    while (Math.min(heard.progress.length, heard.logs.length) < STEPS && Date.now() < end) await sleep(10);
    expect(heard.progress.length === STEPS, `narrate reports progress ${STEPS} times`, heard);
    expect(heard.logs.length >= STEPS, `narrate logs ${STEPS} times`, heard);
}

async function drive(transport, mode) {
    const client = new Client(
        { name: 'plugport-tests', version: '1.0.0' },
        { capabilities: {}, versionNegotiation: { mode: MODES[mode] } },
    );
    const heard = listen(client);
    await client.connect(transport, { timeout: DEADLINE_MS });
    const revision = client.getNegotiatedProtocolVersion();
    expect(revision === REVISIONS[mode], `the revision is ${REVISIONS[mode]}`, revision);
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    expect(TOOLS.every((name) => tools.includes(name)), `the tools of polite are listed: ${TOOLS}`, tools);
    await checkResults(client);
    await checkRefusals(client);
    await checkNotifications(client, heard, mode);
    await client.close();
    return { revision, tools, progress: heard.progress.length, logs: heard.logs.length };
}

function given() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const known = ['http', 'stdio'].includes(values.transport) && Object.hasOwn(MODES, values.mode ?? '');
    if (known && positionals.length > 0) return { ...values, target: positionals };
    console.error('usage: client.mjs --transport http|stdio --mode legacy|modern|auto (URL | -- COMMAND ARGS...)');
    process.exit(2);
}

const { transport, mode, target } = given();
const [first, ...args] = target;
const connection =
    transport === 'http'
        ? new StreamableHTTPClientTransport(new URL(first))
        : new StdioClientTransport({ command: first, args });
const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no end after ${DEADLINE_MS} ms`);
});
try {
    const found = await Promise.race([drive(connection, mode), late]);
    console.log(JSON.stringify({ client: 'typescript', transport, mode, ...found, ok: true }));
} catch (error) {
    console.error(`typescript client, ${transport}, ${mode}: ${error.message}`);
    await connection.close();
    process.exit(1);
}
