;; The echo of `tests/rivals` for hyper-mcp: an Extism module, whose input and output lie in Extism's memory.
;;
;; It is text, which Extism compiles itself, so that it needs no compiler for the target of such modules. What it does
;; is less than a guest in Rust does: it copies the message from between its quotation marks, and the load generator
;; sends none that needs escapes.
(module
  (import "extism:host/env" "input_length" (func $input-length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))

  ;; Each text ends with a zero, which the memory has between them. The mark is at 0.
  (memory 1)
  (data (i32.const 0) "\"message\":\"")
  (global $before i32 (i32.const 16))
  (data (i32.const 16) "{\"content\":[{\"type\":\"text\",\"text\":\"")
  (global $after i32 (i32.const 64))
  (data (i32.const 64) "\"}]}")
  (global $list i32 (i32.const 128))
  (data (i32.const 128) "{\"tools\":[{\"name\":\"echo\",\"description\":\"The tool echo.\",\"inputSchema\":")
  (global $schema i32 (i32.const 256))
  (data (i32.const 256)
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}}]}")

  (func (export "list_tools") (result i32)
    (local $begin i64) (local $to i64)
    (local.set $begin (call $alloc (i64.const 256)))
    (local.set $to (call $write (global.get $list) (local.get $begin)))
    (local.set $to (call $write (global.get $schema) (local.get $to)))
    (call $output (local.get $begin) (i64.sub (local.get $to) (local.get $begin)))
    (i32.const 0))

  (func (export "call_tool") (result i32)
    (local $from i64) (local $begin i64) (local $to i64) (local $byte i32)
    (local.set $from (call $message))
    (local.set $begin (call $alloc (i64.add (call $input-length) (i64.const 64))))
    (local.set $to (call $write (global.get $before) (local.get $begin)))
    (loop $next
      (local.set $byte (call $input (local.get $from)))
      ;; A quotation mark.
      (if (i32.ne (local.get $byte) (i32.const 34))
        (then
          (call $store (local.get $to) (local.get $byte))
          (local.set $from (i64.add (local.get $from) (i64.const 1)))
          (local.set $to (i64.add (local.get $to) (i64.const 1)))
          (br $next))))
    (local.set $to (call $write (global.get $after) (local.get $to)))
    (call $output (local.get $begin) (i64.sub (local.get $to) (local.get $begin)))
    (i32.const 0))

  ;; Copies a text to a place in Extism's memory; returns the place after it.
  (func $write (param $from i32) (param $to i64) (result i64)
    (loop $next
      (call $store (local.get $to) (i32.load8_u (local.get $from)))
      (local.set $from (i32.add (local.get $from) (i32.const 1)))
      (local.set $to (i64.add (local.get $to) (i64.const 1)))
      (br_if $next (i32.load8_u (local.get $from))))
    (local.get $to))

  ;; Where the message begins in the input: after the mark. Traps without one.
  (func $message (result i64)
    (local $at i64) (local $matched i32)
    (loop $next
      (if (i64.ge_u (local.get $at) (call $input-length)) (then (unreachable)))
      (local.set $matched
        (select
          (i32.add (local.get $matched) (i32.const 1))
          (i32.const 0)
          (i32.eq (call $input (local.get $at)) (i32.load8_u (local.get $matched)))))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br_if $next (i32.load8_u (local.get $matched))))
    (local.get $at)))
