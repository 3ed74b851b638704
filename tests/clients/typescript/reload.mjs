// Follows a tool that appears, changes and vanishes, with the official TypeScript client.
//
// It looks again only when the server says that its tools have changed, in the way of the client's era. In the folder
// `--steps` it leaves a file for everything that it has seen, so that whoever publishes the tool knows when to go on.
// Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODERN = '2026-07-28';
const REVISIONS = { legacy: '2025-11-25', modern: MODERN };
const MODES = { legacy: 'legacy', modern: { pin: MODERN } };
const TOOL = 'r-version';
const STEPS = {
    appeared: 'Say that this is variant 1.',
    changed: 'Say that this is variant 2.',
    vanished: undefined,
};
const DEADLINE_MS = 120_000;
// A client with a session opens the stream for what comes unasked in the background, and does not say when it has.
const STREAM_MS = 500;

// What the tool says of itself; nothing when it is not there.
async function described(client) {
    const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' });
    return tools.find((tool) => tool.name === TOOL)?.description;
}

async function follow(transport, mode, steps) {
    const client = new Client(
        { name: 'plugport-tests', version: '1.0.0' },
        { capabilities: {}, versionNegotiation: { mode: MODES[mode] } },
    );
    let told = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void (told += 1));
    await client.connect(transport, { timeout: DEADLINE_MS });
    const revision = client.getNegotiatedProtocolVersion();
    if (revision !== REVISIONS[mode]) throw new Error(`the revision is ${revision}`);
    const early = await described(client);
    if (early) throw new Error(`the tool is there before it was published: ${early}`);
    const subscription = mode === 'legacy' ? await sleep(STREAM_MS) : await client.listen({ toolsListChanged: true });
    await writeFile(join(steps, 'listening'), '');
    let looked = 0;
    for (const [step, expected] of Object.entries(STEPS)) {
        do {
            while (told === looked) await sleep(10);
            looked = told;
        } while ((await described(client)) !== expected);
        await writeFile(join(steps, step), '');
    }
    await subscription?.close();
    await client.close();
    return { revision, told };
}

function given() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' }, steps: { type: 'string' } },
        allowPositionals: true,
    });
    const known = ['http', 'stdio'].includes(values.transport) && Object.hasOwn(MODES, values.mode ?? '');
    if (known && values.steps && positionals.length > 0) return { ...values, target: positionals };
    console.error('usage: reload.mjs --transport http|stdio --mode legacy|modern --steps DIR (URL | -- COMMAND ARGS...)');
    process.exit(2);
}

const { transport, mode, steps, target } = given();
const [first, ...args] = target;
const connection =
    transport === 'http'
        ? new StreamableHTTPClientTransport(new URL(first))
        : new StdioClientTransport({ command: first, args });
const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no end after ${DEADLINE_MS} ms`);
});
try {
    const found = await Promise.race([follow(connection, mode, steps), late]);
    console.log(JSON.stringify({ client: 'typescript', transport, mode, ...found, ok: true }));
} catch (error) {
    console.error(`typescript client, ${transport}, ${mode}, ${(await readdir(steps)).sort()}: ${error.message}`);
    await connection.close();
    process.exit(1);
}
