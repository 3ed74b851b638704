// The web page of the Inspector, in Chromium, connects to a server, lists its tools and calls one.
//
// The page of version 2 has no direct mode: it talks to the Inspector's own server, which forwards. The address of the
// page names the server under test, and the token of the Inspector's server lets it connect without a click. Prints one
// JSON line and exits with 0, or says on stderr what was wrong and exits with 1.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { deadline, withBrowser } from './browser.mjs';

// Installed beside this folder, for the tests of its command line.
const PROGRAM = '../inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const TOKEN = 'a-token-of-the-inspector';
const DEADLINE_MS = 90_000;
const START_MS = 30_000;

async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
}

async function withInspector(work) {
    const home = await mkdtemp(join(tmpdir(), 'plugport-inspector-'));
    const port = await freePort();
    const settings = {
        HOME: home,
        CLIENT_PORT: String(port),
        MCP_SANDBOX_PORT: '0',
        MCP_APP_ORIGIN_PORT: '0',
        MCP_STORAGE_DIR: home,
        MCP_INSPECTOR_API_TOKEN: TOKEN,
        MCP_INSPECTOR_SECRET_STORE: 'memory',
        MCP_AUTO_OPEN_ENABLED: 'false',
    };
    const program = fileURLToPath(new URL(PROGRAM, import.meta.url));
    const inspector = spawn(process.execPath, [program, '--web'], {
        env: { ...process.env, ...settings },
        stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(inspector, 'exit');
    try {
        const address = `http://127.0.0.1:${port}/`;
        const end = Date.now() + START_MS;
        while (!(await fetch(address).catch(() => false))) {
            if (inspector.exitCode !== null || Date.now() > end) throw new Error('the Inspector does not start');
            await sleep(100);
        }
        return await work(address);
    } finally {
        inspector.kill();
        await ended;
        await rm(home, { recursive: true, force: true, maxRetries: 5 });
    }
}

async function drive(url) {
    return withInspector((address) =>
        withBrowser(async (browser) => {
            const page = await browser.newPage();
            const query = new URLSearchParams({ serverUrl: url, transport: 'http', autoConnect: TOKEN });
            await page.goto(`${address}?${query}`);
            await page.getByText('Connected', { exact: true }).waitFor();
            const revision = await page.getByText(/^MCP 20\d\d-\d\d-\d\d$/).innerText();
            await page.getByText('Tools', { exact: true }).first().click();
            const tools = page.getByTestId('tools-screen');
            await tools.getByRole('button', { name: 'polite-echo' }).click();
            await tools.getByRole('textbox', { name: 'message' }).fill('héllo ✓');
            await tools.getByRole('button', { name: 'Execute Tool' }).click();
            await page.locator('[data-testid=tools-screen][data-call-status=ok]').waitFor();
            const said = await tools.innerText();
            if (!said.includes('héllo ✓')) throw new Error(`echo returns the message; found ${said}`);
            return { revision, tools: Number(await tools.getAttribute('data-tool-count')) };
        }),
    );
}

const { positionals } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
try {
    const report = await Promise.race([drive(positionals[0]), deadline(DEADLINE_MS)]);
    console.log(JSON.stringify({ client: 'inspector page', ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`the page of the Inspector: ${error.message}`);
    process.exit(1);
}
