// Shows an app as a host does: in a sandboxed frame, under exactly the Content Security Policy that its `_meta.ui`
// declares, with a result for it. Then a column is clicked, and a script in the app tries to reach another host.
//
// Prints what the app showed and sent as one JSON line, and exits with 0.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { deadline, withBrowser } from './browser.mjs';

const DEADLINE_MS = 60_000;
const REVISION = '2026-07-28';
const RESULT = {
    content: [{ type: 'text', text: '3 groups' }],
    structuredContent: {
        rows: 4,
        groups: [
            { city: 'London', age: 36 },
            { city: '<img src=x onerror=alert(1)>', age: 7 },
            { city: 'Arlington', age: 85 },
        ],
    },
};

/** The contents of the app's resource, as a client gets them. */
async function read(url, uri) {
    const meta = {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientCapabilities': {},
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri, _meta: meta } };
    const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': REVISION,
        'mcp-method': 'resources/read',
        'mcp-name': uri,
    };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const { result, error } = await response.json();
    if (error) throw new Error(error.message);
    return result.contents[0];
}

/** The policy that a host makes of `csp` (SEP-1865). */
function policy(csp = {}) {
    const { connectDomains = [], resourceDomains = [], frameDomains = [], baseUriDomains = [] } = csp;
    const of = (domains, otherwise) => (domains.length > 0 ? domains.join(' ') : otherwise);
    const resources = resourceDomains.join(' ');
    return [
        "default-src 'none'",
        `script-src 'self' 'unsafe-inline' ${resources}`,
        `style-src 'self' 'unsafe-inline' ${resources}`,
        `img-src 'self' data: ${resources}`,
        `font-src 'self' ${resources}`,
        `media-src 'self' data: ${resources}`,
        `connect-src ${of(connectDomains, "'none'")}`,
        `frame-src ${of(frameDomains, "'none'")}`,
        `base-uri ${of(baseUriDomains, "'self'")}`,
        "object-src 'none'",
    ].join('; ');
}

/** The page around the frame: answers `ui/initialize`, and sends the result when the app is ready. */
const HOST = `<!doctype html><title>Host</title><iframe sandbox="allow-scripts" src="/app"></iframe><script>
window.received = [];
addEventListener('message', ({ source, data }) => {
    window.received.push(data.method);
    const send = (message) => source.postMessage({ jsonrpc: '2.0', ...message }, '*');
    if (data.method === 'ui/initialize') {
        const hostContext = { theme: 'light', styles: { variables: { '--font-sans': 'serif' } } };
        send({ id: data.id, result: { protocolVersion: '2026-01-26', hostCapabilities: {}, hostContext } });
    } else if (data.method === 'ui/notifications/initialized') {
        send({ method: 'ui/notifications/tool-input', params: { arguments: {} } });
        send({ method: 'ui/notifications/tool-result', params: ${JSON.stringify(RESULT).replaceAll('<', '\\u003c')} });
    }
});
</script>`;

async function drive(url, uri) {
    const app = await read(url, uri);
    const csp = policy(app._meta?.ui?.csp);
    let reached = 0;
    const server = createServer((request, response) => {
        response.setHeader('content-type', 'text/html');
        if (request.url === '/app') return response.setHeader('content-security-policy', csp).end(app.text);
        if (request.url === '/') return response.end(HOST);
        reached += request.url === '/phone' ? 1 : 0;
        return response.setHeader('access-control-allow-origin', '*').end();
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${server.address().port}`;
    try {
        return await withBrowser(async (browser) => {
            const page = await browser.newPage();
            const faults = [];
            page.on('pageerror', (error) => faults.push(error.message));
            await page.goto(origin);
            const frame = page.frameLocator('iframe');
            await frame.locator('tbody tr').nth(2).waitFor();
            const rows = () => frame.locator('tbody tr').allInnerTexts();
            const before = await rows();
            await frame.getByRole('button', { name: 'age' }).click();
            const ascending = await rows();
            await frame.getByRole('button', { name: 'age' }).click();
            const descending = await rows();
            const status = await frame.getByRole('status').innerText();
            const phone = (target) => fetch(target).then(() => 'reached', (error) => error.name);
            const phoned = await page.frames()[1].evaluate(phone, `${origin}/phone`);
            const received = await page.evaluate(() => window.received);
            return { mime: app.mimeType, before, ascending, descending, status, phoned, reached, received, faults };
        });
    } finally {
        server.close();
    }
}

const { positionals } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
try {
    const report = await Promise.race([drive(...positionals), deadline(DEADLINE_MS)]);
    console.log(JSON.stringify({ client: 'browser', ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`an app in Chromium: ${error.message}`);
    process.exit(1);
}
