;; H9, A5: makes handles of a resource of its own without end. No host function is called, so only the handle table is there
;; to bound it.
(type $thing (resource (rep i32)))
(core func $new (canon resource.new $thing))
(core module $core
  (import "host" "new" (func $new (param i32) (result i32)))
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32)
    (loop $again
      (drop (call $new (i32.const 7)))
      (br $again))
    unreachable)
  (func (export "post-call") (param i32)))
(core instance $host (export "new" (func $new)))
(core instance $main (instantiate $core (with "host" (instance $host))))
