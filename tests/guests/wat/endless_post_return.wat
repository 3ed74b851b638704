;; F3: never comes back from what runs after its result was taken.
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)
    (loop $again (br $again))))
(core instance $main (instantiate $core))
