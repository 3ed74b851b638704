;; A8: waits for a clock, and so gives way to other tasks, while it starts.
(import "wasi:io/poll@0.2.6" (instance $poll
  (export "pollable" (type $pollable (sub resource)))
  (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
(alias export $poll "pollable" (type $pollable))
(import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock
  (alias outer 1 $pollable (type $outer))
  (export "pollable" (type $pollable (eq $outer)))
  (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
(core func $subscribe (canon lower (func $clock "subscribe-duration")))
(core func $block (canon lower (func $poll "[method]pollable.block")))
(core module $starting
  (import "host" "subscribe" (func $subscribe (param i64) (result i32)))
  (import "host" "block" (func $block (param i32)))
  (func $start (call $block (call $subscribe (i64.const 2000000))))
  (start $start))
(core instance $host (export "subscribe" (func $subscribe)) (export "block" (func $block)))
(core instance (instantiate $starting (with "host" (instance $host))))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
