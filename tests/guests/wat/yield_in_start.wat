;; A8: yields by the component model's own means while it starts.
(core func $yield (canon thread.yield))
(core module $starting (import "host" "yield" (func $yield (result i32)))
  (func $start (drop (call $yield))) (start $start))
(core instance $host (export "yield" (func $yield)))
(core instance (instantiate $starting (with "host" (instance $host))))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
