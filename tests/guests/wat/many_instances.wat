;; H11: components in components that come to 10 000 core instances.
(component $ten
  (core module $empty)
  (core instance (instantiate $empty)) (core instance (instantiate $empty)) (core instance (instantiate $empty))
  (core instance (instantiate $empty)) (core instance (instantiate $empty)) (core instance (instantiate $empty))
  (core instance (instantiate $empty)) (core instance (instantiate $empty)) (core instance (instantiate $empty))
  (core instance (instantiate $empty)))
(component $hundred
  (alias outer 1 $ten (component $ten))
  (instance (instantiate $ten)) (instance (instantiate $ten)) (instance (instantiate $ten)) (instance (instantiate $ten))
  (instance (instantiate $ten)) (instance (instantiate $ten)) (instance (instantiate $ten)) (instance (instantiate $ten))
  (instance (instantiate $ten)) (instance (instantiate $ten)))
(component $thousand
  (alias outer 1 $hundred (component $all))
  (instance (instantiate $all)) (instance (instantiate $all)) (instance (instantiate $all)) (instance (instantiate $all))
  (instance (instantiate $all)) (instance (instantiate $all)) (instance (instantiate $all)) (instance (instantiate $all))
  (instance (instantiate $all)) (instance (instantiate $all)))
(instance (instantiate $thousand)) (instance (instantiate $thousand)) (instance (instantiate $thousand))
(instance (instantiate $thousand)) (instance (instantiate $thousand)) (instance (instantiate $thousand))
(instance (instantiate $thousand)) (instance (instantiate $thousand)) (instance (instantiate $thousand))
(instance (instantiate $thousand))
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
