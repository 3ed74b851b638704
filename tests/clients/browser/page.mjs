// The page: logs in with the official TypeScript package as pages do, by going to the authorization server and coming
// back, then does the whole protocol. Each login leaves the page, so what it has learnt is in the storage of its tab.
//
// It knows the test guests `polite` and `conformance`, of which `polite-add` needs the scope `tools:write`. The report
// is `window.report`. It holds no token.

import {
    Client,
    StreamableHTTPClientTransport,
    UnauthorizedError,
    extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';

const MODERN = '2026-07-28';
const HEADER_MISMATCH = -32020;
const STEPS = 3;

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

// A value that outlives a login.
const stored = (name, initial) => ({
    get: () => JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? initial,
    set: (value) => sessionStorage.setItem(name, JSON.stringify(value)),
});
const task = stored('task');
const challenges = stored('challenges', []);
const requests = stored('requests', []);

class Login {
    redirectUrl = `${location.origin}/callback`;
    clientMetadata = {
        client_name: 'plugport-tests',
        redirect_uris: [this.redirectUrl],
        token_endpoint_auth_method: 'none',
    };
    #client = stored('client');
    #tokens = stored('tokens');
    #verifier = stored('verifier');
    #discovery = stored('discovery');
    #state = stored('state');

    state = () => {
        this.#state.set(crypto.randomUUID());
        return this.#state.get();
    };
    expectedState = () => this.#state.get();
    clientInformation = () => this.#client.get() ?? undefined;
    saveClientInformation = (information) => this.#client.set(information);
    tokens = () => this.#tokens.get() ?? undefined;
    saveTokens = (tokens) => this.#tokens.set(tokens);
    codeVerifier = () => this.#verifier.get();
    saveCodeVerifier = (verifier) => this.#verifier.set(verifier);
    discoveryState = () => this.#discovery.get() ?? undefined;
    saveDiscoveryState = (state) => this.#discovery.set(state);
    redirectToAuthorization = (url) => location.assign(url);
}

// Notes every request with the names of the headers that mirror arguments, and every challenge.
async function recorded(url, init) {
    const response = await fetch(url, init);
    const mirrored = [...new Headers(init?.headers).keys()].filter((name) => name.startsWith('mcp-param-'));
    const line = [init?.method ?? 'GET', new URL(url).pathname, response.status, ...mirrored].join(' ');
    requests.set([...requests.get(), line]);
    if (response.headers.has('www-authenticate')) {
        const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
        const challenge = { status: response.status, error, scope, metadata: resourceMetadataUrl?.href };
        challenges.set([...challenges.get(), challenge]);
    }
    return response;
}

async function checkBeforeStepUp(client) {
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    expect(tools.includes('polite-add'), 'a tool that lacks only a scope is listed', tools);
    const [first] = challenges.get();
    const demanded = first?.status === 401 && first.metadata && first.scope && !first.error;
    expect(demanded, 'the page reads the challenge of a request without a token', first);
    const echo = await client.callTool({ name: 'polite-echo', arguments: { message: 'héllo ✓' } });
    expect(text(echo) === 'héllo ✓', 'echo returns the message', echo);
    const progress = [];
    const onprogress = (report) => progress.push(report.progress);
    await client.callTool({ name: 'polite-narrate', arguments: { steps: STEPS } }, { onprogress });
    expect(progress.length === STEPS && progress.at(-1) === STEPS, `${STEPS} reports arrive in order`, progress);
}

async function checkAfterStepUp(client, modern) {
    const [, second] = challenges.get();
    const demanded = second?.status === 403 && second.error === 'insufficient_scope' && second.metadata;
    expect(demanded && second.scope?.split(' ').includes('tools:write'), '403 demands the scope', second);
    expect(challenges.get().length === 2, 'there is one step-up', challenges.get());
    await checkMirroredArgument(client, modern);
}

// In a page the package mirrors no arguments in headers, since servers may not allow them to pages: the page does.
async function checkMirroredArgument(client, modern) {
    const call = { name: 'test_custom_header', arguments: { value: 'héllo ✓' } };
    if (modern) {
        const code = await client.callTool(call).then(() => 0, (error) => error.code);
        expect(code === HEADER_MISMATCH, 'the page reads the error of an argument that is not mirrored', code);
    }
    const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(call.arguments.value)));
    const headers = modern ? { 'Mcp-Param-Value': `=?base64?${base64}?=` } : {};
    const given = await client.callTool(call, { headers });
    expect(text(given) === 'Value: héllo ✓', 'a mirrored argument arrives', given);
    const mirrored = requests.get().some((line) => line.endsWith('200 mcp-param-value'));
    expect(mirrored === modern, 'the newest revision mirrors the argument', requests.get());
}

async function run() {
    const query = new URLSearchParams(location.search);
    if (query.has('url')) task.set({ url: query.get('url'), revision: query.get('revision') });
    const { url, revision } = task.get();
    const modern = revision === MODERN;
    const provider = new Login();
    const options = { authProvider: provider, fetch: recorded };
    const connection = () => new StreamableHTTPClientTransport(new URL(url), options);
    if (query.has('code')) {
        expect(query.get('state') === provider.expectedState(), 'the state comes back', query.get('state'));
        await connection().finishAuth(query);
    }
    const pinned = { versionNegotiation: { mode: { pin: revision } } };
    const versions = modern ? pinned : { supportedProtocolVersions: [revision] };
    const client = new Client({ name: 'plugport-tests', version: '1.0.0' }, versions);
    const transport = connection();
    await client.connect(transport);
    const spoken = client.getNegotiatedProtocolVersion();
    expect(spoken === revision, `the revision is ${revision}`, spoken);
    expect(modern || transport.sessionId, 'the page reads the id of its session', transport.sessionId);
    if (challenges.get().length < 2) await checkBeforeStepUp(client);
    const added = await client.callTool({ name: 'polite-add', arguments: { a: 2, b: 40 } });
    expect(JSON.parse(text(added)).sum === 42, 'add returns a sum after the step-up', added);
    await checkAfterStepUp(client, modern);
    if (!modern) await transport.terminateSession();
    await client.close();
    return { revision, challenges: challenges.get(), requests: requests.get(), scope: provider.tokens().scope };
}

try {
    window.report = { ok: true, ...(await run()) };
} catch (error) {
    // Where the package has gone to the authorization server, the page goes on when it comes back.
    if (!(error instanceof UnauthorizedError)) {
        window.report = { ok: false, error: `${error.name}: ${error.message}`, requests: requests.get() };
    }
}
