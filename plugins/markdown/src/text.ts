// A document as plain text: paragraphs apart from each other, lists with their marks, rows of tables in lines.

import { plain, type Token } from "./parser";

export function textOf(tokens: readonly Token[]): string {
  const text = new Text();
  tokens.forEach((token, at) => text.take(token, tokens[at - 1]));
  return text.finish();
}

class Text {
  #lists: { next: number | undefined }[] = [];
  #mark = "";
  #row: string[] | undefined;
  #text = "";

  take(token: Token, before: Token | undefined) {
    if (token.type === "bullet_list_open") this.#open(undefined);
    else if (token.type === "ordered_list_open") this.#open(Number(token.attrGet("start") ?? 1));
    else if (token.type === "list_item_open") this.#mark = this.#nextMark();
    else if (token.type === "tr_open") this.#row = [];
    else if (token.type === "inline") this.#words(plain(token.children ?? []), before?.hidden ?? false);
    else if (token.type === "fence" || token.type === "code_block")
      this.#block(token.content.trimEnd(), "\n\n");
    else this.#close(token.type);
  }

  #open(next: number | undefined) {
    if (this.#mark) this.#block("", "\n"); // the item around it begins with this list
    this.#lists.push({ next });
  }

  #close(type: string) {
    if (type === "list_item_close") {
      if (this.#mark) this.#block("", "\n"); // nothing stood in it
    } else if (type === "bullet_list_close" || type === "ordered_list_close") {
      this.#lists.pop();
      if (this.#lists.length === 0) this.#text += "\n";
    } else if (type === "tr_close") {
      this.#block((this.#row ?? []).join("\t"), "\n");
      this.#row = undefined;
    } else if (type === "table_close") {
      this.#text += "\n";
    }
  }

  #nextMark(): string {
    const list = this.#lists.at(-1);
    if (list?.next === undefined) return "- ";
    list.next += 1;
    return `${list.next - 1}. `;
  }

  /** Words of a cell, of a tight list's item, or of a paragraph. */
  #words(words: string, tight: boolean) {
    if (this.#row) this.#row.push(words.replaceAll("\n", " "));
    else this.#block(words, tight ? "\n" : "\n\n");
  }

  #block(words: string, end: string) {
    const indent = "  ".repeat(Math.max(0, this.#lists.length - 1));
    const rest = this.#lists.length > 0 ? `${indent}  ` : "";
    const lines = words.split("\n").map((line, at) => {
      const before = at === 0 && this.#mark ? indent + this.#mark : rest;
      return line === "" ? before.trimEnd() : before + line;
    });
    this.#text += lines.join("\n") + end;
    this.#mark = "";
  }

  finish(): string {
    return this.#text.replace(/\n{3,}/g, "\n\n").trim();
  }
}
