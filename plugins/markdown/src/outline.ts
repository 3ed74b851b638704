// Headings, numbered by their levels. A document may begin with a level other than 1 or leave one out: numbers count
// only the levels that are there, so that they stay short.

import { plain, type Token } from "./parser";

export interface Heading {
  level: number;
  number: string;
  text: string;
  line: number;
}

export function headingsOf(tokens: readonly Token[], depth: number): Heading[] {
  const number = numbering();
  const headings: Heading[] = [];
  tokens.forEach((token, at) => {
    if (token.type !== "heading_open") return;
    const level = Number(token.tag.slice(1));
    if (level > depth) return;
    const text = plain(tokens[at + 1]?.children ?? []).trim();
    headings.push({ level, number: number(level), text, line: (token.map?.[0] ?? 0) + 1 });
  });
  return headings;
}

/** Numbers headings one after the other. */
function numbering(): (level: number) => string {
  const open: { level: number; count: number }[] = [];
  return (level) => {
    let count = 0;
    while (open.length > 0 && open[open.length - 1]!.level >= level) count = open.pop()!.count;
    open.push({ level, count: count + 1 });
    return open.map((one) => one.count).join(".");
  };
}

/** The headings as an indented list. */
export function written(headings: readonly Heading[]): string {
  return headings
    .map(({ number, text }) => `${"  ".repeat(number.split(".").length - 1)}${number} ${text}`)
    .join("\n");
}
