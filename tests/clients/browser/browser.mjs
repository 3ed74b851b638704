// Lets a page in Chromium speak to a server, with the official TypeScript package: bundles `page.mjs`, serves it from a
// port of its own, shows it to a headless Chromium, and waits for what the page reports.
//
// No driver is needed, as the page acts by itself, and logs in by navigating as a person's browser would. With
// `foreign`, the page comes from the name `page.example` instead of from loopback. Prints one JSON line and exits with
// 0, or says on stderr what was wrong and exits with 1.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';

const FOREIGN_HOST = 'page.example';
const GRANTS = ['none', 'registered', 'document', 'foreign'];
const DEADLINE_MS = 90_000;
const MAX_BODY = 1024 * 1024;
const HTML = '<!doctype html><meta charset="utf-8"><title>Test</title><script type="module" src="/page.js"></script>';
const FLAGS = [
    '--headless=new',
    '--no-sandbox', // which needs rights that the superuser of a container lacks
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
    '--no-proxy-server',
    `--host-resolver-rules=MAP ${FOREIGN_HOST} 127.0.0.1`,
];

async function bundle() {
    const entry = fileURLToPath(new URL('page.mjs', import.meta.url));
    const output = { bundle: true, format: 'esm', platform: 'browser', target: 'es2022', write: false };
    const { outputFiles } = await build({ entryPoints: [entry], ...output, logLevel: 'silent' });
    return outputFiles[0].text;
}

async function read(request) {
    const chunks = [];
    let length = 0;
    for await (const chunk of request) {
        length += chunk.length;
        if (length > MAX_BODY) throw new Error('the report is too large');
        chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks));
}

// Serves the page, and resolves `reported` with the page's report.
async function servePage(task) {
    const script = await bundle();
    const reports = new EventEmitter();
    const reported = once(reports, 'report').then(([report]) => report);
    const files = {
        '/': ['text/html', HTML],
        '/callback': ['text/html', HTML],
        '/page.js': ['text/javascript', script],
        '/task': ['application/json', JSON.stringify(task)],
    };
    const server = createServer((request, response) => {
        const { pathname } = new URL(request.url, 'http://page');
        if (pathname === '/report') {
            const received = (report) => (reports.emit('report', report), response.end());
            return read(request).then(received, (error) => received({ error: error.message }));
        }
        const [type, body] = files[pathname] ?? [];
        response.writeHead(type ? 200 : 404, { 'content-type': type ?? 'text/plain' }).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, port: server.address().port, reported };
}

// Shows a page until the report is there, and resolves with the report.
async function show(url, profile, reported) {
    // A group of its own, as Chromium's helpers would outlive it.
    const options = { stdio: ['ignore', 'ignore', 'pipe'], detached: true };
    const chromium = spawn('chromium', [...FLAGS, `--user-data-dir=${profile}`, url], options);
    const stop = () => chromium.pid && process.kill(-chromium.pid, 'SIGKILL');
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (stop(), process.exit(1)));
    const messages = [];
    chromium.stderr.on('data', (chunk) => messages.length < 100 && messages.push(chunk));
    const ended = once(chromium, 'exit').then(
        ([code]) => {
            throw new Error(`Chromium ended early with ${code}:\n${Buffer.concat(messages)}`);
        },
        (error) => {
            throw new Error(`Chromium does not start; install Debian's package chromium: ${error.message}`);
        },
    );
    const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
        throw new Error(`no report after ${DEADLINE_MS} ms`);
    });
    try {
        return await Promise.race([reported, ended, late]);
    } finally {
        if (chromium.exitCode === null) stop();
        await ended.catch(() => {});
    }
}

async function drive({ transport, mode, url, grant, server, person }) {
    const foreign = grant === 'foreign';
    const document = grant === 'document' ? server.client_document : undefined;
    const { server: pages, port, reported } = await servePage({ transport, mode, url, document, foreign, person });
    const profile = await mkdtemp(join(tmpdir(), 'plugport-browser-'));
    try {
        return await show(`http://${foreign ? FOREIGN_HOST : '127.0.0.1'}:${port}/`, profile, reported);
    } finally {
        pages.close();
        await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
}

function parseOptions() {
    const { values, positionals } = parseArgs({
        options: { transport: { type: 'string' }, mode: { type: 'string' } },
        allowPositionals: true,
    });
    const [url, grant, server = '{}', person = 'alice'] = positionals;
    const valid = ['http', 'sse'].includes(values.transport) && /^20\d\d-\d\d-\d\d$/.test(values.mode ?? '');
    if (valid && GRANTS.includes(grant)) return { ...values, url, grant, server: JSON.parse(server), person };
    console.error(`usage: browser.mjs --transport http|sse --mode REVISION URL ${GRANTS.join('|')} [SERVER [PERSON]]`);
    process.exit(2);
}

const options = parseOptions();
const { transport, mode, grant } = options;
try {
    const { error, ...report } = await drive(options);
    if (error) throw new Error(`${error}\n${JSON.stringify(report)}`);
    console.log(JSON.stringify({ client: 'browser', transport, mode, grant, ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`browser, ${transport}, ${mode}, ${grant}: ${error.message}`);
    process.exit(1);
}
