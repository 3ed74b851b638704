// The page of a host: calls a tool of a server and shows its app, with the helpers of the extension's own package. The
// app is two frames down, in a sandbox of another origin. `shown_app.mjs` bundles this module, and calls `show`.
//
// What the app has sent is `window.received`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
    AppBridge,
    PostMessageTransport,
    RESOURCE_MIME_TYPE,
    getToolUiResourceUri,
} from '@modelcontextprotocol/ext-apps/app-bridge';

const HOST = { name: 'plugport-tests', version: '1.0.0' };
const REVISION = '2026-07-28';
const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } };

window.received = [];

async function connect(url) {
    const versionNegotiation = { mode: { pin: REVISION } };
    const client = new Client(HOST, { capabilities: CAPABILITIES, versionNegotiation });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
}

/** The tool, and the contents of its app; no contents for a tool without one. */
async function find(client, name) {
    const tool = (await client.listTools()).tools.find((tool) => tool.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    const uri = getToolUiResourceUri(tool);
    return { tool, app: uri && (await client.readResource({ uri })).contents[0] };
}

/** Calls the tool, shows its app in the frame, and returns what the server said of the app. */
window.show = async ({ url, sandbox, name, args, hostContext }) => {
    const client = await connect(url);
    const { tool, app } = await find(client, name);
    if (!app) return null;
    const { csp, permissions } = app._meta.ui;
    const capabilities = { serverTools: {}, serverResources: {}, sandbox: { csp, permissions } };
    const context = { toolInfo: { tool }, ...hostContext };
    const bridge = new AppBridge(client, HOST, capabilities, { hostContext: context });
    window.setTheme = (theme) => bridge.setHostContext({ ...context, theme });
    const frame = document.querySelector('iframe');
    addEventListener('message', ({ source, data }) => {
        if (source === frame.contentWindow) window.received.push(data);
    });
    bridge.addEventListener('sandboxready', () => {
        // Not even forms and the sandbox's origin, which a host may allow: an app has to do without.
        bridge.sendSandboxResourceReady({ html: app.text, sandbox: 'allow-scripts', csp, permissions });
    });
    const initialized = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    frame.src = `${sandbox}?${new URLSearchParams({ csp: JSON.stringify(csp) })}`;
    await initialized;
    await bridge.sendToolInput({ arguments: args });
    await bridge.sendToolResult(await client.callTool({ name, arguments: args }));
    return { mime: app.mimeType, csp };
};
