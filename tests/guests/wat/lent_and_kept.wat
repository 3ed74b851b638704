;; A9: three components inside one. The first owns a resource, the third lends it to the second, which does not give it
;; back. The third does so while it starts: a component cannot call those inside it.
(component $owner
  (type $thing' (resource (rep i32)))
  (export $thing "thing" (type $thing'))
  (core func $new (canon resource.new $thing'))
  (core module $core
    (import "host" "new" (func $new (param i32) (result i32)))
    (func (export "make") (result i32) (call $new (i32.const 7))))
  (core instance $host (export "new" (func $new)))
  (core instance $it (instantiate $core (with "host" (instance $host))))
  (func (export "make") (result (own $thing)) (canon lift (core func $it "make"))))
(instance $owner (instantiate $owner))
(alias export $owner "thing" (type $thing))
(component $keeper
  (import "thing" (type $thing (sub resource)))
  (core module $core (func (export "keep") (param i32)))
  (core instance $it (instantiate $core))
  (func (export "keep") (param "self" (borrow $thing)) (canon lift (core func $it "keep"))))
(instance $keeper (instantiate $keeper (with "thing" (type $thing))))
(component $lender
  (import "thing" (type $thing (sub resource)))
  (import "make" (func $make (result (own $thing))))
  (import "keep" (func $keep (param "self" (borrow $thing))))
  (core func $core-make (canon lower (func $make)))
  (core func $core-keep (canon lower (func $keep)))
  (core module $core
    (import "host" "make" (func $make (result i32)))
    (import "host" "keep" (func $keep (param i32)))
    (func $start (call $keep (call $make)))
    (start $start))
  (core instance $host (export "make" (func $core-make)) (export "keep" (func $core-keep)))
  (core instance (instantiate $core (with "host" (instance $host)))))
(instance (instantiate $lender (with "thing" (type $thing)) (with "make" (func $owner "make"))
  (with "keep" (func $keeper "keep"))))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
