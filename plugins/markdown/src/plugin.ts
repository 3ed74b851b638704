// Markdown for models and people: as HTML that is safe to show, as plain text, and what a long document is made of.
// Whatever a tool says of a document comes from the tokens of one CommonMark parser, so the tools agree with each
// other.

import { plugin, s, tool } from "plugport-sdk";

import { linksOf } from "./links";
import { headingsOf, written } from "./outline";
import { parser } from "./parser";
import { textOf } from "./text";

const markdown = s.string("The document, in CommonMark with tables and strikethrough.");

const heading = s.object({
  level: s.integer("From 1 to 6."),
  number: s.string("Its place among the others, such as 2.1."),
  text: s.string(),
  line: s.integer("Where it begins, counted from 1."),
});

const link = s.object({
  kind: s.enum(["link", "image"]),
  target: s.string("Where it leads."),
  text: s.string("What stands there, or what an image says to those who do not see it."),
  title: s.string().optional(),
  line: s.integer("Where it stands, counted from 1."),
});

export const toHtml = tool({
  name: "to_html",
  description:
    "Convert Markdown to HTML that is safe to show: HTML in the document is shown as it is written, " +
    "and links that would run a script are left as text.",
  readOnly: true,
  input: {
    markdown,
    breaks: s.boolean("Whether each line of a paragraph is a line of its own.").default(false),
  },
  handler: ({ markdown, breaks }) => parser({ breaks }).render(markdown),
});

export const toText = tool({
  name: "to_text",
  description: "Convert Markdown to plain text, without marks and targets of links.",
  readOnly: true,
  input: { markdown },
  handler: ({ markdown }) => textOf(parser().parse(markdown, {})),
});

export const outline = tool({
  name: "outline",
  description: "List the headings of a Markdown document, numbered by their levels, with their lines.",
  readOnly: true,
  input: { markdown, depth: s.integer("How many levels to list.").min(1).max(6).default(6) },
  output: { headings: s.array(heading), outline: s.string("The same as an indented list.") },
  handler({ markdown, depth }) {
    const headings = headingsOf(parser().parse(markdown, {}), depth);
    return { headings, outline: written(headings) };
  },
});

export const links = tool({
  name: "links",
  description: "List the links and images of a Markdown document, with their texts and lines.",
  readOnly: true,
  input: {
    markdown,
    kind: s.enum(["link", "image"], "Only these; both if it is missing.").optional(),
  },
  output: { links: s.array(link) },
  handler({ markdown, kind }) {
    const found = linksOf(parser().parse(markdown, {}));
    return { links: found.filter((one) => kind === undefined || one.kind === kind) };
  },
});

export const { tools, resources, prompts, completions } = plugin({ tools: [toHtml, toText, outline, links] });
