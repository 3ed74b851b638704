;; F3: does it all in the destructor of a resource. The sixth byte of the arguments says what: 0 spins, 1 makes another one
;; and drops it, and so again, in each destructor, 2 drops one after the other.
(core module $owner
  (type $one (func (param i32)))
  (table (export "table") 1 1 funcref)
  (func (export "destroy") (param i32) (call_indirect (type $one) (local.get 0) (i32.const 0))))
(core instance $owner (instantiate $owner))
(alias core export $owner "destroy" (core func $destroy))
(type $thing (resource (rep i32) (dtor (core func $destroy))))
(core func $new (canon resource.new $thing))
(core func $drop (canon resource.drop $thing))
(core module $core
  (import "host" "new" (func $new (param i32) (result i32)))
  (import "host" "drop" (func $drop (param i32)))
  (import "owner" "table" (table 1 1 funcref))
  (memory (export "memory") 1)
  (elem (i32.const 0) func $destroyed)
  ;; ONE TOOL
  (func $destroyed (param $which i32)
    (if (i32.eq (local.get $which) (i32.const 0)) (then (loop $again (br $again))))
    (if (i32.eq (local.get $which) (i32.const 1)) (then (call $drop (call $new (i32.const 1))))))
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32)
    (loop $again
      (call $drop (call $new (i32.sub (i32.load8_u offset=5 (local.get 3)) (i32.const 0x30))))
      (br $again))
    unreachable)
  (func (export "post-call") (param i32)))
(core instance $host (export "new" (func $new)) (export "drop" (func $drop)))
(core instance $main (instantiate $core (with "host" (instance $host)) (with "owner" (instance $owner))))
