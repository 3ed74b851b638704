// Code as a person writes it, turned into code that gives its result at once.
//
// Async functions become functions that run a generator, and `await` becomes `yield`, so that the queue of promises.js
// decides when they go on. Everything is inserted within a line, so that the lines of an error are those of the person.
// Code with a `return` or an `await` outside of functions becomes the body of a function, whose last expression is
// returned; any other is evaluated as it is, and the language itself says what its last value is.

import { parse } from "acorn";

/** The function of promises.js that runs a generator, under a name that no one else uses. */
export const RUN_ASYNC = "$plugport_run_async";

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
  rewriting.walk(tree, undefined);
  if (!rewriting.needsFunction) return { code: rewriting.text(), isFunction: false };
  rewriting.returnLast(tree.body.at(-1));
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
        locations: true,
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
    const inner = isFunction(node) ? node : around;
    this.visit(node, around);
    for (const [key, value] of Object.entries(node)) {
      if (key === "loc") continue;
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === "string") this.walk(child, inner);
      }
    }
  }

  visit(node, around) {
    switch (node.type) {
      case "ReturnStatement":
        this.needsFunction ||= around === undefined;
        break;
      case "AwaitExpression":
        this.needsFunction ||= around === undefined;
        this.replace(node.start, "await".length, "(yield (");
        this.insert(node.end, "))");
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
        if (node.value?.async && (node.method ?? true)) this.dropAsync(node.start, node.key.start);
        break;
    }
    if (isFunction(node) && node.async) this.asyncFunction(node);
  }

  asyncFunction(node) {
    if (node.generator) this.refuse(node, "async generators are not supported; collect values in an array");
    const { body } = node;
    // A method's keyword stands before its name, and is dropped there.
    if (this.code.startsWith("async", node.start)) this.replace(node.start, "async".length, "");
    const arrow = node.type === "ArrowFunctionExpression";
    const mentions = /\barguments\b/.test(this.code.slice(body.start, body.end));
    const begin = `${RUN_ASYNC}(this,${arrow && !mentions ? "[]" : "arguments"},function*(){`;
    if (node.expression) {
      this.insert(body.start, `${begin}return (`);
      this.insert(body.end, ")})", true);
    } else {
      this.insert(body.start + 1, `return ${begin}`);
      this.insert(body.end - 1, "})", true);
    }
  }

  dropAsync(start, end) {
    const at = this.code.slice(start, end).search(/\basync\b/);
    if (at >= 0) this.replace(start + at, "async".length, "");
  }

  /** Makes the last statement, if it is an expression, the result. */
  returnLast(statement) {
    if (statement?.type !== "ExpressionStatement") return;
    const end = this.code[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
    this.edits.push({ at: statement.start, length: 0, text: "return (", order: -1 });
    this.edits.push({ at: end, length: 0, text: ")", order: 2 });
  }

  refuse(node, message) {
    throw new Unusable(message, node.loc.start.line);
  }

  replace(at, length, text) {
    this.edits.push({ at, length, text, order: 0 });
  }

  /** `late` comes after what else is inserted at this place. */
  insert(at, text, late = false) {
    this.edits.push({ at, length: 0, text, order: late ? 1 : 0 });
  }

  text() {
    let [done, text] = [0, ""];
    // Nodes are met from the outside in; what ends at one place ends from the inside out.
    const edits = this.edits.map((edit, met) => ({ ...edit, met: edit.order === 1 || closes(edit) ? -met : met }));
    edits.sort((a, b) => a.at - b.at || a.order - b.order || a.met - b.met);
    for (const edit of edits) {
      text += this.code.slice(done, edit.at) + edit.text;
      done = Math.max(done, edit.at + edit.length);
    }
    return text + this.code.slice(done);
  }
}

const closes = (edit) => edit.text.startsWith(")");

const isFunction = (node) =>
  node.type === "FunctionDeclaration" ||
  node.type === "FunctionExpression" ||
  node.type === "ArrowFunctionExpression" ||
  // Neither takes a `return` or an `await` of what is around it.
  node.type === "PropertyDefinition" ||
  node.type === "StaticBlock";
