// Links and images, wherever they stand: in paragraphs, headings, lists and tables, and images within links.

import { plain, type Token } from "./parser";

export interface Link {
  kind: "link" | "image";
  target: string;
  text: string;
  title?: string;
  line: number;
}

export function linksOf(tokens: readonly Token[]): Link[] {
  const links: Link[] = [];
  let line = 1; // cells of a table do not know their line, but their row does
  for (const token of tokens) {
    if (token.map) line = token.map[0] + 1;
    if (token.type === "inline") for (const one of inline(token.children ?? [], line)) links.push(one);
  }
  return links;
}

function inline(tokens: readonly Token[], first: number): Link[] {
  const links: Link[] = [];
  tokens.forEach((token, at) => {
    const line = first + (token.map?.[0] ?? 0);
    if (token.type === "image") {
      links.push(link("image", token, "src", plain(token.children ?? []), line));
    } else if (token.type === "link_open") {
      links.push(link("link", token, "href", plain(tokens.slice(at + 1, closing(tokens, at))), line));
    }
  });
  return links;
}

/** Where the link ends that begins here; links cannot stand in links. */
function closing(tokens: readonly Token[], at: number): number {
  for (let end = at + 1; end < tokens.length; end += 1) {
    if (tokens[end]!.type === "link_close") return end;
  }
  return tokens.length;
}

function link(kind: Link["kind"], token: Token, target: string, text: string, line: number): Link {
  const title = token.attrGet("title");
  const found: Link = { kind, target: String(token.attrGet(target) ?? ""), text, line };
  return title ? { ...found, title: String(title) } : found;
}
