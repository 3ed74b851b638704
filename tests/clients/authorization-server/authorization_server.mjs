// An authorization server for tests: `oidc-provider`, which approves every login at once.
//
// The server under test must accept tokens of software that shares no code with it, so the protocol is the package's.
// This file owns three things: the policy (nobody is asked; `login_hint` in the authorization request says who logs
// in), the keys, and the paths below `/test`, by which a test rotates keys, simulates an outage, counts requests and
// gets tokens that no honest server would sign.
//
// The server listens on loopback only, keeps everything in memory, and ends when its standard input ends, so a killed
// test leaves no process behind. The first line of its standard output is one JSON object: the issuer and the clients.

import { constants, createHmac, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

// The package prints its notices on standard output, which belongs to the first line.
console.info = console.warn;
const { default: Provider, interactionPolicy } = await import('oidc-provider');

const SCOPES = ['tools', 'tools:write'];
const MAX_BODY = 64 * 1024;
const SESSION_SECONDS = 3600;
const PEOPLE = {
    alice: { groups: ['analysts'], realm_access: { roles: ['analysts', 'staff'] } },
    bob: { groups: ['builders'], realm_access: { roles: ['builders'] } },
};
const KEY_TYPES = {
    ES256: ['ec', { namedCurve: 'P-256' }],
    ES384: ['ec', { namedCurve: 'P-384' }],
    RS256: ['rsa', { modulusLength: 2048 }],
    PS256: ['rsa', { modulusLength: 2048 }],
    EdDSA: ['ed25519', {}],
};

const { values: options } = parseArgs({
    options: {
        port: { type: 'string', default: '0' },
        format: { type: 'string', default: 'jwt' }, // of access tokens: `jwt` or `opaque`
        algorithm: { type: 'string', default: 'ES256' },
        ttl: { type: 'string', default: '3600' }, // seconds that an access token lives
    },
});
const port = Number(options.port);
const ttl = Number(options.ttl);

// The newest key of an algorithm signs; older ones stay published.

function newKey(algorithm) {
    const { privateKey } = generateKeyPairSync(...KEY_TYPES[algorithm]);
    const kid = `${algorithm}-${randomBytes(4).toString('hex')}`;
    const jwk = { ...privateKey.export({ format: 'jwk' }), alg: algorithm, use: 'sig', kid };
    return { algorithm, kid, privateKey, jwk };
}

const keys = ['ES256', 'RS256', 'PS256', 'EdDSA'].map(newKey);
let signingAlgorithm = options.algorithm;

// The storage outlives a rotation, for which the package needs a new provider.

const stored = new Map();
const entriesWith = (field, value) => [...stored].filter(([, entry]) => entry[field] === value);

class Adapter {
    constructor(kind) {
        this.kind = kind;
    }
    key = (id) => `${this.kind}:${id}`;
    upsert = async (id, entry) => void stored.set(this.key(id), entry);
    destroy = async (id) => void stored.delete(this.key(id));
    findByUid = async (uid) => entriesWith('uid', uid).at(0)?.[1];
    consume = async (id) => void (stored.get(this.key(id)).consumed = Math.floor(Date.now() / 1000));

    async find(id) {
        const entry = stored.get(this.key(id));
        if (this.kind !== 'Client' || !entry) return entry;
        // Clients register with the scope of their first challenge. If that scope were the limit, none could step up.
        const { scope, ...client } = entry;
        return client;
    }
    async revokeByGrantId(grantId) {
        for (const [key] of entriesWith('grantId', grantId)) stored.delete(key);
    }
}

const clientKey = newKey('ES256');
const { d, ...clientPublicJwk } = clientKey.jwk;
const person = {
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback'], // RFC 8252: a loopback redirect may have any port
    token_endpoint_auth_method: 'none',
};
const machine = { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] };
const clients = {
    public: { ...person, client_id: 'public' },
    secret: { ...machine, client_id: 'machine-secret', client_secret: 'correct-horse-battery-staple' },
    post: {
        ...machine,
        client_id: 'machine-post',
        client_secret: 'staple-battery-horse-correct',
        token_endpoint_auth_method: 'client_secret_post',
    },
    key: {
        ...machine,
        client_id: 'machine-key',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [clientPublicJwk] },
    },
    // The form-encoded name and secret differ from the plain ones (RFC 6749, section 2.3.1).
    resource: { ...machine, grant_types: [], client_id: 'resource server', client_secret: 'a:b%20c+d/e=&f' },
};
// The metadata document of a client whose id is its URL. The package would fetch it; this file is the only source.
const document = { ...person, client_id: 'https://client.example/oauth-client.json', client_name: 'A client' };

