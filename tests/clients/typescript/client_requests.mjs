// Lets a server's tools ask this client, over the official TypeScript package, and checks what comes of it.
//
// The server is taken for what it says on the wire: this file knows the fixtures of the official conformance suite and
// nothing of Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODERN = '2026-07-28';
const REVISIONS = { legacy: '2025-11-25', modern: MODERN, auto: MODERN };
const MODES = { legacy: 'legacy', modern: { pin: MODERN }, auto: 'auto' };
const OLDER = ['2025-06-18', '2025-03-26', '2024-11-05'];
const FIRST_TO_ELICIT = '2025-06-18';
const DEADLINE_MS = 120_000;
const ARRIVAL_MS = 5_000;
const ROOT = 'file:///somewhere';

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

function answer(client, asked) {
    client.setRequestHandler('sampling/createMessage', async () => {
        asked.push('sampling');
        return { role: 'assistant', model: 'test', content: { type: 'text', text: 'well met' }, stopReason: 'endTurn' };
    });
    client.setRequestHandler('elicitation/create', async () => {
        asked.push('elicitation');
        return { action: 'accept', content: { username: 'ada', email: 'ada@example.com', name: 'Ada', color: 'blue' } };
    });
    client.setRequestHandler('roots/list', async () => {
        asked.push('roots');
        return { roots: [{ uri: ROOT, name: 'Somewhere' }] };
    });
}

async function checkQuestions(client, elicits) {
    const said = async (name, given = {}) => text(await client.callTool({ name, arguments: given }));
    const sampled = await said('test_sampling', { prompt: 'Greet me.' });
    expect(sampled === 'LLM response: well met', "the model's answer reaches the tool", sampled);
    const roots = await said('test_input_required_result_list_roots');
    expect(roots.includes(ROOT), 'the roots reach the tool', roots);
    if (!elicits) return;
    const elicited = await said('test_elicitation', { message: 'Who are you?' });
    expect(elicited.includes('ada@example.com'), "the person's answer reaches the tool", elicited);
    const three = await said('test_input_required_result_multiple_inputs');
    expect(three === 'well met Ada has 1 roots.', 'three answers reach the tool together', three);
    const legs = await said('test_input_required_result_multi_round');
    expect(legs.includes('Ada likes blue'), 'a second question follows the first', legs);
}

async function checkNotifications(client, legacy) {
    const heard = { logs: 0, progress: 0 };
    client.setNotificationHandler('notifications/message', () => void heard.logs++);
    client.setNotificationHandler('notifications/progress', () => void heard.progress++);
    const _meta = legacy ? {} : { [LOG_LEVEL_META_KEY]: 'info' };
    if (legacy) await client.setLoggingLevel('info');
    await client.callTool({ name: 'test_tool_with_logging', arguments: {}, _meta });
    await client.callTool({ name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } });
    const end = Date.now() + ARRIVAL_MS;
    while (Math.min(heard.logs, heard.progress) < 3 && Date.now() < end) await sleep(10);
    expect(heard.logs >= 3 && heard.progress >= 3, '3 logs and 3 reports arrive', heard);
}

async function checkOffers(client) {
    const read = await client.readResource({ uri: 'test://static-text' });
    expect(read.contents[0].text.includes('static text resource'), 'a resource is read', read);
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } });
    expect(prompt.messages[0].content.text.includes("arg2='b'"), 'a prompt has its arguments', prompt);
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    const completed = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
    expect(Array.isArray(completed.completion.values), 'an argument is completed', completed);
}

async function drive(transport, mode) {
    const capabilities = { sampling: {}, elicitation: {}, roots: {} };
    const wanted = REVISIONS[mode] ?? mode;
    const older = OLDER.includes(mode) ? { supportedProtocolVersions: [mode] } : {};
    const client = new Client(
        { name: 'plugport-tests', version: '1.0.0' },
        { capabilities, versionNegotiation: { mode: MODES[mode] ?? 'legacy' }, ...older },
    );
    const elicits = wanted >= FIRST_TO_ELICIT;
    const asked = [];
    answer(client, asked);
    await client.connect(transport, { timeout: DEADLINE_MS });
    const revision = client.getNegotiatedProtocolVersion();
    expect(revision === wanted, `the revision is ${wanted}`, revision);
    await checkQuestions(client, elicits);
    await checkNotifications(client, wanted !== MODERN);
    await checkOffers(client);
    await client.close();
    expect(new Set(asked).size === (elicits ? 3 : 2), 'all was asked that the revision has', asked);
    return { revision, asked: asked.length };
}

function given() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const known = ['http', 'stdio', 'sse'].includes(values.transport) && (Object.hasOwn(MODES, values.mode ?? '') || OLDER.includes(values.mode));
    if (known && positionals.length > 0) return { ...values, target: positionals };
    console.error('usage: answering.mjs --transport http|stdio|sse --mode legacy|modern|auto|REVISION (URL | -- COMMAND ARGS...)');
    process.exit(2);
}

const { transport, mode, target } = given();
const [first, ...args] = target;
const connections = {
    http: () => new StreamableHTTPClientTransport(new URL(first)),
    sse: () => new SSEClientTransport(new URL(first)),
    stdio: () => new StdioClientTransport({ command: first, args }),
};
const connection = connections[transport]();
const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no end after ${DEADLINE_MS} ms`);
});
try {
    const found = await Promise.race([drive(connection, mode), late]);
    console.log(JSON.stringify({ client: 'typescript', transport, mode, ...found, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`typescript client, ${transport}, ${mode}: ${error.message}`);
    process.exit(1);
}
