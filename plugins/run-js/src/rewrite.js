// Code as a person writes it, turned into code that gives its result at once.
//
// Async functions become functions that run a generator, and `await` becomes `yield`, so that the queue of promises.js
// decides when they go on. Everything is inserted within a line, so that the lines of an error are those of the person.
// Code with a `return` or an `await` outside of functions becomes the body of a function, whose last expression is
// returned; any other is evaluated as it is, and the language itself says what its last value is. Parameters belong to
// the generator: there the body sees them as its own, and a default that throws fails the promise.

import { parse } from "acorn";

/** The function of promises.js that runs a generator, under a name that no one else uses. */
export const RUN_ASYNC = "$plugport_run_async";

/** The arguments of an arrow function, which has none of its own. */
const ARGUMENTS = "$plugport_arguments";

/** Statements that do nothing where they stand, and have no value. */
const NOTHING = ["EmptyStatement", "FunctionDeclaration"];

/** What may stand between two tokens. */
const GAP = String.raw`(?:\s|//.*$|/\*(?:[^*]|\*(?!/))*\*/)*`;

/** Code that cannot be run, and the line that says why. */
export class Unusable extends SyntaxError {
  constructor(message, line) {
    super(message);
    this.name = "SyntaxError";
    this.line = line;
  }
}

/** The code to evaluate; `isFunction` says whether it is a generator function to run instead of a script. */
export function rewrite(code) {
  const rewriting = new Rewriting(code);
  const tree = rewriting.tree();
  // It is a comment only where the code begins, and a function may begin before it.
  if (code.startsWith("#!")) rewriting.open(0, "//", "#!".length);
  rewriting.walk(tree, undefined);
  if (!rewriting.needsFunction) return { code: rewriting.text(), isFunction: false };
  rewriting.returnLast(lastOf(tree.body));
  return { code: `(function*(){${rewriting.text()}\n})`, isFunction: true };
}

class Rewriting {
  constructor(code) {
    this.code = code;
    this.edits = [];
    this.needsFunction = false;
  }

  tree() {
    try {
      return parse(this.code, {
        ecmaVersion: "latest",
        allowAwaitOutsideFunction: true,
        allowHashBang: true,
        allowReturnOutsideFunction: true,
      });
    } catch (error) {
      const message = error.message.replace(/ \(\d+:\d+\)$/, "");
      const modules = /'import' and 'export'/.test(message);
      throw new Unusable(
        modules ? "there are no modules here; write what you need into the code" : message,
        error.loc?.line,
      );
    }
  }

