// `TextEncoder` and `TextDecoder` for UTF-8, which is all that text in a component is made of.

/** The longest text that is encoded at once, which takes several times as much memory meanwhile. */
const SLICE = 64 << 10;

export function encode(text) {
  const chars = String(text).toWellFormed();
  if (typeof Uint8Array.fromBase64 !== "function") return encodeEach(chars);
  return chars.length <= SLICE ? encodeAtOnce(chars) : joined(encodeSlices(chars));
}

/** The bytes of slices, which end between characters. */
function encodeSlices(chars) {
  const pieces = [];
  for (let at = 0, end; at < chars.length; at = end) {
    end = Math.min(at + SLICE, chars.length);
    if ((chars.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
    pieces.push(encodeAtOnce(chars.slice(at, end)));
  }
  return pieces;
}

/** Pieces of bytes as one. */
export function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** By functions of the engine alone, many times as fast. */
const encodeAtOnce = (chars) => Uint8Array.fromBase64(btoa(unescape(encodeURIComponent(chars))));

function encodeEach(chars) {
  const bytes = new Uint8Array(chars.length * 3);
  let end = 0;
  for (const char of chars) {
    const code = char.codePointAt(0);
    const more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes[end++] = more === 0 ? code : [0, 0xc0, 0xe0, 0xf0][more] | (code >> (6 * more));
    for (let left = more - 1; left >= 0; left -= 1) bytes[end++] = 0x80 | ((code >> (6 * left)) & 0x3f);
  }
  return bytes.slice(0, end);
}

export class TextEncoder {
  encoding = "utf-8";

  encode(text = "") {
    return encode(text);
  }

  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const char of String(text)) {
      const bytes = encode(char);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += char.length;
    }
    return { read, written };
  }
}

export class TextDecoder {
  #rest = new Uint8Array();

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`\`${label}\` is not supported; there is only utf-8`);
    Object.assign(this, { encoding: "utf-8", fatal, ignoreBOM });
  }

  decode(data = new Uint8Array(), { stream = false } = {}) {
    const given = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    const bytes = new Uint8Array(this.#rest.length + given.length);
    bytes.set(this.#rest);
    bytes.set(given, this.#rest.length);
    const { text, end } = decode(bytes, stream, this.fatal);
    this.#rest = bytes.slice(end);
    return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

/** Text that the engine decodes by itself, many times as fast; `undefined` if these bytes are not all UTF-8. */
function decodeAtOnce(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 8192) {
    parts.push(String.fromCharCode.apply(null, bytes.subarray(at, at + 8192)));
  }
  const binary = parts.join("");
  try {
    return /[^\x00-\x7f]/.test(binary) ? decodeURIComponent(escape(binary)) : binary;
  } catch {
    return undefined;
  }
}

function decode(bytes, stream, fatal) {
  const whole = decodeAtOnce(bytes);
  if (whole !== undefined) return { text: whole, end: bytes.length };
  const parts = [];
  let codes = [];
  let at = 0;
  while (at < bytes.length) {
    const { code, size } = sequence(bytes, at);
    if (size === 0 && stream) break; // the rest comes with the next piece
    if (code === undefined && fatal) throw new TypeError("these bytes are no UTF-8");
    codes.push(code ?? 0xfffd);
    at += size || bytes.length - at;
    if (codes.length === 4096) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
  }
  return { text: parts.join("") + String.fromCodePoint(...codes), end: at };
}

/** One character: without a `code` if it is none, and with the size 0 if the bytes end within it. */
function sequence(bytes, at) {
  const lead = bytes[at];
  if (lead < 0x80) return { code: lead, size: 1 };
  const more =
    lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xf0 && lead < 0xf5 ? 3 : 0;
  if (more === 0) return { size: 1 };
  let code = lead & (0x3f >> more);
  for (let next = 1; next <= more; next += 1) {
    const byte = bytes[at + next];
    if (byte === undefined) return { size: 0 };
    const least = next > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const most = next > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte < least || byte > most) return { size: next };
    code = (code << 6) | (byte & 0x3f);
  }
  return { code, size: more + 1 };
}
