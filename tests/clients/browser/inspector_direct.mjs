// The web page of the Inspector 1, in Chromium, connects to a server directly, lists its tools and calls one.
//
// In this mode the page is a client of another origin, so the browser asks the server for everything that the page
// sends (CORS). The page sends a token too. Nothing runs at the address of the Inspector's own server, which forwards
// in the other mode. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { deadline, servePages, withBrowser } from './browser.mjs';

// Installed beside this folder, with version 2.
const PAGES = '../inspector/node_modules/@modelcontextprotocol/inspector-client/dist/';
const DEADLINE_MS = 60_000;

/** Runs in the page before its own scripts. */
function configure(token) {
    localStorage.setItem('lastConnectionType', 'direct');
    const header = { name: 'Authorization', value: `Bearer ${token}`, enabled: true };
    localStorage.setItem('lastCustomHeaders', JSON.stringify([header]));
}

async function call(browser, address, [url, token]) {
    const page = await browser.newPage();
    const sent = new Set();
    page.on('request', async (request) => {
        if (request.url() === url) sent.add(await request.headerValue('origin'));
    });
    await page.addInitScript(configure, token);
    const query = new URLSearchParams({ serverUrl: url, transport: 'streamable-http' });
    await page.goto(`${address}?${query}`);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.getByRole('button', { name: 'List Tools' }).click();
    await page.getByText('polite-echo', { exact: true }).click();
    await page.getByRole('textbox', { name: 'message' }).fill('héllo ✓');
    await page.getByRole('button', { name: 'Run Tool' }).click();
    await page.getByText('Tool Result: Success').waitFor();
    const result = page.getByRole('heading', { name: 'Tool Result' }).locator('..');
    const said = await result.innerText();
    if (!said.includes('héllo ✓')) throw new Error(`echo returns the message; found ${said}`);
    return [...sent];
}

async function drive(target) {
    const pages = await servePages(fileURLToPath(new URL(PAGES, import.meta.url)));
    const address = `http://127.0.0.1:${pages.port}/`;
    try {
        const origins = await withBrowser((browser) => call(browser, address, target));
        return { is_direct: origins.join() === new URL(address).origin };
    } finally {
        pages.close();
    }
}

const { positionals } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
try {
    const report = await Promise.race([drive(positionals), deadline(DEADLINE_MS)]);
    console.log(JSON.stringify({ client: 'inspector page, direct', ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`the page of the Inspector 1: ${error.message}`);
    process.exit(1);
}
