;; F3: never comes back from what runs after its list was taken.
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "endless") (param i32)
    (loop $again (br $again)))
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $tool (instantiate $core))
(core instance $main
  (export "memory" (memory $tool "memory"))
  (export "realloc" (func $tool "realloc"))
  (export "list-tools" (func $tool "list-tools"))
  (export "post-list" (func $tool "endless"))
  (export "call-tool" (func $tool "call-tool"))
  (export "post-call" (func $tool "post-call")))