async function fetchDocument(url) {
    if (String(url) !== document.client_id) return new Response('', { status: 404 });
    return new Response(JSON.stringify(document), { headers: { 'content-type': 'application/json' } });
}

const resourceServer = (resource) => ({
    scope: SCOPES.join(' '),
    audience: resource,
    accessTokenTTL: ttl,
    accessTokenFormat: options.format,
    jwt: { sign: { alg: signingAlgorithm } },
});

async function grantEverything({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.account.accountId });
    grant.addOIDCScope(oidc.params.scope ?? '');
    for (const resource of Object.keys(oidc.resourceServers)) grant.addResourceScope(resource, SCOPES.join(' '));
    await grant.save(SESSION_SECONDS);
    return grant;
}

// Logs a person in before the package looks for a session, so the first response is the redirect to the client.
const logInAtOnce = (provider) => async (ctx, next) => {
    if (ctx.path === '/auth') {
        const session = new provider.Session();
        session.loginAccount({ accountId: ctx.query.login_hint ?? 'alice' });
        await session.save(SESSION_SECONDS);
        ctx.req.headers.cookie = `_session=${session.id}`;
    }
    await next();
};

function newProvider() {
    const policy = interactionPolicy.base();
    for (const prompt of policy) prompt.checks.clear();
    const provider = new Provider(issuer, {
        adapter: Adapter,
        clients: Object.values(clients),
        jwks: { keys: keys.map((key) => key.jwk) },
        scopes: ['openid', 'offline_access', ...SCOPES],
        cookies: { keys: ['test'], short: { signed: false }, long: { signed: false } },
        interactions: { policy },
        loadExistingGrant: grantEverything,
        findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...PEOPLE[id] }) }),
        extraTokenClaims: (_, token) => PEOPLE[token.accountId],
        issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
        clientBasedCORS: () => true,
        fetch: fetchDocument,
        ttl: { Session: SESSION_SECONDS, Grant: SESSION_SECONDS, RefreshToken: SESSION_SECONDS },
        features: {
            devInteractions: { enabled: false },
            clientCredentials: { enabled: true },
            registration: { enabled: true },
            introspection: { enabled: true },
            revocation: { enabled: true },
            resourceIndicators: { enabled: true, getResourceServerInfo: (_, resource) => resourceServer(resource) },
            clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
        },
    });
    provider.use(logInAtOnce(provider));
    return provider;
}

// Tokens that a test makes up.

const base64url = (value) => Buffer.from(value).toString('base64url');
const sha = (alg) => `sha${alg.slice(2)}`;