  /** `around` is the function that a node is in; nothing outside of all. */
  walk(node, around) {
    // An arrow function has the `super` of what is around it.
    const inner = isFunction(node) && !(around?.async && node.type === "ArrowFunctionExpression") ? node : around;
    this.visit(node, around);
    for (const key in node) {
      const value = node[key];
      if (typeof value !== "object" || value === null) continue;
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === "string") this.walk(child, inner);
      }
    }
  }

  visit(node, around) {
    switch (node.type) {
      case "ExpressionStatement":
        // What it becomes begins with a parenthesis, which would call what the line before ends with.
        if (/^(?:async|await)\b/.test(this.code.slice(node.start, node.start + 6))) this.open(node.start, "void 0,");
        break;
      case "ReturnStatement":
        this.needsFunction ||= around === undefined;
        break;
      case "AwaitExpression":
        this.needsFunction ||= around === undefined;
        this.open(node.start, "(yield (", "await".length);
        this.close(node.end, "))");
        break;
      case "ForOfStatement":
        if (node.await) this.refuse(node, "`for await` is not supported; await each value inside a plain loop");
        break;
      case "ImportExpression":
        this.refuse(node, "there are no modules here; write what you need into the code");
        break;
      case "Super":
        if (around?.async) this.refuse(node, "`super` is not supported in an async method");
        break;
      case "Property":
      case "MethodDefinition":
        if (node.value?.async && (node.method ?? true)) this.dropAsync(node);
        break;
    }
    if (isFunction(node) && node.async) this.asyncFunction(node);
  }

  asyncFunction(node) {
    if (node.generator) this.refuse(node, "async generators are not supported; collect values in an array");
    if (node.type === "ArrowFunctionExpression") return this.asyncArrow(node);
    // A method's keyword stands before its name, and is dropped there.
    if (this.code.startsWith("async", node.start)) this.open(node.start, "", "async".length);
    const head = this.endOf(`(?:async${GAP}function)?${GAP}\\(`, node.id?.end ?? node.start, node) - 1;
    const strict = node.body.body.some(({ directive }) => directive === "use strict") ? "'use strict';" : "";
    this.open(head, `(){${strict}return ${RUN_ASYNC}(this,arguments,function*`);
    this.close(node.end, ")}");
  }

  asyncArrow(node) {
    const { params, body, start, end } = node;
    if (usesArguments(params) || usesArguments(body)) {
      this.refuse(node, "`arguments` is not supported in an async arrow function; put it into a variable before");
    }
    const last = params.at(-1);
    const head = last?.end ?? this.endOf(`async${GAP}\\(`, start, node);
    const arrow = this.endOf(`${GAP},?${GAP}\\)?${GAP}=>`, head, node) - 2;
    this.open(start, `(...${ARGUMENTS})=>{return ${RUN_ASYNC}(this,${ARGUMENTS},function*`, "async".length);
    if (params.length === 1 && !this.matches(`async${GAP}\\(`, start)) {
      this.open(last.start, "(");
      this.close(last.end, ")");
    }
    this.open(arrow, body.type === "BlockStatement" ? "" : "{return (", "=>".length);
    this.close(end, body.type === "BlockStatement" ? ")}" : ")})}");
  }

  /** In a class a semicolon takes its place, since what follows could go on with the field before. */
  dropAsync(node) {
    const at = this.code.slice(node.start, node.key.start).search(/\basync\b/);
    const alone = node.type === "MethodDefinition" && !node.static;
    if (at >= 0) this.open(node.start + at, alone ? ";" : "", "async".length);
  }

  /** Makes the last statement the result, where it is an expression or ends with one. */
  returnLast(statement) {
    switch (statement?.type) {
      case "BlockStatement":
        return this.returnLast(lastOf(statement.body));
      case "IfStatement":
        this.returnLast(statement.consequent);
        return this.returnLast(statement.alternate);
      case "TryStatement":
        this.returnLast(statement.block);
        return this.returnLast(statement.handler?.body);
      case "ExpressionStatement":
        return this.returnExpression(statement);
    }
  }

  returnExpression(statement) {
    const end = this.code[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
    // It is around everything else that is inserted there.
    this.edits.unshift(
      { at: statement.start, length: 0, text: "return (" },
      { at: end, length: 0, text: ")", closes: true },
    );
  }

  refuse(node, message) {
    throw new Unusable(message, this.code.slice(0, node.start).split("\n").length);
  }

  matches(pattern, at) {
    const sticky = new RegExp(pattern, "my");
    sticky.lastIndex = at;
    return sticky.exec(this.code);
  }

  endOf(pattern, at, node) {
    const found = this.matches(pattern, at) ?? this.refuse(node, "this function cannot be read; write it more simply");
    return at + found[0].length;
  }

  /** Inserts what begins something, in place of so many characters. */
  open(at, text, length = 0) {
    this.edits.push({ at, length, text, closes: false });
  }

  close(at, text) {
    this.edits.push({ at, length: 0, text, closes: true });
  }

  text() {
    let [done, text] = [0, ""];
    // Nodes are met from the outside in; what ends at one place ends from the inside out, before the next begins.
    const edits = this.edits.map((edit, met) => ({ ...edit, order: edit.closes ? -1 - met : met }));
    edits.sort((a, b) => a.at - b.at || a.order - b.order);
    for (const edit of edits) {
      text += this.code.slice(done, edit.at) + edit.text;
      done = Math.max(done, edit.at + edit.length);
    }
    return text + this.code.slice(done);
  }
}

const lastOf = (statements) => statements.findLast(({ type }) => !NOTHING.includes(type));

/** Whether these nodes name the `arguments` of the function around them. */
function usesArguments(node) {
  if (Array.isArray(node)) return node.some(usesArguments);
  if (typeof node?.type !== "string" || /^Function/.test(node.type)) return false;
  if (node.type === "Identifier") return node.name === "arguments";
  const named = (key) => (key === "property" || key === "key") && !node.computed;
  return Object.entries(node).some(([key, value]) => typeof value === "object" && !named(key) && usesArguments(value));
}

const isFunction = (node) =>
  node.type === "FunctionDeclaration" ||
  node.type === "FunctionExpression" ||
  node.type === "ArrowFunctionExpression" ||
  // Neither takes a `return` or an `await` of what is around it.
  node.type === "PropertyDefinition" ||
  node.type === "StaticBlock";
