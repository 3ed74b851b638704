// An app as a host shows it: the page of the host, and the sandbox of another origin, which has exactly the Content
// Security Policy that follows from what the server declares for the app (SEP-1865).

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { withBrowser } from './browser.mjs';

const PAGE =
    '<!doctype html><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">' +
    '<iframe sandbox="allow-scripts allow-same-origin"></iframe><script type="module" src="/host.mjs"></script>';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The policy that a host makes of `csp`, with nothing in `connect-src` that is not in `csp`. */
export function policy(csp) {
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

async function serve(respond) {
    const server = createServer(respond);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: server.address().port, close: () => server.close() };
}

async function serveHost() {
    const options = { bundle: true, format: 'esm', platform: 'browser', write: false };
    const { outputFiles } = await build({ entryPoints: [here('app_host.mjs')], ...options });
    return serve(({ url }, response) => {
        const isScript = url === '/host.mjs';
        response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
        response.end(isScript ? outputFiles[0].text : PAGE);
    });
}

async function serveSandbox() {
    const page = await readFile(here('app_sandbox.html'));
    return serve(({ url }, response) => {
        const csp = JSON.parse(new URL(url, 'http://127.0.0.1').searchParams.get('csp'));
        response.setHeader('content-type', 'text/html').setHeader('content-security-policy', policy(csp)).end(page);
    });
}

/**
 * Calls a tool, shows its app, and runs `work` with the page of the host, the app in it, and what the server said of
 * it, which is `null` for a tool without an app. Adds the errors of the pages to what `work` returns.
 */
export async function withApp({ url, name, args, hostContext = { theme: 'light' } }, work) {
    const [host, sandbox] = await Promise.all([serveHost(), serveSandbox()]);
    try {
        return await withBrowser(async (browser) => {
            const page = await browser.newPage();
            const faults = [];
            page.on('pageerror', (error) => faults.push(error.message));
            await page.goto(`http://127.0.0.1:${host.port}/`);
            await page.waitForFunction(() => window.show);
            // Another name of the same machine is another site.
            const target = { url, sandbox: `http://localhost:${sandbox.port}/`, name, args, hostContext };
            const about = await page.evaluate((target) => window.show(target), target);
            const app = page.frameLocator('iframe').frameLocator('iframe');
            const report = await work({ page, app, frame: page.frames().at(-1) });
            return { ...about, faults, ...report };
        });
    } finally {
        host.close();
        sandbox.close();
    }
}
