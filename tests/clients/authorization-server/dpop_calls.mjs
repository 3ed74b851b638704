// Calls a protected server with a token that is bound to a key (DPoP), as its holder and as a thief would.
//
// The authorization server binds the token, and `jose` signs the proofs, so nothing here is code of this project. The
// arguments are the URL of the server and the first line of output of `authorization_server.mjs`. Prints one JSON line:
// for each call its status and challenge. No token is printed.

import { createHash, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

import { SignJWT, exportJWK, generateKeyPair } from 'jose';

const { positionals, values } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string', default: 'ES256' } },
    allowPositionals: true,
});
const [server, introduction] = positionals;
const algorithm = values.mode; // of the client's key
const authorizationServer = JSON.parse(introduction);

const digest = (text) => createHash('sha256').update(text).digest('base64url');

async function newKey() {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
    return { privateKey, jwk: await exportJWK(publicKey), secret: await exportJWK(privateKey) };
}

// A proof of `key`; `header` and `claims` replace what a good one has.
function proof(key, claims, header = {}) {
    const payload = { jti: randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims };
    return new SignJWT(payload)
        .setProtectedHeader({ typ: 'dpop+jwt', alg: algorithm, jwk: key.jwk, ...header })
        .sign(key.privateKey);
}

async function accessToken(key) {
    const { issuer, machine_secret: client } = authorizationServer;
    const headers = { authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}` };
    if (key) headers.dpop = await proof(key, { htm: 'POST', htu: `${issuer}/token` });
    const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'tools', resource: server });
    const response = await fetch(`${issuer}/token`, { method: 'POST', headers, body });
    const token = await response.json();
    if (!response.ok) throw new Error(`no token: ${JSON.stringify(token)}`);
    if (token.token_type !== (key ? 'DPoP' : 'Bearer')) throw new Error(`its type is ${token.token_type}`);
    return token.access_token;
}

const CALL = {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'polite-whoami' },
    body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
            name: 'polite-whoami',
            arguments: {},
            _meta: {
                'io.modelcontextprotocol/protocolVersion': '2026-07-28',
                'io.modelcontextprotocol/clientCapabilities': {},
            },
        },
    }),
};

const INITIALIZE = {
    body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'dpop', version: '1' } },
    }),
};

// The id of the session that `INITIALIZE` has begun.
let session;

const inSession = (method) => ({
    method,
    headers: { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': session },
});

async function send(scheme, token, proofs, { method = 'POST', headers: more, body } = CALL) {
    const headers = new Headers({
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...more,
    });
    if (token) headers.set('authorization', `${scheme} ${token}`);
    // Several values become one line with commas, as a proxy may join them.
    for (const value of proofs) headers.append('dpop', value);
    const response = await fetch(server, { method, headers, body });
    const challenge = response.headers.get('www-authenticate');
    session ??= response.headers.get('mcp-session-id') ?? undefined;
    if (method === 'GET' && response.ok) {
        // The stream has no end of its own.
        await response.body.cancel();
        return { status: response.status, challenge, principal: null };
    }
    const text = await response.text();
    return { status: response.status, challenge, principal: /"principal":"([^"]*)"/.exec(text)?.[1] ?? null };
}

const key = await newKey();
const thief = await newKey();
const token = await accessToken(key);
const other = await accessToken(key);
const free = await accessToken();
const good = (claims, header) => proof(key, { htm: 'POST', htu: server, ath: digest(token), ...claims }, header);
const now = Math.floor(Date.now() / 1000);
const used = await good();

const calls = {
    'no token': () => send('DPoP', null, []),
    proven: () => send('DPoP', token, [used]),
    replayed: () => send('DPoP', token, [used]),
    'proven again': async () => send('DPoP', token, [await good()]),
    'no proof': () => send('DPoP', token, []),
    'two proofs': async () => send('DPoP', token, [await good(), await good()]),
    'as Bearer': () => send('Bearer', token, []),
    'as Bearer with a proof': async () => send('Bearer', token, [await good()]),
    'another method': async () => send('DPoP', token, [await good({ htm: 'GET' })]),
    'another path': async () => send('DPoP', token, [await good({ htu: server.replace('/mcp', '/other') })]),
    'another host': async () => send('DPoP', token, [await good({ htu: 'https://other.example/mcp' })]),
    'another token': async () => send('DPoP', token, [await good({ ath: digest(other) })]),
    'no token in it': async () => send('DPoP', token, [await good({ ath: undefined })]),
    'an hour old': async () => send('DPoP', token, [await good({ iat: now - 3600 })]),
    'an hour ahead': async () => send('DPoP', token, [await good({ iat: now + 3600 })]),
    'another type': async () => send('DPoP', token, [await good({}, { typ: 'JWT' })]),
    'a private key': async () => send('DPoP', token, [await good({}, { jwk: key.secret })]),
    'the key of a thief': async () =>
        send('DPoP', token, [await proof(thief, { htm: 'POST', htu: server, ath: digest(token) })]),
    'signed by a thief': async () =>
        send('DPoP', token, [
            await proof({ ...thief, jwk: key.jwk }, { htm: 'POST', htu: server, ath: digest(token) }),
        ]),
    'a free token': () => send('Bearer', free, []),
    'a free token as DPoP': async () => send('DPoP', free, [await good({ ath: digest(free) })]),
    'no such session': async () => send('DPoP', token, [await good({ htm: 'DELETE' })], { method: 'DELETE' }),
    'a session': async () => send('DPoP', token, [await good()], INITIALIZE),
    'its stream': async () => send('DPoP', token, [await good({ htm: 'GET' })], inSession('GET')),
    'its stream with the proof of a POST': async () => send('DPoP', token, [await good()], inSession('GET')),
    'its end without a proof': () => send('DPoP', token, [], inSession('DELETE')),
    'its end': async () => send('DPoP', token, [await good({ htm: 'DELETE' })], inSession('DELETE')),
};
const report = {};
for (const [name, call] of Object.entries(calls)) report[name] = await call();
console.log(JSON.stringify(report));
