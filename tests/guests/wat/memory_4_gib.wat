;; H6: a second memory that begins with 4 GiB.
(core module $vast (memory 65536))
(core instance (instantiate $vast))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
