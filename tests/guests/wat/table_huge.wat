;; H7: a table that begins with 2^32 - 1 entries.
(core module $vast (table 0xffffffff funcref))
(core instance (instantiate $vast))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
