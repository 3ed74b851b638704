// The one parser. HTML in documents stays text, which is what makes the result safe to show.

import MarkdownIt, { type Token } from "markdown-it";

export type { Token };

export function parser(options: { breaks?: boolean } = {}) {
  return new MarkdownIt({ ...options, html: false });
}

/** The words of a heading, a link or a paragraph, without their marks. */
export function plain(tokens: readonly Token[]): string {
  return tokens.map(words).join("");
}

function words(token: Token): string {
  if (token.type === "softbreak" || token.type === "hardbreak") return "\n";
  if (token.type === "image") return plain(token.children ?? []);
  return token.content;
}
