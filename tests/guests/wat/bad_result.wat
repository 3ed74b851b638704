;; H13, H14: results that no compiler would write. The sixth byte of the arguments, as in {"v":3}, says which.
(core module $core
  (memory (export "memory") 1)
  ;; ONE TOOL
  (data (i32.const 512) "\ff\fe")
  (data (i32.const 516) "\ed\a0\80")
  (func $text (param $at i32) (param $length i32)
    (i32.store (i32.const 328) (local.get $at))
    (i32.store (i32.const 332) (local.get $length)))
  (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32)
    (local $which i32)
    (local.set $which (i32.load8_u offset=5 (local.get 3)))
    ;; 0: bytes that are never UTF-8. 1: a lone surrogate.
    (if (i32.eq (local.get $which) (i32.const 0x30)) (then (call $text (i32.const 512) (i32.const 2))))
    (if (i32.eq (local.get $which) (i32.const 0x31)) (then (call $text (i32.const 516) (i32.const 3))))
    ;; 2: a text beyond memory. 3: one of nearly 4 GiB.
    (if (i32.eq (local.get $which) (i32.const 0x32)) (then (call $text (i32.const 0x7fffffff) (i32.const 8))))
    (if (i32.eq (local.get $which) (i32.const 0x33)) (then (call $text (i32.const 0) (i32.const 0xfffffff0))))
    ;; 4: a list of nearly 2^32 items. 5: one whose size in bytes wraps around.
    (if (i32.eq (local.get $which) (i32.const 0x34)) (then (i32.store (i32.const 264) (i32.const 0xfffffff0))))
    (if (i32.eq (local.get $which) (i32.const 0x35)) (then (i32.store (i32.const 264) (i32.const 0x01555556))))
    ;; 6: a list that is not aligned. 7: a kind of content that there is not.
    (if (i32.eq (local.get $which) (i32.const 0x36)) (then (i32.store (i32.const 260) (i32.const 321))))
    (if (i32.eq (local.get $which) (i32.const 0x37)) (then (i32.store8 (i32.const 320) (i32.const 9))))
    ;; 8: neither ok nor an error. 9: the result itself is outside memory.
    (if (i32.eq (local.get $which) (i32.const 0x38)) (then (i32.store8 (i32.const 256) (i32.const 7))))
    (if (i32.eq (local.get $which) (i32.const 0x39)) (then (return (i32.const 0x7ffffff0))))
    (i32.const 256))
  (func (export "post-call") (param i32)))
(core instance $main (instantiate $core))
