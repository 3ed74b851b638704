;; H6: a second memory with 64-bit addresses.
(core module $wide (memory i64 1))
(core instance (instantiate $wide))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
