import assert from "node:assert/strict";
import { test } from "node:test";

import { invoke } from "plugport-sdk/testing";

import { links, outline, toHtml, toText } from "../src/plugin";

const DOCUMENT = `# Guide to *things*

First [the site](https://example.com "Home"),
then ![a \`map\`](map.png) and <https://example.org>.

## Install

1. Get it
2. Run it
   - as root
   - or not

| name | where |
|------|-------|
| docs | [here](docs/) |

### On Linux

    make

## Use [it][ref]

[ref]: use.md
`;

test("html is made, and html in the document is only shown", async () => {
  const { text } = await invoke(toHtml, {
    markdown: "*a* <script>alert(1)</script> [x](javascript:alert(1))",
  });
  assert.equal(text, "<p><em>a</em> &lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1))</p>\n");
});

test("lines may be kept", async () => {
  assert.equal((await invoke(toHtml, { markdown: "a\nb", breaks: true })).text, "<p>a<br>\nb</p>\n");
});

test("headings are numbered by their levels", async () => {
  const { structured } = await invoke(outline, { markdown: DOCUMENT });
  assert.equal(structured.outline, "1 Guide to things\n  1.1 Install\n    1.1.1 On Linux\n  1.2 Use it");
  assert.deepEqual(structured.headings[2], { level: 3, number: "1.1.1", text: "On Linux", line: 17 });
});

test("levels that are left out or beyond the depth are not counted", async () => {
  const { structured } = await invoke(outline, { markdown: "## a\n#### b\n### c\n# d", depth: 3 });
  assert.equal(structured.outline, "1 a\n  1.1 c\n2 d");
});

test("links and images are found with their lines", async () => {
  const { structured } = await invoke(links, { markdown: DOCUMENT });
  assert.deepEqual(structured.links, [
    { kind: "link", target: "https://example.com", text: "the site", title: "Home", line: 3 },
    { kind: "image", target: "map.png", text: "a map", line: 4 },
    { kind: "link", target: "https://example.org", text: "https://example.org", line: 4 },
    { kind: "link", target: "docs/", text: "here", line: 15 },
    { kind: "link", target: "use.md", text: "it", line: 21 },
  ]);
  const images = await invoke(links, { markdown: DOCUMENT, kind: "image" });
  assert.equal(images.structured.links.length, 1);
});

test("each line counts, whatever it ends in", async () => {
  const markdown = '`a\nb` [c](d)\n![e\nf](g "h\ni") [j\nk](l) [m]\n<https://n.o>\n\n[m]: p\n';
  const { structured } = await invoke(links, { markdown });
  assert.deepEqual(
    structured.links.map(({ target, line }: { target: string; line: number }) => `${line} ${target}`),
    ["2 d", "3 g", "5 l", "6 p", "7 https://n.o"],
  );
});

test("many links take no longer each", async () => {
  const { structured } = await invoke(links, { markdown: "[a](b)\n".repeat(70_000) });
  assert.equal(structured.links.length, 70_000);
  assert.equal(structured.links.at(-1).line, 70_000);
});

test("an empty item has its mark", async () => {
  assert.equal((await invoke(toText, { markdown: "-\n\nHello" })).text, "-\n\nHello");
  assert.equal((await invoke(toText, { markdown: "1. a\n2.\n3. c" })).text, "1. a\n2.\n3. c");
});

test("an item that begins with a list has its mark", async () => {
  assert.equal((await invoke(toText, { markdown: "1. - a\n   -\n2. b" })).text, "1.\n  - a\n  -\n2. b");
  assert.equal((await invoke(toText, { markdown: "- a\n-\n  - b" })).text, "- a\n-\n  - b");
  assert.equal((await invoke(toText, { markdown: "- - - a" })).text, "-\n  -\n    - a");
});

test("an image within a link is both", async () => {
  const { structured } = await invoke(links, { markdown: "[![alt](a.png)](b)" });
  assert.deepEqual(
    structured.links.map(({ kind, text }: { kind: string; text: string }) => `${kind} ${text}`),
    ["link alt", "image alt"],
  );
});

test("text has no marks", async () => {
  const { text } = await invoke(toText, { markdown: DOCUMENT });
  assert.equal(
    text,
    `Guide to things

First the site,
then a map and https://example.org.

Install

1. Get it
2. Run it
  - as root
  - or not

name\twhere
docs\there

On Linux

make

Use it`,
  );
});
