// Makes a slow call with a question, over the official TypeScript package for tasks, and checks what comes of it.
//
// The server is taken for what it says on the wire: this file knows the test guest `client_requests` and nothing of
// Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
    createApplicationInputHandler,
    createTaskSessionFromClient,
    resultFromTaskOutcome,
} from '@modelcontextprotocol/ext-tasks/client';

const MODERN = '2026-07-28';
const REVISIONS = { legacy: '2025-11-25', modern: MODERN };
const MODES = { legacy: 'legacy', modern: { pin: MODERN } };
const CLIENT = { name: 'plugport-tests', version: '1.0.0' };
const CAPABILITIES = { elicitation: { form: {} } };
const TOOL = 'client_requests-slow';
const FORM = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const QUESTION = { method: 'elicitation/create', params: { message: 'Who are you?', requestedSchema: FORM } };
const TASK = { preference: 'require' };
const DEADLINE_MS = 120_000;
const ARRIVAL_MS = 5_000;

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

// The client's codecs reject what tasks of the extension send, so these requests have a transport of their own.
async function taskRequests(url) {
    const transport = new StreamableHTTPClientTransport(new URL(url));
    const waiting = new Map();
    let last = 0;
    transport.onmessage = ({ id, result, error }) => {
        waiting.get(id)?.(error ? { kind: 'error', error } : { kind: 'result', result });
        waiting.delete(id);
    };
    await transport.start();
    return (request) =>
        new Promise((resolve, reject) => {
            last += 1;
            waiting.set(last, resolve);
            transport.send({ jsonrpc: '2.0', id: last, ...request }).catch(reject);
        });
}

function answer(asked) {
    const unasked = () => {
        throw new Error('nothing else is asked');
    };
    return createApplicationInputHandler({
        elicitation: ({ params }, { scope, taskId }) => {
            asked.push({ message: params.message, scope, taskId });
            return { action: 'accept', content: { name: 'Ada' } };
        },
        sampling: unasked,
        roots: unasked,
    });
}

async function checkSlowCall(session, asked) {
    const execution = await session.callTool(TOOL, QUESTION, { task: TASK });
    expect(execution.kind === 'task', 'the slow call is a task', execution.kind);
    const { taskId } = execution.handle;
    const states = [];
    const note = (event) => void (event.type === 'task' && states.push(event.task.status));
    const { outcome } = await execution.settle({ onEvent: note });
    const said = text(resultFromTaskOutcome(outcome));
    expect(said.includes('Ada'), "the person's answer reaches the tool", said);
    const expected = { message: 'Who are you?', scope: 'task', taskId };
    expect(JSON.stringify(asked) === JSON.stringify([expected]), 'the task asks once', asked);
    expect(states[0] === 'working' && states.at(-1) === 'completed', 'the task works and completes', states);
    const again = await session.task(taskId).result();
    expect(text(resultFromTaskOutcome(again)) === said, 'the result stays', again);
}

async function checkCancelling(session) {
    const execution = await session.callTool(TOOL, QUESTION, { task: TASK });
    const { taskId } = execution.handle;
    await execution.cancel();
    const end = Date.now() + ARRIVAL_MS;
    let task = await session.task(taskId).snapshot();
    while (task.status !== 'cancelled' && Date.now() < end) {
        await sleep(50);
        task = await session.task(taskId).snapshot();
    }
    expect(task.status === 'cancelled', 'the task is cancelled', task);
}

async function drive(url, mode) {
    const client = new Client(CLIENT, { capabilities: CAPABILITIES, versionNegotiation: { mode: MODES[mode] } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), { timeout: DEADLINE_MS });
    const revision = client.getNegotiatedProtocolVersion();
    expect(revision === REVISIONS[mode], `the revision is ${REVISIONS[mode]}`, revision);
    const asked = [];
    const wire = mode === 'modern' && {
        rawDispatch: await taskRequests(url),
        v2RequestFraming: { protocolVersion: MODERN, clientInfo: CLIENT, clientCapabilities: CAPABILITIES },
    };
    const onInputRequest = answer(asked);
    const session = createTaskSessionFromClient(client, { endpointId: 'tests', onInputRequest, ...wire });
    await checkSlowCall(session, asked);
    await checkCancelling(session);
    await session.close();
    await client.close();
    return { revision, asked: asked.length };
}

function given() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const known = values.transport === 'http' && Object.hasOwn(MODES, values.mode ?? '');
    if (known && positionals.length === 1) return { ...values, url: positionals[0] };
    console.error('usage: tasks.mjs --transport http --mode legacy|modern URL');
    process.exit(2);
}

const { transport, mode, url } = given();
const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no end after ${DEADLINE_MS} ms`);
});
try {
    const found = await Promise.race([drive(url, mode), late]);
    console.log(JSON.stringify({ client: 'ext-tasks', transport, mode, ...found, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`ext-tasks client, ${transport}, ${mode}: ${error.message}`);
    process.exit(1);
}
