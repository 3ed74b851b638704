;; H2: the core start function never ends.
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func $spin (loop $again (br $again)))
  (start $spin)
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
