// `console` inside a component, which the engine does not have. Text printed during a call goes to its log, other text
// to the server's, and nothing while the plugin is built. Printing never fails.

import stderr from "wasi:cli/stderr@0.2.12";
import { formatValue } from "./format_value.js";
import { isLive } from "./live.js";
import { encode } from "./text_encoding.js";

const calls = [];

export const enter = (call) => calls.push(call);
export const leave = () => calls.pop();

function print(level, values) {
  if (!isLive()) return;
  try {
    const line = values.map(formatValue).join(" ");
    const call = calls.at(-1);
    if (call) call.log(level, line);
    else write(`${line}\n`);
  } catch {
    // what cannot be shown is not shown
  }
}

function write(text) {
  const stream = stderr.getStderr();
  const bytes = encode(text);
  for (let at = 0; at < bytes.length; at += 4096) stream.blockingWriteAndFlush(bytes.subarray(at, at + 4096));
  stream[Symbol.dispose]();
}

const at =
  (level) =>
  (...values) =>
    print(level, values);

export const console = {
  log: at("info"),
  info: at("info"),
  warn: at("warning"),
  error: at("error"),
  debug: at("debug"),
  dir: (value) => print("info", [value]),
  table: (value) => print("info", [value]),
  trace: (...values) => print("debug", [...values, `\n${new Error().stack ?? ""}`]),
  assert: (holds, ...values) => holds || print("error", ["assertion failed", ...values]),
};
