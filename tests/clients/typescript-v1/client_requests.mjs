// Lets a server's tools ask this client, over the official TypeScript package of the first line (1.x), and checks what
// comes of it.
//
// The server is taken for what it says on the wire: this file knows the fixtures of the official conformance suite and
// nothing of Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    LoggingMessageNotificationSchema,
    ProgressNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const NEWEST = '2025-11-25';
const FIRST_TO_ELICIT = '2025-06-18';
const DEADLINE_MS = 120_000;
const ARRIVAL_MS = 5_000;
const ROOT = 'file:///somewhere';

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

function answer(client, asked) {
    client.setRequestHandler(CreateMessageRequestSchema, async () => {
        asked.push('sampling');
        return { role: 'assistant', model: 'test', content: { type: 'text', text: 'well met' }, stopReason: 'endTurn' };
    });
    client.setRequestHandler(ElicitRequestSchema, async () => {
        asked.push('elicitation');
        return { action: 'accept', content: { username: 'ada', email: 'ada@example.com', name: 'Ada', color: 'blue' } };
    });
    client.setRequestHandler(ListRootsRequestSchema, async () => {
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

async function checkNotifications(client) {
    const heard = { logs: 0, progress: 0 };
    client.setNotificationHandler(LoggingMessageNotificationSchema, () => void heard.logs++);
    client.setNotificationHandler(ProgressNotificationSchema, () => void heard.progress++);
    await client.setLoggingLevel('info');
    await client.callTool({ name: 'test_tool_with_logging', arguments: {} });
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

// The package always asks for the newest revision that it knows, so that an older one is put into its first message.
function pinned(transport, revision) {
    const agreed = {};
    const send = transport.send.bind(transport);
    const set = transport.setProtocolVersion?.bind(transport);
    transport.send = (message, options) => {
        if (message.method === 'initialize') message.params.protocolVersion = revision;
        return send(message, options);
    };
    transport.setProtocolVersion = (version) => {
        agreed.revision = version;
        set?.(version);
    };
    return agreed;
}

async function drive(transport, wanted) {
    const agreed = pinned(transport, wanted);
    const capabilities = { sampling: {}, elicitation: {}, roots: {} };
    const client = new Client({ name: 'plugport-tests', version: '1.0.0' }, { capabilities });
    const asked = [];
    answer(client, asked);
    await client.connect(transport, { timeout: DEADLINE_MS });
    expect(agreed.revision === wanted, `the revision is ${wanted}`, agreed.revision);
    await checkQuestions(client, wanted >= FIRST_TO_ELICIT);
    await checkNotifications(client);
    await checkOffers(client);
    await client.close();
    expect(new Set(asked).size === (wanted >= FIRST_TO_ELICIT ? 3 : 2), 'all was asked', asked);
    return { revision: agreed.revision, asked: asked.length };
}

function given() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const known = ['http', 'stdio', 'sse'].includes(values.transport) && /^(legacy|20\d\d-\d\d-\d\d)$/.test(values.mode ?? '');
    if (known && positionals.length > 0) return { ...values, target: positionals };
    console.error('usage: answering.mjs --transport http|stdio|sse --mode legacy|REVISION (URL | -- COMMAND ARGS...)');
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
    const found = await Promise.race([drive(connection, mode === 'legacy' ? NEWEST : mode), late]);
    console.log(JSON.stringify({ client: 'typescript-v1', transport, mode, ...found, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`typescript client 1.x, ${transport}, ${mode}: ${error.message}`);
    process.exit(1);
}
