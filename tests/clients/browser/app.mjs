// Shows an app in Chromium and uses it as a person would. The mode says which one.
//
// Prints what the app showed and sent as one JSON line, and exits with 0.

import { parseArgs } from 'node:util';

import { deadline } from './browser.mjs';
import { withApp } from './shown_app.mjs';

const DEADLINE_MS = 60_000;

// The second city would run a script, if the page took it for HTML.
const DATA = 'city,age\nLondon,36\n<img src=x onerror=alert(1)>,7\nArlington,85\n';

// As SEP-1865 has them: one value for both themes.
const VARIABLES = { '--color-background-primary': 'light-dark(rgb(1, 2, 3), rgb(4, 5, 6))' };

const received = (page) => page.evaluate(() => window.received.map(({ method }) => method));
const background = (app) => app.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
const status = (app) => app.getByRole('status').innerText();

/** The table of `tables`, sorted by a column, up and down. */
function table(url) {
    const args = { data: DATA, by: 'city', column: 'age', functions: ['sum'] };
    return withApp({ url, name: 'tables-group', args }, async ({ page, app, frame }) => {
        await app.locator('tbody tr').nth(2).waitFor();
        const rows = () => app.locator('tbody tr').allInnerTexts();
        const before = await rows();
        await app.getByRole('button', { name: 'sum_age' }).click();
        const ascending = await rows();
        await page.keyboard.press('Enter');
        const descending = await rows();
        const refused = await frame.evaluate(attempt, ['fetch', url]);
        return { before, ascending, descending, refused, status: await status(app), received: await received(page) };
    });
}

/** The form of `notes`: writes a note, opens it, and does not replace it unasked. */
function form(url) {
    const hostContext = { theme: 'dark', styles: { variables: VARIABLES } };
    return withApp({ url, name: 'notes-find_notes', args: {}, hostContext }, async ({ page, app }) => {
        const says = (text) => app.getByRole('status').filter({ hasText: text }).waitFor();
        const save = async (title, text, then) => {
            await app.getByLabel('Title').fill(title);
            await app.getByLabel('Text').fill(text);
            await app.getByRole('button', { name: 'Save' }).click();
            await says(then);
        };
        await says('0 notes.');
        const dark = await background(app);
        await page.evaluate(() => window.setTheme('light'));
        await app.locator('html[style*="light"]').waitFor();
        const light = await background(app);
        await save('!', 'x', 'give the note a title');
        await app.getByLabel('Tags').fill('home, <b>');
        await save('Shopping <i>list</i>', '- milk\n- eggs', 'is saved');
        const listed = await app.getByRole('listitem').allInnerTexts();
        await save('shopping <I>list</I>', 'other', 'Save again to replace it');
        await app.getByRole('button', { name: 'Shopping' }).click();
        await says('is open');
        const opened = await app.getByLabel('Text').inputValue();
        await save('Shopping <i>list</i>', `${opened}\n- bread`, 'is replaced');
        await app.getByLabel('Find').fill('nothing');
        await app.getByLabel('Find').press('Enter');
        await says('0 notes.');
        return { dark, light, listed, opened, received: await received(page) };
    });
}

/** The same form where no store is granted: it says so, for the list and for a new note. */
function denied(url) {
    return withApp({ url, name: 'notes-find_notes', args: {} }, async ({ app }) => {
        const says = (text) => app.getByRole('status').filter({ hasText: text }).waitFor();
        await says('no store is granted');
        await app.getByRole('button', { name: 'New note' }).click();
        await app.getByLabel('Text').fill('x');
        await app.getByLabel('Title').fill('A');
        await app.getByRole('button', { name: 'Save' }).click();
        await says('no store is granted');
        return { status: await status(app) };
    });
}

/** The page of a new project, and what it reaches on a host that it may connect to, and on another one. */
function reach(url, granted, other) {
    return withApp({ url, name: 'hello-hello', args: { name: 'Ada' } }, async ({ app, frame }) => {
        await app.getByText('Ada').waitFor();
        const outcome = { status: await status(app) };
        for (const [name, host] of Object.entries({ granted, other })) {
            outcome[name] = {};
            for (const way of ['fetch', 'image', 'script', 'frame']) {
                outcome[name][way] = await frame.evaluate(attempt, [way, `${host}/${way}`]);
            }
        }
        // A policy does not stop a page from leaving; that of the sandbox around it does.
        await frame.evaluate((target) => location.assign(target), `${other}/left`);
        await frame.waitForURL((now) => now.protocol !== 'about:');
        return { ...outcome, left: frame.url() };
    });
}

/** Runs in an app: tries to reach a URL, and returns `reached`, or the rule by which the browser refused. */
function attempt([way, target]) {
    return new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
        if (way === 'fetch') return void fetch(target, { mode: 'no-cors' }).then(() => resolve('reached'), () => {});
        const element = document.createElement({ image: 'img', script: 'script', frame: 'iframe' }[way]);
        // A frame that is refused is loaded too, with an error.
        if (way !== 'frame') element.onload = () => resolve('reached');
        element.src = target;
        document.body.append(element);
    });
}

const SHOWN = { table, form, denied, reach };

const { positionals, values } = parseArgs({
    options: { transport: { type: 'string' }, mode: { type: 'string' } },
    allowPositionals: true,
});
try {
    const report = await Promise.race([SHOWN[values.mode](...positionals), deadline(DEADLINE_MS)]);
    console.log(JSON.stringify({ client: 'browser', ...report, ok: true }));
    process.exit(0);
} catch (error) {
    console.error(`an app in Chromium: ${error.message}`);
    process.exit(1);
}
