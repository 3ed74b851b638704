// Opens the page in Chromium, which logs in and does the whole protocol in one revision.
//
// Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { parseArgs } from 'node:util';

import { deadline, servePages, withBrowser } from './browser.mjs';

const DEADLINE_MS = 60_000;

async function drive(url, revision) {
    const pages = await servePages();
    try {
        return await withBrowser(async (browser) => {
            const page = await browser.newPage();
            const said = [];
            page.on('console', (message) => said.push(message.text()));
            page.on('pageerror', (error) => said.push(error.message));
            const query = new URLSearchParams({ url, revision });
            await page.goto(`http://127.0.0.1:${pages.port}/page.html?${query}`);
            // The page leaves for the authorization server and comes back, and the wait goes on in the new document.
            const report = await page
                .waitForFunction(() => window.report, undefined, { timeout: DEADLINE_MS })
                .then((handle) => handle.jsonValue())
                .catch((error) => ({ ok: false, error: error.message }));
            if (!report.ok) throw new Error(`${report.error}\n${[...(report.requests ?? []), ...said].join('\n')}`);
            const version = browser.browser()?.version();
            return { ...report, browser: version };
        });
    } finally {
        pages.close();
    }
}

const { values, positionals } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
const [url] = positionals;
try {
    const report = await Promise.race([drive(url, values.mode), deadline(DEADLINE_MS + 10_000)]);
    console.log(JSON.stringify({ client: 'browser', mode: values.mode, ...report }));
    process.exit(0);
} catch (error) {
    console.error(`a page in Chromium, ${values.mode}: ${error.message}`);
    process.exit(1);
}
