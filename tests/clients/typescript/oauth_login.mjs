// Logs in to a protected server with the official TypeScript package: discovery, token, call, step-up, call.
//
// The server is taken for what it says on the wire: this file knows the test guest `polite`, of which `polite-add`
// needs the scope `tools:write`, and the authorization server of `tests/clients/authorization-server`, whose first line
// of output is the last argument. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits
// with 1. Neither holds a token.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import {
    Client,
    ClientCredentialsProvider,
    PrivateKeyJwtProvider,
    SSEClientTransport,
    StreamableHTTPClientTransport,
    UnauthorizedError,
    extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';

const MODERN = '2026-07-28';
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', MODERN];
const TRANSPORTS = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };
const GRANTS = ['registered', 'document', 'public', 'secret', 'key'];
const REDIRECT_URI = 'http://127.0.0.1:7591/callback'; // Nothing listens there: the redirect is read, not followed.
const DEADLINE_MS = 60_000;

function expect(condition, what, found) {
    if (!condition) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const text = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

// A person's login, without the person: the authorization server approves at once, so the answer is the redirect.
class Login {
    redirectUrl = REDIRECT_URI;
    clientMetadata = {
        client_name: 'plugport-tests',
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: 'none',
    };
    saved = {};

    constructor({ client, clientMetadataUrl, person }) {
        this.saved.clientInformation = client;
        this.clientMetadataUrl = clientMetadataUrl;
        this.person = person;
    }
    state = () => crypto.randomUUID();
    clientInformation = () => this.saved.clientInformation;
    saveClientInformation = (information) => void (this.saved.clientInformation = information);
    tokens = () => this.saved.tokens;
    saveTokens = (tokens) => void (this.saved.tokens = tokens);
    codeVerifier = () => this.saved.verifier;
    saveCodeVerifier = (verifier) => void (this.saved.verifier = verifier);
    discoveryState = () => this.saved.discovery;
    saveDiscoveryState = (state) => void (this.saved.discovery = state);

    async redirectToAuthorization(url) {
        url.searchParams.set('login_hint', this.person);
        const response = await fetch(url, { redirect: 'manual' });
        const location = response.headers.get('location');
        expect(location?.startsWith(REDIRECT_URI), 'the login is approved', [response.status, await response.text()]);
        this.callback = new URL(location).searchParams;
        expect(this.callback.get('state') === url.searchParams.get('state'), 'the state comes back', location);
    }
}

function authProvider(grant, server, person) {
    const { machine_secret: secret, machine_key: key, issuer: expectedIssuer } = server;
    const machines = {
        secret: () =>
            new ClientCredentialsProvider({
                clientId: secret.client_id,
                clientSecret: secret.client_secret,
                expectedIssuer,
            }),
        key: () =>
            new PrivateKeyJwtProvider({
                clientId: key.client_id,
                privateKey: key.private_key,
                algorithm: key.algorithm,
                expectedIssuer,
            }),
        registered: () => new Login({ person }),
        document: () => new Login({ person, clientMetadataUrl: server.client_document }),
        public: () => new Login({ person, client: { client_id: server.public_client, issuer: expectedIssuer } }),
    };
    return machines[grant]();
}

// Every request, and each challenge of the server. Queries, which hold codes, are left out.
function recorded(requests, challenges) {
    return async (url, init) => {
        const response = await fetch(url, init);
        requests.push(`${init?.method ?? 'GET'} ${new URL(url).pathname} ${response.status}`);
        if (response.headers.has('www-authenticate')) {
            const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
            challenges.push({ status: response.status, error, scope, metadata: resourceMetadataUrl?.href });
        }
        return response;
    };
}

// The package stops where a person has to log in, and leaves it to its caller to go on with the code.
async function loggingIn(connection, provider, operation) {
    try {
        return await operation();
    } catch (error) {
        if (!(error instanceof UnauthorizedError && provider.callback)) throw error;
        await connection.current.finishAuth(provider.callback);
        provider.callback = undefined;
        return await operation();
    }
}

async function checkLogin(client, challenges) {
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    const first = challenges.at(0);
    const demanded = first?.status === 401 && first.metadata && first.scope && !first.error;
    expect(demanded, 'a request without a token is 401 with metadata and scope, and without an error', first);
    expect(tools.includes('polite-add'), 'a tool that lacks only a scope is listed', tools);
    const echo = await client.callTool({ name: 'polite-echo', arguments: { message: 'héllo ✓' } });
    expect(text(echo) === 'héllo ✓', 'echo returns the message', echo);
    expect(challenges.length === 1, 'nothing is demanded again', challenges);
    return tools;
}

async function checkStepUp(client, challenges, add) {
    const added = await add();
    // Revisions before 2025-06-18 have no structured results.
    expect(JSON.parse(text(added)).sum === 42, 'add returns a sum after the step-up', added);
    const second = challenges.at(1);
    const demanded = second?.status === 403 && second.error === 'insufficient_scope' && second.metadata;
    expect(demanded && second.scope?.split(' ').includes('tools:write'), '403 demands the scope', second);
    const again = await client.callTool({ name: 'polite-echo', arguments: { message: 'again' } });
    expect(text(again) === 'again', 'the second token is good for the first tool', again);
    expect(challenges.length === 2, 'there is one step-up', challenges);
}

async function drive({ transport, mode, url, grant, server, person }) {
    const requests = [];
    const challenges = [];
    const provider = authProvider(grant, server, person);
    const connection = {};
    const modern = mode === MODERN;
    const versions = modern ? { versionNegotiation: { mode: { pin: mode } } } : { supportedProtocolVersions: [mode] };
    const connect = async () => {
        const client = new Client({ name: 'plugport-tests', version: '1.0.0' }, versions);
        const authorized = { authProvider: provider, fetch: recorded(requests, challenges) };
        connection.current = new TRANSPORTS[transport](new URL(url), authorized);
        await client.connect(connection.current, { timeout: DEADLINE_MS });
        return client;
    };
    const client = await loggingIn(connection, provider, connect);
    const revision = client.getNegotiatedProtocolVersion();
    expect(revision === mode, `the revision is ${mode}`, revision);
    const tools = await checkLogin(client, challenges);
    const scopes = [(await provider.tokens()).scope];
    const add = () => client.callTool({ name: 'polite-add', arguments: { a: 2, b: 40 } });
    // The package's client of the transport of 2024-11-05 does not step up.
    if (transport === 'http') {
        await checkStepUp(client, challenges, () => loggingIn(connection, provider, add));
        scopes.push((await provider.tokens()).scope);
    }
    await client.close();
    return { revision, tools, challenges, scopes, requests };
}

function parseOptions() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const [url, grant, server, person = 'alice'] = positionals;
    const valid = Object.hasOwn(TRANSPORTS, values.transport ?? '') && REVISIONS.includes(values.mode);
    if (valid && GRANTS.includes(grant) && server) {
        return { ...values, url, grant, server: JSON.parse(server), person };
    }
    const positions = `URL ${GRANTS.join('|')} SERVER [PERSON]`;
    console.error(`usage: oauth_login.mjs --transport http|sse --mode REVISION ${positions}`);
    process.exit(2);
}

const options = parseOptions();
const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no end after ${DEADLINE_MS} ms`);
});
const { transport, mode, grant } = options;
try {
    const report = await Promise.race([drive(options), late]);
    console.log(JSON.stringify({ client: 'typescript', transport, mode, grant, ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`typescript client, ${transport}, ${mode}, ${grant}: ${error.message}`);
    process.exit(1);
}
