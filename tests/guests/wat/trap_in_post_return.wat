;; H26c: answers, and traps while the host lets go of the answer.
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32) unreachable))
(core instance $main (instantiate $core))
