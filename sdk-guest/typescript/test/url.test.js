// `URL` of components beside that of Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { URL as Ours } from "../src/url/url.js";
import { URLSearchParams as Params } from "../src/url/search_params.js";

const parts = "href origin protocol username password host hostname port pathname search hash".split(" ");
const shown = (url) => Object.fromEntries(parts.map((part) => [part, url[part]]));

/** The same numbers in each run. */
function numbers() {
  let seed = 1;
  return (below) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % below;
  };
}

const PIECES =
  "http: https: a: / // \\ a B . .. %2e %41 %zz ? # @ : 80 443 8080 x=1 & + ' \" { [::1] [1:2::3:4] 1.2.3.4 0x7f.1 01"
    .split(" ")
    .concat([" ", "\t", "[::ffff:1.2.3.4]", "host.example", "mailto:", "[0:0:1:0:0:0:1:0]", "<", "`", "|"]);
const BASES = [undefined, "http://u:p@h.test:81/a/b?q#f", "https://h/"];

test("URLs are read as everywhere else", () => {
  const random = numbers();
  let readable = 0;
  for (let at = 0; at < 20_000; at += 1) {
    const url = Array.from({ length: 1 + random(7) }, () => PIECES[random(PIECES.length)]).join("");
    const base = BASES[random(BASES.length)];
    const expected = URL.canParse(url, base) ? shown(new URL(url, base)) : undefined;
    if (expected) {
      readable += 1;
      assert.deepEqual(shown(new Ours(url, base)), expected, `${url} in ${base}`);
    } else assert.throws(() => new Ours(url, base), TypeError, `${url} in ${base}`);
  }
  assert.ok(readable > 5_000, String(readable));
});

test("names that are not ASCII are rejected, and paths are encoded", () => {
  assert.throws(() => new Ours("https://münchen.test/"), /in ASCII/);
  assert.equal(new Ours("https://a.test/ü 😀?ü#ü").href, new URL("https://a.test/ü 😀?ü#ü").href);
  assert.deepEqual(
    [Ours.canParse("x"), Ours.parse("x"), Ours.parse("x", "a://b/").href],
    [false, null, "a://b/x"],
  );
});

test("parts of a URL are set as everywhere else", () => {
  const values = [
    "",
    "a",
    "/b c",
    "?x=ü",
    "#y",
    "9",
    "99999",
    "http",
    "https:",
    "h.test:8",
    "[::1]",
    "a@b",
    "ftp",
    "\t",
    "a\tb\r\n",
    "\n/x\ty",
    "\t?q\nr",
    "\r#f\tg",
    "8\t2",
    "ht\ntp",
    "h\t.test:\n9",
  ];
  for (const start of ["http://u@h.test:81/a/b?q#f", "https://h/", "mailto:x"]) {
    for (const part of parts.filter((name) => name !== "origin" && name !== "href")) {
      // Node.js 20 drops the port for what is none.
      for (const value of values.filter((value) => part !== "port" || !/^[h[\s]/.test(value))) {
        const [ours, theirs] = [new Ours(start), new URL(start)];
        ours[part] = value;
        theirs[part] = value;
        assert.deepEqual(shown(ours), shown(theirs), `${start}: ${part} = ${value}`);
      }
    }
  }
});

test("parameters and their URL follow each other", () => {
  const run = (Kind) => {
    const url = new Kind("https://a.test/?b=1&a=%20+&b=2&c");
    const before = [...url.searchParams];
    url.searchParams.append("ü", "x&y=z~'()");
    url.searchParams.set("b", "3");
    url.searchParams.delete("c");
    url.searchParams.sort();
    const changed = url.href;
    url.search = "?k=v&k=w";
    return [before, changed, url.searchParams.getAll("k"), url.searchParams.get("x"), url.searchParams.size];
  };
  assert.deepEqual(run(Ours), run(URL));
  for (const init of ["?a=1&&=2&b", { a: "1", b: 2 }, [["a", "b c"]], new Map([["x", "y"]]), "a=%ff%C3%BC"]) {
    assert.equal(String(new Params(init)), String(new URLSearchParams(init)));
  }
  const params = new Params("a=1&a=2&b=1");
  params.delete("a", "2");
  assert.deepEqual(
    [params.has("a", "2"), params.has("a", "1"), [...params.keys()]],
    [false, true, ["a", "b"]],
  );
  assert.throws(() => new Params([["a"]]), TypeError);
});
