// The host of a URL in its usual form: names in small letters, and addresses as everybody writes them. Names have to be
// ASCII, since the tables of Unicode that turn others into ASCII are larger than this SDK.

import { percentDecode, percentEncode, SETS } from "./percent.js";

const FORBIDDEN = /[\x00\t\n\r #/:<>?@[\\\]^|]/;
const FORBIDDEN_IN_NAMES = /[\x00-\x20#%/:<>?@[\\\]^|\x7f]/;

/** `undefined` if it is no host. */
export function parseHost(text, isSpecial) {
  if (text.startsWith("[")) return text.endsWith("]") ? ipv6(text.slice(1, -1)) : undefined;
  if (!isSpecial) return FORBIDDEN.test(text) ? undefined : percentEncode(text, SETS.opaque);
  const name = percentDecode(text).toLowerCase();
  if (/[^\x00-\x7f]/.test(name)) throw new TypeError(`write the host \`${name}\` in ASCII, as xn--...`);
  if (name === "" || FORBIDDEN_IN_NAMES.test(name)) return undefined;
  return endsInNumber(name) ? ipv4(name) : name;
}

function labels(name) {
  const all = name.split(".");
  if (all.length > 1 && all.at(-1) === "") all.pop();
  return all;
}

const endsInNumber = (name) => /^(?:[0-9]+|0x[0-9a-f]*)$/.test(labels(name).at(-1));

function ipv4(name) {
  const numbers = labels(name).map(ipv4Number);
  const last = numbers.pop();
  const fits =
    numbers.length < 4 && numbers.every((number) => number < 256) && last < 256 ** (4 - numbers.length);
  if (!fits) return undefined;
  const address = numbers.reduce((sum, number, at) => sum + number * 256 ** (3 - at), last);
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

/** Decimal, octal after a 0, hexadecimal after 0x; `NaN` for anything else. */
function ipv4Number(text) {
  if (/^0x[0-9a-f]*$/.test(text)) return parseInt(text.slice(2) || "0", 16);
  if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
  return /^(?:0|[1-9][0-9]*)$/.test(text) ? Number(text) : NaN;
}

function ipv6(text) {
  const halves = text.split("::");
  const [head, tail = []] = halves.map(pieces);
  if (halves.length > 2 || !head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  const isComplete = halves.length === 1 ? missing === 0 : missing > 0;
  return isComplete ? `[${shortened([...head, ...Array(missing).fill(0), ...tail])}]` : undefined;
}

/** The numbers of one side of `::`. */
function pieces(text) {
  if (text === "") return [];
  const all = [];
  const parts = text.split(":");
  for (const [at, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) all.push(parseInt(part, 16));
    else if (at === parts.length - 1 && /^(?:(?:0|[1-9][0-9]{0,2})(?:\.(?!$)|$)){4}$/.test(part)) {
      const [a, b, c, d] = part.split(".").map(Number);
      if (Math.max(a, b, c, d) > 255) return undefined;
      all.push(a * 256 + b, c * 256 + d);
    } else return undefined;
  }
  return all;
}

/** The longest run of zeros, of two at least, is `::`. */
function shortened(numbers) {
  const text = numbers.map((number) => number.toString(16)).join(":");
  const runs = [...text.matchAll(/(?<![0-9a-f])0(?::0(?![0-9a-f]))+/g)];
  const longest = runs.reduce((best, run) => (run[0].length > best[0].length ? run : best), [""]);
  if (longest[0] === "") return text;
  const [before, after] = [text.slice(0, longest.index), text.slice(longest.index + longest[0].length)];
  return `${before.replace(/:$/, "")}::${after.replace(/^:/, "")}`;
}
