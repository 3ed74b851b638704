// What the page in the browser does: it connects, lists, calls and, where the server demands it, logs in and steps up.
//
// A login leaves the page: the browser goes to the authorization server, which sends it back at once with a code. So
// all that must survive is in `sessionStorage`, and each visit of the page begins again with a connection. The page
// reports to the program that served it, `browser.mjs`; a report never holds a token.

import {
    Client,
    SSEClientTransport,
    StreamableHTTPClientTransport,
    UnauthorizedError,
    extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';

const MODERN = '2026-07-28';
const TRANSPORTS = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };
const STEPS = 3;
const ARRIVAL_MS = 5_000;
const MAX_LOGINS = 2;

const task = await (await fetch('/task')).json();
const state = JSON.parse(sessionStorage.getItem('state') ?? '{"logins":0,"requests":[],"challenges":[]}');
const save = () => sessionStorage.setItem('state', JSON.stringify(state));
const report = (body) => fetch('/report', { method: 'POST', body: JSON.stringify(body) });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const stored = (field) => ({ get: () => state[field], set: (value) => ((state[field] = value), save()) });
const [information, tokens, verifier, discovery] = ['information', 'tokens', 'verifier', 'discovery'].map(stored);
const redirectUrl = `${location.origin}/callback`;
const provider = {
    redirectUrl,
    clientMetadata: { client_name: 'a page', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
    clientMetadataUrl: task.document,
    clientInformation: information.get,
    saveClientInformation: information.set,
    tokens: tokens.get,
    saveTokens: tokens.set,
    codeVerifier: verifier.get,
    saveCodeVerifier: verifier.set,
    discoveryState: discovery.get,
    saveDiscoveryState: discovery.set,
    redirectToAuthorization(url) {
        state.logins += 1;
        expect(state.logins <= MAX_LOGINS, 'the page logs in and steps up once', state.challenges);
        save();
        url.searchParams.set('login_hint', task.person);
        location.assign(url);
    },
};

async function recordedFetch(url, init) {
    const response = await fetch(url, init);
    state.requests.push(`${init?.method ?? 'GET'} ${new URL(url).pathname} ${response.status}`);
    // Scripts read this header only where the server exposes it.
    if (response.headers.has('www-authenticate')) {
        const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
        state.challenges.push({ status: response.status, error, scope, metadata: resourceMetadataUrl?.href });
    }
    save();
    return response;
}

const newTransport = () =>
    new TRANSPORTS[task.transport](new URL(task.url), { authProvider: provider, fetch: recordedFetch });

async function connect() {
    const modern = { versionNegotiation: { mode: { pin: MODERN } } };
    const versions = task.mode === MODERN ? modern : { supportedProtocolVersions: [task.mode] };
    const client = new Client({ name: 'plugport-tests', version: '1.0.0' }, versions);
    const progress = [];
    client.setNotificationHandler('notifications/progress', ({ params }) => void progress.push(params.progress));
    const transport = newTransport();
    await client.connect(transport);
    const revision = client.getNegotiatedProtocolVersion();
    expect(revision === task.mode, `the revision is ${task.mode}`, revision);
    return { client, transport, progress };
}

async function checkCalls({ client, progress }) {
    const tools = (await client.listTools()).tools;
    const echo = await client.callTool({ name: 'polite-echo', arguments: { message: 'héllo ✓' } });
    expect(text(echo) === 'héllo ✓', 'echo returns the message', echo);
    const narrate = { name: 'polite-narrate', arguments: { steps: STEPS }, _meta: { progressToken: 'narration' } };
    await client.callTool(narrate);
    const end = Date.now() + ARRIVAL_MS;
    while (progress.length < STEPS && Date.now() < end) await sleep(10);
    expect(progress.length === STEPS, `narrate reports progress ${STEPS} times`, progress);
    const header = await callWithHeader(client, tools);
    return { tools: tools.map((tool) => tool.name), header };
}

// In a browser the package does not repeat arguments in headers, as servers cannot be relied on to allow these. This
// page does it, so the server's preflight must allow a header that only the tool's schema names.
async function callWithHeader(client, tools) {
    for (const tool of tools) {
        const properties = Object.entries(tool.inputSchema.properties ?? {});
        const [name, schema] = properties.find(([, each]) => typeof each['x-mcp-header'] === 'string') ?? [];
        if (!name) continue;
        const header = `Mcp-Param-${schema['x-mcp-header']}`;
        const headers = task.mode === MODERN ? { [header]: 'north' } : {};
        const called = await client.callTool({ name: tool.name, arguments: { [name]: 'north' } }, { headers });
        expect(!called.isError, 'a tool with an argument in a header is called', called);
        return header;
    }
}

async function checkStepUp({ client }) {
    const added = await client.callTool({ name: 'polite-add', arguments: { a: 2, b: 40 } });
    expect(JSON.parse(text(added)).sum === 42, 'add returns a sum', added);
}

async function visit() {
    const callback = new URLSearchParams(location.search);
    if (callback.has('state') || callback.has('code') || callback.has('error')) {
        await newTransport().finishAuth(callback);
        history.replaceState(null, '', '/');
    }
    const connection = await connect();
    state.calls ??= await checkCalls(connection);
    save();
    if (task.transport === 'http') await checkStepUp(connection);
    if (connection.transport.sessionId) await connection.transport.terminateSession();
    await connection.client.close();
    const { calls, logins, requests, challenges } = state;
    await report({ origin: location.origin, ...calls, logins, scope: state.tokens?.scope, requests, challenges });
}

// A page of another site: whatever it may send, it must not learn anything but the public metadata.
async function attack() {
    const initialize = {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'foreign', version: '1' } },
    };
    const body = JSON.stringify(initialize);
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const attempts = {
        post: [task.url, { method: 'POST', headers: json, body }],
        simple: [task.url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body }],
        opaque: [task.url, { method: 'POST', mode: 'no-cors', body }],
        stream: [task.url, { headers: { accept: 'text/event-stream' } }],
        bearer: [task.url, { method: 'POST', headers: { ...json, authorization: 'Bearer x' }, body }],
    };
    const read = {};
    for (const [name, [url, init]] of Object.entries(attempts)) {
        const outcome = fetch(url, init).then(async (response) => [response.type, await response.text()]);
        read[name] = await outcome.catch((error) => error.name);
    }
    read.sdk = await connect().then(() => 'connected', (error) => error.name);
    await report({ origin: location.origin, read });
}

try {
    await (task.foreign ? attack() : visit());
} catch (error) {
    const { requests, challenges } = state;
    // A login throws, too: by then the browser is on its way to the authorization server.
    const leaving = error instanceof UnauthorizedError && state.logins <= MAX_LOGINS;
    if (!leaving) await report({ error: `${error.name}: ${error.message}`, requests, challenges });
}
