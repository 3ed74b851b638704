// The one parser. HTML in documents stays text, which is what makes the result safe to show.

import MarkdownIt, { type Token } from "markdown-it";

export type { Token };

export function parser(options: { breaks?: boolean } = {}) {
  const made = new MarkdownIt({ ...options, html: false });
  made.inline.State = Placed;
  return made;
}

/**
 * Links and images know their line in their paragraph. It cannot be counted from the tokens before them: in code, in
 * titles and in what an image says a line's end is no token.
 */
class Placed extends MarkdownIt.StateInline {
  #line = 0;
  #end = this.src.indexOf("\n");

  override push(...made: Parameters<InstanceType<typeof MarkdownIt.StateInline>["push"]>): Token {
    const token = super.push(...made);
    if (token.type !== "link_open" && token.type !== "image") return token;
    while (this.#end >= 0 && this.#end < this.pos) {
      this.#line += 1;
      this.#end = this.src.indexOf("\n", this.#end + 1);
    }
    token.map = [this.#line, this.#line + 1];
    return token;
  }
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
