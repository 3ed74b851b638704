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
    if (token.type === "inline") links.push(...inline(token.children ?? [], line));
  }
  return links;
}

function inline(tokens: readonly Token[], first: number): Link[] {
  const links: Link[] = [];
  let line = first;
  tokens.forEach((token, at) => {
    if (token.type === "softbreak" || token.type === "hardbreak") line += 1;
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
  const end = tokens.findIndex((token, later) => later > at && token.type === "link_close");
  return end < 0 ? tokens.length : end;
}

function link(kind: Link["kind"], token: Token, target: string, text: string, line: number): Link {
  const title = token.attrGet("title");
  const found: Link = { kind, target: String(token.attrGet(target) ?? ""), text, line };
  return title ? { ...found, title: String(title) } : found;
}
