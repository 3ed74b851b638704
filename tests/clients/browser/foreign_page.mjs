// A page of a foreign name, which leads to this machine as well, tries to read from the server: first as the origin of
// its requests, then with its own name as the server's (DNS rebinding).
//
// Prints what the page has read, by what it tried, as one JSON line, and exits with 0.

import { parseArgs } from 'node:util';

import { deadline, servePages, withBrowser } from './browser.mjs';

const DEADLINE_MS = 60_000;

/** Runs in the page. The token is a valid one: not even with it does the page read anything. */
async function tryAll({ url, token }) {
    const initialize = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
    });
    const call = JSON.stringify({
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
    });
    const named = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'polite-whoami' };
    const sse = url.replace(/\/mcp$/, '/sse');
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const authorization = { authorization: `Bearer ${token}` };
    const post = (headers, more) => () => fetch(url, { method: 'POST', headers, body: initialize, ...more });
    const attempts = {
        'POST with a token': post({ ...json, ...authorization }),
        'POST without a token': post(json),
        'POST as plain text, without a preflight': post({ 'content-type': 'text/plain' }),
        'POST that gives up reading': post({ 'content-type': 'text/plain' }, { mode: 'no-cors' }),
        'POST of a call': post({ ...json, ...authorization, ...named }, { body: call }),
        'POST of a call as plain text': post({ 'content-type': 'text/plain' }, { body: call }),
        'POST with cookies': post(json, { credentials: 'include' }),
        'GET a stream': () => fetch(url, { headers: { accept: 'text/event-stream', ...authorization } }),
        'GET of HTTP+SSE': () => fetch(sse, { headers: { accept: 'text/event-stream' } }),
        'DELETE a session': () =>
            fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': 'x', ...authorization } }),
    };
    const read = {};
    for (const [attempt, request] of Object.entries(attempts)) {
        read[attempt] = await request()
            .then(async (got) => (got.type === 'opaque' ? 'opaque' : `${got.status} ${await got.text()}`))
            .catch((error) => error.name);
    }
    read['EventSource'] = await new Promise((resolve) => {
        const source = new EventSource(sse);
        const end = (said) => (source.close(), resolve(said));
        source.onopen = () => end('open');
        source.onmessage = ({ data }) => end(data);
        source.onerror = () => end('error');
    });
    return read;
}

async function drive(url, token) {
    const pages = await servePages();
    try {
        return await withBrowser(async (browser) => {
            const page = await browser.newPage();
            await page.goto(`http://foreign.test:${pages.port}/foreign.html`);
            const read = await page.evaluate(tryAll, { url, token });
            const rebound = new URL(url);
            rebound.hostname = 'foreign.test';
            // The browser takes the server for the page's own origin, and sends no `Origin` with a GET.
            const metadata = new URL('/.well-known/oauth-protected-resource/mcp', rebound);
            const response = await page.goto(metadata.href);
            read['navigation to the name'] = `${response.status()}`;
            const own = await page.evaluate(tryAll, { url: rebound.href, token });
            for (const [attempt, found] of Object.entries(own)) read[`${attempt}, to the name`] = found;
            return read;
        });
    } finally {
        pages.close();
    }
}

const { positionals } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
const [url, token = 'none'] = positionals;
try {
    const read = await Promise.race([drive(url, token), deadline(DEADLINE_MS)]);
    console.log(JSON.stringify({ client: 'browser', read, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`a foreign page in Chromium: ${error.message}`);
    process.exit(1);
}
