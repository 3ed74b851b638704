// What the scripts of this folder share: a browser that reaches nothing but this machine, and a server for its pages.

import { createServer } from 'node:http';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.mjs': 'text/javascript' };
// Paths that are no files: where a page begins, and where a login returns to.
const FILES = { '/': 'index.html', '/callback': 'page.html' };
const QUIET = [
    '--no-sandbox', // Chromium's own sandbox does not start as root; the pages are those of this folder.
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // Only loopback names resolve, and the name of a foreign page, which leads to this machine as well.
    '--host-resolver-rules=MAP foreign.test 127.0.0.1, EXCLUDE 127.0.0.1, EXCLUDE localhost, MAP * ~NOTFOUND',
];

/** Runs `work` in a new browser, whose program is `PLUGPORT_TEST_BROWSER`, with a new profile. */
export async function withBrowser(work) {
    const profile = await mkdtemp(join(tmpdir(), 'plugport-browser-'));
    const executablePath = process.env.PLUGPORT_TEST_BROWSER;
    let context;
    try {
        context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: QUIET });
        return await work(context);
    } finally {
        await context?.close();
        await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
}

/** Serves this folder with its packages, or another folder, on a free port of loopback. */
export async function servePages(root = ROOT) {
    const server = createServer(async (request, response) => {
        const { pathname } = new URL(request.url, 'http://127.0.0.1');
        const file = normalize(join(root, FILES[pathname] ?? decodeURIComponent(pathname)));
        try {
            if (!file.startsWith(root + (root.endsWith(sep) ? '' : sep))) throw new Error('outside of the folder');
            const body = await readFile(file);
            response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(body);
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: server.address().port, close: () => server.close() };
}

/** Rejects when a script takes too long. */
export function deadline(milliseconds) {
    return new Promise((_, reject) => {
        setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds).unref();
    });
}
