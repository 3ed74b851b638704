// Mints access tokens and their key set with `jose`, which shares no code with this project, and prints them as JSON.
//
// Each algorithm has a key of its own, whose JWK names its algorithm, use and id. The private keys are thrown away. The
// file `tests/support/oauth_vectors.json` was made here, with the packages of the two requirement files installed:
//
//     printf '[%s,%s]' "$(node mint.mjs)" "$(python mint.py)" | python -m json.tool > ../../support/oauth_vectors.json

import { createRequire } from 'node:module';

import { CompactEncrypt, FlattenedSign, SignJWT, base64url, exportJWK, exportSPKI, generateKeyPair } from 'jose';

const { version } = createRequire(import.meta.url)('jose/package.json');
const ISSUER = 'https://idp.example.com';
const AUDIENCE = 'https://tools.example.com/mcp';
const ISSUED = 1_700_000_000; // 2023-11-14
const EXPIRES = 4_102_444_800; // 2100-01-01
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'];
const THUMBPRINT = 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg0'; // of a key or certificate that nobody proves
const UNSUPPORTED = ['ES512', 'Ed25519'];
const CLAIMS = {
    iss: ISSUER,
    sub: 'alice',
    aud: ['https://other.example.com/', AUDIENCE],
    client_id: 'chat',
    scope: 'tools tools:write',
    groups: ['analysts', 'staff'],
    jti: 'f3f5c5b0',
    iat: ISSUED,
    nbf: ISSUED,
    exp: EXPIRES,
};

const keys = {};
const jwks = { keys: [] };
for (const alg of [...ALGORITHMS, ...UNSUPPORTED]) {
    keys[alg] = await generateKeyPair(alg, { extractable: true });
    jwks.keys.push({ ...(await exportJWK(keys[alg].publicKey)), kid: `jose-${alg}`, alg, use: 'sig' });
}
const { privateKey: stranger } = await generateKeyPair('ES256');

const header = (alg, more) => ({ typ: 'at+jwt', alg, kid: `jose-${alg}`, ...more });
const without = (name) => Object.fromEntries(Object.entries(CLAIMS).filter(([claim]) => claim !== name));
const mint = (claims, head = header('ES256'), key = keys[head.alg].privateKey, options = {}) =>
    new SignJWT(claims).setProtectedHeader(head).sign(key, options);
const es256 = (more) => header('ES256', more);

const fit = {};
for (const alg of ALGORITHMS) fit[alg] = await mint(CLAIMS, header(alg));
fit['long type'] = await mint(CLAIMS, es256({ typ: 'application/at+jwt' }));
fit['capitals in the type'] = await mint(CLAIMS, es256({ typ: 'AT+JWT' }));
fit['no key id'] = await mint(CLAIMS, es256({ kid: undefined }));
fit['audience as text'] = await mint({ ...CLAIMS, aud: AUDIENCE });
fit['audience with a slash'] = await mint({ ...CLAIMS, aud: `${AUDIENCE}/` });
fit['unknown claims'] = await mint({ ...CLAIMS, 'https://example.com/é': [{ nested: null }], ver: 2.5 });

const publicPem = new TextEncoder().encode(await exportSPKI(keys.RS256.publicKey));
const embedded = await generateKeyPair('ES256', { extractable: true });
const jwk = await exportJWK(embedded.publicKey);
const payload = new TextEncoder().encode(JSON.stringify(CLAIMS));
// The signature is over the text as it stands in the token (RFC 7797), so it fits a verifier that overlooks `crit`.
const encodedPayload = base64url.encode(payload);
const unencoded = await new FlattenedSign(new TextEncoder().encode(encodedPayload))
    .setProtectedHeader(es256({ b64: false, crit: ['b64'] }))
    .sign(keys.ES256.privateKey);
const idJag = { ...CLAIMS, resource: AUDIENCE, aud: ISSUER };
const unfit = {
    expired: await mint({ ...CLAIMS, exp: ISSUED + 60 }),
    'not yet valid': await mint({ ...CLAIMS, nbf: EXPIRES - 60 }),
    'issued in the future': await mint({ ...CLAIMS, iat: EXPIRES - 60 }),
    'no expiry': await mint(without('exp')),
    'no subject': await mint(without('sub')),
    'no issuer': await mint(without('iss')),
    'no audience': await mint(without('aud')),
    'issuer with a slash': await mint({ ...CLAIMS, iss: `${ISSUER}/` }),
    'audience is a prefix': await mint({ ...CLAIMS, aud: 'https://tools.example.com/' }),
    'audience has a prefix': await mint({ ...CLAIMS, aud: `${AUDIENCE}-other` }),
    'id token': await mint({ ...CLAIMS, aud: 'chat', nonce: 'n', at_hash: 'x' }, es256({ typ: 'JWT' })),
    'id token with our audience': await mint({ ...CLAIMS, nonce: 'n' }, es256({ typ: 'JWT' })),
    'id-jag': await mint(idJag, es256({ typ: 'oauth-id-jag+jwt' })),
    'id-jag with our audience': await mint(CLAIMS, es256({ typ: 'oauth-id-jag+jwt' })),
    'logout token': await mint({ ...CLAIMS, events: {} }, es256({ typ: 'logout+jwt' })),
    'bound to a DPoP key': await mint({ ...CLAIMS, cnf: { jkt: THUMBPRINT } }),
    'bound to a certificate': await mint({ ...CLAIMS, cnf: { 'x5t#S256': THUMBPRINT } }),
    'critical header': await mint(CLAIMS, es256({ crit: ['exp'], exp: EXPIRES }), keys.ES256.privateKey, {
        crit: { exp: true },
    }),
    'unencoded payload': `${unencoded.protected}.${encodedPayload}.${unencoded.signature}`,
    'HMAC with the public key': await mint(CLAIMS, header('HS256', { kid: 'jose-RS256' }), publicPem),
    'key of another algorithm': await mint(CLAIMS, header('RS256', { kid: 'jose-PS256' })),
    'key of another type': await mint(CLAIMS, es256({ kid: 'jose-RS256' })),
    'unpublished key': await mint(CLAIMS, es256({ kid: 'jose-unpublished' }), stranger),
    'another key under this id': await mint(CLAIMS, es256(), stranger),
    'key in the header': await mint(CLAIMS, es256({ kid: undefined, jwk }), embedded.privateKey),
    'key set in the header': await mint(CLAIMS, es256({ jku: 'https://evil.example/jwks' }), stranger),
    'path as key id': await mint(CLAIMS, es256({ kid: '../../../../dev/null' }), stranger),
    encrypted: await new CompactEncrypt(payload)
        .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', typ: 'at+jwt', kid: 'jose-RS256' })
        .encrypt(await generateKeyPair('RSA-OAEP-256').then((pair) => pair.publicKey)),
};
for (const alg of UNSUPPORTED) unfit[`algorithm ${alg}`] = await mint(CLAIMS, header(alg));

const expected = { issuer: ISSUER, audience: AUDIENCE, subject: 'alice', client: 'chat', expires: EXPIRES };
const report = { maker: `jose ${version}`, ...expected, scopes: CLAIMS.scope.split(' '), groups: CLAIMS.groups };
console.log(JSON.stringify({ ...report, jwks, fit, unfit }));
