// Percent-encoding, as URLs have it: which characters are encoded depends on the part of the URL.

import { encode as utf8, TextDecoder } from "../engine/text_encoding.js";

/** What is encoded in each part, beside control characters and whatever is not ASCII. */
export const SETS = {
  opaque: /[^\x20-\x7e]/gu,
  fragment: /[^\x21-\x7e]|["<>`]/gu,
  query: /[^\x21-\x7e]|["#<>]/gu,
  specialQuery: /[^\x21-\x7e]|["#<>']/gu,
  path: /[^\x21-\x7e]|["#<>?^`{}]/gu,
  user: /[^\x21-\x7e]|["#<>?^`{}/:;=@[\\\]|]/gu,
  form: /[^*\-.0-9A-Z_a-z]/gu,
};

export const percentEncode = (text, set) =>
  text
    .toWellFormed()
    .replace(set, (char) =>
      Array.from(utf8(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
    );

/** Decodes what is encoded; bytes that are no UTF-8 become U+FFFD. */
export function percentDecode(text) {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split("%"), (hex) => parseInt(hex, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  });
}