function signature(alg, { privateKey }, text) {
    if (alg === 'none') return Buffer.alloc(0);
    if (alg.startsWith('HS')) {
        // Key confusion: the public key, which everybody knows, used as the secret of an HMAC.
        const secret = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
        return createHmac(sha(alg), secret).update(text).digest();
    }
    if (alg === 'EdDSA') return sign(null, Buffer.from(text), privateKey);
    if (alg.startsWith('ES')) return sign(sha(alg), text, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    if (alg.startsWith('RS')) return sign(sha(alg), text, privateKey);
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
    return sign(sha(alg), text, { key: privateKey, ...padding });
}

function keyNamed(name) {
    if (name === 'unpublished') return newKey('ES256');
    const key = keys.find(({ kid, algorithm }) => kid === name || algorithm === name);
    if (!key) throw new Error(`no key is named ${name}`);
    return key;
}

// The header and claims replace the defaults; `null` removes one. `payload` is the whole payload as text.
function forge({ key: name = signingAlgorithm, header, claims, payload }) {
    const key = keyNamed(name);
    const now = Math.floor(Date.now() / 1000);
    const sub = 'alice';
    const merged = (defaults, more) => {
        const fields = Object.entries({ ...defaults, ...more }).filter(([, value]) => value !== null);
        return Object.fromEntries(fields);
    };
    const head = merged({ typ: 'at+jwt', alg: key.algorithm, kid: key.kid }, header);
    const times = { iat: now, exp: now + ttl };
    const body = merged({ iss: issuer, sub, client_id: 'public', scope: SCOPES[0], ...times }, claims);
    const text = `${base64url(JSON.stringify(head))}.${base64url(payload ?? JSON.stringify(body))}`;
    return `${text}.${base64url(signature(String(head.alg), key, text))}`;
}

const testPaths = {
    // Adds a key, which signs from now on. With `drop`, the algorithm's older keys are no longer published.
    '/test/rotate': ({ algorithm = signingAlgorithm, drop = false }) => {
        const key = newKey(algorithm);
        const remaining = keys.filter((older) => !drop || older.algorithm !== algorithm);
        keys.splice(0, keys.length, key, ...remaining);
        signingAlgorithm = algorithm;
        respond = newProvider().callback();
        return { kid: key.kid };
    },
    '/test/token': (wish) => ({ access_token: forge(wish) }),
    // Every path but these responds with `status`, if it is not 0, after `delay_ms`.
    '/test/outage': ({ status = 0, delay_ms = 0 }) => (outage = { status, delay_ms }),
    '/test/requests': () => Object.fromEntries(counts),
};

const counts = new Map();
let outage = { status: 0, delay_ms: 0 };
let issuer;
let respond;

async function readJson(request) {
    const chunks = [];
    let length = 0;
    for await (const chunk of request) {
        length += chunk.length;
        if (length > MAX_BODY) throw new Error('the body is too large');
        chunks.push(chunk);
    }
    return length > 0 ? JSON.parse(Buffer.concat(chunks)) : {};
}

async function handle(request, response) {
    const { pathname } = new URL(request.url, issuer);
    if (Object.hasOwn(testPaths, pathname)) {
        const result = testPaths[pathname](await readJson(request));
        return response.setHeader('content-type', 'application/json').end(JSON.stringify(result));
    }
    if (pathname === '/reg') {
        // The package lets pages log in, but not register.
        response.setHeader('access-control-allow-origin', '*').setHeader('access-control-allow-headers', '*');
        if (request.method === 'OPTIONS') return response.writeHead(204).end();
    }
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1);
    const { status, delay_ms } = outage;
    if (delay_ms) await sleep(delay_ms);
    return status ? response.writeHead(status).end() : respond(request, response);
}

const server = createServer((request, response) => {
    handle(request, response).catch((error) => response.writeHead(400).end(`${error.message}\n`));
});
server.listen(port, '127.0.0.1', () => {
    issuer = `http://127.0.0.1:${server.address().port}`;
    respond = newProvider().callback();
    const { secret, post, key, resource } = clients;
    const introduction = {
        issuer,
        scopes: SCOPES,
        public_client: clients.public.client_id,
        client_document: document.client_id,
        machine_secret: { client_id: secret.client_id, client_secret: secret.client_secret },
        machine_post: { client_id: post.client_id, client_secret: post.client_secret },
        machine_key: {
            client_id: key.client_id,
            algorithm: clientKey.algorithm,
            private_key: clientKey.privateKey.export({ type: 'pkcs8', format: 'pem' }),
        },
        introspection: { client_id: resource.client_id, client_secret: resource.client_secret },
    };
    console.log(JSON.stringify(introduction));
});
process.stdin.on('end', () => process.exit(0)).resume();
